"""How much an event that was counted says about epsilon, with no approximation.

If a mechanism is (epsilon, delta)-private, an event of probability p under one answer and r under another has
`p <= e^epsilon r + delta`. So a lower confidence bound of p and an upper one of r bound epsilon from below.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = int | NDArray[np.int64]
    Floats = NDArray[np.float64]

CURVE_PIECES = 512
"""A curve of errors is cut into so many pieces. Each is bounded at its worse end, so more pieces only tighten it."""

MAX_THRESHOLDS = 128
"""Thresholds that are tried from either end of the scores."""

CHOICE_ERROR = 0.05
"""The error of the bounds that a choice among attacks and cuts is made by. It has no part in what is certified."""


def low(hits: Counts, trials: int, error: float | Floats) -> Floats:
    """Clopper and Pearson: a probability is below this with probability at most `error`, for any number of trials.

    >>> float(low(5, 10, 0.025).round(4)), float(high(5, 10, 0.025).round(4)), float(low(0, 10, 0.025))
    (0.1871, 0.8129, 0.0)
    """
    counts = np.asarray(hits)
    bound = load("scipy.special").betaincinv(np.maximum(counts, 1), trials - counts + 1, error)
    return np.where(counts > 0, bound, 0.0)


def high(hits: Counts, trials: int, error: float | Floats) -> Floats:
    """The same from above."""
    return 1 - low(trials - np.asarray(hits), trials, error)


def certify(likely: int, unlikely: int, trials: int, error: float, delta: float = 0.0) -> float:
    """A lower bound of epsilon that is wrong with probability at most `error`.

    An event was counted `likely` times in so many trials under one answer and `unlikely` times under the other. The
    p-values of any two true probabilities are independent, so by Fisher their product is below c with probability at
    most c (1 - ln c). Along the edge of what is not ruled out, one count may be far off where the other is not: epsilon
    is at least the least on that edge.

    >>> round(certify(731, 269, 1000, error=0.01), 3), certify(500, 500, 1000, error=0.01)
    (0.855, 0.0)
    """
    product = math.exp(-float(load("scipy.special").chdtri(4, error)) / 2)
    errors = np.geomspace(product, 1.0, CURVE_PIECES + 1)
    most = high(unlikely, trials, errors[:-1])
    least = low(likely, trials, product / errors[1:])
    return float(_log_ratio(least - delta, most).min().clip(0))


def _log_ratio(least: Floats, most: Floats) -> Floats:
    ratio: Floats = np.log(np.maximum(least, 1e-300) / np.maximum(most, 1e-300))
    return ratio


def thresholds(scores: NDArray[np.float64], cuts: int = MAX_THRESHOLDS) -> NDArray[np.float64]:
    """Scores to cut at: all that differ, or the ranks that halve and halve again towards either end."""
    distinct = np.unique(scores)[1:]
    if distinct.size <= 2 * cuts:
        return distinct
    ranks = np.geomspace(1, scores.size / 2, cuts).astype(int)
    ordered = np.sort(scores)
    return np.unique(np.concatenate([ordered[ranks], ordered[-ranks]]))


def tails(scores: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each cut, how many scores are not below it."""
    passed = np.bincount(np.searchsorted(cuts, scores, side="right"), minlength=cuts.size + 1)
    above: NDArray[np.int64] = passed[::-1].cumsum()[::-1][1:]
    return above


def best_cut(first: NDArray[np.float64], second: NDArray[np.float64], delta: float) -> tuple[float, float, bool]:
    """The cut that tells the scores of two answers apart with the best bound: the bound, the cut, and the side.

    Scores not below the cut speak for the second answer, those below it for the first; the side is True for the former.
    The bound is one for all cuts at once, so that an attack with few of them is preferred to one with many.
    """
    cuts, trials = thresholds(np.concatenate([first, second])), first.size
    if not cuts.size:
        return -math.inf, math.inf, True
    error = CHOICE_ERROR / cuts.size
    alarms, hits = tails(first, cuts), tails(second, cuts)
    above = _log_ratio(low(hits, trials, error) - delta, high(alarms, trials, error))
    below = _log_ratio(low(trials - alarms, trials, error) - delta, high(trials - hits, trials, error))
    side = bool(above.max() >= below.max())
    bounds = above if side else below
    return float(bounds.max()), float(cuts[bounds.argmax()]), side
