"""Shuffle accounting of whatever a survey can ask: it has an answer, a bounded cost, and never a NaN."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import dp_accounting.pld.privacy_loss_distribution  # noqa: F401  # Its loading is not what is measured.
import numpy as np
import pytest
from shuffled_law import exact_neighbours
from surveys import MIXED, draft

import sottovoce as sv
from sottovoce.device.respondent import Respondent
from sottovoce.mechanisms import REGISTRY, Bloom
from sottovoce.survey import shuffle_guarantee
from sottovoce.survey.kinds import KINDS
from sottovoce.trust.shuffle import accounting, rounds
from sottovoce.trust.shuffle.bit_counts import BitCounts
from sottovoce.trust.shuffle.bounds import MAX_SUMMED, AccountedBatch
from sottovoce.trust.shuffle.rounds import convex_below

CPU_SECONDS = 5.0
"""It takes less than one; counting memory and other work on the machine slow it down."""
BYTES = 100_000_000

MECHANISMS: dict[str, Callable[[], list[sv.Mechanism]]] = {
    "rr": lambda: [sv.RandomizedResponse(epsilon=1.0), sv.RandomizedResponse(p=2.0**-53)],
    "krr": lambda: [sv.KRR(16, epsilon=1.0), sv.KRR(10**6, epsilon=36)],
    "unary": lambda: [sv.Unary(3, epsilon=1.0), sv.Unary(10_000, epsilon=8.0)],
    "local_hash": lambda: [sv.LocalHash(100, epsilon=2.0)],
    "subset": lambda: [sv.Subset(1000, epsilon=1.0)],
    "hadamard": lambda: [sv.Hadamard(1000, epsilon=1.0)],
    "projective": lambda: [sv.Projective(1000, epsilon=2.0)],
    "sets": lambda: [sv.Sets(2, epsilon=1.0), sv.Sets(40, epsilon=1.0)],
    "key_value": lambda: [sv.KeyValue(10, 0, 1, 1.0)],
    "mean": lambda: [sv.Mean(0, 1, 1.0, kind) for kind in ("rounding", "piecewise", "hybrid")],
    "square_wave": lambda: [sv.SquareWave(0, 24, bins=24, epsilon=1.0)],
    "ranges": lambda: [sv.Ranges(100, 1.0)],
    "several": lambda: [sv.Several({"a": 3, "b": 4}, 1.0)],
    "memoized": lambda: [sv.Memoized.of(3, "krr", permanent=2.0, first=1.0)],
    "d_bit_flip": lambda: [sv.DBitFlip(16, 1.0, sampled=4)],
    "changes": lambda: [sv.Changes(12, epsilon=1.0)],
    "hashed": lambda: [sv.Hashed("auto", epsilon=1.0, salt="s")],
    "bloom": lambda: [Bloom(epsilon=1.0, salt="s")],
    "discovery": lambda: [sv.Discovery(2.0, salt="s")],
}


def bounded(work: Callable[[], Any]) -> Any:
    """What some work returns, which must take few seconds and little memory."""
    tracemalloc.start()
    begun = time.process_time()
    try:
        found = work()
        taken, (_, peak) = time.process_time() - begun, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < CPU_SECONDS, f"{taken:.1f} s"
    assert peak < BYTES, f"{peak / 1e6:.0f} MB"
    return found


def test_every_mechanism_is_tried() -> None:
    assert set(MECHANISMS) == set(REGISTRY)


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize(
    "n", [pytest.param(1, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.slow), 10**9]
)
def test_every_mechanism_has_an_epsilon(name: str, n: int) -> None:
    for m in MECHANISMS[name]():
        accounting._shuffled.cache_clear()
        found = bounded(partial(sv.shuffle_epsilon, m, n, 1e-9))
        assert 0 <= found.lower <= found.upper <= found.local == m.epsilon
        if n == 10**9 and m.epsilon < 8:
            assert found.upper < 0.05 * m.epsilon
        if n == 1000 and m.epsilon <= 36:
            assert found.upper <= sv.shuffle_epsilon(m.epsilon, n, 1e-9).upper * (1 + 1e-3)


QUESTIONS: dict[str, dict[str, Any]] = {
    "yes_no": {},
    "choice": {"values": 5},
    "multiple": {"values": 4},
    "ordered": {"values": 20},
    "number": {"low": 0, "high": 1},
    "text": {"max_bytes": 16},
}


def asked(kind: str, by: str, **more: Any) -> dict[str, Any]:
    shape = {"estimate": "distribution", "bins": 8} if by == "square_wave" else {}
    return {"id": "q", "text": "What?", "kind": kind, "mechanism": by} | QUESTIONS[kind] | shape | more


def mixed(question: dict[str, Any], honest: int, waves: int) -> sv.Survey:
    shuffle = MIXED["shuffle"] | {"minimum": 10**9, "honest": honest, "delta": 1e-9}
    schedule = {"schedule": {"waves": waves, "every": "day"}} if waves > 1 else {}
    return sv.Survey.from_dict(
        draft(question, trust="shuffle", shuffle=shuffle, budget=min(waves, 30), **schedule)
    ).publish()


@pytest.mark.parametrize(
    ("kind", "by"),
    [
        pytest.param(kind.name, by, marks=[] if by == "auto" else pytest.mark.slow)
        for kind in KINDS.values()
        for by in ("auto", *kind.by)
    ],
)
def test_every_question_of_a_shuffled_survey_is_reviewed(kind: str, by: str, tmp_path: Path) -> None:
    for waves in (1, 12):
        survey = mixed(asked(kind, by), 10**9, waves)
        bounded(partial(getattr, survey, "guarantee"))
        found = survey.guarantee
        assert isinstance(found, shuffle_guarantee.ShuffleGuarantee) and found.central is not None
        assert 0 < found.central < found.local / 5
        review = Respondent(tmp_path / f"{waves}.sqlite", budget=100.0).review(survey)
        assert any("honest: epsilon = " in line for line in str(review).splitlines())


@pytest.mark.parametrize(
    ("kind", "by"),
    [("yes_no", "auto"), ("yes_no", "rr"), ("choice", "auto"), ("choice", "krr"), ("choice", "unary"),
     ("choice", "local_hash"), ("text", "auto"), ("text", "hashed"), ("text", "bloom")],
)  # fmt: skip
def test_remembered_answers_of_a_shuffled_survey_are_reviewed(kind: str, by: str) -> None:
    survey = mixed(asked(kind, by, memoize=True), 10**9, 1)
    found = bounded(lambda: survey.guarantee)
    assert found.central is not None and 0 < found.central < found.local / 5


# More reports hide better: what is left out of a huge batch can only make the bound larger.


def test_what_is_left_out_is_on_the_safe_side() -> None:
    """Brute force: the exact divergence falls with every report that is added."""
    for m in (sv.KRR(3, epsilon=2.0), sv.Unary(2, epsilon=3.0), sv.Mean(0, 1, steps=2, epsilon=1.0)):
        worst = [exact_neighbours(m, n).divergence(0.4, above=True) for n in (1, 2, 3, 4)]
        assert worst == sorted(worst, reverse=True)
        few = [AccountedBatch(m, 4, 1e-3, max_summed=summed).upper()[0] for summed in (1, 2, 3, 4)]
        assert few == sorted(few, reverse=True)
        for epsilon in few:
            assert exact_neighbours(m, 4).divergence(epsilon, above=False) <= Fraction(1e-3)
        assert AccountedBatch(m, 4, 1e-3, max_summed=3).lower(1.0) == 0


def test_beyond_what_is_summed_the_bound_stays() -> None:
    m = sv.KRR(16, epsilon=1.0)
    at, beyond = (sv.shuffle_epsilon(m, n, 1e-6) for n in (MAX_SUMMED, MAX_SUMMED + 1))
    assert at.upper == beyond.upper and at.lower > 0 == beyond.lower
    assert not sv.shuffle_epsilon(m, 10**9, 1e-6).lower
    with pytest.raises(sv.ParameterError, match="epsilon needs more than 10,000,000 reports, got 1e-06 at delta 1e-09"):
        sv.shuffle_n(m, 1e-6, 1e-9)


def test_few_rows_of_bits_are_on_the_safe_side() -> None:
    """A grid of counts that is as coarse as for 10^9 reports."""
    fine = BitCounts(3001, Fraction(3, 4))
    for cells in (10_000, 2**16):
        coarse = BitCounts(3001, Fraction(3, 4), cells=cells)
        assert coarse._stride > fine._stride == 0
        for epsilon in (0.02, 0.06, 0.1):
            assert fine.upper(epsilon) <= coarse.upper(epsilon) <= 1


# Rounds.


def test_many_rounds_are_numbers() -> None:
    """Beyond its window a curve of bits says 1, which no distribution of losses has."""
    m = sv.RandomizedResponse(epsilon=1.0)
    found = [bounded(partial(sv.shuffle_epsilon, m, 10**6, 1e-9, rounds=r)).upper for r in (100, 1000, 10_000)]
    assert found == sorted(found) and all(map(math.isfinite, found))
    once = sv.shuffle_epsilon(m, 10**6, 1e-9).upper
    for r, upper in zip((100, 1000, 10_000), found, strict=True):
        assert math.sqrt(r) * once < upper < 1.6 * math.sqrt(r) * once


def test_what_is_no_number_is_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (math.nan, math.inf, -1.0):
        monkeypatch.setattr(rounds, "_composed", lambda *_, wrong=wrong: wrong)
        monkeypatch.setattr(accounting, "over_rounds", rounds.over_rounds)
        accounting._shuffled.cache_clear()
        if wrong < 0:
            with pytest.raises(sv.ParameterError, match="no epsilon is known"):
                sv.shuffle_epsilon(1.0, 1000, 1e-6, rounds=3)
        else:
            added = 3 * sv.shuffle_epsilon(1.0, 1000, float(Fraction(1e-6) / 3)).upper
            assert sv.shuffle_epsilon(1.0, 1000, 1e-6, rounds=3).upper == pytest.approx(added, rel=1e-6)
        monkeypatch.setattr(accounting, "over_rounds", lambda *_, wrong=wrong: wrong)
        accounting._shuffled.cache_clear()
        for told in (sv.shuffle_epsilon, accounting.shuffle_upper):
            with pytest.raises(sv.ParameterError, match="no epsilon is known for these parameters"):
                told(1.0, 1000, 1e-6, rounds=3)
    accounting._shuffled.cache_clear()


def test_a_convex_function_below_points() -> None:
    """It keeps what is convex, and is not below a convex function that is below the points."""
    x = np.linspace(0, 3, 40)
    curve = np.exp(-2 * x)
    assert convex_below(x.tolist(), curve.tolist()) == pytest.approx(curve)
    rng = np.random.default_rng(5)
    for _ in range(50):
        points = np.minimum(curve * (1 + rng.exponential(0.2, 40)) + (rng.random(40) < 0.1), 1.0)
        points[-1] = curve[-1]
        found = convex_below(x.tolist(), points.tolist())
        assert (found >= curve - 1e-12).all() and (found <= points + 1e-12).all()
        assert (np.diff(found, 2) > -1e-12).all()


# The waves of a survey.


@pytest.mark.parametrize("waves", [2, 3, 12])
def test_delta_is_split_over_waves_without_a_library_of_accounting(waves: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> float:
        raise ImportError("dp-accounting")

    monkeypatch.setattr(rounds, "_composed", missing)
    m = sv.KRR(5, epsilon=1.0)
    found = shuffle_guarantee._amplified(m, 1000, 1e-6, waves)
    shares = [sv.shuffle_epsilon(m, 1000, 1e-6 / waves * (1 + slack)).upper for slack in (1e-6, -1e-6)]
    assert waves * shares[0] <= found <= waves * shares[1]
    assert found > waves * sv.shuffle_epsilon(m, 1000, 1e-6).upper * 1.01
