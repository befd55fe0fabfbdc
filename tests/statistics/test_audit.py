"""Audits find what is spent, never more than that, and catch whoever spends more than declared."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
from mechanism_cases import ALL, CASES, TWINS
from scipy.stats import beta, binom

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.randomness import Source
from sottovoce.mechanisms.base import Mechanism
from sottovoce.statistics.auditing import Audit, Command, Endpoint, ExactAudit
from sottovoce.statistics.auditing.bench import Bench
from sottovoce.statistics.auditing.bounds import certify, high, low
from sottovoce.statistics.auditing.observations import Observations, plain
from sottovoce.testing import broken

ROOT = Path(__file__).parents[2]
COIN = sv.RandomizedResponse(epsilon=1.0)


def named(twin: object) -> str:
    return type(twin).__name__


HASHING = ("CohortByValue", "LuckyCohort", "OneBitCounted")
SPENDTHRIFTS: list[Mechanism] = [
    broken.LevelByValue(9, 1.0),
    broken.PartsNotAdded({"a": 2, "b": 3}, 1.0),
    broken.SetBitNeverCleared(3, 1.0),
    broken.LastBitNotRandomized(3, 1.0),
    broken.ExcludedValueStillDrawn(3, 1.0),
    broken.ZeroRowRejected(3, 1.0),
    broken.ExcludedMemberStillDrawn(6, 1.0),
    broken.AsksWhatItHolds(3, 1.0),
    broken.AbsenceNotRandomized(2, 0, 1, 1.0),
    broken.WindowStillDrawn(0, 1, 2.0, kind="piecewise", steps=4),
    broken.EndsTellTheirKind(0, 1, 2.0, kind="hybrid", steps=4),
    *{
        named(twin): twin for _, twin in TWINS if named(twin) in ("CohortByValue", "LuckyCohort", "OneBitCounted")
    }.values(),
]
"""Twins that spend more than they declare, by enough to be seen in ten thousand reports."""

BY_A_HAIR: list[Mechanism] = [broken.EpsilonRoundedDown(3, 1.0), broken.TwoDecimals(3, 1.0)]

HARMLESS: list[Mechanism] = [
    broken.SwappedProbabilities(3, 1.0),
    broken.ZeroCohortRejected(6, 1.0),
    broken.ZeroPlaneRejected(7, 1.0),
    broken.WindowCutAtTheEnds(0, 1, bins=4, epsilon=1.0, steps=4),
    broken.WideReports(3, 1.0),
    broken.WrongDecoder(6, 1.0),
    broken.SharedCoins(3, 1.0),
]
"""Twins whose estimates or descriptions are wrong, but which spend no more than they declare."""


class Seeded(Source):
    """Draws that can be repeated."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def draw(self) -> int:
        return self._random.getrandbits(53)


def device(m: Mechanism, seed: int = 2) -> Callable[[object], Any]:
    """What `randomize` does, with draws that can be repeated."""
    source = Seeded(seed)
    return lambda answer: m._perturb(m._encode(answer, source), source)


TOSS = device(COIN)


# The bound.


def test_bounds_of_a_probability_are_those_of_clopper_and_pearson() -> None:
    for hits, error in ((0, 0.01), (3, 0.2), (10, 0.01)):
        expected = (
            beta.ppf(error, hits, 11 - hits) if hits else 0,
            beta.isf(error, hits + 1, 10 - hits) if hits < 10 else 1,
        )
        assert (float(low(hits, 10, error)), float(high(hits, 10, error))) == pytest.approx(expected)


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_bound_is_wrong_no_more_often_than_it_says(epsilon: float, delta: float) -> None:
    """By the exact probabilities of all outcomes of 12 trials, for many true probabilities: no false alarms."""
    trials, error = 12, 0.1
    counts = range(trials + 1)
    wrong = np.array([[certify(k, u, trials, error, delta) > epsilon for u in counts] for k in counts])
    for unlikely in np.linspace(0.01, 0.6, 12):
        likely = min(math.exp(epsilon) * unlikely + delta, 1.0)
        chance = binom.pmf(counts, trials, likely) @ wrong @ binom.pmf(counts, trials, unlikely)
        assert chance <= error


def test_a_bound_without_confidence_is_wrong_more_often() -> None:
    """The same sum for the plain ratio of the counts: the test above can fail."""
    trials, counts = 12, range(13)
    wrong = np.array([[k > math.e * u for u in counts] for k in counts])
    chance = binom.pmf(counts, trials, 0.1 * math.e) @ wrong @ binom.pmf(counts, trials, 0.1)
    assert chance > 0.3


# Samples.


def wrong_bounds(randomizer: Any, x0: object, x1: object, runs: int) -> int:
    """How many of so many small audits at 80% confidence certify more than the true epsilon of 1."""
    return sum(sv.audit(randomizer, x0, x1, 300, 0.8, seed).epsilon_lower > 1 for seed in range(runs))


def noisy(answer: object) -> tuple[object, float]:
    """Randomized response beside a number that is never seen again: no two reports are alike."""
    return TOSS(answer), random.random()


def laplace(answer: Any) -> float:
    return float(answer + random.expovariate(1.0) - random.expovariate(1.0))


RUNS = 200
ALLOWED = int(binom.isf(1e-6, RUNS, 0.2))


@pytest.mark.parametrize(
    ("randomizer", "x0", "x1"),
    [(COIN, False, True), (sv.KRR(4, 1.0), 0, 1), (noisy, False, True), (laplace, 0, 1)],
    ids=["coin", "krr", "unlimited alphabet", "laplace"],
)
def test_audits_certify_too_much_no_more_often_than_they_say(randomizer: Any, x0: object, x1: object) -> None:
    """False alarms: at most 1e-6 each, seeded."""
    random.seed(5)
    assert wrong_bounds(randomizer, x0, x1, RUNS) <= ALLOWED


def test_an_audit_that_certifies_what_it_learnt_from_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """All three parts are the same reports, and unique ones are then learnt by heart: the test above can fail."""
    kept: list[Any] = []

    def batches(self: Bench) -> Iterator[Any]:
        if len(kept) % 3 == 0:
            answers = [False, True] * 180
            kept.append((Observations([noisy(answer) for answer in answers]), np.array([0, 1] * 180)))
        else:
            kept.append(kept[-1])
        yield kept[-1]

    monkeypatch.setattr(Bench, "batches", batches)
    assert wrong_bounds(COIN, False, True, 20) == 20


@pytest.mark.parametrize(
    ("m", "x0", "x1", "least"),
    [
        (COIN, False, True, 0.96),
        (sv.KRR(["a", "b", "c"], 1.0), "a", "b", 0.96),
        (sv.Unary(64, 1.0), 3, 40, 0.93),
        (sv.LocalHash(64, 1.0), 3, 40, 0.93),
        (sv.Subset(100, 1.0), 3, 40, 0.93),
        (sv.Mean(0, 1, 1.0), 0.0, 1.0, 0.95),
        (sv.Sets(4, 1.0), [], [0, 1, 2, 3], 0.95),
    ],
    ids=lambda x: type(x).__name__,
)
def test_bounds_are_tight(m: Mechanism, x0: object, x1: object, least: float) -> None:
    found = sv.audit(m, x0, x1, seed=3)
    assert least < found.epsilon_lower <= 1
    assert not found.exceeds
    assert found.claimed == m.epsilon


def test_reports_may_be_of_any_sort() -> None:
    def shapes(bits: Any) -> list[Any]:
        text = "".join(map(str, bits))
        held = {at for at, bit in enumerate(bits) if bit}
        flat = [bits, tuple(bits), np.array(bits), bytes(bits), bytearray(bits), text, int(text, 2), held]
        return [*flat, {"bits": bits}, iter(bits), [0.5, bits], Fraction(bits[1] + 1, 3)]

    def randomize(answer: int) -> list[int]:
        return [random.getrandbits(1), answer ^ (random.random() < 0.25), random.getrandbits(1)]

    random.seed(1)
    for at in range(12):
        found = sv.audit(lambda answer, at=at: shapes(randomize(answer))[at], 0, 1, 4000, seed=at, claimed=math.log(3))
        assert 0.8 < found.epsilon_lower < math.log(3)


def test_equal_reports_are_alike_and_others_are_not() -> None:
    assert plain(np.array([[1, 2], [3, 4]])) == ((1, 2), (3, 4))
    assert plain({"b": 1, "a": [np.float64(2)]}) == (("a", (2.0,)), ("b", 1))
    assert plain(frozenset({3, 1, 2})) == plain({1, 2, 3}) == (1, 2, 3)
    assert plain(memoryview(b"ab")) == b"ab"
    assert plain(None) is None
    endless: list[Any] = []
    endless.append(endless)
    for odd, error in ((object(), "got <object"), (endless, "32 deep"), (iter(int, 1), "parts")):
        with pytest.raises(sv.ReportError, match=error):
            plain(odd)


@pytest.mark.parametrize(("first", "second"), [(0.0, -0.0), (1, 1.0), (1, True), (math.nan, 0.0)])
def test_a_report_that_is_written_otherwise_is_another(first: object, second: object) -> None:
    """Equal numbers may be told apart by whoever sees them: the sign of a zero has given secrets away."""
    assert sv.audit(lambda x: first if x else second, 0, 1, samples=500, seed=1).epsilon_lower > 3


def test_long_answers_and_numbers_of_any_library() -> None:
    zeros = np.zeros(3000, dtype=int)
    other = zeros.copy()
    other[1500] = 1
    counts: dict[str, Any] = {"samples": np.int64(500), "repeats": np.int64(1)}
    found = sv.audit(lambda x: int(x[1500]), zeros, other, seed=1, **counts)
    assert found.epsilon_lower > 3 and type(found.samples) is int


def test_long_reports_are_told_apart_without_being_kept() -> None:
    found = sv.audit(lambda answer: [answer] * 5000, 0, 1, samples=50)
    assert found.epsilon_lower > 1
    assert found.event.what == "a high score by how often each report was seen"
    assert found.event.contains([1] * 5000) and not found.event.contains([0] * 5000)


def test_long_vectors_whose_bits_are_far_apart() -> None:
    found = sv.audit(broken.SetBitNeverCleared(2000, 1.0), 5, 1990, samples=3000, seed=1)
    assert found.epsilon_lower > 4
    assert found.event.likely in (5, 1990)
    assert "parts" in found.event.what


def test_numbers_beyond_floats_and_no_numbers_at_all() -> None:
    for report in ((10**400, None, 1j), (math.nan, -math.inf), ""):
        assert sv.audit(lambda answer, r=report: r, 0, 1, samples=50, claimed=0).epsilon_lower == 0


def test_a_score_of_ones_own_finds_what_no_other_attack_does() -> None:
    m = sv.LocalHash(100_000, epsilon=1.0)

    def score(report: int) -> int:
        cohort, bucket = divmod(report, m.buckets)
        return int(m.hash(cohort, 9) == bucket) - int(m.hash(cohort, 4) == bucket)

    assert sv.audit(m, 4, 9, samples=20_000, seed=1).epsilon_lower < 0.1
    assert 0.9 < sv.audit(m, 4, 9, samples=20_000, seed=1, score=score).epsilon_lower <= 1
    for bad in (lambda report: "high", lambda report: math.nan):
        with pytest.raises(sv.ParameterError, match="a score must be a number"):
            sv.audit(m, 4, 9, samples=50, score=bad)  # type: ignore[arg-type]


def test_an_event_can_be_asked_again() -> None:
    found = sv.audit(sv.KRR(["a", "b", "c"], 1.0), "a", "b", seed=1)
    inside = [report for report in range(3) if found.event.contains(report)]
    assert found.event.what == f"the report is {inside[0]}" and len(inside) == 1
    assert found.event.hits[0] > found.event.hits[1]
    pairs = sv.audit(COIN, False, True, samples=5000, repeats=2, seed=1)
    assert pairs.event.contains((1, 1)) != pairs.event.contains((0, 0))


def test_delta_takes_what_it_allows() -> None:
    """Names itself with probability 0.1: with no delta that is without bound, with a delta of 0.1 it is nothing."""

    def names_itself(answer: int) -> object:
        return answer if random.random() < 0.1 else "nothing"

    random.seed(1)
    assert sv.audit(names_itself, 0, 1, samples=10_000, seed=1).epsilon_lower > 3
    assert sv.audit(names_itself, 0, 1, samples=10_000, seed=1, delta=0.1).epsilon_lower < 0.01


# Asking again.


class Permanent:
    """Draws an answer once and tells it ever after."""

    def __init__(self) -> None:
        self.said: dict[object, object] = {}

    def randomize(self, answer: object) -> object:
        if answer not in self.said:
            self.said[answer] = TOSS(answer)
        return self.said[answer]


class Redrawn(Permanent):
    """Means to remember, but draws again each time."""

    def randomize(self, answer: object) -> object:
        self.said.clear()
        return super().randomize(answer)


def test_a_permanent_answer_that_is_redrawn_is_caught_by_asking_again() -> None:
    once = sv.audit(Redrawn, False, True, samples=4000, seed=1, claimed=1.0, fresh=True)
    again = sv.audit(Redrawn, False, True, samples=4000, seed=1, claimed=1.0, repeats=5, fresh=True)
    kept = sv.audit(Permanent, False, True, samples=4000, seed=1, claimed=1.0, repeats=5, fresh=True)
    assert not once.exceeds and again.epsilon_lower > 2 and again.exceeds
    assert 0.8 < kept.epsilon_lower <= 1
    assert again.verdict.startswith("spends at least") and again.verdict.endswith("more than the claimed 1")


def test_a_mechanism_that_is_asked_again_claims_as_many_epsilons() -> None:
    found = sv.audit(COIN, False, True, repeats=3, samples=20_000, seed=1)
    assert found.claimed == pytest.approx(3)
    assert 2.4 < found.epsilon_lower <= 3


# Exact audits.


@pytest.mark.parametrize("m", ALL)
def test_every_draw_gives_the_declared_epsilon(m: Mechanism) -> None:
    found = sv.audit(m)
    assert found.epsilon == m.epsilon == found.claimed
    too_many = isinstance(m, sv.Subset) and m.size > 4  # All orders of its members are drawn.
    assert found.basis == ("the law it declares" if too_many else "every draw of randomize")
    assert not found.exceeds


@pytest.mark.parametrize("twin", SPENDTHRIFTS + BY_A_HAIR, ids=named)
def test_every_twin_that_spends_more_is_caught_exactly(twin: Mechanism) -> None:
    found = sv.audit(twin)
    assert found.exceeds
    assert found.verdict.startswith("spends") and "more than the claimed" in found.verdict


@pytest.mark.parametrize("twin", SPENDTHRIFTS, ids=named)
def test_every_twin_that_spends_more_is_caught_by_its_reports(twin: Mechanism) -> None:
    """Seeded. Were a twin sound, it would be accused with probability 1%."""
    exact = sv.audit(twin)
    found = sv.audit(device(twin), exact.x0, exact.x1, samples=10_000, seed=1, claimed=exact.claimed)
    assert found.exceeds
    assert found.epsilon_lower < exact.epsilon


@pytest.mark.parametrize("twin", HARMLESS, ids=named)
def test_twins_that_are_wrong_otherwise_are_not_accused(twin: Mechanism) -> None:
    assert not sv.audit(twin).exceeds


@pytest.mark.parametrize("twin", SPENDTHRIFTS, ids=named)
def test_their_sound_parents_are_not_accused(twin: Any) -> None:
    parent: Any = type(twin).__base__
    sound = object.__new__(parent)
    sound._freeze(**{field.name: getattr(twin, field.name) for field in fields(parent)})
    found = sv.audit(sound)
    assert not found.exceeds
    assert sv.audit(sound, found.x0, found.x1, seed=1).epsilon_lower <= found.epsilon


@pytest.mark.slow
def test_a_probability_with_two_decimals_is_caught_by_its_reports() -> None:
    """It spends 1.016 for 1. Seeded; were it sound, it would be accused with probability 1%."""
    found = sv.audit(device(broken.TwoDecimals(3, 1.0)), 0, 1, samples=800_000, seed=1, claimed=1.0)
    assert 1 < found.epsilon_lower < 1.016


def test_what_is_asked_for_may_be_claimed() -> None:
    hair = broken.RoundedToNearest(10, 1.0)
    assert not sv.audit(hair).exceeds
    found = sv.audit(hair, claimed=1.0)
    assert found.exceeds
    assert found.verdict == "spends 1.0000000000000002, more than the claimed 1"


class TellsTheTruth(sv.KRR):
    """Overrides the method that devices call, not the steps that it is made of."""

    def randomize(self, value: object) -> Any:
        return self.domain.encode(value)


class OwnDice(sv.KRR):
    """Draws, but not from where it was told to."""

    def _perturb(self, code: int, source: Source) -> Any:
        return code if random.random() < 0.9 else (code + 1) % self.domain.size


def test_what_is_audited_is_what_is_called() -> None:
    """Neither goes by its declared law; the second fails to show in 16 replays of 3 answers once in 150."""
    for m, message in ((TellsTheTruth(3, 1.0), "a randomize of its own"), (OwnDice(3, 1.0), "draws from elsewhere")):
        random.seed(1)
        with pytest.raises(sv.SottovoceError, match=message):
            sv.audit(m)
    assert sv.audit(TellsTheTruth(3, 1.0), 0, 1, samples=1000, seed=1).exceeds


def test_a_law_that_cannot_be_followed_is_taken_as_declared_and_says_so() -> None:
    found = sv.audit(sv.Subset(12, 1.0, size=6))
    assert found.basis == "the law it declares"
    assert found.epsilon == found.claimed
    for large in (sv.KRR(2**20, 1.0), sv.Unary(64, 1.0)):
        with pytest.raises(sv.ParameterError, match="too large to enumerate: give two answers, x0 and x1"):
            sv.audit(large)


def test_two_answers_can_be_compared_exactly() -> None:
    m = sv.Mean(0, 1, epsilon=2.0, kind="piecewise", steps=4)
    near, far = (sv.audit(m, 0.1, x1, exact=True) for x1 in (0.2, 0.9))
    assert near.epsilon < far.epsilon <= m.epsilon
    assert {far.x0, far.x1} == {0.1, 0.9}


def test_a_delta_is_exact_too() -> None:
    """For randomized response the best event is one report, so that e^eps = (p - delta) / (1 - p)."""
    m, delta = sv.RandomizedResponse.from_coins(), 0.125
    assert sv.audit(m, delta=delta).ratio == (m.p - Fraction(delta)) / (1 - m.p)
    leaky = broken.SetBitNeverCleared(3, 1.0)
    assert sv.audit(leaky).ratio is None
    assert sv.audit(leaky, delta=0.5).ratio is None
    assert sv.audit(leaky, delta=0.9).epsilon == 0
    with pytest.raises(sv.ParameterError, match="too many pairs"):
        sv.audit(sv.KRR(200, 1.0), delta=0.1)


# What is shown.


@pytest.mark.parametrize(
    "found", [sv.audit(COIN, False, True, samples=500, seed=1), sv.audit(sv.Unary(3, 1.0))], ids=named
)
def test_an_audit_is_frozen_and_travels_as_json(found: Audit | ExactAudit) -> None:
    record = json.loads(json.dumps(found.to_dict()))
    assert record["verdict"] == found.verdict == "consistent with epsilon = 1"
    assert record["exceeds"] is False
    assert str(found).splitlines()[-1] == found.verdict
    with pytest.raises(FrozenInstanceError):
        found.claimed = 2.0  # type: ignore[misc]


def test_what_is_infinite_is_said_in_words_and_in_json() -> None:
    found = sv.audit(broken.LevelByValue(9, 1.0))
    assert found.to_dict()["epsilon_lower"] is None and found.to_dict()["infinite"]
    assert "never from" in str(found)
    assert found.verdict == "spends without bound, more than the claimed 1"


@pytest.mark.parametrize(
    "found",
    [
        sv.audit(COIN, False, True, samples=500, seed=1),
        sv.audit(sv.Unary(3, 1.0)),
        sv.audit(broken.LevelByValue(9, 1.0)),
        sv.audit(lambda answer: 1, 0, 1, samples=50),
    ],
    ids=["sampled", "exact", "infinite", "nothing"],
)
def test_plots(found: Audit | ExactAudit) -> None:
    ax = found.plot()
    assert ax.get_xlabel().startswith("false alarms: says") and ax.get_ylabel().startswith("misses: says")
    legend = ax.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert sum("claimed" in label for label in labels) == (found.claimed is not None)
    assert sum("found" in label for label in labels) == 1
    assert found.plot(ax=ax) is ax


def test_the_points_of_a_plot_are_what_was_counted() -> None:
    found = sv.audit(COIN, False, True, samples=5000, seed=1)
    alarms, misses = found.curve[-1]
    hits = (found.event.trials - misses, alarms) if found.event.above else (found.event.trials - alarms, misses)
    assert hits == found.event.hits


# Bad input.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 49}, "samples must be a whole number, 50 or more"),
        ({"samples": True}, "samples must be"),
        ({"samples": 1e5}, "samples must be"),
        ({"level": 1}, "level must lie strictly between 0 and 1"),
        ({"level": math.nan}, "level must be a number"),
        ({"level": "high"}, "level must be a number"),
        ({"delta": -0.1}, "delta must lie strictly between"),
        ({"delta": True}, "delta must be a number"),
        ({"claimed": -1}, "claimed must be a number, zero or more"),
        ({"claimed": math.inf}, "claimed must be"),
        ({"claimed": "one"}, "claimed must be"),
        ({"repeats": 0}, "repeats must be a whole number, 1 or more"),
        ({"seed": -1}, "seed must be"),
        ({"score": 5}, "a score must be a function"),
        ({"x1": False}, "x0 and x1 must differ"),
        ({"exact": True, "repeats": 2}, "an exact audit is of one report"),
        ({"exact": True, "score": len}, "an exact audit is of one report"),
        ({"fresh": True, "randomizer": 7}, "fresh needs a function"),
        ({"fresh": True}, "fresh needs a function"),
        ({"randomizer": 7}, "a randomizer must be a function"),
        ({"randomizer": COIN.randomize, "exact": True}, "two answers"),
    ],
)
def test_bad_input_is_one_line(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"randomizer": COIN, "x0": False, "x1": True, "samples": 100} | options
    with pytest.raises(sv.SottovoceError, match=message) as caught:
        sv.audit(**arguments)
    assert "\n" not in str(caught.value)


def test_one_answer_is_not_enough() -> None:
    with pytest.raises(sv.ParameterError, match="give both answers"):
        sv.audit(COIN, False)  # type: ignore[call-overload]
    with pytest.raises(sv.ParameterError, match="two answers, x0 and x1, are needed"):
        sv.audit(COIN.randomize)  # type: ignore[call-overload]


def test_an_answer_outside_and_a_randomizer_that_fails() -> None:
    with pytest.raises(sv.DomainError):
        sv.audit(COIN, False, "maybe", samples=50)
    with pytest.raises(sv.ReportError, match=r"the randomizer failed on 0(.0)?: ZeroDivisionError"):
        sv.audit(lambda answer: 1 // answer, 0, 0.0, samples=50)
    with pytest.raises(sv.ReportError, match="the randomizer failed: RuntimeError: no client"):
        sv.audit(_no_client, 0, 1, samples=50, fresh=True)


def _no_client() -> None:
    raise RuntimeError("no client")


# Programs and services.

CLIENT = "import random, sys\nfor line in sys.stdin: print(line.strip() if random.random() < 0.75 else 'no')"
MEMORY = ["sh", "-c", "if [ $(($$ % 2)) = 0 ]; then cat; else sed s/yes/no/; fi"]
"""Remembers, as long as it runs, whether it tells the truth."""


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_a_program_that_reads_answers_is_audited_in_one_run() -> None:
    found = sv.audit(Command(program(CLIENT)), "yes", "no", samples=5000, claimed=1.0)
    assert found.exceeds
    assert found.event.what == "the report is 'yes'"


def test_a_program_may_be_started_for_each_report_or_each_person() -> None:
    assert sv.audit(Command("echo {}"), "yes", "no", samples=50).epsilon_lower > 1
    kept = sv.audit(Command(MEMORY), "yes", "no", samples=50, repeats=3, fresh=True)
    assert kept.repeats == 3
    reports = list(Command(MEMORY, fresh=True).reports(["yes"] * 20, repeats=3))
    assert all(len(set(reports[at : at + 3])) == 1 for at in range(0, 60, 3))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "a command must name a program"),
        ([], "a command must name a program"),
        (7, "a command must name a program"),
        ("'", "a command must be a line for a shell"),
        ("no-such-program-here", "cannot be run"),
        ("head -3", "gave 3 reports for 100 answers"),
        ("yes", "more reports than it was asked for"),
        (["sh", "-c", "echo hello; cat"], "more reports than it was asked for"),
        (["sh", "-c", "cat; exit 3"], r"gave 100 reports for 100 answers \(exit status 3\)"),
        (["sh", "-c", "echo oh no >&2; false"], r"gave 0 reports for 100 answers \(exit status 1: oh no\)"),
        ("printf '{}\\n\\n'", "more than one line for an answer"),
        ("sleep 60", "printed nothing for 0.5 seconds"),
        (["sh", "-c", "sleep 60 & cat"], "printed nothing for 0.5 seconds"),
        (["sh", "-c", "cat; exec >/dev/null; sleep 60"], "printed nothing for 0.5 seconds"),
        (["sh", "-c", "head -c 5000000 /dev/zero"], "a line of at most"),
    ],
)
def test_a_program_that_does_not_do_its_part(command: Any, message: str) -> None:
    with pytest.raises(sv.SottovoceError, match=message):
        sv.audit(Command(command, timeout=0.5), "yes", "no", samples=50)


def test_an_answer_for_a_program_is_one_line() -> None:
    for command in ("echo {}", "cat"):
        with pytest.raises(sv.ParameterError, match="must be one line"):
            sv.audit(Command(command), "yes\nno", "no", samples=50)
    for bad in (0, -1, math.nan, "soon", True, math.inf):
        with pytest.raises(sv.ParameterError, match="timeout must be"):
            Command("cat", timeout=bad)  # type: ignore[arg-type]


class Service(BaseHTTPRequestHandler):
    """Randomized response by GET and by POST, and some ways to go wrong."""

    def do_GET(self) -> None:
        address = urlparse(self.path)
        if address.path == "/missing":
            self.send_error(404)
            return
        self._say(b"x" * 2**23 if address.path == "/long" else self._report(parse_qs(address.query)["value"][0]))

    def do_POST(self) -> None:
        self._say(self._report(self.rfile.read(int(self.headers["Content-Length"])).decode()))

    def _report(self, answer: str) -> bytes:
        truth = random.random() < 0.9
        return json.dumps({"report": answer if truth else "nö"}).encode()

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


class Server(HTTPServer):
    def handle_error(self, *arguments: Any) -> None:
        """A client that hangs up is none of our business."""


@pytest.fixture
def service() -> Iterator[str]:
    with Server(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(5)


def test_a_service_is_audited_by_its_responses(service: str) -> None:
    for url in (f"{service}/randomize?value={{}}", f"{service}/randomize"):
        found = sv.audit(Endpoint(url), "yes & no", "nö", samples=300, claimed=1.0)
        assert found.exceeds
    for path, message in (("/missing", "404"), ("/long?value={}", "at most")):
        with pytest.raises(sv.ReportError, match=message):
            sv.audit(Endpoint(service + path + ("" if "{}" in path else "?v={}")), "a", "b", samples=50)


def test_a_service_that_is_not_there() -> None:
    with pytest.raises(sv.ReportError, match="Connection refused"):
        sv.audit(Endpoint("http://127.0.0.1:9/", timeout=2), "a", "b", samples=50)
    for bad in ("ftp://example.com", "file:///etc/passwd", "localhost", 7):
        with pytest.raises(sv.ParameterError, match="an address must begin with"):
            Endpoint(bad)  # type: ignore[arg-type]
    with pytest.raises(sv.ParameterError, match="fresh is for functions and commands"):
        sv.audit(Endpoint("http://127.0.0.1:9/"), "a", "b", samples=50, fresh=True)


def test_progress_is_told_to_the_end() -> None:
    for randomizer in (COIN, COIN.randomize):
        told: list[tuple[int, int]] = []
        sv.audit(randomizer, False, True, samples=60, repeats=2, progress=lambda *step: told.append(step))  # noqa: B023
        assert told[-1] == (240, 240)
        assert told == sorted(told)


# The command line.


def sotto(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["audit", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_small_mechanism_is_audited_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = sotto(capsys, "-m", "krr", "-d", "16", "-e", "1")
    assert code == 0
    assert out.startswith("epsilon = 0.99999") and out.endswith("consistent with epsilon = 1\n")
    code, out, _ = sotto(capsys, "-m", "krr", "-d", "a,b,c", "-e", "1", "--values", "a", "c", "--exact", "--json")
    assert json.loads(out)["kind"] == "exact" and json.loads(out)["values"] in (["a", "c"], ["c", "a"])
    assert sotto(capsys, "-m", "krr", "-d", "16", "-e", "1", "--claimed", "0.9")[0] == 1


def test_a_large_one_is_sampled_at_the_ends_of_its_domain(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = sotto(capsys, "-m", "unary", "-d", "64", "-e", "1", "--samples", "2000", "--seed", "1", "--json")
    found = json.loads(out)
    assert (code, found["kind"], found["values"]) == (0, "sampled", [0, 63])


@pytest.mark.parametrize("m", [cases[-1] for cases in CASES.values()], ids=named)
def test_a_mechanism_can_come_from_a_file(m: Mechanism, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mechanism.json"
    path.write_text(json.dumps(m.to_dict()))
    code, out, _ = sotto(capsys, "-m", str(path))
    assert (code, out.splitlines()[-1][:15]) == (0, "consistent with")
    assert sotto(capsys, "-m", str(path), "--samples", "200", "--seed", "1")[0] == 0


def test_programs_functions_and_their_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "audited_client.py").write_text("def same(answer): return answer + 1\nclass Kept:\n randomize = abs\n")
    assert sotto(capsys, "-c", "cat", "--values", "yes", "no", "--claimed", "1", "--samples", "200")[0] == 1
    assert sotto(capsys, "-c", "echo {}", "--values", "1", "2", "--samples", "50")[0] == 0
    code, out, _ = sotto(capsys, "--python", "audited_client:same", "--values", "1", "2", "--samples", "200")
    assert code == 0 and "spends at least" in out
    assert sotto(capsys, "--python", "audited_client:Kept", "--fresh", "--values", "1", "-2", "--samples", "60")[0] == 0
    assert (
        sotto(capsys, "-m", "rr", "-d", "1,2", "-e", "1", "--values", "1", "2", "--samples", "60", "--seed", "1")[0]
        == 0
    )
    assert "audited_client" in sys.modules and str(tmp_path) not in sys.path


def test_a_plot_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("audit.svg", "audit.png"):
        assert sotto(capsys, "-m", "krr", "-d", "3", "-e", "1", "--plot", str(tmp_path / name))[0] == 0
        assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "name what to audit by one of"),
        ("-m krr --url http://127.0.0.1:9/", "name what to audit by one of"),
        ("-m krr", "krr needs a --domain and an --epsilon"),
        ("-m nosuch -d 3 -e 1", "a mechanism must be auto or one of"),
        ("-m nosuch.json", "no such file"),
        ("-c cat", "two answers to tell apart are needed"),
        ("-c cat --values a a", "must differ"),
        ("-c cat --values a b --epsilon 1", "--epsilon goes with the name of a --mechanism"),
        ("-c cat --values a b --exact", "--exact is for mechanisms"),
        ("-m krr -d 3 -e 1 --exact --samples 100", "--samples does not go with --exact"),
        ("-m krr -d 3 -e 1 --timeout 3", "--timeout goes with"),
        ("-m krr -d 3 -e 1 --level nan", "level must be a number"),
        ("-m krr -d 3 -e 1 --claimed -1", "claimed must be a number"),
        ("-m krr -d 3 -e 1 --plot a.gif", "a plot must end in"),
        ("--python nothing --values 1 2", "a function must be named MODULE:NAME"),
        ("--python no.such:thing --values 1 2", "ModuleNotFoundError"),
        ("--python json:nothing --values 1 2", "AttributeError"),
        ("--python json:loads --values 1 2", "TypeError: the JSON object must be str"),
        ("--url ftp://example.com --values a b", "an address must begin with"),
    ],
)
def test_bad_options_are_one_line(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = sotto(capsys, *arguments.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_the_function_keeps_its_name() -> None:
    code = (
        "import sottovoce as sv, sottovoce.statistics.auditing, sottovoce.cli\n"
        "print(callable(sv.audit), sv.audit.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True sottovoce.statistics.auditing\n"


# Another library.

OLDER = "pure-ldp==1.1.*"
PEERS = ROOT / ".venv-peers"


@pytest.fixture
def older_client(tmp_path: Path) -> list[str]:
    """The unary client of an older pure-ldp, in the peers' environment if there is one, else in a folder of its own."""
    python = str(PEERS / "bin" / "python") if PEERS.exists() else sys.executable
    wanted = ["--no-deps", OLDER] if PEERS.exists() else [OLDER, "scikit-learn", "statsmodels", "xxhash<4"]
    if not PEERS.exists() and not os.environ.get("SOTTO_REQUIRE_ALL"):
        pytest.skip("there is no .venv-peers: run make bench once")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(tmp_path)]
    done = subprocess.run([*pip, *wanted], capture_output=True, text=True, timeout=180, check=False)
    if done.returncode:
        pytest.skip(f"{OLDER} cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
    script = str(ROOT / "benchmarks" / "audit_clients.py")
    return ["env", f"PYTHONPATH={tmp_path}", python, script, "pure-ldp", "OUE", "--epsilon=1"]


@pytest.mark.slow
def test_a_broken_client_of_another_library_is_caught(older_client: list[str]) -> None:
    """Its unary client sets the true bit with p + (1 - p) q instead of p, and so spends 1.551 for 1."""
    found = sv.audit(Command(older_client), 0, 1, samples=10_000, claimed=1.0)
    assert 1.3 < found.epsilon_lower < 1.5515
    assert found.exceeds
