"""Intervals that may be watched live: they cover the truth at every peek at once, however many there are.

An interval for a fixed n covers at its level if looked at once. Who looks after every answer, and stops when the result
pleases, will sooner or later see it miss. A confidence sequence is wider, and its promise is about all n together.

The one here inverts a test martingale. Mix the likelihood of the answers over a beta distribution of the share of yes
answers, and divide by the likelihood under the true share: the ratio starts at 1, is expected to stay there, and by
Ville's inequality ever reaches 1/alpha with probability at most alpha. The interval holds all shares whose ratio has
not got there. The beta distribution has the mean and the variance of an arcsine law between q and p, where the share
of yes answers must be: so the sequence is narrow where it matters, also for rare values, and valid whatever is true.

H. Robbins, Statistical methods related to the law of the iterated logarithm, Annals of Mathematical Statistics 1970.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates import Estimate, Shares
from sottovoce.estimates.interval import Interval
from sottovoce.statistics.checks import check_level, check_share, check_whole
from sottovoce.statistics.search import last_kept
from sottovoce.statistics.sequences.plot import draw

MAX_ANSWERS = 2**53

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = float | NDArray[np.floating | np.integer | np.bool_]


def log_evidence(yes: Counts, n: Counts, rate: float | Floats, p: float, q: float) -> Floats:
    """The logarithm of the mixture's likelihood over that of a share of yes answers. All numbers may be arrays.

    Its exponential is an e-value: large numbers speak against the share, and 1/alpha is reached by chance with
    probability at most alpha, ever.

    >>> round(float(log_evidence(60, 100, 0.5, 0.75, 0.25)), 3)
    0.501
    """
    evidence: Floats = _log_mixed(yes, n, p, q) - _log_likelihood(yes, n, rate)
    return evidence


def _log_mixed(yes: Counts, n: Counts, p: float, q: float) -> Floats:
    """The logarithm of the likelihood, averaged over the mixture of shares."""
    a, b = _mixture(p, q)
    mixed: Floats = scipy.special.betaln(a + yes, b + n - yes) - scipy.special.betaln(a, b)
    return mixed


def _log_likelihood(yes: Counts, n: Counts, rate: float | Floats) -> Floats:
    likelihood: Floats = scipy.special.xlogy(yes, rate) + scipy.special.xlog1py(n - yes, -rate)
    return likelihood


def _mixture(p: float, q: float) -> tuple[float, float]:
    """The beta distribution with the mean and variance of the arcsine law between q and p."""
    mean, variance = (p + q) / 2, (p - q) ** 2 / 8
    total = mean * (1 - mean) / variance - 1
    return mean * total, (1 - mean) * total


def anytime_interval(
    yes: Counts, n: Counts, p: float, q: float, level: float = 0.95, comparisons: int = 1
) -> Interval[Floats]:
    """The proportions on either side of the estimate where the evidence reaches 1/alpha, so that all comparisons hold
    at once at the level: alpha is (1 - level) / comparisons. Numbers of yes answers and of all answers may be arrays.
    """
    least = _log_mixed(yes, n, p, q) + np.log((1 - check_level(level)) / comparisons)
    share = np.asarray(np.divide(yes, np.maximum(n, 1)), dtype=np.float64)

    def kept(rate: Floats) -> NDArray[np.bool_]:
        enough: NDArray[np.bool_] = _log_likelihood(yes, n, rate) > least
        return enough

    ends = [(last_kept(kept, share, np.full_like(share, end)) - q) / (p - q) for end in (0.0, 1.0)]
    return Interval(np.minimum(*ends), np.maximum(*ends), level)


def anytime(estimate: Estimate | Shares, level: float = 0.95, simultaneous: bool = False) -> Interval[Floats]:
    """Intervals about the population for all values of an estimate, which hold at every peek while reports come in.

    Simultaneous ones hold for all values of the domain and at every peek at once (Bonferroni). As those of an estimate,
    they surround the unbiased frequencies and may reach beyond 0 and 1. Of shares, each has the reports of those who
    were asked about it.

    >>> from sottovoce import KRR
    >>> e = KRR(3, p=0.6).tally().add_many([0] * 52 + [1] * 26 + [2] * 22).estimate()
    >>> low, high = anytime(e)
    >>> low.round(3), high.round(3)
    (array([ 0.431, -0.139, -0.222]), array([1.163, 0.509, 0.41 ]))
    """
    if not isinstance(estimate, Estimate | Shares):
        raise ParameterError(f"anytime needs an estimate of frequencies, got {estimate!r:.60}")
    p, q, comparisons = float(estimate.p), float(estimate.q), estimate.domain.size if simultaneous else 1
    if isinstance(estimate, Shares):
        return anytime_interval(estimate.yes, estimate.asked, p, q, level, comparisons)
    return anytime_interval(estimate._ordered(estimate.support), estimate.n, p, q, level, comparisons)


class ConfidenceSequence:
    """A proportion watched live: count answers with `update`, look as often as you like, stop when you like.

    The promise is about the population that respondents are drawn from, one after the other. With `running`, an
    interval also keeps to all those before it: never wider, and just as valid. Should they contradict one another, none
    is left, and its low end lies above its high one: the answers do not come from one population by this design.

    >>> watch = ConfidenceSequence(p=0.75, q=0.25)
    >>> for yes in (62, 55, 60, 58):
    ...     low, high = watch.update(yes, 100)
    ...     print(f"n = {watch.n}: {low:.3f} .. {high:.3f}")
    n = 100: 0.439 .. 1.000
    n = 200: 0.451 .. 0.878
    n = 300: 0.498 .. 0.854
    n = 400: 0.515 .. 0.829
    """

    def __init__(self, p: float | Fraction, q: float | Fraction, level: float = 0.95, running: bool = False) -> None:
        self.p, self.q, self.level = check_share(p, "p"), check_share(q, "q"), check_level(level)
        if self.p == self.q:
            raise ParameterError(f"p must differ from q, or answers say nothing, got {self.p:g} twice")
        self.running = running
        self.yes = self.n = 0
        self.peeks: list[tuple[int, int, float, float]] = []
        """For each update: n, how many yes, and the ends of the interval."""

    def update(self, yes: int, n: int) -> Interval[float]:
        """Count n more answers, with so many yes among them; the interval for all answers up to now."""
        yes, n = _check_answers(yes, n)
        self.yes, self.n = self.yes + yes, self.n + n
        low, high = self.interval(self.yes, self.n)
        if self.running and self.peeks:
            low, high = max(low, self.peeks[-1][2]), min(high, self.peeks[-1][3])
        self.peeks.append((self.n, self.yes, low, high))
        return Interval(low, high, self.level)

    def interval(self, yes: int, n: int) -> Interval[float]:
        """The interval for so many yes among n answers in all, cut to [0, 1]; nothing is counted."""
        yes, n = _check_answers(yes, n)
        low, high = anytime_interval(yes, n, self.p, self.q, self.level)
        return Interval(float(low.clip(0, 1)), float(high.clip(0, 1)), self.level)

    def p_value(self, proportion: float) -> float:
        """An anytime-valid p-value of a proportion, from all peeks up to now: the inverse of the largest evidence."""
        rate = self.q + (self.p - self.q) * check_share(proportion, "proportion")
        seen = [float(log_evidence(yes, n, rate, self.p, self.q)) for n, yes, _, _ in self.peeks]
        return float(np.exp(-max([0.0, *seen])))

    def plot(self, truth: float | None = None, ax: Axes | None = None) -> Axes:
        """The interval at each peek, and beside it the one for a fixed n. Needs matplotlib; returns the axes."""
        return draw(self, truth, ax)

    def __repr__(self) -> str:
        return f"<ConfidenceSequence at {100 * self.level:.12g}%; {self.yes:,} yes of n = {self.n:,}>"


def _check_answers(yes: object, n: object) -> tuple[int, int]:
    answers, counted = check_whole(n, "n"), check_whole(yes, "yes")
    if answers > MAX_ANSWERS:
        raise ParameterError(f"n must be at most 2^53, got {answers!r:.40}")
    if counted > answers:
        raise ParameterError(f"yes must be at most n, got {counted} of {answers}")
    return counted, answers
