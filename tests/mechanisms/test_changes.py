"""Yes or no over many waves: rare changes, with their moments hidden."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.privacy import log_above
from sottovoce.core.randomness import SYSTEM, Source
from sottovoce.estimates import EventShares
from sottovoce.mechanisms.longitudinal.changes import _runs
from sottovoce.testing import every_draw, over_time


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 20.0])
def test_all_reports_together_cost_what_is_asked(epsilon: float) -> None:
    m = sv.Changes(16, 3, epsilon)
    assert epsilon - 1e-6 <= m.epsilon_forever <= epsilon
    assert m.epsilon <= m.epsilon_over(2) == m.epsilon_after(7) == m.epsilon_pattern(16) == m.epsilon_forever


@pytest.mark.parametrize(
    ("waves", "changes"), [(2, 1), (3, 1), (5, 1), (4, 2), pytest.param(6, 3, marks=pytest.mark.slow)]
)
def test_any_two_histories_are_as_hard_to_tell_apart_as_declared(waves: int, changes: int) -> None:
    """The exact law of the whole sequence of reports, for every history; those with more changes than the bound too.

    With at least twice as many waves as changes the bound is reached.
    """
    m = sv.Changes(waves, changes, p=0.75)
    laws = [
        {reports: chance for (_, reports), chance in over_time.law_over_time(m, history)[0].items()}
        for history in product(m.domain.labels, repeat=waves)
    ]
    ratio = over_time.worst_ratio(laws)
    assert ratio is not None and log_above(ratio) == m.epsilon_forever


def test_with_few_waves_less_is_lost_than_declared() -> None:
    m = sv.Changes(2, 2, p=0.75)
    laws = [over_time.law_over_time(m, history)[0] for history in product(m.domain.labels, repeat=2)]
    ratio = over_time.worst_ratio([dict(law) for law in laws])
    assert ratio is not None and ratio < 3


@given(st.integers(1, 1000))
def test_runs_cover_the_waves_without_gaps(wave: int) -> None:
    waves = [w for order, end in _runs(wave) for w in range(end - (1 << order) + 1, end + 1)]
    assert sorted(waves) == list(range(1, wave + 1))
    assert all(end % (1 << order) == 0 for order, end in _runs(wave))


def people(n: int, waves: int, changes: int, seed: int) -> np.ndarray:
    """Rows of answers: a third of the people never change, the others at up to so many random moments."""
    rng = np.random.default_rng(seed)
    places = rng.random((n, waves)).argsort(axis=1)
    flips = places < rng.integers(0, changes + 1, n)[:, None]
    return np.cumsum(flips, axis=1) % 2


def simulated(m: sv.Changes, codes: np.ndarray, seed: int) -> EventShares:
    columns = m.randomize_waves(list(codes.T.astype(bool)), seed=seed)
    return m.over_time([m.tally().add_many(column) for column in columns])


def test_every_wave_is_estimated_without_bias_and_errs_as_stated() -> None:
    """300 surveys of the same 600 people over 11 waves: their mean is the truth, their spread the stated error.

    The mean of each wave may be five standard errors off (false alarms below 1e-5 together); the spread over all waves
    is known to about 2%, and may be 8% off.
    """
    m, runs = sv.Changes(11, 2, epsilon=4.0), 300
    codes = people(600, 11, 2, seed=1)
    results = [simulated(m, codes, seed) for seed in range(runs)]
    errors = np.array([e.frequency for e in results]) - codes.mean(axis=0)
    assert (abs(errors.mean(axis=0)) < 5 * errors.std(axis=0) / math.sqrt(runs)).all()
    stated = np.mean([e.stderr**2 for e in results], axis=0)
    assert abs((errors**2 / stated).mean() - 1) < 0.08


def test_the_error_about_the_population_holds_the_sampling() -> None:
    """The same when the people are drawn anew each time, with so little noise that sampling is much of the error.

    400 surveys of three waves tell the spread to about 3%; it may be 15% off.
    """
    m, runs = sv.Changes(3, 1, epsilon=20.0), 400
    errors, stated = [], []
    for seed in range(runs):
        codes = people(200, 3, 1, seed=seed)
        e = simulated(m, codes, seed)
        errors.append(e.frequency - np.array([1, 2, 3]) / 6)
        stated.append(e.population_stderr**2)
    assert abs(np.mean(np.square(errors) / np.mean(stated, axis=0)) - 1) < 0.15


def test_one_wave_tells_the_net_change_since_then() -> None:
    m = sv.Changes(4, 1, epsilon=8.0)
    codes = np.repeat([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]], 25_000, axis=0)
    last = m.randomize_waves([column.astype(bool) for column in codes.T], seed=2)[-1]
    e = m.tally().add_many(last).estimate()
    assert [row.label for row in e.rows()] == ["change over 1 wave", "change over 2 waves", "change over 4 waves"]
    assert e.frequency == pytest.approx([0.25, 0.5, 0.75], abs=0.03)
    assert (abs(e.frequency - [0.25, 0.5, 0.75]) < 4 * e.stderr).all()


def test_what_nobody_told_is_not_known() -> None:
    m = sv.Changes(4, 1, epsilon=1.0)
    e = m.over_time([m.tally().add_many([2, 3, 2, 3])])
    assert (e.frequency[0], e.population_stderr[0]) == (0.0, 1.0)


def test_changes_beyond_the_bound_are_not_told() -> None:
    m = sv.Changes(8, 1, p=1 - 2**-53)
    memory: dict[str, Any] = {"order": 0, "kept": 1, "wave": 0, "value": 0, "changes": 0, "sign": 0}
    reports = []
    for value in [True, False, True, False, True, False, True, False] * 1:
        step = m.step(value, json.loads(json.dumps(memory)), SYSTEM)
        memory = step.memory
        reports.append(step.report)
    assert reports[0] == 1 and memory["changes"] == 8 and memory["sign"] == 0


def test_it_is_charged_once() -> None:
    m = sv.Changes(4, 2, epsilon=1.0)
    memory, costs = m.begin(), []
    for value in (False, True, False, True):
        step = m.step(value, memory)
        memory = step.memory
        costs.append(step.epsilon)
    assert costs == [m.epsilon_forever, 0.0, 0.0, 0.0]
    with pytest.raises(sv.ParameterError, match="4 waves, and all of them are over"):
        m.step(True, memory)


# Waves that a device skips.


def caught_up(m: sv.Changes, waves: tuple[int, ...], values: tuple[Any, ...]) -> dict[Any, Fraction]:
    """The exact law of the reports of some waves."""

    def run(source: Source) -> Any:
        memory, reports = m.begin(source), []
        for wave, value in zip(waves, values, strict=True):
            step = m.step(value, memory, source, wave)
            memory = step.memory
            reports.append(step.report)
        return memory["order"], tuple(reports)

    law: dict[Any, Fraction] = defaultdict(Fraction)
    for seen, weight in every_draw(run):
        law[seen] += weight
    return law


@pytest.mark.parametrize("waves", [(0, 1, 2, 3), (0, 2, 3), (1, 3), (3,), (1, 2), (0, 3)])
def test_skipped_waves_cost_nothing_more(waves: tuple[int, ...]) -> None:
    """Whichever waves are answered: any two histories, also beyond the bound on changes, by the exact law."""
    m = sv.Changes(4, 2, p=0.75)
    laws = [caught_up(m, waves, values) for values in product([False, True], repeat=len(waves))]
    ratio = over_time.worst_ratio(laws)
    assert ratio is not None and 0 < log_above(ratio) <= m.epsilon_forever


def test_waves_without_gaps_are_as_before() -> None:
    m = sv.Changes(4, 2, p=0.75)
    for values in product([False, True], repeat=4):
        steps = over_time.law_over_time(m, values)[0]
        assert caught_up(m, (0, 1, 2, 3), values) == {(s.public, s.reports): chance for s, chance in steps.items()}


def skipping(m: sv.Changes, codes: np.ndarray, answered: np.ndarray, count: bool) -> EventShares:
    """Devices that answer some waves only, and either know which or count their answers."""
    tallies = [m.tally() for _ in range(codes.shape[1])]
    reports: list[list[int]] = [[] for _ in tallies]
    for row, here in zip(codes.tolist(), answered.tolist(), strict=True):
        memory = m.begin()
        for wave in range(len(tallies)):
            if here[wave]:
                step = m.step(bool(row[wave]), memory, wave=wave if count else None)
                memory = step.memory
                reports[wave].append(int(step.report))
    return m.over_time([tally.add_many(column) for tally, column in zip(tallies, reports, strict=True)])


def test_estimates_survive_skipped_waves() -> None:
    """12,000 devices answer a third of the waves; half of all people change at wave 3 of 8, which all know at wave 8.

    The share then is known to about 0.02: 0.15 off are seven standard errors, false alarms below 1e-10. Devices that
    count their answers instead tell of a run too early or too late, and are far off.
    """
    m, n = sv.Changes(8, 1, epsilon=8.0), 12_000
    rng = np.random.default_rng(4)
    codes = (np.arange(8) >= 3) & (np.arange(n) % 2 == 0)[:, None]
    answered = rng.random((n, 8)) < 1 / 3
    answered[:, 7] = True
    knowing, counting = (skipping(m, codes, answered, count) for count in (True, False))
    assert abs(knowing.frequency[7] - 0.5) < 0.15
    assert abs(counting.frequency[7] - 0.5) > 0.25


@pytest.mark.parametrize("wave", [-1, 1.0, True, "1"])
def test_a_wave_is_a_whole_number(wave: Any) -> None:
    m = sv.Changes(4, 1, 1.0)
    with pytest.raises(sv.ParameterError, match="wave must be a whole number"):
        m.step(True, m.begin(), wave=wave)
    with pytest.raises(sv.ParameterError, match="4 waves, and all of them are over"):
        m.step(True, m.begin(), wave=4)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: sv.Changes(1, 1, 1.0), "waves must be a whole number, at least 2"),
        (lambda: sv.Changes(2**21, 1, 1.0), "waves must be at most"),
        (lambda: sv.Changes(4, 0, 1.0), "changes must be a whole number, at least 1"),
        (lambda: sv.Changes(4, 5, 1.0), "changes must be at most the number of waves"),
        (lambda: sv.Changes(4, 1), "give either epsilon or p"),
        (lambda: sv.Changes(4, 1, p=0.3), "p must be greater than 1/2"),
        (lambda: sv.Changes(4, 1, math.nan), "epsilon must be a number"),
        (lambda: sv.Changes(4, 1, 1.0, domain=["a", "b", "c"]), "changes are told of 2 values"),
        (lambda: sv.Changes(4, 1, 1.0).over_time([]), "a tally of this mechanism for each wave"),
        (lambda: sv.Changes(4, 1, 1.0).over_time([sv.Changes(4, 2, 1.0).tally()]), "a tally of this mechanism"),
        (lambda: sv.Changes(4, 1, 1.0).randomize_waves([[True]] * 5, seed=1), "for 4 waves, got 5"),
        (lambda: sv.Changes(4, 1, 1.0).epsilon_over(0), "reports must be"),
    ],
)
def test_what_makes_no_sense_is_refused(build: Any, says: str) -> None:
    with pytest.raises(sv.ParameterError, match=says):
        build()
