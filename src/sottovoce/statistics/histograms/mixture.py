"""The mixture that best explains counts: maximum likelihood over the simplex, to the last digits.

Answers of frequencies f lead to report r with probability f M[:, r], so that counts c have the log-likelihood
sum c log(f M): concave in f. Expectation maximisation climbs it, but takes very many steps where a report tells
little. A primal-dual interior-point method needs a few dozen whatever the channel, and proves how close it came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_STEPS = 200
GAP_TOLERANCE = 1e-15
"""The search ends when the duality gap, for each value, is smaller than this ..."""
GRADIENT_TOLERANCE = 1e-11
"""... and the gradient and its dual variable agree to within this."""
SHRINK = 0.1
"""Each step aims at this part of the duality gap."""
BOUNDARY_SHARE = 0.99
"""A step goes at most this part of the way to the boundary."""
ZERO_SHARE = 1e-11
"""A smaller frequency, below its dual variable, is zero."""


def most_likely(laws: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution over the rows of `laws` that maximises the likelihood of the counts of its columns.

    Minimise G(f) = sum f - sum w log(f M) over f >= 0, with w the shares of the counts: at its minimum f adds up to
    one by itself. The gradient is the dual variable z >= 0, and f z = 0; the path to it is that of f z = mu.

    >>> import numpy as np
    >>> most_likely(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40])).round(12)
    array([0.7, 0.3])
    >>> most_likely(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([90, 10])).round(12)
    array([1., 0.])
    """
    M, w = laws[:, counts > 0], counts[counts > 0] / counts.sum()
    M = M / M.max(axis=0)
    f = np.full(len(M), 1 / len(M))
    z = np.ones(len(M))
    for _ in range(MAX_STEPS):
        rate = f @ M
        gradient = 1 - M @ (w / rate)
        mu = f @ z / f.size
        if mu < GAP_TOLERANCE and np.abs(gradient - z).max() < GRADIENT_TOLERANCE:
            break
        target = SHRINK * mu / f
        curvature = (M * (w / rate**2)) @ M.T
        curvature[np.diag_indices_from(curvature)] += z / f
        df = np.linalg.solve(curvature, target - gradient)
        dz = target - z - z / f * df
        step = min(1.0, *(BOUNDARY_SHARE * _room(x, dx) for x, dx in ((f, df), (z, dz))))
        f, z = f + step * df, z + step * dz
    f = np.where((f < z) & (f < ZERO_SHARE), 0.0, f)
    best: NDArray[np.float64] = f / f.sum()
    return best


def _room(x: NDArray[np.float64], change: NDArray[np.float64]) -> float:
    """How many times the change fits in before some part of x is zero."""
    falling = change < 0
    return float((x[falling] / -change[falling]).min(initial=np.inf))


def gap(laws: NDArray[np.float64], counts: NDArray[np.float64], frequencies: NDArray[np.float64]) -> float:
    """A bound on how far the log-likelihood of the frequencies lies below its maximum, by duality."""
    rate = frequencies @ laws
    seen = counts > 0
    slopes = laws[:, seen] @ (counts[seen] / rate[seen]) / counts.sum()
    return float(counts.sum() * np.log(slopes.max()))
