"""Pairs of a permanent and an instantaneous mechanism that cost what they are asked to."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from sottovoce.core.domain import Domain, Text
from sottovoce.core.errors import ParameterError
from sottovoce.core.hashing import MAX_BUCKETS
from sottovoce.core.privacy import Probability, check_epsilon, exp_below, round_down
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.local_hash import LocalHash, best_buckets
from sottovoce.mechanisms.frequency.randomized_response import RandomizedResponse
from sottovoce.mechanisms.frequency.unary import Unary
from sottovoce.mechanisms.text.bloom import Bloom
from sottovoce.mechanisms.text.hashed import Hashed

if TYPE_CHECKING:
    from sottovoce.mechanisms.longitudinal.memoized import Values

Permanent = KRR | Unary | LocalHash | Hashed | Bloom
Instantaneous = KRR | Unary
Pair = tuple[Permanent, Instantaneous]


class HashingOptions(TypedDict, total=False):
    """How texts are hashed. `hashes` is for Bloom filters only."""

    cohorts: int
    salt: str
    hashes: int


class FilterOptions(HashingOptions, total=False):
    """The same, and how many bits a Bloom filter has."""

    bits: int


def pair_costing(
    kind: str,
    domain: Values,
    permanent: float,
    first: float,
    buckets: int | None,
    **hashing: Unpack[HashingOptions],
) -> Pair:
    """A permanent and an instantaneous mechanism: the former costs `permanent`, a report of both `first`."""
    permanent, first = check_epsilon(permanent), check_epsilon(first)
    if first >= permanent:
        raise ParameterError(f"first must be less than permanent, got {first:g} and {permanent:g}")
    if kind in (Hashed.name, Bloom.name):
        return _text_pair(kind, domain, permanent, first, buckets, **hashing)
    if hashing:
        raise ParameterError(f"{min(hashing)} is for texts only, got it for {kind!r:.40}")
    listed: Any = domain  # `Domain` refuses what is no list of values.
    return _listed_pair(kind, Domain.of(listed), permanent, first, buckets)


def _listed_pair(kind: str, domain: Domain, permanent: float, first: float, buckets: int | None) -> Pair:
    if buckets is not None and kind != LocalHash.name:
        raise ParameterError(f"buckets are for values that are hashed only, got {buckets!r} for {kind!r:.40}")
    if kind == Unary.name:
        kept = Unary(domain, permanent)
        flip = _flip(kept, first)
        return kept, Unary(domain, p=1 - flip, q=flip)
    if kind == RandomizedResponse.name:
        pair = RandomizedResponse(permanent, domain=domain)
        return pair, RandomizedResponse(p=_answer(pair, first), domain=domain)
    if kind == KRR.name:
        told = KRR(domain, permanent)
        return told, KRR(domain, p=_answer(told, first))
    if kind == LocalHash.name:
        hashed = LocalHash(domain, permanent, buckets=buckets or best_buckets(domain.size, first, "optimal"))
        return hashed, KRR(hashed.buckets, p=_answer(hashed._bucket_response, first))
    names = ", ".join(mechanism.name for mechanism in (RandomizedResponse, KRR, Unary, LocalHash, Hashed, Bloom))
    raise ParameterError(f"kind must be one of {names}, got {kind!r:.40}")


BUCKETS_OF_ALL_COHORTS = 2**16
"""Buckets times cohorts, if the number of cohorts is not given: collisions are then as rare as for `Hashed`."""


def _text_pair(
    kind: str,
    domain: Values,
    permanent: float,
    first: float,
    buckets: int | None,
    **hashing: Unpack[HashingOptions],
) -> Pair:
    if domain is not None and not isinstance(domain, Text):
        raise ParameterError(f"{kind} is for a domain of Text, got {domain!r:.60}")
    odd = set(hashing) - {"cohorts", "salt", *(["hashes"] if kind == Bloom.name else [])}
    if odd:
        raise ParameterError(f"{kind} has no {min(odd)}")
    if kind == Bloom.name:
        kept = Bloom(128 if buckets is None else buckets, epsilon=permanent, domain=domain, **hashing)
        flip = _symmetric_flip(kept, first)
        return kept, Unary(kept.buckets, p=1 - flip, q=flip)
    told = KRR(round(min(math.exp(first) + 1, MAX_BUCKETS)) if buckets is None else buckets, permanent)
    cohorts = hashing.get("cohorts", max(BUCKETS_OF_ALL_COHORTS // told.domain.size, 1))
    made = Hashed(told, cohorts=cohorts, salt=hashing.get("salt", ""), domain=domain)
    return made, KRR(told.domain, p=_answer(told, first))


def few_buckets(size: int, first: float, kind: str) -> int:
    """As for local hashing with the epsilon of one report, since that is what the chain amounts to."""
    return best_buckets(size, check_epsilon(first), kind)


def _answer(permanent: KRR, first: float) -> Probability:
    """The truth probability of k-ary randomized response after which a report favours the true value by e^first."""
    p, q, target = permanent.p, permanent.q, exp_below(first)
    if p <= target * q:
        raise ParameterError(f"first must be less than permanent, got {first:g} and {permanent.epsilon:g}")
    ratio = (target * (1 - q) - (1 - p)) / (p - target * q)
    return round_down(ratio / (ratio + permanent.domain.size - 1))


def _flip(permanent: Unary, first: float) -> Fraction:
    """How often to flip a bit, so that the true one is sent as 1 by a fair coin and another with 1 / (1 + e^first)."""
    other, target = permanent.q, 1 / (1 + exp_below(first))
    if other >= target:
        raise ParameterError(f"first must be less than permanent, got {first:g} and {permanent.epsilon:g}")
    return 1 - round_down((1 - other - target) / (1 - 2 * other))


def _symmetric_flip(permanent: Bloom, first: float) -> Fraction:
    """How often to flip a bit, each alike, so that all bits of a value together favour it by e^first."""
    target = exp_below(math.nextafter(first / (2 * permanent.hashes), 0))
    kept, wanted = permanent.p, target / (1 + target)
    if wanted >= kept:
        raise ParameterError(f"first must be less than permanent, got {first:g} and {permanent.epsilon:g}")
    return 1 - round_down((wanted - (1 - kept)) / (2 * kept - 1))
