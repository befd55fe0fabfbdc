"""The square wave recovers distributions, and states errors that hold where it says they do."""

from __future__ import annotations

import json
import math
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from doctor_visits import VISITS
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.core.randomness import Keystream
from sottovoce.estimates.distribution import Distribution, sensitivity, smoothed_em
from sottovoce.mechanisms.numeric.square_wave import half_width


def estimate(m: sv.SquareWave, numbers: Any, seed: int | Keystream = 1) -> Distribution:
    result = m.tally().add_many(m.randomize_many(numbers, seed=seed)).estimate()
    assert isinstance(result, Distribution)
    return result


def bell(n: int) -> NDArray[np.float64]:
    """A sample of Beta(3, 4), smooth and off the middle."""
    return np.random.default_rng(5).beta(3, 4, n)


@given(st.floats(0.05, 36), st.integers(2, 100))
def test_the_window_is_the_papers(epsilon: float, bins: int) -> None:
    m = sv.SquareWave(0, 1, bins=bins, epsilon=epsilon)
    assert m.domain.steps % bins == 0 and m.domain.steps >= 256
    assert abs(m.window / m.domain.steps - 2 * half_width(epsilon)) <= 1 / m.domain.steps
    assert 0 < half_width(epsilon) <= 0.5


def test_the_half_width_falls_steadily() -> None:
    """Also across the place where the limit stands in for the formula."""
    widths = [half_width(epsilon) for epsilon in np.geomspace(1e-4, 30, 500)]
    assert all(a >= b for a, b in pairwise(widths))
    assert half_width(1.0) == pytest.approx(1 / (2 * math.e * (math.e - 2)))


@pytest.mark.parametrize(
    "m", [sv.SquareWave(0, 2, bins=4, epsilon=1.0, steps=8), sv.SquareWave(0, 1, bins=3, epsilon=3.0)]
)
def test_the_transition_is_the_exact_law_of_a_cell(m: sv.SquareWave) -> None:
    transition = m._transition()
    assert transition.sum(axis=0) == pytest.approx(1)
    for cell in (0, 1, m.domain.steps - 1):
        a, b = m._law(cell), m._law(cell + 1)
        assert transition[:, cell] == pytest.approx([float(a[y] + b[y]) / 2 for y in a])


def test_em_finds_a_smooth_distribution_without_noise() -> None:
    m = sv.SquareWave(0, 1, epsilon=2.0)
    x = (np.arange(256) + 0.5) / 256
    truth = x**2 * (1 - x) ** 3
    truth /= truth.sum()
    found = smoothed_em(m._transition() @ truth, m._transition())
    assert found.sum() == pytest.approx(1)
    assert np.abs(found - truth).sum() < 0.02


def test_the_sensitivity_is_the_derivative() -> None:
    m = sv.SquareWave(0, 1, bins=4, epsilon=2.0, steps=8)
    reports = np.random.default_rng(1).dirichlet(np.full(m.cells, 20.0))
    shares = smoothed_em(reports, m._transition())
    derivative = sensitivity(reports, m._transition(), shares)
    for outcome in (0, 3, m.cells - 1):
        moved = reports + 1e-3 * (np.arange(m.cells) == outcome)
        difference = (smoothed_em(moved, m._transition()) - shares) / 1e-3
        assert difference == pytest.approx(derivative[:, outcome], abs=0.02 * np.abs(derivative).max())


def cover(m: sv.SquareWave, n: int, runs: int, population: bool) -> NDArray[np.float64]:
    """How often 95% intervals hold the mean, three quantiles, a value of the distribution function, and a bin."""
    stream, random, base = Keystream(n), np.random.default_rng(n), bell(n)
    truth = bell(10**6) if population else base
    quantiles = {q: float(np.quantile(truth, q)) for q in (0.25, 0.5, 0.75)}
    held = []
    for _ in range(runs):
        e = estimate(m, random.beta(3, 4, n) if population else base, stream)
        ends = [e.quantile_interval(q, population=population) for q in quantiles]
        row = [low <= x <= high for (low, high), x in zip(ends, quantiles.values(), strict=True)]
        row += [abs(e.mean - truth.mean()) < 1.96 * e.mean_stderr(population)]
        row += [abs(e.cdf(0.3) - (truth <= 0.3).mean()) < 1.96 * e.cdf_stderr(0.3, population)]
        low, high = (end[6] for end in e.interval(0.95, population=population))
        held.append([*row, low <= ((truth >= e.edges[6]) & (truth < e.edges[7])).mean() <= high])
    shares: NDArray[np.float64] = np.mean(held, axis=0)
    return shares


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 20_000])
@pytest.mark.parametrize("population", [False, True])
def test_errors_of_a_smooth_distribution(n: int, population: bool) -> None:
    """Intervals of 95% hold in at least 88% of 100 runs (three deviations below) for every quantity."""
    assert (cover(sv.SquareWave(0, 1, bins=16, epsilon=1.0), n, 100, population) >= 0.88).all()


class ThirdOfTheError(Distribution):
    """Takes the reports for nine times as many."""

    @cached_property
    def _covariance(self) -> NDArray[np.float64]:
        return super()._covariance / 9

    @cached_property
    def _bias(self) -> NDArray[np.float64]:
        return np.zeros(self.domain.steps)


class Overconfident(sv.SquareWave):
    """States a third of the error."""

    def _estimate(self, tally: Any) -> Distribution:
        return ThirdOfTheError(self.domain, self.bins, tally.n, tally.cells, self._transition(), self.epsilon, True)


def test_the_test_of_errors_can_fail() -> None:
    assert (cover(Overconfident(0, 1, bins=16, epsilon=1.0, steps=64), 1000, 40, False) < 0.88).all()


def test_a_skewed_real_column() -> None:
    """Of the doctor's visits, which pile up at zero, the shape is found, with the bias that the page tells of."""
    m = sv.SquareWave(-0.5, 79.5, bins=40, epsilon=2.0, outside="clip")
    e = estimate(m, VISITS)
    truth = np.histogram(VISITS, e.edges)[0] / VISITS.size
    assert np.abs(e.frequency - truth).sum() < 0.25
    assert abs(e.mean - VISITS.mean()) < 4 * e.mean_stderr()
    assert abs(e.cdf(9.5) - (VISITS <= 9).mean()) < 4 * e.cdf_stderr(9.5)


@pytest.mark.parametrize("numbers", [[0.3], [0.0, 1.0], [0.5] * 50], ids=str)
def test_few_answers(numbers: list[float]) -> None:
    e = estimate(sv.SquareWave(0, 1, bins=8, epsilon=1.0), numbers)
    for error in (e.stderr, e.population_stderr):
        assert np.isfinite(error).all() and (error > 0).all()
    assert 0 < e.quantile_stderr(0.5) <= 1 and 0 <= e.median <= 1


@given(st.lists(st.integers(0, 15), min_size=1, max_size=60))
def test_it_is_a_distribution_whatever_the_reports(reports: list[int]) -> None:
    m = sv.SquareWave(0, 8, bins=4, epsilon=2.0, steps=8)
    e = m.tally().add_many([report % m.cells for report in reports]).estimate()
    assert isinstance(e, Distribution)
    assert e.frequency.sum() == pytest.approx(1) and (e.frequency >= 0).all()
    assert e.cdf(-1) == 0 and e.cdf(9) == pytest.approx(1)
    quantiles = [e.quantile(q) for q in (0, 0.1, 0.5, 0.9, 1)]
    assert quantiles == sorted(quantiles) and 0 <= e.mean <= 8
    for q in (0.1, 0.5, 0.9):
        assert e.cdf(e.quantile(q)) == pytest.approx(q)


def test_the_result_shows_itself() -> None:
    e = estimate(sv.SquareWave(0, 10, bins=5, epsilon=2.0), 10 * bell(2000))
    rows = e.rows(level=0.9, simultaneous=True, population=True)
    assert [row.label for row in rows] == ["0 to 2", "2 to 4", "4 to 6", "6 to 8", "8 to 10"]
    assert e.density == pytest.approx(e.frequency / 2)
    assert (e.population_stderr >= e.stderr * 0.99).all()
    wide, narrow = e.interval(0.99), e.interval(0.5)
    assert (wide.low < narrow.low).all() and (wide.high > narrow.high).all()
    assert e.to_frame("polars").shape == (5, 6)
    record = json.loads(json.dumps(e.to_dict()))
    assert len(e) == len(record["estimates"]) == 5 and record["mean"]["value"] == e.mean
    assert all(row["low"] < row["value"] < row["high"] for row in record["quantiles"])
    assert "biased by em" in str(e) and "SIMULATED" in e._repr_html_() and "5 bins" in repr(e)
    with pytest.raises(sv.ParameterError, match=r"q must lie from 0 to 1, got 1.5"):
        e.quantile(1.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"low": 1, "high": 1}, "low must be below high"),
        ({"high": math.nan}, "high must be a finite number, got nan"),
        ({"low": -math.inf}, "low must be a finite number, got -inf"),
        ({"bins": 1}, "bins must be a whole number from 2 to 1024, got 1"),
        ({"bins": 0}, "bins must be a whole number"),
        ({"bins": 4.0}, "bins must be a whole number"),
        ({"bins": 5000}, "bins must be a whole number"),
        ({"steps": 6, "bins": 4}, "steps must be a multiple of bins = 4, got 6"),
        ({"epsilon": -1}, "epsilon must be positive, got -1"),
        ({"epsilon": 1e-17}, "epsilon must be at least 0.05"),
        ({"outside": "ignore"}, "outside must be one of refuse, clip"),
    ],
)
def test_impossible_square_waves(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sv.ParameterError, match=message):
        sv.SquareWave(**{"low": 0, "high": 1, "epsilon": 1.0} | arguments)


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -0.1, 1.1, "0.5", True])
def test_impossible_answers(value: Any) -> None:
    m = sv.SquareWave(0, 1, epsilon=1.0)
    with pytest.raises(sv.DomainError):
        m.randomize(value)
    with pytest.raises(sv.DomainError, match="row 2: "):
        m.randomize_many([0.5, value])


@pytest.mark.parametrize(
    "change", [{"bins": 7}, {"bins": 1}, {"window": 0}, {"inside": 0.001}, {"inside": "x"}], ids=str
)
def test_damaged_mechanisms_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(sv.ParameterError):
        sv.mechanism(sv.SquareWave(0, 1, epsilon=1.0).to_dict() | change)


def test_one_report_at_the_largest_epsilon_has_an_error() -> None:
    m = sv.SquareWave(0, 1, bins=2, epsilon=36.0)
    e = m.tally().add_many(m.randomize_many([0.0], seed=1)).estimate()
    assert np.isfinite(e.stderr).all() and np.isfinite(e.population_stderr).all()
