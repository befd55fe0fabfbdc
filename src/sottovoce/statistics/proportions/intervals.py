"""Tests and intervals for a true proportion pi that is seen through lambda = q + (p - q) pi, the share of yes answers.

A method is a p-value: how surprising so many yes answers are if the share of yes is lambda. Its interval holds every pi
whose lambda is not surprising, so that a test and an interval by the same method never disagree. All arguments may
be arrays, and the numbers of yes answers need not be whole: weights make them fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.core.privacy import to_float
from sottovoce.estimates.interval import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = float | NDArray[np.floating | np.integer]
    Tails = tuple[Floats, Floats]

HALVINGS = 54
TINY = 1e-30
"""Keeps divisions finite where a variance or a distance is zero."""


def interval(method: str, yes: Counts, n: float, p: float, q: float, level: float) -> Interval[Floats]:
    """All proportions in [0, 1] that the method does not reject at the level, from the lowest to the highest.

    >>> low, high = interval("wilson", 60, 100, 0.75, 0.25, 0.95)
    >>> float(low.round(4)), float(high.round(4))
    (0.504, 0.8812)
    """
    check_method(method)
    alpha = 1 - check_level(level)
    counts, p, q = _rising(np.asarray(yes, dtype=np.float64), n, p, q)
    best = (counts / n).clip(q, p)

    def kept(rate: Floats) -> NDArray[np.bool_]:
        return _two_sided(method, counts, n, rate, p, q) >= alpha

    low, high = last(kept, np.stack([best, best]), np.stack([np.full_like(best, q), np.full_like(best, p)]))
    return Interval((low - q) / (p - q), (high - q) / (p - q), level)


def p_values(method: str, yes: float, n: float, p: float, q: float, null: float) -> tuple[float, float, float]:
    """How surprising the answers are if the proportion is `null`: to either side, as so few, as so many.

    >>> [round(value, 4) for value in p_values("exact", 60, 100, 0.75, 0.25, 0.5)]
    [0.0569, 0.9824, 0.0284]
    """
    count, p, q = _rising(np.array(yes, dtype=np.float64), n, p, q)
    rate = np.array(q + (p - q) * null)
    few, many = TAILS[check_method(method)](count, n, rate, p, q)
    return float(_two_sided(method, count, n, rate, p, q)), float(few), float(many)


def _rising(yes: Floats, n: float, p: float, q: float) -> tuple[Floats, float, float]:
    """The answers whose share grows with pi, and their probabilities: yes, or no if p is below q."""
    return (yes, p, q) if p > q else (n - yes, 1 - p, 1 - q)


def last(kept: Callable[[Floats], NDArray[np.bool_]], start: Floats, end: Floats) -> Floats:
    """The last rate on the way from start to end that is kept: the end, or found by halving."""
    whole, stop = kept(end), end
    for _ in range(HALVINGS):
        middle = (start + stop) / 2
        good = kept(middle)
        start, stop = np.where(good, middle, start), np.where(good, stop, middle)
    return np.where(whole, end, start)


def _two_sided(method: str, yes: Floats, n: float, rate: Floats, p: float, q: float) -> Floats:
    if method == "unified":
        return _unified(yes, n, rate, p, q)
    few, many = TAILS[method](yes, n, rate, p, q)
    value: Floats = np.minimum(2 * np.minimum(few, many), 1.0)
    return value


def _wald(yes: Floats, n: float, rate: Floats, p: float, q: float) -> Tails:
    """The distance in standard errors as the answers estimate them."""
    share = yes / n
    return _normal((share - rate) / np.sqrt(np.maximum(share * (1 - share) / n, TINY)))


def _wilson(yes: Floats, n: float, rate: Floats, p: float, q: float) -> Tails:
    """The distance in standard errors as the rate implies them: the score test."""
    return _normal((yes / n - rate) / np.sqrt(np.maximum(rate * (1 - rate) / n, TINY)))


def _likelihood(yes: Floats, n: float, rate: Floats, p: float, q: float) -> Tails:
    """The signed root of the likelihood ratio to the best rate between q and p."""
    best = (yes / n).clip(q, p)
    ratio = 2 * (_loglik(yes, n, best) - _loglik(yes, n, rate))
    return _normal(np.sign(best - rate) * np.sqrt(np.maximum(ratio, 0.0)))


def _loglik(yes: Floats, n: float, rate: Floats) -> Floats:
    value: Floats = scipy.special.xlogy(yes, rate) + scipy.special.xlog1py(n - yes, -rate)
    return value


def _exact(yes: Floats, n: float, rate: Floats, p: float, q: float) -> Tails:
    """The binomial tails, the observed number of yes included."""
    return fewer(yes + 1, n, rate), 1 - fewer(yes, n, rate)


def _mid(yes: Floats, n: float, rate: Floats, p: float, q: float) -> Tails:
    """The binomial tails with half of the probability of the observed number of yes."""
    few = (fewer(yes, n, rate) + fewer(yes + 1, n, rate)) / 2
    return few, 1 - few


def _unified(yes: Floats, n: float, rate: Floats, p: float, q: float) -> Floats:
    """The probability of counts that speak against the rate at least as much as the observed one, beside [q, p].

    What speaks against a rate is how much farther the count is from it than from the nearest rate that is possible at
    all: G. J. Feldman and R. D. Cousins, Unified approach to the classical statistical analysis of small signals,
    Physical Review D 57, 1998. In standard errors of the rate, a count x has distance x^2 within [q, p], and
    x^2 - (x - d)^2 beyond an end at distance d, which is x^2 again at d and grows linearly from there. Tails are
    binomial, with half of the probability of the count that they end at.
    """
    error = np.sqrt(np.maximum(rate * (1 - rate) / n, TINY))
    share = yes / n
    against = np.maximum((share - rate) ** 2 - (share - share.clip(q, p)) ** 2, 0.0) / error**2
    few = rate - error * _reach(against, (rate - q) / error)
    many = rate + error * _reach(against, (p - rate) / error)
    return _mid(n * few, n, rate, p, q)[0] + _mid(n * many, n, rate, p, q)[1]


def _reach(against: Floats, room: Floats) -> Floats:
    """How far a count must lie to speak so much against the rate, with so much room up to the end."""
    root = np.sqrt(against)
    beyond = (against / np.maximum(room, TINY) + room) / 2
    return np.where(root <= room, root, beyond)


def fewer(yes: Floats, n: float, rate: Floats) -> Floats:
    """The binomial probability of fewer yes answers, by the incomplete beta function: for fractions too."""
    inside = np.clip(yes, TINY, np.nextafter(n + 1, 0))
    value = scipy.special.betainc(n + 1 - inside, inside, 1 - rate)
    return np.where(yes <= 0, 0.0, np.where(yes >= n + 1, 1.0, value))


def _normal(distance: Floats) -> Tails:
    return scipy.special.ndtr(distance), scipy.special.ndtr(-distance)


TAILS: dict[str, Callable[[Floats, float, Floats, float, float], Tails]] = {
    "unified": _mid,
    "wilson": _wilson,
    "likelihood": _likelihood,
    "mid-p": _mid,
    "exact": _exact,
    "wald": _wald,
}
METHODS = tuple(TAILS)
DEFAULT = "unified"


def check_method(method: object) -> str:
    if not isinstance(method, str) or method not in TAILS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {method!r:.40}")
    return method


def check_level(level: object) -> float:
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < to_float(level) < 1:
        raise ParameterError(f"level must be a number strictly between 0 and 1, got {level!r:.40}")
    return float(level)
