"""The power of a test: the chance that it notices an effect of a given size.

The test is two-sided, and raises a false alarm with probability 1 - level. "one" asks whether the proportion is another
than the one assumed, "groups" whether two groups of n people each differ, "waves" whether the same n people answer
otherwise than before, each wave with fresh noise.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.statistics.planning.instrument import Instrument, ShareInstrument
from sottovoce.statistics.planning.terms import Terms, upper

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAW_TEETH = 16
"""An exact power falls and rises with n like a saw: over so many teeth it must be large enough. Eight did in trials."""

MAX_FURTHER_N = 10**5
"""How many larger n are looked at, at most, to see that the power does not fall below the target again."""


def power(terms: Terms, asked: Instrument, n: int, effect: float) -> float:
    """The chance that n reports (n in each group or wave) show an effect."""
    if terms.method == "exact" and isinstance(asked, ShareInstrument):
        return float(_exact(terms, asked, np.array([n]), effect)[0])
    before, after = _variances(terms, asked, effect)
    shift, critical = abs(effect) * math.sqrt(n), upper(terms.alpha(asked)) * math.sqrt(before)
    if not after:
        return float(shift > critical)
    return sum(NormalDist().cdf((way * shift - critical) / math.sqrt(after)) for way in (1, -1))


def has_power(terms: Terms, asked: Instrument, n: int, effect: float, target: float) -> bool:
    """Whether n reports have the power, and a few more have it too."""
    if terms.method != "exact" or not isinstance(asked, ShareInstrument):
        return power(terms, asked, n, effect) >= target
    chance = asked.support(terms.proportion)
    rarer = min(chance, 1 - chance)
    more = math.ceil(min(SAW_TEETH / rarer, MAX_FURTHER_N)) if rarer > 0 else 0
    return bool((_exact(terms, asked, np.arange(n, n + more + 1), effect) >= target).all())


def _variances(terms: Terms, asked: Instrument, effect: float) -> tuple[float, float]:
    """Of one report's part in what is tested: if there is no effect, and if there is."""
    after = None if terms.proportion is None else terms.proportion + effect
    pair = asked.variance(terms.proportion, terms.population), asked.variance(after, terms.population)
    if terms.test == "one":
        return pair
    both = sum(pair) - 2 * _covariance(terms, effect)
    return both, both


def _covariance(terms: Terms, effect: float) -> float:
    """Of the answers of one person in two waves, as far as answers with these proportions can agree."""
    if not terms.correlation or terms.proportion is None:
        return 0.0
    before, after = terms.proportion, terms.proportion + effect
    asked = terms.correlation * math.sqrt(before * (1 - before) * after * (1 - after))
    least, most = max(before + after - 1, 0), min(before, after)
    return min(max(asked, least - before * after), most - before * after)


def _exact(terms: Terms, asked: ShareInstrument, n: NDArray[np.int64], effect: float) -> NDArray[np.float64]:
    """Of the test that rejects where a tail of the binomial law under the null has at most alpha / 2."""
    tail, law = terms.alpha(asked) / 2, scipy.stats.binom
    null, other = asked.support(terms.proportion), asked.support((terms.proportion or 0) + effect)
    high, low = law.isf(tail, n, null), law.ppf(tail, n, null)
    low = np.where(law.cdf(low, n, null) <= tail, low, low - 1)
    chance: NDArray[np.float64] = law.sf(high, n, other) + law.cdf(low, n, other)
    return chance
