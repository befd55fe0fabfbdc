from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import sottovoce as sv
from sottovoce import designs
from sottovoce.cli import main
from sottovoce.statistics.planning import Direct, Plan, lint, margins, plan

Z = stats.norm.ppf(0.975)
NAMES = ("warner", "forced", "unrelated", "kuk", "crosswise")
RR = sv.RandomizedResponse(1.0)


# Numbers that are known.


@pytest.mark.parametrize(("epsilon", "n"), [(0.5, 17_789), (1.0, 4_997), (2.0, 1_840), (math.inf, 1_068)])
def test_people_for_three_points_either_way(epsilon: float, n: int) -> None:
    made = plan("warner", epsilon=epsilon, margin=0.03)
    assert (made.n, made.solved) == (n, "n")
    assert made.n == math.ceil((Z / 0.03 / 2 / math.tanh(epsilon / 2)) ** 2)
    assert plan("warner", epsilon=epsilon, margin=0.03, proportion=0.5).n == n


def test_the_inequalities_give_their_exact_numbers() -> None:
    """With truth 1/2 + gamma: Var <= 1/(16 gamma^2 n), so that Chebyshev needs 1/(16 gamma^2 alpha margin^2)."""
    gamma, alpha, wide = Fraction(1, 4), Fraction(1, 20), Fraction(1, 10)
    warner = designs.Warner(Fraction(1, 2) + gamma)
    assert plan(warner, margin=0.1, method="chebyshev").n == 1 / (16 * gamma**2 * alpha * wide**2) == 2_000
    assert plan(warner, margin=0.1, method="hoeffding").n == math.ceil(math.log(2 / 0.05) / (2 * 0.25 * 0.01)) == 738


def test_a_mean_by_hoeffding_spans_the_values_of_its_reports() -> None:
    m = sv.Mean(0, 10, epsilon=1.0, kind="rounding")
    spread = 10 / math.tanh(0.5)
    assert plan(m, margin=1.0, method="hoeffding").n == math.ceil(spread**2 * math.log(40) / 2)


def test_the_open_question_by_statsmodels() -> None:
    for count, n in [(0, 7), (3, 7), (7, 7), (45, 100), (50, 100)]:
        for method, other in (("wilson", "wilson"), ("exact", "beta")):
            low, high = proportion_confint(count, n, 0.05, other)
            half = margins._wilson if method == "wilson" else margins._exact
            assert half(n, np.array([count]), 0.05)[0] == pytest.approx((high - low) / 2, rel=1e-9)


@pytest.mark.parametrize("n", [1, 40, 5000])
def test_expected_widths_are_expectations(n: int) -> None:
    """Over every count there can be, also where the plan leaves most of them out."""
    for method, other in (("wilson", "wilson"), ("exact", "beta")):
        counts, made = np.arange(n + 1), plan("warner", epsilon=1.0, n=n, proportion=0.2, method=method)
        low, high = proportion_confint(counts, n, 0.05, other)
        chance = float(RR.q + (RR.p - RR.q) * Fraction(1, 5))
        expected = stats.binom.pmf(counts, n, chance) @ (high - low) / 2 / float(RR.p - RR.q)
        assert made.margin == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("method", ["wilson", "exact"])
@pytest.mark.parametrize("design", [RR, sv.Unary(20, 1.0), sv.KRR(20, 2.0), Direct()])
def test_without_a_proportion_no_count_has_a_wider_interval(method: str, design: Any) -> None:
    for n in (20, 21, 57):
        made, p, q = plan(design, n=n, method=method), float(design.p), float(design.q)
        counts = np.arange(math.ceil(n * q), math.floor(n * p) + 1)
        low, high = proportion_confint(counts, n, 0.05, {"wilson": "wilson", "exact": "beta"}[method])
        assert max(high - low) / 2 / (p - q) <= made.margin * (1 + 1e-12)


def test_the_planned_interval_is_the_printed_one() -> None:
    """Wilson's margin is that of `Estimate.interval` about the population, at the same count."""
    tally = RR.tally().add_many([1] * 500 + [0] * 500)
    low, high = tally.estimate().interval(population=True)
    assert plan(RR, n=1000, method="wilson").margin == pytest.approx((high - low)[1] / 2, rel=1e-12)


# Any two give the third.


names = st.sampled_from(NAMES)
epsilons = st.floats(0.05, 8)
wide = st.floats(0.002, 0.45)
proportions = st.none() | st.floats(0, 1)
methods = st.sampled_from(["normal", "wilson", "exact", "chebyshev", "hoeffding"])


@settings(max_examples=60)
@given(names, epsilons, wide, methods, proportions)
def test_n_is_the_least_that_reaches_the_margin(
    name: str, epsilon: float, wanted: float, method: str, proportion: float | None
) -> None:
    terms: dict[str, Any] = {"method": method, "proportion": proportion}
    made = plan(name, epsilon=epsilon, margin=wanted, **terms)
    assert made.epsilon <= epsilon
    assert plan(name, epsilon=epsilon, n=made.n, **terms).margin == made.margin <= wanted
    assert made.n == 1 or plan(name, epsilon=epsilon, n=made.n - 1, **terms).margin > wanted


@settings(max_examples=20)
@given(names, st.integers(500, 10**7), wide)
def test_epsilon_is_the_least_that_reaches_the_margin(name: str, n: int, wanted: float) -> None:
    if wanted < plan("direct", n=n).margin * 1.01:
        with pytest.raises(sv.ParameterError, match="cannot reach a margin"):
            plan(name, n=n, margin=wanted * 0.98)
        return
    made = plan(name, n=n, margin=wanted)
    assert made.margin <= wanted
    assert made.epsilon < 1.1e-4 or plan(name, epsilon=made.epsilon * (1 - 1e-6), n=n).margin > wanted


@pytest.mark.parametrize("name", ["auto", "krr", "unary", "local_hash", "subset", "hadamard", "projective"])
def test_mechanisms_with_a_domain(name: str) -> None:
    made = plan(name, domain=50, epsilon=1.0, margin=0.02)
    again = plan(made.design, n=made.n)
    assert again.margin == made.margin <= 0.02 and made.design.epsilon == made.epsilon <= 1.0
    enough = plan(name, domain=50, n=made.n, margin=0.02)
    assert enough.margin <= 0.02 and 0.95 < enough.epsilon <= made.epsilon * (1 + 1e-8)
    everything = plan(name, domain=50, epsilon=1.0, margin=0.02, simultaneous=True)
    assert everything.n == pytest.approx(made.n * (stats.norm.ppf(1 - 0.0005) / Z) ** 2, rel=1e-3)


@given(names, epsilons, st.floats(0, 1), st.booleans())
def test_no_proportion_is_worse_than_the_worst(name: str, epsilon: float, proportion: float, population: bool) -> None:
    terms: dict[str, Any] = {"epsilon": epsilon, "n": 100, "population": population}
    assert plan(name, proportion=proportion, **terms).margin <= plan(name, **terms).margin * (1 + 1e-9)


def test_noise_alone_is_less_than_noise_and_sampling() -> None:
    both, noise = (plan("warner", epsilon=1.0, n=1000, proportion=0.3, population=who).margin for who in (True, False))
    assert both**2 - noise**2 == pytest.approx(Z**2 * 0.3 * 0.7 / 1000, rel=1e-9)
    assert plan("direct", n=10, population=False).margin == 0
    assert plan("direct", margin=0.1, population=False).n == 1


@pytest.mark.parametrize("kind", ["rounding", "piecewise", "hybrid"])
def test_the_worst_population_of_a_mean(kind: str) -> None:
    """One half at either end: the variance of one report by its exact law."""
    m = sv.Mean(2, 12, epsilon=1.5, kind=kind, steps=8)
    values = [m.value(report) for report in range(m.cells)]
    laws = [m._law(code) for code in (0, 8)]
    chances = [sum(float(law[report]) for law in laws) / 2 for report in range(m.cells)]
    mean = sum(c * v for c, v in zip(chances, values, strict=True))
    worst = sum(c * v * v for c, v in zip(chances, values, strict=True)) - mean**2
    assert mean == pytest.approx(7) and m.population_variance == pytest.approx(worst)
    assert m.population_variance >= m.variance * (1 - 1e-9) or kind == "piecewise"


def test_a_mean() -> None:
    made = plan("mean", low=0, high=100, epsilon=1.0, margin=2.0)
    assert made.margin <= 2.0 < plan(made.design, n=made.n - 1).margin
    assert plan("mean", low=0, high=100, n=made.n, margin=2.0).epsilon <= 1.0
    assert plan("mean", low=0, high=100, epsilon=math.inf, margin=2.0).n == math.ceil((Z * 50 / 2) ** 2)


# The plan keeps its word.


def covered(n: int, wide: float, runs: int, proportion: float = 0.3) -> float:
    """How often an estimate from n real reports of people drawn anew lies within the margin of the share they have."""
    m = sv.RandomizedResponse(1.0, domain=sv.Domain(2))
    answers = (np.random.default_rng(1).random(runs * n) < proportion).astype(np.int64)
    said = np.asarray(m.randomize_many(answers, seed=2).data).reshape(runs, n).mean(axis=1)
    return float((np.abs((said - float(m.q)) / float(m.p - m.q) - proportion) <= wide).mean())


def test_the_margin_holds_at_the_planned_n() -> None:
    """Within 5 standard deviations of 95% in 800 surveys: false alarms below 1e-6, seeded. Half as many do not do."""
    made = plan("warner", epsilon=1.0, margin=0.03, proportion=0.3)
    spread = 5 * math.sqrt(0.95 * 0.05 / 800)
    assert abs(covered(made.n, made.margin, 800) - 0.95) < spread
    assert covered(made.n // 2, made.margin, 800) < 0.95 - spread


@pytest.mark.parametrize("method", ["chebyshev", "hoeffding"])
def test_a_guarantee_is_kept_with_room_to_spare(method: str) -> None:
    """In none of 50 surveys may more than five estimates miss: false alarms below 1e-9 even at 95%; seeded."""
    made = plan("warner", epsilon=1.0, margin=0.05, method=method)
    assert covered(made.n, made.margin, 50) >= 0.9


def said(rng: np.random.Generator, yes: Any, n: int) -> Any:
    """Estimates from reports of n people of whom `yes` hold the answer."""
    p, q = float(RR.p), float(RR.q)
    return ((rng.binomial(yes, p) + rng.binomial(n - yes, q)) / n - q) / (p - q)


def spread(proportion: Any) -> Any:
    p, q = float(RR.p), float(RR.q)
    chance = q + (p - q) * proportion
    return np.sqrt(chance * (1 - chance)) / (p - q)


RUNS = 20_000
CLOSE = 5 * math.sqrt(0.8 * 0.2 / RUNS) + 0.005
"""Five standard deviations, false alarms below 1e-6, and half a point for the normal approximation."""


def test_power_against_one_proportion() -> None:
    """And the rate of false alarms; three quarters of the people do not have the power."""
    made, rng = plan("warner", epsilon=1.0, proportion=0.2, effect=0.06, power=0.8), np.random.default_rng(3)

    def found(n: int, share: float) -> float:
        estimate = said(rng, rng.binomial(n, share, RUNS), n)
        return float(np.mean(np.abs(estimate - 0.2) > Z * spread(0.2) / math.sqrt(n)))

    assert abs(found(made.n, 0.26) - 0.8) < CLOSE and abs((made.power or 0) - 0.8) < 0.001
    assert abs(found(made.n, 0.2) - 0.05) < CLOSE
    assert abs(found(3 * made.n // 4, 0.26) - 0.8) > CLOSE


def test_power_between_groups() -> None:
    made = plan("warner", epsilon=1.0, proportion=0.2, effect=0.1, power=0.8, test="groups")
    rng, n = np.random.default_rng(4), made.n
    first, second = (said(rng, rng.binomial(n, share, RUNS), n) for share in (0.2, 0.3))
    error = np.sqrt((spread(first.clip(0, 1)) ** 2 + spread(second.clip(0, 1)) ** 2) / n)
    assert abs(np.mean(np.abs(second - first) > Z * error) - 0.8) < CLOSE


def test_power_between_waves_of_the_same_people() -> None:
    """Answers with a correlation of 0.6; a test that knows it. The same n without it has less power."""
    made = plan("warner", epsilon=3.0, proportion=0.3, effect=0.05, power=0.8, test="waves", correlation=0.6)
    m, n, rng = sv.RandomizedResponse(3.0), made.n, np.random.default_rng(5)
    both = 0.3 * 0.35 + 0.6 * math.sqrt(0.3 * 0.7 * 0.35 * 0.65)
    p, q = float(m.p), float(m.q)
    law = np.array([both, 0.3 - both, 0.35 - both, 1 - 0.65 + both])
    counts = rng.multinomial(n, law, RUNS)
    first = rng.binomial(counts[:, 0] + counts[:, 1], p) + rng.binomial(counts[:, 2] + counts[:, 3], q)
    second = rng.binomial(counts[:, 0] + counts[:, 2], p) + rng.binomial(counts[:, 1] + counts[:, 3], q)
    change = (second - first) / n / (p - q)
    sampled = 0.3 * 0.7 + 0.35 * 0.65 - 2 * (both - 0.3 * 0.35)
    error = math.sqrt((2 * p * (1 - p) / (p - q) ** 2 + sampled) / n)
    assert abs(np.mean(np.abs(change) > Z * error) - 0.8) < CLOSE
    less = plan("warner", epsilon=3.0, proportion=0.3, effect=0.05, n=n, test="waves").power
    assert less is not None and less < 0.75


def test_exact_power_counts_every_outcome() -> None:
    made = plan("warner", epsilon=1.0, proportion=0.2, effect=0.2, n=150, method="exact")
    null, other = (float(RR.q + (RR.p - RR.q) * share) for share in (Fraction(1, 5), Fraction(2, 5)))
    counts = np.arange(151)
    tails = np.minimum(stats.binom.cdf(counts, 150, null), stats.binom.sf(counts - 1, 150, null))
    assert made.power == pytest.approx(stats.binom.pmf(counts, 150, other)[tails <= 0.025].sum(), rel=1e-9)


def test_exact_power_stays_when_more_come() -> None:
    terms: dict[str, Any] = {"proportion": 0.5, "effect": 0.05, "method": "exact"}
    made = plan("warner", epsilon=1.0, power=0.8, **terms)
    powers = [plan("warner", epsilon=1.0, n=n, **terms).power for n in range(made.n - 1, made.n + 60)]
    assert powers[0] is not None and powers[0] < 0.8 and min(power or 0 for power in powers[1:]) >= 0.8


@settings(max_examples=30)
@given(epsilons, st.floats(0.05, 0.5), st.floats(0.02, 0.4), st.sampled_from(["one", "groups", "waves"]))
def test_power_effect_n_and_epsilon_agree(epsilon: float, proportion: float, effect: float, test: str) -> None:
    terms: dict[str, Any] = {"proportion": proportion, "test": test}
    made = plan("warner", epsilon=epsilon, effect=effect, power=0.8, **terms)
    assert plan("warner", epsilon=epsilon, effect=effect, n=made.n, **terms).power == made.power
    assert made.power is not None and made.power >= 0.8
    least = plan("warner", epsilon=epsilon, n=made.n, power=0.8, **terms)
    assert least.effect is not None and least.effect <= effect * (1 + 1e-8)
    assert plan("warner", n=made.n, effect=effect, power=0.8, **terms).epsilon <= epsilon * (1 + 1e-8)


# What an attacker learns.


@given(names, epsilons, st.floats(0.001, 0.999))
def test_the_posterior_is_bayes_rule(name: str, epsilon: float, prior: float) -> None:
    made = plan(name, epsilon=epsilon, n=100)
    p, q, before = made.p, made.q, Fraction(prior)
    assert p is not None and q is not None
    beliefs = [float(a * before / (a * before + b * (1 - before))) for a, b in ((p, q), (1 - p, 1 - q))]
    after = made.posterior(prior)
    assert after.low == pytest.approx(min(beliefs)) and after.high == pytest.approx(max(beliefs))
    odds = prior / (1 - prior) * math.exp(epsilon)
    assert after.low <= prior <= after.high <= odds / (1 + odds) * (1 + 1e-9)


@pytest.mark.parametrize("m", [sv.KRR(4, 1.0), sv.Unary(4, 1.0), sv.Subset(4, 1.0)])
def test_no_report_of_many_values_beats_the_posterior(m: sv.Mechanism) -> None:
    after = plan(m, n=100).posterior(0.25)
    laws = list(m.channel().values())
    beliefs = [float(law[r] / sum(other.get(r, 0) for other in laws)) for law in laws for r in law]
    assert after.low * (1 - 1e-12) <= min(beliefs) and max(beliefs) <= after.high * (1 + 1e-12)


def test_open_questions_tell_all() -> None:
    assert plan("direct", n=10).posterior(0.1) == (0.1, 0.0, 1.0)
    assert plan("mean", low=0, high=1, epsilon=math.inf, n=10).posterior(0.1) == (0.1, 0.0, 1.0)


# Designs of every sort.


@pytest.mark.parametrize(
    ("design", "p", "q"),
    [
        ("warner:7/10", "7/10", "3/10"),
        ("forced:4/6,1/6,1/6", "5/6", "1/6"),
        ("unrelated:0.7,0.25", "31/40", "3/40"),
        ("kuk:0.8,0.2", "4/5", "1/5"),
        ("crosswise:1/4", "1/4", "3/4"),
        ("triangular:1/4", "1", "1/4"),
        ("mangat:0.7", "1", "3/10"),
    ],
)
def test_a_design_with_parameters(design: str, p: str, q: str) -> None:
    made, slope = plan(design, margin=0.04), float(Fraction(p) - Fraction(q))
    assert (made.p, made.q) == (Fraction(p), Fraction(q))
    worst = min(max(0.5, min(float(Fraction(p)), float(Fraction(q)))), max(float(Fraction(p)), float(Fraction(q))))
    assert made.n == math.ceil((Z / 0.04 / slope) ** 2 * worst * (1 - worst))
    assert made.private == (not design.startswith(("triangular", "mangat")))
    assert isinstance(made.design, sv.designs.Design)
    assert made.posterior(0.5).high == pytest.approx(made.design.revealed) or not made.private


@pytest.mark.parametrize("name", NAMES)
def test_a_design_of_a_name_meets_its_epsilon(name: str) -> None:
    for epsilon in (1e-3, 0.3, math.log(3), 5.0):
        made = plan(name, epsilon=epsilon, n=100)
        assert epsilon * (1 - 1e-9) <= made.epsilon <= epsilon
        assert isinstance(made.design, designs.DESIGNS[name])


@given(st.fractions(0.01, 0.99), epsilons)
def test_an_unrelated_question_of_any_prevalence_meets_its_epsilon(prevalence: Fraction, epsilon: float) -> None:
    made = plan("unrelated", prevalence=prevalence, epsilon=epsilon, n=100)
    assert epsilon * (1 - 1e-9) <= made.epsilon <= epsilon
    assert made.margin >= plan("warner", epsilon=epsilon, n=100).margin * (1 - 1e-9)


def test_several_cards_and_any_matrix() -> None:
    """Three cards are the average of three; a matrix of two by two is a design with p and q."""
    p, q, f = 0.8, 0.2, 0.3
    noise = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / 3 / 0.36
    cards = plan("kuk:0.8,0.2,draws=3", n=500, proportion=f)
    assert cards.margin == pytest.approx(Z * math.sqrt((noise + f * (1 - f)) / 500))
    assert cards.posterior(0.5).high == pytest.approx(0.8**3 / (0.8**3 + 0.2**3))
    matrix, pair = plan("custom:0.9,0.1;0.2,0.8", n=500), plan("kuk:0.8,0.1", n=500)
    assert matrix.margin == pytest.approx(pair.margin) and matrix.posterior(0.2) == pytest.approx(pair.posterior(0.2))


@pytest.mark.parametrize("population", [True, False])
def test_a_matrix_is_planned_for_its_worst_truth(population: bool) -> None:
    """No distribution over three truths has a larger variance of any share than the plan says, and some comes close."""
    design = designs.Custom([["7/10", "2/10", "1/10"], ["1/10", "6/10", "3/10"], ["1/10", "1/10", "8/10"]])
    shares = np.random.default_rng(1).dirichlet([0.3] * 3, 4000)
    squares = shares @ design.laws @ design.scores.T**2
    means = shares**2 if population else shares
    planned = plan(design, n=1, population=population).margin / Z
    assert 0.98 * planned < math.sqrt((squares - means).max()) <= planned


# What is refused.

BAD: list[tuple[dict[str, Any], str]] = [
    ({"design": "nosuch", "epsilon": 1.0, "margin": 0.03}, "a design must be one of warner, "),
    ({"design": 7, "margin": 0.03}, "planning covers"),
    ({"design": sv.Sets(3, 1.0), "margin": 0.03}, "planning covers"),
    ({"design": "greenberg:0.8,0.3", "margin": 0.03}, "planning covers"),
    ({"design": "triangular", "epsilon": 1.0, "margin": 0.03}, "no epsilon to choose"),
    ({"design": "forced:1/2", "margin": 0.03}, "forced must have the parameters"),
    ({"design": RR, "epsilon": 1.0, "margin": 0.03}, "has its epsilon already"),
    ({"design": RR, "domain": 3, "margin": 0.03}, "has all its parameters"),
    ({"design": "krr", "epsilon": 1.0, "margin": 0.03}, "krr needs a domain"),
    ({"design": "warner", "domain": 3, "epsilon": 1.0, "margin": 0.03}, "warner takes no domain"),
    ({"design": "mean", "epsilon": 1.0, "margin": 0.03}, "mean needs other options"),
    ({"epsilon": 1.0, "margin": 0.03, "colour": 3}, "warner needs other options"),
    ({}, "must be left out"),
    ({"epsilon": 1.0}, "left out: n and margin"),
    ({"epsilon": 1.0, "n": 100, "margin": 0.03}, "left out: none"),
    ({"epsilon": 1.0, "effect": 0.1}, "left out: n and power"),
    ({"epsilon": 1.0, "margin": 0.03, "effect": 0.1}, "not for both"),
    ({"epsilon": 0, "margin": 0.03}, "epsilon must be positive"),
    ({"epsilon": -1.0, "margin": 0.03}, "epsilon must be positive"),
    ({"epsilon": math.nan, "margin": 0.03}, "epsilon must be a number"),
    ({"epsilon": "1", "margin": 0.03}, "epsilon must be a number"),
    ({"epsilon": True, "margin": 0.03}, "epsilon must be a number"),
    ({"epsilon": 37.0, "margin": 0.03}, "epsilon must be at most"),
    ({"epsilon": 1.0, "margin": 0}, "margin must lie above 0"),
    ({"epsilon": 1.0, "margin": -0.1}, "margin must lie above 0"),
    ({"epsilon": 1.0, "margin": math.nan}, "margin must be a number"),
    ({"epsilon": 1.0, "margin": math.inf}, "margin must be a number"),
    ({"epsilon": 1.0, "margin": "wide"}, "margin must be a number"),
    ({"epsilon": 1.0, "margin": 1e-9}, "more than 9e"),
    ({"epsilon": 1.0, "n": 0}, "n must be a whole number from 1"),
    ({"epsilon": 1.0, "n": -5}, "n must be a whole number from 1"),
    ({"epsilon": 1.0, "n": 10.5}, "n must be a whole number from 1"),
    ({"epsilon": 1.0, "n": 10**400}, "n must be a whole number from 1"),
    ({"epsilon": [1.0], "n": 10}, "epsilon must be a number"),
    ({"epsilon": 1.0, "n": 10, "population": "yes"}, "population must be True or False"),
    ({"epsilon": 1.0, "n": True}, "n must be a whole number from 1"),
    ({"n": 500, "margin": 0.03}, "n = 500 cannot reach a margin of 0.03 with any epsilon"),
    ({"epsilon": 1.0, "n": 100, "level": 1.5}, "level must lie strictly between 0 and 1"),
    ({"epsilon": 1.0, "n": 100, "level": 0}, "level must lie strictly between 0 and 1"),
    ({"epsilon": 1.0, "n": 100, "level": math.nan}, "level must be a number"),
    ({"epsilon": 1.0, "n": 100, "proportion": 1.2}, "proportion must lie between 0 and 1"),
    ({"epsilon": 1.0, "n": 100, "method": "guess"}, "method must be one of"),
    ({"epsilon": 1.0, "n": 100, "test": "guess"}, "test must be one of"),
    ({"epsilon": 1.0, "n": 100, "method": "exact", "population": False}, "about the population"),
    ({"design": "kuk:0.8,0.2,draws=3", "n": 100, "method": "exact"}, "reports that support a value"),
    ({"design": "mean", "low": 0, "high": 1, "epsilon": 1.0, "n": 9, "method": "wilson"}, "reports that support"),
    ({"design": "mean", "low": 0, "high": 1, "epsilon": 1.0, "n": 9, "proportion": 0.5}, "for the worst case"),
    ({"epsilon": 1.0, "n": 100, "effect": 0}, "effect must not be 0"),
    ({"epsilon": 1.0, "n": 100, "effect": 1.5}, "effect must lie between"),
    ({"epsilon": 1.0, "n": 100, "effect": 0.6, "proportion": 0.5}, "proportion . effect must lie"),
    ({"epsilon": 1.0, "effect": 0.1, "power": 1.0}, "power must lie strictly between 0.05 and 1"),
    ({"epsilon": 1.0, "effect": 0.1, "power": 0.01}, "power must lie strictly between 0.05 and 1"),
    ({"epsilon": 0.1, "n": 3, "power": 0.8}, "for no effect"),
    ({"epsilon": 1.0, "n": 3, "power": 0.8, "proportion": 1.0}, "for no effect"),
    ({"epsilon": 1.0, "n": 100, "effect": 0.1, "method": "hoeffding"}, "normal or exact"),
    ({"epsilon": 1.0, "n": 100, "effect": 0.1, "method": "exact"}, "with a proportion"),
    ({"epsilon": 1.0, "n": 100, "effect": 0.1, "correlation": 0.5}, "for two waves"),
    ({"epsilon": 1.0, "n": 100, "correlation": 2.0}, "correlation must lie between"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_one_clear_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sv.ParameterError, match=message) as caught:
        plan(**arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("prior", [0, 1, -0.1, 1.1, math.nan, "half", True])
def test_bad_priors(prior: Any) -> None:
    with pytest.raises(sv.ParameterError, match="prior must"):
        plan("warner", epsilon=1.0, n=10).posterior(prior)


# The linter.


def rules(*arguments: Any, **named: Any) -> list[tuple[str, str]]:
    return [(finding.severity, finding.rule) for finding in lint(*arguments, **named)]


def test_a_sound_plan_has_no_findings() -> None:
    assert plan("warner", epsilon=1.0, margin=0.03).lint(budget=1.0) == []


@pytest.mark.parametrize("design", ["direct", "triangular:1/4", "mangat:0.7"])
def test_lint_designs_that_protect_nobody(design: str) -> None:
    assert ("error", "not-private") in rules(plan(design, n=1000))
    assert ("error", "budget") in rules(plan(design, n=1000), budget=10.0)


def test_lint_composition() -> None:
    made = plan("warner", epsilon=1.0, n=5000)
    assert rules([made, RR, {"epsilon": 0.5}], budget=2.5) == []
    assert rules([made, RR, {"epsilon": 0.5}], budget=2.49) == [("error", "budget")]
    assert rules(made, budget=2.5, waves=3) == [("error", "budget")]
    assert rules(made, budget=2.5, waves=3, memoized=True) == []
    assert rules(made, waves=3) == [("warning", "waves")]
    assert rules([{"epsilon": 1.0, "waves": 3, "memoized": True}, {"epsilon": 1.0, "waves": 2}], budget=3.0) == []
    change = plan("warner", epsilon=1.0, n=9000, effect=0.1, proportion=0.3, test="waves")
    assert rules(change, budget=1.5) == [("error", "budget")]


def test_lint_takes_tenths_for_what_they_are() -> None:
    """0.1 + 0.2 costs more than the float 0.3, by the last digit, and is said to."""
    assert rules([{"epsilon": 0.1}, {"epsilon": 0.2}], budget=0.3) == [("error", "budget")]


def test_lint_margins() -> None:
    (finding,) = lint({"design": "warner", "epsilon": 1.0, "n": 1000, "margin": 0.03})
    assert finding.rule == "margin" and "that takes n = 4,997" in finding.message
    assert lint({"epsilon": 1.0, "n": 4997, "margin": 0.03}) == []
    assert lint({"design": "forced:4/6,1/6,1/6", "n": 4000, "margin": 0.03}) == []
    assert ("error", "range") in rules(plan("warner", epsilon=0.1, n=100))
    assert ("warning", "rare") in rules(plan("warner", epsilon=1.0, n=1000, proportion=0.02))


def test_lint_weak_few_and_large_effects() -> None:
    assert rules(plan("warner", epsilon=4.0, margin=0.03)) == []
    (finding,) = lint(plan("warner", epsilon=4.5, margin=0.03))
    assert finding.rule == "weak" and "98.9%" in finding.message
    assert ("warning", "few") in rules(plan("warner", epsilon=2.0, n=20))
    assert rules(plan("warner", epsilon=2.0, n=30, method="exact")) == []
    assert ("warning", "effect") in rules(plan("warner", epsilon=1.0, n=2000, power=0.8, proportion=0.02))
    assert ("warning", "effect") in rules(plan("warner", epsilon=0.2, n=600, power=0.8))


def test_lint_errors_come_first_and_name_the_question() -> None:
    found = lint([{"name": "age", "epsilon": 5.0}, {"name": "income", "design": "direct", "n": 1000}])
    assert [str(finding)[:14] for finding in found] == ["error: income:", "warning: age: "]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "there must be a question"),
        (([object()],), "question 1: a question needs an epsilon"),
        (([{"name": "age"}],), "age: a question needs an epsilon"),
        (([{"epsilon": -1}],), "epsilon must be positive"),
        ((RR, 0), "budget must lie above 0"),
        ((RR, math.nan), "budget must be a number"),
        ((RR, 1.0, 0), "waves must be a whole number"),
    ],
)
def test_lint_of_bad_input(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(sv.ParameterError, match=message):
        lint(*arguments)


# For people and programs.


def test_words_for_an_ethics_board() -> None:
    text = plan("warner", epsilon=1.0, margin=0.03).words(prior=0.1)
    for part in ("Of 100 people who answer Yes, 73 send Yes", "of 100 who answer No, 27 send Yes", "4,997 people",
                 "a server, a thief or a court", "factor of at most 2.72", "10%", "23%", "Not protected",
                 "7 tell the truth, 3 tell the opposite"):  # fmt: skip
        assert part in text, part
    assert "nobody else learns" not in text
    assert "nobody else learns how the die fell" in plan("forced:4/6,1/6,1/6", n=100).words()
    assert "a report of Neither proves the answer No" in plan("triangular:1/4", n=100).words()
    assert "does not protect" in plan("mean", low=0, high=1, epsilon=math.inf, n=9).words()
    assert "speaks for it" in plan("krr", domain=9, epsilon=1.0, n=100).words()
    assert "between the groups" in plan("warner", epsilon=1.0, n=100, effect=0.2, test="groups").words()


@pytest.mark.parametrize("name", ["warner", "forced"])
def test_the_die_never_tells_more(name: str) -> None:
    for epsilon in (0.3, 0.7, 1.0, 2.0, 4.0):
        text = plan(name, epsilon=epsilon, n=100).words()
        if "a die" in text:
            assert float(text.partition("(epsilon = ")[2].partition(")")[0]) <= epsilon
    assert "4 tell the truth, 3 say Yes and 3 say No" in plan("forced", epsilon=0.85, n=100).words()


def test_tables_and_frames() -> None:
    made = plan("warner", epsilon=1.0, margin=0.03)
    header, rows = made.table([0.5, 1.0, math.inf], [0.03, 0.05])
    assert header == ["epsilon", "n for margin 0.03", "n for margin 0.05"]
    assert rows[0] == ["0.5", "17,789", "6,405"] and rows[2][0] == "none (open)"
    assert len(made.table()[1]) == 5 and len(plan("warner:0.7", n=100).table()[1]) == 2
    for kind in ("pandas", "polars", "arrow"):
        assert len(made.to_frame(kind)) == 15
    power = plan("warner", epsilon=1.0, effect=0.3, power=0.8, proportion=0.5).table()
    assert power[0][-1] == "n for effect 0.6" and power[1][0][-1] == "-"
    with pytest.raises(sv.ParameterError, match="has its epsilon"):
        plan("warner:0.7", n=100).table([1.0])
    with pytest.raises(sv.ParameterError, match="a target must lie above 0"):
        made.table(targets=[0])
    with pytest.raises(sv.ParameterError, match="kind must be one of"):
        made.to_frame("excel")
    assert "4,997" in made._repr_html_()


def test_losses_and_certainty_can_be_shown() -> None:
    """A negative effect has a table too; nothing can be tabled around a margin of nothing."""
    fewer = plan("warner", epsilon=1.0, proportion=0.5, effect=-0.1, power=0.8)
    assert fewer.n == plan("warner", epsilon=1.0, proportion=0.5, effect=0.1, power=0.8).n
    assert fewer.table([1.0])[1] == [
        ["1", *(f"{n:,}" for n in (fewer.needs([1.0], [e])[0].n for e in (-0.05, -0.1, -0.2)))]
    ]
    assert str(plan("direct", n=10, population=False)).count("\n") == 1


@pytest.mark.parametrize(
    "name", ["auto", "rr", "krr", "unary", "local_hash", "subset", "hadamard", "projective", "mean"]
)
def test_every_family_spans_all_epsilons(name: str) -> None:
    """So that the search for an epsilon meets no error on its way."""
    options: dict[str, Any] = {"mean": {"low": 0, "high": 1}, "rr": {}}.get(name, {"domain": 1000})
    margins = [plan(name, epsilon=epsilon, n=10**6, **options).margin for epsilon in (1e-4, 0.1, 1.0, 36.0)]
    assert margins == sorted(margins, reverse=True)


def test_a_plan_is_plain_data() -> None:
    for made in (plan("warner", epsilon=1.0, margin=0.03), plan("direct", n=9), plan(sv.Mean(0, 1, 1.0), n=100)):
        record = json.loads(json.dumps(made.to_dict(), allow_nan=False))
        assert record["n"] == made.n and record["private"] == made.private
    assert plan("warner", epsilon=1.0, margin=0.03) == plan("warner", epsilon=1.0, margin=0.03)


@pytest.mark.parametrize(
    "made",
    [
        plan("warner", epsilon=1.0, margin=0.03),
        plan("warner", epsilon=1.0, n=700),
        plan("kuk", epsilon=2.0, effect=0.1, power=0.8),
        plan("direct", n=50),
        plan("mean", low=0, high=10, epsilon=0.5, margin=1.0),
    ],
    ids=lambda made: made.headline,
)
def test_plots(made: Plan) -> None:
    axes = made.plot()
    assert axes.get_xlabel() and axes.get_ylabel() and made.headline in axes.get_title(loc="left")
    assert len(axes.lines) == len(made.instruments()) + 1 + (made.wanted is not None)
    if made.family.fixed is None:
        assert made.heatmap().get_ylabel() == "epsilon"
    else:
        with pytest.raises(sv.ParameterError, match="has its epsilon"):
            made.heatmap()


# The command line.


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["plan", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


WARNER = ("--design", "warner", "--epsilon", "1", "--margin", "0.03")


def test_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(run(capsys, *WARNER, "--json", "--table", "--words", "--prior", "0.1")[0])
    assert record["n"] == 4997 and record["epsilon"] <= 1 and record["findings"] == []
    assert record["posterior"]["high"] == pytest.approx(0.2320, abs=1e-4) and len(record["table"]) == 15
    assert record["table"][-1]["epsilon"] is None and "Not protected" in record["words"]


def test_plan_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, *WARNER)
    assert out.startswith("n = 4,997: ") and "17,789" in out and err == ""
    assert "27 send Yes" in " ".join(out.split())  # Lines are as long as the terminal is wide.
    assert run(capsys, *WARNER, "--words")[0].startswith("Each of 4,997 people")
    assert run(capsys, *WARNER, "--table")[0].startswith("epsilon ")


ASKED: list[tuple[str, dict[str, Any]]] = [
    ("--mechanism krr --domain a,b,c --epsilon 1 --margin 0.05", {"design": "krr", "domain": 3, "epsilon": 1.0}),
    ("--mechanism mean --low 0 --high 2 --epsilon 1 --margin 0.05", {"design": sv.Mean(0, 2, 1.0)}),
    (
        "--design unrelated --set prevalence=1/4 --epsilon 1 --margin 0.05",
        {"design": "unrelated", "prevalence": "1/4", "epsilon": 1.0},
    ),
    ("--design kuk:0.8,0.2 --margin 0.05 --method exact", {"design": designs.Kuk(0.8, 0.2), "method": "exact"}),
    ("--epsilon inf --margin 0.05 --level 0.9 --respondents --proportion 0.1", {"design": "direct", "level": 0.9,
     "proportion": 0.1, "population": False}),
    ("--epsilon 2 --effect 0.05 --power 0.9 --proportion 0.2 --test waves --correlation 0.3", {"epsilon": 2.0,
     "effect": 0.05, "power": 0.9, "proportion": 0.2, "test": "waves", "correlation": 0.3, "margin": None}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "arguments"), ASKED)
def test_plan_options(capsys: pytest.CaptureFixture[str], line: str, arguments: dict[str, Any]) -> None:
    record, made = json.loads(run(capsys, *line.split(), "--json")[0]), plan(**{"margin": 0.05} | arguments)
    for name in ("n", "margin", "power", "level", "proportion", "about", "method", "p"):
        assert record[name] == made.to_dict()[name]


def test_plan_draws(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plot, heat = tmp_path / "plot.svg", tmp_path / "heat.png"
    run(capsys, *WARNER, "--plot", str(plot), "--heatmap", str(heat), "--json")
    assert plot.read_text().startswith("<?xml") and heat.read_bytes().startswith(b"\x89PNG")
    assert "must end in" in run(capsys, *WARNER, "--plot", "plot.txt", code=2)[1]


def test_strict_fails_on_errors_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        "error: epsilon is infinite" in run(capsys, "--design", "triangular:1/4", "--n", "900", "--strict", code=1)[0]
    )
    assert "error: epsilon is infinite" in run(capsys, "--design", "triangular:1/4", "--n", "900")[0]
    assert "warning: " in run(capsys, "--epsilon", "5", "--n", "900", "--strict")[0]
    assert "the budget of 2" in run(capsys, *WARNER, "--waves", "3", "--budget", "2", "--strict", code=1)[0]
    run(capsys, *WARNER, "--waves", "3", "--budget", "2", "--memoized", "--strict")


def test_several_questions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "questions.yaml"
    path.write_text(
        "- {id: smokes, kind: yes_no}\n- {id: age, kind: number, low: 0, high: 100}\n"
        "- {id: travel, kind: choice, values: [bus, car]}\n- {id: drinks, kind: multiple, values: [tea, milk]}\n"
    )
    out = run(capsys, "--questions", str(path), "--epsilon", "4", "--n", "2000")[0]
    assert "smokes" in out and "n = 2,000; epsilon = 4 a person" in out
    asked = ("--questions", str(path), "--epsilon", "4", "--n", "2000", "--budget", "3", "--json", "--strict")
    record = json.loads(run(capsys, *asked, code=1)[0])
    rows = {row["question"]: row for row in record["questions"]}
    assert rows["drinks"]["margin"] is None and record["findings"][0]["rule"] == "budget"
    assert rows["smokes"]["margin"] == plan("rr", epsilon=1.0, n=2000).margin
    path.write_text("- {id: travel, kind: choice}\n")
    message = run(capsys, "--questions", str(path), "--epsilon", "4", "--n", "10", code=2)[1]
    assert "must be listed in the file" in message
    path.write_text("- {id: a, kind: yes_no}\n- {id: a, kind: yes_no}\n")
    assert "different ids" in run(capsys, "--questions", str(path), "--epsilon", "4", "--n", "10", code=2)[1]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--epsilon", "1"),
        ("--epsilon", "nan", "--margin", "0.1"),
        ("--epsilon", "0", "--margin", "0.1"),
        (*WARNER, "--mechanism", "krr"),
        (*WARNER, "--n", "7"),
        (*WARNER, "--level", "1.5"),
        (*WARNER, "--set", "prevalence"),
        (*WARNER, "--set", "prevalence=1/4"),
        (*WARNER, "--prior", "2"),
        (*WARNER, "--waves", "0"),
        (*WARNER, "--budget", "-1"),
        ("--design", "forced:x", "--margin", "0.1"),
        ("--design", "unrelated", "--set", "prevalence=1/0", "--epsilon", "1", "--margin", "0.1"),
        ("--questions", "nothing.yaml", "--n", "5", "--epsilon", "1"),
        ("--questions", "nothing.yaml", *WARNER),
    ],
)
def test_plan_errors_are_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    out, err = run(capsys, *arguments, code=2)
    assert out == "" and err.startswith("sotto: ") and err.count("\n") == 1
