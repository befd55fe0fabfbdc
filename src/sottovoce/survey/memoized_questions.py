"""Memoized questions: a permanent answer on the device, and which mechanism keeps it best."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sottovoce.core.domain import Domain, Text
from sottovoce.core.privacy import MAX_EPSILON, float_below
from sottovoce.mechanisms import KRR, Hashed, LocalHash, RandomizedResponse, Unary
from sottovoce.mechanisms.frequency.choose import MAX_BITS
from sottovoce.mechanisms.longitudinal.memoized import Memoized

if TYPE_CHECKING:
    from sottovoce.survey.question import Question

PERMANENT_FACTOR = 2
"""Any number of reports of one answer may cost this many times one report, unless a question says otherwise."""


def costing(question: Question, domain: Domain | Text, first: float, salt: str = "") -> Memoized:
    """The best mechanism whose reports cost at most `first` each."""
    permanent = PERMANENT_FACTOR * first if question.permanent is None else question.permanent
    return _best(question, domain, permanent, first, salt)


def within(question: Question, domain: Domain | Text, share: Fraction, waves: int, salt: str = "") -> Memoized:
    """The best mechanism that costs at most a share of the budget, even if the answer changes in every wave."""
    each = float_below(share / permanent_answers(question.changes, domain, waves))
    permanent = min(each, float(MAX_EPSILON))
    return _best(question, domain, permanent, permanent / PERMANENT_FACTOR, salt)


def permanent_answers(changes: int | None, domain: Domain | Text, waves: int) -> int:
    """How many permanent answers a person pays for at most: no more than waves, values, or changes and one."""
    drawn = waves if changes is None else min(waves, changes + 1)
    return drawn if isinstance(domain, Text) else min(drawn, domain.size)


@dataclass(frozen=True)
class FollowedChanges:
    """What following this many changes of an answer, or all of them (None), costs within a budget."""

    changes: int | None
    answers: int
    """Permanent answers that a person pays for at most."""
    permanent: float
    """What each of them costs."""
    first: float
    """What one report costs."""
    error: float
    """The standard error of a frequency in one wave."""


MAX_CHANGES_SHOWN = 5


def price_of_changes(
    question: Question, domain: Domain | Text, share: float, waves: int, n: int
) -> list[FollowedChanges]:
    """How accurate a wave of n people is at the same cost, if no change is followed, one, two and so on, or all."""
    most = permanent_answers(None, domain, waves) - 1
    rows = []
    for changes in (*range(min(most, MAX_CHANGES_SHOWN + 1)), None):
        made = within(replace(question, changes=changes), domain, Fraction(share), waves)
        answers = permanent_answers(changes, domain, waves)
        rows.append(FollowedChanges(changes, answers, made.epsilon_forever, made.epsilon, math.sqrt(made.variance / n)))
    return rows


def _best(question: Question, domain: Domain | Text, permanent: float, first: float, salt: str) -> Memoized:
    """The most accurate mechanism, then the one with the shortest reports. Hash functions depend on the salt."""
    hashing: dict[str, Any] = {"salt": salt} if isinstance(domain, Text) else {}
    made = (
        Memoized.of(domain, name, permanent=permanent, first=first, changes=question.changes, **hashing)
        for name in _names(question, domain)
    )
    return min(made, key=lambda m: (m.variance, m.bits))


def _names(question: Question, domain: Domain | Text) -> list[str]:
    if question.by != "auto":
        return [question.by]
    if isinstance(domain, Text):
        return [Hashed.name]
    if domain.size == 2:
        return [RandomizedResponse.name]
    return [KRR.name, LocalHash.name, *([Unary.name] if domain.size <= MAX_BITS else [])]
