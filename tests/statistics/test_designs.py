from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce import designs
from sottovoce.core.errors import DomainError, ParameterError, SottovoceError
from sottovoce.statistics import Proportion, Proportions
from sottovoce.statistics.designs import (
    Crosswise,
    Custom,
    Forced,
    Greenberg,
    Kuk,
    Mangat,
    Triangular,
    Unrelated,
    Warner,
)

THREE: list[list[Any]] = [["8/10", "1/10", "1/10"], ["1/10", "7/10", "2/10"], [0.05, 0.15, 0.8]]
BINARY: list[tuple[designs.Binary, str, str]] = [
    (Warner(0.7), "7/10", "3/10"),
    (Warner(0.3), "3/10", "7/10"),
    (Warner(1), "1", "0"),
    (Forced("4/6", "1/6", "1/6"), "5/6", "1/6"),
    (Forced(0.7, 0.2, 0.1), "9/10", "1/5"),
    (Unrelated(0.7, "1/4"), "31/40", "3/40"),
    (Kuk(0.8, 0.3), "4/5", "3/10"),
    (Crosswise("1/4"), "1/4", "3/4"),
    (Triangular("1/4"), "1", "1/4"),
    (Mangat(0.7), "1", "3/10"),
]
DESIGNS: list[designs.Design] = [
    *(design for design, _, _ in BINARY),
    Kuk(0.8, 0.3, draws=4),
    Greenberg(0.8, 0.3),
    Custom(THREE),
    Custom(THREE, truths=["a", "b", "c"], by="device"),
    Custom([["1/2", "1/3", "1/6"], ["1/6", "1/3", "1/2"]], answers=["low", "middle", "high"]),
    Warner.from_epsilon(1.0),
]
names = pytest.mark.parametrize("design", DESIGNS, ids=repr)


# The law of each design.


@pytest.mark.parametrize(("design", "p", "q"), BINARY, ids=lambda part: repr(part))
def test_the_probabilities_of_yes(design: designs.Binary, p: str, q: str) -> None:
    assert (design.p, design.q) == (Fraction(p), Fraction(q))
    assert design.matrix == ((1 - design.q, design.q), (1 - design.p, design.p))
    pairs = [*zip(*design.matrix, strict=True), *zip(*design.matrix[::-1], strict=True)]
    ratios = [a / b if b else math.inf for a, b in pairs if a]
    assert design.epsilon == pytest.approx(math.log(max(ratios)) if math.inf not in ratios else math.inf)
    assert design.private == math.isfinite(design.epsilon)


@names
def test_every_matrix_is_a_law_and_epsilon_its_worst_ratio(design: designs.Design) -> None:
    assert all(sum(row) == 1 and min(row) >= 0 for row in design.matrix)
    assert len(design.matrix) == len(design.truths) and len(design.matrix[0]) == len(design.answers)
    if design.private:
        worst = max(max(column) / min(column) for column in zip(*design.matrix, strict=True))
        assert worst <= Fraction(math.exp(design.epsilon)) * (1 + Fraction(1, 10**14))
        assert design.epsilon == pytest.approx(math.log(worst))
    else:
        assert design.revealed == 1 and "no finite epsilon" in str(design)


def test_repeated_draws_are_binomial_and_cost_as_many_times() -> None:
    from scipy.stats import binom

    design = Kuk(0.8, 0.3, draws=4)
    np.testing.assert_allclose(np.array(design.matrix, dtype=float)[1], binom.pmf(np.arange(5), 4, 0.8))
    np.testing.assert_allclose(np.array(design.matrix, dtype=float)[0], binom.pmf(np.arange(5), 4, 0.3))
    assert design.epsilon == pytest.approx(4 * Kuk(0.8, 0.3).epsilon)


@given(st.floats(0.01, 10))
def test_a_design_for_epsilon_never_costs_more(epsilon: float) -> None:
    design = Warner.from_epsilon(epsilon)
    assert epsilon - 1e-6 < design.epsilon <= epsilon and design.by == "device"
    assert design.p == sv.RandomizedResponse(epsilon).p


def test_parameters_are_exact() -> None:
    assert Warner(0.7) == Warner("7/10") == Warner("0.7") == Warner(Decimal("0.7")) == Warner(np.float64(0.7))
    assert Warner(0.7).p == Fraction(7, 10) and hash(Warner(0.7)) == hash(Warner("7/10"))
    others: list[Any] = [Crosswise(0.7), 0.7, None]
    assert Warner(0.7) not in others and Warner(0.7) != Warner(0.7, by="device")
    assert Warner("1e-3").p == Fraction(1, 1000)
    with pytest.raises(AttributeError):
        Warner(0.7).p = Fraction(1, 3)  # type: ignore[misc]


# What an attacker learns.


@given(st.fractions(0, 1), st.sampled_from(BINARY))
def test_posteriors_are_bayes_rule(prior: Fraction, case: tuple[designs.Binary, str, str]) -> None:
    design = case[0]
    for answer, yes, no in (("yes", design.p, design.q), ("no", 1 - design.p, 1 - design.q)):
        total = prior * yes + (1 - prior) * no
        if total:
            assert design.posterior(prior, answer) == pytest.approx(float(prior * yes / total))
        else:
            with pytest.raises(ParameterError, match="cannot occur"):
                design.posterior(prior, answer)


@names
def test_what_one_answer_reveals(design: designs.Design) -> None:
    even = Fraction(1, len(design.matrix))
    best = max(max(row[at] for row in design.matrix) * even / (sum(row[at] for row in design.matrix) * even)
               for at in range(len(design.answers)) if sum(row[at] for row in design.matrix))  # fmt: skip
    assert design.revealed == pytest.approx(float(best))
    if len(design.matrix) == 2 and design.private:
        odds = math.exp(design.epsilon)
        assert design.revealed == pytest.approx(odds / (1 + odds))


def test_a_posterior_over_categories() -> None:
    design = Custom(THREE, truths=["a", "b", "c"])
    belief = design.posterior({"a": 0.5, "b": 0.25, "c": 0.25}, "b")
    assert belief == pytest.approx({"a": 0.05 / 0.2625, "b": 0.175 / 0.2625, "c": 0.0375 / 0.2625})
    assert belief == design.posterior([0.5, 0.25, 0.25], "b")


# Published variances.


@pytest.mark.parametrize("pi", [0.05, 0.3])
def test_variances_of_the_literature(pi: float) -> None:
    """The number of yes is the expected one, so that the plugged-in share is the true one."""
    n = 10_000_000

    def variance(design: Any) -> float:
        e = design.estimate_counts(round(n * float(design.q + (design.p - design.q) * Fraction(pi))), n)
        assert e.frequency == pytest.approx(pi, abs=1e-6)
        return float(e.stderr**2 * n)

    sampling = pi * (1 - pi)
    p = 0.7
    assert variance(Warner(p)) == pytest.approx(sampling + p * (1 - p) / (2 * p - 1) ** 2, rel=1e-5)  # Warner 1965
    p = 0.25
    assert variance(Crosswise(p)) == pytest.approx(sampling + p * (1 - p) / (2 * p - 1) ** 2, rel=1e-5)  # Yu 2008
    assert variance(Triangular(p)) == pytest.approx(sampling + p * (1 - pi) / (1 - p), rel=1e-5)  # Yu 2008
    p = 0.7
    assert variance(Mangat(p)) == pytest.approx(sampling + (1 - pi) * (1 - p) / p, rel=1e-5)  # Mangat 1994
    rate = 0.7 * pi + 0.3 * 0.25
    assert variance(Unrelated(0.7, 0.25)) == pytest.approx(rate * (1 - rate) / 0.7**2, rel=1e-5)  # Greenberg 1969


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_the_variance_of_kuk(draws: int) -> None:
    """Kuk 1990: sampling, and 1/k of the noise of one draw."""
    design, pi, n = Kuk(0.8, 0.3, draws), 0.2, 1_000_000
    law = np.array(design.matrix, dtype=float)
    counts = np.rint(n * (pi * law[1] + (1 - pi) * law[0])).astype(int)
    e = design.estimate(np.repeat(np.arange(draws + 1), counts))
    noise = (pi * 0.8 * 0.2 + (1 - pi) * 0.3 * 0.7) / 0.5**2 / draws
    assert e.frequency == pytest.approx(pi, abs=1e-5) and e.mle == pytest.approx(pi, abs=1e-4)
    assert e.stderr**2 * n == pytest.approx(pi * (1 - pi) + noise, rel=1e-3)
    assert e.respondents_stderr**2 * n == pytest.approx(noise, rel=1e-3)


def test_two_samples_by_the_formulas_of_greenberg() -> None:
    t1, t2, (yes1, n1), (yes2, n2) = 0.8, 0.3, (160, 400), (210, 500)
    e = Greenberg(t1, t2).estimate_counts((yes1, n1), (yes2, n2))
    l1, l2 = yes1 / n1, yes2 / n2
    assert e.frequency[0] == pytest.approx((l1 * (1 - t2) - l2 * (1 - t1)) / (t1 - t2))
    assert e.frequency[1] == pytest.approx((l2 * t1 - l1 * t2) / (t1 - t2))
    v1, v2 = l1 * (1 - l1) / n1, l2 * (1 - l2) / n2
    assert e.covariance[0, 0] == pytest.approx((v1 * (1 - t2) ** 2 + v2 * (1 - t1) ** 2) / (t1 - t2) ** 2)
    assert e.covariance[1, 1] == pytest.approx((v2 * t1**2 + v1 * t2**2) / (t1 - t2) ** 2)
    assert -1 < e.correlation[0, 1] < 0 and e.n == 900 and "depends on the unrelated prevalence" in e.caption
    lists = [[1] * yes + [0] * (n - yes) for yes, n in ((yes1, n1), (yes2, n2))]
    again = Greenberg(t1, t2).estimate(lists[0], lists[1])
    np.testing.assert_allclose(again.frequency, e.frequency)
    np.testing.assert_allclose(again.covariance, e.covariance)
    first, second = Greenberg(t1, t2).at(0.5)
    assert first == Unrelated(t1, 0.5) and second.private


# Simulation: truths in, estimates out.

SEED = 11


@pytest.mark.parametrize("design", [d for d in DESIGNS if not isinstance(d, Greenberg)], ids=repr)
def test_estimates_are_unbiased(design: Any) -> None:
    """40,000 respondents, within five standard errors of the truth: false alarms 6e-7 each. Seeded."""
    k, n = len(design.truths), 40_000
    shares = np.arange(1, k + 1) / (k * (k + 1) / 2)
    codes = np.repeat(np.arange(k), np.rint(shares * n).astype(int))
    truths = [design.truths[code] for code in codes]
    shares = np.bincount(codes) / len(codes)
    e = design.estimate(design.simulate(truths, SEED))
    found, error, truth = (e.frequency, e.respondents_stderr, shares if isinstance(design, Custom) else shares[1])
    assert (abs(found - truth) <= 5 * np.asarray(error) + 1e-12).all()
    assert (np.asarray(error) < 0.02).all()


@pytest.mark.parametrize("design", [Warner(0.7), Forced("4/6", "1/6", "1/6"), Mangat(0.6)], ids=repr)
def test_a_wrong_design_is_caught(design: Any) -> None:
    """The check above fails when answers were made by another design."""
    answers = Unrelated("1/2", "1/2").simulate([1] * 8000 + [0] * 32_000, SEED)
    e = design.estimate(answers)
    assert abs(e.frequency - 0.2) > 5 * e.respondents_stderr


@names
def test_simulated_answers_follow_the_matrix(design: Any) -> None:
    """Each cell within five standard deviations of 50,000 draws: false alarms 6e-7 each."""
    if isinstance(design, Greenberg):
        with pytest.raises(ParameterError, match=r"at\(prevalence\)"):
            design.simulate([1], 1)
        return
    for truth, row in zip(design.truths, design.matrix, strict=True):
        answers = design.simulate([truth] * 50_000, SEED)
        assert (answers == design.simulate([truth] * 50_000, SEED)).all()
        labels = list(design.answers) if isinstance(design, Custom) else range(len(row))
        for label, chance in zip(labels, map(float, row), strict=True):
            assert abs(np.mean(answers == label) - chance) <= 5 * math.sqrt(chance * (1 - chance) / 50_000)


@pytest.mark.slow
@pytest.mark.parametrize("design", [*(design for design, _, _ in BINARY), Kuk(0.8, 0.3, draws=4)], ids=repr)
def test_coverage_of_each_design(design: Any) -> None:
    """2,000 surveys of 400 people with a share of 0.2: 95% intervals hold it in 93.5% to 96.5%, plus or minus 5 sigma
    of the count, which is 2.4%. False alarms below 1e-6."""
    runs, n, pi = 2000, 400, 0.2
    truths = np.random.default_rng(3).random(runs * n) < pi
    answers = design.simulate(truths, SEED).reshape(runs, n)
    known: dict[Any, Any] = {}
    held = 0
    for row in answers:
        key = tuple(np.bincount(row.astype(int), minlength=len(design.answers)))
        known[key] = known.get(key) or design.estimate(row).interval()
        held += known[key].low <= pi <= known[key].high
    assert abs(held / runs - 0.95) < 0.039


@pytest.mark.slow
def test_coverage_of_joint_estimates() -> None:
    """Two samples, and three categories: 2,000 surveys each, as above."""
    rng, runs, hits = np.random.default_rng(4), 2000, np.zeros(2)
    for _ in range(runs):
        yes = rng.binomial(500, [0.8 * 0.2 + 0.2 * 0.5, 0.3 * 0.2 + 0.7 * 0.5])
        low, high = Greenberg(0.8, 0.3).estimate_counts((yes[0], 500), (yes[1], 500)).interval()
        hits += (low <= [0.2, 0.5]) & (high >= [0.2, 0.5])
    assert (abs(hits / runs - 0.95) < 0.039).all()
    design, shares, found, stated, hits = Custom(THREE), np.array([0.5, 0.3, 0.2]), [], [], np.zeros(3)
    for _ in range(runs):
        codes = rng.multinomial(300, shares @ design.laws)
        e = design.estimate(np.repeat(np.arange(3), codes))
        low, high = e.interval()
        hits += (low <= shares) & (high >= shares)
        found.append(e.frequency)
        stated.append(e.covariance)
    assert (abs(hits / runs - 0.95) < 0.039).all()
    np.testing.assert_allclose(np.cov(np.array(found).T), np.mean(stated, axis=0), atol=3e-4)
    assert (abs(np.mean(found, axis=0) - shares) < 5 * np.std(found, axis=0) / math.sqrt(runs)).all()


# Inattentive respondents.


def crosswise(n: int, pi: float, attentive: float, seed: int) -> tuple[Any, Any]:
    """Answers to the question and to an anchor that is never true; some respondents answer both by a coin."""
    rng = np.random.default_rng(seed)
    design, listening = Crosswise(0.2), rng.random(n) < attentive
    coins = rng.random((2, n)) < 0.5
    question = np.where(listening, design.simulate(rng.random(n) < pi, seed), coins[0])
    return question, np.where(listening, Crosswise(0.3).simulate(np.zeros(n, dtype=bool), seed + 10**6), coins[1])


def test_answers_at_random_bias_the_plain_estimate_and_not_the_corrected_one() -> None:
    """Seeded; the first estimate is 8 standard errors off, the second within 4 (false alarms 6e-5)."""
    question, anchor = crosswise(20_000, pi=0.1, attentive=0.75, seed=1)
    plain = Crosswise(0.2).estimate(question)
    assert plain.frequency - 0.1 > 8 * plain.stderr
    e = Crosswise(0.2).corrected(question, anchor, anchor_p=0.3)
    assert abs(e["yes"].frequency - 0.1) < 4 * e["yes"].stderr
    assert abs(e["attentive"].frequency - 0.75) < 4 * e["attentive"].stderr
    assert e["yes"].stderr > plain.stderr and "corrected" in e.caption
    everybody = Crosswise(0.2).corrected(*crosswise(20_000, 0.1, 1.0, 2), anchor_p=0.3)
    assert everybody["attentive"].high >= 1.0


def test_the_correction_is_the_published_one() -> None:
    """Atsusaka and Stevenson: the naive estimate less (1/2 - 1/(2 g)) (share - 1/2) / (p - 1/2)."""
    question, anchor = crosswise(5000, pi=0.2, attentive=0.8, seed=3)
    share, anchored, p = question.mean(), anchor.mean(), 0.2
    attentive = (anchored - 0.5) / (0.5 - 0.3)
    bias = (0.5 - 0.5 / attentive) * (share - 0.5) / (p - 0.5)
    e = Crosswise(p).corrected(question, anchor, anchor_p=0.3)
    assert e.frequency == pytest.approx([(share + p - 1) / (2 * p - 1) - bias, attentive])


@pytest.mark.slow
def test_the_corrected_error_is_honest() -> None:
    """2,000 surveys of 1,000: coverage within 0.95 +- 0.03, spread within 8% of the stated error (five sigma)."""
    found, stated, held = [], [], 0
    for seed in range(2000):
        e = Crosswise(0.2).corrected(*crosswise(1000, 0.3, 0.8, seed), anchor_p=0.3)
        found.append(e.frequency[0])
        stated.append(e.stderr[0])
        held += e["yes"].low <= 0.3 <= e["yes"].high
    assert np.std(found) == pytest.approx(np.mean(stated), rel=0.08)
    assert held / 2000 == pytest.approx(0.95, abs=0.03)


# Any design.


@pytest.mark.parametrize(
    "matrix", [THREE, [["1/2", "1/3", "1/6"], ["1/6", "1/3", "1/2"]], [[0.9, 0.1, 0], [0.2, 0.8, 0]]]
)
def test_scores_pick_out_their_truth_and_add_up_to_one(matrix: Any) -> None:
    design = Custom(matrix)
    np.testing.assert_allclose(design.scores @ design.laws.T, np.eye(len(matrix)), atol=1e-12)
    np.testing.assert_allclose(design.scores.sum(axis=0)[design.laws.any(axis=0)], 1, atol=1e-12)


def test_a_custom_design_of_two_is_the_binary_one() -> None:
    answers = [1] * 44 + [0] * 56
    plain, custom = Warner(0.7).estimate(answers), Custom([[0.7, 0.3], [0.3, 0.7]]).estimate(answers)
    assert custom.frequency[1] == pytest.approx(plain.frequency)
    assert custom.stderr[1] == pytest.approx(plain.stderr) and custom.respondents_stderr[1] == pytest.approx(
        plain.respondents_stderr
    )
    assert custom.mle is not None and custom.mle[1] == pytest.approx(plain.mle)
    few = Custom([[0.7, 0.3], [0.3, 0.7]]).estimate([1] * 10 + [0] * 90)
    assert few.mle == pytest.approx([1, 0]) and few.frequency[1] == pytest.approx(-0.5) and few[1].low == 0
    assert Custom([[0.7, 0.3], [0.3, 0.7]]).loglik([0.8, 0.2], answers) == pytest.approx(
        Warner(0.7).loglik(0.2, answers)
    )
    np.testing.assert_allclose(custom.interval(simultaneous=True).low <= custom.interval().low, True)


def test_rows_that_say_the_same_cannot_be_told_apart() -> None:
    design = Custom([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.3, 0.2, 0.5]])
    assert design.private
    with pytest.raises(ParameterError, match="linearly independent"):
        design.estimate([0, 1, 2])
    with pytest.raises(ParameterError, match="linearly independent"):
        Custom([[0.5, 0.5], [0.1, 0.9], [0.9, 0.1]]).estimate([0, 1])
    with pytest.raises(ParameterError, match="probability 0 under every truth"):
        Custom([[0.9, 0.1, 0], [0.2, 0.8, 0]]).estimate([0, 1, 2])


# Answers.

YES = [True, 1, 1.0, "yes", "Yes ", "Y", "TRUE", "t", "1", np.int64(1), np.bool_(True)]
NO = [False, 0, 0.0, "no", " NO", "n", "False", "f", "0", np.int8(0), np.float64(0)]


@pytest.mark.parametrize(
    "make",
    [list, tuple, lambda a: np.array(a, dtype=object), lambda a: pd.Series(a, dtype=object), iter],
)
def test_answers_in_any_spelling(make: Any) -> None:
    e = Warner(0.7).estimate(make(YES + NO[:5]))
    assert (e.yes, e.n) == (11, 16)


@pytest.mark.parametrize(
    "column",
    [
        np.array([True, False, True]),
        np.array([1.0, 0.0, 1.0]),
        pd.Series([1, 0, 1]),
        pd.Series(["yes", "no", "yes"]),
        pd.array([True, False, True], dtype="boolean"),
        pl.Series(["yes", "no", "yes"]),
        pa.array([True, False, True]),
        pa.chunked_array([["yes"], ["no", "yes"]]),
    ],
)
def test_answers_from_any_library(column: Any) -> None:
    e = Warner(0.7).estimate(column)
    assert (e.yes, e.n) == (2, 3)


@pytest.mark.parametrize("gap", [None, math.nan, "", pd.NA, pd.NaT])
def test_missing_answers_are_refused_or_dropped_with_their_weights(gap: Any) -> None:
    answers = ["yes", gap, "no", "yes"]
    with pytest.raises(DomainError, match="row 2: an answer must not be missing"):
        Warner(0.7).estimate(answers)
    e = Warner(0.7).estimate(answers, missing="drop", weights=[1.0, math.nan, 2.0, 1.0], groups=["a", "b", "a", "c"])
    assert [row.label for row in e.rows()] == ["a", "c"] and e.n == 3
    assert Warner(0.7).estimate(answers, missing="drop").n == 3
    both = Crosswise(0.2).corrected(["same", gap] + ["same"] * 4, ["same", "same", gap] + ["same"] * 3, missing="drop")
    assert both.n == 4


def test_words_of_their_own() -> None:
    assert Crosswise("1/4").estimate(["Same", "different", "yes"]).yes == 2
    assert Triangular("1/4").estimate(["at least one", "neither"]).yes == 1
    assert Kuk(0.8, 0.2).estimate(["red", "black"]).yes == 1
    assert Kuk(0.8, 0.2, 3).estimate(["3", 2, "0 red"]).yes == 5
    with pytest.raises(DomainError, match="row 1: an answer must be same or different, or yes or no"):
        Crosswise("1/4").estimate(["equal"])


def test_groups_and_weights() -> None:
    answers, groups = [1, 0, 1, 1, 0, 0], ["b", "a", "b", None, "a", "a"]
    e = Warner(0.7).estimate(answers, groups=groups)
    assert isinstance(e, Proportions) and list(e.labels) == ["(missing)", "a", "b"] and e["b"].yes == 2
    heavy = Warner(0.7).estimate(answers, weights=[3, 1, 1, 1, 1, 1])
    assert isinstance(heavy, Proportion) and heavy.share == pytest.approx(5 / 8)
    assert Warner(0.7).loglik(0.3, answers) == Warner(0.7).estimate(answers).loglik(0.3)
    kuk = Kuk(0.8, 0.2, 2)
    assert kuk.estimate([2, 0, 1], weights=[1, 1, 2]).frequency == pytest.approx(0.5)
    assert kuk.estimate([2, 0, 1, 1], weights=[2, 2, 2, 2]).mle == pytest.approx(kuk.estimate([2, 0, 1, 1]).mle)
    assert kuk.estimate([2, 0, 1, 1], groups=["a", "a", "b", "b"]).using("wald")["a"].high <= 1
    both = Greenberg(0.8, 0.3).estimate([1, 0, 1], [0, 1], weights=[1, 1, 2], other_weights=[1, 3])
    assert both.frequency.shape == (2,)


# What travels, and words.


@names
def test_there_and_back(design: designs.Design) -> None:
    data = json.loads(json.dumps(design.to_dict()))
    assert designs.design(data) == design and designs.DESIGNS[design.name] is type(design)
    data["epsilon"] = 0.001
    with pytest.raises(ParameterError, match="epsilon must be what the design costs"):
        designs.design(data)


@names
def test_plain_words(design: designs.Design) -> None:
    words = design.explain()
    assert "Of 100" in words and ("epsilon" in words.lower())
    if design.by == "respondent":
        assert "as long as nobody else learns" in words and "follows the instructions" in words
    else:
        assert "A device draws the chance" in words
    assert design.by in str(design) and repr(design) in str(design)


def test_words_for_a_die() -> None:
    words = Forced("4/6", "1/6", "1/6").explain()
    assert "Of 100 people whose truth is Yes, 83.3 answer Yes; of 100 whose truth is No, 16.7 do." in words
    assert "more than 5 times as likely" in words
    assert "the answer no rules out a truth" in Mangat(0.7).explain()


@pytest.mark.parametrize(
    ("text", "design"),
    [
        ("warner:0.7", Warner(0.7)),
        (" Warner : p=7/10", Warner(0.7)),
        ("warner:epsilon=1", Warner.from_epsilon(1.0)),
        ("forced:4/6,1/6,1/6", Forced("4/6", "1/6", "1/6")),
        ("unrelated:0.7,prevalence=1/4", Unrelated(0.7, 0.25)),
        ("greenberg:0.8,0.3", Greenberg(0.8, 0.3)),
        ("kuk:0.8,0.2,3", Kuk(0.8, 0.2, 3)),
        ("crosswise:1/4,by=device", Crosswise(0.25, by="device")),
        ("custom:0.9,0.1;1/5,4/5", Custom([[0.9, 0.1], [0.2, 0.8]])),
    ],
)
def test_a_design_in_one_line(text: str, design: designs.Design) -> None:
    assert designs.parse(text) == design


BAD: list[tuple[Any, str]] = [
    (lambda: Warner(0.5), "must not make yes as likely under both truths"),
    (lambda: Warner(1.2), "p must lie between 0 and 1, got 1.2"),
    (lambda: Warner(-0.1), "p must lie between 0 and 1"),
    (lambda: Warner(math.nan), "p must be a probability such as"),
    (lambda: Warner(math.inf), "p must be a probability such as"),
    (lambda: Warner(True), "p must be a probability such as"),
    (lambda: Warner(None), "p must be a probability such as"),  # type: ignore[arg-type]
    (lambda: Warner("1/0"), "p must be a probability such as"),
    (lambda: Warner("often"), "p must be a probability such as"),
    (lambda: Warner("1e999999999"), "p must be a probability such as"),
    (lambda: Warner(0.7, by="nobody"), "by must be one of respondent, device"),
    (lambda: Warner.from_epsilon(0), "epsilon must be positive"),
    (lambda: Forced(0.5, 0.2, 0.2), "truth, yes and no must add up to 1, got 0.9"),
    (lambda: Forced(0, 0.5, 0.5), "must not make yes as likely"),
    (lambda: Unrelated(0, 0.5), "must not make yes as likely"),
    (lambda: Kuk(0.5, 0.5), "must not make yes as likely"),
    (lambda: Kuk(0.8, 0.2, 0), "draws must be a whole number from 1 to 100"),
    (lambda: Kuk(0.8, 0.2, 2.5), "draws must be a whole number"),  # type: ignore[arg-type]
    (lambda: Kuk(0.8, 0.2, True), "draws must be a whole number"),
    (lambda: Kuk(0.8, 0.2, "many"), "draws must be a whole number"),  # type: ignore[arg-type]
    (lambda: Kuk(0.8, 0.2, 2).estimate([3]), "the number of red cards, from 0 to 2"),
    (lambda: Kuk(1, 0, 2).estimate([0, 1, 2]), "probability 0 under every truth"),
    (lambda: Kuk(0.8, 0.2, 2).estimate_counts(1, 2), "counts of yes are for one draw"),
    (lambda: Crosswise("1/2"), "must not make yes as likely"),
    (lambda: Triangular(1), "must not make yes as likely"),
    (lambda: Mangat(0), "must not make yes as likely"),
    (lambda: Greenberg(0.7, 0.7), "the two samples must differ"),
    (lambda: Greenberg(0.7, 0.3).posterior(0.5, "yes"), "depends on the unrelated prevalence"),
    (lambda: Greenberg(0.7, 0.3).estimate_counts((5, 4), (1, 2)), "yes must lie between 0 and n"),
    (lambda: Custom([[0.5, 0.5]]), "a matrix must have from 2"),
    (lambda: Custom([[0.5, 0.5], [1.0]]), "a matrix must have from 2"),
    (lambda: Custom([[0.5, 0.5], [0.5, 0.4]]), "row 2 of the matrix must add up to 1, got 0.9"),
    (lambda: Custom(0.5), "a matrix must be a list of rows"),  # type: ignore[arg-type]
    (lambda: Custom([0.5, 0.5]), "a matrix must be a list of rows"),  # type: ignore[list-item]
    (lambda: Custom([[0.9, 0.1], [0.1, 0.9]], truths=["a"]), "truths must have 2 labels|from 2"),
    (lambda: Custom([[0.9, 0.1], [0.1, 0.9]], answers=["a", "b", "c"]), "answers must have 2 labels, got 3"),
    (lambda: Custom(THREE).posterior([0.5, 0.5], 1), "a prior must have 3 probabilities"),
    (lambda: Custom(THREE).posterior([0.5, 0.4, 0.2], 1), "a prior must have 3 probabilities"),
    (lambda: Custom(THREE).posterior({"x": 1}, 1), "a prior probability must be"),
    (lambda: Custom(THREE).posterior(0.5, 1), "a prior must have 3 probabilities"),
    (lambda: Custom(THREE).loglik(None, [1]), "a prior must have 3 probabilities"),  # type: ignore[arg-type]
    (lambda: Custom(THREE, truths=["A", "a", "b"]), "truths must differ in more than case and spaces"),
    (lambda: Custom([[0.9, 0.1], [0.1, 0.9]], answers=["1", 1]), "answers must differ in more than case and spaces"),
    (lambda: Custom(pd.DataFrame([[0.9, 0.1], [0.1, 0.9]])), "a matrix must be"),  # type: ignore[arg-type]
    (lambda: Kuk(0.8, 0.2, np.array([3, 4])), "draws must be a whole number"),  # type: ignore[arg-type]
    (lambda: Greenberg(0.7, 0.3).estimate_counts(5, 10), "a sample, yes and n, must be two numbers"),  # type: ignore[arg-type]
    (lambda: Greenberg(0.7, 0.3).loglik(0.5, [1], [0]), "pi must be two numbers"),  # type: ignore[arg-type]
    (lambda: Greenberg(0.7, 0.3).loglik((0.5, 2), [1], [0]), "a proportion must lie between 0 and 1"),
    (lambda: Warner(0.7).loglik("often", [1]), "pi must lie between 0 and 1, got 'often'"),  # type: ignore[arg-type]
    (lambda: Warner(0.7).loglik({}, [1]), "pi must lie between 0 and 1"),  # type: ignore[call-overload]
    (lambda: Warner(0.7).loglik(10**400, [1]), "pi must lie between 0 and 1"),
    (lambda: Warner(0.7).estimate_counts(1, 10**400), "n must be at most 2"),
    (lambda: Warner(0.7).estimate({"yes": 3, "no": 4}), "a column of answers must have a row for each respondent"),
    (lambda: Warner(0.7).estimate({"yes", "no"}), "a column of answers must have a row for each respondent"),
    (lambda: Warner(0.7).estimate(np.eye(3)), "a column of answers must be a list"),
    (lambda: Warner(0.7).estimate([1, 0], weights=5), "a column of weights must be a list"),  # type: ignore[call-overload]
    (lambda: Warner(0.7).estimate([1, 0], [1, 0], ["a", "b"]), "some weights of each group must be positive"),
    (lambda: Warner(0.7).estimate([1, 0]).interval(method=""), "method must be one of"),
    (lambda: Warner(0.7).estimate([1, 0]).interval(Fraction(10**400)), "level must be a number"),  # type: ignore[arg-type]
    (lambda: Warner(0.7).estimate([1, 0]).test(10**400), "a proportion to test must lie between"),
    (lambda: Warner(0.7).estimate([1, 0]).test(0.5).rejects("x"), "level must lie strictly between 0 and 1"),  # type: ignore[arg-type]
    (lambda: designs.parse("warner:p=0.7,p=0.8"), "warner must have each parameter once"),
    (lambda: Custom(THREE).estimate([7]), "row 1: an answer must be one of 0, 1, 2"),
    (lambda: Warner(0.7).posterior(2, "yes"), "prior must lie between"),
    (lambda: Warner(0.7).posterior(0.5, "perhaps"), "an answer must be yes or no"),
    (lambda: Warner(0.7).estimate([]), "at least one answer"),
    (lambda: Warner(0.7).estimate([None], missing="drop"), "at least one answer"),
    (lambda: Warner(0.7).estimate("yes"), "a column of answers must be a list"),
    (lambda: Warner(0.7).estimate(5), "a column of answers must be a list"),  # type: ignore[call-overload]
    (lambda: Warner(0.7).estimate(["yes", "maybe"]), "row 2: an answer must be yes or no"),
    (lambda: Warner(0.7).estimate([1, 2]), "row 2: an answer must be yes or no"),
    (lambda: Warner(0.7).estimate([[1], [0]]), "row 1: an answer must be yes or no"),
    (lambda: Warner(0.7).estimate([1], missing="guess"), "missing must be one of refuse, drop"),
    (lambda: Warner(0.7).estimate([1, 0], weights=[1]), "weights must have one row for each of the 2 answers"),
    (lambda: Warner(0.7).estimate([1, 0], weights=[1, -1]), "weights must not be negative"),
    (lambda: Warner(0.7).estimate([1, 0], weights=[0, 0]), "weights must not be negative, and some must be positive"),
    (lambda: Warner(0.7).estimate([1, 0], weights=[1, math.nan]), "weights must hold finite numbers"),
    (lambda: Warner(0.7).estimate([1, 0], weights=[1, "x"]), "weights must be a column of numbers"),
    (lambda: Warner(0.7).estimate([1, 0], weights=[True, True]), "weights must be numbers"),
    (lambda: Warner(0.7).estimate([1, 0], groups=["a"]), "groups must have one row"),
    (lambda: Warner(0.7).estimate_counts(3, 2), "yes must lie between"),
    (lambda: Warner(0.7).simulate([1], -1), "seed must be a whole number"),
    (lambda: Crosswise(0.2).corrected([1, 0], [1]), "the two questions must have as many answers"),
    (lambda: Crosswise(0.2).corrected([1, 0], [1, 0], anchor_p=0.5), "anchor_p must not be 1/2"),
    (lambda: Crosswise(0.2).corrected([1, 0], [0, 0]), "the anchor must show attentive respondents"),
    (lambda: designs.parse("warmer:0.7"), "a design must be one of warner, forced"),
    (lambda: designs.parse(""), "a design must be one of"),
    (lambda: designs.parse("warner"), "warner must have the parameters p, got none"),
    (lambda: designs.parse("warner:0.7,0.2,0.1"), "warner must have the parameters p"),
    (lambda: designs.parse("warner:r=0.7"), "warner must have the parameters p, got r=0.7"),
    (lambda: designs.parse("warner:epsilon=x"), "epsilon must be a number"),
    (lambda: designs.parse("custom:"), "an entry of the matrix must be a probability"),
    (lambda: designs.design({"design": "warner"}), "warner must have the parameters"),
    (lambda: designs.design({"p": 0.7}), "a design must be one of"),
    (lambda: designs.design("warner"), "a design must be one of|must have"),  # type: ignore[arg-type]
    (lambda: Greenberg(0.8, 0.3).estimate([1, 0], [1]).rows(population=False), "errors about the respondents alone"),
]


@pytest.mark.parametrize(("act", "message"), BAD)
def test_bad_input(act: Any, message: str) -> None:
    with pytest.raises(SottovoceError, match=message) as error:
        act()
    assert "\n" not in str(error.value)


def test_two_truths_need_one_probability() -> None:
    design, answers = Custom([[0.9, 0.1], [0.2, 0.8]]), [0, 1, 1]
    assert design.loglik(0.3, answers) == design.loglik([0.7, 0.3], answers)
    assert design.posterior(0.3, 1) == design.posterior([0.7, 0.3], 1)


def test_both_proportions_of_two_samples_have_a_likelihood() -> None:
    """Largest at the estimate, where that is inside; a coin that never asks the question is no obstacle."""
    for design in (Greenberg(0.8, 0.3), Greenberg(1, 0)):
        first, second = [1] * 36 + [0] * 64, [1] * 46 + [0] * 54
        best = design.estimate(first, second).frequency
        top = design.loglik(best, first, second)
        assert top == pytest.approx(
            36 * math.log(0.36) + 64 * math.log(0.64) + 46 * math.log(0.46) + 54 * math.log(0.54)
        )
        assert all(design.loglik(best + step, first, second) < top for step in ([0.01, 0], [0, 0.01], [-0.01, 0.01]))


@pytest.mark.parametrize("n", [1, 20])
def test_answers_that_are_all_alike_still_leave_an_error(n: int) -> None:
    alike = [1] * n
    for weights in (None, [2.0] * n):
        assert (Custom([[0.9, 0.1], [0.2, 0.8]]).estimate(alike, weights).stderr > 0).all()
        assert (Greenberg(0.8, 0.3).estimate(alike, alike, weights, weights).stderr > 0).all()
        assert (Crosswise(0.2).corrected(alike, alike, weights=weights).stderr > 0).all()
    assert (Greenberg(0.8, 0.3).estimate_counts((n, n), (0, n)).stderr > 0).all()


def test_two_samples_cover_rare_traits() -> None:
    """Exactly, by a sum over all counts: at 1% and n = 50 a variance of zero would leave 58%."""
    design, n, pi, unrelated = Greenberg(0.8, 0.3), 50, 0.01, 0.05
    laws = [scipy.stats.binom(n, float(t) * pi + float(1 - t) * unrelated) for t in (design.first, design.second)]
    covered = 0.0
    for first in range(12):
        for second in range(16):
            low, high = design.estimate_counts((first, n), (second, n)).interval()
            covered += laws[0].pmf(first) * laws[1].pmf(second) * (low[0] <= pi <= high[0])
    assert covered > 0.93


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e300])
def test_weights_of_any_size_mean_the_same(scale: float) -> None:
    usual = Warner(0.7).estimate([1, 0, 1, 0], weights=[1, 2, 1, 4])
    other = Warner(0.7).estimate([1, 0, 1, 0], weights=[scale, 2 * scale, scale, 4 * scale])
    assert other.stderr == pytest.approx(usual.stderr, rel=1e-3)
    assert other.effective == pytest.approx(usual.effective, rel=1e-3)


def test_missing_groups_are_one_group() -> None:
    assert Warner(0.7).estimate([1, 0, 1], groups=[None, math.nan, ""]).labels == ["(missing)"]


def test_floats_are_taken_for_what_they_were_meant_to_be() -> None:
    """A sixth is a sixth, and what rounding took from a sum is shared out."""
    assert Forced(2 / 3, 1 / 6, 1 / 6) == Forced("4/6", "1/6", "1/6")
    assert Custom([[1 / 3, 1 / 3, 1 / 3], [0.1, 0.8, 0.1]]).matrix[0] == (Fraction(1, 3),) * 3
    ragged = Forced(0.1 + 0.2, 0.3, 0.4)
    assert ragged.truth + ragged.yes + ragged.no == 1 and abs(ragged.truth - Fraction(3, 10)) < 1e-15
    assert Warner(0.7310585786300048).p == Fraction("0.7310585786300048")
