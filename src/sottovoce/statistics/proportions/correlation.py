"""The correlation of two variables of which one or both are known through randomized answers only.

A randomized yes or no with answer r has an unbiased value u = (r - q) / (p - q): its expectation is the truth. The
noise of one variable knows nothing of the other, so that the covariance of unbiased values is that of the truths. The
variance of a true yes or no with mean m is m (1 - m); that of u is larger. So the correlation of the truths is

    covariance(u, v) / sqrt(variance of the one truth * variance of the other),

the phi coefficient of two yes-or-no variables, the point-biserial correlation of one with a public number. It is a
smooth function of means over the respondents; its error follows by the delta method. It may lie outside [-1, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates.interval import Interval
from sottovoce.statistics.hypothesis_result import TestResult
from sottovoce.statistics.population import PopulationResult
from sottovoce.statistics.proportions.answers import AnswerLaw, YesNoDesign, numbers, total_epsilon, yes_no, z_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain.columns import Column

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class CorrelationRow:
    """The one row of an estimated correlation."""

    label: str
    correlation: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Correlation(PopulationResult):
    """A correlation of true values and its error, about the population. Made by `correlation`."""

    measure: ClassVar[str] = "correlation"
    n: int
    correlation: float
    stderr: float
    apparent: float
    """The correlation of the answers as they are, which the randomization has drawn towards zero."""
    epsilon: float
    simulated: bool = False
    note: str = ""

    def interval(self, level: float = 0.95) -> Interval[float]:
        """A number of standard errors to each side, as far as a correlation can go."""
        half = z_value(level) * self.stderr
        low, high = (min(max(end, -1.0), 1.0) for end in (self.correlation - half, self.correlation + half))
        return Interval(low, high, level)

    def test(self) -> TestResult:
        """Test whether the true values are uncorrelated. They are if the answers are: this is Student's test."""
        rest = max(1 - self.apparent**2, 0.0)
        statistic = self.apparent * math.sqrt((self.n - 2) / rest) if rest else math.copysign(math.inf, self.apparent)
        p_value = float(2 * scipy.special.stdtr(self.n - 2, -abs(statistic)))
        name = "test of zero correlation"
        return TestResult(name, statistic, p_value, self.n - 2, self.correlation, self.interval())

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> list[CorrelationRow]:
        """One row. Among the respondents alone a correlation has no other error that could be told."""
        if not population:
            raise ParameterError("the error of a correlation must be about the population")
        return [CorrelationRow("correlation", self.correlation, self.stderr, *self.interval(level))]

    def __repr__(self) -> str:
        return f"<Correlation {self.correlation:.6g} with standard error {self.stderr:.3g}; {self.caption}>"


def correlation(
    x: Column, y: Column, design_x: YesNoDesign | None = None, design_y: YesNoDesign | None = None
) -> Correlation:
    """The correlation of the truths behind x and y: answers to a design, or public numbers where the design is None.

    >>> from sottovoce import RandomizedResponse
    >>> coins = RandomizedResponse.from_coins()
    >>> smokes, coughs = [True, True, False, False] * 1000, [True, False, False, False] * 1000
    >>> one, other = coins.randomize_many(smokes, seed=1), coins.randomize_many(coughs, seed=2)
    >>> r = correlation(one, other, coins, coins)
    >>> round(r.correlation, 3), round(r.stderr, 3), round(r.apparent, 3)  # The truth is 0.577.
    (0.486, 0.07, 0.109)
    >>> print(r.test())
    test of zero correlation: statistic 6.92, df 3998, p-value 5.233e-12; estimate 0.4856, interval 0.3477 .. 0.6234
    """
    laws = [AnswerLaw.of(name, design) for name, design in (("x", design_x), ("y", design_y))]
    columns = zip(laws, "xy", (x, y), strict=True)
    answers = [numbers(name, column) if law.public else yes_no(name, column, law) for law, name, column in columns]
    n = len(answers[0])
    if len(answers[1]) != n or n < 3:
        raise ParameterError(f"x and y must be of one length, 3 or more, got {n:,} and {len(answers[1]):,}")
    parts = [_spread(name, law, values) for law, name, values in zip(laws, "xy", answers, strict=True)]
    (u, variance_u, pull_u), (v, variance_v, pull_v) = parts
    scale = math.sqrt(variance_u * variance_v)
    products = u * v
    found = float(products.mean()) / scale
    pulls = products / scale - found - found / 2 * (pull_u / variance_u + pull_v / variance_v)
    error = math.sqrt(float(pulls @ pulls) / (n * (n - 1)))
    apparent = float(np.clip(np.corrcoef(answers[0], answers[1])[0, 1], -1, 1))
    simulated = any(getattr(column, "simulated", False) for column in (x, y))
    return Correlation(n, found, error, apparent, total_epsilon(laws), simulated, _note(laws))


def _spread(name: str, law: AnswerLaw, answers: Array) -> tuple[Array, float, Array]:
    """Unbiased values about their mean, the variance of the truth, and what each person pulls that variance by."""
    values = law.unbiased(answers)
    mean = float(values.mean())
    centred = values - mean
    variance = float(centred @ centred) / len(centred) if law.public else mean * (1 - mean)
    if variance <= 0 or not np.ptp(answers):
        raise ParameterError(f"{name} must vary, but its truth has an estimated mean of {mean:.4g}, so no variance")
    return centred, variance, centred**2 - variance if law.public else (1 - 2 * mean) * centred


def _note(laws: list[AnswerLaw]) -> str:
    sources = ["public" if law.public else f"by {law.design!r}" for law in laws]
    return f"x {sources[0]}, y {sources[1]}"
