"""The proportion of yes behind answers that take more than two values, such as how many of several cards were red."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates.frequencies import quantile
from sottovoce.estimates.interval import Interval
from sottovoce.statistics.proportions.intervals import check_level, last
from sottovoce.statistics.proportions.one_proportion import OneProportion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class DrawnProportion(OneProportion):
    """A proportion of yes from counts of m answers, each with a score whose mean is 0 under no and 1 under yes.

    The frequency is the mean score, which is unbiased; the most likely proportion uses all that the counts tell. With
    weights, counts are scaled to the effective number of answers, and the variance of the mean score is linearised.
    """

    methods: ClassVar[tuple[str, ...]] = ("likelihood", "wald")
    n: int
    yes: int
    counts: Floats
    laws: Floats
    scores: Floats
    epsilon: float
    variance: float | None = None
    simulated: bool = False
    label: str = "yes"
    note: str = ""
    method: str | None = None

    @cached_property
    def frequency(self) -> float:
        return float(self.counts @ self.scores / self.counts.sum())

    @cached_property
    def stderr(self) -> float:
        """The standard error about the population, at the most likely proportion or linearised."""
        return math.sqrt(self.variance or self._noise + self.mle * (1 - self.mle) / self.counts.sum())

    @cached_property
    def respondents_stderr(self) -> float:
        return math.sqrt(self._noise)

    @cached_property
    def _noise(self) -> float:
        """The variance of the mean score, given who holds yes."""
        no, yes = self.laws @ self.scores**2 - (self.laws @ self.scores) ** 2
        return float((self.mle * yes + (1 - self.mle) * no) / self.counts.sum())

    def interval(self, level: float = 0.95, method: str | None = None, population: bool = True) -> Interval[float]:
        """An interval for the proportion, within [0, 1]: by likelihood ratio, or normal ("wald")."""
        chosen = self._checked(method) if population else method or "wald"
        check_level(level)
        if chosen == "wald":
            half = quantile(level) * (self.stderr if population else self.respondents_stderr)
            return Interval(max(self.frequency - half, 0.0), min(self.frequency + half, 1.0), level)
        if not population:
            raise ParameterError(f"about the respondents, method must be wald, got {chosen!r:.40}")
        cut = scipy.special.chdtri(1, 1 - level)

        def kept(pi: Floats) -> NDArray[np.bool_]:
            inside: NDArray[np.bool_] = np.asarray(self.likelihood_ratio(pi)) <= cut
            return inside

        best = np.array(self.mle)
        low, high = (float(last(kept, best, np.array(end))) for end in (0.0, 1.0))
        return Interval(low, high, level)
