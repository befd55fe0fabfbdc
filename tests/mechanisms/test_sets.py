"""Answers that are sets: what is accepted, what the estimate is worth, and how often its intervals hold."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import loaded_modules
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.core.domain import Options
from sottovoce.estimates import Shares
from sottovoce.testing import broken, every_draw

DRINKS = ["tea", "coffee", "water"]


def table(n: int, shares: list[float]) -> NDArray[np.bool_]:
    """Of n respondents, the first share holds each option: sets of all sizes, and options that go together."""
    holders = np.rint(np.array(shares) * n)
    held: NDArray[np.bool_] = np.arange(n)[:, None] < holders
    return held


def estimates(m: sv.Sets, answers: NDArray[np.bool_], runs: int, seed: int) -> list[Shares]:
    n = len(answers)
    data = m.randomize_many(np.tile(answers, (runs, 1)), seed=seed).data
    return [m.tally().add_many(data[at : at + n]).estimate() for at in range(0, n * runs, n)]


def variance(e: Shares, f: NDArray[np.float64]) -> NDArray[np.float64]:
    """The closed form, given how many were asked."""
    p, q, a = float(e.p), float(e.q), e.asked
    noise = f * p * (1 - p) + (1 - f) * q * (1 - q)
    return noise / (a * (p - q) ** 2) + f * (1 - f) / a * (e.n - a) / (e.n - 1)


def test_the_variance_is_exact() -> None:
    """Every way to ask five respondents about two options, every noise: mean and variance in fractions."""
    n, held, p = 5, [1, 1, 0, 0, 0], Fraction(3, 4)
    q, f = 1 - p, Fraction(2, 5)
    laws: dict[int, dict[Fraction, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for asked in range(1, 2**n):
        who = [holds for at, holds in enumerate(held) if asked >> at & 1]
        for yes in range(2 ** len(who)):
            said = [yes >> at & 1 for at in range(len(who))]
            chance = Fraction(math.prod(p if s == holds else q for s, holds in zip(said, who, strict=True)))
            estimate = (Fraction(sum(said), len(who)) - q) / (p - q)
            laws[len(who)][estimate] += chance / math.comb(n, len(who))
    m = sv.Sets(2, p=float(p))
    for a, law in laws.items():
        assert sum(law.values()) == 1
        assert sum(value * chance for value, chance in law.items()) == f
        spread = sum((value - f) ** 2 * chance for value, chance in law.items())
        e = Shares(m.domain.options, n, np.array([a, a]), np.array([0, 0]), m.p, m.q, m.epsilon)
        assert variance(e, np.array([0.4]))[0] == pytest.approx(float(spread), rel=1e-12)


def test_stderr_is_the_closed_form_at_the_estimate() -> None:
    m = sv.Sets(DRINKS, epsilon=1.0)
    e = m.tally().add_many([0] * 30 + [1] * 40 + [2] * 20 + [3] * 10 + [4] * 50).estimate()
    clipped = e.frequency.clip(0, 1)
    np.testing.assert_allclose(e.stderr**2, variance(e, clipped))
    np.testing.assert_allclose(
        e.population_stderr**2 - e.stderr**2, clipped * (1 - clipped) / e.asked * (e.asked - 1) / (e.n - 1), atol=1e-15
    )


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_shares_are_unbiased_with_the_declared_error(epsilon: float) -> None:
    """Mean within 5 standard errors, squared error within 5% of the closed form over 20,000 estimates: below 1e-5."""
    assert_errors_are_as_declared(sv.Sets(5, epsilon))


def assert_errors_are_as_declared(m: sv.Sets, runs: int = 4000) -> None:
    answers = table(200, [0.0, 0.1, 0.5, 0.8, 1.0])
    truth = answers.mean(axis=0)
    found = estimates(m, answers, runs, seed=3)
    errors = np.array([e.frequency for e in found]) - truth
    assert (abs(errors.mean(axis=0)) < 5 * errors.std(axis=0) / math.sqrt(len(errors))).all(), "biased"
    declared = np.mean([variance(e, truth) for e in found])
    assert (errors**2).mean() / declared == pytest.approx(1, abs=0.05), "another variance than declared"
    assert declared * 200 <= m.variance * 1.05


def test_asking_what_is_held_is_biased() -> None:
    with pytest.raises(AssertionError, match="biased"):
        assert_errors_are_as_declared(BrokenOnTables(5, 1.0), runs=200)


class BrokenOnTables(broken.AsksWhatItHolds):
    def _encode_many(self, values: Any, stream: Any, first_row: int) -> NDArray[np.int64]:
        return super()._encode_many([np.flatnonzero(row) for row in values], stream, first_row)


def coverage(n: int, shares: list[float], epsilon: float) -> NDArray[np.float64]:
    """How often 95% intervals hold over 2,000 runs: known to 0.5 points, so that 1.5 points are three of them."""
    answers = table(n, shares)
    truth, runs, hits = answers.mean(axis=0), 2000, np.zeros(len(shares))
    for e in estimates(sv.Sets(len(shares), epsilon), answers, runs, seed=7):
        low, high = e.interval(0.95)
        hits += (low <= truth) & (truth <= high)
    return hits / runs


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_intervals_hold(epsilon: float) -> None:
    found = coverage(1000, [0.5, 0.2, 0.02, 0.0], epsilon)
    assert (abs(found - 0.95) < 0.015).all(), found


def test_intervals_of_few_and_rare() -> None:
    """Fifty people and ten options: five are asked about each, and still 91% hold, of rare options too."""
    shares = [0.5, 0.3, 0.1, 0.02, 0.0, 0.9, 0.98, 1.0]
    for epsilon in (0.5, 1.0, 2.0):
        found = coverage(50, [*shares, 0.5, 0.5], epsilon)
        assert (found > 0.93).all() and (found < 0.985).all(), found
    assert (coverage(50, [*shares, 0.5, 0.5], 4.0) > 0.9).all()


def test_intervals_about_a_population_hold() -> None:
    """The respondents are drawn anew in each run. Intervals about the respondents only are then too short."""
    n, runs, shares = 500, 2000, np.array([0.5, 0.2])
    answers = np.random.default_rng(1).random((n * runs, 2)) < shares
    m = sv.Sets(2, epsilon=4.0)
    data = m.randomize_many(answers, seed=1).data
    hits = np.zeros((2, 2))
    for at in range(0, n * runs, n):
        e = m.tally().add_many(data[at : at + n]).estimate()
        for population in (False, True):
            low, high = e.interval(0.95, population=population)
            hits[int(population)] += (low <= shares) & (shares <= high)
    assert (abs(hits[1] / runs - 0.95) < 0.015).all(), hits / runs
    assert (hits[0] / runs < 0.9).all(), hits / runs


def test_without_the_luck_of_who_was_asked_intervals_fail() -> None:
    """The study sees what it should: at epsilon 4 the randomizer's noise alone covers far too little."""
    m = sv.Sets(4, 4.0)
    answers = table(1000, [0.5, 0.2, 0.3, 0.7])
    truth = answers.mean(axis=0)
    p, q = float(m.p), float(m.q)
    found = estimates(m, answers, 500, seed=7)
    hits = [abs(e.frequency - truth) <= 1.96 * np.sqrt(p * q / e.asked) / (p - q) for e in found]
    assert np.mean(hits) < 0.6


def test_an_option_that_nobody_was_asked_about() -> None:
    e = sv.Sets(DRINKS, epsilon=1.0).tally().add(1).estimate()
    assert e.asked.tolist() == [1, 0, 0]
    row = e["water"]
    assert (row.asked, row.frequency, row.stderr, row.low, row.high) == (0, 0.5, 0.5, 0.0, 1.0)
    for population in (False, True):
        for simultaneous in (False, True):
            record = json.dumps(e.to_dict(simultaneous=simultaneous, population=population), allow_nan=False)
            assert json.loads(record)["n"] == 1


def test_the_result_is_consistent() -> None:
    m = sv.Sets(DRINKS, epsilon=2.0)
    e = m.tally().add_many(m.randomize_many([{"tea"}, {"tea", "water"}, set()] * 500, seed=1)).estimate()
    assert (e.n, len(e), list(e.labels), e.simulated) == (1500, 3, DRINKS, True)
    np.testing.assert_allclose(e.counts, e.frequency * 1500)
    assert e.asked.sum() == 1500
    low, high = e.interval()
    assert (low < e.frequency).all() and (e.frequency < high).all()
    for wider in (e.interval(0.99), e.interval(simultaneous=True), e.interval(population=True)):
        assert (wider.low.clip(0, 1) <= low.clip(0, 1)).all() and (wider.high > high).all()
    assert e.to_frame().columns.tolist() == ["label", "asked", "counts", "frequency", "stderr", "low", "high"]
    assert "asked" in str(e) and "SIMULATED" in str(e) and "<table>" in e._repr_html_()
    assert repr(e) == "<Shares of 3 options; n = 1,500; epsilon = 2; SIMULATED with a seed: not private>"
    with pytest.raises(sv.DomainError, match="no option 'milk'"):
        e["milk"]
    with pytest.raises(sv.ParameterError, match="level must lie strictly between 0 and 1"):
        e.interval(1.0)


def test_for_many_asked_the_intervals_are_the_normal_ones() -> None:
    m = sv.Sets(2, epsilon=1.0)
    e = m.tally().add_many(np.tile([0, 1, 1, 2, 3], 100_000)).estimate()
    low, high = e.interval()
    np.testing.assert_allclose(low, e.frequency - 1.959964 * e.stderr, atol=2e-5)
    np.testing.assert_allclose(high, e.frequency + 1.959964 * e.stderr, atol=2e-5)


def test_every_way_to_write_a_set() -> None:
    options = Options(DRINKS)
    for value in ({"tea", "water"}, frozenset({"tea", "water"}), ["water", "tea", "tea"], ("tea", "water"),
                  np.array(["tea", "water"])):  # fmt: skip
        assert options.encode(value) == 0b101
    assert options.encode(set()) == options.encode([]) == 0
    assert options.labels[0b110] == ("coffee", "water")
    assert Options.from_dict(options.to_dict()) == options
    assert Options(4).encode([3, 0]) == 9


def test_every_way_to_write_a_column() -> None:
    m = sv.Sets(DRINKS, epsilon=1.0)
    rows = [["tea"], [], ["coffee", "water"], DRINKS] * 5
    truths = [[drink in row for drink in DRINKS] for row in rows]
    wanted = m.randomize_many(rows, seed=4).data
    columns: list[Any] = [
        pd.Series(rows),
        pl.Series(rows),
        pa.array(rows),
        [set(row) for row in rows],
        np.array(truths),
        np.array(truths, dtype=np.uint8),
        pd.DataFrame(truths, columns=DRINKS),
        pl.DataFrame(truths, schema=DRINKS, orient="row"),
    ]
    for column in columns:
        assert (m.randomize_many(column, seed=4).data == wanted).all()
    assert len(m.randomize_many([], seed=4)) == 0


def test_thousands_of_options() -> None:
    m = sv.Sets(5000, epsilon=1.0)
    assert m.bits == 14 and repr(m) == "Sets(5000 options, epsilon=1)"
    assert m.shape.check(m.randomize(range(0, 5000, 2))) < 10_000
    rows: list[Any] = [range(at, 5000, 7) for at in range(7)] * 100
    held = m.domain.encode_many(rows)
    assert (np.unpackbits(held, axis=1, bitorder="little")[:7, :5000].sum(axis=0) == 1).all()
    e = m.tally().add_many(m.randomize_many(rows, seed=1)).estimate()
    assert np.isfinite(np.array(tuple(e.interval()))).all()
    with pytest.raises(sv.ParameterError, match="at most 2\\^20 entries"):
        m.channel()
    with pytest.raises(sv.ParameterError, match="at most 16 options"):
        m.domain.labels  # noqa: B018


NAN = float("nan")
BAD_VALUES: list[tuple[Any, str]] = [
    (None, "must not be missing"),
    (NAN, "must not be missing"),
    ("", "must not be missing"),
    (pd.NA, "must not be missing"),
    ("tea", "must be a set or a list of options, got 'tea'"),
    (b"tea", "must be a set or a list"),
    ({"tea": 1}, "must be a set or a list"),
    (1, "must be a set or a list"),
    (["milk"], "got 'milk'"),
    (["tea", None], "must not be missing"),
    (["tea", NAN], "must not be missing"),
    ([["tea"]], "must be one of the 3 values"),
]


@pytest.mark.parametrize(("value", "message"), BAD_VALUES, ids=repr)
def test_bad_answers(value: Any, message: str) -> None:
    m = sv.Sets(DRINKS, epsilon=1.0)
    with pytest.raises(sv.DomainError, match=message):
        m.randomize(value)
    with pytest.raises(sv.DomainError, match=f"row 12: .*{message}"):
        m.randomize_many([["tea"], [], value], first_row=10)


BAD_TABLES: list[Any] = [
    np.zeros((4, 2), dtype=bool),
    np.zeros((4, 3)),
    np.full((4, 3), 2),
    np.full((4, 3), -1),
    pd.DataFrame(np.zeros((4, 3), dtype=bool), columns=["coffee", "tea", "water"]),
    np.zeros((2, 3, 3), dtype=bool),
    "tea",
    5,
]


@pytest.mark.parametrize("column", BAD_TABLES, ids=range(len(BAD_TABLES)))
def test_bad_columns(column: Any) -> None:
    with pytest.raises(sv.DomainError):
        sv.Sets(DRINKS, epsilon=1.0).randomize_many(column)


BAD: list[tuple[Any, str]] = [
    (lambda: sv.Sets(DRINKS), "give either epsilon or p"),
    (lambda: sv.Sets(DRINKS, 1.0, p=0.75), "give either epsilon or p"),
    (lambda: sv.Sets(DRINKS, -1.0), "epsilon must be positive, got -1"),
    (lambda: sv.Sets(DRINKS, NAN), "epsilon must be a number, got nan"),
    (lambda: sv.Sets(DRINKS, p=0.5), "p must differ from 1/2"),
    (lambda: sv.Sets(["tea"], 1.0), "from 2 to"),
    (lambda: sv.Sets(["tea", "tea"], 1.0), "must differ"),
    (lambda: sv.Sets(sv.Domain(3, missing="category"), 1.0), "options must have the policy 'refuse'"),
    (lambda: sv.mechanism(sv.Sets(3, 1.0).to_dict() | {"domain": {"options": "abc"}}), "must be a number or a list"),
    (lambda: sv.mechanism(sv.Sets(3, 1.0).to_dict() | {"domain": {"options": [1]}}), "from 2 to"),
    (lambda: sv.mechanism(sv.Sets(3, 1.0).to_dict() | {"domain": 3}), "must have the field options"),
]


@pytest.mark.parametrize(("attempt", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_parameters(attempt: Any, message: str) -> None:
    with pytest.raises(sv.ParameterError, match=message):
        attempt()


def test_a_device_needs_the_standard_library_alone() -> None:
    program = """
import sottovoce as sv
s = sv.Sets(["a", "b"], 1.0); s.randomize(["b"]), s.variance, sv.mechanism(s.to_dict()), s.channel()
k = sv.KeyValue(["a", "b"], 1, 5, 1.0); k.randomize({"b": 2.5}), sv.mechanism(k.to_dict()), k.channel()
"""
    assert loaded_modules.run(program) == "[]\n"


def test_the_leak_of_asking_what_is_held_is_infinite() -> None:
    """Written down honestly, the broken twin's law has no finite epsilon."""
    twin = broken.AsksWhatItHolds(2, 1.0)
    laws = []
    for label in twin.domain.labels:
        law: dict[Any, Fraction] = defaultdict(Fraction)
        for report, weight in every_draw(lambda source: twin._perturb(twin._encode(label, source), source)):  # noqa: B023
            law[report] += weight
        laws.append(law)
    assert any(report not in law for law in laws for other in laws for report in other)


@pytest.mark.parametrize("options", [3, ["a", "b", "c"], [1, "b", 2.5]])
@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_what_fills_an_answer_up_is_no_option(options: Any, kind: Any) -> None:
    """Answers are filled up to as many entries as there are options. Nobody can hold what they are filled up with."""
    m = sv.Sets(options, 1.0)
    labels = list(m.domain.options.labels)
    for held in ([], labels[:1], labels[:2], labels):
        with pytest.raises(sv.DomainError):
            m.randomize(kind([*held, m.domain._filler]))
        assert m.domain.encode(kind(held)) == 2 ** len(held) - 1
