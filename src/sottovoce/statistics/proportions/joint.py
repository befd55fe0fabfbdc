"""Several proportions that are estimated together from the same answers, with their covariance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.frequencies import quantile
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.result import Labelled
from sottovoce.statistics.population import PopulationResult
from sottovoce.statistics.proportions.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sottovoce.core.domain import Label

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class JointRow:
    """One proportion's part of a joint estimate."""

    label: Label
    frequency: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class JointProportions(PopulationResult, Labelled[JointRow]):
    """Proportions with their covariance about the population: noise and sampling.

    Frequencies are not cut to [0, 1]; intervals are, and are normal. Where the noise alone is known, `noise` is its
    covariance; `mle` is the most likely distribution, where the proportions form one.
    """

    thing: ClassVar[str] = "proportion"
    measure: ClassVar[str] = "frequency"
    labels: Sequence[Label]
    n: int
    frequency: Floats
    covariance: Floats
    epsilon: float
    noise: Floats | None = None
    mle: Floats | None = None
    simulated: bool = False
    note: str = ""

    @cached_property
    def stderr(self) -> Floats:
        """The standard errors about the population."""
        errors: Floats = np.sqrt(np.diag(self.covariance).clip(0))
        return errors

    @property
    def population_stderr(self) -> Floats:
        """The same as `stderr`."""
        return self.stderr

    @cached_property
    def respondents_stderr(self) -> Floats:
        """The standard errors about the respondents: the randomizer's noise alone."""
        if self.noise is None:
            raise ParameterError("errors about the respondents alone are not known here: ask about the population")
        errors: Floats = np.sqrt(np.diag(self.noise).clip(0))
        return errors

    @property
    def correlation(self) -> Floats:
        """How the errors of the proportions go together."""
        scale = np.where(self.stderr > 0, self.stderr, 1.0)
        correlation: Floats = self.covariance / np.outer(scale, scale)
        return correlation

    def interval(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> Interval[Floats]:
        """Normal intervals, cut to [0, 1]; simultaneous ones hold for all proportions at once (Bonferroni)."""
        error = self.stderr if population else self.respondents_stderr
        half = quantile(check_level(level), len(self.labels) if simultaneous else 1) * error
        return Interval((self.frequency - half).clip(0, 1), (self.frequency + half).clip(0, 1), level)

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> list[JointRow]:
        error = self.stderr if population else self.respondents_stderr
        low, high = self.interval(level, simultaneous, population)
        columns = (self.frequency, error, low, high)
        return [JointRow(*row) for row in zip(self.labels, *(column.tolist() for column in columns), strict=True)]

    def to_dict(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> JsonObject:
        known = super().to_dict(level, simultaneous, population)
        mle = None if self.mle is None else self.mle.tolist()
        return {**known, "covariance": self.covariance.tolist(), "mle": mle}

    def __repr__(self) -> str:
        return f"<JointProportions of {len(self.labels)}; {self.caption}>"


def linearised(scores: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The weighted mean of vectors, one a row, and its covariance sum w^2 (z - mean)(z - mean)' / (sum w)^2.

    >>> mean, covariance = linearised(np.array([[0.0], [1.0], [1.0], [0.0]]), np.ones(4))
    >>> mean.tolist(), covariance.tolist()
    ([0.5], [[0.0625]])
    """
    total = weights.sum()
    mean = weights @ scores / total
    apart = (scores - mean) * weights[:, None]
    return mean, apart.T @ apart / total**2


def share_variance(share: float, n: float) -> float:
    """The variance of a share of n answers; where all are alike, as if there were one more of either kind."""
    rate = share if 0 < share < 1 else (share * n + 1) / (n + 2)
    return rate * (1 - rate) / n


def linearised_shares(answers: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The same for columns of zeros and ones. A column that is all alike has no spread, but still an error.

    >>> linearised_shares(np.array([[0.0, 1.0], [1.0, 1.0]]), np.ones(2))[1].tolist()
    [[0.125, 0.0], [0.0, 0.09375]]
    """
    mean, covariance = linearised(answers, weights)
    mean = np.where(np.ptp(answers[weights > 0], axis=0) == 0, mean.round(), mean)
    effective = float(weights.sum() ** 2 / (weights @ weights))
    for at in np.flatnonzero(np.isin(mean, (0.0, 1.0))):
        covariance[at, at] = share_variance(float(mean[at]), effective)
    return mean, covariance
