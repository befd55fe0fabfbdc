"""Tests of hypotheses on randomized data: their level and power by simulation, and the covariances they rest on."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from numpy.typing import NDArray
from scipy.special import chdtrc
from statsmodels.stats.proportion import test_proportions_2indep as peer_test

import sottovoce as sv
from sottovoce.core.errors import ParameterError
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.detectable_effect import detectable, detectable_change
from sottovoce.statistics.histograms.covariance import _both, covariance, precision
from sottovoce.statistics.histograms.hypothesis_tests import fit_test, homogeneity_test, independence_test, table_test
from sottovoce.statistics.histograms.max_error import max_error
from sottovoce.statistics.proportions.difference import YesCounts, _base, difference_interval, difference_test, distance
from sottovoce.statistics.proportions.proportion import Proportion

Floats = NDArray[np.float64]

SMALL: list[Pure] = [
    sv.RandomizedResponse(1.0),
    sv.KRR(5, 1.0),
    sv.KRR(5, p=0.1),
    sv.Unary(2, 1.0),
    sv.Unary(7, 1.0),
    sv.Subset(2, 1.0),
    sv.Subset(6, 0.7),
    sv.LocalHash(2, 1.0),
    sv.LocalHash(9, 2.0),
    sv.LocalHash(20, buckets=8, p=0.5),
    sv.LocalHash(25, buckets=5, p=0.5),
    sv.Hadamard(7, 1.0),
    sv.Hadamard(12, 1.0),
    sv.Projective(2, 1.0),
    sv.Projective(5, 1.0),
    sv.Projective(21, order=4, p=0.5),
    sv.Projective(30, order=3, p=0.5),
]
COIN: dict[str, Any] = {"p": Fraction(3, 4), "q": Fraction(1, 4), "epsilon": 1.0986122886681098}


def some_histogram(size: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.ones(size))


# The covariance.


@pytest.mark.parametrize("m", SMALL, ids=repr)
def test_covariances_are_those_of_the_channel(m: Pure) -> None:
    f = some_histogram(m.domain.size)
    listed = _both.dispatch(object)(m, f)
    derived = _both(m, f)
    for both in (listed, derived):
        np.fill_diagonal(both, 0)
    np.testing.assert_allclose(derived, listed, atol=1e-14)


def test_a_line_holds_more_than_two_values() -> None:
    """The broken twin: without the other values of a line, the covariance of local hashing is wrong."""
    m = sv.LocalHash(20, buckets=8, p=0.5)
    f, p = some_histogram(20), float(m.p)
    pairs = np.add.outer(f, f)
    naive = p / 8 * pairs + (1 - pairs) / 64
    assert np.abs(naive - _both(m, f))[~np.eye(20, dtype=bool)].max() > 1e-3


@pytest.mark.parametrize("m", SMALL, ids=repr)
def test_the_diagonal_is_the_variance(m: Pure) -> None:
    f = some_histogram(m.domain.size)
    noise, all_of_it = covariance(m, f, population=False), covariance(m, f)
    p, q = float(m.p), float(m.q)
    np.testing.assert_allclose(np.diag(noise), (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2)
    np.testing.assert_allclose(all_of_it - noise, np.diag(f) - np.outer(f, f), atol=1e-12)
    assert np.linalg.eigvalsh(noise).min() > -1e-12


@pytest.mark.parametrize("m", SMALL, ids=repr)
def test_the_precision_knows_that_frequencies_add_up_to_one(m: Pure) -> None:
    """It must not grow with errors of the sum, and within the simplex it is that of the best unbiased combination."""
    sigma = covariance(m, some_histogram(m.domain.size))
    weights = precision(sigma)
    ones = np.ones(m.domain.size)
    assert abs(ones @ sigma @ weights @ sigma @ ones) < 1e-9
    assert np.linalg.matrix_rank(weights, tol=1e-9 * np.abs(weights).max(), hermitian=True) == m.domain.size - 1


def test_too_large_and_too_odd_for_a_covariance() -> None:
    with pytest.raises(ParameterError, match="at most 1,024 values"):
        covariance(sv.Hadamard(2000, 1.0), np.full(2000, 1 / 2000))


# Goodness of fit.


def histograms(m: Pure, f: Floats, n: int, runs: int, seed: int, population: bool = True) -> Floats:
    """Unbiased estimates of many surveys of n people each."""
    rng = np.random.default_rng(seed)
    if population:
        values = rng.choice(m.domain.size, size=n * runs, p=f)
    else:
        values = np.tile(np.repeat(np.arange(m.domain.size), np.rint(f * n).astype(int)), runs)
    data = m.randomize_many(values, seed=seed).data
    support = np.array([m._support(m._count(data[at : at + n])) for at in range(0, n * runs, n)])
    unbiased: Floats = (support / n - float(m.q)) / float(m.p - m.q)
    return unbiased


def statistics(m: Pure, f: Floats, estimates: Floats, n: int, population: bool = True) -> Floats:
    weights = precision(covariance(m, f, population))
    away = estimates - f
    found: Floats = n * np.einsum("ij,jk,ik->i", away, weights, away)
    return found


FITTED: list[Pure] = [
    sv.KRR(8, 1.0),
    sv.Unary(8, 1.0),
    sv.Subset(8, 1.0),
    sv.LocalHash(16, 2.0),
    sv.Projective(30, 2.0),
]


def test_on_k_ary_reports_it_is_pearsons_test() -> None:
    m, f = sv.KRR(4, 1.0), np.array([0.1, 0.2, 0.3, 0.4])
    tally = m.tally().add_many([0] * 180 + [1] * 240 + [2] * 260 + [3] * 320)
    expected = 1000 * (float(m.q) + float(m.p - m.q) * f)
    peer = scipy.stats.chisquare(tally.cells, expected)
    mine = fit_test(tally, f)
    assert mine.statistic == pytest.approx(peer.statistic) and mine.p_value == pytest.approx(peer.pvalue)
    assert mine.df == 3


def test_the_statistic_is_that_of_the_simulations() -> None:
    m = sv.LocalHash(16, 2.0)
    f = some_histogram(16)
    reports = m.randomize_many(np.random.default_rng(1).choice(16, 500, p=f), seed=1)
    estimate = m.tally().add_many(reports).estimate().unbiased
    assert fit_test(reports, f).statistic == pytest.approx(statistics(m, f, estimate[None], 500)[0])


def level(m: Pure, runs: int, population: bool) -> float:
    f, n = np.array([0.7] + [0.3 / (m.domain.size - 1)] * (m.domain.size - 1)), 400
    if not population:
        f = np.rint(f * n)
        f[0] += n - f.sum()
        f /= n
    found = statistics(m, f, histograms(m, f, n, runs, seed=7, population=population), n, population)
    return float((chdtrc(m.domain.size - 1, found) <= 0.05).mean())


@pytest.mark.parametrize("m", FITTED, ids=repr)
def test_a_true_histogram_is_rejected_at_the_level(m: Pure) -> None:
    """1,500 runs at n = 400: a right test strays by 0.02 (3.5 standard errors) in one of 2,000 trials."""
    assert abs(level(m, 1500, population=True) - 0.05) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("population", [True, False])
@pytest.mark.parametrize("m", FITTED, ids=repr)
def test_a_true_histogram_is_rejected_at_the_level_in_many_runs(m: Pure, population: bool) -> None:
    """10,000 runs: a right test strays by 0.009 (4 standard errors) in one of 16,000 trials."""
    assert abs(level(m, 10_000, population) - 0.05) < 0.009


def test_a_test_that_forgets_the_noise_always_rejects() -> None:
    """The broken twin: Pearson's test on estimated counts, as if nobody had randomized them."""
    m, f, n = sv.KRR(4, 1.0), np.array([0.4, 0.3, 0.2, 0.1]), 1000
    estimates = histograms(m, f, n, 500, seed=3)
    naive = n * ((estimates - f) ** 2 / f).sum(axis=1)
    assert (chdtrc(3, naive) <= 0.05).mean() > 0.6


def test_a_test_that_forgets_the_covariance_rejects_too_often() -> None:
    """The other broken twin: errors taken for independent. 1,500 runs; right is 0.05, this one is near 0.085."""
    m, n = sv.Projective(30, 2.0), 400
    f = np.array([0.7] + [0.3 / 29] * 29)
    away = histograms(m, f, n, 1500, seed=7) - f
    naive = n * (away**2 / np.diag(covariance(m, f))).sum(axis=1)
    assert (chdtrc(30, naive) <= 0.05).mean() > 0.07


def test_a_false_histogram_is_found() -> None:
    """Power by simulation beside what the noncentral chi-square law says: 1,500 runs, 4 standard errors are 0.05."""
    m, n = sv.Unary(6, 1.5), 1500
    null, true = np.full(6, 1 / 6), np.array([0.26, 0.18, 0.14, 0.14, 0.14, 0.14])
    found = (chdtrc(5, statistics(m, null, histograms(m, true, n, 1500, seed=5), n)) <= 0.05).mean()
    shift = n * (true - null) @ precision(covariance(m, null)) @ (true - null)
    assert abs(found - scipy.stats.ncx2.sf(scipy.stats.chi2.isf(0.05, 5), 5, shift)) < 0.05
    assert 0.3 < found < 0.95


def test_what_fit_test_refuses() -> None:
    m = sv.KRR(3, 1.0)
    tally = m.tally().add_many([0, 1, 2])
    for bad in ([0.5, 0.5], [0.5, 0.6, -0.1], [0.2, 0.2, 0.2], [math.nan, 0.5, 0.5], ["a", "b", "c"], None):
        with pytest.raises(ParameterError, match="frequencies must"):
            fit_test(tally, bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="tally or reports"):
        fit_test(tally.estimate(), [0.2, 0.3, 0.5])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="at least one report"):
        fit_test(m.tally(), [0.2, 0.3, 0.5])
    mean = sv.Mean(0, 1, 1.0)
    with pytest.raises(ParameterError, match="estimate frequencies"):
        fit_test(mean.tally().add_many(mean.randomize_many([0.5], seed=1)), [0.5, 0.5])  # type: ignore[arg-type]
    assert "roughly" in fit_test(tally, [0.2, 0.3, 0.5]).note


# Several histograms, and two questions.


def test_equal_histograms_of_k_ary_reports_are_pearsons_test() -> None:
    m = sv.KRR(4, 1.0)
    groups = [m.tally().add_many(m.randomize_many(np.arange(n) % 4, seed=n)) for n in (400, 600, 1000)]
    peer = scipy.stats.chi2_contingency([group.cells for group in groups])
    mine = homogeneity_test(groups)
    assert mine.statistic == pytest.approx(peer.statistic) and mine.df == peer.dof == 6


def pairs_of_groups(second: Floats, runs: int) -> Floats:
    """P-values of a group asked by k-ary response and one asked by unary encoding with another epsilon."""
    one, other, f = sv.KRR(4, 2.0), sv.Unary(4, 1.0), np.array([0.4, 0.3, 0.2, 0.1])
    rng, found = np.random.default_rng(9), []
    for seed in range(runs):
        groups: list[tuple[Pure, Floats, int]] = [(one, f, 300), (other, second, 500)]
        reports = [m.randomize_many(rng.choice(4, n, p=g), seed=seed) for m, g, n in groups]
        found.append(homogeneity_test(reports).p_value)
    return np.array(found)


def test_groups_may_be_asked_in_different_ways() -> None:
    """400 runs: a right level strays by 0.044 (4 standard errors) in one of 16,000 trials."""
    same = pairs_of_groups(np.array([0.4, 0.3, 0.2, 0.1]), 400)
    assert abs((same <= 0.05).mean() - 0.05) < 0.044
    assert (pairs_of_groups(np.array([0.1, 0.2, 0.3, 0.4]), 100) <= 0.05).mean() > 0.9


def test_tables_are_pearsons_test() -> None:
    table = [[30, 10, 0, 20], [20, 25, 0, 15], [0, 0, 0, 0]]
    peer = scipy.stats.chi2_contingency([[30, 10, 20], [20, 25, 15]], correction=False)
    mine = table_test(table)
    assert mine.statistic == pytest.approx(peer.statistic) and mine.p_value == pytest.approx(peer.pvalue)
    for bad in ([1, 2, 3], [[1, 2]], [[1, -1], [2, 3]], [[1.5, 1], [2, 3]], [["a"]], [[math.nan, 1], [1, 1]], None):
        with pytest.raises(ParameterError):
            table_test(bad)  # type: ignore[arg-type]


COLUMNS: dict[str, tuple[Any, Any]] = {
    "public, k-ary": (None, sv.KRR(3, 1.0)),
    "k-ary, k-ary": (sv.KRR(3, 2.0), sv.KRR(3, 1.0)),
    "public, unary": (None, sv.Unary(3, 1.0)),
    "unary, local hashing": (sv.Unary(3, 2.0), sv.LocalHash(3, 2.0)),
    "k-ary, subset": (sv.KRR(3, 2.0), sv.Subset(3, 2.0)),
}


def independent_p_values(first: Any, second: Any, agree: float, runs: int, n: int = 300) -> Floats:
    """P-values for two answers of which the second is the first with probability `agree`, otherwise drawn afresh."""
    rng, found = np.random.default_rng(4), []
    for seed in range(runs):
        x, y = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.choice(3, n, p=[0.5, 0.3, 0.2])
        y = np.where(rng.random(n) < agree, x, y)
        sides = [
            v if m is None else m.randomize_many(v, seed=2 * seed + at)
            for at, (m, v) in enumerate(((first, x), (second, y)))
        ]
        found.append(independence_test(*sides).p_value)
    return np.array(found)


@pytest.mark.parametrize("name", COLUMNS)
def test_independent_questions_are_told_apart_at_the_level(name: str) -> None:
    """500 runs: a right level strays by 0.039 (4 standard errors) in one of 16,000 trials."""
    assert abs((independent_p_values(*COLUMNS[name], 0.0, 500) <= 0.05).mean() - 0.05) < 0.039


@pytest.mark.slow
@pytest.mark.parametrize("name", ["k-ary, k-ary", "public, unary", "unary, local hashing"])
def test_independent_questions_in_many_runs(name: str) -> None:
    """10,000 runs: a right level strays by 0.009 (4 standard errors) in one of 16,000 trials."""
    assert abs((independent_p_values(*COLUMNS[name], 0.0, 10_000) <= 0.05).mean() - 0.05) < 0.009


def test_noise_costs_power_only() -> None:
    found = [(independent_p_values(sv.KRR(3, e), sv.KRR(3, e), 0.6, 60) <= 0.05).mean() for e in (0.5, 1.5, 3.0)]
    assert found[0] < found[1] < found[2] and found[2] > 0.95


def test_what_independence_test_refuses() -> None:
    reports = sv.KRR(3, 1.0).randomize_many([0, 1, 2], seed=1)
    with pytest.raises(ParameterError, match="a row for each person"):
        independence_test(["a", "b"], reports)
    with pytest.raises(ParameterError, match="two different labels"):
        independence_test(["a"] * 3, reports)
    with pytest.raises(ParameterError, match="missing"):
        independence_test(["a", "b", math.nan], reports)
    for bad in ("aab", None, [["a"], ["b"], ["c"]], np.zeros((3, 2))):
        with pytest.raises(sv.SottovoceError):
            independence_test(bad, reports)  # type: ignore[arg-type]


# Two proportions.

DESIGNS = [((0.75, 0.25), (0.75, 0.25)), ((0.75, 0.25), (0.9, 0.4)), ((0.2, 0.8), (0.6, 0.4)), ((1.0, 0.0), (0.8, 0.2))]


def two_groups(
    designs: Any, shares: tuple[float, float], sizes: tuple[int, int], runs: int
) -> tuple[YesCounts, YesCounts]:
    rng = np.random.default_rng(8)
    first, second = (
        YesCounts(rng.binomial(n, q + (p - q) * share, runs), n, p, q)
        for (p, q), share, n in zip(designs, shares, sizes, strict=True)
    )
    return first, second


def any_group(rng: np.random.Generator, groups: int, direct: bool) -> YesCounts:
    """Groups of one person and of a million, with no yes, all yes and any share of them, by any design."""
    n = np.floor(10 ** (6 * rng.random(groups))) + 1
    yes = np.floor(n * rng.choice([0.0, 1.0, 0.01, 0.99, *rng.random(6)], groups))
    q, p = np.sort(rng.random((2, groups)), axis=0)
    return YesCounts(yes, n, 1.0, 0.0) if direct else YesCounts(yes, n, np.minimum(p + 1e-3, 1.0), q * (1 - 1e-3))


@pytest.mark.parametrize("direct", [(False, False), (True, False), (False, True), (True, True)], ids=str)
def test_the_most_likely_pair_is_where_halving_finds_it(direct: tuple[bool, bool]) -> None:
    rng = np.random.default_rng(5)
    first, second = (any_group(rng, 20_000, asked) for asked in direct)
    delta = rng.choice([-1.0, 0.0, 1.0, *rng.uniform(-1, 1, 40)], 20_000)
    low, high = np.maximum(0.0, -delta), np.minimum(1.0, 1 - delta)
    for _ in range(60):
        middle = (low + high) / 2
        rising = first.score(middle) + second.score(middle + delta) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    assert np.abs(_base(first, second, delta) - low).max() < 1e-7


@pytest.mark.parametrize("share", [0.03, 0.3])
@pytest.mark.parametrize("designs", DESIGNS, ids=str)
def test_equal_proportions_are_told_apart_at_the_level(designs: Any, share: float) -> None:
    """10,000 runs, 4 standard errors are 0.009; rare yes answers asked openly are rejected less often than that."""
    groups = two_groups(designs, (share, share), (300, 500), 10_000)
    rejected = (np.abs(distance(*groups, 0.0)) >= 1.959964).mean()
    assert rejected < 0.059
    assert rejected > 0.041 or share == 0.03


@pytest.mark.parametrize("designs", DESIGNS, ids=str)
def test_intervals_of_differences_cover(designs: Any) -> None:
    """2,000 runs, 4 standard errors are 0.02."""
    groups = two_groups(designs, (0.1, 0.35), (300, 500), 2000)
    low, high = difference_interval(*groups, 0.95)
    assert abs(((low <= 0.25) & (high >= 0.25)).mean() - 0.95) < 0.02
    assert (low >= -1).all() and (high <= 1).all() and (low <= high).all()


def test_shares_of_yes_from_different_designs_do_not_compare() -> None:
    """The broken twin: answers compared as they are, though the groups were asked in different ways."""
    first, second = two_groups(DESIGNS[1], (0.3, 0.3), (300, 500), 1000)
    raw = distance(first._replace(p=1.0, q=0.0), second._replace(p=1.0, q=0.0), 0.0)
    assert (np.abs(raw) > 1.96).mean() > 0.9


def test_without_noise_it_is_the_score_test_of_others() -> None:
    mine = difference_test(Proportion(30, 100, p=Fraction(1), q=Fraction(0), epsilon=math.inf),
                           Proportion(60, 150, p=Fraction(1), q=Fraction(0), epsilon=math.inf))  # fmt: skip
    peer = peer_test(60, 150, 30, 100, method="score", compare="diff", correction=False)
    assert mine.statistic == pytest.approx(peer.statistic, rel=1e-6)
    assert mine.p_value == pytest.approx(peer.pvalue, rel=1e-5)


@pytest.mark.parametrize("delta", [-0.3, 0.0, 0.2])
def test_variances_are_those_of_the_most_likely_proportions(delta: float) -> None:
    """The two proportions that explain the answers best among all that differ by delta, by another optimizer."""
    first, second = YesCounts(300, 700, 0.75, 0.25), YesCounts(420, 900, 0.9, 0.2)

    def against(share: float) -> float:
        rates = [(group, group.rate(x)) for group, x in ((first, share), (second, share + delta))]
        return -sum(float(g.yes * np.log(rate) + (g.n - g.yes) * np.log(1 - rate)) for g, rate in rates)

    bounds = (max(0.0, -delta), min(1.0, 1 - delta))
    best = scipy.optimize.minimize_scalar(against, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x
    error = math.sqrt(first.variance(best) + second.variance(best + delta))
    z = (second.estimate - first.estimate - delta) / error
    assert float(distance(first, second, delta)) == pytest.approx(z, rel=1e-6)


def test_the_interval_holds_what_is_not_rejected() -> None:
    first, second = Proportion(410, 1000, **COIN), Proportion(460, 1000, **COIN)
    interval = difference_test(first, second).interval
    assert interval is not None
    for end in interval:
        assert difference_test(first, second, null=end).p_value == pytest.approx(0.05, abs=1e-6)
    one_sided = [difference_test(first, second, alternative=side).p_value for side in ("less", "greater")]
    assert sum(one_sided) == pytest.approx(1) and one_sided[1] < 0.05
    assert difference_test(second, first).estimate == pytest.approx(-0.1)


def test_people_who_answer_twice() -> None:
    """A panel in which one in ten changes its mind, to either side: the correlation must be told to the test.

    2,000 runs: a right level strays by 0.02 (4 standard errors) in one of 16,000 trials. Without the correlation the
    test is timid, for it takes the errors that cancel for ones that add up.
    """
    rng, n, runs, share = np.random.default_rng(6), 400, 2000, 0.3
    truth = rng.random((runs, n)) < share
    changed = np.where(truth, rng.random((runs, n)) < 0.07, rng.random((runs, n)) < 0.03)
    noise = rng.random((2, runs, n)) < 0.05
    before, after = truth ^ noise[0], truth ^ changed ^ noise[1]
    groups = YesCounts(before.sum(axis=1), n, 0.95, 0.05), YesCounts(after.sum(axis=1), n, 0.95, 0.05)
    seen = np.array([np.corrcoef(b, a)[0, 1] for b, a in zip(before, after, strict=True)])
    told = np.abs(distance(*groups, 0.0, seen)) >= 1.959964
    untold = np.abs(distance(*groups, 0.0)) >= 1.959964
    assert abs(told.mean() - 0.05) < 0.02
    assert untold.mean() < 0.005


def test_what_difference_test_refuses() -> None:
    e = Proportion(41, 100, **COIN)
    for arguments in ({"correlation": 1}, {"correlation": 2}, {"null": 3}, {"null": math.nan}, {"level": 1.0},
                      {"alternative": "up"}, {"correlation": True}, {"level": "x"}):  # fmt: skip
        with pytest.raises(ParameterError):
            difference_test(e, e, **arguments)
    with pytest.raises(ParameterError, match="second proportion"):
        difference_test(e, 0.3)  # type: ignore[arg-type]


# What a survey would find.


@pytest.mark.parametrize("increase", [True, False])
@pytest.mark.parametrize(("p", "q", "n"), [(0.75, 0.25, 1000), (0.9, 0.4, 300)])
def test_a_detectable_effect_is_detected(p: float, q: float, n: int, increase: bool) -> None:
    """20,000 runs: 0.015 are 5 standard errors, and room for the normal approximation."""
    base, sign = 0.4, 1 if increase else -1
    effect = detectable(n, p, q, base, power=0.8, increase=increase)
    rng = np.random.default_rng(2)
    group = YesCounts(rng.binomial(n, q + (p - q) * (base + sign * effect), 20_000), n, p, q)
    z = (group.estimate - base) / math.sqrt(group.variance(base))
    assert abs((np.abs(z) >= 1.959964).mean() - 0.8) < 0.015
    change = detectable_change((n, 2 * n), p, q, base, power=0.9, increase=increase)
    groups = two_groups(((p, q), (p, q)), (base, base + sign * change), (n, 2 * n), 20_000)
    assert abs((np.abs(distance(*groups, 0.0)) >= 1.959964).mean() - 0.9) < 0.015


def test_what_is_detectable_in_order() -> None:
    assert detectable(4000, 0.75, 0.25) == pytest.approx(detectable(1000, 0.75, 0.25) / 2, rel=0.02)
    assert detectable(1000, 0.75, 0.25) < detectable_change(1000, 0.75, 0.25) < detectable_change(1000, 0.6, 0.4)
    assert detectable_change(1000, 0.9, 0.1, correlation=0.5) < detectable_change(1000, 0.9, 0.1)
    assert detectable(1000, 0.25, 0.75) == pytest.approx(detectable(1000, 0.75, 0.25))
    assert detectable(10, 0.55, 0.45) == math.inf
    assert detectable(1000, 0.75, 0.25, base=1.0) == math.inf
    assert detectable(1000, 1.0, 0.0, base=0.0) == pytest.approx(0.8416**2 / 1000, rel=0.01)
    assert detectable(1000, 0.75, 0.25, level=0.1, power=0.1) == 0.0
    for bad in ({"n": 0}, {"n": 1.5}, {"n": True}, {"p": 2}, {"q": 0.75}, {"base": -0.1}, {"power": 1}, {"level": 0}):
        with pytest.raises(ParameterError):
            detectable(**({"n": 100, "p": 0.75, "q": 0.25} | bad))
    with pytest.raises(ParameterError, match="pair"):
        detectable_change((1, 2, 3), 0.75, 0.25)  # type: ignore[arg-type]


# The largest error.


@pytest.mark.parametrize(
    "m",
    [sv.RandomizedResponse(1.0), sv.Unary(2, 1.0), sv.KRR(12, 1.0), sv.Unary(100, 1.0), sv.LocalHash(100, 1.0)],
    ids=repr,
)
def test_the_largest_error_is_as_large_as_said(m: Pure) -> None:
    """200 surveys of 5,000: the mean of the largest error has a standard error near 4%, and 15% is beyond chance."""
    n, D = 5000, m.domain.size
    values = np.arange(n) % D
    truth = np.bincount(values, minlength=D) / n
    errors = [
        np.abs(m.tally().add_many(m.randomize_many(values, seed=seed)).estimate().unbiased - truth).max()
        for seed in range(200)
    ]
    expected, bound, rule = max_error(m, n)
    assert np.mean(errors) == pytest.approx(expected, rel=0.15)
    assert 0.88 <= np.mean(np.array(errors) <= bound) <= 0.995
    assert expected < rule < 2.2 * expected


def test_dependent_errors_are_no_larger() -> None:
    """Normal errors with the exact covariance beside independent ones, whose largest is an upper bound."""
    rng = np.random.default_rng(3)
    for m, slack in ((sv.KRR(3, 1.0), 0.12), (sv.KRR(12, 1.0), 0.02), (sv.Projective(100, 1.0), 0.01)):
        f = np.full(m.domain.size, 1 / m.domain.size)
        errors = rng.multivariate_normal(np.zeros(f.size), covariance(m, f, False), size=20_000, method="eigh")
        largest = np.abs(errors).max(axis=1).mean()
        assert largest * 0.995 <= max_error(m, 1).expected <= largest * (1 + slack) * 1.005


def test_largest_errors_in_order() -> None:
    small, large = (max_error(sv.Unary(D, 1.0), 1000) for D in (100, 10_000))
    assert small.expected < large.expected < 1.5 * small.expected
    few, many = (max_error(sv.Unary(100, 1.0), n) for n in (1000, 4000))
    assert few.expected == pytest.approx(2 * many.expected)
    two = sv.RandomizedResponse(1.0)
    assert max_error(two, 100, [0.3, 0.7]).expected == pytest.approx(max_error(two, 100).expected)
    f = np.array([0.97, 0.01, 0.01, 0.01])
    assert max_error(sv.KRR(4, 1.0), 100, f, population=True).expected > max_error(sv.KRR(4, 1.0), 100, f).expected
    for bad in ({"n": 0}, {"level": 1.5}, {"frequencies": [1.0]}):
        with pytest.raises(ParameterError):
            max_error(sv.KRR(4, 1.0), **({"n": 10} | bad))
    with pytest.raises(ParameterError, match="for frequencies"):
        max_error(sv.Mean(0, 1, 1.0), 10)  # type: ignore[arg-type]
