"""Confidence sequences: one promise about all peeks at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.core.errors import ParameterError
from sottovoce.statistics.sequences.confidence_sequence import ConfidenceSequence, anytime, log_evidence

PEEKS = 10_000
DESIGNS = [(0.75, 0.25, 0.3), (0.75, 0.25, 0.0), (0.55, 0.45, 0.5), (0.5, 0.12, 0.02), (0.2, 0.6, 0.9)]


def watched(p: float, q: float, share: float, runs: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of yes answers after each answer, one row for each run."""
    answers = np.random.default_rng(seed).random((runs, PEEKS)) < q + (p - q) * share
    return np.cumsum(answers, axis=1), np.arange(1, PEEKS + 1)


def ever_missed(p: float, q: float, share: float, runs: int, alpha: float = 0.05) -> float:
    """How many runs have an interval, after any answer, that does not hold the truth."""
    missed = []
    for seed in range(runs // 100):
        yes, n = watched(p, q, share, 100, seed)
        evidence = log_evidence(yes, n, q + (p - q) * share, p, q)
        missed.append((evidence >= -math.log(alpha)).any(axis=1))
    return float(np.mean(missed))


@pytest.mark.parametrize("design", DESIGNS[:2], ids=str)
def test_all_peeks_are_covered_at_once(design: tuple[float, float, float]) -> None:
    """2,000 runs of 10,000 peeks: 5% is exceeded by 0.02 (4 standard errors) in one of 30,000 trials."""
    missed = ever_missed(*design, runs=2000)
    assert 0.002 < missed < 0.05 + 0.02, "neither too narrow nor wide without need"


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS[2:], ids=str)
def test_all_peeks_are_covered_at_once_whatever_the_design(design: tuple[float, float, float]) -> None:
    """The same."""
    assert 0.002 < ever_missed(*design, runs=2000) < 0.05 + 0.02


def test_an_interval_for_one_n_fails_to_be_watched() -> None:
    """The broken twin: the score interval covers at any one n, and misses at some n in most runs."""
    p, q, share = DESIGNS[0]
    yes, n = watched(p, q, share, 200, seed=1)
    rate = q + (p - q) * share
    missed = np.abs(yes / n - rate) > 1.959964 * np.sqrt(rate * (1 - rate) / n)
    assert abs(missed[:, 999].mean() - 0.05) < 0.06
    assert missed[:, 9:].any(axis=1).mean() > 0.4


def test_ends_are_where_the_evidence_is_enough() -> None:
    watch = ConfidenceSequence(0.75, 0.25, level=0.9)
    for end in watch.interval(410, 1000):
        assert float(log_evidence(410, 1000, 0.25 + 0.5 * end, 0.75, 0.25)) == pytest.approx(math.log(10), abs=1e-6)


def test_the_mixture_is_a_probability() -> None:
    """Summed over all sequences of n answers, the mixture's likelihood is one: so the evidence starts a fair game."""
    for p, q in ((0.75, 0.25), (0.5, 0.1), (0.1, 0.7), (1.0, 0.0)):
        yes, n = np.arange(13), 12
        rate = np.full(13, 0.3)
        law = np.array([math.comb(n, int(y)) * 0.3 ** int(y) * 0.7 ** (n - int(y)) for y in yes])
        assert float(law @ np.exp(log_evidence(yes, n, rate, p, q))) == pytest.approx(1.0)


def test_watching_costs_less_than_twice_the_width() -> None:
    watch, m = ConfidenceSequence(0.75, 0.25), sv.RandomizedResponse.from_coins()
    tally = m.tally().add_many([1] * 4000 + [0] * 6000)
    low, high = tally.estimate().interval(population=True)
    width = np.diff(tuple(watch.interval(4000, 10_000)))[0]
    assert 1.3 < width / (high - low)[1] < 2


def test_updates_add_up() -> None:
    parts, whole = ConfidenceSequence(0.75, 0.25), ConfidenceSequence(0.75, 0.25)
    parts.update(30, 60)
    assert parts.update(10, 40) == whole.update(40, 100) == parts.interval(40, 100)
    assert (parts.yes, parts.n, len(parts.peeks)) == (40, 100, 2)
    assert tuple(parts.interval(0, 0)) == (0.0, 1.0)


def test_running_intervals_never_grow() -> None:
    rng, free = np.random.default_rng(2), ConfidenceSequence(0.75, 0.25)
    watch = ConfidenceSequence(0.75, 0.25, running=True)
    for yes in rng.binomial(20, 0.4, 50):
        (low, high), (wide_low, wide_high) = watch.update(int(yes), 20), free.update(int(yes), 20)
        assert wide_low <= low and high <= wide_high
    lows, highs = zip(*((low, high) for _, _, low, high in watch.peeks), strict=True)
    assert list(lows) == sorted(lows) and list(highs) == sorted(highs, reverse=True)


def test_p_values_fall_and_stay() -> None:
    watch = ConfidenceSequence(0.75, 0.25)
    assert watch.p_value(0.5) == 1.0
    watch.update(300, 1000)
    first = watch.p_value(0.5)
    assert first < 1e-6
    assert watch.p_value(0.1) > 0.05
    watch.update(700, 1000)
    assert watch.p_value(0.5) <= first, "evidence once seen is not taken back"


def test_a_design_with_p_below_q() -> None:
    assert tuple(ConfidenceSequence(0.25, 0.75).interval(600, 1000)) == pytest.approx(
        tuple(ConfidenceSequence(0.75, 0.25).interval(400, 1000)), abs=1e-9
    )


def test_all_values_of_an_estimate() -> None:
    m = sv.Unary(6, 1.0)
    e = m.tally().add_many(m.randomize_many(np.arange(3000) % 6, seed=1)).estimate()
    low, high = anytime(e)
    wide = anytime(e, simultaneous=True)
    assert (wide.low < low).all() and (high < wide.high).all()
    assert (low < e.unbiased).all() and (e.unbiased < high).all()
    alone = ConfidenceSequence(m.p, m.q).interval(int(e.support[2]), e.n)
    assert tuple(alone) == pytest.approx((max(low[2], 0), high[2]))
    top = anytime(e.top(2))
    place = list(e.labels).index(e.top(2).labels[0])
    assert top.low.shape == (2,) and top.low[0] == low[place]


def test_what_is_refused() -> None:
    for bad in ({"p": 0.5, "q": 0.5}, {"p": 1.2}, {"q": math.nan}, {"level": 0}, {"level": 1}, {"p": True}, {"p": "x"}):
        with pytest.raises(ParameterError):
            ConfidenceSequence(**({"p": 0.75, "q": 0.25} | bad))
    watch = ConfidenceSequence(0.75, 0.25)
    for yes, n in ((3, 2), (-1, 5), (1.5, 4), (True, 4), (1, math.inf), ("1", 2)):
        arguments: Any = (yes, n)
        with pytest.raises(ParameterError):
            watch.update(*arguments)
    assert watch.n == 0
    with pytest.raises(ParameterError, match="at least one peek"):
        watch.plot()
    with pytest.raises(ParameterError, match="proportion"):
        watch.p_value(2)
    with pytest.raises(ParameterError, match="estimate of frequencies"):
        anytime(0.3)  # type: ignore[arg-type]


def test_a_plot_shows_both_kinds() -> None:
    rng, watch = np.random.default_rng(3), ConfidenceSequence(0.75, 0.25)
    for yes in rng.binomial(10, 0.4, 500):
        watch.update(int(yes), 10)
    ax = watch.plot(truth=0.3)
    legend = ax.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["95% at every peek", "95% for one n", "estimate", "truth"]
    assert ax.get_xlabel() == "answers, n" and ax.get_ylabel() == "proportion"
    assert watch.plot(ax=ax) is ax
