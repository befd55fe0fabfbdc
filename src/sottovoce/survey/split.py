"""How a person's budget is divided among the questions that have no epsilon of their own."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from sottovoce.errors import ParameterError
from sottovoce.privacy import float_below

Error = Callable[[float], float]

STEPS = 2**16
"""Shares are looked for in this many steps of the budget."""

ROUNDS = 30
"""Halvings of the range in which the common error lies."""


def equally(budget: Fraction, count: int) -> list[float]:
    """The same for each.

    >>> equally(Fraction(1), 3)
    [0.3333333333333333, 0.3333333333333333, 0.3333333333333333]
    """
    return [float_below(budget / count)] * count


def by_need(budget: Fraction, errors: Sequence[Error]) -> list[float]:
    """Shares with which all questions have the same error; `errors` says which one each has, given a share.

    The common error lies between the least and the largest that equal shares would give. It is found by bisection, and
    for each candidate the least share that reaches it. What the steps leave over is given to all in proportion.

    >>> [round(share, 3) for share in by_need(Fraction(3), [lambda share: 1 / share, lambda share: 2 / share])]
    [1.0, 2.0]
    """
    equal = [error(share) for error, share in zip(errors, equally(budget, len(errors)), strict=True)]
    tables = [_table(budget, error) for error in errors]
    low, high = min(equal), max(equal)
    for _ in range(ROUNDS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if sum(_least(table, middle) for table in tables) <= STEPS else (middle, high)
    steps = [_least(table, high) for table in tables]
    return [float_below(budget * step / sum(steps)) for step in steps]


def _table(budget: Fraction, error: Error) -> Callable[[int], float]:
    """The error for a number of steps, each computed once. A share too small to ask with is infinitely wrong."""

    @functools.cache
    def at(step: int) -> float:
        try:
            return error(float_below(budget * step / STEPS))
        except ParameterError:
            return math.inf

    return at


def _least(table: Callable[[int], float], error: float) -> int:
    """The least number of steps with which the error is no larger; beyond all of them if there is none."""
    low, high = 0, STEPS + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if table(middle) <= error else (middle, high)
    return high
