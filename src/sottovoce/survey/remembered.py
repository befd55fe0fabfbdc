"""Memoized questions: a permanent answer on the device, and which mechanism keeps it best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from sottovoce.domain import Domain
from sottovoce.field import is_order
from sottovoce.mechanisms import KRR, LocalHash, RandomizedResponse, Unary
from sottovoce.mechanisms.choose import MAX_BITS
from sottovoce.mechanisms.memoized import Memoized
from sottovoce.privacy import MAX_EPSILON, float_below

if TYPE_CHECKING:
    from sottovoce.survey.item import Item

TWICE = 2
"""What any number of reports of one answer may cost, in reports, unless a question says otherwise."""

FEW_BUCKETS = [buckets for buckets in range(2, 17) if is_order(buckets)]


def costing(item: Item, domain: Domain, first: float) -> Memoized:
    """The best mechanism one report of which costs at most `first`."""
    permanent = TWICE * first if item.permanent is None else item.permanent
    return _best(Memoized.of(name, domain, permanent=permanent, first=first) for name in _names(item, domain))


def within(item: Item, domain: Domain, share: Fraction, waves: int) -> Memoized:
    """The best mechanism that costs at most a share of the budget, even if the answer changes in every wave."""
    return _best(
        Memoized.of(name, domain, permanent=permanent, first=permanent / TWICE, buckets=buckets)
        for name, buckets, most in _ways(item, domain)
        for permanent in [min(float_below(share / min(waves, most)), float(MAX_EPSILON))]
    )


def _names(item: Item, domain: Domain) -> list[str]:
    if item.by != "auto":
        return [item.by]
    if domain.size == 2:
        return [RandomizedResponse.name]
    return [KRR.name, LocalHash.name, *([Unary.name] if domain.size <= MAX_BITS else [])]


def _ways(item: Item, domain: Domain) -> Iterator[tuple[str, int | None, int]]:
    """Mechanisms, local hashing with several numbers of buckets, and how many permanent answers each may have."""
    for name in _names(item, domain):
        if name != LocalHash.name:
            yield name, None, domain.size
            continue
        yield name, None, 1 << (domain.size - 1).bit_length()
        yield from ((name, buckets, buckets) for buckets in FEW_BUCKETS if buckets < domain.size)


def _best(made: Iterable[Memoized]) -> Memoized:
    return min(made, key=lambda m: (m.variance, m.bits))
