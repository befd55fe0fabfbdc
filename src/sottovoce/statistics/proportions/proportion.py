"""The proportion of yes behind randomized answers of yes or no.

A respondent whose truth is yes answers yes with probability p, one whose truth is no with probability q. In a random
sample the answers are yes with probability lambda = q + (p - q) pi, independently: binomial, whatever the design. So
each method for a binomial proportion is one for pi, read off on another scale.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability
from sottovoce.estimates.frequencies import Estimate, quantile
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.result import Labelled
from sottovoce.statistics.population import PopulationResult
from sottovoce.statistics.proportions import intervals
from sottovoce.statistics.proportions.intervals import DEFAULT, METHODS, check_level
from sottovoce.statistics.proportions.one_proportion import OneProportion, ProportionRow
from sottovoce.statistics.proportions.respondent_intervals import exact_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESPONDENT_METHODS = ("wilson", "mid-p", "exact", "wald")
"""Methods whose intervals may also be about the respondents alone."""
DOUBTFUL_P_VALUE = 0.01
"""The caption warns if the answers fit the design with a smaller p-value."""
MAX_ANSWERS = 2**63


class Weighted(NamedTuple):
    """What survey weights make of the answers: the weighted share of yes, its variance and the effective n."""

    share: float
    variance: float
    effective: float

    @classmethod
    def of(cls, answers: Floats, weights: Floats) -> Weighted:
        """The variance is linearised, sum w^2 (y - share)^2 / (sum w)^2; the effective n is (sum w)^2 / sum w^2."""
        total = weights.sum()
        share = float(weights @ answers / total)
        variance = float((weights**2 @ (answers - share) ** 2) / total**2)
        return cls(share, variance, float(total**2 / (weights @ weights)))


@dataclass(frozen=True, repr=False)
class Proportion(OneProportion):
    """A proportion of yes from `yes` yes answers of n, where p = P(yes | truth yes) and q = P(yes | truth no).

    >>> e = Proportion(yes=60, n=100, p=Fraction(3, 4), q=Fraction(1, 4), epsilon=1.0986122886681098)
    >>> e.frequency, round(e.stderr, 4), round(e.respondents_stderr, 4)
    (0.7, 0.098, 0.0866)
    >>> low, high = e.interval()
    >>> f"{low:.3f} .. {high:.3f}"
    '0.503 .. 0.877'
    >>> test = e.test(0.5)
    >>> round(test.statistic, 3), round(test.p_value, 4), test.rejects()
    (4.027, 0.0448, True)

    With weights, the frequency is that of the weighted share and `stderr` is linearised; methods that need a count
    take the weighted share of Kish's effective number of answers.
    """

    methods: ClassVar[tuple[str, ...]] = METHODS
    yes: int
    n: int
    p: Fraction
    q: Fraction
    epsilon: float
    simulated: bool = False
    label: str = "yes"
    note: str = ""
    method: str | None = None
    weighted: Weighted | None = None

    def __post_init__(self) -> None:
        for name in ("yes", "n"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        if not 0 <= self.yes <= self.n or self.n < 1:
            raise ParameterError(f"yes must lie between 0 and n, and n be at least 1, got {self.yes} of {self.n}")
        if not all(isinstance(x, Real) and 0 <= x <= 1 for x in (self.p, self.q)) or self.p == self.q:
            raise ParameterError(f"p and q must be two different probabilities, got {self.p!r} and {self.q!r}")
        self._checked(self.method)

    # The estimate and its errors.

    @property
    def share(self) -> float:
        """The share of yes among the answers, by weight if there are weights."""
        return self.weighted.share if self.weighted else self.yes / self.n

    @property
    def effective(self) -> float:
        """How many answers of equal weight would tell as much."""
        return self.weighted.effective if self.weighted else float(self.n)

    @cached_property
    def _estimate(self) -> Estimate:
        """The same as an estimate of frequencies. With weights, its counts need not be whole."""
        support: Any = np.array([self.share * self.effective])
        n: Any = self.effective
        p, q = Probability(self.p), Probability(self.q)
        return Estimate(Domain([False, True]), n, support, p, q, self.epsilon)

    @cached_property
    def frequency(self) -> float:
        """The unbiased estimate of the proportion, (share - q) / (p - q). It may lie outside [0, 1]."""
        return float(self._estimate.unbiased[0])

    @cached_property
    def mle(self) -> float:
        """The most likely proportion: the frequency, cut to [0, 1]."""
        return min(max(self.frequency, 0.0), 1.0)

    @cached_property
    def stderr(self) -> float:
        """The standard error about the population: sqrt(lambda (1 - lambda) / n) / |p - q|, or linearised.

        Lambda is that of the most likely proportion. Where all answers are alike there is nothing to linearise.
        """
        if self.weighted and self.weighted.variance:
            return math.sqrt(self.weighted.variance) / abs(float(self.p - self.q))
        return float(self._estimate.population_stderr[0])

    @cached_property
    def respondents_stderr(self) -> float:
        """The standard error about the respondents: the randomizer's noise alone."""
        return float(self._estimate.stderr[0])

    @cached_property
    def counts(self) -> Floats:
        return self.effective * np.array([1 - self.share, self.share])

    @cached_property
    def laws(self) -> Floats:
        p, q = float(self.p), float(self.q)
        return np.array([[1 - q, q], [1 - p, p]])

    @cached_property
    def misfit(self) -> float:
        """How surprising the answers are under any proportion at all: 1, unless the frequency is outside [0, 1].

        It is the exact probability of such answers if pi is at the nearer end. If it is very small, then it was not
        chance: respondents did not follow the instructions, or p and q are not what they were.
        """
        if 0 <= self.frequency <= 1:
            return 1.0
        _, few, many = self._p_values(self.mle, "exact")
        return few if self.frequency < 0 else many

    @property
    def caption(self) -> str:
        known = super().caption
        if self.weighted:
            known += f"; weighted, as {self.effective:,.1f} answers of equal weight"
        if self.misfit < DOUBTFUL_P_VALUE:
            known += f"; such answers hardly fit the design (p-value {self.misfit:.2g})"
        return known

    # Intervals and tests.

    def interval(self, level: float = 0.95, method: str | None = None, population: bool = True) -> Interval[float]:
        """An interval for the proportion, within [0, 1], by one of `methods`.

        About the population the default is "unified", which covers at the level near 0 and 1 too, and is never a
        single point. About the respondents alone the default is the score interval, "wilson".
        """
        check_level(level)
        if not population:
            return self._about_respondents(level, self._about(method or self.method))
        low, high = intervals.interval(*self._binomial(self._checked(method)), level)
        return Interval(float(low), float(high), level)

    def _binomial(self, method: str) -> tuple[str, float, float, float, float]:
        """The arguments of a binomial method. By "wald" a variance is needed, by the others a count."""
        n = self.effective
        if method == "wald" and self.weighted and self.weighted.variance:
            n = self.share * (1 - self.share) / self.weighted.variance
        return method, self.share * n, n, float(self.p), float(self.q)

    def _about_respondents(self, level: float, method: str) -> Interval[float]:
        if method in ("exact", "mid-p"):
            if self.weighted:
                raise ParameterError(f"about the respondents, {method} intervals need answers without weights")
            return exact_interval(self.yes, self.n, float(self.p), float(self.q), level, mid=method == "mid-p")
        half = quantile(level) * self.respondents_stderr
        low, high = self.frequency - half, self.frequency + half
        if method == "wilson":
            low, high = (float(end[0]) for end in self._estimate.interval(level))
        return Interval(min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0), level)

    def _about(self, method: str | None) -> str:
        """The method for intervals about the respondents."""
        chosen = "wilson" if method in (None, DEFAULT) else str(method)
        if chosen not in RESPONDENT_METHODS:
            raise ParameterError(
                f"about the respondents, method must be one of {', '.join(RESPONDENT_METHODS)}, got {chosen!r:.40}"
            )
        return chosen

    def _statistic(self, null: float, method: str) -> float:
        """The likelihood ratio, the distance in standard errors, or for binomial tails the number of yes."""
        if method in ("unified", "mid-p", "exact"):
            return self.share * self.effective
        if method == "wilson":
            rate = float(self.q) + float(self.p - self.q) * null
            error = math.sqrt(rate * (1 - rate) / self.effective) / float(self.p - self.q)
            return (self.frequency - null) / abs(error) if error else super()._statistic(null, "wald")
        return super()._statistic(null, method)

    def _p_values(self, null: float, method: str) -> tuple[float, float, float]:
        return intervals.p_values(*self._binomial(method), null)

    def to_dict(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> JsonObject:
        known = super().to_dict(level, simultaneous, population)
        method = self._checked(None) if population else self._about(self.method)
        exact = {"p": str(Fraction(self.p)), "q": str(Fraction(self.q))}
        return {**known, **exact, "method": method, "effective": self.effective, "misfit": self.misfit}


def _whole(name: str, value: object) -> int:
    try:
        whole = operator.index("" if isinstance(value, bool) else value)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(f"{name} must be a whole number, got {value!r:.40}") from None
    if whole > MAX_ANSWERS:
        raise ParameterError(f"{name} must be at most 2^63, got {value!r:.40}")
    return whole


@dataclass(frozen=True, eq=False, repr=False)
class Proportions(PopulationResult, Labelled[ProportionRow]):
    """Proportions of several groups, one beside the other. Made by `estimate(answers, groups=groups)`.

    Simultaneous intervals hold for all groups at once (Bonferroni).
    """

    thing: ClassVar[str] = "group"
    measure: ClassVar[str] = "frequency"
    groups: tuple[OneProportion, ...]
    note: str = ""

    @property
    def labels(self) -> Sequence[str]:
        return [group.label for group in self.groups]

    @property
    def n(self) -> int:  # type: ignore[override]
        return sum(group.n for group in self.groups)

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self.groups[0].epsilon

    @property
    def simulated(self) -> bool:  # type: ignore[override]
        return any(group.simulated for group in self.groups)

    @property
    def caption(self) -> str:
        plain = [group for group in self.groups if isinstance(group, Proportion)]
        odd = [group.label for group in plain if group.misfit < DOUBTFUL_P_VALUE]
        parts = [super().caption, *(["weighted"] if any(group.weighted for group in plain) else [])]
        return "; ".join(parts + ([f"answers that hardly fit the design: {', '.join(odd)}"] if odd else []))

    def using(self, method: str) -> Proportions:
        """The same estimates, their intervals by this method wherever they are shown."""
        return replace(self, groups=tuple(group.using(method) for group in self.groups))

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> list[ProportionRow]:
        level = 1 - (1 - check_level(level)) / (len(self.groups) if simultaneous else 1)
        return [row for group in self.groups for row in group.rows(level, population=population)]

    def __repr__(self) -> str:
        return f"<Proportions of {len(self.groups)} groups; {self.caption}>"
