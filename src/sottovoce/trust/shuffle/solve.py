"""Where a falling curve meets a level, from the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable

Curve = Callable[[float], float]

DELTA_PRECISION = 2e-4
"""How near to delta, relative to it, a solution lies: epsilon is then near to about one part in a hundred thousand."""

MAX_STEPS = 60
GUESS_PRECISION = 1e-9


def least(curve: Curve, delta: float, guess: float, top: float) -> float:
    """About the least epsilon at which a falling curve is at most delta; `top` if there is none below."""
    if guess < 1e-3 * top and curve(0.0) <= delta:
        return 0.0
    return _meet(curve, delta, guess, top, 1)


def most(curve: Curve, delta: float, guess: float, top: float) -> float:
    """About the largest epsilon at which a falling curve is at least delta; 0 if there is none."""
    return _meet(curve, delta, guess, top, -1)


def _meet(curve: Curve, delta: float, guess: float, top: float, side: int) -> float:
    """Secants between brackets. Only a point where the curve was seen to be on the right side of delta is returned."""
    wanted, best = math.log(delta) - side * DELTA_PRECISION / 2, top if side > 0 else 0.0
    low, high = 0.0, top
    x = min(max(guess, 1e-9 * top), 0.99 * top)
    before: tuple[float, float] | None = None
    for _ in range(MAX_STEPS):
        y = _log(curve(x))
        if side * y <= side * math.log(delta):
            best = x if side * x < side * best else best
        low, high = (x, high) if y > wanted else (low, x)
        if abs(y - wanted) <= DELTA_PRECISION / 2 or high - low <= 1e-7 * high:
            break
        x, before = _next(low, high, before, (x, y), wanted), (x, y)
    return best


def _next(
    low: float, high: float, before: tuple[float, float] | None, last: tuple[float, float], wanted: float
) -> float:
    """The secant through two points, or through one with the slope of a normal tail; the middle if that leads away."""
    (x, y), slope = last, -12 / last[0]
    if before and math.isfinite(before[1]) and math.isfinite(y) and before[0] != x:
        slope = (y - before[1]) / (x - before[0])
    step = x + (wanted - y) / slope if slope < 0 and math.isfinite(y) else math.nan
    margin = 1e-6 * (high - low)
    return step if low + margin < step < high - margin else (low + high) / 2


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def normal_delta(epsilon: float, shift: float) -> float:
    """The divergence at epsilon of two normal laws of variance 1 that are `shift` apart."""
    here, there = (math.erfc((epsilon / shift + side * shift / 2) / math.sqrt(2)) / 2 for side in (-1, 1))
    return here - math.exp(epsilon) * there


def normal_epsilon(delta: float, shift: float, top: float) -> float:
    """The epsilon, at delta, of two normal laws that are `shift` apart: a first guess for many reports."""
    if not 0 < shift < 1e3 or normal_delta(top, shift) >= delta:
        return top
    if normal_delta(0.0, shift) <= delta:
        return 0.0
    low, high = 0.0, top
    while high - low > GUESS_PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if normal_delta(middle, shift) > delta else (low, middle)
    return high
