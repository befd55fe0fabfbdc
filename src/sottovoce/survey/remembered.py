"""Memoized questions: a permanent answer on the device, and which mechanism keeps it best."""

from __future__ import annotations

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
