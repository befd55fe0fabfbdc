"""Memoized questions: a permanent answer on the device, and which mechanism keeps it best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sottovoce.domain import Domain, Text
from sottovoce.field import is_order
from sottovoce.mechanisms import KRR, Bloom, Hashed, LocalHash, RandomizedResponse, Unary
from sottovoce.mechanisms.choose import MAX_BITS
from sottovoce.mechanisms.memoized import Memoized
from sottovoce.privacy import MAX_EPSILON, float_below

if TYPE_CHECKING:
    from sottovoce.survey.item import Item

TWICE = 2
"""What any number of reports of one answer may cost, in reports, unless a question says otherwise."""

MOST_BUCKETS = 16


def costing(item: Item, domain: Domain | Text, first: float, salt: str = "") -> Memoized:
    """The best mechanism one report of which costs at most `first`."""
    permanent, more = TWICE * first if item.permanent is None else item.permanent, _hashing(domain, salt)
    return _best(Memoized.of(name, domain, permanent=permanent, first=first, **more) for name in _names(item, domain))


def within(item: Item, domain: Domain | Text, share: Fraction, waves: int, salt: str = "") -> Memoized:
    """The best mechanism that costs at most a share of the budget, even if the answer changes in every wave."""
    return _best(
        Memoized.of(
            name, domain, permanent=permanent, first=permanent / TWICE, buckets=buckets, **_hashing(domain, salt)
        )
        for name, buckets, most in _ways(item, domain, waves)
        for permanent in [min(float_below(share / min(waves, most)), float(MAX_EPSILON))]
    )


def _hashing(domain: Domain | Text, salt: str) -> dict[str, Any]:
    return {"salt": salt} if isinstance(domain, Text) else {}


def _names(item: Item, domain: Domain | Text) -> list[str]:
    if item.by != "auto":
        return [item.by]
    if isinstance(domain, Text):
        return [Hashed.name]
    if domain.size == 2:
        return [RandomizedResponse.name]
    return [KRR.name, LocalHash.name, *([Unary.name] if domain.size <= MAX_BITS else [])]


def _ways(item: Item, domain: Domain | Text, waves: int) -> Iterator[tuple[str, int | None, int]]:
    """Mechanisms, hashing with several numbers of buckets, and how many permanent answers each may have."""
    for name in _names(item, domain):
        if name == LocalHash.name:
            yield name, None, 1 << (domain.size - 1).bit_length()
            few = (buckets for buckets in range(2, MOST_BUCKETS + 1) if is_order(buckets))
            yield from ((name, buckets, buckets) for buckets in few if buckets < domain.size)
        elif name == Hashed.name:
            yield from ((name, buckets, buckets) for buckets in range(2, MOST_BUCKETS + 1))
        else:
            yield name, None, waves if name == Bloom.name else domain.size


def _best(made: Iterable[Memoized]) -> Memoized:
    return min(made, key=lambda m: (m.variance, m.bits))
