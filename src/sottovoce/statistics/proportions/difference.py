"""Two proportions behind randomized answers: whether they differ, and by how much.

Two groups, or one question asked twice, may have been asked by different designs. The estimates differ by d; if the
true difference is delta, the squared error of d is V1 + V2, with the variances at the proportions that explain the
answers best among all that differ by delta. That is the score test; its interval holds every delta that it does not
reject (O. S. Miettinen and M. Nurminen, Comparative analysis of two rates, Statistics in Medicine 4, 1985).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates.interval import Interval
from sottovoce.statistics.checks import check_level, check_number
from sottovoce.statistics.hypothesis_result import TestResult
from sottovoce.statistics.search import last_kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.statistics.proportions.proportion import Proportion

    Floats = NDArray[np.float64]

Numbers: TypeAlias = "float | NDArray[np.floating]"
"""A number, or one for each of many comparisons."""
Counts: TypeAlias = "Numbers | NDArray[np.integer]"

ALTERNATIVES = ("two-sided", "less", "greater")
TINY = 1e-300
"""Keeps divisions finite where a variance is zero."""
NEWTON_STEPS = 3


class YesCounts(NamedTuple):
    """So many yes of n answers to a design, or arrays of them."""

    yes: Counts
    n: Counts
    p: Numbers
    q: Numbers

    def rate(self, share: Numbers) -> Numbers:
        return self.q + (self.p - self.q) * share

    @property
    def estimate(self) -> Numbers:
        return (self.yes / self.n - self.q) / (self.p - self.q)

    def variance(self, share: Numbers) -> Numbers:
        """The squared error of the estimate about a population with this share of yes."""
        rate = self.rate(share)
        return rate * (1 - rate) / (self.n * (self.p - self.q) ** 2)

    def score(self, share: Numbers) -> Numbers:
        """The slope of the log-likelihood."""
        return (self.estimate - share) / np.maximum(self.variance(share), TINY)


def difference_test(
    first: Proportion,
    second: Proportion,
    null: float = 0.0,
    alternative: str = "two-sided",
    correlation: float = 0.0,
    level: float = 0.95,
) -> TestResult:
    """Whether the second proportion is the first one plus `null`, with an interval for second less first.

    For two groups of different people the estimates are independent. Over time, the same people may answer twice:
    `correlation` is then that of the two estimates. If all answer both times, it is the correlation of the two
    answers of one person, which the paired answers tell; if `both` of n1 and n2 do, that times both / sqrt(n1 n2).

    >>> from fractions import Fraction
    >>> from sottovoce.statistics.proportions.proportion import Proportion
    >>> coin = {"p": Fraction(3, 4), "q": Fraction(1, 4), "epsilon": 1.1}
    >>> print(difference_test(Proportion(410, 1000, **coin), Proportion(460, 1000, **coin)))
    score test of a difference: statistic 2.255, p-value 0.02412; estimate 0.1, interval 0.01309 .. 0.1865
    """
    if alternative not in ALTERNATIVES:
        raise ParameterError(f"alternative must be one of {', '.join(ALTERNATIVES)}, got {alternative!r:.40}")
    correlation, null = check_number(correlation, "correlation", -1, 1), check_number(null, "null", -1, 1)
    if abs(correlation) == 1:
        raise ParameterError(f"correlation must lie strictly between -1 and 1, got {correlation:g}")
    groups = _group("first", first), _group("second", second)
    z = float(distance(*groups, null, correlation))
    few, many = float(scipy.special.ndtr(z)), float(scipy.special.ndtr(-z))
    p_value = {"two-sided": 2 * min(few, many), "less": few, "greater": many}[alternative]
    ends = difference_interval(*groups, check_level(level), correlation)
    interval = Interval(float(ends.low), float(ends.high), level)
    estimate = float(groups[1].estimate - groups[0].estimate)
    return TestResult("score test of a difference", z, min(p_value, 1.0), None, estimate, interval)


def distance(first: YesCounts, second: YesCounts, delta: Numbers, correlation: Numbers = 0.0) -> Floats:
    """How many standard errors the estimated difference, second less first, lies above delta."""
    base = _base(first, second, delta)
    a, b = first.variance(base), second.variance((base + delta).clip(0, 1))
    error = np.sqrt(np.maximum(a + b - 2 * correlation * np.sqrt(a * b), TINY))
    z: Floats = (second.estimate - first.estimate - delta) / error
    return z


def _base(first: YesCounts, second: YesCounts, delta: Numbers) -> Floats:
    """The most likely share of the first group, if that of the second is delta more: where the scores cancel.

    Both scores have a variance below them. Multiplied by both, their sum is a cubic that falls through its middle root
    where the scores cancel. The root is found by its cosine, and again by Newton's steps, for the digits that are lost.
    """
    low = np.maximum(0.0, -delta) + 0 * np.asarray(first.estimate - second.estimate)
    high = np.minimum(1.0, 1.0 - delta) + 0 * low
    slopes = first.p - first.q, second.p - second.q
    weights = first.n * slopes[0] ** 2, second.n * slopes[1] ** 2
    terms = zip(
        _cubic(first.estimate, weights[0] / weights[1], second.q + slopes[1] * delta, slopes[1]),
        _cubic(second.estimate - delta, 1.0, first.q, slopes[0]),
        strict=True,
    )
    k0, k1, k2, k3 = (one + other for one, other in terms)
    centre = -k2 / (3 * k3)
    radius = np.sqrt(np.maximum(k2**2 / (3 * k3) - k1, TINY) / (3 * k3))
    height = ((k3 * centre + k2) * centre + k1) * centre + k0
    angle = np.arccos((-height / (2 * k3 * np.maximum(radius, TINY**0.25) ** 3)).clip(-1, 1))
    base: Floats = (centre + 2 * radius * np.cos((angle - 2 * np.pi) / 3)).clip(low, high)
    for _ in range(NEWTON_STEPS):
        slope = (3 * k3 * base + 2 * k2) * base + k1
        step = (((k3 * base + k2) * base + k1) * base + k0) / np.minimum(slope, -TINY)
        base = np.where(slope < 0, base - step, base).clip(low, high)
    return base


def _cubic(estimate: Numbers, weight: Numbers, rate: Numbers, slope: Numbers) -> tuple[Numbers, ...]:
    """What weight * (estimate - x) * r * (1 - r) with r = rate + slope * x has before 1, x, x^2 and x^3."""
    v0, v1, v2 = rate * (1 - rate), slope * (1 - 2 * rate), -slope * slope
    terms = estimate * v0, estimate * v1 - v0, estimate * v2 - v1, -v2
    return tuple(weight * term for term in terms)


def difference_interval(
    first: YesCounts, second: YesCounts, level: float, correlation: float = 0.0
) -> Interval[Floats]:
    """All differences in [-1, 1] that the score test does not reject."""
    reach = -float(scipy.special.ndtri((1 - level) / 2))
    best = np.asarray(second.estimate - first.estimate, dtype=np.float64).clip(-1, 1)

    def kept(delta: Floats) -> NDArray[np.bool_]:
        return np.abs(distance(first, second, delta, correlation)) <= reach

    ends = np.stack([np.full_like(best, -1.0), np.full_like(best, 1.0)])  # Both are looked for at once.
    low, high = last_kept(kept, np.stack([best, best]), ends)
    return Interval(low, high, level)


def _group(name: str, data: Proportion) -> YesCounts:
    if not all(hasattr(data, part) for part in ("share", "effective", "p", "q")):
        raise ParameterError(f"the {name} proportion must have a share of yes answers, p and q, got {data!r:.60}")
    return YesCounts(data.share * data.effective, data.effective, float(data.p), float(data.q))
