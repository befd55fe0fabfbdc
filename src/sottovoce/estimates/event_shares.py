"""Shares of events that are sums of estimated frequencies, each with an error of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.frequencies import Row, quantile
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.result import Labelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain import Label


@dataclass(frozen=True, eq=False)
class EventShares(Labelled[Row]):
    """The share of respondents in each of some events (ranges, or cells of a table), with its errors.

    `spread` is the variance about the population: noise, that each device answered one part of the question only, and
    sampling. About the respondents themselves it is less by `sampling`, which is f (1-f) / n.
    """

    measure: ClassVar[str] = "frequency"
    labels: Sequence[Label | tuple[Label, ...]]
    frequency: NDArray[np.float64]
    spread: NDArray[np.float64]
    sampling: NDArray[np.float64]
    n: int
    epsilon: float
    simulated: bool = False

    @property
    def counts(self) -> NDArray[np.float64]:
        """How many of the n respondents are in each event."""
        return self.frequency * self.n

    @property
    def stderr(self) -> NDArray[np.float64]:
        """The standard error about the respondents."""
        variance: NDArray[np.float64] = (self.spread - self.sampling).clip(0)
        return np.sqrt(variance)

    @property
    def population_stderr(self) -> NDArray[np.float64]:
        """The standard error about the population that the respondents were sampled from."""
        variance: NDArray[np.float64] = self.spread.clip(0)
        return np.sqrt(variance)

    def interval(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> Interval[NDArray[np.float64]]:
        """Normal intervals; simultaneous ones cover all events at once at the level (Bonferroni)."""
        error = self.population_stderr if population else self.stderr
        half = quantile(level, len(self) if simultaneous else 1) * error
        return Interval(self.frequency - half, self.frequency + half, level)

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[Row]:
        error = self.population_stderr if population else self.stderr
        low, high = self.interval(level, simultaneous, population)
        columns = (self.counts, self.frequency, error, low, high)
        return [Row(*row) for row in zip(self.labels, *(column.tolist() for column in columns), strict=True)]

    def __repr__(self) -> str:
        return f"<{len(self)} frequencies; {self.caption}>"
