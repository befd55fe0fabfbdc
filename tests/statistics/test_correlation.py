"""Correlations behind randomized answers: unbiased, with errors that hold and a test that errs as stated."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import pearsonr

import sottovoce as sv
from sottovoce.statistics.proportions.correlation import Correlation

WARNER = sv.designs.Warner("4/5")
DICE = sv.designs.Forced("4/6", "1/6", "1/6")
CASES = {"both": (WARNER, DICE), "one": (WARNER, None), "none": (None, None)}


def told(truth: NDArray[Any], design: Any, rng: np.random.Generator) -> NDArray[Any]:
    if design is None:
        return truth
    return (rng.random(truth.size) < np.where(truth, float(design.p), float(design.q))).astype(np.int64)


def pair(n: int, case: str, effect: float, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """A yes or no, and another or a number that goes with it, as they were told."""
    x = rng.random(n) < 0.4
    y = rng.random(n) < 0.3 + effect * x if case == "both" else effect * 3 * x + rng.normal(size=n)
    return told(x, CASES[case][0], rng), told(y, CASES[case][1], rng)


def truth(case: str, effect: float) -> float:
    """The correlation in the population that `pair` draws from."""
    if case == "both":
        share = 0.3 + 0.4 * effect
        return effect * 0.24 / math.sqrt(0.24 * share * (1 - share))
    return 3 * effect * 0.24 / math.sqrt(0.24 * ((3 * effect) ** 2 * 0.24 + 1))


def study(case: str, effect: float, runs: int, seed: int) -> list[Correlation]:
    rng = np.random.default_rng(seed)
    return [sv.correlation(*pair(1500, case, effect, rng), *CASES[case]) for _ in range(runs)]


@pytest.mark.parametrize("case", CASES)
def test_correlations_are_recovered_and_covered(case: str) -> None:
    """600 seeded runs: mean within 4 of its errors, coverage within 4 points of 95%. False alarms: under 0.1% each."""
    results, expected = study(case, 0.3, 600, seed=2), truth(case, 0.3)
    found = np.array([result.correlation for result in results])
    assert abs(found.mean() - expected) < 4 * found.std() / math.sqrt(600)
    held = np.mean([low <= expected <= high for low, high in (result.interval() for result in results)])
    assert abs(held - 0.95) < 0.04


@pytest.mark.parametrize("case", ["both", "one"])
def test_answers_as_they_are_would_understate_it(case: str) -> None:
    """The broken twin: the same check on the correlation of the answers themselves fails."""
    results, expected = study(case, 0.3, 600, seed=2), truth(case, 0.3)
    apparent = np.array([result.apparent for result in results])
    assert expected - apparent.mean() > 4 * apparent.std() / math.sqrt(600)
    assert apparent.mean() < 0.7 * expected


@pytest.mark.parametrize("case", CASES)
def test_the_test_errs_as_often_as_stated(case: str) -> None:
    """1,000 seeded tests of a true null at 5%: 50 expected, standard deviation 6.9. False alarms: 0.2% in each case."""
    rejected = sum(result.test().rejects() for result in study(case, 0.0, 1000, seed=4))
    assert abs(rejected - 50) <= 21


def test_public_numbers_have_pearsons_correlation() -> None:
    x, y = pair(200, "none", 0.3, np.random.default_rng(1))
    found, known = sv.correlation(x, y), pearsonr(x, y)
    assert found.correlation == pytest.approx(known.statistic) and found.test().p_value == pytest.approx(known.pvalue)
    assert found.epsilon == 0 and found.apparent == pytest.approx(found.correlation)


def test_phi_is_that_of_the_estimated_table() -> None:
    """Two yes-or-no variables: invert the table of answers, and take phi of it."""
    x, y = pair(3000, "both", 0.3, np.random.default_rng(1))
    table = np.array([[np.sum((x == i) & (y == j)) for j in (0, 1)] for i in (0, 1)]) / 3000
    one, other = (np.array(design.matrix, dtype=float).T for design in (WARNER, DICE))
    cells = np.linalg.inv(one) @ table @ np.linalg.inv(other).T
    mx, my = cells[1].sum(), cells[:, 1].sum()
    phi = (cells[1, 1] - mx * my) / math.sqrt(mx * (1 - mx) * my * (1 - my))
    assert sv.correlation(x, y, WARNER, DICE).correlation == pytest.approx(phi)


def test_the_error_agrees_with_the_bootstrap() -> None:
    """Within 10%; 400 replicates have a relative error of 3.5%."""
    rng = np.random.default_rng(1)
    x, y = pair(3000, "both", 0.3, rng)
    rows = [rng.integers(0, 3000, 3000) for _ in range(400)]
    again = [sv.correlation(x[row], y[row], WARNER, DICE).correlation for row in rows]
    assert np.std(again) == pytest.approx(sv.correlation(x, y, WARNER, DICE).stderr, rel=0.1)


def test_it_does_not_depend_on_units_or_order() -> None:
    x, y = pair(500, "one", 0.3, np.random.default_rng(1))
    first, second = sv.correlation(x, y, WARNER), sv.correlation(1e6 - 1e9 * y, x, None, WARNER)
    assert first.correlation == pytest.approx(-second.correlation) and first.stderr == pytest.approx(second.stderr)


def test_it_is_shown_with_its_designs() -> None:
    coins = sv.RandomizedResponse.from_coins()
    reports = coins.randomize_many([True, False, False] * 200, seed=1)
    result = sv.correlation(reports, list(range(600)), coins)
    assert "SIMULATED" in result.caption and "y public" in result.caption and "coins" not in result.caption
    assert str(result).startswith("value") and "<table>" in result._repr_html_()
    assert json.loads(json.dumps(result.to_dict()))["estimates"][0]["correlation"] == result.correlation
    assert list(result.to_frame()["label"]) == ["correlation"] and result.plot().get_xlabel()
    low, high = result.interval(0.999999)
    assert -1 <= low <= high <= 1
    assert "Correlation" in repr(result)
    with pytest.raises(sv.ParameterError, match="population"):
        result.rows(population=False)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (([1, 0, 1], [1, 0], WARNER, WARNER), "one length"),
        (([1, 0], [1, 0], WARNER, WARNER), "3 or more"),
        (([1, 0, 2], [1, 0, 1], WARNER, WARNER), "x must hold 0"),
        (([1, 0, 1], ["a", "b", "c"], WARNER), "y must be a column of numbers"),
        (([1, 0, 1], [1, math.nan, 2], WARNER), "finite"),
        (([1, 0, 1], [2, 2, 2], WARNER), "y must vary"),
        (([1, 1, 1], [1, 2, 3], WARNER), "x must vary"),
        (([0, 0, 0, 1] * 5 + [0] * 20, list(range(40)), WARNER), "x must vary"),
        (([1, 0, 1], [1, 0, 1], "warner", WARNER), "design of 'x'"),
        (([], [], WARNER, WARNER), "x must be a column"),
        (("101", [1, 0, 1], WARNER, WARNER), "x must be a column"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(sv.ParameterError, match=reason) as caught:
        sv.correlation(*arguments)
    assert "\n" not in str(caught.value)
