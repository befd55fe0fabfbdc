"""A mean watched live: an interval for the average of unbiased reports that holds at every peek.

A report's number X lies at most c from the mean and has a variance of at most v, whatever the answers are: both follow
from the mechanism alone. Then E exp(t (X - mean)) <= exp(v (exp(c t) - 1 - c t) / c^2) for every t > 0 (Bennett), so
that with S the sum of the errors of n reports

    exp(t S - n v (exp(c t) - 1 - c t) / c^2)

is a nonnegative supermartingale that starts at 1, and so is every average of it over several t and both signs of S. By
Ville's inequality it ever reaches 1/alpha with probability at most alpha. The interval holds all means under which it
has not got there. Small t are for many reports, large ones for few: a geometric sequence of them serves all n.

G. Bennett, Probability inequalities for the sum of independent random variables, Journal of the American Statistical
Association 1962; H. Robbins, Statistical methods related to the law of the iterated logarithm, Annals of Mathematical
Statistics 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates import MeanEstimate
from sottovoce.estimates.interval import Interval
from sottovoce.mechanisms import Mean
from sottovoce.statistics.checks import check_level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

TILT_RATIO, TILTS = 2.0, 20
"""The tilts t are TILT_RATIO^-k / c for k = 0 .. TILTS - 1."""

HALVINGS = 60


def reach(mechanism: Mean, n: ArrayLike, level: float = 0.95) -> NDArray[np.float64]:
    """Half the width of the interval after n reports; n may be an array.

    >>> from sottovoce import Mean
    >>> reach(Mean(0, 1, epsilon=1.0), [10, 1000, 100_000]).round(3)
    array([2.048, 0.136, 0.013])
    """
    if not isinstance(mechanism, Mean):
        raise ParameterError(f"reach is for the mechanism of a mean, got {mechanism!r:.60}")
    limit, counts = -float(np.log(1 - check_level(level))), np.asarray(n, dtype=np.float64)
    values, scale = mechanism._values, mechanism.domain
    farthest = float(max(values.max() - scale.low, scale.high - values.min()))
    variance = mechanism.population_variance / farthest**2
    low, high = np.zeros_like(counts), np.ones_like(counts)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = _log_mixture(middle, counts, variance) < limit
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    half: NDArray[np.float64] = farthest * high
    return half


def _log_mixture(error: NDArray[np.float64], n: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
    """The logarithm of the average over all tilts and both signs, in units of the farthest distance."""
    tilts = TILT_RATIO ** -np.arange(TILTS)
    drift = variance * (np.expm1(tilts) - tilts)
    exponents = [n[..., None] * (sign * error[..., None] * tilts - drift) for sign in (1, -1)]
    mixed: NDArray[np.float64] = scipy.special.logsumexp(np.concatenate(exponents, axis=-1), axis=-1)
    return mixed - float(np.log(2 * TILTS))


def anytime_mean(mechanism: Mean, estimate: MeanEstimate, level: float = 0.95) -> Interval[float]:
    """An interval for the mean of the population that holds at every peek while reports come in.

    It surrounds the unbiased mean, and may reach beyond the range.

    >>> from sottovoce import Mean
    >>> m = Mean(0, 10, epsilon=1.0, kind="rounding")
    >>> e = m.tally().add_many([1] * 600 + [0] * 400).estimate()
    >>> low, high = anytime_mean(m, e)
    >>> f"{low:.2f} .. {high:.2f}"
    '5.87 .. 8.46'
    """
    if not isinstance(estimate, MeanEstimate):
        raise ParameterError(f"anytime_mean needs an estimate of a mean, got {estimate!r:.60}")
    half = float(reach(mechanism, estimate.n, level))
    return Interval(estimate.mean - half, estimate.mean + half, level)
