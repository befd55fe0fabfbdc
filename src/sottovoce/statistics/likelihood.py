"""The likelihood of a histogram, given randomized answers to one question.

People drawn from a population with frequencies f send report r with probability f M[:, r], where M is the channel. So
counts c of reports have the log-likelihood sum c log(f M). It is about the population, concave, and lives inside the
simplex: its maximum needs no clipping, and its drop from there gives tests and intervals that respect the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from sottovoce.core.domain import Domain
from sottovoce.core.errors import DomainError, ParameterError, ReportError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.core.reports import Index, Report, Reports
from sottovoce.estimates import Estimate
from sottovoce.estimates.interval import Interval
from sottovoce.estimates.render import label_text, text_table
from sottovoce.estimates.tally import Tally
from sottovoce.mechanisms import KRR, Hadamard, LocalHash, Mechanism, Projective, Subset, Unary
from sottovoce.statistics import likelihood_plots
from sottovoce.statistics.checks import check_counts, check_distribution, check_level, check_share
from sottovoce.statistics.histograms.mixture import most_likely
from sottovoce.statistics.histograms.supports import check_entries, distinct, supported
from sottovoce.statistics.hypothesis_result import TestResult
from sottovoce.statistics.proportions.proportion import Proportion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from sottovoce.core.domain import Label

TWO_VALUED = (KRR, Unary, Subset, LocalHash, Hadamard, Projective)
"""Here a report is e^epsilon times as likely for the values that it supports as for any other."""


class MatrixDesign(Protocol):
    """Anything with the probability of each answer (columns) under each truth (rows): every survey design has it."""

    @property
    def matrix(self) -> Sequence[Sequence[float | Fraction]]: ...


def likelihood(source: Mechanism | MatrixDesign, data: Reports | Tally[Estimate] | ArrayLike) -> Likelihood:
    """The likelihood of a histogram, from the reports of a mechanism or the answers to a design.

    A mechanism takes its `Reports`, or a `Tally` or counts where these tell how often each report came (k-ary,
    Hadamard, projective); a design with a `matrix` (rows: truths, columns: answers) takes the counts of answers.

    >>> from sottovoce import KRR
    >>> fit = likelihood(KRR(["bus", "car", "bike"], p=0.6), [520, 260, 220])
    >>> fit.frequency.round(4)
    array([0.8 , 0.15, 0.05])
    >>> low, high = fit.interval("bike")
    >>> round(low, 4), round(high, 4)
    (0.0, 0.1159)
    >>> print(fit.test([0.7, 0.2, 0.1]))
    likelihood-ratio test of a histogram: statistic 6.423, df 2, p-value 0.04029
    """
    if isinstance(source, Mechanism):
        if not isinstance(source.domain, Domain):
            raise ParameterError(f"a histogram is that of a mechanism for one of many values, got {source!r}")
        reports, counts = _observed(source, data)
        laws = _laws(source, reports)
        return Likelihood(tuple(source.domain.labels), laws, counts)
    if not hasattr(source, "matrix"):
        raise ParameterError(f"a likelihood needs a mechanism or a design with a matrix, got {source!r:.80}")
    laws = np.array([[float(chance) for chance in row] for row in source.matrix])
    if np.linalg.matrix_rank(laws) < len(laws):
        raise ParameterError("the rows of a design's matrix must be independent, or its truths cannot be told apart")
    counts = check_counts(data, laws.shape[1], "answers")
    if counts[~laws.any(axis=0)].any():
        raise ParameterError("counts must be zero for an answer that has no probability under any truth")
    return Likelihood(tuple(getattr(source, "truths", range(len(laws)))), laws, counts)


@dataclass(frozen=True, eq=False, repr=False)
class Likelihood:
    """What counted reports tell about the frequencies in the population: made by `likelihood`.

    `laws` has a row for each value and a column for each report, each column up to a factor of its own.
    """

    labels: tuple[Label, ...]
    laws: NDArray[np.float64]
    counts: NDArray[np.float64]

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    def loglik(self, frequencies: ArrayLike) -> float:
        """The log-likelihood of a histogram, up to a constant that is the same for all of them."""
        return self._loglik(self.laws, check_distribution(frequencies, len(self.labels)))

    def _loglik(self, laws: NDArray[np.float64], frequencies: NDArray[np.float64]) -> float:
        return float(scipy.special.xlogy(self.counts, frequencies @ laws).sum())

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        """The most likely frequencies. Where the unbiased ones of a k-ary report are a distribution, they are these."""
        return most_likely(self.laws, self.counts)

    @cached_property
    def maximum(self) -> float:
        """The log-likelihood of the most likely frequencies."""
        return self._loglik(self.laws, self.frequency)

    # Tests: how far the likelihood falls from its maximum to the best that a hypothesis allows.

    def deviance(self, frequencies: ArrayLike) -> float:
        """Twice the drop of the log-likelihood from its maximum to a histogram."""
        return max(2 * (self.maximum - self.loglik(frequencies)), 0.0)

    def test(self, frequencies: ArrayLike) -> TestResult:
        """Whether the population may have just these frequencies, by the likelihood ratio."""
        deviance, df = self.deviance(frequencies), len(self.labels) - 1
        return TestResult(
            "likelihood-ratio test of a histogram", deviance, float(scipy.special.chdtrc(df, deviance)), df
        )

    def test_value(self, label: Label, frequency: float) -> TestResult:
        """Whether one value may have this frequency, whatever the others have."""
        deviance = self.profile(label, [frequency])[0]
        return TestResult(
            "likelihood-ratio test of a frequency",
            deviance,
            float(scipy.special.chdtrc(1, deviance)),
            1,
            estimate=float(self.frequency[self._code(label)]),
            interval=self.interval(label),
        )

    def profile(self, label: Label, frequencies: Iterable[float]) -> list[float]:
        """For each frequency that a value might have, the deviance of the best histogram that gives it that."""
        code = self._code(label)
        return [self._profile(code, check_share(frequency, "a frequency")) for frequency in frequencies]

    def _profile(self, code: int, frequency: float) -> float:
        """The other values share what is left, so that mixtures of them with this one are the hypothesis."""
        others = np.delete(self.laws, code, axis=0)
        laws = frequency * self.laws[code] + (1 - frequency) * others
        if not laws[:, self.counts > 0].any(axis=0).all():
            return math.inf  # An answer was given that could not be.
        return max(2 * (self.maximum - self._loglik(laws, most_likely(laws, self.counts))), 0.0)

    def interval(self, label: Label, level: float = 0.95) -> Interval[float]:
        """The frequencies that the test of one value does not reject: the profile likelihood interval, in [0, 1]."""
        code, cut = self._code(label), float(scipy.special.chdtri(1, 1 - check_level(level)))
        best = float(self.frequency[code])

        def end(bound: float) -> float:
            if self._profile(code, bound) <= cut or best == bound:
                return bound
            beyond = 2 * cut  # Deviances may be infinite; a root is looked for among numbers.
            return float(
                scipy.optimize.brentq(lambda f: min(self._profile(code, f), beyond) - cut, best, bound, xtol=1e-10)
            )

        return Interval(end(0.0), end(1.0), level)

    def _code(self, label: Label) -> int:
        if label not in self.labels:
            raise DomainError(f"the likelihood has no value {label!r}")
        return self.labels.index(label)

    # What it looks like.

    def plot(self, label: Label, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """The profile of one value's frequency, cut where its interval at the level ends. Needs matplotlib."""
        return likelihood_plots.profile(self, label, check_level(level), ax)

    def surface(self, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """The likelihood of all histograms of three values, its maximum and the region that a test does not reject."""
        if len(self.labels) != 3:
            raise ParameterError(f"a surface must be that of 3 values, got {len(self.labels)}")
        return likelihood_plots.surface(self, check_level(level), ax)

    def __str__(self) -> str:
        rows = [[label_text(label), f"{f:.4f}"] for label, f in zip(self.labels, self.frequency, strict=True)]
        caption = f"n = {self.n:,}; the most likely frequencies in the population"
        return f"{text_table(['value', 'frequency'], rows)}\n{caption}"

    def __repr__(self) -> str:
        return f"<Likelihood of the frequencies of {len(self.labels)} values; n = {self.n:,}>"


def marginal(estimate: Estimate, label: Label) -> Proportion:
    """One value of an estimate as a proportion of its own, with its likelihood, tests and intervals.

    A report supports the value or does not, so that its support is binomial: what reports tell about one value, if
    what they tell about the others is left aside. It needs the counts only, for any mechanism and any domain.

    >>> from sottovoce import Unary
    >>> m = Unary(["bus", "car", "bike"], epsilon=1.0)
    >>> e = m.tally().add_many(m.randomize_many(["bus"] * 500 + ["car"] * 300 + ["bike"] * 200, seed=1)).estimate()
    >>> f"{marginal(e, 'car').test(0.5, method='likelihood').p_value:.2g}"
    '9e-07'
    """
    if not isinstance(estimate, Estimate):
        raise ParameterError(f"one value must be that of an estimate of frequencies, got {estimate!r:.60}")
    if label not in estimate.domain.labels:
        raise DomainError(f"the estimate has no value {label!r}")
    yes = int(estimate.support[estimate.domain.labels.index(label)])
    return Proportion(
        yes, estimate.n, estimate.p, estimate.q, estimate.epsilon, estimate.simulated, label=label_text(label)
    )


def _observed(
    mechanism: Mechanism, data: Reports | Tally[Estimate] | ArrayLike
) -> tuple[Sequence[Report], NDArray[np.float64]]:
    """The reports that came, each once, and how often."""
    if isinstance(data, Reports | Tally) and data.mechanism != mechanism:
        raise ReportError(f"the data are of {data.mechanism!r}, not of {mechanism!r}")
    if isinstance(data, Reports):
        reports, _, counts = distinct(data)
        return reports, check_counts(counts, len(reports), "reports")
    if not isinstance(mechanism.shape, Index) or mechanism.cells != mechanism.shape.outcomes or mechanism.marks != 1:
        raise ParameterError(f"a tally of {mechanism!r} does not tell which reports came: give the reports")
    return range(mechanism.cells), check_counts(getattr(data, "cells", data), mechanism.cells, "reports")


def _laws(mechanism: Mechanism, reports: Sequence[Report]) -> NDArray[np.float64]:
    """A row for each value, a column for each report: its probability, up to a factor for each column."""
    check_entries(mechanism.domain.size, len(reports))
    if isinstance(mechanism, TWO_VALUED):
        odds = math.exp(mechanism.epsilon if mechanism.p > mechanism.q else -mechanism.epsilon)
        return np.where(supported(mechanism, reports), odds, 1.0)
    channel = mechanism.channel().values()
    return np.array([[float(law.get(report, 0)) for report in reports] for law in channel])
