"""A mean from reports with unbiased values, and its two errors.

Numbers are taken in units of the range and from its middle: u in [-1/2, 1/2]. A report's value t has E[t | u] = u and
E[t^2 | u] = constant + curve u^2, so that an answer at u is told with the variance constant + (curve - 1) u^2. About
the respondents, the error of the average of n values is the mean of these variances over n. It needs the mean of u^2,
which the mean of t^2 tells, unless curve is zero. Then the square of the mean stands in, which is never larger, so that
the error is never too small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from sottovoce.core.domain.scale import Scale
from sottovoce.estimates.frequencies import quantile
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.result import Result


@dataclass(frozen=True)
class MeanRow:
    """The one row of an estimated mean."""

    label: str
    sum: float
    mean: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class MeanEstimate(Result):
    """The mean of the answers, their sum, and the errors of both. Made by `Tally.estimate`.

    The mean is unbiased, so that it may lie outside the range; with clipped answers it is the mean of the clipped ones.

    >>> from sottovoce import Mean
    >>> m = Mean(0, 10, epsilon=1.0, kind="rounding")
    >>> e = m.tally().add_many([1] * 60 + [0] * 40).estimate()
    >>> print(e)
    value      sum     mean  std. error        95% interval
    mean   716.395  7.16395     1.06562  5.04334 .. 9.12447
    n = 100; epsilon = 1
    """

    measure: ClassVar[str] = "mean"
    domain: Scale
    n: int
    average: float
    second: float
    constant: float
    curve: float
    epsilon: float
    simulated: bool = False
    steps: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        return self.domain.low + self.domain.width * (self.average + 0.5)

    @property
    def sum(self) -> float:
        return self.n * self.mean

    @cached_property
    def stderr(self) -> float:
        """The standard error about the respondents: the randomizer's noise alone, random rounding included."""
        return self.domain.width * math.sqrt(self._noise / self.n)

    @cached_property
    def population_stderr(self) -> float:
        """The standard error about the population that the respondents were sampled from: noise and sampling.

        It is that of any average of independent numbers, but never below the least noise; one report alone gives
        the most that noise and sampling can come to.
        """
        if self.n == 1:
            variance = self.constant + self.curve / 4 + self._grain
        else:
            variance = (self.second - self.average**2) * self.n / (self.n - 1)
        return self.domain.width * math.sqrt(max(variance, self._least_noise) / self.n)

    @property
    def sum_stderr(self) -> float:
        return self.n * self.stderr

    @property
    def _grain(self) -> float:
        """The most that rounding to the grid adds to the variance of a report."""
        return self.curve / (4 * self.domain.steps**2)

    @property
    def _least_noise(self) -> float:
        return self.constant + min(self.curve - 1, 0) / 4

    @property
    def _noise(self) -> float:
        """The mean variance of a report, given the answers."""
        return self.constant + (self.curve - 1) * self._square + self._grain

    @property
    def _square(self) -> float:
        """The mean of u^2; of one report nothing can be learnt about it, and the worst is assumed."""
        if self.curve:
            worst = 0.25 if self.curve > 1 else 0.0
            square = (self.second - self.constant) / self.curve if self.n > 1 else worst
        else:
            square = self.average**2 - self.constant / self.n
        return min(max(square, 0.0), 0.25)

    def interval(self, level: float = 0.95, population: bool = False) -> Interval[float]:
        """A normal interval around the mean; with the kind "rounding" Wilson's, which is better for few reports."""
        if not self.curve:
            return Interval(*self._wilson(quantile(level) ** 2 / self.n), level)
        half = quantile(level) * (self.population_stderr if population else self.stderr)
        return Interval(self.mean - half, self.mean + half, level)

    def _wilson(self, z: float) -> tuple[float, float]:
        """The means u that the average is near to, by their own error: (average - u)^2 <= z (constant - u^2)."""
        centre = self.average / (1 + z)
        half = math.sqrt(max(centre**2 - (self.average**2 - z * self.constant) / (1 + z), 0.0))
        low, width = self.domain.low, self.domain.width
        return low + width * (centre - half + 0.5), low + width * (centre + half + 0.5)

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[MeanRow]:
        """One row. There is nothing else to hold at the same time, so that `simultaneous` changes nothing."""
        error = self.population_stderr if population else self.stderr
        return [MeanRow("mean", self.sum, self.mean, error, *self.interval(level, population))]

    def __repr__(self) -> str:
        return f"<MeanEstimate {self.mean:.6g} with standard error {self.stderr:.3g}; {self.caption}>"
