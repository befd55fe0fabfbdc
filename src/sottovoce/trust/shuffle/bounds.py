"""The curves of delta over epsilon that hold for a shuffled batch of some mechanism's reports."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Real

from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import check_epsilon, to_float
from sottovoce.mechanisms import KRR, Mechanism
from sottovoce.trust.shuffle.bit_counts import CELLS, BitCounts
from sottovoce.trust.shuffle.pairs import Pair, blankets, clones, data_sets
from sottovoce.trust.shuffle.solve import least, most, normal_epsilon
from sottovoce.trust.synthetic import check_whole

MAX_REPORTS = 10**9
MAX_SUMMED = 10**7
"""Blankets and clones are summed over at most so many reports. The rest is left out, as they can only hide the victim.

A sum takes time in proportion to the square root of this. There is one for every pair of laws, so with several pairs
fewer reports are summed over.
"""

Target = Mechanism | float
"""A mechanism, or the epsilon0 that any mechanism has."""


def check_delta(delta: object) -> float:
    number = to_float(delta) if isinstance(delta, Real) and not isinstance(delta, bool) else math.nan
    if not 0 < number < 1:
        raise ParameterError(f"delta must lie strictly between 0 and 1, got {delta!r:.40}")
    return number


def check_reports(n: object) -> int:
    return check_whole("n, the number of honest reports,", n, MAX_REPORTS)


def check_target(target: object) -> Target:
    return target if isinstance(target, Mechanism) else check_epsilon(target)


@dataclass(frozen=True)
class Bound:
    """A curve of delta over epsilon: all of it, and a quick part that nearly always decides."""

    method: str
    curve: Callable[[float], float]
    quick: Callable[[float], float]
    shift: float

    def epsilon(self, delta: float, top: float) -> float:
        """The least epsilon found at which the whole curve is at most delta."""
        found = least(self.quick, delta, normal_epsilon(delta, self.shift, top), top)
        if found == top or self.quick is self.curve or self.curve(found) <= delta:
            return found
        return least(self.curve, delta, found, top)

    def holds(self, epsilon: float, delta: float, whole: bool) -> bool:
        return self.quick(epsilon) <= delta and (not whole or self.quick is self.curve or self.curve(epsilon) <= delta)


@dataclass(frozen=True)
class AccountedBatch:
    """A shuffled batch with at least n honest reports of one mechanism. Work and memory are bounded whatever n is."""

    target: Target
    n: int
    delta: float
    max_summed: int = MAX_SUMMED
    cells: int = CELLS

    @cached_property
    def local(self) -> float:
        """What one report costs by itself."""
        return self.target.epsilon if isinstance(self.target, Mechanism) else self.target

    @cached_property
    def bits(self) -> BitCounts | None:
        """The accounting of randomized response."""
        if isinstance(self.target, KRR) and self.target.domain.size == 2:
            return BitCounts(self.n, Fraction(self.target.p), delta=self.delta, cells=self.cells)
        return None

    @cached_property
    def bounds(self) -> list[Bound]:
        """Every bound that holds, the sharpest first."""
        found = [exact(self.bits)] if self.bits else []
        if isinstance(self.target, Mechanism) and not found and (pairs := blankets(self.target)):
            found.append(_paired("blanket", pairs, min(self.n, self._summed(pairs))))
        return [*found, _paired("clones", (clones(self.local),), min(self.n, self.max_summed))]

    def _summed(self, pairs: tuple[Pair, ...]) -> int:
        return max(self.max_summed // len(pairs) ** 2, 1)

    def upper(self) -> tuple[float, str]:
        """The least epsilon of all bounds, never more than the local one; and what it rests on."""
        best, method = self.local, "local"
        for bound in self.bounds:
            if best == self.local or bound.quick(best) <= self.delta:  # Otherwise it cannot be better.
                found = bound.epsilon(self.delta, self.local)
                best, method = (found, bound.method) if found < best else (best, method)
        return best, method

    def holds(self, epsilon: float, whole: bool = True) -> bool:
        """Whether some bound shows the batch to be (epsilon, delta)-private; or the quick part of one seems to."""
        return epsilon >= self.local or any(bound.holds(epsilon, self.delta, whole) for bound in self.bounds)

    def lower(self, upper: float) -> float:
        """An epsilon that some two neighbouring data sets show to be spent at delta; 0 if no such pair is known."""
        if not upper:
            return 0.0
        if not isinstance(self.target, Mechanism):
            return AccountedBatch(KRR(2, epsilon=self.target), self.n, self.delta).lower(upper)
        if self.bits:
            return most(self.bits.lower, self.delta, upper, self.local)
        pairs = data_sets(self.target)
        if not pairs or self.n > self.max_summed // math.ceil(len(pairs) / 4) ** 2:  # All but one are summed once.
            return 0.0  # Nothing is known. More reports hide better, so that fewer would show too much.
        best = max(pairs, key=lambda pair: pair.lower(self.n, 0.9 * upper))
        return most(lambda epsilon: best.lower(self.n, epsilon), self.delta, upper, self.local)


def exact(bits: BitCounts) -> Bound:
    return Bound("exact", bits.upper, bits.quick, bits.shift)


def _paired(method: str, pairs: tuple[Pair, ...], n: int) -> Bound:
    def curve(epsilon: float) -> float:
        return max(pair.upper(n, epsilon) for pair in pairs)

    return Bound(method, curve, curve, max(pair.shift(n) for pair in pairs))
