"""The smallest effect that a survey of n answers would find: before anybody is asked.

A two-sided score test at the level finds an effect with the given power where it is as large as
z(level) standard errors under the hypothesis of no effect and z(power) under the effect itself, taken together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import scipy
from sottovoce.statistics.checks import check_level, check_number, check_share, check_whole
from sottovoce.statistics.proportions.difference import YesCounts

EFFECT_PRECISION = 1e-12
"""Effects are found to within this."""


def detectable(
    n: int,
    p: float | Fraction,
    q: float | Fraction,
    base: float = 0.5,
    level: float = 0.95,
    power: float = 0.8,
    increase: bool = True,
) -> float:
    """How far a proportion must lie above a known base (or below it) to be told from it; infinite if no room is enough.

    >>> round(detectable(1000, p=0.75, q=0.25, base=0.1), 4)
    0.082
    >>> detectable(50, p=0.55, q=0.45, base=0.1)
    inf
    """
    group = _group(n, p, q)
    null = math.sqrt(float(group.variance(check_share(base, "base"))))

    def errors(effect: float) -> tuple[float, float]:
        return null, math.sqrt(float(group.variance(base + effect)))

    return _smallest(errors, base, level, power, increase)


def detectable_change(
    n: int | tuple[int, int],
    p: float | Fraction,
    q: float | Fraction,
    base: float = 0.5,
    level: float = 0.95,
    power: float = 0.8,
    increase: bool = True,
    correlation: float = 0.0,
) -> float:
    """How far a second proportion must lie above (or below) a first one, the base, to be told from it.

    For two groups, or for one question asked twice, n is the number of answers to each, or a pair. The `correlation`
    of the two estimates is that of `difference_test`: where the same people answer twice, a change is easier to see.

    >>> round(detectable_change(1000, p=0.75, q=0.25, base=0.1), 4)
    0.1177
    >>> round(detectable_change((1000, 4000), p=0.75, q=0.25, base=0.1), 4)
    0.093
    """
    sizes = n if isinstance(n, tuple) else (n, n)
    if len(sizes) != 2:
        raise ParameterError(f"n must be one number of answers or a pair, got {n!r:.40}")
    first, second = (_group(size, p, q) for size in sizes)
    base, rho = check_share(base, "base"), check_number(correlation, "correlation", -1, 1)

    def error(one: float, other: float) -> float:
        a, b = float(first.variance(one)), float(second.variance(other))
        return math.sqrt(max(a + b - 2 * rho * math.sqrt(a * b), 0.0))

    def errors(effect: float) -> tuple[float, float]:
        pooled = base + effect * sizes[1] / (sizes[0] + sizes[1])
        return error(pooled, pooled), error(base, base + effect)

    return _smallest(errors, base, level, power, increase)


def _smallest(
    errors: Callable[[float], tuple[float, float]], base: float, level: float, power: float, increase: bool
) -> float:
    """The smallest effect that exceeds its errors, under no effect and under itself, by their quantiles."""
    far = NormalDist().inv_cdf((1 + check_level(level)) / 2)
    beyond, sign = NormalDist().inv_cdf(check_level(power, "power")), 1 if increase else -1

    def short(size: float) -> float:
        under_none, under_effect = errors(sign * size)
        return size - far * under_none - beyond * under_effect

    room = 1 - base if increase else base
    if short(room) < 0:
        return math.inf
    if short(EFFECT_PRECISION) >= 0:
        return 0.0
    return float(scipy.optimize.brentq(short, EFFECT_PRECISION, room, xtol=EFFECT_PRECISION))


def _group(n: object, p: object, q: object) -> YesCounts:
    group = YesCounts(0, check_whole(n, "n", 1), check_share(p, "p"), check_share(q, "q"))
    if group.p == group.q:
        raise ParameterError(f"p must differ from q, or answers say nothing, got {group.p:g} twice")
    return group
