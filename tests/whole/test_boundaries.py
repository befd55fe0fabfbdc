"""Limits that hold exactly: at the limit accepted, one beyond refused; and counts that are one off are noticed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import dp_accounting.pld.privacy_loss_distribution as losses
import numpy as np
import pytest
from shuffler_service import ANALYST, SHUFFLER, letter, noise, shuffler_store, survey
from surveys import YES_NO, draft

import sottovoce as sv
from sottovoce.core.errors import ParameterError, ReportError, StoreError
from sottovoce.core.privacy import GRID
from sottovoce.core.randomness import Keystream, Replay
from sottovoce.device.accounting import MAX_UNITS, composed, spent
from sottovoce.device.envelope import ShuffledBatch
from sottovoce.statistics.group_comparison import ALL_OTHERS, _pairs, compare_groups
from sottovoce.statistics.histograms.group_differences import differences
from sottovoce.survey import checks
from sottovoce.survey.federation import NAME
from sottovoce.survey.minimum import TooFewReports, released
from sottovoce.survey.shuffle_settings import CHECKS
from sottovoce.trust.federated.sharing import MERSENNE, Additive, Shamir
from sottovoce.trust.shuffle import accounting, rounds

# The shuffler and its batches.


def test_a_batch_is_released_at_the_minimum_and_not_one_below(tmp_path: Path) -> None:
    """The guard of the release itself, whatever the thresholds say."""
    asked = survey(10)
    store = shuffler_store(tmp_path, asked, extra=0)
    store.add([noise(asked, 9)])
    with pytest.raises(StoreError, match="a batch must have at least 10 reports, got 9"):
        store._release(0)
    assert store.batches() == [] and store.waiting() == {0: 9}
    store.add([noise(asked, 1)])
    assert store._release(0) == 10
    store.close()


def test_the_code_of_a_batch_is_bound_to_its_survey() -> None:
    """The same keys, the same reports, another survey: a batch cannot be passed from one to the other."""
    one, other = survey(10), survey(10, expires="2030-01-01T00:00:00Z")
    assert one.digest != other.digest and one.shuffle == other.shuffle
    reports = [letter(one)[1] for _ in range(10)]
    data = ShuffledBatch(bytes(16), 0, reports).to_bytes(one, SHUFFLER)
    assert ShuffledBatch.read(data, one, ANALYST).reports == reports
    with pytest.raises(ReportError, match="a batch must come whole from the shuffler that the survey names"):
        ShuffledBatch.read(data, other, ANALYST)


# Estimates.


def test_an_estimate_is_released_at_the_minimum_and_not_one_below() -> None:
    """The one rule that every estimate of a collector passes."""
    tally = sv.KRR(3, epsilon=1.0).tally().add_many([0] * 9)
    with pytest.raises(TooFewReports, match="fewer than 10 reports"):
        released(tally, 10)
    assert released(tally.add(1), 10) is tally


# Rounds.


def test_the_slip_of_a_composition_is_taken_from_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    real = losses.PrivacyLossDistribution.get_epsilon_for_delta

    def noted(self: Any, delta: float) -> float:
        asked.append(delta)
        return float(real(self, delta))

    monkeypatch.setattr(losses.PrivacyLossDistribution, "get_epsilon_for_delta", noted)
    accounting._shuffled.cache_clear()
    for delta, times in ((1e-9, 1000), (1e-6, 7)):
        sv.shuffle_epsilon(sv.KRR(4, epsilon=1.0), 1000, delta, rounds=times)
        assert asked[-1] == pytest.approx(delta - times * rounds.SLIP_PER_ROUND, rel=1e-12) and asked[-1] < delta
    assert rounds.SLIP_PER_ROUND >= 1e-14


# Composition in units.


def test_units_are_composed_up_to_their_limit() -> None:
    assert MAX_UNITS == 10_000
    assert composed(0.001, MAX_UNITS, 1e-6) < 10
    with pytest.raises(ParameterError, match="at most 10,000 answers can be composed, got 10,001"):
        composed(0.001, MAX_UNITS + 1, 1e-6)
    assert spent([0.001] * MAX_UNITS, 1e-6, unit=0.001) < 1
    assert spent([0.001] * (MAX_UNITS + 1), 1e-6, unit=0.001) == pytest.approx(10.001)


def test_an_answer_of_the_unit_fits_and_one_above_does_not() -> None:
    assert spent([0.5, 0.5], 1e-6, unit=0.5) == pytest.approx(1.0, abs=1e-3)
    assert spent([0.5, math.nextafter(0.5, 1)], 1e-6, unit=0.5) == math.inf
    assert spent([], 1e-6, unit=0.5) == 0


def test_the_filter_is_its_formula() -> None:
    costs, delta = [0.1, 0.2, 0.05] * 30, 1e-5
    square = sum(cost**2 for cost in costs)
    assert spent(costs, delta) == pytest.approx(math.sqrt(2 * math.log(1 / delta) * square) + square / 2, rel=1e-9)
    assert spent(costs) == pytest.approx(sum(costs))


# Names.


@pytest.mark.parametrize("pattern", [checks.SURVEY_ID, checks.FIELD_ID, NAME])
def test_names_have_at_most_64_characters(pattern: Any) -> None:
    check = checks.matching(pattern)
    assert check("id", "a" * 64) == "a" * 64 and check("id", "a") == "a"
    for wrong in ("a" * 65, "", "a\n", "A", "é"):
        with pytest.raises(ParameterError, match="id must"):
            check("id", wrong)


def test_names_of_a_survey_have_at_most_64_characters() -> None:
    def publish(name: str, question: str) -> sv.Survey:
        return sv.Survey.from_dict(draft(YES_NO | {"id": question}, id=name)).publish()

    assert publish("s" * 64, "q" * 64).published
    for name, question in (("s" * 65, "q"), ("s", "q" * 65)):
        with pytest.raises(ParameterError):
            publish(name, question)


def test_limits_of_a_shuffled_survey() -> None:
    assert [CHECKS["minimum"]("minimum", n) for n in (2, 10**9)] == [2, 10**9]
    assert [CHECKS["honest"]("honest", n) for n in (1, 10**9)] == [1, 10**9]
    for field, wrong in (
        ("minimum", 1),
        ("minimum", 10**9 + 1),
        ("honest", 0),
        ("honest", 10**9 + 1),
        ("delta", 0),
        ("delta", 1),
    ):
        with pytest.raises(ParameterError, match=field):
            CHECKS[field](field, wrong)


# Residues.


class Written(Keystream):
    """A stream whose words were written down."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(seed=1)
        self._written = iter(words)

    def words(self, count: int) -> Any:
        return np.array([next(self._written) for _ in range(count)], dtype=np.uint64)


def test_residues_are_drawn_again_and_not_reduced() -> None:
    """Of 2^61 words of 61 bits one is beyond the field. A remainder would make it a second 0."""
    top = 2**64 - 1
    assert top >> 3 == MERSENNE
    assert Shamir(3, 1)._uniform(2, Written([top, 8 * 5, 8 * (MERSENNE - 1)])).tolist() == [MERSENNE - 1, 5]
    assert Additive(3)._uniform(1, Written([top])).tolist() == [top]


@pytest.mark.parametrize("modulus", [5, 7, 11, 13])
def test_residues_of_a_small_field_are_uniform(modulus: int) -> None:
    """Every word of so many bits once: each residue comes out once, and the rest is drawn again."""
    bits = modulus.bit_length()
    words = [value << (64 - bits) for value in range(2**bits)] + [0] * (2**bits - modulus)
    drawn = Shamir(3, 1, modulus)._uniform(2**bits, Written(words)).tolist()
    assert sorted(drawn) == sorted([*range(modulus), *[0] * (2**bits - modulus)])


def test_random_weights_of_a_check_are_drawn_without_a_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    from sottovoce.trust.federated import sharing

    source = Replay([GRID - 1, GRID - 2, 3, 6])
    monkeypatch.setattr(sharing, "SYSTEM", source)  # 2^53 is 2 modulo 5, and 0 modulo 4.
    assert sharing.Shamir(4, 1, 5)._test([1, 2, 3, 4])
    with pytest.raises(StopIteration):
        source.draw()


# Changes.


def test_changes_catch_up_with_the_wave() -> None:
    """A change that waits to be told is forgotten exactly if a run of its order ended in a wave that was skipped."""
    m = sv.Changes(16, 2, epsilon=1.0)
    for order in range(m.orders):
        for over in range(12):
            memory = {"order": order, "kept": 1, "wave": over, "value": 1, "changes": 1, "sign": 1}
            for wave in range(over, 16):
                ended = any(each % (1 << order) == 0 for each in range(over + 1, wave + 1))
                found = m._caught_up(memory, wave)
                assert (found["wave"], found["sign"]) == (wave, 0 if ended else 1)
            if over:
                with pytest.raises(ParameterError, match="waves must come in their order"):
                    m._caught_up(memory, over - 1)


# Groups.


def test_each_group_is_compared_with_each_other_one_once() -> None:
    """The others of a group are all of them, each once: their reports and their number."""
    m = sv.KRR(3, epsilon=2.0)
    counts = {"x": (40, 30, 20), "y": (25, 35, 50), "z": (90, 5, 10), "w": (7, 60, 13)}
    tallies = {name: m.tally().add_many([0] * a + [1] * b + [2] * c) for name, (a, b, c) in counts.items()}
    pairs = _pairs(tallies)
    assert set(pairs) == {(name, ALL_OTHERS) for name in tallies}
    for (name, _), (first, others) in pairs.items():
        rest = [tally for other, tally in tallies.items() if other != name]
        assert first is tallies[name] and others.n == sum(tally.n for tally in rest)
        support = np.sum([tally.estimate().support for tally in rest], axis=0)
        assert others.estimate().support.tolist() == support.tolist()
    expected = differences({names: (a.estimate(), b.estimate()) for names, (a, b) in pairs.items()}, 0.9)
    found = compare_groups(tallies, 0.9)["differences"]
    assert [row["p_value"] for row in found] == pytest.approx([row.p_value for row in expected])
    two = _pairs({name: tallies[name] for name in ("x", "y")})
    assert two == {("y", "x"): (tallies["y"], tallies["x"])}
