from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Required, TypedDict

from sottovoce.core.domain import Scale
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability, check_epsilon, check_probability, log_above, round_down
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Index, Report, ReportArray
from sottovoce.mechanisms.numeric.base import Numeric
from sottovoce.mechanisms.numeric.window import Coin, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import MeanEstimate, Result
    from sottovoce.estimates.tally import Tally

DEFAULT_STEPS = 1024


class Parameters(TypedDict, total=False):
    """The kind of a `Mean`, and the parameters that this kind has."""

    kind: Required[str]
    p: Probability
    share: Probability
    window: int
    inside: Probability


PARAMETERS = {"rounding": {"p"}, "piecewise": {"window", "inside"}, "hybrid": {"p", "share", "window", "inside"}}
KINDS = ("auto", "rounding", "duchi", "piecewise", "hybrid")


@dataclass(frozen=True, init=False, repr=False)
class Mean(Numeric):
    """The mean of numbers from low to high. Every report has an unbiased value; the estimate is their average.

    "rounding" moves a number to one of the two ends at random and applies randomized response to that bit; Duchi's
    mechanism has the same law in one dimension, so "duchi" is another name for it. "piecewise" reports a point from a
    window around the number, or now and then from elsewhere. "hybrid" does the latter with probability `share` and the
    former otherwise, and says which. "auto" takes the least worst-case variance: rounding up to epsilon = 0.61, hybrid
    beyond. A hybrid for so small an epsilon is best with a share of zero, and is then kept as "rounding".

    >>> m = Mean(0, 100, epsilon=1.0)
    >>> m.kind, m.bits, m.epsilon <= 1.0
    ('hybrid', 11, True)
    >>> e = m.tally().add_many(m.randomize_many([20.5, 30, 40] * 10_000, seed=1)).estimate()
    >>> round(e.mean, 1), round(e.stderr, 1)
    (29.8, 0.6)
    >>> Mean(0, 100, epsilon=1.0, outside="clip").randomize(170) < m.cells
    True

    J. C. Duchi, M. I. Jordan, M. J. Wainwright, Minimax Optimal Procedures for Locally Private Estimation, JASA 2018.
    N. Wang et al., Collecting and Analyzing Multidimensional Data with Local Differential Privacy, ICDE 2019.
    """

    name: ClassVar[str] = "mean"
    question_kinds: ClassVar[tuple[str, ...]] = ("number",)
    question_names: ClassVar[tuple[str, ...]] = ("rounding", "piecewise", "hybrid")
    domain: Scale
    kind: str
    p: Probability | None
    share: Probability | None
    window: int | None
    inside: Probability | None

    if TYPE_CHECKING:

        def tally(self) -> Tally[MeanEstimate]: ...

    def __init__(
        self,
        low: float,
        high: float,
        epsilon: float,
        kind: str = "auto",
        outside: str = "refuse",
        *,
        steps: int | None = None,
    ) -> None:
        if kind not in KINDS:
            raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        epsilon = check_epsilon(epsilon)
        grid = Scale(low, high, DEFAULT_STEPS if steps is None else steps, outside)
        parameters = _plan(epsilon, grid.steps, kind)
        if steps is None and parameters["kind"] == "rounding":
            grid = Scale(low, high, 1, outside)  # A number is rounded to an end at once: no grid is needed between.
        self._set(domain=grid, **parameters)

    @classmethod
    def _assemble(cls, **parameters: Any) -> Mean:
        made = object.__new__(cls)
        for name in ("p", "share", "inside"):
            if parameters[name] is not None:
                parameters[name] = round_down(check_probability(name, parameters[name]))
        made._set(**parameters)
        return made

    def _set(
        self,
        *,
        domain: Scale,
        kind: str,
        p: Probability | None = None,
        share: Probability | None = None,
        window: int | None = None,
        inside: Probability | None = None,
    ) -> None:
        """Set all fields, and check that the kind has just the parameters it needs."""
        parameters = {"p": p, "share": share, "window": window, "inside": inside}
        given = {name for name, value in parameters.items() if value is not None}
        if kind not in PARAMETERS or given != PARAMETERS[kind]:
            shown = ", ".join(sorted(given))
            raise ParameterError(f"kind must fit its parameters, got {kind!r} with {shown or 'none'}")
        self._freeze(domain=domain, kind=kind, **parameters)
        _ = self._parts

    @cached_property
    def _parts(self) -> tuple[tuple[Fraction, Coin | Window], ...]:
        """The randomizers that a report may come from, each with its probability, in the order of their outcomes."""
        parts: list[Coin | Window] = []
        if self.p is not None:
            parts.append(Coin(self.domain.steps, self.p))
        if self.window is not None and self.inside is not None:
            parts.append(Window(self.domain.steps, self.window, self.inside))
        shares = [Fraction(1)] if self.share is None else [Fraction(1 - self.share), Fraction(self.share)]
        return tuple(zip(shares, parts, strict=True))

    @cached_property
    def epsilon(self) -> float:
        return log_above(max(part.ratio for _, part in self._parts))

    @cached_property
    def shape(self) -> Index:
        return Index(sum(part.outcomes for _, part in self._parts))

    @cached_property
    def _level(self) -> float:
        return sum(float(share) * part.level for share, part in self._parts)

    @cached_property
    def _curve(self) -> float:
        return sum(float(share) * part.curve for share, part in self._parts)

    @cached_property
    def variance(self) -> float:
        """The variance of a mean at the worst answers, times the number of reports."""
        return self.domain.width**2 * _worst(self._level, self._curve, self.domain.steps)

    @cached_property
    def population_variance(self) -> float:
        """The same about a population that the respondents are drawn from. The worst has one half at either end."""
        return self.domain.width**2 * (self._level + self._curve / 4)

    def value(self, report: Report) -> float:
        """What one report says by itself: a number, often far outside, whose expectation is the answer."""
        return float(self._values[self.shape.check(report)])

    @property
    def _values(self) -> NDArray[np.float64]:
        units = np.concatenate([part.values for _, part in self._parts])
        return self.domain.low + self.domain.width * (units + 0.5)

    def _law(self, code: int) -> dict[Report, Fraction]:
        chances = [share * chance for share, part in self._parts for chance in part.law(code)]
        return dict(enumerate(chances))

    def _perturb(self, code: int, source: Source) -> int:
        coin, window = self._parts[0][1], self._parts[-1][1]
        if self.share is None:
            return coin.perturb(code, source)
        wide, narrow = source.bernoulli(self.share), coin.perturb(code, source)
        return (narrow, coin.outcomes + window.perturb(code, source))[wide]

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        coin, window = self._parts[0][1], self._parts[-1][1]
        reports = coin.perturb_many(codes, stream)
        if self.share is not None:
            wide = coin.outcomes + window.perturb_many(codes, stream)
            reports = np.where(stream.bernoulli(self.share, codes.size), wide, reports)
        out[:] = reports

    def _estimate(self, tally: Tally[Result]) -> MeanEstimate:
        from sottovoce.estimates import MeanEstimate

        units = np.concatenate([part.values for _, part in self._parts])
        average, second = (float(tally.cells @ units**power) / tally.n for power in (1, 2))
        moments = (average, second, self._level, self._curve)
        return MeanEstimate(self.domain, tally.n, *moments, self.epsilon, tally.simulated)


def _plan(epsilon: float, steps: int, kind: str) -> Parameters:
    """The parameters of a kind, or of the best kind."""
    coin = Coin.spending(epsilon, steps)
    if kind in ("rounding", "duchi"):
        return {"kind": "rounding", "p": coin.p}
    if kind == "piecewise":
        return _piecewise(epsilon, steps)
    window = _best_window(epsilon, steps, lambda level, curve: level / curve + (1 - 1 / curve) * coin.level)
    share = round_down(window.slope)
    level = float(share) * window.level + float(1 - share) * coin.level
    if level >= coin.level:
        return {"kind": "rounding", "p": coin.p}
    return {"kind": "hybrid", "p": coin.p, "share": share, "window": window.window, "inside": window.inside}


def _piecewise(epsilon: float, steps: int) -> Parameters:
    window = _best_window(epsilon, steps, lambda level, curve: _worst(level, curve, steps))
    return {"kind": "piecewise", "window": window.window, "inside": window.inside}


def _best_window(epsilon: float, steps: int, cost: Callable[[float, float], float]) -> Window:
    """The window whose level and curve cost least. Wang et al. have steps * e^(-epsilon/2) in the continuous limit.

    Costs fall up to the best window and rise behind it, so that halving finds it.
    """
    low, high = 1, 2 * steps
    while low < high:
        middle = (low + high) // 2
        here, next_one = (cost(*_moments(epsilon, steps, window)) for window in (middle, middle + 1))
        low, high = (middle + 1, high) if next_one < here else (low, middle)
    return Window.spending(epsilon, steps, low)


def _moments(epsilon: float, k: int, w: int) -> tuple[float, float]:
    """`Window.level` and `Window.curve` in floating point, for the search."""
    total = w * math.exp(epsilon) + k
    slope, N = w * math.expm1(epsilon) / total, k + w
    return (N * (N * N - 1) / total + slope * (w * w - 1)) / (12 * (k * slope) ** 2), 1 / slope


def _worst(level: float, curve: float, steps: int) -> float:
    """The largest variance of one report, in units of the range; the last term bounds what the grid adds."""
    return level + max(curve - 1, 0) / 4 + curve / (4 * steps * steps)
