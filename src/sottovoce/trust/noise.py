"""Noise for counts: the Laplace mechanism for integers, our own and OpenDP's."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability, check_epsilon, exp_below, log_above, round_up
from sottovoce.core.randomness import SYSTEM, Keystream, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

COINS_AT_A_TIME = 2**20
"""Coins tossed at a time for a column of noise."""

MIN_TAILS_CHANCE = 2.0**-24
"""The least probability of tails that a coin may have. With less, a run of heads takes too long to draw."""


class Noise(ABC):
    """Two-sided geometric noise on counts that one person changes by at most `sensitivity` in all.

    The noise k has probability (1-a)/(1+a) a^|k|, where a is the `ratio` of one probability to the one before.
    """

    by: ClassVar[str]
    sensitivity: int

    if TYPE_CHECKING:

        @property
        def ratio(self) -> float | Fraction: ...
        @property
        def epsilon(self) -> float: ...

    @abstractmethod
    def release(self, counts: Iterable[int], source: Source | Keystream = SYSTEM) -> list[int]:
        """The counts, each with fresh noise."""

    @cached_property
    def stderr(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(2 * self.ratio) / float(1 - self.ratio)

    def reach(self, level: float = 0.95) -> int:
        """How far the noise strays with probability at most 1 - level: the half-width of an interval."""
        if not 0 < level < 1:
            raise ParameterError(f"level must lie strictly between 0 and 1, got {level}")
        tail = math.log((1 - level) * (1 + self.ratio) / 2) / math.log(self.ratio)
        return max(math.ceil(tail) - 1, 0)


@dataclass(frozen=True, init=False)
class DiscreteLaplace(Noise):
    """Counts with two-sided geometric noise: the Laplace mechanism for integers, without floating point.

    The noise k has probability (1-a)/(1+a) a^|k|. It is the difference of two geometric variables, each the number of
    times in a row that a coin of probability a comes up heads, so that epsilon = -sensitivity * ln(a) is exact.
    One respondent who changes an answer changes a count by 1, and a histogram by 2 (sensitivity 2).

    >>> m = DiscreteLaplace(epsilon=1.0)
    >>> m.epsilon <= 1.0, round(m.stderr, 2)
    (True, 1.36)

    A. Ghosh, T. Roughgarden, M. Sundararajan, Universally Utility-Maximizing Privacy Mechanisms, STOC 2009.
    """

    by: ClassVar[str] = "sottovoce"
    ratio: Probability
    sensitivity: int

    def __init__(self, epsilon: float, sensitivity: int = 1) -> None:
        asked = _check(epsilon, sensitivity)
        step = asked / sensitivity
        if Fraction(step) * sensitivity > Fraction(asked):
            step = math.nextafter(step, 0)
        object.__setattr__(self, "ratio", round_up(1 / exp_below(step)))
        object.__setattr__(self, "sensitivity", sensitivity)
        if self.epsilon > asked:
            raise ParameterError(
                f"epsilon is too small for exact probabilities at sensitivity {sensitivity}, got {asked:g}"
            )

    @cached_property
    def epsilon(self) -> float:
        return log_above(Fraction(1) / self.ratio**self.sensitivity)

    def release(self, counts: Iterable[int], source: Source | Keystream = SYSTEM) -> list[int]:
        """The counts with noise, drawn from the operating system unless told otherwise; from a keystream by the column.

        >>> DiscreteLaplace(epsilon=1.0).release([10, 20, 30], Keystream(seed=1))
        [12, 20, 31]
        """
        if isinstance(source, Keystream):
            column = np.fromiter(counts, dtype=np.int64)
            heads = self._geometrics(2 * column.size, source)
            noisy: list[int] = (column + heads[::2] - heads[1::2]).tolist()
            return noisy
        return [int(count) + self._geometric(source) - self._geometric(source) for count in counts]

    def _geometric(self, source: Source) -> int:
        heads = 0
        while source.bernoulli(self.ratio):
            heads += 1
        return heads

    def _geometrics(self, size: int, stream: Keystream) -> NDArray[np.int64]:
        """The lengths of `size` runs of heads. Each run that still goes on is given another row of coins."""
        tail = float(1 - self.ratio)
        if tail < MIN_TAILS_CHANCE:
            raise ParameterError(f"epsilon must be at least 2^-24 for each unit of sensitivity, got {self.epsilon:g}")
        heads, still = np.zeros(size, dtype=np.int64), np.arange(size)
        while still.size:
            width = max(min(int(1 / tail), COINS_AT_A_TIME // still.size), 1)
            coins = stream.bernoulli(self.ratio, still.size * width).reshape(-1, width)
            run = np.where(coins.all(axis=1), width, (~coins).argmax(axis=1))
            heads[still] += run
            still = still[run == width]
        return heads


@dataclass(frozen=True, init=False)
class OpenDPLaplace(Noise):
    """The same noise by OpenDP, which has proofs of its own: `pip install 'sottovoce[central]'`.

    Its scale is sensitivity / epsilon, and its epsilon is what OpenDP's own privacy map says, never more than asked.
    OpenDP takes its randomness from the operating system and knows no seed.

    The OpenDP team, https://opendp.org; C. Canonne, G. Kamath, T. Steinke, The Discrete Gaussian for Differential
    Privacy, NeurIPS 2020.
    """

    by: ClassVar[str] = "OpenDP"
    scale: float
    sensitivity: int

    def __init__(self, epsilon: float, sensitivity: int = 1) -> None:
        asked = _check(epsilon, sensitivity)
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "scale", sensitivity / asked)
        if self.epsilon > asked:  # Half a unit in the last place: one step of the scale makes up for it.
            object.__setattr__(self, "scale", math.nextafter(self.scale, math.inf))
            del self.__dict__["epsilon"], self.__dict__["_measurement"]
        if self.epsilon > asked:
            raise ParameterError(f"OpenDP reports epsilon = {self.epsilon!r}, more than {asked!r}")

    @cached_property
    def _measurement(self) -> Any:
        load("opendp.mod").enable_features("contrib")
        domains, metrics = load("opendp.domains"), load("opendp.metrics")
        counts = domains.vector_domain(domains.atom_domain(T="i64"))
        return load("opendp.measurements").make_laplace(counts, metrics.l1_distance(T="i64"), scale=self.scale)

    @cached_property
    def epsilon(self) -> float:
        return float(self._measurement.map(self.sensitivity))

    @cached_property
    def ratio(self) -> float:
        return math.exp(-1 / self.scale)

    def release(self, counts: Iterable[int], source: Source | Keystream = SYSTEM) -> list[int]:
        """The counts with noise from the operating system; a source that is not random is refused."""
        if source is not SYSTEM and getattr(source, "simulated", True):
            raise ParameterError("OpenDP cannot be seeded: leave out the seed, or take the engine sottovoce")
        return list(self._measurement([int(count) for count in counts]))


def _check(epsilon: float, sensitivity: int) -> float:
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int) or sensitivity < 1:
        raise ParameterError(f"sensitivity must be a whole number from 1, got {sensitivity!r}")
    return check_epsilon(epsilon)
