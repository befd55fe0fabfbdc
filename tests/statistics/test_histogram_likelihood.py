"""The likelihood of a histogram: its maximum, its tests and intervals, and the channels it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.errors import DomainError, ParameterError, ReportError
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.histograms.mixture import gap, most_likely
from sottovoce.statistics.likelihood import Likelihood, likelihood, marginal

ANSWERS = ["bus"] * 250 + ["car"] * 150 + ["bike"] * 100
VALUES = ["bus", "car", "bike"]


@dataclass(frozen=True)
class Design:
    """A design as the likelihood sees it: the probability of each answer (columns) under each truth (rows)."""

    matrix: tuple[tuple[Fraction, ...], ...]
    truths: tuple[str, ...] = ("never", "once", "often")


THIRDS = Design(
    (
        (Fraction(2, 3), Fraction(1, 6), Fraction(1, 6)),
        (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)),
        (Fraction(1, 8), Fraction(1, 8), Fraction(3, 4)),
    )
)

# The maximum.


@given(st.integers(2, 12), st.floats(0.05, 6), st.integers(1, 10**6), st.integers(0, 10**6))
def test_the_maximum_is_proved_by_duality(size: int, epsilon: float, n: int, seed: int) -> None:
    rng, m = np.random.default_rng(seed), sv.KRR(size, epsilon)
    laws = np.full((size, size), float(m.q)) + float(m.p - m.q) * np.eye(size)
    counts = rng.multinomial(n, rng.dirichlet(np.full(size, 0.3)) @ laws).astype(float)
    f = most_likely(laws, counts)
    assert f.sum() == pytest.approx(1) and (f >= 0).all()
    assert gap(laws, counts, f) / n < 1e-10
    unbiased = (counts / n - float(m.q)) / float(m.p - m.q)
    if (unbiased >= 0).all():
        np.testing.assert_allclose(f, unbiased, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_any_channel_will_do(seed: int) -> None:
    """Random channels, some with fewer reports than values, beside a general optimizer."""
    rng = np.random.default_rng(seed)
    size, reports = 6, (4, 6, 9, 15, 30)[seed]
    laws = rng.dirichlet(np.ones(reports), size=size)
    counts = rng.multinomial(1000, rng.dirichlet(np.ones(size)) @ laws).astype(float)
    f = most_likely(laws, counts)
    peer = scipy.optimize.minimize(
        lambda x: -counts @ np.log(x @ laws),
        np.full(size, 1 / size),
        jac=lambda x: -laws @ (counts / (x @ laws)),
        bounds=[(0, 1)] * size,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert counts @ np.log(f @ laws) >= -peer.fun - 1e-7
    assert gap(laws, counts, f) < 1e-6


def test_it_is_what_expectation_maximisation_climbs_to() -> None:
    m = sv.KRR(6, 1.0)
    tally = m.tally().add_many(m.randomize_many(np.arange(2000) % 3, seed=2))
    climbed = sv.postprocess.em(tally.estimate(), iterations=100_000, tolerance=1e-12).frequency
    np.testing.assert_allclose(likelihood(m, tally).frequency, climbed, atol=1e-5)


def test_a_worse_histogram_has_a_gap() -> None:
    laws, counts = np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60.0, 40.0])
    assert gap(laws, counts, np.array([0.5, 0.5])) > 1


# The channel.

PURE: list[Pure] = [
    sv.KRR(VALUES, 1.0),
    sv.KRR(VALUES, p=0.2),
    sv.Unary(VALUES, 1.0),
    sv.Subset(5, 1.0),
    sv.LocalHash(VALUES, 1.0),
    sv.LocalHash(9, buckets=4, p=0.6),
    sv.Hadamard(5, 1.0),
    sv.Projective(6, 1.0),
]


@pytest.mark.parametrize("m", PURE, ids=repr)
def test_laws_are_those_of_the_channel(m: Pure) -> None:
    """Each column up to a factor, which cancels in every ratio of likelihoods."""
    values = [m.domain.labels[at % m.domain.size] for at in range(400)]
    fit = likelihood(m, m.randomize_many(values, seed=1))
    reports = sorted({report for law in m.channel().values() for report in law})
    listed = np.array([[float(law[report]) for report in reports] for law in m.channel().values()])
    known = {tuple((column / column.sum()).round(10)) for column in listed.T}
    assert {tuple((column / column.sum()).round(10)) for column in fit.laws.T} <= known
    assert fit.n == 400


@pytest.mark.parametrize("kind", [sv.KRR, sv.Hadamard, sv.Projective])
def test_reports_a_tally_and_counts_are_one(kind: Any) -> None:
    m = kind(VALUES, epsilon=1.0)
    reports = m.randomize_many(ANSWERS, seed=1)
    tally = m.tally().add_many(reports)
    expected = likelihood(m, reports).frequency
    for data in (tally, tally.cells, tally.cells.tolist()):
        np.testing.assert_allclose(likelihood(m, data).frequency, expected, atol=1e-9)


@pytest.mark.parametrize("kind", [sv.Unary, sv.Subset, sv.LocalHash])
def test_a_tally_that_forgets_is_refused(kind: Any) -> None:
    m = kind(12, epsilon=1.0)
    with pytest.raises(ParameterError, match="give the reports"):
        likelihood(m, m.tally().add_many(m.randomize_many([1, 2], seed=1)))


def test_a_mechanism_of_another_kind_by_its_channel() -> None:
    m = sv.Ranges(4, 2.0)
    fit = likelihood(m, m.randomize_many([0, 1, 1, 3] * 500, seed=1))
    assert np.abs(fit.frequency - [0.25, 0.5, 0, 0.25]).max() < 0.15


def test_a_design_by_its_matrix() -> None:
    counts = np.array([400, 250, 350])
    fit = likelihood(THIRDS, counts)
    laws = np.array([[float(x) for x in row] for row in THIRDS.matrix])
    np.testing.assert_allclose(fit.frequency, np.linalg.solve(laws.T, counts / 1000), atol=1e-10)
    assert fit.labels == ("never", "once", "often")
    sure = Design(((Fraction(1), Fraction(0)), (Fraction(1, 2), Fraction(1, 2))), ("no", "yes"))
    low, high = likelihood(sure, [70, 30]).interval("yes")
    assert 0.4 < low < 0.6 < high < 0.8
    assert likelihood(sure, [70, 30]).profile("yes", [0.0]) == [math.inf]
    assert likelihood(sure, [100, 0]).interval("yes").low == 0.0


# Tests and intervals.


def test_two_values_are_a_proportion() -> None:
    m = sv.RandomizedResponse.from_coins()
    tally = m.tally().add_many([1] * 440 + [0] * 560)
    fit, alone = likelihood(m, tally), marginal(tally.estimate(), True)
    assert fit.test_value(True, 0.3).statistic == pytest.approx(alone.likelihood_ratio(0.3), abs=1e-8)
    assert tuple(fit.interval(True)) == pytest.approx(tuple(alone.interval(method="likelihood")), abs=1e-6)
    assert fit.test([0.7, 0.3]).p_value == pytest.approx(fit.test_value(True, 0.3).p_value)


def test_intervals_end_where_the_test_rejects() -> None:
    fit = likelihood(sv.KRR(VALUES, p=0.6), [420, 330, 250])
    for label in VALUES:
        for end in fit.interval(label, 0.9):
            assert fit.test_value(label, end).p_value == pytest.approx(0.1, abs=1e-6)
    assert fit.deviance(fit.frequency) == pytest.approx(0, abs=1e-9)
    assert fit.loglik([0.5, 0.3, 0.2]) == pytest.approx(fit.maximum - fit.deviance([0.5, 0.3, 0.2]) / 2)


def test_a_profile_is_the_best_of_all_histograms() -> None:
    """No histogram that gives a value this frequency has a smaller deviance: by a walk through many of them."""
    fit = likelihood(sv.KRR(VALUES, p=0.6), [420, 330, 250])
    best = min(fit.deviance([0.4, share, 0.6 - share]) for share in np.linspace(0, 0.6, 601))
    assert fit.profile("bus", [0.4])[0] == pytest.approx(best, abs=1e-3)
    assert fit.profile("bus", [0.4])[0] <= best + 1e-9


def rejected(m: Pure, runs: int, n: int = 400) -> tuple[float, float]:
    """How often the truth is rejected: the whole histogram, and the first value's frequency."""
    rng, f = np.random.default_rng(3), np.array([0.4, 0.3, 0.2, 0.1])
    whole, one = [], []
    for seed in range(runs):
        fit = likelihood(m, m.randomize_many(rng.choice(4, n, p=f), seed=seed))
        whole.append(fit.deviance(f) > 7.814728)
        one.append(fit._profile(0, 0.4) > 3.841459)
    return float(np.mean(whole)), float(np.mean(one))


@pytest.mark.parametrize("m", [sv.KRR(4, 2.0), sv.Unary(4, 2.0)], ids=repr)
def test_the_truth_is_rejected_at_the_level(m: Pure) -> None:
    """400 runs: a right level strays by 0.044 (4 standard errors) in one of 16,000 trials."""
    assert all(abs(share - 0.05) < 0.044 for share in rejected(m, 400))


@pytest.mark.slow
@pytest.mark.parametrize("m", [sv.KRR(4, 2.0), sv.Subset(4, 2.0), sv.LocalHash(4, 2.0)], ids=repr)
def test_the_truth_is_rejected_at_the_level_in_many_runs(m: Pure) -> None:
    """4,000 runs: a right level strays by 0.014 (4 standard errors) in one of 16,000 trials."""
    assert all(abs(share - 0.05) < 0.014 for share in rejected(m, 4000))


def test_whole_reports_tell_more_than_support() -> None:
    """Over 200 surveys by unary encoding, the full likelihood errs less than the support of one value at a time."""
    m, truth = sv.Unary(4, 1.0), np.array([0.4, 0.3, 0.2, 0.1])
    values, full, alone = np.repeat(np.arange(4), [160, 120, 80, 40]), [], []
    for seed in range(200):
        reports = m.randomize_many(values, seed=seed)
        full.append(((likelihood(m, reports).frequency - truth) ** 2).sum())
        estimate = sv.postprocess.simplex(m.tally().add_many(reports).estimate())
        alone.append(((estimate.frequency - truth) ** 2).sum())
    assert np.mean(full) < np.mean(alone)


def test_the_wrong_channel_is_found_out() -> None:
    """The broken twin: reports of one epsilon read as those of another give a biased maximum."""
    m, wrong = sv.KRR(4, 1.0), sv.KRR(4, 2.0)
    counts = m.tally().add_many(m.randomize_many(np.repeat(np.arange(4), [8000, 6000, 4000, 2000]), seed=1)).cells
    truth = [0.4, 0.3, 0.2, 0.1]
    assert not likelihood(m, counts).test(truth).rejects(0.999)
    assert likelihood(wrong, counts).test(truth).rejects(0.999)


def test_one_value_of_a_large_domain() -> None:
    m = sv.choose(50_000, 2.0)
    e = m.tally().add_many(m.randomize_many([7] * 600 + list(range(1000, 1400)), seed=1)).estimate()
    alone = marginal(e, 7)
    assert alone.frequency == pytest.approx(e[7].frequency) and alone.n == 1000
    assert alone.stderr == pytest.approx(e.population_stderr[7])
    assert alone.label == "7" and alone.simulated
    assert marginal(e.top(3), 7).yes == alone.yes


# What is refused, and what is shown.


def test_what_is_refused() -> None:
    m = sv.KRR(VALUES, 1.0)
    fit = likelihood(m, [40, 30, 30])
    bad: Any
    for bad in ([1, 2], [1, -1, 3], [0.5, 1, 2], [0, 0, 0], ["a", "b"], None, [math.nan, 1, 1], [True, False, True]):
        with pytest.raises(ParameterError, match="counts must"):
            likelihood(m, bad)
    for bad in ([0.5, 0.5], [1.2, -0.1, -0.1], [0.3, 0.3, 0.3], None, "abc"):
        with pytest.raises(ParameterError, match="frequencies must"):
            fit.loglik(bad)
    other = sv.KRR(VALUES, 2.0).randomize_many(ANSWERS, seed=1)
    with pytest.raises(ReportError, match="not of"):
        likelihood(m, other)
    with pytest.raises(ParameterError, match="a mechanism or a design"):
        likelihood(3, [1, 2])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="told apart"):
        likelihood(Design(((Fraction(1, 2), Fraction(1, 2)),) * 2, ("a", "b")), [1, 2])
    with pytest.raises(DomainError, match="no value 'tram'"):
        fit.interval("tram")
    for level in (0, 1, -1, math.nan, True, "x"):
        with pytest.raises(ParameterError, match="level must"):
            fit.interval("bus", level)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="from 0 to 1"):
        fit.test_value("bus", 1.5)
    with pytest.raises(ParameterError, match="3 values"):
        likelihood(sv.RandomizedResponse(1.0), [3, 4]).surface()
    with pytest.raises(ParameterError, match="at most 1,024 values"):
        likelihood(sv.KRR(10_000, 1.0), np.ones(10_000))
    with pytest.raises(ParameterError, match="one of many values"):
        likelihood(sv.Sets(30, 1.0), np.ones(60))
    with pytest.raises(ParameterError, match="estimate of frequencies"):
        marginal(fit, "bus")  # type: ignore[arg-type]
    with pytest.raises(DomainError, match="no value"):
        marginal(m.tally().add_many([0, 1]).estimate(), "tram")


def test_it_shows_itself() -> None:
    fit = likelihood(sv.KRR(VALUES, p=0.6), [520, 260, 220])
    assert str(fit).splitlines()[1].split() == ["bus", "0.8000"]
    assert repr(fit) == "<Likelihood of the frequencies of 3 values; n = 1,000>"
    assert isinstance(fit, Likelihood)


def test_plots_have_their_parts() -> None:
    fit = likelihood(sv.KRR(VALUES, p=0.6), [520, 260, 220])
    ax = fit.plot("bike")
    assert ax.get_xlabel() == "frequency of bike" and ax.get_ylabel() == "deviance"
    assert "interval 0.0000 .. 0.1159" in ax.get_title(loc="left")
    assert fit.plot("car", ax=ax) is ax
    surface = fit.surface()
    assert [text.get_text() for text in surface.texts] == ["all bus", "all car", "all bike"]
