"""A distribution in bins from reports near the numbers, by expectation maximisation with smoothing (EMS).

The likeliest distribution alone would follow the noise into spikes; averaging each cell with its neighbours after each
step prevents that, at the price of a bias: what is narrower than a few cells comes out wider. The cells are fine, and
bins are sums of them, so that the bias does not depend on how many bins are asked for. The estimate is the fixed
point of a smooth map, so that its variance follows from that of the counts by the delta method. The bias is gauged by
estimating again from the reports that the estimate itself predicts, and counts as error too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.scale import Scale
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.frequencies import Row, quantile
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_STEPS = 10_000
TOLERANCE = 1e-8
LEAST_LEFT = 1e-3
"""A jump leaves each cell at least this part of its share, so that all stay positive."""
MAX_DETOUR = 100
"""A jump that lands where the next step is so many times as long leads astray, and is not taken."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def smoothed_em(observed: Floats, transition: Floats) -> Floats:
    """The shares of the cells (columns of `transition`) behind the shares of the outcomes (its rows).

    Steps become ever shorter, so that two of them tell how far the next ones lead, and the search jumps there (R.
    Varadhan and C. Roland, Scandinavian Journal of Statistics 35, 2008). It ends when no share moves by more than 1e-8,
    or after 10,000 steps.
    """
    cells = transition.shape[1]
    kernel = _kernel(cells)

    def moved(shares: Floats) -> Floats:
        update = kernel @ (shares * ((observed / (transition @ shares)) @ transition))
        scaled: Floats = update / update.sum()
        return scaled

    start = np.full(cells, 1 / cells)
    once = moved(start)
    for _ in range(MAX_STEPS // 2):
        twice = moved(once)
        first, second = once - start, twice - once
        if np.abs(second).max() < TOLERANCE:
            break
        bend = second - first
        length = max(math.sqrt(float(first @ first) / float(bend @ bend)), 1.0) if bend.any() else 1.0
        jumped = np.maximum(start + 2 * length * first + length**2 * bend, LEAST_LEFT * twice)
        jumped /= jumped.sum()
        beyond = moved(jumped)
        good = np.abs(beyond - jumped).max() <= MAX_DETOUR * np.abs(first).max()
        start, once = (jumped, beyond) if good else (twice, moved(twice))
    return twice


def _kernel(cells: int) -> Floats:
    """The matrix that averages each cell with its neighbours by weights 1, 2, 1; at an end by 2, 1."""
    weights = 2 * np.eye(cells) + np.eye(cells, k=1) + np.eye(cells, k=-1)
    kernel: Floats = weights / weights.sum(axis=1, keepdims=True)
    return kernel


def sensitivity(observed: Floats, transition: Floats, shares: Floats) -> Floats:
    """The derivative of the fixed point `shares` of `smoothed_em` by the shares of the outcomes.

    With shares = G(shares, observed), it is the inverse of (1 - dG/dshares) times dG/dobserved.
    """
    predicted = transition @ shares
    ratio = observed / predicted
    by_shares = np.diag(ratio @ transition) - shares[:, None] * (transition.T * (ratio / predicted)) @ transition
    by_observed = shares[:, None] * transition.T / predicted
    total = (_kernel(shares.size) @ (shares * (ratio @ transition))).sum()
    smooth = (_kernel(shares.size) - np.outer(shares, _kernel(shares.size).sum(axis=0))) / total
    derivative: Floats = np.linalg.solve(np.eye(shares.size) - smooth @ by_shares, smooth @ by_observed)
    return derivative


@dataclass(frozen=True, eq=False)
class Distribution(Result):
    """The shares of the bins, and what follows from them, with errors. Made by `Tally.estimate`.

    Within a cell the numbers are taken to be spread evenly. The caption says that the estimate is biased by "em": see
    the page of the square wave for how much.

    >>> from sottovoce import SquareWave
    >>> m = SquareWave(0, 8, bins=4, epsilon=1.0)
    >>> numbers = [1.0, 2.5, 2.9, 5.0] * 5_000
    >>> e = m.tally().add_many(m.randomize_many(numbers, seed=1)).estimate()
    >>> print(e)
    value   count  frequency  std. error      95% interval
    0 to 2  5,353     0.2677      0.0203  0.2278 .. 0.3075
    2 to 4  9,677     0.4838      0.0213  0.4421 .. 0.5256
    4 to 6  4,420     0.2210      0.0251  0.1717 .. 0.2703
    6 to 8    550     0.0275      0.0125  0.0031 .. 0.0520
    n = 20,000; epsilon = 1; biased by em; SIMULATED with a seed: not private
    """

    measure: ClassVar[str] = "frequency"
    domain: Scale
    bins: int
    n: int
    reports: NDArray[np.int64]
    transition: Floats
    epsilon: float
    simulated: bool = False
    steps: tuple[str, ...] = ("em",)

    @cached_property
    def shares(self) -> Floats:
        """The share of each of the fine cells between grid points, in which everything is worked out."""
        return smoothed_em(self.reports / self.n, self.transition)

    @property
    def frequency(self) -> Floats:
        """The share of each bin."""
        return self._binned @ self.shares

    @property
    def counts(self) -> Floats:
        return self.frequency * self.n

    @property
    def density(self) -> Floats:
        """The share of each bin over its width."""
        return self.frequency / np.diff(self.edges)

    @property
    def edges(self) -> Floats:
        """The ends of the bins: one more than there are bins."""
        return np.linspace(self.domain.low, self.domain.high, self.bins + 1)

    # What follows from the shares. Each quantity has its error beside it.

    def cdf(self, x: float) -> float:
        """The share of numbers up to x."""
        return float(self._below(x) @ self.shares)

    def cdf_stderr(self, x: float, population: bool = False) -> float:
        return self._error_of(self._below(x), population)

    def quantile(self, q: float) -> float:
        """The number that a share q of the numbers does not exceed."""
        if not 0 <= q <= 1:
            raise ParameterError(f"q must lie from 0 to 1, got {q}")
        total = np.concatenate([[0.0], np.cumsum(self.shares)])
        return float(np.interp(q * total[-1], total, self._grid))

    def quantile_stderr(self, q: float, population: bool = False) -> float:
        """How far the quantile moves, to both sides on average, when q moves by the error of the shares up to it."""
        error = self.cdf_stderr(self.quantile(q), population)
        return (self.quantile(min(q + error, 1)) - self.quantile(max(q - error, 0))) / 2

    def quantile_interval(self, q: float, level: float = 0.95, population: bool = False) -> Interval[float]:
        """The quantiles at either end of an interval for the share up to this one; it need not be symmetric."""
        half = quantile(level) * self.cdf_stderr(self.quantile(q), population)
        return Interval(self.quantile(max(q - half, 0)), self.quantile(min(q + half, 1)), level)

    def quantile_row(self, q: float, level: float = 0.95, population: bool = False) -> dict[str, float]:
        """A quantile in the form for JSON."""
        low, high = self.quantile_interval(q, level, population)
        return {
            "q": q,
            "value": self.quantile(q),
            "stderr": self.quantile_stderr(q, population),
            "low": low,
            "high": high,
        }

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    @property
    def mean(self) -> float:
        return float(self._centres @ self.shares)

    def mean_stderr(self, population: bool = False) -> float:
        return self._error_of(self._centres, population)

    @cached_property
    def _grid(self) -> Floats:
        return np.linspace(self.domain.low, self.domain.high, self.domain.size)

    @property
    def _centres(self) -> Floats:
        centres: Floats = (self._grid[1:] + self._grid[:-1]) / 2
        return centres

    @property
    def _binned(self) -> Floats:
        """The matrix that adds up the cells of each bin."""
        return np.repeat(np.eye(self.bins), self.domain.steps // self.bins, axis=1)

    def _below(self, x: float) -> Floats:
        """The part of each cell that lies below x."""
        parts: Floats = ((x - self._grid[:-1]) / np.diff(self._grid)).clip(0, 1)
        return parts

    # Errors.

    @cached_property
    def stderr(self) -> Floats:
        """The error of each bin's share about the respondents: the randomizer's noise, and the bias."""
        return self._errors(self._covariance)

    @cached_property
    def population_stderr(self) -> Floats:
        """The error of each bin's share about the population that the respondents were sampled from."""
        return self._errors(self._population_covariance)

    @property
    def bias(self) -> Floats:
        """How much smoothing is thought to shift each bin's share. It is not taken off; the errors hold it."""
        return self._binned @ self._bias

    @cached_property
    def _bias(self) -> Floats:
        """The bias of each cell.

        An estimate from the reports that this estimate predicts differs from it by the bias at a distribution that is
        too smooth already. The same once more tells how fast the bias shrinks with smoothness, and so how much larger
        it was at the truth.
        """
        again = smoothed_em(self.transition @ self.shares, self.transition)
        third = smoothed_em(self.transition @ again, self.transition)
        return 2 * (again - self.shares) - (third - again)

    def _errors(self, covariance: Floats) -> Floats:
        return np.sqrt(np.diag(self._binned @ covariance @ self._binned.T).clip(0) + self.bias**2)

    def _error_of(self, weights: Floats, population: bool) -> float:
        """The error of a weighted sum of the shares."""
        covariance = self._population_covariance if population else self._covariance
        return math.sqrt(max(float(weights @ covariance @ weights), 0.0) + float(weights @ self._bias) ** 2)

    @cached_property
    def _covariance(self) -> Floats:
        """What the randomizer alone does: the reports of each cell vary around their own law."""
        return self._spread((self.transition * self.shares) @ self.transition.T)

    @cached_property
    def _population_covariance(self) -> Floats:
        """All reports vary around one law."""
        law = self.transition @ self.shares
        return self._spread(np.outer(law, law))

    def _spread(self, joint: Floats) -> Floats:
        law = self.transition @ self.shares
        spread: Floats = self._sensitivity @ (np.diag(law) - joint) @ self._sensitivity.T / self.n
        return spread

    @cached_property
    def _sensitivity(self) -> Floats:
        return sensitivity(self.reports / self.n, self.transition, self.shares)

    # Showing.

    def interval(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> Interval[Floats]:
        """Normal intervals around the shares; simultaneous ones cover all bins at once (Bonferroni)."""
        error = self.population_stderr if population else self.stderr
        half = quantile(level, error.size if simultaneous else 1) * error
        return Interval(self.frequency - half, self.frequency + half, level)

    @cached_property
    def labels(self) -> list[str]:
        return [f"{a:.6g} to {b:.6g}" for a, b in zip(self.edges, self.edges[1:], strict=False)]

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[Row]:
        error = self.population_stderr if population else self.stderr
        low, high = self.interval(level, simultaneous, population)
        columns = (self.counts, self.frequency, error, low, high)
        return [Row(*row) for row in zip(self.labels, *(column.tolist() for column in columns), strict=True)]

    def to_dict(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> JsonObject:
        """A form for JSON, with the mean and some quantiles beside the bins."""
        quantiles = [self.quantile_row(q, level, population) for q in QUANTILES]
        mean = {"value": self.mean, "stderr": self.mean_stderr(population)}
        return super().to_dict(level, simultaneous, population) | {"mean": mean, "quantiles": quantiles}

    def __len__(self) -> int:
        return self.bins

    def __repr__(self) -> str:
        return f"<Distribution over {len(self)} bins; {self.caption}>"
