"""Memoized questions: a permanent answer on the device, and which mechanism keeps it best."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sottovoce.domain import Domain, Text
from sottovoce.mechanisms import KRR, Hashed, LocalHash, RandomizedResponse, Unary
from sottovoce.mechanisms.choose import MAX_BITS
from sottovoce.mechanisms.memoized import Memoized
from sottovoce.privacy import MAX_EPSILON, float_below

if TYPE_CHECKING:
    from sottovoce.survey.item import Item

TWICE = 2
"""What any number of reports of one answer may cost, in reports, unless a question says otherwise."""


def costing(item: Item, domain: Domain | Text, first: float, salt: str = "") -> Memoized:
    """The best mechanism one report of which costs at most `first`."""
    permanent = TWICE * first if item.permanent is None else item.permanent
    return _best(item, domain, permanent, first, salt)


def within(item: Item, domain: Domain | Text, share: Fraction, waves: int, salt: str = "") -> Memoized:
    """The best mechanism that costs at most a share of the budget, even if the answer changes in every wave."""
    each = float_below(share / permanent_answers(item.changes, domain, waves))
    permanent = min(each, float(MAX_EPSILON))
    return _best(item, domain, permanent, permanent / TWICE, salt)


def permanent_answers(changes: int | None, domain: Domain | Text, waves: int) -> int:
    """How many permanent answers a person pays for at most: one for each change, value and wave, whatever is least."""
    drawn = waves if changes is None else min(waves, changes + 1)
    return drawn if isinstance(domain, Text) else min(drawn, domain.size)


@dataclass(frozen=True)
class Followed:
    """What it takes to follow so many changes of an answer, or all of them (None), within a budget."""

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


def price_of_changes(item: Item, domain: Domain | Text, share: float, waves: int, n: int) -> list[Followed]:
    """For no change, one, two and so on, and for all of them: what a wave of n people is worth at the same cost."""
    most = permanent_answers(None, domain, waves) - 1
    rows = []
    for changes in (*range(min(most, MAX_CHANGES_SHOWN + 1)), None):
        made = within(replace(item, changes=changes), domain, Fraction(share), waves)
        answers = permanent_answers(changes, domain, waves)
        rows.append(Followed(changes, answers, made.epsilon_forever, made.epsilon, math.sqrt(made.variance / n)))
    return rows


def _best(item: Item, domain: Domain | Text, permanent: float, first: float, salt: str) -> Memoized:
    """Hash functions depend on the salt."""
    more: dict[str, Any] = {"salt": salt} if isinstance(domain, Text) else {}
    made = (
        Memoized.of(name, domain, permanent=permanent, first=first, changes=item.changes, **more)
        for name in _names(item, domain)
    )
    return min(made, key=lambda m: (m.variance, m.bits))


def _names(item: Item, domain: Domain | Text) -> list[str]:
    if item.by != "auto":
        return [item.by]
    if isinstance(domain, Text):
        return [Hashed.name]
    if domain.size == 2:
        return [RandomizedResponse.name]
    return [KRR.name, LocalHash.name, *([Unary.name] if domain.size <= MAX_BITS else [])]
