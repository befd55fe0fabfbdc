"""Tests of hypotheses about randomized histograms: does one fit, do several agree, are two questions independent?

The estimates of one histogram err together, and a test that forgets how is wrong. Each test here weighs the estimates
by their exact covariance under the hypothesis; for k-ary reports it comes down to Pearson's test on the reports.
All of them are about the population that respondents were drawn from. For one proportion see `Proportion.test`, for
two `difference_test`.

M. Gaboardi, R. Rogers, Local Private Hypothesis Testing: Chi-Square Tests, ICML 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sottovoce.core.domain.columns import Column, to_list
from sottovoce.core.domain.values import is_missing
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.core.reports import Reports
from sottovoce.estimates import Estimate
from sottovoce.estimates.postprocess import nearest_distribution
from sottovoce.estimates.tally import Tally
from sottovoce.mechanisms import KRR
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.checks import check_distribution
from sottovoce.statistics.histograms.covariance import covariance, precision
from sottovoce.statistics.histograms.supports import distinct, supported
from sottovoce.statistics.hypothesis_result import TestResult

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

MIN_EXPECTED = 5
"""Pearson's rule: with fewer expected in a cell, the law of the statistic is only roughly chi-square."""


def fit_test(data: Tally[Estimate] | Reports, frequencies: ArrayLike, population: bool = True) -> TestResult:
    """Whether the population, or with `population=False` the respondents, may have just these frequencies.

    >>> from sottovoce import Unary
    >>> m = Unary(["bus", "car", "bike"], epsilon=1.0)
    >>> reports = m.randomize_many(["bus"] * 500 + ["car"] * 300 + ["bike"] * 200, seed=1)
    >>> print(fit_test(reports, [0.5, 0.3, 0.2]))
    goodness-of-fit test: statistic 4.004, df 2, p-value 0.1351
    >>> fit_test(reports, [0.2, 0.3, 0.5]).rejects()
    True
    """
    tally = _tally(data)
    mechanism, estimate = _pure(tally), tally.estimate()
    expected = check_distribution(frequencies, mechanism.domain.size)
    weights = precision(covariance(mechanism, expected, population))
    away = estimate.unbiased - expected
    rates = float(mechanism.q) + (float(mechanism.p) - float(mechanism.q)) * expected
    statistic = float(tally.n * away @ weights @ away)
    return _chi_square("goodness-of-fit test", statistic, away.size - 1, tally.n * rates.min())


def homogeneity_test(groups: Sequence[Tally[Estimate] | Reports]) -> TestResult:
    """Whether several groups have the same frequencies. Their mechanisms may differ; the values may not.

    >>> from sottovoce import KRR
    >>> m = KRR(["bus", "car", "bike"], epsilon=1.0)
    >>> town = m.tally().add_many([0] * 250 + [1] * 150 + [2] * 100)
    >>> country = m.tally().add_many([0] * 170 + [1] * 180 + [2] * 150)
    >>> print(homogeneity_test([town, country]))
    test of equal histograms: statistic 27.97, df 2, p-value 8.461e-07
    """
    tallies = [_tally(data) for data in groups]
    mechanisms = [_pure(tally) for tally in tallies]
    if len(tallies) < 2 or any(m.domain != mechanisms[0].domain for m in mechanisms):
        raise ParameterError("a test of equal histograms needs two groups or more, all of one domain")
    estimates = [tally.estimate().unbiased for tally in tallies]
    pooled = _pooled(estimates, [tally.n / m.variance for tally, m in zip(tallies, mechanisms, strict=True)])
    weights = [tally.n * precision(covariance(m, pooled)) for tally, m in zip(tallies, mechanisms, strict=True)]
    statistic = _spread([estimate - pooled for estimate in estimates], weights)
    least = min(t.n * float(min(m.p, m.q)) for t, m in zip(tallies, mechanisms, strict=True))
    df = (len(groups) - 1) * (pooled.size - 1)
    return _chi_square("test of equal histograms", statistic, df, least)


def table_test(table: ArrayLike) -> TestResult:
    """Whether the rows and columns of a table of counted reports are independent: Pearson's test.

    If answers are randomized independently of one another, by any mechanism whose report is one of a few, then
    reports are independent if the answers are. So the test on the reports is a test on the answers, at its level;
    noise costs power only. Either side may also be public. Rows and columns of zeros say nothing and are left out.

    >>> print(table_test([[410, 90], [350, 150]]))
    Pearson's test of independence: statistic 19.74, df 1, p-value 8.887e-06
    """
    try:
        counts = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"a table must hold counts in rows and columns, got {table!r:.60}") from None
    if counts.ndim != 2 or not np.isfinite(counts).all() or (counts < 0).any() or (counts != counts.round()).any():
        raise ParameterError(f"a table must hold whole counts in rows and columns, got {table!r:.60}")
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        raise ParameterError("a table must have counts in two rows and two columns at least")
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    df = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    statistic = ((counts - expected) ** 2 / expected).sum()
    return _chi_square("Pearson's test of independence", statistic, df, expected.min())


def independence_test(x: Reports | Column, y: Reports | Column) -> TestResult:
    """Whether two questions to the same people are independent. Each column is of `Reports` or of public labels.

    Reports of a k-ary kind and public labels make a table, for `table_test`. Other reports support several values:
    there the covariance of all pairs of estimates is weighed by its law under independence, which is the product of
    the two covariances.

    >>> from sottovoce import RandomizedResponse, Unary
    >>> sex = ["f", "m"] * 1000
    >>> m = Unary(["bus", "car", "bike"], epsilon=2.0)
    >>> reports = m.randomize_many(["bus", "car", "bike", "car"] * 500, seed=2)
    >>> print(independence_test(sex, reports))
    test of independence: statistic 480.8, df 2, p-value 3.991e-105
    """
    first, second = _question(x), _question(y)
    if len(first.places) != len(second.places):
        rows = f"{len(first.places)} and {len(second.places)}"
        raise ParameterError(f"the two columns must have a row for each person, got {rows} rows")
    ones = np.ones(len(first.places))
    table = scipy.sparse.coo_array((ones, (first.places, second.places)), (len(first.unbiased), len(second.unbiased)))
    if first.categorical and second.categorical:
        return table_test(table.toarray())
    together = first.unbiased.T @ (table @ second.unbiased) / ones.size - np.outer(first.mean, second.mean)
    statistic = ones.size * np.trace(first.weights @ together @ second.weights @ together.T)
    df = (first.mean.size - 1) * (second.mean.size - 1)
    return _chi_square("test of independence", statistic, df, min(first.least, second.least))


class _Question(NamedTuple):
    """One question to many people: the different reports, as unbiased indicators of each value, and who sent which."""

    places: NDArray[np.int64]
    unbiased: Floats
    mean: Floats
    weights: Floats
    categorical: bool
    least: float


def _question(data: Reports | Column) -> _Question:
    if not isinstance(data, Reports):
        places = _public(data)
        shares = np.bincount(places) / places.size
        weights = precision(np.diag(shares) - np.outer(shares, shares))
        return _Question(places, np.eye(shares.size), shares, weights, True, places.size * shares.min())
    mechanism = _pure(data)
    reports, places, counts = distinct(data)
    p, q = float(mechanism.p), float(mechanism.q)
    unbiased: Floats = (supported(mechanism, reports).T.astype(np.float64) - q) / (p - q)
    mean = counts @ unbiased / places.size
    weights = precision(covariance(mechanism, nearest_distribution(mean)))
    return _Question(places, unbiased, mean, weights, isinstance(mechanism, KRR), places.size * min(p, q))


def _public(data: Column) -> NDArray[np.int64]:
    """A column of public labels, as numbers."""
    labels = to_list(data)
    try:
        codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    except TypeError:
        raise ParameterError("a public label must be text, a number or a truth value, got something else") from None
    if any(map(is_missing, codes)):
        raise ParameterError("a column of public labels must not have missing ones: leave those people out, or name it")
    if len(codes) < 2:
        raise ParameterError(f"a column must hold two different labels at least, got {len(codes)}")
    return np.array([codes[label] for label in labels])


def _pooled(estimates: list[Floats], weights: list[float]) -> Floats:
    """One histogram from several estimates of it, good enough to tell their errors."""
    return nearest_distribution(np.average(estimates, axis=0, weights=weights))


def _spread(away: list[Floats], weights: list[Floats]) -> float:
    """How far the estimates lie from the one histogram that is nearest to all, each by its own precision."""
    total, size = np.sum(weights, axis=0), away[0].size
    free = scipy.linalg.null_space(np.ones((1, size)))  # Ways in which a histogram may change: its sum stays.
    pull = free.T @ np.sum([w @ a for w, a in zip(weights, away, strict=True)], axis=0)
    common = free @ np.linalg.solve(free.T @ total @ free, pull)
    return float(sum((a - common) @ w @ (a - common) for w, a in zip(weights, away, strict=True)))


def _chi_square(name: str, statistic: float, df: int, expected: float) -> TestResult:
    note = f"roughly: fewer than {MIN_EXPECTED} reports of a kind are expected" if expected < MIN_EXPECTED else ""
    return TestResult(name, float(statistic), float(scipy.special.chdtrc(df, statistic)), df, note=note)


def _tally(data: Tally[Estimate] | Reports) -> Tally[Estimate]:
    if isinstance(data, Reports):
        return Tally(_pure(data)).add_many(data)
    if not isinstance(data, Tally):
        raise ParameterError(f"the test needs a tally or reports, which know their mechanism, got {data!r:.60}")
    if not data.n:
        raise ParameterError("the test needs at least one report, got none")
    return data


def _pure(data: Tally[Estimate] | Reports) -> Pure:
    if not isinstance(data.mechanism, Pure):
        raise ParameterError(f"the test is for mechanisms that estimate frequencies, got {data.mechanism!r:.80}")
    return data.mechanism
