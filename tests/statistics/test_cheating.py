"""Cheating detection: shares in the simplex by maximum likelihood, honest intervals, and a test at the boundary."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy

import sottovoce as sv
from sottovoce.statistics.proportions.cheating import Cheating

DESIGNS = {"a": sv.designs.Forced("3/4", "1/4", 0), "b": sv.designs.Forced("1/4", "3/4", 0)}
MIXED = {"a": sv.designs.Warner("4/5"), "b": sv.designs.Forced("1/2", "1/3", "1/6"), "c": sv.designs.Warner("1/4")}


def survey(shares: tuple[float, float], sizes: dict[str, int], designs: dict[str, Any], rng: Any) -> Cheating:
    """Answers of a population with shares of honest yes and honest no; the rest always says no."""
    answers, groups = [], []
    for group, n in sizes.items():
        kind = rng.choice(3, n, p=[*shares, 1 - sum(shares)])
        chance = np.array([float(designs[group].p), float(designs[group].q), 0.0])[kind]
        answers.append(rng.random(n) < chance)
        groups += [group] * n
    return sv.cheating(np.concatenate(answers), groups, designs)


def counted(designs: dict[str, Any], yes: dict[str, int], asked: dict[str, int]) -> Cheating:
    answers = [1 if at < yes[group] else 0 for group in designs for at in range(asked[group])]
    return sv.cheating(answers, [group for group in designs for _ in range(asked[group])], designs)


def test_two_equations_for_two_shares() -> None:
    """Inside the simplex the estimate solves the two equations, and its error is that of the solution."""
    c = counted(DESIGNS, {"a": 460, "b": 740}, {"a": 1000, "b": 1000})
    ways = np.array([[1, 0.25], [1, 0.75]])
    honest = np.linalg.solve(ways, [0.46, 0.74])
    assert c.share == pytest.approx([*honest, 1 - honest.sum()], abs=1e-9)
    noise = np.diag([0.46 * 0.54, 0.74 * 0.26]) / 1000
    covariance = np.linalg.inv(ways) @ noise @ np.linalg.inv(ways).T
    assert c.stderr == pytest.approx(np.sqrt([*np.diag(covariance), covariance.sum()]), rel=1e-9)
    assert c.trait == pytest.approx((0.32, 0.44), abs=1e-9)


@given(
    yes=st.tuples(*[st.integers(0, 60)] * 3),
    asked=st.tuples(*[st.integers(60, 90)] * 3),
)
def test_it_is_the_most_likely_point_of_the_simplex(yes: tuple[int, ...], asked: tuple[int, ...]) -> None:
    """No point of a fine grid over the simplex is likelier, for any answers of three groups."""
    c = counted(MIXED, dict(zip(MIXED, yes, strict=True)), dict(zip(MIXED, asked, strict=True)))
    assert c.share.min() >= 0 and c.share.sum() == pytest.approx(1)
    steps = np.linspace(0, 1, 41)
    grid = np.array([(x, y) for x in steps for y in steps if x + y <= 1])
    p, q = (np.array([float(getattr(d, name)) for d in MIXED.values()]) for name in ("p", "q"))
    rates = grid[:, :1] * p + grid[:, 1:] * q
    logs = xlogy(yes, rates) + xlogy(np.array(asked) - yes, 1 - rates)
    assert c.loglik >= logs.sum(axis=1).max() - 1e-9


def test_shares_are_recovered_and_covered() -> None:
    """200 seeded surveys: means within 4 of their errors, coverage within 6 points. False alarms: under 0.1%."""
    rng = np.random.default_rng(3)
    truth = np.array([0.3, 0.5, 0.2])
    found = [survey((0.3, 0.5), {"a": 600, "b": 400}, DESIGNS, rng) for _ in range(200)]
    shares = np.array([c.share for c in found])
    assert (np.abs(shares.mean(axis=0) - truth) < 4 * shares.std(axis=0) / math.sqrt(200)).all()
    assert shares.std(axis=0) == pytest.approx(np.mean([c.stderr for c in found], axis=0), rel=0.15)
    held = np.mean(
        [
            [low <= t <= high for t, (low, high) in zip(truth, zip(*c.interval(), strict=True), strict=True)]
            for c in found
        ],
        axis=0,
    )
    assert (np.abs(held - 0.95) < 0.06).all()


def test_ignoring_cheaters_understates_the_trait_and_is_caught() -> None:
    """The broken twin: one design for all cannot see cheaters. The check above fails for it."""
    rng = np.random.default_rng(3)
    found = [survey((0.3, 0.5), {"a": 600, "b": 400}, DESIGNS, rng) for _ in range(100)]
    naive = np.array([DESIGNS["a"].estimate_counts(c.yes[0], c.asked[0]).frequency for c in found])
    assert 0.3 - naive.mean() > 4 * naive.std() / 10


@pytest.mark.parametrize("size", [400, 4000])
def test_the_test_errs_as_often_as_stated(size: int) -> None:
    """1,000 seeded tests at 5% where nobody cheats: 50 expected, standard deviation 6.9. False alarms: 0.3%.

    With a chi-square law in place of the mixture, half as many would be rejected, which is 3.6 deviations away.
    """
    rng = np.random.default_rng(size)
    model = counted(DESIGNS, {"a": 1, "b": 1}, {"a": 2, "b": 2})
    rates = [0.35 * law.p + 0.65 * law.q for law in model.laws]
    surveys = [
        replace(model, n=2 * size, yes=tuple(rng.binomial(size, rates)), asked=(size, size)) for _ in range(1000)
    ]
    p_values = np.array([survey.test().p_value for survey in surveys])
    assert abs(int((p_values <= 0.05).sum()) - 50) <= 20
    assert np.mean(p_values == 1) == pytest.approx(0.5, abs=0.07)


def test_the_test_finds_cheaters() -> None:
    c = survey((0.3, 0.5), {"a": 1000, "b": 1000}, DESIGNS, np.random.default_rng(1))
    assert c.test().p_value < 1e-6 and c.test().rejects()
    assert "nobody cheats" in c.test().note


def test_likelihood_intervals_end_where_the_ratio_does() -> None:
    c = counted(DESIGNS, {"a": 92, "b": 148}, {"a": 200, "b": 200})
    yes, p, q = np.array([92, 148]), np.array([1.0, 1.0]), np.array([0.25, 0.75])

    def loglik(x: float, y: float) -> float:
        rate = np.clip(x * p + y * q, 1e-300, 1 - 1e-16)
        return float((yes * np.log(rate) + (200 - yes) * np.log(1 - rate)).sum())

    for end in (ends[2] for ends in c.interval(0.9)):
        best = scipy.optimize.minimize_scalar(
            lambda x, end=end: -loglik(x, 1 - end - x), bounds=(0, 1 - end), method="bounded", options={"xatol": 1e-10}
        )
        assert 2 * (c.loglik + best.fun) == pytest.approx(2.705543, abs=1e-4)


def test_at_the_edges_of_the_simplex() -> None:
    nobody = counted(DESIGNS, {"a": 0, "b": 0}, {"a": 50, "b": 50})
    assert nobody.share == pytest.approx([0, 0, 1]) and np.isfinite(nobody.stderr).all()
    assert nobody.interval().high[2] == 1 and nobody.interval().low[0] == 0
    everybody = counted(DESIGNS, {"a": 50, "b": 50}, {"a": 50, "b": 50})
    assert everybody.share == pytest.approx([1, 0, 0]) and everybody.test().p_value == 1
    json.dumps(everybody.to_dict(), allow_nan=False)


def test_it_is_shown() -> None:
    c = counted(DESIGNS, {"a": 460, "b": 740}, {"a": 1000, "b": 1000})
    assert c["cheaters"].share == pytest.approx(0.12) and len(c) == 3
    assert "no finite epsilon" in c.caption and "cheaters" in str(c) and "<table>" in c._repr_html_()
    record = json.loads(json.dumps(c.to_dict(), allow_nan=False))
    assert [row["label"] for row in record["estimates"]] == ["honest yes", "honest no", "cheaters"]
    assert record["groups"][0] == {"group": "a", "asked": 1000, "yes": 460, "design": repr(DESIGNS["a"]),
                                   "p": 1.0, "q": 0.25}  # fmt: skip
    assert [label.get_text() for label in c.plot().get_yticklabels()] == ["honest yes", "honest no", "cheaters"]
    assert "Cheating honest yes" in repr(c)
    with pytest.raises(sv.ParameterError, match="population"):
        c.rows(population=False)


def test_answers_may_be_words() -> None:
    by_words = sv.cheating(["yes", "no", "Yes", "no"], ["a", "a", "b", "b"], DESIGNS)
    assert by_words.share == pytest.approx(sv.cheating([1, 0, True, 0], ["a", "a", "b", "b"], DESIGNS).share)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (([1, 0], ["a"], DESIGNS), "as many as answers"),
        (([1, 0], ["a", "z"], DESIGNS), "'z' has none"),
        (([1, 0], ["a", "a"], DESIGNS), "'b' has none"),
        (([1, 2], ["a", "b"], DESIGNS), "must hold 0"),
        (([1, math.nan], ["a", "b"], DESIGNS), "finite"),
        (([1, 0], ["a", "b"], {"a": DESIGNS["a"]}), "two groups or more"),
        (([1, 0], ["a", "b"], "warner"), "two groups or more"),
        (([1, 0], ["a", "b"], {"a": DESIGNS["a"], "b": DESIGNS["a"]}), "must differ"),
        (([1, 0], ["a", "b"], {"a": DESIGNS["a"], "b": 7}), "design of 'b'"),
        (([], [], DESIGNS), "column of numbers"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(sv.ParameterError, match=reason) as caught:
        sv.cheating(*arguments)
    assert "\n" not in str(caught.value)
