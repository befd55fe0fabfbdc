"""The largest error in a histogram of D values: what to expect of the worst of them, before anybody is asked.

Each error is nearly normal, with the exact variance of its frequency. As if they were independent, all D stay within
x at once with probability prod (2 Phi(x / sigma) - 1). Errors do depend on one another, but that only helps: for
normal errors of any correlation the probability is at least that product (Z. Šidák, Rectangular confidence regions for
the means of multivariate normal distributions, JASA 62, 1967). So what is given here is an upper bound, and a close
one from a dozen values on. It grows with D like sigma sqrt(2 ln 2D), that is, like sqrt(n log D) / epsilon in counts.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.checks import check_distribution, check_level, check_whole
from sottovoce.statistics.histograms.covariance import covariance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class MaxError(NamedTuple):
    """The largest error of a frequency among all values of the domain."""

    expected: float
    """Its mean."""
    bound: float
    """It stays below this with the probability of the level."""
    rule: float
    """The rule of thumb for its mean, sigma sqrt(2 ln 2D)."""


def max_error(
    mechanism: Pure, n: int, frequencies: ArrayLike | None = None, level: float = 0.95, population: bool = False
) -> MaxError:
    """The largest error of a frequency to expect with n reports, about the respondents or the population.

    Without frequencies, all values are taken to be as frequent; for most mechanisms that changes little.

    >>> from sottovoce import Unary
    >>> expected, bound, rule = max_error(Unary(100, epsilon=1.0), n=10_000)
    >>> f"{expected:.4f} {bound:.4f} {rule:.4f}"
    '0.0528 0.0668 0.0626'
    """
    if not isinstance(mechanism, Pure):
        raise ParameterError(f"a largest error is that of a mechanism for frequencies, got {mechanism!r:.80}")
    D = mechanism.domain.size
    f = np.full(1, 1 / D) if frequencies is None else check_distribution(frequencies, D)
    p, q = float(mechanism.p), float(mechanism.q)
    variance = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2 + population * f * (1 - f)
    errors, found = np.unique(np.sqrt(variance / check_whole(n, "n", 1)), return_counts=True)
    times = found * (D / found.sum())
    if D == 2 and _mirrored(mechanism):
        errors, times = errors[-1:], np.ones(1)
    rule = float(errors.max()) * math.sqrt(2 * math.log(2 * D))
    return MaxError(_mean(errors, times), _bound(errors, times, check_level(level)), rule)


def _mirrored(mechanism: Pure) -> bool:
    """Whether two values have one error between them: what is too much for the one is too little for the other."""
    return bool(abs(covariance(mechanism, np.array([0.5, 0.5])).sum()) < 1e-9)


def _within(x: float, errors: NDArray[np.float64], times: NDArray[np.float64]) -> float:
    """The logarithm of the probability that independent normal errors all stay within x."""
    return float(times @ np.log1p(-2 * scipy.special.ndtr(-x / errors))) if x > 0 else -math.inf


def _mean(errors: NDArray[np.float64], times: NDArray[np.float64]) -> float:
    """The integral of the probability that some error exceeds x, over all x."""
    scale, far = float(errors.max()), _bound(errors, times, 1 - 1e-12)
    parts = np.linspace(0, far / scale, 9)
    pieces = [
        scipy.integrate.quad(lambda x: -math.expm1(_within(x * scale, errors, times)), a, b)[0]
        for a, b in pairwise(parts)
    ]
    return scale * float(sum(pieces))


def _bound(errors: NDArray[np.float64], times: NDArray[np.float64], level: float) -> float:
    """What all errors stay within, with the probability of the level."""
    far = 2 * float(errors.max()) * math.sqrt(2 * math.log(2 * times.sum() / (1 - level)))
    log = math.log(level)
    return float(scipy.optimize.brentq(lambda x: _within(x, errors, times) - log, 1e-9 * far, far, xtol=1e-12 * far))
