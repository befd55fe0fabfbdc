"""Pairs of laws that a victim's report has under two answers, hidden among reports of others.

Of n reports, the victim's has the law P or Q. Each of the others is drawn, with probability gamma, from a law that does
not depend on its owner's answer, and otherwise counts for nothing (say it is published). With steps
G = (P(y) - e^eps Q(y)) / w(y) for y drawn from w with probability gamma, and 0 otherwise, the divergence of the two
multisets at eps is E[(G_1 + ... + G_n)+] / (gamma n).

- The *privacy blanket* of a mechanism: gamma w(y) = min over x of R(y | x), which every answer's law contains. The
  divergence of any two neighbouring data sets is at most that of this pair, for the worst two answers.
- The *clones* of any mechanism of epsilon0: gamma = e^-epsilon0, w a fair coin, P and Q randomized response.
- A *data set*: all others gave one answer z, gamma = 1 and w = R(. | z). Its divergence is a lower bound.

B. Balle, J. Bell, A. Gascon, K. Nissim, The Privacy Blanket of the Shuffle Model, CRYPTO 2019.
V. Feldman, A. McMillan, K. Talwar, Hiding Among the Clones, FOCS 2021.
P. Su, H. Cheng, L. Wang, arXiv 2504.07414, 2025 (the blanket is the best decomposition; evaluation by transforms).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import exp_below
from sottovoce.mechanisms import KRR, Hadamard, Hashed, LocalHash, Mechanism, Projective, Subset, Unary
from sottovoce.mechanisms.compound.sampled_attribute import SampledTopic
from sottovoce.trust.shuffle.lattice import ROUNDING_UNIT, STEP_DEVIATIONS, best_test, positive_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.reports import Report

ROUNDING_UNITS = 16
"""Units of 2^-53 by which a step is moved to the safe side. Nine operations round, `exp` by up to two units."""

MAX_LISTED = 64
"""A channel is listed for at most so many values."""

MAX_PAIRS = 16
"""At most so many pairs of laws are examined. A mechanism with more is bounded by its clones alone."""

MAX_CELLS = 2**15
"""At most so many exact fractions are compared, for all pairs of values together: about a third of a second's work."""


@dataclass(frozen=True)
class Pair:
    """Laws of the victim's report under two answers, by classes of reports, and what the others hide it with."""

    gamma: Fraction
    base: tuple[Fraction, ...]
    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]

    @classmethod
    def of(cls, gamma: Fraction, rows: Iterable[tuple[Fraction, Fraction, Fraction]]) -> Pair:
        """From rows of base, first and second; rows that nobody sends are left out, equal ratios are put together."""
        joined: dict[tuple[Fraction, Fraction], Fraction] = defaultdict(Fraction)
        for base, first, second in rows:
            if base:
                joined[first / base, second / base] += base
        ratios = sorted(joined.items())
        victim = [tuple(share * ratio[at] for ratio, share in ratios) for at in (0, 1)]
        return cls(gamma, tuple(share for _, share in ratios), victim[0], victim[1])

    def upper(self, n: int, epsilon: float, fine: float = STEP_DEVIATIONS) -> float:
        """No less than the divergence at epsilon of the two multisets of n reports."""
        values, weights = self._steps(epsilon, 1.0)
        return min(positive_part(values, weights, n, fine) / (float(self.gamma) * n) * (1 + 1e-12), 1.0)

    def lower(self, n: int, epsilon: float, fine: float = STEP_DEVIATIONS) -> float:
        """No more than that."""
        values, weights = self._steps(epsilon, -1.0)
        return best_test(values, weights, n, fine) / (float(self.gamma) * n) * (1 - 1e-12)

    def shift(self, n: int) -> float:
        """How far apart the two multisets are, in standard deviations: a guess, for many reports."""
        values, weights = self._steps(0.0, 1.0)
        return math.sqrt(float(weights @ values**2) / n) / float(self.gamma)

    def _steps(self, epsilon: float, side: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values and weights of one step; the values rounded to one side."""
        base, first, second = (np.array([float(x) for x in column]) for column in (self.base, self.first, self.second))
        slack = side * ROUNDING_UNITS * ROUNDING_UNIT
        values = (first * (1 + slack) - math.exp(epsilon) * second * (1 - slack)) / base
        weights, rest = float(self.gamma) * base, float(1 - self.gamma)
        return (np.append(values, 0.0), np.append(weights, rest)) if rest else (values, weights)


def clones(epsilon0: float) -> Pair:
    """The pair that is worse than any mechanism of epsilon0 in a shuffled batch."""
    odds = 1 / _exp_above(epsilon0)
    half, low = Fraction(1, 2), odds / (1 + odds)
    return Pair.of(odds, [(half, 1 - low, low), (half, low, 1 - low)])


def _exp_above(x: float) -> Fraction:
    return exp_below(x) * (1 + Fraction(1, 10**50))


@dataclass(frozen=True)
class TwoLevel:
    """A mechanism whose reports speak for a set of values, and are likelier by one ratio if that holds the true one.

    The shares of reports that speak for one value, for two, three and all of them are under a law that favours none
    (each report alike, or independent bits of probability q). `three` is None where some three values are special.
    """

    p: Fraction
    one: Fraction
    two: Fraction
    three: Fraction | None
    every: Fraction = Fraction(0)

    @property
    def levels(self) -> tuple[Fraction, Fraction]:
        """How likely a report is, against the law that favours none: if it speaks for the true value, or not."""
        return self.p / self.one, (1 - self.p) / (1 - self.one)

    def blanket(self) -> Pair:
        high, low = self.levels
        one, two, every, least = self.one, self.two, self.every, min(self.levels)
        shares = [(every, high, high, high), (two - every, high, high, least), (one - two, high, low, least),
                  (one - two, low, high, least), (1 - 2 * one + two, low, low, least)]  # fmt: skip
        gamma = sum((share * common for share, _, _, common in shares), Fraction(0))
        return Pair.of(gamma, [(share * c / gamma, share * a, share * b) for share, a, b, c in shares])

    def neighbours(self) -> list[Pair]:
        """All others gave a third answer, or the same as the victim before or after the change."""
        high, low = self.levels
        one, two = self.one, self.two
        shares = [(two, high, high), (one - two, high, low), (one - two, low, high), (1 - 2 * one + two, low, low)]
        found = [Pair.of(Fraction(1), [(s * c[at], s * c[0], s * c[1]) for s, *c in shares]) for at in (0, 1)]
        if self.three is not None:
            found.insert(0, Pair.of(Fraction(1), self._triples(self.three)))
        return found

    def _triples(self, three: Fraction) -> list[tuple[Fraction, Fraction, Fraction]]:
        high, low = self.levels
        just = [1 - 3 * self.one + 3 * self.two - three, self.one - 2 * self.two + three, self.two - three, three]
        rows = []
        for bits in range(8):
            a, b, c = (high if bits >> at & 1 else low for at in range(3))
            share = just[bits.bit_count()]
            rows.append((share * c, share * a, share * b))
        return rows


def two_level(m: Mechanism) -> TwoLevel | None:
    """What the reports of a frequency mechanism have in common; None for mechanisms of another kind."""
    if isinstance(m, KRR):
        k = m.domain.size
        return TwoLevel(Fraction(m.p), Fraction(1, k), Fraction(0), Fraction(0) if k > 2 else None)
    if isinstance(m, Unary):
        q = Fraction(m.q)
        return TwoLevel(Fraction(m.p), q, q**2, q**3 if m.domain.size > 2 else None, _power(q, m.domain.size))
    if isinstance(m, Hadamard):
        three = Fraction(1, 8) if m.domain.size > 3 else None
        return TwoLevel(Fraction(m.p), Fraction(1, 2), Fraction(1, 4), three, Fraction(1, m.shape.outcomes))
    if isinstance(m, LocalHash):
        share = Fraction(1, m.buckets)
        three = share**3 if m.domain.size > m.buckets else None
        return TwoLevel(Fraction(m.p), share, share**2, three, share / m.cohorts)
    if isinstance(m, Subset):
        return _subset(m)
    return _projective(m) if isinstance(m, Projective) else None


def _power(q: Fraction, exponent: int) -> Fraction:
    """q^exponent, or 0 where that is as good: less than is there makes a smaller blanket, which is one too."""
    return q**exponent if exponent <= 64 else Fraction(0)


def _subset(m: Subset) -> TwoLevel:
    D, k = m.domain.size, m.size
    one, two = Fraction(k, D), Fraction(k * (k - 1), D * (D - 1))
    return TwoLevel(Fraction(m.p), one, two, two * Fraction(k - 2, D - 2) if D > 2 else None)


def _projective(m: Projective) -> TwoLevel:
    space = m._space
    one, two = (Fraction(space.first_line(space.digits - t), space.lines) for t in (1, 2))
    three = space.digits > 2 and m.domain.size > m.order + 1  # Then not all values lie on one line.
    last = Fraction(space.first_line(space.digits - 3), space.lines) if three else None
    return TwoLevel(Fraction(m.p), one, two, last)


@lru_cache(maxsize=64)
def blankets(m: Mechanism) -> tuple[Pair, ...]:
    """The pairs whose divergence, the worst of them, bounds that of any two neighbouring data sets; none if unknown.

    Where a value is hashed or a topic drawn first, two answers may coincide in some cohorts or topics. They are told
    apart best if they never do: where they do, the step is (1 - e^eps) R(y) / w(y), which for two levels is smaller in
    the convex order.
    """
    if isinstance(m, Hashed):
        inner = two_level(m.base)
        return (inner.blanket(),) if inner else ()
    found = two_level(m._answer if isinstance(m, SampledTopic) else m)
    if found:
        return (found.blanket(),)
    return tuple(_listed(m, blanket=True))


@lru_cache(maxsize=64)
def data_sets(m: Mechanism) -> tuple[Pair, ...]:
    """Pairs of data sets that are hard to hide: a victim changes an answer, all others gave the same one."""
    if isinstance(m, Hashed):
        return ()
    found = two_level(m._answer if isinstance(m, SampledTopic) else m)
    return tuple(found.neighbours() if found else _listed(m, blanket=False))


def _listed(m: Mechanism, blanket: bool) -> list[Pair]:
    laws = _channel(m)
    if not laws:
        return []
    reports = sorted({report for law in laws for report in law}, key=repr)
    table = [[law.get(report, Fraction(0)) for report in reports] for law in laws]
    found = _blankets(table) if blanket else _data_sets(table)
    distinct = list(dict.fromkeys(found))
    if len(distinct) <= MAX_PAIRS:
        return distinct
    return [] if blanket else distinct[:MAX_PAIRS]


def _channel(m: Mechanism) -> list[dict[Report, Fraction]]:
    if getattr(m.domain, "size", math.inf) > MAX_LISTED or m.domain.size**2 * 2 ** min(m.bits, 64) > MAX_CELLS:
        return []
    try:
        return list(m.channel().values())
    except (ParameterError, NotImplementedError):
        return []


def _blankets(table: Sequence[Sequence[Fraction]]) -> Iterable[Pair]:
    least = [min(column) for column in zip(*table, strict=True)]
    gamma = sum(least, Fraction(0))
    if not gamma or any(not low and any(column) for low, column in zip(least, zip(*table, strict=True), strict=True)):
        return []
    base = [low / gamma for low in least]
    return (Pair.of(gamma, zip(base, a, b, strict=True)) for a, b in permutations(table, 2))


def _data_sets(table: Sequence[Sequence[Fraction]]) -> Iterable[Pair]:
    ends = [table[0], table[-1]]
    return (Pair.of(Fraction(1), zip(z, a, b, strict=True)) for a, b in permutations(ends, 2) for z in table)
