"""The audit of time, on randomizers whose time is known. Differences are gross: a busy machine does not matter."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.statistics.auditing import Command, timing
from sottovoce.statistics.auditing.answers import all_or_some
from sottovoce.statistics.auditing.speaking import speaks_for

LONG = 200_000
"""Nanoseconds that a slow branch takes: far more than a call."""


def busy(nanoseconds: int) -> None:
    until = time.perf_counter_ns() + nanoseconds
    while time.perf_counter_ns() < until:
        pass


def slow_lie(answer: bool) -> bool:
    """A lie takes longer than the truth."""
    if random.random() < 0.75:
        return answer
    busy(LONG)
    return not answer


def slow_yes(answer: bool) -> bool:
    """The law and the report say no more than they should, but an answer takes longer than the other."""
    busy(LONG * answer)
    return answer ^ (random.random() < 0.25)


def equal(answer: bool) -> bool:
    return bool((not answer, answer)[random.random() < 0.75])


def test_a_lie_that_takes_longer_is_found_out() -> None:
    found = sv.audit(slow_lie, False, True, samples=4000, seed=1, time=True)
    fixed = [one for one in found.accuracies if "speak for" in one.question]
    assert len(fixed) == 2 and all(one.accuracy > 0.9 and one.tells for one in fixed)
    assert found.exceeds and found.verdict.startswith("time tells: ")


def test_an_answer_that_takes_longer_is_found_out_given_the_report() -> None:
    found = sv.audit(slow_yes, False, True, samples=4000, seed=1, time=True)
    given = [one for one in found.accuracies if one.question.startswith("the report is")]
    assert len(given) == 2 and all(one.accuracy > 0.9 and one.tells for one in given)


def test_equal_times_are_not_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock whose times have nothing to do with the calls; a real one is disturbed by whatever else is running."""
    chance, now = np.random.default_rng(2), [0]

    def clock() -> int:
        now[0] += int(chance.gamma(20.0, 100.0))
        return now[0]

    random.seed(3)
    monkeypatch.setattr(time, "perf_counter_ns", clock)
    found = sv.audit(equal, False, True, samples=8000, seed=1, time=True)
    assert len(found.accuracies) == 5 and all(abs(one.accuracy - 0.5) < 4 * one.stderr for one in found.accuracies)
    assert not found.exceeds and "tells nothing" in found.verdict


class FifthTakesLonger(sv.KRR):
    """The law is that of its parent, and both ends of the domain take the same time."""

    def _perturb(self, code: int, source: Any) -> int:
        busy(LONG * (code == 4))
        return super()._perturb(code, source)


def test_all_answers_of_a_small_domain_are_compared() -> None:
    """The ends tell nothing: only one answer between them takes longer."""
    found = sv.audit(FifthTakesLonger(8, 1.0), samples=2400, seed=1, time=True)
    assert found.answers == tuple(range(8)) and found.calls == 9600 and found.exceeds
    assert found.scope == "all answers: 8 of them, 28 pairs"
    between = [one for one in found.accuracies if one.question.startswith("is the answer")]
    assert len(between) == 28
    assert {one.sides for one in between if one.tells} == {one.sides for one in between if "4" in one.sides}


def test_of_a_large_domain_the_ends_and_a_sample_are_compared() -> None:
    found = sv.audit(sv.KRR(1000, 1.0), samples=800, seed=1, time=True)
    assert len(found.answers) == 8 and found.answers[0] == 0 and found.answers[-1] == 999
    assert found.scope == "a sample of 8 answers out of 1,000, both ends among them: 28 pairs"
    assert "a sample of 8 answers out of 1,000" in str(found) and found.to_dict()["domain_size"] == 1000
    assert all_or_some(sv.KRR(1000, 1.0), 1) == found.answers != all_or_some(sv.KRR(1000, 1.0), 2)


@pytest.mark.parametrize(
    ("m", "first", "last"),
    [
        (sv.Sets(20, 1.0), (), tuple(range(20))),
        (sv.Sets(200, 1.0), (), tuple(range(200))),
        (sv.Several({"a": 3, "b": ["x", "y", "z"]}, 1.0), (0, "x"), (2, "z")),
        (sv.Mean(0, 100, 1.0), 0.0, 100.0),
        (sv.KeyValue(4, 1, 5, 1.0), (), tuple((key, 5.0) for key in range(4))),
        (sv.KRR(sv.Domain(12, missing="category"), 1.0), 0, None),
    ],
)
def test_every_kind_of_answer_can_be_chosen(m: Any, first: Any, last: Any) -> None:
    answers = all_or_some(m)
    assert len(answers) == 8 and (answers[0], answers[-1]) == (first, last)
    for answer in answers:
        m.randomize(answer)


def random_times(seed: int, answers: int, calls: int) -> timing.TimeAudit:
    """An audit of times that have nothing to do with answers or reports."""
    chance = np.random.default_rng(seed)
    reports: list[Any] = chance.integers(0, 2, calls).tolist()
    timed = timing.Timed(chance.integers(0, answers, calls), chance.integers(900, 1100, calls), reports)
    return timing.TimeAudit((*range(answers),), calls, 1000.0, tuple(timing._between((*range(answers),), timed)))


def test_many_comparisons_raise_no_false_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limit at guessing, 0.5, every alarm is false. Of 40 audits 1% may raise one: more than 3 are an accident
    of less than 1 in 1,000. If the number of comparisons did not count, many audits would.
    """
    monkeypatch.setattr(timing, "LIMIT", 0.5)
    audits = [random_times(seed, answers=8, calls=8_000) for seed in range(40)]
    assert all(audit.comparisons == 84 for audit in audits)
    assert sum(audit.exceeds for audit in audits) <= 3
    by_one_error = [any(one.accuracy - 2.33 * one.stderr > 0.5 for one in audit.accuracies) for audit in audits]
    assert sum(by_one_error) > 10


def test_the_classifier_is_tested_on_calls_that_it_has_not_seen() -> None:
    """Times that are all different can be learned by heart, and then tell nothing about others."""
    chance = np.random.default_rng(1)
    times, side = chance.permutation(20_000), chance.integers(0, 2, 20_000)
    (found,) = timing._accuracies("?", ("a", "b"), times, side)
    assert abs(found.accuracy - 0.5) < 5 * found.stderr
    (known,) = timing._accuracies("?", ("a", "b"), side * 100, side)
    assert known.accuracy == 1.0


def test_too_few_calls_say_nothing() -> None:
    with pytest.raises(sv.ParameterError, match="too few"):
        sv.audit(equal, False, True, samples=100, time=True)


@pytest.mark.parametrize("more", [{"exact": True}, {"repeats": 2}, {"claimed": 1.0}, {"delta": 0.1}, {"fresh": True}])
def test_what_speaks_of_an_epsilon_does_not_go_with_time(more: dict[str, Any]) -> None:
    with pytest.raises(sv.ParameterError, match="an audit of time"):
        sv.audit(sv.KRR(3, 1.0), 0, 1, time=True, **more)


def test_a_black_box_needs_answers() -> None:
    with pytest.raises(sv.ParameterError, match="two answers"):
        sv.audit(equal, time=True)


def test_a_program_that_reads_all_answers_at_once_cannot_be_timed() -> None:
    with pytest.raises(sv.ParameterError, match="must be run for each answer"):
        sv.audit(Command("cat"), "a", "b", time=True)


@pytest.mark.parametrize(
    ("m", "answer", "report", "expected"),
    [
        (sv.KRR(4, 1.0), 2, 2, True),
        (sv.KRR(4, 1.0), 2, 1, False),
        (sv.Unary(4, 1.0), 2, bytes([0b0100]), True),
        (sv.Unary(4, 1.0), 2, bytes([0b1011]), False),
        (sv.Mean(0, 1, 1.0, kind="rounding"), 1.0, 1, True),
        (sv.Mean(0, 1, 1.0, kind="rounding"), 1.0, 0, False),
        (sv.Sets(2, 1.0), (0,), 1, True),
        (sv.Sets(2, 1.0), (0,), 0, False),
    ],
)  # fmt: skip
def test_a_report_speaks_for_an_answer(m: Any, answer: Any, report: Any, expected: bool) -> None:
    other = {2: 0, 1.0: 0.0, (0,): (1,)}[answer]
    assert speaks_for(m, answer, [report], [], (answer, other)) == [expected]


def test_a_hashed_report_speaks_for_a_text_in_its_cohort() -> None:
    m = sv.Hashed("krr", 8, 4, 30.0)
    reports = [m.randomize("tea") for _ in range(50)]
    assert speaks_for(m, "tea", reports, [], ("tea", "coffee")) == [True] * 50
    unary = sv.Hashed(sv.Unary(8, 30.0, kind="symmetric"), cohorts=4)
    assert all(speaks_for(unary, "tea", [unary.randomize("tea") for _ in range(50)], [], ("tea", "coffee")) or ())


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["audit", "-m", "krr", "-d", "3", "-e", "1", "--time", "--samples", "4000", "--json"]
    code = main(options)
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "time" and found["calls"] == 6000 and found["limit"] == 0.55
    assert found["values"] == [0, 1, 2] and found["domain_size"] == 3 and found["false_alarm_rate"] == 0.01
    assert found["comparisons"] == len(found["accuracies"])
    assert code == int(found["exceeds"])
    assert {"question", "sides", "accuracy", "stderr", "bound", "calls", "tells"} == set(found["accuracies"][0])


def test_the_command_line_refuses_what_does_not_go_with_time(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for more in (["--exact"], ["--claimed", "1"], ["--plot", str(tmp_path / "a.svg")]):
        assert main(["audit", "-m", "krr", "-d", "3", "-e", "1", "--time", *more]) == 2
        assert "does not go with --time" in capsys.readouterr().err
