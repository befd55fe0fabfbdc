"""The margin of an estimate: half the width of its interval.

One report has an unbiased value with variance V and range R. From n of them and with alpha = 1 - level:

    normal      z sqrt(V / n)
    chebyshev   sqrt(V / (n alpha))              by Chebyshev's inequality: holds for every n
    hoeffding   R sqrt(ln(2 / alpha) / (2 n))    by Hoeffding's inequality, of Chernoff's kind: holds for every n
    wilson      that of Wilson's interval for the share of supporting reports, over |p - q|
    exact       that of the interval of Clopper and Pearson for it, over |p - q|

With a proportion, the last two are expectations over the reports. Without one, they are the largest there can be while
the estimate lies between 0 and 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.statistics.planning.instrument import Instrument, ShareInstrument
from sottovoce.statistics.planning.terms import Terms, upper

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.integer | np.floating]

MAX_DEVIATIONS = 9
"""Counts further from their mean than so many standard deviations weigh less than 1e-18 together."""

COUNTS_PER_DEVIATION = 8
"""So many counts to a standard deviation are as good as all: the sum over a smooth law converges that fast."""


def margin(terms: Terms, asked: Instrument, n: int) -> float:
    """Half the width of the interval from n reports."""
    alpha = terms.alpha(asked)
    if terms.method in ("wilson", "exact") and isinstance(asked, ShareInstrument):
        return _half_width(terms, asked, n, alpha) * asked.spread
    if terms.method == "hoeffding":
        return asked.spread * math.sqrt(math.log(2 / alpha) / (2 * n))
    factor = 1 / math.sqrt(alpha) if terms.method == "chebyshev" else upper(alpha)
    return factor * math.sqrt(asked.variance(terms.proportion, terms.population) / n)


def _half_width(terms: Terms, asked: ShareInstrument, n: int, alpha: float) -> float:
    """Of the interval for the share of supporting reports: the largest, or the expected one at the proportion."""
    half = _wilson if terms.method == "wilson" else _exact
    support = asked.support(terms.proportion)
    if terms.proportion is None:
        return float(half(n, np.array([n * support]), alpha)[0])
    deviation = math.sqrt(n * support * (1 - support))
    reach = MAX_DEVIATIONS * deviation + MAX_DEVIATIONS**2
    first, last = max(0, math.floor(n * support - reach)), min(n, math.ceil(n * support + reach))
    counts = np.arange(first, last + 1, max(1, int(deviation / COUNTS_PER_DEVIATION)))
    weights = scipy.stats.binom.pmf(counts, n, support)
    return float(weights @ half(n, counts, alpha) / weights.sum())


def _wilson(n: int, counts: Counts, alpha: float) -> NDArray[np.float64]:
    square = upper(alpha) ** 2
    half: NDArray[np.float64] = np.sqrt(square * (counts * (1 - counts / n) + square / 4)) / (n + square)
    return half


def _exact(n: int, counts: Counts, alpha: float) -> NDArray[np.float64]:
    low = scipy.special.betaincinv(np.maximum(counts, 1), n - counts + 1, alpha / 2)
    high = scipy.special.betaincinv(counts + 1, np.maximum(n - counts, 1), 1 - alpha / 2)
    half: NDArray[np.float64] = (np.where(counts < n, high, 1) - np.where(counts > 0, low, 0)) / 2
    return half
