"""Newton's method for a log-likelihood, with what it takes to trust the end: short steps, and an eye on divergence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy

if TYPE_CHECKING:
    from sottovoce.statistics.regression.model import Array, Model, Point

MAX_STEPS, MAX_HALVINGS = 100, 40
STEP_TOLERANCE = 1e-12
"""A search ends when the squared length of a step, in standard errors, is below this. The step is still taken."""
MAX_LOGIT_STEP = 4.0
"""The most that a step may move anybody's logit: beyond it the likelihood is another function."""
DIVERGENT_LOGIT_STEP = 1e-2
"""A last step that still moves a logit by as much runs away to infinity, along a likelihood that hardly rises."""


@dataclass(frozen=True, eq=False)
class RegressionFit:
    """Where the search ended, and whether that is a maximum inside."""

    theta: Array
    point: Point
    gradient: Array
    steps: int
    settled: bool
    drift: tuple[float, float] = (0.0, 0.0)

    @property
    def diverged(self) -> bool:
        """Whether a linear predictor of the outcome runs away: a fitted probability is 0 or 1."""
        return self.drift[0] > DIVERGENT_LOGIT_STEP

    @property
    def edge(self) -> bool:
        """Whether one of the shares does: somewhere a hidden pattern has no share at all."""
        return self.drift[1] > DIVERGENT_LOGIT_STEP

    @property
    def converged(self) -> bool:
        return self.settled and not self.diverged


def maximise(model: Model, start: Array, free: Array | None = None) -> RegressionFit:
    """Climb from `start` to a maximum over the free parameters (all, or those where `free` is true)."""
    free = np.ones(model.size, dtype=bool) if free is None else free
    theta, point, step = start, model(start), np.zeros(model.size)
    for steps in range(MAX_STEPS):
        gradient = (model.weights @ point.scores)[free]
        step[free], exact = _direction(model, point, gradient, free)
        length = float(gradient @ step[free])
        reach = model.reach(step)
        if exact and length < STEP_TOLERANCE:
            return _end(model, theta, step, point, steps, free, reach)
        found = _climb(model, theta, step * min(1.0, MAX_LOGIT_STEP / max(*reach, MAX_LOGIT_STEP)), point.loglik)
        if found is None:
            return RegressionFit(theta, point, gradient, steps, exact and length < STEP_TOLERANCE**0.5, reach)
        theta, point = found
    return RegressionFit(theta, point, (model.weights @ point.scores)[free], MAX_STEPS, False, reach)


def _end(
    model: Model, theta: Array, step: Array, point: Point, steps: int, free: Array, reach: tuple[float, float]
) -> RegressionFit:
    """Take the last step too, unless rounding makes it worse."""
    last = model(theta + step)
    if last.loglik >= point.loglik:
        theta, point = theta + step, last
    return RegressionFit(theta, point, (model.weights @ point.scores)[free], steps + 1, True, reach)


def _direction(model: Model, point: Point, gradient: Array, free: Array) -> tuple[Array, bool]:
    """Newton's step; where the likelihood is not concave, one by the outer product of the scores, which climbs."""
    step = solve(point.information[np.ix_(free, free)], gradient)
    if step is not None:
        return step, True
    scores = point.scores[:, free]
    outer = scores.T @ (model.weights[:, None] * scores)
    outer[np.diag_indices_from(outer)] *= 1 + 1e-6
    step = solve(outer, gradient)
    return (gradient / max(float(np.linalg.norm(gradient)), 1.0) if step is None else step), False


def _climb(model: Model, theta: Array, step: Array, loglik: float) -> tuple[Array, Point] | None:
    """The end of the longest step, of the whole and its halves, that does not lower the likelihood."""
    for _ in range(MAX_HALVINGS):
        point = model(theta + step)
        if point.loglik >= loglik:
            return theta + step, point
        step = step / 2
    return None


def solve(matrix: Array, right: Array) -> Array | None:
    """The solution of a positive definite system, whatever the units of its parameters; None if it is not definite."""
    diagonal = np.diag(matrix)
    if not np.isfinite(matrix).all() or (diagonal <= 0).any():
        return None
    scale = 1 / np.sqrt(diagonal)
    try:
        factor = scipy.linalg.cho_factor(matrix * scale[:, None] * scale)
    except np.linalg.LinAlgError:
        return None
    solution: Array = (scipy.linalg.cho_solve(factor, (scale * right.T).T).T * scale).T
    return solution
