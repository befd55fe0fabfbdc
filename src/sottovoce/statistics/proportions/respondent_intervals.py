"""Exact intervals about the respondents alone: only the randomizer is uncertain.

If m of the n respondents hold yes, the number of yes answers is the sum of two binomial numbers, of m at p and of n - m
at q. It grows with m if p > q, so that the m that are not rejected form a run, whose ends are found by halving.
"""

from __future__ import annotations

from collections.abc import Callable

from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates.interval import Interval


def exact_interval(yes: int, n: int, p: float, q: float, level: float, mid: bool = False) -> Interval[float]:
    """The shares m/n whose two tails both have at least (1 - level) / 2. With `mid`, ties count by half.

    >>> exact_interval(60, 100, 0.75, 0.25, 0.95)
    Interval(low=0.53, high=0.88, level=0.95)
    >>> exact_interval(30, 100, 1.0, 0.0, 0.95)  # Nobody lies: there is nothing to be uncertain about.
    Interval(low=0.3, high=0.3, level=0.95)
    """
    if p < q:
        yes, p, q = n - yes, 1 - p, 1 - q
    alpha = (1 - level) / 2 * (1 - 1e-12)  # A tail of just that size is kept, however it was rounded.

    def many(holders: int) -> float:
        return _tails(yes, holders, n, p, q, mid)[1]

    def few(holders: int) -> float:
        return _tails(yes, holders, n, p, q, mid)[0]

    low = _first(lambda m: many(m) >= alpha, n)
    high = n - _first(lambda m: few(n - m) >= alpha, n)
    if low > high:  # So few or so many yes that no number of holders explains them: the nearer end.
        low = high = 0 if yes < n * (p + q) / 2 else n
    return Interval(low / n, high / n, level)


def _first(holds: Callable[[int], bool], n: int) -> int:
    """The first number from 0 to n for which a property holds that holds from there on; n if it never does."""
    start, end = 0, n
    while start < end:
        middle = (start + end) // 2
        start, end = (start, middle) if holds(middle) else (middle + 1, end)
    return start


def _tails(yes: int, holders: int, n: int, p: float, q: float, mid: bool) -> tuple[float, float]:
    """The probabilities of so few and of so many yes answers, if so many of the n respondents hold yes.

    Numbers of yes among the holders that lie 12 standard deviations off and more have no probability to speak of.
    """
    binom = scipy.stats.binom
    reach = 12 * np.sqrt(holders * p * (1 - p)) + 40
    own = np.arange(max(int(holders * p - reach), 0), min(int(holders * p + reach), holders) + 1)
    chance = binom.pmf(own, holders, p)
    below = float(chance @ binom.cdf(yes - own - 1, n - holders, q))
    at = float(chance @ binom.pmf(yes - own, n - holders, q))
    tie = at / 2 if mid else at
    return below + tie, 1 - below - at + tie
