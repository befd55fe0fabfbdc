"""From counted support to frequencies with honest errors: written once, for every pure mechanism.

If s of n reports support a value, (s/n - q) / (p - q) is an unbiased estimate of the value's frequency f. Two
questions have two errors. About the respondents themselves, only the randomizer is uncertain: the variance is
(f p (1-p) + (1-f) q (1-q)) / (n (p-q)^2). About the population they were drawn from, sampling adds f (1-f) / n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.result import Labelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain import Domain, Label
    from sottovoce.core.privacy import Probability

Number = TypeVar("Number", bound="np.generic")


@dataclass(frozen=True)
class Row:
    """One value's part of an estimate. A combination of values has a tuple as its label."""

    label: Label | tuple[Label, ...]
    counts: float
    frequency: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Estimate(Labelled[Row]):
    """Frequencies of the values of a domain, with their errors. Made by `Tally.estimate`.

    Estimates are unbiased, so one of a rare value may be negative: it stays as it is unless a step of `postprocess`
    is asked for, and then `steps` names it. Intervals are always those of the unbiased estimate.

    >>> from sottovoce import RandomizedResponse
    >>> m = RandomizedResponse.from_coins()
    >>> e = m.tally().add_many([1] * 60 + [0] * 40).estimate()
    >>> e[True].frequency, round(e[True].stderr, 4)
    (0.7, 0.0866)
    >>> low, high = e.interval(0.95)
    >>> low.round(2), high.round(2)
    (array([0.13, 0.53]), array([0.47, 0.87]))
    """

    measure: ClassVar[str] = "frequency"
    domain: Domain
    n: int
    support: NDArray[np.int64]
    p: Probability
    q: Probability
    epsilon: float
    simulated: bool = False
    steps: tuple[str, ...] = ()
    adjusted: NDArray[np.float64] | None = None
    order: NDArray[np.int64] | None = None

    @cached_property
    def labels(self) -> Sequence[Label]:
        if self.order is None:
            return self.domain.labels
        return [self.domain.labels[code] for code in self.order]

    @cached_property
    def unbiased(self) -> NDArray[np.float64]:
        """The unbiased frequencies, whatever steps were taken since."""
        p, q = float(self.p), float(self.q)
        return self._ordered((self.support / self.n - q) / (p - q))

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        return self.unbiased if self.adjusted is None else self._ordered(self.adjusted)

    @property
    def counts(self) -> NDArray[np.float64]:
        """How many of the n respondents hold each value."""
        return self.frequency * self.n

    @cached_property
    def stderr(self) -> NDArray[np.float64]:
        """The standard error about the respondents: the randomizer's noise alone."""
        p, q, f = float(self.p), float(self.q), self.unbiased.clip(0, 1)
        return np.sqrt((f * p * (1 - p) + (1 - f) * q * (1 - q)) / self.n) / abs(p - q)

    @cached_property
    def population_stderr(self) -> NDArray[np.float64]:
        """The standard error about the population that the respondents were sampled from: noise and sampling."""
        f = self.unbiased.clip(0, 1)
        variance: NDArray[np.float64] = self.stderr**2 + f * (1 - f) / self.n
        return np.sqrt(variance)

    def interval(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> Interval[NDArray[np.float64]]:
        """Score intervals around the unbiased frequencies: every f that a test at the level would not reject.

        Each covers its value at the level; simultaneous ones cover all values of the domain at once at the level
        (Bonferroni), also when only the top few are looked at.
        """
        weight = quantile(level, self.domain.size if simultaneous else 1) ** 2 / self.n
        low, high = (self._bound(sign, weight, population) for sign in (-1, 1))
        return Interval(low, high, level)

    def _bound(self, sign: int, weight: float, population: bool) -> NDArray[np.float64]:
        """The f on one side of the estimate where (estimate - f)^2 = weight * variance(f).

        The variance of one report is constant + slope * f, less f^2 about the population: the equation is quadratic.
        Beyond 0 and 1 there is no such f, and the variance stays what it was at the end.
        """
        p, q, estimate = float(self.p), float(self.q), self.unbiased
        constant, slope = q * (1 - q) / (p - q) ** 2, (p * (1 - p) - q * (1 - q)) / (p - q) ** 2 + population
        square, linear = 1 + weight * population, estimate + weight * slope / 2
        root = np.sqrt(np.maximum(linear**2 - square * (estimate**2 - weight * constant), 0))
        bound: NDArray[np.float64] = (linear + sign * root) / square
        ends = [estimate + sign * np.sqrt(weight * (constant + (slope - population) * end)) for end in (0, 1)]
        return np.where(ends[0] < 0, ends[0], np.where(ends[1] > 1, ends[1], bound))

    # Choosing what to look at.

    def sort(self) -> Estimate:
        """The same estimate, most frequent value first."""
        return self._reorder(np.argsort(-self.frequency, kind="stable"))

    def top(self, k: int) -> Estimate:
        """The k most frequent values."""
        if k < 1:
            raise ParameterError(f"k must be at least 1, got {k}")
        return self._reorder(np.argsort(-self.frequency, kind="stable")[:k])

    def _reorder(self, places: NDArray[np.int64]) -> Estimate:
        codes = np.arange(self.domain.size) if self.order is None else self.order
        return replace(self, order=codes[places])

    def _ordered(self, column: NDArray[Number]) -> NDArray[Number]:
        return column if self.order is None else column[self.order]

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[Row]:
        return [Row(*row) for row in zip(*self.columns(level, simultaneous, population).values(), strict=True)]

    def columns(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> dict[str, list[Any]]:
        """Of many values, rows would take longer to make than all their numbers."""
        error = self.population_stderr if population else self.stderr
        low, high = self.interval(level, simultaneous, population)
        columns = {"counts": self.counts, "frequency": self.frequency, "stderr": error, "low": low, "high": high}
        return {"label": list(self.labels)} | {name: column.tolist() for name, column in columns.items()}

    def __repr__(self) -> str:
        return f"<Estimate of {len(self)} frequencies; {self.caption}>"


def quantile(level: float, comparisons: int = 1) -> float:
    """How many standard errors an interval reaches to either side, to hold for all comparisons at once."""
    if not 0 < level < 1:
        raise ParameterError(f"level must lie strictly between 0 and 1, got {level}")
    return -NormalDist().inv_cdf((1 - level) / (2 * comparisons))
