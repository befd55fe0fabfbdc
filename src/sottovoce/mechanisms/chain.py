"""The arithmetic of a permanent answer that is randomized again for every report."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sottovoce.domain import Domain, Text
from sottovoce.errors import ParameterError
from sottovoce.hashing import MAX_BUCKETS
from sottovoce.lazy import numpy as np
from sottovoce.mechanisms.bloom import Bloom
from sottovoce.mechanisms.hashed import Hashed
from sottovoce.mechanisms.krr import KRR
from sottovoce.mechanisms.local_hash import LocalHash, _buckets
from sottovoce.mechanisms.randomized_response import RandomizedResponse
from sottovoce.mechanisms.unary import Unary
from sottovoce.privacy import Probability, check_epsilon, exp_below, float_above, round_down

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAR = 400
"""Beyond 2^400 to one, what reports still hide of a permanent answer is far below the last digit of epsilon."""
FINE = 2**512


def odds(p: Fraction, q: Fraction, base: Fraction, reports: int) -> Fraction:
    """By how much all of some reports favour one permanent answer over another, rounded up by less than 2^-300.

    Each report favours it by `base`. It is permanent with probability p, or with q if the value is another one.
    """
    if reports * math.log2(base) > FAR:
        return p / q
    power = _power_above(base, reports)
    return (p * power + 1 - p) / (q * power + 1 - q)


def _power_above(base: Fraction, exponent: int) -> Fraction:
    """A power of a number above 1: exact for a small exponent, otherwise rounded up to a multiple of 2^-512."""
    power = Fraction(1)
    for digit in f"{exponent:b}":
        power *= power * base if digit == "1" else power
        if power.denominator > FINE**2:
            power = Fraction(math.ceil(power * FINE), FINE)
    return power


def worst_split(loss: Callable[[int], float], reports: int, answers: int) -> float:
    """The most that reports of several permanent answers cost, however many of them each answer has.

    It is read off the least concave curve above the costs of 0, 1, 2, ... reports of one answer, at the average
    number of reports: the exact worst case where costs are concave already, or the reports divide evenly.
    """
    curve = [(Fraction(0), Fraction(0))]
    for count in range(1, reports + 1):
        point = Fraction(count), Fraction(loss(count))
        if point[1] == curve[-1][1]:
            break  # Another report of this answer costs nothing more, nor does any further one.
        while len(curve) > 1 and _above(curve[-2], point, curve[-1]):
            curve.pop()
        curve.append(point)
    return float_above(answers * _height(curve, Fraction(reports, answers)))


Point = tuple[Fraction, Fraction]


def _above(left: Point, right: Point, middle: Point) -> bool:
    """Whether the line from left to right passes over the middle."""
    return (right[1] - left[1]) * (middle[0] - left[0]) >= (middle[1] - left[1]) * (right[0] - left[0])


def _height(curve: list[Point], place: Fraction) -> Fraction:
    for (x, y), (right, top) in pairwise(curve):
        if place <= right:
            return y + (top - y) * (place - x) / (right - x)
    return curve[-1][1]


# The parts that spend what they are asked to.


def parts(
    kind: str, domain: Any, permanent: float, first: float, buckets: int | None, **hashing: Any
) -> tuple[Any, Any]:
    """A permanent and an instantaneous mechanism: the former costs `permanent`, a report of both `first`."""
    permanent, first = check_epsilon(permanent), check_epsilon(first)
    if first >= permanent:
        raise ParameterError(f"first must be less than permanent, got {first:g} and {permanent:g}")
    if kind in (Hashed.name, Bloom.name):
        return _text_parts(kind, domain, permanent, first, buckets, **hashing)
    if hashing:
        raise ParameterError(f"{min(hashing)} is for texts only, got it for {kind!r:.40}")
    return _listed_parts(kind, Domain.of(domain), permanent, first, buckets)


def _listed_parts(kind: str, domain: Domain, permanent: float, first: float, buckets: int | None) -> tuple[Any, Any]:
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
        hashed = LocalHash(domain, permanent, buckets=buckets or _buckets(domain.size, first, "optimal"))
        return hashed, KRR(hashed.buckets, p=_answer(hashed._bucket_response, first))
    names = ", ".join(mechanism.name for mechanism in (RandomizedResponse, KRR, Unary, LocalHash, Hashed, Bloom))
    raise ParameterError(f"kind must be one of {names}, got {kind!r:.40}")


CELLS = 2**16
"""Buckets of all cohorts together, unless somebody says how many cohorts: collisions are as rare as for `Hashed`."""


def _text_parts(
    kind: str, domain: Any, permanent: float, first: float, buckets: int | None, **hashing: Any
) -> tuple[Any, Any]:
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
    made = Hashed(told, domain=domain, **{"cohorts": max(CELLS // told.domain.size, 1)} | hashing)
    return made, KRR(told.domain, p=_answer(told, first))


def few_buckets(size: int, first: float, kind: str) -> int:
    """As for local hashing with the epsilon of one report, since that is what the chain amounts to."""
    return _buckets(size, check_epsilon(first), kind)


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


def answers_sent(codes: NDArray[np.int64], changes: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which permanent answer each report sends, by the rule of `Memoized._step`. A row of codes is one person's waves.

    The first result has an entry for each person and value, in the order in which they come up: the place, row by row,
    of the first report with that value. The second has an entry for each report: the number of the entry it sends.
    With a bound on changes, a person's values beyond the first `changes` + 1 send the last one of those.
    """
    people, waves = codes.shape
    values = np.unique(codes, return_inverse=True)[1].reshape(codes.shape)
    own = np.arange(people)[:, None] * (int(values.max()) + 1) + values
    _, first, entry = np.unique(own, return_index=True, return_inverse=True)
    order = np.argsort(first)
    sent: NDArray[np.int64] = np.argsort(order)[entry.reshape(-1)]
    if changes is not None:
        begins = np.searchsorted(first[order], np.arange(people) * waves)
        sent = np.minimum(sent, begins.repeat(waves) + changes)
    return first[order], sent
