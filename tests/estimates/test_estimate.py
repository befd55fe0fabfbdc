from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.mechanisms.frequency.pure import Pure


def simulated(n: int = 3000) -> sv.Estimate:
    m = sv.KRR(sv.Domain(["ape", "bee", "cat"], missing="category"), epsilon=1.0)
    return m.tally().add_many(m.randomize_many((["ape"] * 6 + ["bee"] * 3 + [None]) * (n // 10), seed=2)).estimate()


def test_the_formula_of_the_lecture() -> None:
    """Truth 3/4 on n answers: the estimate is 2 V/n - 1/2 and its standard deviation sqrt(3/(4n))."""
    n, yes = 80, 37
    e = sv.RandomizedResponse.from_truth(0.75).tally().add_many([1] * yes + [0] * (n - yes)).estimate()
    assert e[True].frequency == pytest.approx(2 * yes / n - 0.5)
    assert e[True].stderr == pytest.approx(math.sqrt(3 / (4 * n)))


@given(st.floats(0.1, 8), st.integers(2, 50), st.floats(0, 1), st.integers(1, 10**6))
def test_variances_are_the_closed_forms(epsilon: float, size: int, share: float, n: int) -> None:
    m = sv.Unary(size, epsilon=epsilon)
    p, q = float(m.p), float(m.q)
    support = np.full(size, round(n * (q + share * (p - q))), dtype=np.int64)
    e = sv.Estimate(m.domain, n, support, m.p, m.q, m.epsilon)
    f = e.frequency.clip(0, 1)
    np.testing.assert_allclose(
        e.stderr**2, q * (1 - q) / (n * (p - q) ** 2) + f * (1 - p - q) / (n * (p - q)), rtol=1e-9
    )
    rate = f * p + (1 - f) * q
    np.testing.assert_allclose(e.population_stderr**2, rate * (1 - rate) / (n * (p - q) ** 2), rtol=1e-9)


@given(st.floats(0.2, 6), st.integers(2, 30), st.integers(1, 5000), st.floats(0, 1), st.booleans())
def test_intervals_end_where_a_test_would_reject(
    epsilon: float, size: int, n: int, share: float, population: bool
) -> None:
    m = sv.KRR(size, epsilon)
    support = np.full(size, round(share * n), dtype=np.int64)
    e = sv.Estimate(m.domain, n, support, m.p, m.q, m.epsilon)
    p, q = float(m.p), float(m.q)
    for end in e.interval(0.9, population=population):
        f = end.clip(0, 1)
        variance = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2 + population * f * (1 - f)
        np.testing.assert_allclose((e.unbiased - end) ** 2, 1.6448536**2 * variance / n, rtol=1e-4, atol=1e-9)
    low, high = e.interval(0.9, population=population)
    assert (low <= e.unbiased + 1e-12).all() and (e.unbiased <= high + 1e-12).all()


def test_kinds_of_intervals() -> None:
    e = simulated(30_000)
    low, high = e.interval(0.95)
    np.testing.assert_allclose(high - low, 2 * 1.959964 * e.stderr, rtol=1e-2)
    wide = e.interval(0.95, simultaneous=True)
    np.testing.assert_allclose(wide.high - wide.low, 2 * 2.497705 * e.stderr, rtol=1e-2)  # 0.05 / 4 values
    assert (e.interval(population=True).high >= high).all() and (e.interval(population=True).low <= low).all()
    top = e.top(1).interval(simultaneous=True)
    assert top.low[0] == wide.low[0], "looking at the top value alone does not narrow a simultaneous interval"


COVERED = [
    sv.RandomizedResponse(1.0),
    sv.KRR(4, 1.0),
    sv.KRR(4, 3.0),
    sv.Subset(16, 1.0),
    sv.Unary(16, 1.0),
    sv.Unary(16, 3.0),
    sv.LocalHash(64, 2.0),
    sv.Projective(64, 1.0),
]


@pytest.mark.parametrize("n", [50, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("m", COVERED, ids=repr)
def test_intervals_cover(m: Pure, n: int) -> None:
    """Half of the people hold one value, the others are spread thinly: common, rare and absent values.

    Over 2,000 seeded runs, 95% intervals cover within 1.5% on average over the values, and each value within 4%: a
    count of few reports jumps, and its coverage with it. Chance moves a value's coverage by 0.5%; of two values, whose
    intervals cover together, there is no average to take, and three times that is allowed.
    """
    runs, D = 2000, m.domain.size
    codes = np.concatenate([np.zeros(n // 2, int), np.minimum(np.arange(n - n // 2) // (n // 20) + 1, D - 1)])
    truth = np.bincount(codes, minlength=D) / n
    reports = m.randomize_many([m.domain.labels[code] for code in codes] * runs, seed=1)
    covered = np.zeros(D)
    for at in range(0, n * runs, n):
        low, high = m.tally().add_many(reports[at : at + n]).estimate().interval(0.95)
        covered += (low <= truth) & (truth <= high)
    assert abs(covered.mean() / runs - 0.95) < 0.0155 + 0.015 * (D == 2)
    assert abs(covered / runs - 0.95).max() < 0.04


def test_a_wrong_error_would_not_cover() -> None:
    """The check above can fail: with half the noise declared, intervals cover about 67% of the time."""
    m = sv.KRR(4, 1.0)
    reports = m.randomize_many([0] * 1000 * 200, seed=1)
    hits = 0
    for at in range(0, len(reports), 1000):
        e = m.tally().add_many(reports[at : at + 1000]).estimate()
        hits += abs(e.frequency[1]) <= 1.96 * e.stderr[1] / 2
    assert hits / 200 < 0.8


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, float("nan")])
def test_bad_level(level: float) -> None:
    with pytest.raises(sv.ParameterError, match="level must lie strictly between 0 and 1"):
        simulated().interval(level)


def test_negative_estimates_stay() -> None:
    e = sv.KRR(3, epsilon=1.0).tally().add_many([0] * 90 + [1] * 10).estimate()
    assert e.frequency.min() < 0
    assert e.frequency.sum() == pytest.approx(1)


def test_one_report_is_enough_for_an_error() -> None:
    e = sv.KRR(3, epsilon=1.0).tally().add(0).estimate()
    assert np.isfinite(e.stderr).all() and (e.stderr > 0).all()


def test_sorting_and_top() -> None:
    e = simulated()
    assert e.labels == ("ape", "bee", "cat", None)
    assert e.sort().labels[0] == "ape" and (np.diff(e.sort().frequency) <= 0).all()
    top = e.top(2)
    assert len(top) == 2 and top.top(1).labels == ["ape"]
    assert top["ape"] == e["ape"]
    np.testing.assert_allclose(top.counts, top.frequency * e.n)
    with pytest.raises(sv.DomainError, match="no value 'dog'"):
        e["dog"]
    with pytest.raises(sv.ParameterError, match="k must be at least 1"):
        e.top(0)


def test_frames() -> None:
    e = simulated()
    pandas, polars, arrow = e.to_frame(), e.to_frame("polars"), e.to_frame("arrow", level=0.9)
    assert isinstance(pandas, pd.DataFrame) and isinstance(polars, pl.DataFrame) and isinstance(arrow, pa.Table)
    assert list(pandas.columns) == polars.columns == arrow.column_names
    assert list(pandas.columns) == ["label", "counts", "frequency", "stderr", "low", "high"]
    np.testing.assert_allclose(pandas["frequency"], e.frequency)
    assert arrow["low"][0].as_py() > polars["low"][0]
    with pytest.raises(sv.ParameterError, match="kind must be one of"):
        e.to_frame("excel")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_mixed_labels_in_a_frame_are_text(kind: str) -> None:
    frame = sv.KRR([1, "a"], epsilon=1.0).tally().add(0).estimate().to_frame(kind)
    assert list(map(str, frame["label"])) == ["1", "a"]


def test_words_and_tables() -> None:
    e = simulated()
    assert "(missing)" in str(e) and "SIMULATED" in str(e) and "n = 3,000" in str(e)
    assert "<td>(missing)</td>" in e._repr_html_()
    assert repr(e) == "<Estimate of 4 frequencies; n = 3,000; epsilon = 1; SIMULATED with a seed: not private>"
    assert json.loads(json.dumps(e.to_dict()))["estimates"][3]["label"] is None
    many = sv.KRR(100, epsilon=1.0).tally().add(0).estimate()
    assert "... and 75 more" in str(many)


def test_labels_are_escaped() -> None:
    e = sv.KRR(["<script>", "b"], epsilon=1.0).tally().add(0).estimate()
    assert "<script>" not in e._repr_html_() and "&lt;script&gt;" in e._repr_html_()


def test_plot() -> None:
    axes = simulated().sort().plot(simultaneous=True)
    assert axes.get_yticklabels()[0].get_text() == "ape"
    assert "SIMULATED" in axes.get_title(loc="left")
    again = simulated().plot(ax=axes)
    assert again is axes
