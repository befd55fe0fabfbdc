"""One true proportion behind randomized answers: the likelihood, what follows from it, and how it is shown.

If an answer has probability a under the truth yes and b under no, it comes with probability a pi + b (1 - pi). The
log-likelihood of pi is the sum of the logarithms over all answers: concave, whatever the design. Its maximum in [0, 1]
is the maximum-likelihood estimate; twice the drop from there to the true pi follows a chi-square law for large n, which
gives a test and an interval.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Self, overload

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.core.privacy import to_float
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.render import ACCENT, INK, TRUTH
from sottovoce.statistics.histograms.mixture import most_likely
from sottovoce.statistics.hypothesis_result import TestResult
from sottovoce.statistics.panels import panel
from sottovoce.statistics.population import PopulationResult
from sottovoce.statistics.proportions.intervals import check_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Pi = float | Fraction | Sequence[float] | Floats

ALTERNATIVES = ("two-sided", "less", "greater")
CURVE_POINTS = 400
CURVE_DEPTH = 4.0
"""A log-likelihood is drawn down to so many times the depth of the cut."""


@dataclass(frozen=True)
class ProportionRow:
    """The one row of an estimated proportion."""

    label: str
    n: int
    yes: int
    frequency: float
    stderr: float
    low: float
    high: float


class OneProportion(PopulationResult):
    """A proportion of yes in a population, estimated from randomized answers.

    Errors and intervals are about the population unless asked otherwise: who answered was drawn by chance, and so was
    the randomizer's noise.
    """

    measure: ClassVar[str] = "frequency"
    methods: ClassVar[tuple[str, ...]] = ("likelihood", "wald")
    label: str
    yes: int
    method: str | None

    # What a subclass knows.

    @property
    @abstractmethod
    def frequency(self) -> float:
        """The unbiased estimate of the proportion. It may lie outside [0, 1]."""

    @property
    @abstractmethod
    def stderr(self) -> float:
        """The standard error about the population: noise and sampling."""

    @property
    @abstractmethod
    def respondents_stderr(self) -> float:
        """The standard error about the respondents: the randomizer's noise alone."""

    if TYPE_CHECKING:  # Some subclasses store these, others derive them.

        @property
        def counts(self) -> Floats:
            """How often each answer was given; with weights, scaled to the effective number of answers."""

        @property
        def laws(self) -> Floats:
            """The probability of each answer, under the truth no (first row) and yes (second row)."""

    @abstractmethod
    def interval(self, level: float = 0.95, method: str | None = None, population: bool = True) -> Interval[float]:
        """An interval for the proportion, within [0, 1]."""

    @property
    def population_stderr(self) -> float:
        """The same as `stderr`: survey designs are about a population."""
        return self.stderr

    # The likelihood.

    @overload
    def loglik(self, pi: float | Fraction) -> float: ...
    @overload
    def loglik(self, pi: Sequence[float] | Floats) -> Floats: ...
    def loglik(self, pi: Pi) -> float | Floats:
        """The log-likelihood of a proportion, or of an array of them."""
        share = _shares(pi)
        rates = share[..., None] * self.laws[1] + (1 - share[..., None]) * self.laws[0]
        value: Floats = scipy.special.xlogy(self.counts, rates).sum(axis=-1)
        return float(value) if share.ndim == 0 else value

    @cached_property
    def mle(self) -> float:
        """The most likely proportion, inside [0, 1]."""
        return float(most_likely(self.laws, self.counts)[1])

    @overload
    def likelihood_ratio(self, pi: float | Fraction) -> float: ...
    @overload
    def likelihood_ratio(self, pi: Sequence[float] | Floats) -> Floats: ...
    def likelihood_ratio(self, pi: Pi) -> float | Floats:
        """Twice the drop of the log-likelihood from its maximum to a proportion, or to an array of them."""
        drop = np.maximum(2 * (self.loglik(self.mle) - np.asarray(self.loglik(pi))), 0.0)
        return float(drop) if drop.ndim == 0 else drop

    def test(self, null: float, alternative: str = "two-sided", method: str = "likelihood") -> TestResult:
        """Test whether the proportion is `null`, against its being another, less or greater.

        Two-sided p-values belong to the interval of the same method: it holds the proportions that are not rejected.
        At 0 and 1 the truth can lie to one side only: there, ask for that side.
        """
        null, chosen = _check_null(null), self._checked(method)
        if alternative not in ALTERNATIVES:
            raise ParameterError(f"alternative must be one of {', '.join(ALTERNATIVES)}, got {alternative!r:.40}")
        p_value = dict(zip(ALTERNATIVES, self._p_values(null, chosen), strict=True))[alternative]
        ratio = chosen == "likelihood"
        statistic = self._statistic(null, chosen)
        name = "likelihood-ratio test" if ratio else f"{chosen} test"
        ends = self.interval(method=chosen)
        note = f"against {null:.6g}, {alternative}"
        return TestResult(name, statistic, p_value, 1 if ratio else None, self.frequency, ends, note)

    def _statistic(self, null: float, method: str) -> float:
        return float(self.likelihood_ratio(null)) if method == "likelihood" else self._distance(null)

    def _p_values(self, null: float, method: str) -> tuple[float, float, float]:
        """The p-values of an estimate that is so far away, so small, and so large. Here by the normal law."""
        root = self._distance(null)
        if method == "likelihood":
            root = math.copysign(math.sqrt(self.likelihood_ratio(null)), self.mle - null)
        few, many = float(scipy.special.ndtr(root)), float(scipy.special.ndtr(-root))
        return min(2 * min(few, many), 1.0), few, many

    def _distance(self, null: float) -> float:
        """How many standard errors lie between the estimate and a proportion."""
        gap = self.frequency - null
        return gap / self.stderr if self.stderr else math.copysign(math.inf, gap) if gap else 0.0

    def _checked(self, method: str | None) -> str:
        chosen = self.method or self.methods[0] if method is None else method
        if chosen not in self.methods:
            raise ParameterError(f"method must be one of {', '.join(self.methods)}, got {chosen!r:.40}")
        return chosen

    def using(self, method: str) -> Self:
        """The same estimate, its intervals by this method wherever they are shown."""
        return replace(self, method=self._checked(method))  # type: ignore[type-var]

    # How it is shown.

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> list[ProportionRow]:
        """One row. There is nothing else to hold at the same time, so that `simultaneous` changes nothing."""
        error = self.stderr if population else self.respondents_stderr
        ends = self.interval(level, population=population)
        return [ProportionRow(self.label, self.n, self.yes, self.frequency, error, *ends)]

    def to_dict(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> JsonObject:
        return {**super().to_dict(level, simultaneous, population), "mle": self.mle}

    def plot_likelihood(self, level: float = 0.95, log: bool = True, ax: Axes | None = None) -> Axes:
        """The likelihood over the proportion, its maximum, the cut at the level and the interval. Needs matplotlib."""
        cut = -float(scipy.special.chdtri(1, 1 - check_level(level))) / 2
        ax = panel(7, 4) if ax is None else ax
        ends = self.interval(level, "likelihood")
        pi = np.linspace(*self._window(*ends), CURVE_POINTS)
        drop = -self.likelihood_ratio(pi) / 2
        if log:
            _draw_curve(ax, pi, drop, cut, 0.0, ends, self.mle)
        else:
            _draw_curve(ax, pi, np.exp(drop), math.exp(cut), 1.0, ends, self.mle)
        ax.set_ylabel("log-likelihood less its maximum" if log else "likelihood over its maximum")
        ax.set_ylim(*((CURVE_DEPTH * cut, -0.08 * cut) if log else (0, 1.05)))
        ax.set_title(self.caption, loc="left", color=INK, fontsize="medium")
        return ax

    def _window(self, low: float, high: float) -> tuple[float, float]:
        """The part of [0, 1] worth drawing: the interval and as much again on either side."""
        margin = max(high - low, 1e-6)
        return max(low - margin, 0.0), min(high + margin, 1.0)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.frequency:.6g} with standard error {self.stderr:.3g}; {self.caption}>"


def _draw_curve(
    ax: Axes, pi: Floats, curve: Floats, cut: float, top: float, interval: Interval[float], mle: float
) -> None:
    inside = (pi >= interval.low) & (pi <= interval.high)
    name = f"{100 * interval.level:.12g}% likelihood interval {interval.low:.3f} .. {interval.high:.3f}"
    ax.fill_between(pi, curve, cut, where=inside & (curve >= cut), color=ACCENT, alpha=0.18, linewidth=0, label=name)
    ax.plot(pi, curve, color=ACCENT, linewidth=2)
    ax.axhline(cut, color=INK, linewidth=0.9, linestyle="--", label="cut of the test")
    ax.plot([mle], [top], "o", color=TRUTH, markersize=6, label=f"most likely: {mle:.3f}", clip_on=False)
    ax.set_xlim(pi[0], pi[-1])
    ax.set_xlabel("true proportion of yes")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False, fontsize="small")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _shares(pi: object) -> Floats:
    """A proportion or an array of them."""
    try:
        share = np.asarray(pi, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        share = np.array(np.nan)
    if isinstance(pi, str) or not ((share >= 0) & (share <= 1)).all():
        raise ParameterError(f"pi must lie between 0 and 1, got {pi!r:.40}")
    return share


def _check_null(null: object) -> float:
    if isinstance(null, bool) or not isinstance(null, Real) or not 0 <= to_float(null) <= 1:
        raise ParameterError(f"a proportion to test must lie between 0 and 1, got {null!r:.40}")
    return float(null)
