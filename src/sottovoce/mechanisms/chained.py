"""The law and the cost of reports that are randomized twice: once for good, and once more for every report."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.domain import Text
from sottovoce.mechanisms.bloom import Bloom, Filter
from sottovoce.mechanisms.chain import odds, worst_split
from sottovoce.mechanisms.longitudinal import Longitudinal, Memory, check_count
from sottovoce.privacy import Probability, float_above, log_above
from sottovoce.reports import Bits, Report

if TYPE_CHECKING:
    from sottovoce.tally import Tally


class Chained(Longitudinal):
    """A permanent mechanism and an instantaneous one: what the first gave is told by the second.

    Where values are hashed, an inner mechanism randomizes their places in a cohort: a bucket, or the bits of a filter.
    """

    permanent: Any
    instantaneous: Any
    changes: int | None

    if TYPE_CHECKING:  # This differs between listed values and texts: see `memoized_kinds`.
        _permanents: ClassVar[tuple[type, ...]]
        domain: Any
        variance: float
        stderr: Any
        shape: Any
        cells: int
        cohorts: Any
        _inner: Any
        _count: Any
        _places: Any
        _estimate: Any
        _place: Any
        _place_many: Any
        _join: Any
        _join_many: Any
        _name: Any
        """What stands for a value in a memory: two values never share it."""
        _hashes_values: Any
        """Whether what is randomized is the place of a value and not the value itself."""

        def tally(self) -> Tally[Any]: ...

    @property
    def _in_bits(self) -> bool:
        return isinstance(self._inner.shape, Bits)

    @property
    def _size(self) -> int:
        """How many values, buckets or bits the inner mechanism has."""
        size: int = self._inner.domain.size
        return size

    @cached_property
    def p(self) -> Probability:
        return self._sent(self.permanent.p)

    @cached_property
    def q(self) -> Probability:
        return self._sent(self.permanent.q)

    def _sent(self, permanent: Fraction) -> Probability:
        """The probability of a support, if the permanent answer supports with this probability."""
        return Probability(permanent * self.instantaneous.p + (1 - permanent) * self.instantaneous.q)

    def _law(self, code: int) -> dict[Report, Fraction]:
        return {
            self._join(cohort, report): chance / self.cohorts
            for cohort in range(self.cohorts)
            for report, chance in self._told(self._place(code, cohort)).items()
        }

    def _told(self, place: Any) -> dict[Report, Fraction]:
        """The law of the first report without its cohort."""
        hit, miss = self._sent(self._inner.p), self._sent(self._inner.q)
        if self._in_bits:
            return Filter(self._size, hit, miss)._law(place if isinstance(place, tuple) else (place,))
        return {other: Fraction(hit if other == place else miss) for other in range(self._size)}

    # What it costs.

    @cached_property
    def epsilon(self) -> float:
        return self.epsilon_over(1)

    def epsilon_after(self, changes: int) -> float:
        return float_above(self._answers(changes) * Fraction(self.permanent.epsilon))

    def ahead(self, memory: Memory | None, waves: int) -> list[float]:
        drawn = len(memory["answers"]) if memory else 1  # The first answer is charged by the wave that draws it.
        left = 0 if self.changes is None else self._answers(waves - 1) - drawn
        return [self.permanent.epsilon] * left

    def epsilon_over(self, reports: int, changes: int = 0) -> float:
        """It is exact without a change. With changes it holds for the worst way to share out the reports."""
        reports = check_count("reports", reports, 1)
        answers = min(self._answers(changes), reports)
        if answers == 1:
            return self._loss(reports)
        return min(worst_split(self._loss, reports, answers), self.epsilon_after(changes))

    def epsilon_pattern(self, reports: int) -> float:
        """The first report costs `epsilon`, and each further one at most what tells two permanent answers apart.

        More cannot be said by adding up: two reports of one permanent answer may cost more than twice `epsilon`. A
        device with one permanent answer for all values shows no change at all.
        """
        reports = check_count("reports", reports, 1)
        if self.changes == 0:
            return self.epsilon_over(reports)
        one, zero, bits = self.instantaneous.p, self.instantaneous.q, 1
        apart = one / zero
        if self._in_bits:  # Two permanent answers may differ in every bit.
            apart, bits = max(apart, (1 - zero) / (1 - one)), self._size
        return float_above(Fraction(self.epsilon) + (reports - 1) * bits * Fraction(log_above(apart)))

    def _answers(self, changes: int) -> int:
        """How many permanent answers so many changes may bring into play: one for each value, as far as are drawn.

        Values that share a bucket have answers of their own, so that the number of buckets is no limit.
        """
        drawn = 1 + min(check_count("changes", changes, 0), changes if self.changes is None else self.changes)
        return drawn if isinstance(self.domain, Text) else min(drawn, self.domain.size)

    def _new_value_cost(self, held: int) -> float:
        return float(self.permanent.epsilon) if self._answers(held) > self._answers(held - 1) else 0.0

    @property
    def _hashes(self) -> int:
        """How many buckets or bits a value has."""
        return self.permanent.hashes if isinstance(self.permanent, Bloom) else 1

    def _loss(self, reports: int) -> float:
        """The exact cost of so many reports of one permanent answer. See docs/mechanisms/memoized.md for the proof."""
        p, q, one, zero = self._inner.p, self._inner.q, self.instantaneous.p, self.instantaneous.q
        ratio = odds(p, q, one / zero, reports)
        if self._in_bits:
            ratio *= odds(1 - q, 1 - p, (1 - zero) / (1 - one), reports)
        return min(log_above(ratio**self._hashes), float(self.permanent.epsilon))
