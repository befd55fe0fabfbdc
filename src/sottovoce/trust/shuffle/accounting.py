"""What a shuffled batch of reports costs: bounds of (epsilon, delta) from both sides, and their inverses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import MAX_EPSILON, check_epsilon, rounded_up
from sottovoce.estimates.render import plural
from sottovoce.mechanisms import Mechanism
from sottovoce.mechanisms.longitudinal.base import Longitudinal
from sottovoce.trust.shuffle.bounds import (
    MAX_REPORTS,
    MAX_SUMMED,
    AccountedBatch,
    Target,
    check_delta,
    check_reports,
    check_target,
)
from sottovoce.trust.shuffle.rounds import MAX_ROUNDS, over_rounds
from sottovoce.trust.synthetic import check_whole

METHODS = {
    "exact": "the exact divergence of counts of noisy bits",
    "blanket": "the privacy blanket of the mechanism",
    "clones": "the clones of any mechanism of this epsilon",
    "local": "the epsilon of one report: shuffling so few adds nothing",
}
PRECISION = 1e-4
"""The relative precision of inverses: of the largest epsilon0, and of the least number of reports."""


@dataclass(frozen=True)
class Shuffled:
    """The privacy of shuffled batches. Made by `shuffle_epsilon`, `shuffle_local_epsilon` and `shuffle_n`.

    Whoever sees only the shuffled reports learns at most `upper` (at delta) about any one person. Some two data sets
    show that it cannot be less than `lower`. `local` is what remains if the shuffler tells who sent what.
    """

    n: int
    delta: float
    local: float
    upper: float
    lower: float
    method: str
    rounds: int = 1

    @property
    def amplification(self) -> float:
        """How many times less a batch reveals than the reports by themselves."""
        return self.rounds * self.local / self.upper if self.upper else math.inf

    @property
    def words(self) -> str:
        """The guarantee in plain words."""
        often = "" if self.rounds == 1 else f" over {self.rounds:,} rounds"
        return (
            f"If at least {plural(self.n, 'honest report')} are shuffled together{often}, what the analyst sees is "
            f"({rounded_up(self.upper, 4):.4g}, {self.delta:g})-differentially private. Should the shuffler tell who "
            f"sent what, each report still has epsilon {self.local:.4g}."
        )

    def to_dict(self) -> JsonObject:
        """A form for JSON."""
        return {
            "n": self.n,
            "delta": self.delta,
            "rounds": self.rounds,
            "local_epsilon": self.local,
            "upper": self.upper,
            "lower": self.lower,
            "method": self.method,
            "by": METHODS[self.method],
            "words": self.words,
        }

    def __str__(self) -> str:
        return (
            f"epsilon {self.lower:.4g} .. {rounded_up(self.upper, 4):.4g} at delta {self.delta:g}, from "
            f"{self.local:.4g} by itself; n = {self.n:,} honest reports; {self.method}"
        )


def shuffle_epsilon(mechanism: Target, n: int, delta: float, rounds: int = 1) -> Shuffled:
    """The epsilon, at delta, of a shuffled batch that holds at least n honest reports of a mechanism.

    n is what is *guaranteed*: people who may collude with the analyst, drop out or send anything at all do not count.
    Instead of a mechanism an epsilon0 may be given, for a bound that holds for any mechanism of it. The same people may
    answer in several rounds, each shuffled by itself, with fresh randomness: their losses are composed (needs
    `dp-accounting`).

    >>> from sottovoce.mechanisms import KRR
    >>> shuffled = shuffle_epsilon(KRR(16, epsilon=1.0), n=10_000, delta=1e-6)
    >>> print(shuffled)
    epsilon 0.01859 .. 0.0186 at delta 1e-06, from 1 by itself; n = 10,000 honest reports; blanket
    >>> round(shuffle_epsilon(1.0, n=10_000, delta=1e-6).upper, 4)
    0.053
    """
    return _shuffled(*_checked(mechanism, n, delta, rounds))


def shuffle_upper(mechanism: Target, n: int, delta: float, rounds: int = 1) -> float:
    """`shuffle_epsilon(...).upper` alone, at half the work: what a device needs to know."""
    target, n, delta, rounds = _checked(mechanism, n, delta, rounds)
    batch = AccountedBatch(target, n, delta)
    return _finite(over_rounds(batch, rounds) if rounds > 1 else batch.upper()[0])


def _checked(mechanism: Target, n: int, delta: float, rounds: int) -> tuple[Target, int, float, int]:
    target, n, delta = check_target(mechanism), check_reports(n), check_delta(delta)
    rounds = check_whole("rounds", rounds, MAX_ROUNDS)
    if rounds > 1 and isinstance(target, Longitudinal):
        raise ParameterError("rounds must have fresh randomness: a mechanism that remembers is accounted for one round")
    return target, n, delta, rounds


def _finite(epsilon: float) -> float:
    """The epsilon, if it is a finite number. NaN is neither above nor below a limit, so it must not get out."""
    if not 0 <= epsilon < math.inf:
        raise ParameterError(f"no epsilon is known for these parameters: the accounting came to {epsilon}")
    return epsilon


@lru_cache(maxsize=256)
def _shuffled(target: Target, n: int, delta: float, rounds: int) -> Shuffled:
    batch = AccountedBatch(target, n, delta)
    upper, method = batch.upper()
    lower = min(batch.lower(upper), upper)
    if rounds > 1:
        upper = over_rounds(batch, rounds)
    return Shuffled(n, delta, batch.local, _finite(upper), _finite(lower), method, rounds)


def shuffle_local_epsilon(
    epsilon: float, n: int, delta: float, build: Callable[[float], Mechanism] | None = None
) -> Shuffled:
    """The (epsilon, delta)-private batch of n honest reports with the largest epsilon0 of one report, `local`.

    It holds for any mechanism, or for those that `build` makes of an epsilon0, which may often have a larger one.

    >>> from sottovoce.mechanisms import KRR
    >>> round(shuffle_local_epsilon(0.5, 10_000, 1e-6).local, 2)
    3.7
    >>> round(shuffle_local_epsilon(0.5, 10_000, 1e-6, lambda e: KRR(16, epsilon=e)).local, 2)
    4.48
    """
    largest = largest_local_epsilon(epsilon, n, delta, build)
    return shuffle_epsilon(build(largest) if build else largest, n, delta)


def largest_local_epsilon(
    epsilon: float, n: int, delta: float, build: Callable[[float], Mechanism] | None = None
) -> float:
    """The largest epsilon0 alone: at less work than `shuffle_local_epsilon`."""
    epsilon, n, delta = check_epsilon(epsilon), check_reports(n), check_delta(delta)
    make: Callable[[float], Target] = build or (lambda local: local)

    def holds(local: float, whole: bool) -> bool:
        return AccountedBatch(check_target(make(local)), n, delta).holds(epsilon, whole)

    return _largest(holds, epsilon, float(MAX_EPSILON))


def _largest(holds: Callable[[float, bool], bool], safe: float, top: float) -> float:
    """About the largest number that holds, above one that does in any case."""
    low, high = safe, min(2 * safe, top)
    while high < top and holds(high, False):
        low, high = high, min(1.5 * high, top)
    while high - low > PRECISION * low:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle, False) else (low, middle)
    while low > safe and not holds(low, True):
        low = max(low * (1 - PRECISION), safe)
    return low


def shuffle_n(mechanism: Target, epsilon: float, delta: float) -> Shuffled:
    """The (epsilon, delta)-private batch of about the least number of honest reports, `n`.

    >>> shuffle_n(1.0, epsilon=0.1, delta=1e-6).n < 4000
    True
    """
    return shuffle_epsilon(mechanism, least_reports(mechanism, epsilon, delta), delta)


def least_reports(mechanism: Target, epsilon: float, delta: float) -> int:
    """The number alone: at less work than `shuffle_n`."""
    target, epsilon, delta = check_target(mechanism), check_epsilon(epsilon), check_delta(delta)

    def holds(n: int, whole: bool = False) -> bool:
        return AccountedBatch(target, n, delta).holds(epsilon, whole)

    low, high, most = 0, 1, MAX_REPORTS if AccountedBatch(target, 1, delta).bits else MAX_SUMMED
    beyond = f"epsilon needs more than {most:,} reports, got {epsilon:g} at delta {delta:g}"
    while not holds(high):
        if high >= most:
            raise ParameterError(beyond)
        low, high = high, min(4 * high, most)
    while high - low > max(PRECISION * low, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    while not holds(high, whole=True):
        if high >= most:
            raise ParameterError(beyond)
        high = min(high + math.ceil(PRECISION * high), most)
    return high
