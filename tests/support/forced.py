"""A mechanism of the literature as a newcomer would add it: one file, used by `test_registry`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability, check_epsilon, check_probability, exp_below, log_above, round_down
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Index, Report
from sottovoce.mechanisms.frequency.pure import Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, init=False, repr=False)
class Forced(Pure):
    """Forced response: the truth with a probability, otherwise the value that a fair die shows.

    R. F. Boruch, Assuring Confidentiality of Responses in Social Research, The American Sociologist 1971.
    """

    name: ClassVar[str] = "forced"
    question_kinds: ClassVar[tuple[str, ...]] = ("choice",)
    domain: Domain
    truth: Probability

    def __init__(
        self, domain: int | Iterable[Label] | Domain, epsilon: float | None = None, *, truth: float | None = None
    ) -> None:
        domain = Domain.of(domain)
        if truth is None:
            odds = exp_below(check_epsilon(epsilon)) - 1
            share = odds / (odds + domain.size)
        else:
            share = check_probability("truth", truth)
        self._freeze(domain=domain, truth=round_down(share))

    @cached_property
    def p(self) -> Probability:
        return Probability(self.truth + self.q)

    @cached_property
    def q(self) -> Probability:
        return Probability((1 - self.truth) / self.domain.size)

    @cached_property
    def epsilon(self) -> float:
        return log_above(self.p / self.q)

    @cached_property
    def shape(self) -> Index:
        return Index(self.domain.size)

    @property
    def cells(self) -> int:
        return self.domain.size

    def supports(self, report: Report) -> Iterable[int]:
        return (self.shape.check(report),)

    def _law(self, code: int) -> dict[Report, Fraction]:
        return {other: Fraction(self.p if other == code else self.q) for other in range(self.domain.size)}

    def _perturb(self, code: int, source: Source) -> int:
        honest, die = source.bernoulli(self.truth), source.below(self.domain.size)
        return (die, code)[honest]

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
        honest = stream.bernoulli(self.truth, codes.size)
        out[:] = np.where(honest, codes, stream.below(self.domain.size, codes.size))

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return cells
