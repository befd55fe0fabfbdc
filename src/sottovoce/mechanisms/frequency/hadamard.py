from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.kernels import in_one_piece, loops, walsh_hadamard
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability, log_above
from sottovoce.core.randomness import Keystream, Source, heads
from sottovoce.core.reports import Index, Report, ReportArray
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.pure import Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, init=False, repr=False)
class Hadamard(Pure):
    """Hadamard response: a random row of a Hadamard matrix, more likely one whose entry for the value is +1.

    Rows and values are numbers of t bits, values from 1; the entry is +1 where they share an even number of bits. Each
    value has +1 in half of the rows, and of those any other value has +1 in half, so that q = 1/2. The least work of
    all mechanisms, for a device and for a collector, and near the least variance for a small epsilon.

    >>> m = Hadamard(1000, epsilon=0.5)
    >>> m.bits, m.q, m.p == KRR(2, epsilon=0.5).p
    (10, 0.5, True)

    J. Acharya, Z. Sun, H. Zhang, Hadamard Response, AISTATS 2019.
    """

    name: ClassVar[str] = "hadamard"
    question_kinds: ClassVar[tuple[str, ...]] = ("yes_no", "choice")
    domain: Domain
    p: Probability

    def __init__(
        self, domain: int | Iterable[Label] | Domain, epsilon: float | None = None, *, p: float | Fraction | None = None
    ) -> None:
        self._freeze(domain=Domain.of(domain), p=KRR(2, epsilon, p=p).p)
        if self.p < self.q:
            raise ParameterError(f"p must be greater than 1/2, got {self.p}")

    @property
    def q(self) -> Probability:
        return Probability(1, 2)

    @cached_property
    def epsilon(self) -> float:
        return log_above(self.p / (1 - self.p))

    @cached_property
    def shape(self) -> Index:
        return Index(2 ** self.domain.size.bit_length())

    @property
    def cells(self) -> int:
        return self.shape.outcomes

    def supports(self, report: Report) -> Iterable[int]:
        row = self.shape.check(report)
        return tuple(code for code in range(self.domain.size) if not (row & code + 1).bit_count() & 1)

    def is_supported(self, code: int, report: Report) -> bool:
        return not (self.shape.check(report) & code + 1).bit_count() & 1

    def _law(self, code: int) -> dict[Report, Fraction]:
        rows = self.shape.outcomes
        chances = (2 * self.p / rows, 2 * (1 - self.p) / rows)
        return {row: Fraction(chances[(row & code + 1).bit_count() & 1]) for row in range(rows)}

    def _perturb(self, code: int, source: Source) -> int:
        # Toggling a bit that the value has pairs each even row with an odd one: no row need be drawn twice. All numbers
        # have a bit more, above all rows, so that they are integers of one length; it counts among the shared bits.
        truth, row = source.bernoulli(self.p), source.below(self.shape.outcomes) + self._top
        code += self._top
        value = code + 1
        wrong = (row & value).bit_count() & 1 ^ truth
        return (row, row ^ value ^ (value & code))[wrong] - self._top

    @cached_property
    def _top(self) -> int:
        """A bit above all rows. Python keeps integers below 2^9 ready, and has digits of 30 bits."""
        return 1 << (29 if self.shape.bits < 29 else 60)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        count, outcomes = codes.size, self.shape.outcomes
        if (compiled := loops()) is not None:
            fixed = (in_one_piece(codes), heads(self.p), outcomes - 1, out)
            stream.feed(partial(compiled.reflect, *fixed), count, self.p, outcomes)
            return
        values, odd = codes + 1, ~stream.bernoulli(self.p, count)
        rows = stream.below(outcomes, count)
        out[:] = rows ^ (values & -values) * (np.bitwise_count(rows & values) & 1 != odd)

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        support = walsh_hadamard(cells)[1 : self.domain.size + 1]
        support += cells.sum()
        return np.floor_divide(support, 2, out=support)
