"""How a person's budget is divided among the questions that have no epsilon of their own, and what they ask with it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import float_below

if TYPE_CHECKING:
    from sottovoce.survey.question import Question

Error = Callable[[float], float]

BUDGET_STEPS = 2**16
"""Shares are looked for in this many steps of the budget."""

BISECTIONS = 30
"""How often the range of the common error is halved."""


def settle(
    questions: Sequence[Question], budget: float | None, way: str = "need", waves: int = 1, salt: str = ""
) -> tuple[Question, ...]:
    """The same questions, each with its mechanism fixed. Those without an epsilon share what the others leave.

    `way` is `need`, for equal errors, or `equal`, for equal shares. Hash functions depend on the salt.
    """
    shares = _shares(questions, budget, way, waves)

    def settled(question: Question) -> Question:
        if question.settled is not None:
            return question
        if question.epsilon is not None:
            return question.settle(question.build(question.epsilon, salt))
        return question.settle(question.spend(Fraction(shares[question.id]), waves, salt))

    return tuple(map(settled, questions))


def _shares(questions: Sequence[Question], budget: float | None, way: str, waves: int) -> dict[str, float]:
    """What all waves may cost, for each question that does not say so itself."""
    waiting = [question for question in questions if question.epsilon is None]
    if not waiting:
        return {}
    if budget is None:
        raise ParameterError(f"question {waiting[0].id!r}: give it an epsilon, or the survey a budget")
    left = Fraction(budget) - sum((question.cost(waves) for question in questions), Fraction(0))
    if left <= 0:
        raise ParameterError(f"budget {budget!r} is spent before question {waiting[0].id!r} is asked")
    if way == "equal":
        shares = equally(left, len(waiting))
    else:
        alike = [replace(question, id="alike", text="") for question in waiting]  # Neither matters to an error.
        errors = {one: _error_of(question, waves) for one, question in zip(alike[::-1], waiting[::-1], strict=True)}
        shares = by_need(left, [errors[one] for one in alike])
    return {question.id: share for question, share in zip(waiting, shares, strict=True)}


def _error_of(question: Question, waves: int) -> Error:
    return lambda share: question.error(Fraction(share), waves)


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
    once = {error: _table(budget, error) for error in errors}
    each = equally(budget, len(errors))[0]
    equal, tables = [error(each) for error in once], [once[error] for error in errors]
    low, high = min(equal), max(equal)
    for _ in range(BISECTIONS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if sum(_least(table, middle) for table in tables) <= BUDGET_STEPS else (middle, high)
    steps = [_least(table, high) for table in tables]
    return [float_below(budget * step / sum(steps)) for step in steps]


def _table(budget: Fraction, error: Error) -> Callable[[int], float]:
    """The error for a number of steps, each computed once. A share too small to ask with is infinitely wrong."""

    @functools.cache
    def at(step: int) -> float:
        try:
            return error(float_below(budget * step / BUDGET_STEPS))
        except ParameterError:
            return math.inf

    return at


def _least(table: Callable[[int], float], error: float) -> int:
    """The least number of steps with which the error is no larger; beyond all of them if there is none."""
    low, high = 0, BUDGET_STEPS + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if table(middle) <= error else (middle, high)
    return high
