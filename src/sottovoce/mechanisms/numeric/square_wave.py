from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core.domain import Scale
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability, check_epsilon, check_probability, log_above, round_down
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Index, Report, ReportArray
from sottovoce.mechanisms.numeric.base import Numeric
from sottovoce.mechanisms.numeric.window import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import Result
    from sottovoce.estimates.distribution import Distribution
    from sottovoce.estimates.tally import Tally

MAX_BINS = 1024
MIN_EPSILON = 0.05
"""With less, the estimate is the smoothing's own and its error says nothing."""

MAX_STEPS = 4096
"""The estimate works with a table of steps times steps."""

MIN_STEPS = 256
"""Numbers are rounded to a grid of at least this many steps: finer than the bins, unless those are many."""


@dataclass(frozen=True, init=False, repr=False)
class SquareWave(Numeric):
    """The distribution of numbers from low to high, in bins: density, quantiles, mean.

    A report is a point from a window around the number, or now and then from elsewhere. Nearby numbers have nearby
    reports, so that a distribution shows through more clearly than if its bins were strangers to one another. The
    collector recovers it by expectation maximisation with smoothing.

    >>> m = SquareWave(0, 100, bins=10, epsilon=2.0)
    >>> m.bits, m.epsilon <= 2.0
    (9, True)
    >>> numbers = [40 + person % 30 for person in range(30_000)]
    >>> e = m.tally().add_many(m.randomize_many(numbers, seed=1)).estimate()
    >>> e.frequency.round(2), round(e.median, 1), round(e.quantile_stderr(0.5), 1)
    (array([0.  , 0.  , 0.  , 0.04, 0.3 , 0.33, 0.3 , 0.03, 0.  , 0.  ]), 54.5, 0.2)

    Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, Estimating Numerical Distributions under Local Differential
    Privacy, SIGMOD 2020.
    """

    name: ClassVar[str] = "square_wave"
    question_kinds: ClassVar[tuple[str, ...]] = ("number",)
    domain: Scale
    bins: int
    window: int
    inside: Probability

    if TYPE_CHECKING:

        def tally(self) -> Tally[Distribution]: ...

    def __init__(
        self,
        low: float,
        high: float,
        epsilon: float,
        bins: int = 64,
        *,
        outside: str = "refuse",
        steps: int | None = None,
    ) -> None:
        epsilon, bins = check_epsilon(epsilon), _check_bins(bins)
        if epsilon < MIN_EPSILON:
            raise ParameterError(
                f"epsilon must be at least {MIN_EPSILON} here (below, smoothing alone decides), got {epsilon:g}"
            )
        if steps is not None and steps > MAX_STEPS:
            raise ParameterError(f"steps must be at most {MAX_STEPS}, got {steps}")
        grid = Scale(low, high, bins * math.ceil(MIN_STEPS / bins) if steps is None else steps, outside)
        width = max(1, round(2 * half_width(epsilon) * grid.steps))
        self._set(grid, bins, Window.spending(epsilon, grid.steps, width))

    @classmethod
    def _assemble(cls, **parameters: Any) -> SquareWave:
        made, grid = object.__new__(cls), parameters["domain"]
        inside = round_down(check_probability("inside", parameters["inside"]))
        made._set(grid, _check_bins(parameters["bins"]), Window(grid.steps, parameters["window"], inside))
        return made

    def _set(self, domain: Scale, bins: int, window: Window) -> None:
        if domain.steps % bins:
            raise ParameterError(f"steps must be a multiple of bins = {bins}, got {domain.steps}")
        self._freeze(domain=domain, bins=bins, window=window.window, inside=window.inside)

    @cached_property
    def _window(self) -> Window:
        return Window(self.domain.steps, self.window, self.inside)

    @cached_property
    def epsilon(self) -> float:
        return log_above(self._window.ratio)

    @cached_property
    def shape(self) -> Index:
        return Index(self._window.outcomes)

    def _law(self, code: int) -> dict[Report, Fraction]:
        return dict(enumerate(self._window.law(code)))

    def _perturb(self, code: int, source: Source) -> int:
        return self._window.perturb(code, source)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        out[:] = self._window.perturb_many(codes, stream)

    def _estimate(self, tally: Tally[Result]) -> Distribution:
        from sottovoce.estimates.distribution import Distribution

        parts = (self.domain, self.bins, tally.n, tally.cells.copy(), self._transition())
        return Distribution(*parts, self.epsilon, tally.simulated)

    def _transition(self) -> NDArray[np.float64]:
        """The probability of each outcome (rows) for a number uniform between two grid points (columns).

        Random rounding takes it to either of them with the same probability.
        """
        codes, outcomes = np.arange(self.domain.size), np.arange(self.cells)[:, None]
        near = (outcomes >= codes) & (outcomes < codes + self.window)
        law = np.where(near, float(self.inside / self.window), float((1 - self.inside) / self.domain.steps))
        mixed: NDArray[np.float64] = (law[:, 1:] + law[:, :-1]) / 2
        return mixed


def half_width(epsilon: float) -> float:
    """Half the window, as a share of the range, that lets a report tell most about a number (Li et al., section 5.3).

    >>> round(half_width(1.0), 4), half_width(1e-9)
    (0.2561, 0.5)
    """
    if epsilon < 1e-3:
        return 0.5  # The limit; the formula below would divide rounding errors by one another.
    e = math.exp(epsilon)
    return (epsilon * e - math.expm1(epsilon)) / (2 * e * (math.expm1(epsilon) - epsilon))


def _check_bins(bins: object) -> int:
    if isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= MAX_BINS:
        raise ParameterError(f"bins must be a whole number from 2 to {MAX_BINS}, got {bins!r:.40}")
    return bins
