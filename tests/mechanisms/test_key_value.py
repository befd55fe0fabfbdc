"""Key-value answers: what is accepted, what shares, totals and means are worth, how often their intervals hold."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.core.domain import Keyed
from sottovoce.core.reports import Report
from sottovoce.estimates import KeyMeans
from sottovoce.testing import broken, contract, every_draw

NAN = float("nan")


def table(n: int, shares: list[float], seed: int = 0) -> NDArray[np.float64]:
    """Ratings from 1 to 5 for the first share of n people, skewed to the top; all those of the first key are 4."""
    held = np.arange(n)[:, None] < np.rint(np.array(shares) * n)
    ratings = 1 + 4 * np.random.default_rng(seed).beta(2, 1, held.shape)
    ratings[:, 0] = 4
    return np.where(held, ratings, NAN)


def estimates(m: sv.KeyValue, answers: NDArray[np.float64], runs: int, seed: int) -> list[KeyMeans]:
    n = len(answers)
    data = m.randomize_many(np.tile(answers, (runs, 1)), seed=seed).data
    return [m.tally().add_many(data[at : at + n]).estimate() for at in range(0, n * runs, n)]


def test_a_number_in_between_mixes_the_two_ends() -> None:
    """The law of any answer is a mixture of rows of the channel, exactly and over every draw: it spends no more."""
    m = sv.KeyValue(["a", "b"], 0, 8, epsilon=1.0)
    found: dict[Report, Fraction] = defaultdict(Fraction)
    answer = {"a": 2.0, "b": 7.0}
    for report, weight in every_draw(lambda source: m._perturb(m._encode(answer, source), source)):
        found[report] += weight
    channel: dict[Any, dict[Report, Fraction]] = m.channel()
    mixed: dict[Report, Fraction] = defaultdict(Fraction)
    for a, weight_a in ((0.0, Fraction(3, 4)), (8.0, Fraction(1, 4))):
        for b, weight_b in ((0.0, Fraction(1, 8)), (8.0, Fraction(7, 8))):
            for given, chance in channel[(("a", a), ("b", b))].items():
                mixed[given] += weight_a * weight_b * chance
    assert found == mixed


def test_epsilon_is_that_of_three_symbols() -> None:
    for epsilon in (0.1, 1.0, 4.0):
        assert sv.KeyValue(100, 0, 1, epsilon).epsilon == sv.KRR(3, epsilon).epsilon


def test_columns_round_like_single_answers() -> None:
    """Chi-square of a column against the exact law of an answer in between. False alarms: 1e-6."""
    m = sv.KeyValue(["a", "b"], 0, 8, epsilon=2.0)
    law: dict[Report, Fraction] = defaultdict(Fraction)
    answer = {"b": 7.0}
    for report, weight in every_draw(lambda source: m._perturb(m._encode(answer, source), source)):
        law[report] += weight
    data = m.randomize_many([answer] * 40_000, seed=2).data
    expected = 40_000 * np.array([float(law[report]) for report in range(m.cells)])
    assert contract.chi_square_tail(np.bincount(data, minlength=m.cells), expected) > 1e-6
    unrounded = m.randomize_many([{"b": 8.0}] * 40_000, seed=2).data
    assert contract.chi_square_tail(np.bincount(unrounded, minlength=m.cells), expected) < 1e-6


@pytest.mark.parametrize(
    "check", [contract.check_every_draw_gives_the_channel, contract.check_columns_have_the_same_law]
)
def test_absence_that_is_not_randomized_is_caught(check: Any) -> None:
    with pytest.raises(AssertionError):
        check(broken.AbsenceNotRandomized(2, 1, 5, 1.0))


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_shares_and_totals_are_unbiased_with_the_declared_error(epsilon: float) -> None:
    """Means within 5 standard errors, squared errors within 5% of the closed form over 20,000: below 1e-5.

    The squared error of a total is compared with what its own formula says at the true shares, less what a census of
    the respondents takes off.
    """
    assert_errors_are_as_declared(sv.KeyValue(5, 1, 5, epsilon))


def assert_errors_are_as_declared(m: sv.KeyValue) -> None:
    answers = table(200, [0.5, 0.1, 0.0, 0.8, 1.0])
    found = estimates(m, answers, 4000, seed=3)
    n, held = len(answers), ~np.isnan(answers)
    share, total = held.mean(axis=0), np.nansum(answers, axis=0)
    for name, truth, variance in (("share", share, share_variance), ("total", total / n, total_variance)):
        values = [e.shares.frequency if name == "share" else e.totals / n for e in found]
        errors = np.array(values) - truth
        assert (abs(errors.mean(axis=0)) < 5 * errors.std(axis=0) / math.sqrt(len(errors))).all(), f"biased {name}"
        declared = np.mean([variance(e, answers) for e in found])
        assert (errors**2).mean() / declared == pytest.approx(1, abs=0.05), f"another error of the {name}"


def share_variance(e: KeyMeans, answers: NDArray[np.float64]) -> NDArray[np.float64]:
    return linear_variance(e, answers, 1.0, 1.0)


def total_variance(e: KeyMeans, answers: NDArray[np.float64]) -> NDArray[np.float64]:
    return linear_variance(e, answers, *e.bounds)


def linear_variance(e: KeyMeans, answers: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Of low L + high H given the numbers asked, about just these respondents."""
    p, q, a, n = float(e.p), float(e.q), e.asked, e.n
    places = (answers - e.bounds[0]) / (e.bounds[1] - e.bounds[0])
    up, down = np.nan_to_num(places), np.nan_to_num(1 - places)
    says_high, says_low = q + (p - q) * up, q + (p - q) * down
    own = (says_low * low**2 + says_high * high**2 - (says_low * low + says_high * high) ** 2) / (p - q) ** 2
    between = (low * down + high * up).var(axis=0)
    return np.asarray(own.mean(axis=0) / a + between / a * (n - a) / (n - 1))


def test_the_error_of_a_skewed_device_is_seen() -> None:
    with pytest.raises(AssertionError, match="biased"):
        assert_errors_are_as_declared(broken.AbsenceNotRandomized(5, 1, 5, 1.0))


def coverage(n: int, shares: list[float], epsilon: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How often 95% intervals of means and shares hold over 2,000 runs: known to 0.5 points, so 1.5 are three of it."""
    answers = table(n, shares)
    share, mean = (~np.isnan(answers)).mean(axis=0), np.nanmean(answers, axis=0)
    m, runs = sv.KeyValue(len(shares), 1, 5, epsilon), 2000
    means, held = np.zeros(len(shares)), np.zeros(len(shares))
    for e in estimates(m, answers, runs, seed=5):
        low, high = e.interval(0.95)
        means += (low <= mean) & (mean <= high)
        low, high = e.shares.interval(0.95)
        held += (low <= share) & (share <= high)
    return means / runs, held / runs


@pytest.mark.parametrize(
    "epsilon", [1.0, pytest.param(2.0, marks=pytest.mark.slow), pytest.param(4.0, marks=pytest.mark.slow)]
)
def test_intervals_hold(epsilon: float) -> None:
    means, shares = coverage(5000, [0.5, 0.3, 0.9], epsilon)
    assert (abs(means - 0.95) < 0.015).all(), means
    assert (abs(shares - 0.95) < 0.015).all(), shares


@pytest.mark.parametrize(
    "epsilon", [1.0, pytest.param(2.0, marks=pytest.mark.slow), pytest.param(4.0, marks=pytest.mark.slow)]
)
def test_intervals_of_few_and_rare(epsilon: float) -> None:
    """Fifty people and four keys. Where little is known of a share, the interval of a mean is too wide, not wrong."""
    means, shares = coverage(50, [0.5, 0.2, 0.02, 0.9], epsilon)
    assert (means > 0.935).all(), means
    assert (shares > 0.93).all() and (shares < 0.985).all(), shares
    assert (coverage(5000, [0.02, 0.005, 0.5], epsilon)[0] > 0.935).all()


def test_the_normal_interval_would_not_hold() -> None:
    """The study sees what it should: plus or minus two delta-method errors is too short for fifty people."""
    answers = table(50, [0.5, 0.2, 0.02, 0.9])
    mean = np.nanmean(answers, axis=0)
    found = estimates(sv.KeyValue(4, 1, 5, 4.0), answers, 1000, seed=5)
    assert np.mean([abs(e.mean[0] - mean[0]) <= 1.96 * e.stderr[0] for e in found]) < 0.9


def test_the_mean_and_its_error() -> None:
    """For a share that is well known the ratio is unbiased enough, and its error is the delta method's, within 5%."""
    answers = table(5000, [0.5, 0.3, 0.9])
    mean = np.nanmean(answers, axis=0)
    found = estimates(sv.KeyValue(3, 1, 5, 2.0), answers, 2000, seed=9)
    errors = np.array([e.mean for e in found]) - mean
    declared = np.sqrt(np.mean([e.stderr**2 for e in found], axis=0))
    assert (abs(errors.mean(axis=0)) < 0.1 * declared).all()
    assert (abs(np.sqrt((errors**2).mean(axis=0)) / declared - 1) < 0.05).all()


def test_the_error_of_a_ratio_is_what_the_delta_method_says() -> None:
    """The closed form of the docs: (q (r^2 + (1-r)^2) - q^2 (1-2r)^2 + (p-q) f r (1-r)) / (a f^2 (p-q)^2)."""
    m = sv.KeyValue(2, 0, 1, epsilon=1.0)
    e = m.tally().add_many([0] * 400 + [1] * 500 + [2] * 900).estimate()
    p, q, f, r = float(m.p), float(m.q), e.shares.frequency[0], e.mean[0]
    inside = q * (r**2 + (1 - r) ** 2) - q**2 * (1 - 2 * r) ** 2 + (p - q) * f * r * (1 - r)
    assert e.stderr[0] == pytest.approx(math.sqrt(inside / 1800) / (f * (p - q)), rel=1e-12)


@pytest.mark.parametrize("reports", [[0], [1], [2], [5], [0, 0, 3], [0, 1, 2, 3, 4, 5], [2] * 9, [0] * 9])
@pytest.mark.parametrize("p", [0.2, 0.4, 0.99])
def test_nothing_is_ever_nan(reports: list[int], p: float) -> None:
    e = sv.KeyValue(3, -1, 1, p=p).tally().add_many(reports).estimate()
    for population in (False, True):
        json.dumps(e.to_dict(population=population), allow_nan=False)
        json.dumps(e.to_dict(simultaneous=True, population=population), allow_nan=False)
    assert np.isfinite(e.totals).all() and np.isfinite(e.totals_stderr).all()
    low, high = e.interval()
    assert (low >= -1).all() and (low <= e.mean).all() and (e.mean <= high).all() and (high <= 1).all()
    assert (e.stderr <= 1).all()


@pytest.mark.filterwarnings("error")
def test_a_share_of_just_zero_divides_nothing() -> None:
    m = sv.KeyValue(2, -1, 1, p=0.5)
    e = m.tally().add_many([0, 1]).estimate()
    assert (float(m.q), e.shares.frequency[0]) == (0.25, 0)
    assert (e.mean[0], e.stderr[0]) == (0, 1)


def test_a_key_that_nobody_holds_has_the_whole_range() -> None:
    e = sv.KeyValue(["a", "b"], 1, 5, epsilon=1.0).tally().add_many([0] * 500 + [3] * 200 + [4] * 300).estimate()
    row = e["a"]
    assert row.share < 0
    assert (row.mean, row.stderr, row.low, row.high) == (3.0, 2.0, 1.0, 5.0)


def test_the_result_is_consistent() -> None:
    m = sv.KeyValue(["film", "book"], 1, 5, epsilon=2.0)
    e = m.tally().add_many(m.randomize_many([{"film": 4}, {"film": 2, "book": 5}, {}] * 500, seed=1)).estimate()
    assert (e.n, len(e), list(e.labels), e.simulated) == (1500, 2, ["film", "book"], True)
    assert e.totals[0] == pytest.approx(1500 * e.shares.frequency[0] * e.mean[0])
    assert e.mean[1] == 5 and e.totals[1] > 1500 * e.shares.frequency[1] * 5  # The ratio is cut, the total is not.
    assert (e.population_stderr == e.stderr).all()
    low, high = e.interval()
    for wider in (e.interval(0.99), e.interval(simultaneous=True)):
        assert (wider.low < low).all() and (wider.high >= high).all()
    names = ["label", "asked", "share", "share_stderr", "mean", "stderr", "low", "high"]
    assert e.to_frame().columns.tolist() == names
    assert e.rows(population=True)[0].share_stderr > e.rows()[0].share_stderr
    assert "share_stderr" in str(e) and "SIMULATED" in str(e)
    assert repr(e) == "<Shares and means of 2 keys; n = 1,500; epsilon = 2; SIMULATED with a seed: not private>"
    with pytest.raises(sv.DomainError, match="no key 'game'"):
        e["game"]


def test_every_way_to_write_an_answer() -> None:
    keyed = Keyed(["film", "book"], 1, 5)
    pairs: list[Any] = [("film", 2), ("book", 5)]
    for value in (dict(pairs), pairs, tuple(pairs), [["book", 5.0], ["film", np.int64(2)]]):
        assert keyed.encode(value) == {0: 0.25, 1: 1.0}
    assert keyed.encode({}) == keyed.encode([]) == {}
    assert Keyed.from_dict(keyed.to_dict()) == keyed
    clip = Keyed(["film", "book"], 1, 5, outside="clip")
    assert clip.encode({"film": 0, "book": 9}) == {0: 0.0, 1: 1.0}
    assert keyed.decode(0) == () and keyed.labels[5] == (("film", 5.0), ("book", 1.0))


def test_every_way_to_write_a_column() -> None:
    m = sv.KeyValue(["film", "book"], 1, 5, epsilon=1.0)
    rows: list[dict[str, float]] = [{"film": 2}, {}, {"book": 5, "film": 1}, {"book": 3.5}] * 5
    cells = [[row.get("film", NAN), row.get("book", NAN)] for row in rows]
    wanted = m.randomize_many(rows, seed=4).data
    columns: list[Any] = [
        pd.Series(rows),
        [list(row.items()) for row in rows],
        np.array(cells),
        pd.DataFrame(cells, columns=["film", "book"]),
        pl.DataFrame(cells, schema=["film", "book"], orient="row"),
    ]
    for column in columns:
        assert (m.randomize_many(column, seed=4).data == wanted).all()
    assert len(m.randomize_many([], seed=4)) == 0
    clip = sv.KeyValue(["film", "book"], 1, 5, epsilon=1.0, outside="clip")
    outside, inside = np.array([[9.0, NAN], [-3.0, 2.0]]), np.array([[5.0, NAN], [1.0, 2.0]])
    assert (clip.randomize_many(outside, seed=4).data == clip.randomize_many(inside, seed=4).data).all()


def test_thousands_of_keys() -> None:
    m = sv.KeyValue(3000, 0, 1, epsilon=1.0)
    assert m.bits == 14 and repr(m) == "KeyValue(3000 keys, epsilon=1)"
    m.shape.check(m.randomize({0: 0.3, 2999: 1.0}))
    e = m.tally().add_many(m.randomize_many([{7: 0.3, 2999: 1.0}, {}] * 100, seed=1)).estimate()
    assert np.isfinite(np.array(tuple(e.interval()))).all()
    with pytest.raises(sv.ParameterError, match="at most 2\\^20 entries"):
        m.channel()


BAD_VALUES: list[tuple[Any, str]] = [
    (None, "must not be missing"),
    (NAN, "must not be missing"),
    ("film", "must map keys to numbers"),
    (3, "must map keys to numbers"),
    (["film"], "must map keys to numbers"),
    ({"film"}, "must map keys to numbers"),
    ({"game": 1}, "got 'game'"),
    ({None: 1}, "must not be missing"),
    ({"film": NAN}, "must be a finite number, got nan"),
    ({"film": math.inf}, "must be a finite number, got inf"),
    ({"film": None}, "must be a finite number, got None"),
    ({"film": "4"}, "must be a finite number, got '4'"),
    ({"film": True}, "must be a finite number, got True"),
    ({"film": 5.01}, "must be from 1 to 5, got 5.01"),
    ({"film": 0}, "must be from 1 to 5, got 0"),
    ([("film", 1), ("film", 1)], "each key once, got 'film' twice"),
]


@pytest.mark.parametrize(("value", "message"), BAD_VALUES, ids=repr)
def test_bad_answers(value: Any, message: str) -> None:
    m = sv.KeyValue(["film", "book"], 1, 5, epsilon=1.0)
    with pytest.raises(sv.DomainError, match=message):
        m.randomize(value)
    with pytest.raises(sv.DomainError, match=f"row 12: .*{message}"):
        m.randomize_many([{"film": 1}, {}, value], first_row=10)


BAD_TABLES: list[Any] = [
    np.ones((4, 3)),
    np.full((4, 2), 6.0),
    np.full((4, 2), math.inf),
    np.full((4, 2), "1"),
    np.ones((4, 2), dtype=bool),
    pd.DataFrame(np.ones((4, 2)), columns=["book", "film"]),
    "film",
]


@pytest.mark.parametrize("column", BAD_TABLES, ids=range(len(BAD_TABLES)))
def test_bad_columns(column: Any) -> None:
    with pytest.raises(sv.DomainError):
        sv.KeyValue(["film", "book"], 1, 5, epsilon=1.0).randomize_many(column)


def with_domain(**changes: Any) -> dict[str, Any]:
    good = sv.KeyValue(3, 0, 1, epsilon=1.0).to_dict()
    return good | {"domain": good["domain"] | changes}


BAD: list[tuple[Any, str]] = [
    (lambda: sv.KeyValue(3, 0, 1), "give either epsilon or p"),
    (lambda: sv.KeyValue(3, 0, 1, 1.0, p=0.75), "give either epsilon or p"),
    (lambda: sv.KeyValue(3, 0, 1, 0), "epsilon must be positive, got 0"),
    (lambda: sv.KeyValue(3, 1, 1, 1.0), "low must be less than high, got 1 and 1"),
    (lambda: sv.KeyValue(3, 2, 1, 1.0), "low must be less than high, got 2 and 1"),
    (lambda: sv.KeyValue(3, NAN, 1, 1.0), "low must be a finite number, got nan"),
    (lambda: sv.KeyValue(3, 0, math.inf, 1.0), "high must be a finite number, got inf"),
    (lambda: sv.KeyValue(3, False, True, 1.0), "low must be a finite number, got False"),
    (lambda: sv.KeyValue(3, -1e308, 1e308, 1.0), "high - low must be finite"),
    (lambda: sv.KeyValue(3, 0, 1, 1.0, outside="drop"), "outside must be one of refuse, clip, got 'drop'"),
    (lambda: sv.KeyValue(["a"], 0, 1, 1.0), "from 2 to"),
    (lambda: sv.KeyValue(sv.Domain(3, missing="category"), 0, 1, 1.0), "keys must have the policy 'refuse'"),
    (lambda: sv.mechanism(with_domain(low=2)), "low must be less than high"),
    (lambda: sv.mechanism(with_domain(outside=None)), "outside must be one of"),
    (lambda: sv.mechanism(with_domain(keys=1)), "from 2 to"),
    (lambda: sv.mechanism(with_domain(extra=1)), "must have the fields keys, low, high and outside"),
]


@pytest.mark.parametrize(("attempt", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_parameters(attempt: Any, message: str) -> None:
    with pytest.raises(sv.ParameterError, match=message):
        attempt()


@pytest.mark.parametrize("odd", [-1, 2, 3, 4, "-0", None])
@pytest.mark.parametrize("rest", [[], [(0, 1)]])
def test_what_fills_an_answer_up_is_no_key(odd: Any, rest: list[Any]) -> None:
    """Answers are filled up to as many pairs as there are keys. Nobody can hold what they are filled up with."""
    for keys in (2, ["a", "b"]):
        m = sv.KeyValue(keys, 0, 1, 1.0)
        known = [(m.domain.keys.labels[key], number) for key, number in rest]
        names = [odd, *[name for row in m.domain._fillers for name, _ in row]]
        for name in names:
            with pytest.raises(sv.DomainError):
                m.randomize([*known, (name, 0.5)])
