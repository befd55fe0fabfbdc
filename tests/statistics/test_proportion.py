from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, binomtest, chi2, norm

import sottovoce as sv
from sottovoce.core.errors import ParameterError
from sottovoce.statistics import DrawnProportion, Proportion, Proportions
from sottovoce.statistics.proportions import intervals
from sottovoce.statistics.proportions.intervals import METHODS
from sottovoce.statistics.proportions.proportion import Weighted
from sottovoce.statistics.proportions.respondent_intervals import exact_interval

COINS = (Fraction(3, 4), Fraction(1, 4))


def proportion(yes: int, n: int, p: Fraction = COINS[0], q: Fraction = COINS[1], **more: Any) -> Proportion:
    return Proportion(yes, n, p, q, 1.0986122886681098, **more)


def mapped(ends: Any, p: float, q: float) -> tuple[float, float]:
    low, high = sorted((end - q) / (p - q) for end in ends)
    return min(max(low, 0), 1), min(max(high, 0), 1)


# Against other implementations.

chances = st.tuples(st.integers(0, 20), st.integers(0, 20)).filter(lambda pair: pair[0] != pair[1])
counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(max_examples=50)
@given(counts, chances, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_wilson_and_exact_are_scipys_on_another_scale(
    count: tuple[int, int], chance: tuple[int, int], level: float
) -> None:
    p, q = Fraction(chance[0], 20), Fraction(chance[1], 20)
    e = proportion(*count, p, q)
    for ours, theirs in (("wilson", "wilson"), ("exact", "exact")):
        ends = binomtest(*count).proportion_ci(level, theirs)
        assert tuple(e.interval(level, ours)) == pytest.approx(mapped(ends, float(p), float(q)), abs=1e-9)


@given(counts, chances)
def test_wald_is_estimate_and_standard_errors(count: tuple[int, int], chance: tuple[int, int]) -> None:
    p, q = Fraction(chance[0], 20), Fraction(chance[1], 20)
    yes, n = count
    half = 1.959963984540054 * math.sqrt(yes / n * (1 - yes / n) / n)
    ends = mapped((yes / n - half, yes / n + half), float(p), float(q))
    assert tuple(proportion(yes, n, p, q).interval(method="wald")) == pytest.approx(ends, abs=1e-9)


@given(counts, chances)
def test_likelihood_intervals_end_at_the_chi_square_cut(count: tuple[int, int], chance: tuple[int, int]) -> None:
    p, q = Fraction(chance[0], 20), Fraction(chance[1], 20)
    e, cut = proportion(*count, p, q), chi2.ppf(0.95, 1)
    low, high = e.interval(method="likelihood")
    for end, bound in ((low, 0.0), (high, 1.0)):
        if e.likelihood_ratio(bound) <= cut:
            assert end == pytest.approx(bound, abs=1e-12)
        else:
            inside = bound + (e.mle - bound) * 1e-12  # At the bound itself the ratio may be infinite.
            root = brentq(lambda pi: min(e.likelihood_ratio(pi), 1e6) - cut, e.mle, inside, xtol=1e-14)
            assert end == pytest.approx(root, abs=1e-7)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), chances)
def test_the_likelihood_is_the_binomial_one(count: tuple[int, int], chance: tuple[int, int]) -> None:
    p, q = Fraction(chance[0], 20), Fraction(chance[1], 20)
    e, pi = proportion(*count, p, q), np.linspace(0, 1, 11)
    inside = pi[1:-1]  # At the ends it may be minus infinity.
    constant = binom.logpmf(*count, float(q) + float(p - q) * inside) - e.loglik(inside)
    np.testing.assert_allclose(constant, constant[0], atol=1e-8)
    assert e.loglik(e.mle) >= e.loglik(pi).max() - 1e-9
    assert e.loglik(0.3) == pytest.approx(e.loglik(pi)[3])


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0, 1))
def test_exact_and_mid_p_tails_are_binomial_sums(count: tuple[int, int], pi: float) -> None:
    yes, n = count
    law = binom.pmf(np.arange(n + 1), n, 0.25 + 0.5 * pi)
    few, many, tie = law[:yes].sum(), law[yes + 1 :].sum(), law[yes]
    e = proportion(yes, n)
    for method, share in (("exact", 1.0), ("mid-p", 0.5)):
        assert e.test(pi, "less", method).p_value == pytest.approx(few + share * tie, abs=1e-12)
        assert e.test(pi, "greater", method).p_value == pytest.approx(many + share * tie, abs=1e-12)


def ordered(yes: int, n: int, p: float, q: float, pi: float) -> float:
    """Feldman and Cousins by listing: the probability of all counts that speak against pi more, and half of as much."""
    k = np.arange(n + 1)
    rate, best = q + (p - q) * pi, (k / n).clip(q, p)
    against = ((k / n - rate) ** 2 - (k / n - best) ** 2) / (rate * (1 - rate) / n)
    law = binom.pmf(k, n, rate)
    same = np.isclose(against, against[yes], rtol=1e-9, atol=1e-9)
    return float(law[(against > against[yes]) & ~same].sum() + law[same].sum() / 2)


@pytest.mark.parametrize(("n", "p", "tolerance"), [(400, 0.7, 0.02), (4000, 0.6, 0.007), (40_000, 0.9, 0.003)])
def test_the_unified_p_value_is_that_of_feldman_and_cousins(n: int, p: float, tolerance: float) -> None:
    q = 1 - p
    for pi in (0.003, 0.02, 0.1, 0.5, 0.97):
        rate = q + (p - q) * pi
        for distance in (-2.5, -1.0, 0.4, 1.8, 3.0):
            yes = round(n * rate + distance * math.sqrt(n * rate * (1 - rate)))
            got = intervals.p_values("unified", yes, n, p, q, pi)[0]
            assert got == pytest.approx(ordered(yes, n, p, q, pi), abs=tolerance), (pi, distance)


# What must hold of every method.


@given(counts, chances, st.sampled_from(METHODS), st.floats(0.001, 0.999))
@settings(max_examples=150)
def test_a_test_rejects_what_its_interval_leaves_out(
    count: tuple[int, int], chance: tuple[int, int], method: str, null: float
) -> None:
    e = proportion(*count, Fraction(chance[0], 20), Fraction(chance[1], 20))
    low, high = e.interval(0.9, method)
    assert 0 <= low <= high <= 1
    p_value = e.test(null, method=method).p_value
    assert 0 <= p_value <= 1 + 1e-12
    if low < high and not any(math.isclose(null, end, abs_tol=1e-7) for end in (low, high)):
        assert (p_value >= 0.1) == (low < null < high)


@given(counts, chances, st.sampled_from(METHODS), st.booleans())
def test_yes_and_no_change_places(count: tuple[int, int], chance: tuple[int, int], method: str, wide: bool) -> None:
    """If yes is called no, in the answers or in the truth, the estimate follows."""
    p, q = Fraction(chance[0], 20), Fraction(chance[1], 20)
    (yes, n), level = count, 0.99 if wide else 0.8
    e = proportion(yes, n, p, q)
    answers, truths = proportion(n - yes, n, 1 - p, 1 - q), proportion(yes, n, q, p)
    assert answers.frequency == pytest.approx(e.frequency) and truths.frequency == pytest.approx(1 - e.frequency)
    assert tuple(answers.interval(level, method)) == pytest.approx(tuple(e.interval(level, method)), abs=1e-9)
    low, high = truths.interval(level, method)
    assert (1 - high, 1 - low) == pytest.approx(tuple(e.interval(level, method)), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, math.inf])
@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_unified_intervals_are_never_a_point_and_grow_with_the_answers(n: int, epsilon: float) -> None:
    p = 1 / (1 + math.exp(-epsilon))
    low, high = intervals.interval("unified", np.arange(n + 1), n, p, 1 - p, 0.95)
    assert (high - low > 0.01 / n).all()
    assert (np.diff(low) >= -1e-9).all() and (np.diff(high) >= -1e-9).all()
    wider = intervals.interval("unified", np.arange(n + 1), n, p, 1 - p, 0.99)
    assert (wider.low <= low + 1e-9).all() and (wider.high >= high - 1e-9).all()


# Coverage, by summing over the binomial law: no simulation, no false alarms.


def coverage(method: str, n: int, epsilon: float, pi: float, level: float = 0.95) -> float:
    p = 1 / (1 + math.exp(-epsilon))
    yes = np.arange(n + 1)
    low, high = intervals.interval(method, yes, n, p, 1 - p, level)
    held = (low <= pi + 1e-12) & (pi <= high + 1e-12)
    return float(binom.pmf(yes, n, 1 - p + (2 * p - 1) * pi)[held].sum())


@pytest.mark.parametrize(
    "epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 1.0, pytest.param(2.0, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("pi", [0.0, 0.01, 0.05, 0.1, 0.3, 0.5])
def test_the_default_covers_at_its_level(epsilon: float, pi: float) -> None:
    assert coverage("unified", 1000, epsilon, pi) == pytest.approx(0.95, abs=0.0055)
    assert coverage("unified", 200, epsilon, pi) == pytest.approx(0.95, abs=0.0075)
    assert coverage("unified", 1000, epsilon, pi, level=0.8) == pytest.approx(0.8, abs=0.015)


@given(st.integers(1, 150), st.floats(0.1, 6), st.floats(0, 1), st.sampled_from([0.8, 0.95]))
def test_exact_intervals_cover_at_least_at_their_level(n: int, epsilon: float, pi: float, level: float) -> None:
    assert coverage("exact", n, epsilon, pi, level) >= level - 1e-9


@pytest.mark.parametrize("pi", [0.02, 0.1, 0.3])
def test_an_interval_that_forgets_the_noise_is_caught(pi: float) -> None:
    """The same check on a broken method: the design's errors are left out, as if everybody had told the truth."""
    n, p, q = 1000, 0.75, 0.25
    yes = np.arange(n + 1)
    low, high = intervals.interval("unified", ((yes / n - q) / (p - q)).clip(0, 1) * n, n, 1.0, 0.0, 0.95)
    held = (low <= pi) & (pi <= high)
    assert binom.pmf(yes, n, q + (p - q) * pi)[held].sum() < 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("pi", "n", "epsilon"), [(0.0, 50, 0.5), (0.01, 50, 4.0), (0.05, 200, 1.0), (0.3, 1000, 2.0)])
def test_ten_thousand_surveys(pi: float, n: int, epsilon: float) -> None:
    """From the truths through the randomizer to the interval, beside the sum. Five sigma: false alarms 6e-7 each."""
    design = sv.designs.Warner.from_epsilon(epsilon)
    truths = np.random.default_rng(1).random(10_000 * n) < pi
    yes = design.simulate(truths, seed=2).reshape(-1, n).sum(axis=1)
    for method in METHODS:
        ends = {k: design.estimate_counts(k, n).interval(method=method) for k in np.unique(yes)}
        drawn = np.mean([ends[k].low <= pi <= ends[k].high for k in yes])
        exact = coverage(method, n, epsilon, pi)
        assert abs(drawn - exact) <= 5 * math.sqrt(exact * (1 - exact) / 10_000) + 1e-9, method


# The two errors.


@given(counts, chances)
def test_errors_are_those_of_frequencies(count: tuple[int, int], chance: tuple[int, int]) -> None:
    p, q = Fraction(chance[0], 20), Fraction(chance[1], 20)
    (yes, n), e = count, proportion(*count, p, q)
    assert e.frequency == pytest.approx(float((Fraction(yes, n) - q) / (p - q)))
    f = min(max(e.frequency, 0), 1)
    rate = float(q) + float(p - q) * f
    assert e.stderr**2 == pytest.approx(rate * (1 - rate) / n / float(p - q) ** 2, abs=1e-12)
    noise = f * p * (1 - p) + (1 - f) * q * (1 - q)
    assert e.respondents_stderr**2 == pytest.approx(noise / n / float(p - q) ** 2, abs=1e-12)
    assert e.population_stderr == e.stderr and e.stderr >= e.respondents_stderr - 1e-12


def test_about_the_respondents_the_score_interval_is_that_of_a_tally() -> None:
    tally = sv.RandomizedResponse.from_coins().tally().add_many([1] * 140 + [0] * 160).estimate()
    e = proportion(140, 300)
    assert tuple(e.interval(population=False)) == pytest.approx([end[1] for end in tally.interval()])
    assert e.interval(population=False).low > e.interval().low
    half = 1.959963984540054 * e.respondents_stderr
    assert e.interval(method="wald", population=False).high == pytest.approx(e.frequency + half)
    with pytest.raises(ParameterError, match="about the respondents, method must be one of"):
        e.interval(method="likelihood", population=False)


@given(st.integers(1, 25).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), chances, st.booleans())
def test_exact_intervals_about_the_respondents_are_found_by_listing(
    count: tuple[int, int], chance: tuple[int, int], mid: bool
) -> None:
    (yes, n), p, q = count, chance[0] / 20, chance[1] / 20
    kept = []
    for holders in range(n + 1):
        others = binom.pmf(np.arange(n - holders + 1), n - holders, q)
        law = np.convolve(binom.pmf(np.arange(holders + 1), holders, p), others)
        tie = law[yes] / 2 if mid else law[yes]
        if min(law[:yes].sum() + tie, law[yes + 1 :].sum() + tie) >= 0.025 - 1e-12:
            kept.append(holders / n)
    if kept:
        e = proportion(yes, n, Fraction(chance[0], 20), Fraction(chance[1], 20))
        assert tuple(e.interval(method="mid-p" if mid else "exact", population=False)) == (kept[0], kept[-1])


def test_exact_intervals_about_many_respondents_take_no_time() -> None:
    low, high = exact_interval(510_000, 1_000_000, 0.75, 0.25, 0.95)
    half = 1.959963984540054 * math.sqrt(0.1875 / 10**6) / 0.5
    assert (low, high) == pytest.approx((0.52 - half, 0.52 + half), abs=3e-6)


# Weights.


def weighted(answers: list[int], weights: list[float]) -> Proportion:
    made = Weighted.of(np.array(answers, dtype=float), np.array(weights, dtype=float))
    return proportion(sum(answers), len(answers), weighted=made)


def test_weights_that_are_alike_change_nothing() -> None:
    answers = [1] * 30 + [0] * 50
    e, plain = weighted(answers, [2.5] * 80), proportion(30, 80)
    assert (e.frequency, e.stderr, e.effective) == pytest.approx((plain.frequency, plain.stderr, 80))
    for method in METHODS:
        assert tuple(e.interval(method=method)) == pytest.approx(tuple(plain.interval(method=method)))
    assert e.test(0.4).statistic == pytest.approx(plain.test(0.4).statistic)


def test_weights_by_the_formulas() -> None:
    answers, weights = [1, 0, 1, 1, 0], [1.0, 2.0, 3.0, 1.0, 1.0]
    e = weighted(answers, weights)
    share = 5 / 8
    assert e.share == share and e.frequency == pytest.approx((share - 0.25) / 0.5)
    assert e.effective == pytest.approx(64 / 16)  # Kish: (sum w)^2 / sum w^2
    variance = sum((w * (y - share)) ** 2 for y, w in zip(answers, weights, strict=True)) / 64
    assert e.stderr == pytest.approx(math.sqrt(variance) / 0.5)
    half = 1.959963984540054 * e.stderr
    assert tuple(e.interval(0.95, "wald")) == pytest.approx((max(e.frequency - half, 0), min(e.frequency + half, 1)))
    assert tuple(e.interval(method="wilson")) == pytest.approx(
        [end.item() for end in intervals.interval("wilson", share * 4, 4.0, 0.75, 0.25, 0.95)]
    )
    assert "as 4.0 answers of equal weight" in e.caption
    assert weighted([1, 1], [1.0, 2.0]).stderr > 0, "answers that are all alike still have noise"
    with pytest.raises(ParameterError, match="without weights"):
        e.interval(method="exact", population=False)


@pytest.mark.slow
def test_weighted_errors_in_simulation() -> None:
    """Two strata, sampled at different rates, weighted back: 2,000 surveys. The error of a standard deviation is about
    1.6%, that of coverage 0.5%: five of each give false alarms of 6e-7."""
    rng = np.random.default_rng(5)
    n, shares, weights = (300, 100), (0.1, 0.6), np.repeat([1.0, 6.0], (300, 100))
    truth = (300 * 0.1 + 600 * 0.6) / 900
    found, errors, held = [], [], 0
    for _ in range(2000):
        pi = np.repeat(shares, n)
        answers = (rng.random(400) < 0.25 + 0.5 * pi).astype(float)
        e = proportion(int(answers.sum()), 400, weighted=Weighted.of(answers, weights))
        found.append(e.frequency)
        errors.append(e.stderr)
        low, high = e.interval()
        held += low <= truth <= high
    assert np.mean(found) == pytest.approx(truth, abs=5 * float(np.std(found)) / math.sqrt(2000))
    assert np.std(found) == pytest.approx(np.mean(errors), rel=0.08)
    assert held / 2000 == pytest.approx(0.95, abs=0.03)


# The rest.


def test_the_likelihood_ratio_test_has_its_size() -> None:
    """Exactly, over all numbers of yes, at a share inside [0, 1]."""
    n, null = 150, 0.3
    yes = np.arange(n + 1)
    for alternative in ("two-sided", "less", "greater"):
        rejected = [proportion(int(k), n).test(null, alternative).rejects() for k in yes]
        assert binom.pmf(yes, n, 0.25 + 0.5 * null)[rejected].sum() == pytest.approx(0.05, abs=0.02)


def test_a_test_says_what_it_did() -> None:
    test = proportion(60, 100).test(0.5, "greater")
    assert test.name == "likelihood-ratio test" and test.df == 1 and test.estimate == pytest.approx(0.7)
    assert test.p_value == pytest.approx(norm.sf(math.sqrt(test.statistic)))
    assert "against 0.5, greater" in str(test)
    certain = proportion(60, 100, Fraction(1)).test(1)
    assert certain.p_value == 0 and certain.to_dict()["statistic"] is None and certain.rejects()
    assert proportion(60, 100).test(0.5, method="wald").statistic == pytest.approx(0.2 / proportion(60, 100).stderr)
    assert proportion(10, 100).test(0, "greater").p_value == 0.5, "an estimate below zero speaks for nothing above it"


def test_answers_that_do_not_fit_the_design() -> None:
    assert proportion(20, 100).misfit == pytest.approx(binom.cdf(20, 100, 0.25))
    assert proportion(90, 100).misfit == pytest.approx(binom.sf(89, 100, 0.75))
    assert proportion(40, 100).misfit == 1.0
    assert "hardly fit" in proportion(5, 100).caption and "hardly fit" not in proportion(24, 100).caption


def test_how_it_is_shown() -> None:
    e = proportion(60, 100, note="by hand")
    assert json.loads(json.dumps(e.to_dict()))["estimates"][0]["yes"] == 60
    assert e.to_dict()["about"] == "population" and e.to_dict(population=False)["method"] == "wilson"
    assert proportion(1, 2, Fraction(1), Fraction(0)).to_dict()["epsilon"] == pytest.approx(1.0986122886681098)
    assert list(e.to_frame().columns) == ["label", "n", "yes", "frequency", "stderr", "low", "high"]
    assert "(population)" in str(e) and "by hand" in e._repr_html_() and "0.7" in repr(e)
    assert e.using("exact").rows()[0].low == e.interval(method="exact").low
    assert e == proportion(60, 100, note="by hand") and e != proportion(61, 100, note="by hand")
    for log in (True, False):
        axes = e.plot_likelihood(log=log)
        assert axes.get_xlabel() == "true proportion of yes" and "likelihood" in axes.get_ylabel()
        legend = axes.get_legend()
        assert legend and "95% likelihood interval 0.505 .. 0.885" in [text.get_text() for text in legend.get_texts()]
    assert proportion(0, 100).plot_likelihood(0.5).get_xlim()[0] == 0
    assert "interval" in e.plot().get_xlabel()


def test_groups() -> None:
    groups = Proportions((proportion(60, 100, label="a"), proportion(20, 50, label="b", simulated=True)))
    assert groups.n == 150 and len(groups) == 2 and groups["b"].yes == 20 and groups.simulated
    assert groups.rows(simultaneous=True)[0].low == groups.groups[0].interval(0.975).low
    assert groups.using("wald").rows()[1].high == groups.groups[1].interval(method="wald").high
    with pytest.raises(sv.DomainError, match="no group 'c'"):
        groups["c"]


def drawn(counts: list[int]) -> DrawnProportion:
    """Three cards from decks with 80% and 20% of red ones."""
    laws = np.array([binom.pmf(np.arange(4), 3, share) for share in (0.2, 0.8)])
    scores = (np.arange(4) / 3 - 0.2) / 0.6
    return DrawnProportion(sum(counts), 0, np.array(counts, dtype=float), laws, scores, 4.158883083359672)


def test_more_than_two_answers() -> None:
    e = drawn([210, 130, 50, 40])
    pi = np.linspace(0, 1, 100_001)
    assert e.mle == pytest.approx(pi[np.argmax(e.loglik(pi))], abs=1e-5)
    inside = pi[e.likelihood_ratio(pi) <= chi2.ppf(0.95, 1)]
    assert tuple(e.interval()) == pytest.approx((inside[0], inside[-1]), abs=2e-5)
    assert tuple(e.interval(method="wald")) == pytest.approx(
        (e.frequency - 1.95996 * e.stderr, e.frequency + 1.95996 * e.stderr), abs=1e-5
    )
    assert e.interval(population=False).low > e.interval(method="wald").low
    assert e.test(e.mle).p_value == pytest.approx(1) and e.test(0.9).p_value < 1e-9
    with pytest.raises(ParameterError, match="method must be one of likelihood, wald"):
        e.interval(method="exact")
    with pytest.raises(ParameterError, match="about the respondents, method must be wald"):
        e.interval(method="likelihood", population=False)


BAD: list[tuple[Any, str]] = [
    (lambda: proportion(-1, 10), "yes must lie between"),
    (lambda: proportion(11, 10), "yes must lie between"),
    (lambda: proportion(0, 0), "n be at least 1"),
    (lambda: proportion(1.5, 10), "yes must be a whole number"),  # type: ignore[arg-type]
    (lambda: proportion(1, True), "n must be a whole number"),
    (lambda: proportion(1, 2, Fraction(1, 2), Fraction(1, 2)), "two different probabilities"),
    (lambda: proportion(1, 2, Fraction(3, 2), Fraction(1, 2)), "two different probabilities"),
    (lambda: proportion(1, 2, math.nan, 0.5), "two different probabilities"),  # type: ignore[arg-type]
    (lambda: proportion(1, 2, method="best"), "method must be one of unified, wilson"),
    (lambda: proportion(1, 2).interval(method="best"), "method must be one of"),
    (lambda: proportion(1, 2).interval(95), "level must be a number strictly between 0 and 1"),
    (lambda: proportion(1, 2).interval(math.nan), "level must be a number"),
    (lambda: proportion(1, 2).interval("0.9"), "level must be a number"),  # type: ignore[arg-type]
    (lambda: proportion(1, 2).interval(True), "level must be a number"),
    (lambda: proportion(1, 2).interval(1.0, population=False), "level must be a number"),
    (lambda: proportion(1, 2).loglik(1.1), "pi must lie between 0 and 1"),
    (lambda: proportion(1, 2).loglik([0.1, math.nan]), "pi must lie between 0 and 1"),
    (lambda: proportion(1, 2).test(-0.1), "a proportion to test must lie"),
    (lambda: proportion(1, 2).test("half"), "a proportion to test must lie"),  # type: ignore[arg-type]
    (lambda: proportion(1, 2).test(0.5, "unequal"), "alternative must be one of"),
    (lambda: proportion(1, 2).test(0.5).rejects(2), "level must lie strictly"),
    (lambda: proportion(1, 2).to_frame("excel"), "kind must be one of"),
]


@pytest.mark.parametrize(("act", "message"), BAD)
def test_bad_input(act: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as error:
        act()
    assert "\n" not in str(error.value)
