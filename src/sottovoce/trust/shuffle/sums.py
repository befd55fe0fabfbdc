"""Sums in the shuffle model: of bits, and of numbers that are sent as several noisy bits.

Everyone sends bits. With probability 1 - p a bit is the truth, with probability p a fair coin; all bits of all people
are shuffled, so that only the number of ones is seen. The p is the least with which that number is (epsilon,
delta)-private, by the exact divergence of the worst two data sets. The error of a sum is then about that of a curator
times the square root of log(1/delta), whatever the number of people.

A. Cheu, A. Smith, J. Ullman, D. Zeber, M. Zhilyaev, Distributed Differential Privacy via Shuffling, EUROCRYPT 2019.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING

from sottovoce.core.domain import Scale
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID, Probability, check_epsilon, check_probability, exp_below, log_above
from sottovoce.core.randomness import SYSTEM, Keystream, Source
from sottovoce.estimates.frequencies import quantile
from sottovoce.estimates.interval import Interval
from sottovoce.mechanisms import RandomizedResponse
from sottovoce.trust.shuffle.accounting import Shuffled
from sottovoce.trust.shuffle.bit_counts import BitCounts
from sottovoce.trust.shuffle.bounds import check_delta, check_reports, exact
from sottovoce.trust.shuffle.solve import most
from sottovoce.trust.synthetic import check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain.columns import Column

MAX_MESSAGES = 1024
PRECISION = 1e-4
"""The relative precision of the least p that is private."""


@dataclass(frozen=True)
class Total:
    """An estimated sum with its standard error: of the noise, and for numbers at most that of rounding."""

    sum: float
    stderr: float
    people: int

    @property
    def mean(self) -> float:
        return self.sum / self.people

    def interval(self, level: float = 0.95) -> Interval[float]:
        """A normal interval about the people who answered."""
        reach = quantile(level) * self.stderr
        return Interval(self.sum - reach, self.sum + reach, level)


class NoisyBits:
    """What sums of bits and of numbers have in common."""

    n: int
    delta: float
    p: Probability

    if TYPE_CHECKING:

        @property
        def messages(self) -> int:
            """How many bits a person sends."""

    @property
    def keep(self) -> Probability:
        """The probability that a bit arrives as it is."""
        return Probability(1 - Fraction(self.p) / 2)

    @cached_property
    def local(self) -> float:
        """The epsilon of one person's messages if the shuffler tells who sent them."""
        return log_above((self.keep / (1 - self.keep)) ** self.messages)

    @cached_property
    def shuffled(self) -> Shuffled:
        """What is spent, from above and from below, for at least n honest people."""
        bits = BitCounts(self.n, Fraction(self.keep), self.messages, self.delta)
        upper = exact(bits).epsilon(self.delta, self.local)
        lower = min(most(bits.lower, self.delta, upper, self.local), upper)
        return Shuffled(self.n, self.delta, self.local, upper, lower, "exact" if upper < self.local else "local")

    @property
    def epsilon(self) -> float:
        """The central epsilon, at delta."""
        return self.shuffled.upper

    def _ones(self, ones: int, people: int) -> float:
        """An unbiased estimate of how many true bits are one, from how many ones arrived."""
        sent = people * self.messages
        ones = check_whole("the number of ones", ones, sent, 0)
        return float((ones - sent * Fraction(self.p) / 2) / (1 - Fraction(self.p)))

    def _variance(self, people: int) -> float:
        """The variance of that estimate: the same for every bit, set or not."""
        p = float(self.p)
        return people * self.messages * p / 2 * (1 - p / 2) / (1 - p) ** 2


@dataclass(frozen=True, init=False)
class BinarySum(NoisyBits):
    """How many people say yes: the truth with probability 1 - p, a fair coin with probability p, then shuffled.

    >>> yes = BinarySum(epsilon=1.0, n=10_000, delta=1e-6)
    >>> f"{yes.p:.4f}", yes.epsilon <= 1.0
    ('0.0067', True)
    >>> bits = yes.randomize_many([True] * 3000 + [False] * 7000, seed=1)
    >>> total = yes.estimate(bits.sum(), people=10_000)
    >>> round(total.sum), round(total.stderr, 1)
    (3005, 5.8)
    """

    n: int
    delta: float
    p: Probability

    def __init__(
        self, epsilon: float | None = None, *, n: int, delta: float = 1e-6, p: float | Fraction | None = None
    ) -> None:
        object.__setattr__(self, "n", check_reports(n))
        object.__setattr__(self, "delta", check_delta(delta))
        object.__setattr__(self, "p", _chance(self.n, 1, self.delta, epsilon, p))

    @property
    def messages(self) -> int:
        return 1

    @cached_property
    def mechanism(self) -> RandomizedResponse:
        """What a device runs. Its tallies and estimates may be used as well."""
        return RandomizedResponse(p=self.keep)

    def randomize(self, value: object) -> int:
        """One message, 0 or 1."""
        return int(self.mechanism.randomize(value))

    def randomize_many(self, values: Column, seed: int | Keystream | None = None) -> NDArray[np.uint8]:
        """A message for each answer. A seed is for simulation only."""
        return np.asarray(self.mechanism.randomize_many(values, seed=seed).data, dtype=np.uint8)

    def estimate(self, ones: int, people: int) -> Total:
        """How many said yes, from the number of ones among all messages."""
        people = check_whole("people", people, 2**53)
        return Total(self._ones(ones, people), math.sqrt(self._variance(people)), people)


@dataclass(frozen=True, init=False)
class RealSum(NoisyBits):
    """The sum of numbers from low to high: each is rounded at random to one of `messages` steps and sent as that many
    bits, so many of them ones; then all bits of all people are shuffled.

    More messages make rounding finer and do not make the noise larger. Unless they are given, they are as many as keep
    the error of rounding below a third of that of the noise.

    >>> hours = RealSum(0, 24, epsilon=1.0, n=10_000, delta=1e-6)
    >>> hours.messages, hours.epsilon <= 1.0
    (28, True)
    >>> ones = int(hours.randomize_many([7.5] * 10_000, seed=1).sum())
    >>> total = hours.estimate(ones, people=10_000)
    >>> round(total.mean, 2), round(total.stderr / 10_000, 3)
    (7.5, 0.011)
    """

    low: float
    high: float
    n: int
    delta: float
    messages: int
    p: Probability
    outside: str

    def __init__(
        self, low: float, high: float, epsilon: float | None = None, *, n: int, delta: float = 1e-6,
        messages: int | None = None, p: float | Fraction | None = None, outside: str = "refuse",
    ) -> None:  # fmt: skip
        n, delta = check_reports(n), check_delta(delta)
        if messages is None:
            messages = 1 if epsilon is None else _messages(n, check_epsilon(epsilon), delta)
        messages = check_whole("messages", messages, MAX_MESSAGES)
        scale = Scale(low, high, messages, outside)
        fields = {"low": scale.low, "high": scale.high, "outside": outside, "n": n, "delta": delta}
        for name, value in (fields | {"messages": messages}).items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "p", _chance(n, messages, delta, epsilon, p))

    @cached_property
    def _scale(self) -> Scale:
        return Scale(self.low, self.high, self.messages, self.outside)

    def randomize(self, value: object, source: Source = SYSTEM) -> list[int]:
        """The messages of one person, in no order that means anything."""
        ones = self._scale.encode(value, source)
        return source.coins([self._chances[at < ones] for at in range(self.messages)])

    @cached_property
    def _chances(self) -> tuple[Probability, Probability]:
        return Probability(1 - self.keep), self.keep

    def randomize_many(self, values: Column, seed: int | Keystream | None = None) -> NDArray[np.uint8]:
        """A row of messages for each number. A seed is for simulation only."""
        stream = Keystream.of(seed)
        ones = self._scale.encode_many(values, stream)
        truth = np.arange(self.messages) < ones[:, None]
        kept = stream.bernoulli(self.keep, truth.size).reshape(truth.shape)
        sent: NDArray[np.uint8] = (truth == kept).astype(np.uint8)
        return sent

    def estimate(self, ones: int, people: int) -> Total:
        """The sum of all numbers, from the number of ones among all messages."""
        people = check_whole("people", people, 2**53)
        step = (self.high - self.low) / self.messages
        variance = self._variance(people) + people / 4
        return Total(people * self.low + step * self._ones(ones, people), step * math.sqrt(variance), people)


def _messages(n: int, epsilon: float, delta: float) -> int:
    """So many that rounding, sqrt(n)/2 steps, is a third of the noise, z/epsilon units; but p stays below about 1/4."""
    z = -NormalDist().inv_cdf(min(delta, 0.1))
    fine, room = 1.5 * math.sqrt(n) * epsilon / z, n * epsilon**2 / (16 * z**2)
    return min(max(math.ceil(min(fine, room)), 1), MAX_MESSAGES)


def _chance(n: int, messages: int, delta: float, epsilon: float | None, p: float | Fraction | None) -> Probability:
    """The p that was given, or the least that is private; a multiple of 2^-52, so that p/2 is one of 2^-53."""
    if (epsilon is None) == (p is None):
        raise ParameterError("give either epsilon or p")
    if epsilon is None:
        return _round(check_probability("p", p))
    epsilon = check_epsilon(epsilon)

    def holds(chance: float, whole: bool) -> bool:
        bits = BitCounts(n, 1 - Fraction(_round(Fraction(chance))) / 2, messages, delta)
        return (bits.upper if whole else bits.quick)(epsilon) <= delta

    safe = 2 / (1 + exp_below(Fraction(epsilon) / messages))  # Then one person's messages cost no more by themselves.
    return _round(Fraction(_least(holds, math.nextafter(float(safe), 1.0)))) if safe < 1 else _round(safe)


def _least(holds: Callable[[float, bool], bool], safe: float) -> float:
    """About the least chance that holds, below one that does in any case."""
    low, high = safe / 2, safe
    while low > 1e-12 and holds(low, False):
        low, high = low / 2, low
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle, False) else (middle, high)
    while high < safe and not holds(high, True):
        high *= 1 + PRECISION
    return min(high, safe)


def _round(chance: Fraction) -> Probability:
    half = GRID // 2
    return Probability(min(max(math.ceil(chance * half), 1), half - 1), half)
