from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import AnswerDomain, Domain, Label, Options
from sottovoce.core.domain.columns import Column
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability
from sottovoce.core.randomness import Keystream, Source
from sottovoce.mechanisms.compound.sampled_attribute import SampledTopic
from sottovoce.mechanisms.frequency.krr import KRR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import Result, Shares
    from sottovoce.estimates.tally import Tally


@dataclass(frozen=True, init=False, repr=False)
class Sets(SampledTopic):
    """Which of these apply: one option is drawn at random, and whether it applies is told by randomized response.

    The option is drawn without a look at the answer and stands in the report, so the whole epsilon goes into one bit.
    A set may have any size. Report 2 j + y says y (1 for yes) about option j.

    >>> m = Sets(["tea", "coffee", "water"], epsilon=1.0)
    >>> m.bits, f"{m.p:.4f}"
    (3, '0.7311')
    >>> Sets(["tea", "coffee"], p=0.75).channel()[("coffee",)]
    {0: Fraction(3, 8), 1: Fraction(1, 8), 2: Fraction(1, 8), 3: Fraction(3, 8)}

    T. T. Nguyen, X. Xiao, Y. Yang, S. C. Hui, H. Shin, J. Shin, Collecting and Analyzing Data from Smart Device Users
    with Local Differential Privacy, 2016 (one attribute of many, at random, with the whole budget).
    """

    name: ClassVar[str] = "sets"
    question_kinds: ClassVar[tuple[str, ...]] = ("multiple",)
    symbols: ClassVar[int] = 2
    domain_type: ClassVar[type[AnswerDomain]] = Options
    domain: Options
    p: Probability

    if TYPE_CHECKING:

        def tally(self) -> Tally[Shares]: ...

    def __init__(
        self,
        domain: int | Iterable[Label] | Domain | Options,
        epsilon: float | None = None,
        *,
        p: float | Fraction | None = None,
    ) -> None:
        self._freeze(domain=Options.of(domain), p=KRR(2, epsilon, p=p).p)

    @property
    def topics(self) -> Domain:
        return self.domain.options

    def _encode(self, value: object, source: Source) -> int:
        return self.domain.encode_marked(value)

    def _symbol(self, code: int, topic: int) -> int:
        return code >> topic & 1

    @cached_property
    def variance(self) -> float:
        """For many respondents, n times the squared error of the share of an option that half of them hold.

        Other options have less: with a share f, the last term is (D - 1) f (1 - f).
        """
        D = self.domain.options.size
        return float(D * self.p * self.q / (self.p - self.q) ** 2) + (D - 1) / 4

    def _encode_many(self, values: Column, stream: Keystream, first_row: int) -> NDArray[np.int64]:
        held = self.domain.encode_many(values, first_row)
        option = stream.below(self.domain.options.size, len(held))
        bits = held[np.arange(len(held)), option >> 3] >> (option & 7).astype(np.uint8) & np.uint8(1)
        codes: NDArray[np.int64] = 2 * option + bits
        return codes

    def _estimate(self, tally: Tally[Result]) -> Shares:
        from sottovoce.estimates import Shares

        counts = tally.cells.reshape(-1, 2)
        asked, yes = counts.sum(axis=1), counts[:, 1]
        return Shares(self.domain.options, tally.n, asked, yes, self.p, self.q, self.epsilon, tally.simulated)

    def __repr__(self) -> str:
        return f"Sets({self.domain.options.size} options, epsilon={self.epsilon:.6g})"
