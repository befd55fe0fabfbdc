"""Inversion of what grows: the least number that reaches a target."""

from __future__ import annotations

import math
from collections.abc import Callable

MAX_PEOPLE = 2**53
"""More people than that are not planned for."""

PRECISION = 1e-9


def least_integer(reaches: Callable[[int], bool], most: int = MAX_PEOPLE) -> int | None:
    """The least n from 1 that reaches the target, if more never undo it: n reaches it, and n - 1 does not.

    >>> least_integer(lambda n: n * n >= 1000)
    32
    """
    high = 1
    while not reaches(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def least_real(reaches: Callable[[float], bool], low: float, high: float) -> float | None:
    """The least number between two positive ones that reaches the target, to nine digits; what is returned does.

    >>> round(least_real(lambda x: x * x >= 2, 0.1, 10), 6)
    1.414214
    """
    if not reaches(high):
        return None
    if reaches(low):
        return low
    while high > low * (1 + PRECISION):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high
