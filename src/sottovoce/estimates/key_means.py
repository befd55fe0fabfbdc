"""For each key the share of respondents who hold it and the mean of their values, from one of three symbols.

A held value is rounded at random to low or high, so a holder's true symbol is high with a probability that has the
value as its mean. If shares L and H of the respondents have the true symbols low and high, then L + H is the share
that holds the key and H / (L + H) says how far the mean lies from low (0) to high (1). Both L and H have unbiased
estimates; their ratio has not, and its error comes from the delta method, its interval from Fieller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability
from sottovoce.estimates.frequencies import quantile
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.result import Labelled
from sottovoce.estimates.shares import Shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain import Domain, Label


@dataclass(frozen=True)
class KeyRow:
    """One key's part. The interval is about the mean."""

    label: Label
    asked: int
    share: float
    share_stderr: float
    mean: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class KeyMeans(Labelled[KeyRow]):
    """Shares and means for the keys of a `KeyValue`, with their errors. Made by its tally.

    `shares` and `totals` are unbiased. A mean is a ratio, cut to [low, high]; where the share is not above zero it is
    the middle of the range. Its error is at most half the range, and its interval is the whole range where the share
    cannot be told from zero at the level.

    >>> from sottovoce import KeyValue
    >>> m = KeyValue(["film", "book"], 1, 5, p=0.5)
    >>> e = m.tally().add_many([0] * 25 + [1] * 25 + [2] * 50).estimate()  # All were asked about films.
    >>> e["film"].share, e["film"].mean, round(e["film"].stderr, 3)
    (1.0, 5.0, 0.693)
    >>> e["book"].low, e["book"].high
    (1.0, 5.0)
    """

    thing: ClassVar[str] = "key"
    measure: ClassVar[str] = "mean"
    domain: Domain
    bounds: tuple[float, float]
    n: int
    symbols: NDArray[np.int64]
    p: Probability
    q: Probability
    epsilon: float
    simulated: bool = False

    @property
    def labels(self) -> Sequence[Label]:
        return self.domain.labels

    @property
    def asked(self) -> NDArray[np.int64]:
        """How many were asked about each key; `symbols` has how many of them said absent, low and high."""
        total: NDArray[np.int64] = self.symbols.sum(axis=1)
        return total

    @property
    def _sample(self) -> NDArray[np.int64]:
        """The number asked, at least 1: a key that was not asked about is dealt with apart."""
        return np.maximum(self.asked, 1)

    @cached_property
    def shares(self) -> Shares:
        """The share that holds each key. A holder does not say absent with probability 1 - q, another with 2 q."""
        held = self.symbols[:, 1] + self.symbols[:, 2]
        p, q = Probability(1 - self.q), Probability(2 * self.q)
        return Shares(self.domain, self.n, self.asked, held, p, q, self.epsilon, self.simulated)

    @cached_property
    def _high(self) -> NDArray[np.float64]:
        """The unbiased share of respondents whose true symbol is high."""
        said = self.symbols[:, 2] / self._sample
        return np.where(self.asked > 0, (said - float(self.q)) / float(self.p - self.q), 0.25)

    @cached_property
    def _place(self) -> NDArray[np.float64]:
        """Where the mean lies from low (0) to high (1)."""
        share = self.shares.frequency
        ratio = self._high / np.where(share > 0, share, 1)
        return np.where(share > 0, ratio.clip(0, 1), 0.5)

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        return self._scaled(self._place)

    @cached_property
    def stderr(self) -> NDArray[np.float64]:
        """The standard error of the mean, by the delta method, but at most half the range.

        It is that about the population. About the respondents it is a little too large, since reports do not tell
        how their values spread: by less than the part of the respondents who were asked about the key.
        """
        width, place, share = self.bounds[1] - self.bounds[0], self._place, self.shares.frequency
        slope = width / np.where(share > 0, share, np.inf)
        error = slope * np.sqrt(self._variance(-place, 1 - place))
        return np.where((share > 0) & (self.asked > 0), error.clip(max=width / 2), width / 2)

    @property
    def population_stderr(self) -> NDArray[np.float64]:
        return self.stderr

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The unbiased sum of the values that all respondents hold for each key."""
        low, high = self.bounds
        return self.n * (low * (self.shares.frequency - self._high) + high * self._high)

    @cached_property
    def totals_stderr(self) -> NDArray[np.float64]:
        """The standard error of the totals, times n that of a mean over the population that counts absent as 0."""
        return self.n * np.sqrt(self._variance(*self.bounds))

    def _variance(
        self, low_weight: float | NDArray[np.float64], high_weight: float | NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Of a weighted sum of the unbiased L and H, at the estimated shares."""
        p, q, share = float(self.p), float(self.q), self.shares.frequency.clip(0, 1)
        high = q + (p - q) * share * self._place
        low = q + (p - q) * share * (1 - self._place)
        centred = low_weight**2 * low + high_weight**2 * high - (low_weight * low + high_weight * high) ** 2
        variance: NDArray[np.float64] = centred / (self._sample * (p - q) ** 2)
        return variance

    def interval(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> Interval[NDArray[np.float64]]:
        """Score intervals for the means (Fieller's), cut to the range; the whole range where the share may be zero.

        They hold the ratios r for which H - r (L + H) lies within so many of its standard errors, those at r itself.
        That is about the population, and for the respondents a little wider than need be: `population` changes nothing.
        """
        p, q, share = float(self.p), float(self.q), self.shares.frequency
        reach = quantile(level, self.domain.size if simultaneous else 1) ** 2 / (self._sample * (p - q) ** 2)
        none = reach * 2 * q * (1 - 2 * q)  # How far from zero, squared, the share of a key may come that nobody holds.
        bend = none - reach * (p - q) * share.clip(0, 1)
        known = (self.asked > 0) & (share > 0) & (share**2 > np.maximum(none, bend))
        a, b = np.where(known, share**2 - bend, 1), share * self._high - bend / 2
        half = np.sqrt((b * b - a * (self._high**2 - reach * q * (1 - q))).clip(0))
        low, high = np.where(known, (b - half) / a, 0), np.where(known, (b + half) / a, 1)
        return Interval(self._scaled(low.clip(0, 1)), self._scaled(high.clip(0, 1)), level)

    def _scaled(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = self.bounds
        return low + (high - low) * place

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[KeyRow]:
        share_error = self.shares.population_stderr if population else self.shares.stderr
        low, high = self.interval(level, simultaneous, population)
        columns = (self.asked, self.shares.frequency, share_error, self.mean, self.stderr, low, high)
        return [KeyRow(*row) for row in zip(self.labels, *(column.tolist() for column in columns), strict=True)]

    def __repr__(self) -> str:
        return f"<Shares and means of {len(self)} keys; {self.caption}>"
