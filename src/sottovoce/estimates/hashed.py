"""Frequencies of values that nobody listed, from hashed reports: noise, sampling and collisions are in the errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates.frequencies import Row, quantile
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.null_distribution import NullDistribution, NullDistributions
from sottovoce.estimates.result import Labelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

CORRECTIONS = ("bonferroni", "bh")


class Unallocated(NamedTuple):
    """The share of respondents with none of the values that are shown."""

    frequency: float
    stderr: float


@dataclass(frozen=True, eq=False)
class HashedEstimate(Labelled[Row]):
    """Frequencies of the values that were asked about, with their errors. Made by `Tally.estimate(values=[...])`.

    About the respondents, the variance of a frequency f is `constant + slope * f`: the constant holds the randomizer's
    noise and the chance collisions with other values. Sampling adds f (1-f) / n about a population. The errors are over
    the choice of the salt too: with one salt, two values that collide do so every time.

    Frequencies are unbiased, so one of a rare value may be negative, and those shown need not add up to one.
    """

    measure: ClassVar[str] = "frequency"
    labels: Sequence[str | None]
    frequency: NDArray[np.float64]
    constant: NDArray[np.float64]
    slope: float | NDArray[np.float64]
    n: int
    epsilon: float
    candidates: int
    simulated: bool = False
    law: NullDistribution | NullDistributions = field(default_factory=NullDistribution)
    null: NDArray[np.float64] | None = None
    """The variance if nobody holds the value: what it seems to add to the spread itself is then other values'."""
    covariance: NDArray[np.float64] | None = None

    @property
    def counts(self) -> NDArray[np.float64]:
        """How many of the n respondents hold each value."""
        return self.frequency * self.n

    @cached_property
    def stderr(self) -> NDArray[np.float64]:
        """The standard error about the respondents: noise and collisions."""
        variance: NDArray[np.float64] = self.constant + self.slope * self.frequency.clip(0, 1)
        return np.sqrt(variance)

    @cached_property
    def population_stderr(self) -> NDArray[np.float64]:
        """The standard error about the population that the respondents were sampled from."""
        share = self.frequency.clip(0, 1)
        variance: NDArray[np.float64] = self.stderr**2 + share * (1 - share) / self.n
        return np.sqrt(variance)

    def interval(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> Interval[NDArray[np.float64]]:
        """Score intervals: every f from which the estimate is within so many of the standard errors at f.

        Simultaneous ones cover all values that were asked about at once (Bonferroni), also when only a few are shown.
        Where collisions are rare but large, an interval reaches farther down than up; never less than a normal one.
        """
        return self._interval(level, self.candidates if simultaneous else 1, population)

    def _interval(self, level: float, together: int, population: bool = False) -> Interval[NDArray[np.float64]]:
        """Intervals of which any `together` hold at once at the level."""
        deviate = quantile(level, together)
        reaches = {sign: np.maximum(-sign * self.law.point(-sign * deviate), deviate) for sign in (-1, 1)}
        low, high = (self._bound(sign, reach**2, population) for sign, reach in reaches.items())
        return Interval(low, high, level)

    def _bound(self, sign: int, reach: float | NDArray[np.float64], population: bool) -> NDArray[np.float64]:
        """The f on one side of the estimate where (estimate - f)^2 = reach * variance(f), which is quadratic in f.

        Beyond 0 and 1 the variance stays what it was at the end.
        """
        sampling = population / self.n
        square, linear = 1 + reach * sampling, self.frequency + reach * (self.slope + sampling) / 2
        root = np.sqrt((linear**2 - square * (self.frequency**2 - reach * self.constant)).clip(0))
        bound: NDArray[np.float64] = (linear + sign * root) / square
        ends = [self.frequency + sign * np.sqrt(reach * (self.constant + self.slope * end)) for end in (0, 1)]
        return np.where(ends[0] < 0, ends[0], np.where(ends[1] > 1, ends[1], bound))

    # Which values are there at all.

    @cached_property
    def p_value(self) -> NDArray[np.float64]:
        """How often a value that nobody holds would look at least as frequent."""
        error = np.sqrt(self.constant if self.null is None else self.null)
        chance: NDArray[np.float64] = scipy.special.ndtr(-self.law.deviate(self.frequency / error))
        return chance

    def significant(self, level: float = 0.95, correction: str = "bonferroni") -> HashedEstimate:
        """The values that are there beyond doubt, most frequent first; perhaps none.

        With `bonferroni`, no value is shown that nobody holds, with the probability of the level, over all values that
        were asked about. With `bh` (Benjamini and Hochberg), at least the share `level` of those shown is held by
        somebody, in expectation.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must lie strictly between 0 and 1, got {level}")
        if correction not in CORRECTIONS:
            raise ParameterError(f"correction must be one of {', '.join(CORRECTIONS)}, got {correction!r}")
        limit = (1 - level) / self.candidates
        if correction == "bh":
            ordered = np.sort(self.p_value)
            below = np.flatnonzero(ordered <= limit * np.arange(1, ordered.size + 1))
            limit = ordered[below[-1]] if below.size else -1.0
        return self._take(np.flatnonzero(self.p_value <= limit)).sort()

    @property
    def unallocated(self) -> Unallocated:
        """The share of respondents with none of the values shown, where all were estimated together."""
        if self.covariance is None:
            raise ParameterError("what is left needs all values estimated together: estimate(..., method='regression')")
        return Unallocated(float(1 - self.frequency.sum()), float(self.covariance.sum().clip(0) ** 0.5))

    # Choosing what to look at.

    def sort(self) -> HashedEstimate:
        """The same estimate, most frequent value first."""
        return self._take(np.argsort(-self.frequency, kind="stable"))

    def top(self, k: int) -> HashedEstimate:
        """The k most frequent values."""
        if k < 1:
            raise ParameterError(f"k must be at least 1, got {k}")
        return self._take(np.argsort(-self.frequency, kind="stable")[:k])

    def _take(self, places: NDArray[np.int64]) -> HashedEstimate:
        covariance = None if self.covariance is None else self.covariance[np.ix_(places, places)]
        return replace(
            self,
            labels=[self.labels[place] for place in places.tolist()],
            frequency=self.frequency[places],
            constant=self.constant[places],
            slope=self.slope if np.ndim(self.slope) == 0 else np.asarray(self.slope)[places],
            law=self.law.take(places),
            null=None if self.null is None else self.null[places],
            covariance=covariance,
        )

    @cached_property
    def _places(self) -> dict[str | None, int]:
        return {label: at for at, label in enumerate(self.labels)}

    def __getitem__(self, label: object) -> Row:
        if label not in self._places:
            raise DomainError(f"the estimate has no value {label!r}")
        return self._take(np.array([self._places[label]])).rows()[0]

    # Showing. There may be a million values, or none.

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[Row]:
        error = self.population_stderr if population else self.stderr
        low, high = self.interval(level, simultaneous, population)
        columns = (self.counts, self.frequency, error, low, high)
        return [Row(*row) for row in zip(self.labels, *(column.tolist() for column in columns), strict=True)]

    def table(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False, most: int | None = None
    ) -> tuple[list[str], list[list[str]]]:
        if not len(self):
            return ["value"], [["(none)"]]
        if most is None or most >= len(self):
            return super().table(level, simultaneous, population)
        header, cells = self._take(np.arange(most)).table(level, simultaneous, population)
        return header, [*cells, [f"... and {len(self) - most:,} more", *[""] * (len(header) - 1)]]

    def columns(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> dict[str, list[Any]]:
        if not len(self):
            return {each.name: [] for each in fields(Row)}
        return super().columns(level, simultaneous, population)

    def __repr__(self) -> str:
        return f"<HashedEstimate of {len(self)} frequencies; {self.caption}>"
