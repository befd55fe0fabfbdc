from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID, Probability, check_epsilon, check_probability, exp_below, log_above, round_down
from sottovoce.core.randomness import SYSTEM, Keystream, Source
from sottovoce.core.reports import Index, Report, ReportArray
from sottovoce.mechanisms.frequency.combinations import Combinations, sample, sample_many
from sottovoce.mechanisms.longitudinal.base import Hide, Longitudinal, Memory, Step, check_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import Result, Shares
    from sottovoce.estimates.tally import Tally


@dataclass(frozen=True, init=False, repr=False)
class DBitFlip(Longitudinal):
    """d-bit flip: a device draws d of the values once and for all, and tells of each whether it is its own.

    Each of the d bits is true with probability p. The bits are drawn once for each value that the device comes to hold,
    and sent as they are whenever it holds it. Only the d values can tell two histories apart, so that there is a bound
    on what any number of changes costs: d times `epsilon` (twice for d = 1). But a changed report shows for certain
    that the value changed. A report is the number of the set of values, times 2^d, plus the bits.

    >>> m = DBitFlip(20, epsilon=1.0, sampled=4)
    >>> [round(m.epsilon_after(changes), 3) for changes in (0, 1, 2, 3, 100)]
    [1.0, 2.0, 3.0, 4.0, 4.0]
    >>> step = m.step(7, m.begin())
    >>> m.step(7, step.memory) == Step(step.report, step.memory, 0.0)
    True

    B. Ding, J. Kulkarni, S. Yekhanin, Collecting Telemetry Data Privately, NIPS 2017.
    """

    name: ClassVar[str] = "d_bit_flip"
    remembers: ClassVar[tuple[str, ...]] = ("sample", "answers")
    domain: Domain
    sampled: int
    p: Probability

    if TYPE_CHECKING:

        def tally(self) -> Tally[Shares]: ...

    def __init__(
        self,
        domain: int | Iterable[Label] | Domain,
        epsilon: float | None = None,
        *,
        sampled: int,
        p: float | Fraction | None = None,
    ) -> None:
        domain = Domain.of(domain)
        if (epsilon is None) == (p is None):
            raise ParameterError("give either epsilon or p")
        if type(sampled) is not int or not 1 <= sampled <= domain.size:
            raise ParameterError(f"sampled must be a whole number from 1 to {domain.size}, got {sampled!r:.40}")
        odds = exp_below(check_epsilon(epsilon) / min(sampled, 2)) if epsilon is not None else Fraction(0)
        truth = round_down(odds / (1 + odds) if p is None else check_probability("p", p))
        if 2 * truth <= 1:
            raise ParameterError(f"p must be greater than 1/2, got {truth}")
        self._freeze(domain=domain, sampled=sampled, p=truth)
        if 1 << min(sampled, 99) > GRID or self._sets.count << sampled > GRID:
            raise ParameterError(
                f"there must be at most 2^53 reports: draw fewer of {domain.size} values than {sampled}"
            )

    @cached_property
    def q(self) -> Probability:
        """The probability that the bit of another value is 1."""
        return Probability(1 - self.p)

    @cached_property
    def _sets(self) -> Combinations:
        return Combinations(self.domain.size, self.sampled)

    # What it costs.

    @cached_property
    def epsilon(self) -> float:
        return self.epsilon_after(0)

    def epsilon_after(self, changes: int) -> float:
        """Of one value and another, both may be drawn; of several of each, every drawn one counts twice."""
        held = min(check_count("changes", changes, 0) + 1, self.domain.size)
        return self._loss(held)

    def epsilon_over(self, reports: int, changes: int = 0) -> float:
        return self.epsilon_after(min(check_count("changes", changes, 0), check_count("reports", reports, 1) - 1))

    def epsilon_pattern(self, reports: int) -> float:
        """Infinite from the second report on: two different reports show a change for certain."""
        return self.epsilon if check_count("reports", reports, 1) == 1 else float("inf")

    def _loss(self, held: int) -> float:
        """The exact cost when so many different values are held in turn. Nothing costs nothing."""
        bits = min(2, self.sampled) if held == 1 else 2 * min(held, self.sampled)
        return log_above((self.p / self.q) ** bits) if held else 0.0

    @cached_property
    def variance(self) -> float:
        """For many respondents, n times the mean squared error of a share when all values are as frequent."""
        D, asked = self.domain.size, Fraction(self.domain.size, self.sampled)
        return float(asked * self.p * self.q / (self.p - self.q) ** 2 + (asked - 1) * Fraction(D - 1, D * D))

    # Reports.

    @cached_property
    def shape(self) -> Index:
        return Index(self._sets.count << self.sampled)

    @property
    def cells(self) -> int:
        return 2 * self.domain.size

    @property
    def marks(self) -> int:
        return self.sampled

    def _law(self, code: int) -> dict[Report, Fraction]:
        law: dict[Report, Fraction] = {}
        for number in range(self._sets.count):
            chances = [self.p if member == code else self.q for member in self._sets.members(number)]
            for bits in product((0, 1), repeat=self.sampled):
                told = sum(bit << at for at, bit in enumerate(bits))
                each = (c if bit else 1 - c for bit, c in zip(bits, chances, strict=True))
                law[number << self.sampled | told] = prod(each, start=Fraction(1, self._sets.count))
        return law

    def begin(self, source: Source = SYSTEM) -> Memory:
        drawn = sample(self.domain.size, self.sampled, source.role("cohort"))
        return {"sample": self._sets.number(drawn), "answers": {}}

    def _step(self, code: int, memory: Memory, source: Source, hide: Hide) -> Step:
        """Bits are drawn in every wave and kept for a new value only, so that the work tells nothing of the value."""
        number, answers, key = memory["sample"], memory["answers"], hide(str(code))
        told = answers.get(key, self._tell(code, number, source.role("permanent", code)))
        cost = (self._loss(len(answers) + 1) - self._loss(len(answers)), 0.0)[key in answers]
        report = self.shape.check(number << self.sampled | told)
        return Step(report, memory | {"answers": answers | {key: told}}, cost)

    def _tell(self, code: int, number: int, source: Source) -> int:
        members = enumerate(self._sets.members(number))
        return sum(source.bernoulli((self.q, self.p)[member == code]) << at for at, member in members)

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[ReportArray]:
        people, D = len(codes), self.domain.size
        members = np.sort(sample_many(D, self.sampled, people, stream), axis=1)
        drawn, place = np.unique(np.arange(people)[:, None] * D + codes, return_inverse=True)
        own = members[drawn // D] == (drawn % D)[:, None]
        truth = stream.bernoulli(self.p, own.size).reshape(own.shape)
        told = (own == truth) @ (1 << np.arange(self.sampled))
        numbers = self._sets.number_many(members) << self.sampled
        return [numbers + told[places] for places in place.reshape(codes.shape).T]

    def _places(self, data: ReportArray) -> Iterable[ReportArray]:
        numbers, told = data.astype(np.int64) >> self.sampled, data.astype(np.int64) & ((1 << self.sampled) - 1)
        for at, member in zip(reversed(range(self.sampled)), self._sets.members_many(numbers), strict=True):
            yield 2 * member + (told >> at & 1)

    def _estimate(self, tally: Tally[Result]) -> Shares:
        from sottovoce.estimates import Shares

        counts = tally.cells.reshape(-1, 2)
        asked, yes = counts.sum(axis=1), counts[:, 1]
        return Shares(self.domain, tally.n, asked, yes, self.p, self.q, self.epsilon, tally.simulated)

    def __repr__(self) -> str:
        return f"DBitFlip({self.sampled} of {self.domain.size} values, epsilon={self.epsilon:.6g})"
