"""Shares of several options when each respondent was asked about one of them, drawn at random.

Let a of the n respondents be asked about an option that a share f of all n holds, and let s of them answer yes: a
holder with probability p, another with probability q. Given a, the asked are a simple random sample without
replacement, so (s/a - q) / (p - q) is unbiased, and its variance about all n respondents is exactly

    (f p (1-p) + (1-f) q (1-q)) / (a (p-q)^2)  +  f (1-f) / a * (n-a) / (n-1)

the randomizer's noise and the luck of who was asked. About a population that the respondents were drawn from, the
last factor is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.frequencies import quantile
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.result import Labelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain import Domain, Label
    from sottovoce.core.privacy import Probability


@dataclass(frozen=True)
class ShareRow:
    """One option's part: how many were asked about it, and what they tell."""

    label: Label
    asked: int
    counts: float
    frequency: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Shares(Labelled[ShareRow]):
    """The share of respondents who hold each option, with its errors. Made by `Sets` and `KeyValue`.

    Shares are unbiased, so one of a rare option may be negative, and they need not add up to anything. An option that
    nobody was asked about has the share 0.5, the error 0.5 and the interval from 0 to 1: nothing is known of it.

    >>> from sottovoce import Sets
    >>> m = Sets(["tea", "coffee"], p=0.75)
    >>> e = m.tally().add_many([1] * 60 + [0] * 40).estimate()  # All were asked about tea.
    >>> e["tea"].frequency, round(e["tea"].stderr, 4), e["coffee"].low, e["coffee"].high
    (0.7, 0.0866, 0.0, 1.0)
    """

    thing: ClassVar[str] = "option"
    measure: ClassVar[str] = "frequency"
    domain: Domain
    n: int
    asked: NDArray[np.int64]
    yes: NDArray[np.int64]
    p: Probability
    q: Probability
    epsilon: float
    simulated: bool = False

    @property
    def labels(self) -> Sequence[Label]:
        return self.domain.labels

    @cached_property
    def _sample(self) -> NDArray[np.int64]:
        """The number asked, at least 1: an option that was not asked about is dealt with apart."""
        return np.maximum(self.asked, 1)

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        p, q = float(self.p), float(self.q)
        return np.where(self.asked > 0, (self.yes / self._sample - q) / (p - q), 0.5)

    @property
    def counts(self) -> NDArray[np.float64]:
        """How many of the n respondents hold each option, asked or not."""
        return self.frequency * self.n

    @cached_property
    def stderr(self) -> NDArray[np.float64]:
        """The standard error about all respondents: noise, and that only some of them were asked."""
        return self._error(population=False)

    @cached_property
    def population_stderr(self) -> NDArray[np.float64]:
        """The standard error about the population that the respondents were sampled from."""
        return self._error(population=True)

    def _correction(self, population: bool) -> NDArray[np.float64]:
        """What sampling a of n without replacement takes off the variance of sampling; nothing for a population."""
        return (self.n - self.asked) / max(self.n - 1, 1) if not population else np.ones(len(self))

    def _error(self, population: bool) -> NDArray[np.float64]:
        f, (noise, slope) = self.frequency.clip(0, 1), self._noise
        variance = noise + slope * f + self._correction(population) * f * (1 - f)
        return np.where(self.asked > 0, np.sqrt(variance / self._sample), 0.5)

    @cached_property
    def _noise(self) -> tuple[float, float]:
        """The randomizer's variance for one report is linear in the share: its value at 0, and its slope."""
        p, q = float(self.p), float(self.q)
        return q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q)

    def interval(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> Interval[NDArray[np.float64]]:
        """Score intervals (Wilson's): all shares f that lie within so many of their own standard errors.

        With the variance at f, a quadratic, in the place of that at the estimate they hold also when only a few were
        asked. Simultaneous ones cover all options at once at the level (Bonferroni).
        """
        reach = quantile(level, self.domain.size if simultaneous else 1) ** 2 / self._sample
        spread, (noise, slope) = self._correction(population), self._noise
        a, b = 1 + reach * spread, self.frequency + reach * (slope + spread) / 2
        half = np.sqrt((b * b - a * (self.frequency**2 - reach * noise)).clip(0))
        known = self.asked > 0
        return Interval(np.where(known, (b - half) / a, 0.0), np.where(known, (b + half) / a, 1.0), level)

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[ShareRow]:
        error = self.population_stderr if population else self.stderr
        low, high = self.interval(level, simultaneous, population)
        columns = (self.asked, self.counts, self.frequency, error, low, high)
        return [ShareRow(*row) for row in zip(self.labels, *(column.tolist() for column in columns), strict=True)]

    def __repr__(self) -> str:
        return f"<Shares of {len(self)} options; {self.caption}>"
