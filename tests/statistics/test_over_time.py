"""Attacks on devices that report again and again, and the change between two waves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sottovoce as sv
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics import Proportion, change, difference_test

# Averaging: the majority of an attacker's observations of one unchanged answer.


def majority(p: float, reports: int) -> float:
    return float(binom.sf(reports // 2, reports, p))


def majorities(columns: list[Any]) -> np.ndarray:
    yes: np.ndarray = np.sum([np.asarray(column) for column in columns], axis=0)
    return 2 * yes > len(columns)


def test_fresh_noise_is_averaged_away() -> None:
    """After 11 reports with epsilon = 1 an attacker is right about 95% of all answers: 3,800 of 4,000, give or take 70.

    That is five standard deviations: false alarms below 1e-6.
    """
    m = sv.RandomizedResponse(1.0)
    found = majorities([m.randomize_many([True] * 4000, seed=seed) for seed in range(11)])
    assert majority(float(m.p), 9) < 0.95 < majority(float(m.p), 11)
    assert abs(found.sum() - 4000 * majority(float(m.p), 11)) < 70


def test_a_permanent_answer_is_not() -> None:
    """101 reports tell the permanent answer, which is the true one for 88% of all people, and no more tell more."""
    m = sv.Memoized.of([False, True], "rr", permanent=2.0, first=1.0)
    found = majorities(m.randomize_waves([[True] * 4000] * 101, seed=1))
    assert abs(found.sum() - 4000 * float(m.permanent.p)) < 5 * math.sqrt(4000 * 0.88 * 0.12)


def test_the_same_attack_breaks_what_redraws_the_permanent_answer() -> None:
    m = sv.Memoized.of([False, True], "rr", permanent=2.0, first=1.0)
    redrawn = [m.randomize_many([True] * 4000, seed=seed) for seed in range(101)]
    assert majorities(redrawn).mean() > 0.999


# The moment of a predictable change: in which of the waves did the answer turn from no to yes?

WAVES = 32


def moments(people: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    moment = np.random.default_rng(seed).integers(1, WAVES, people)
    return moment, list((np.arange(WAVES) >= moment[:, None]).T)


def split_score(reports: np.ndarray) -> np.ndarray:
    """How much the mean report before a wave differs from that after it, in standard errors."""
    sums = np.concatenate([np.zeros((len(reports), 1)), np.cumsum(reports, axis=1)], axis=1)
    before = np.arange(1, WAVES)
    gap = sums[:, 1:WAVES] / before - (sums[:, -1:] - sums[:, 1:WAVES]) / (WAVES - before)
    scores: np.ndarray = abs(gap) * np.sqrt(before * (WAVES - before))
    return scores


def found(scores: np.ndarray, moment: np.ndarray) -> float:
    noise = np.random.default_rng(0).random(scores.shape) * 1e-9
    return float((abs(1 + np.argmax(scores + noise, axis=1) - moment) <= 1).mean())


def test_memoization_shows_the_moment_of_a_change() -> None:
    """A blind guess finds 9%. With little noise in each report a change shows whenever the permanent answers differ.

    Of 3,000 people, shares are known to 0.01.
    """
    moment, waves = moments(3000, seed=1)
    loud = sv.Memoized.of([False, True], "rr", permanent=3.0, first=2.5)
    quiet = sv.Memoized.of([False, True], "rr", permanent=3.0, first=0.1)
    shares = [
        found(split_score(np.stack([np.asarray(r) for r in m.randomize_waves(waves, seed=2)], axis=1)), moment)
        for m in (loud, quiet)
    ]
    assert shares[0] > 0.75
    assert shares[1] < 0.2


def test_changes_hides_the_moment() -> None:
    """Nobody can find it more than e^epsilon times as often as blindly; the likeliest wave is found less often yet."""
    moment, waves = moments(3000, seed=1)
    m = sv.Changes(WAVES, 1, epsilon=1.0)
    order, up = np.divmod(np.stack([np.asarray(r) for r in m.randomize_waves(waves, seed=2)], axis=1), 2)
    run = 1 << order[:, :1].astype(int)
    end = (np.arange(1, WAVES) // run + 1) * run - 1
    said = np.take_along_axis(up, np.minimum(end, WAVES - 1), axis=1)
    blind = 3 / (WAVES - 1)
    assert found(np.where(end < WAVES, said - 0.5, 0.0), moment) < 2 * blind < math.e * blind


# The change between two waves.

KINDS: list[tuple[str, Any]] = [("rr", [0, 1]), ("krr", 4), ("unary", 4), ("local_hash", 9)]


def surveys(m: sv.Memoized, waves: list[np.ndarray], runs: int) -> list[tuple[sv.Estimate, sv.Estimate]]:
    """So many surveys of the same people, all at once: people in blocks, one block a survey."""
    n = len(waves[0])
    columns = [wave.data for wave in m.randomize_waves([np.tile(wave, runs) for wave in waves], seed=5)]
    return [
        tuple(m.tally().add_many(column[at : at + n]).estimate() for column in columns) for at in range(0, n * runs, n)
    ]


@pytest.mark.parametrize("stayed", [1.0, 0.9])
@pytest.mark.parametrize(("kind", "domain"), KINDS)
def test_the_stated_error_of_a_change_is_the_true_one(kind: str, domain: Any, stayed: float) -> None:
    """1,000 surveys or more of 400 people, of whom nobody or a tenth change: the spread is the stated error within 5%.

    It is known to 1.3% at worst: false alarms below 2e-4. Without the covariance the stated error is far
    too large, which the same comparison shows.
    """
    m = sv.Memoized.of(domain, kind, permanent=1.5, first=1.0)
    size = m.domain.size
    runs = 6000 // size if size < 9 else 1000
    before = np.arange(400) % size
    after = np.where(np.arange(400) < 400 * (1 - stayed), (before + 1) % size, before)
    truth = (np.bincount(after, minlength=size) - np.bincount(before, minlength=size)) / 400
    pairs = surveys(m, [before, after], runs)
    spread = np.mean([(b.unbiased - a.unbiased - truth) ** 2 for a, b in pairs])
    right = spread / np.mean([change(a, b, m, 400, stayed).stderr ** 2 for a, b in pairs])
    naive = spread / np.mean([change(a, b).stderr ** 2 for a, b in pairs])
    assert math.sqrt(right) == pytest.approx(1, abs=0.05)
    assert math.sqrt(naive) < 0.85


def test_the_error_about_the_population_counts_each_person_once() -> None:
    """People are drawn anew for each survey; a tenth of them move. Known to 1.5%, right within 6%: four deviations."""
    m, n, runs = sv.Memoized.of(3, "krr", permanent=8.0, first=6.0), 300, 1500
    rng = np.random.default_rng(3)
    before = rng.choice(3, (runs, n), p=[0.5, 0.3, 0.2])
    after = np.where(rng.random((runs, n)) < 0.1, (before + 1) % 3, before)
    truth = 0.1 * (np.array([0.2, 0.5, 0.3]) - [0.5, 0.3, 0.2])
    columns = [wave.data for wave in m.randomize_waves([before.ravel(), after.ravel()], seed=1)]
    errors, stated, naive = [], [], []
    for at in range(0, n * runs, n):
        first, second = (m.tally().add_many(column[at : at + n]).estimate() for column in columns)
        result = change(first, second, m, overlap=n, stayed=0.9)
        errors.append(result.change - truth)
        stated.append(result.population_stderr**2)
        naive.append(change(first, second).population_stderr ** 2)
    assert math.sqrt(np.mean(np.square(errors)) / np.mean(stated)) == pytest.approx(1, abs=0.06)
    assert math.sqrt(np.mean(np.square(errors)) / np.mean(naive)) < 0.6


def pair_of(m: Pure | sv.Memoized, n: int = 500) -> tuple[sv.Estimate, sv.Estimate]:
    values = [m.domain.labels[i % m.domain.size] for i in range(n)]
    made = [m.tally().add_many(m.randomize_many(values, seed=seed)).estimate() for seed in (1, 2)]
    return made[0], made[1]


def test_a_change_is_shown_like_any_result() -> None:
    m = sv.Memoized.of(["no", "yes"], "krr", permanent=2.0, first=1.0)
    before, after = pair_of(m)
    result = change(before.sort(), after.top(1), m, 500, 1.0)
    assert len(result) == 2 and result["yes"].change == pytest.approx(result.change[1])
    assert result.epsilon == m.epsilon_over(2, 1) and result.simulated and result.n == 500
    assert "change" in str(result) and result.to_dict()["estimates"][0]["before"] == before.unbiased[0]
    low, high = result.interval(0.99, simultaneous=True)
    assert (low < result.change).all() and (result.change < high).all()
    assert (result.stderr < change(before, after).stderr).all()


def test_the_correlation_fits_the_test_of_a_difference() -> None:
    m = sv.Memoized.of([False, True], "rr", permanent=2.0, first=1.0)
    before, after = pair_of(m)
    result = change(before, after, m, 500, 1.0)
    one, other = (Proportion(int(e.support[1]), e.n, p=e.p, q=e.q, epsilon=e.epsilon) for e in (before, after))
    tested = difference_test(one, other, correlation=float(result.correlation[1]))
    assert tested.interval is not None and tested.estimate == pytest.approx(result.change[1])
    width = result.interval(0.95, population=True)
    assert tested.interval.high - tested.interval.low == pytest.approx((width.high - width.low)[1], rel=0.05)


def test_fresh_noise_has_no_covariance() -> None:
    m = sv.KRR(4, 1.0)
    before, after = pair_of(m)
    assert not change(before, after, m, 500, 1.0).covariance.any()
    assert change(before, after).epsilon == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"overlap": 501}, "overlap must be at most the smaller wave, 500"),
        ({"overlap": -1}, "overlap must be a whole number"),
        ({"overlap": 1.5}, "overlap must be a whole number"),
        ({"stayed": 0.5}, "stayed is a share of the overlap"),
        ({"overlap": 5, "stayed": 1.5}, "stayed must be a number from 0 to 1"),
        ({"overlap": 5, "stayed": math.nan}, "stayed must be a number from 0 to 1"),
        ({"mechanism": sv.KRR(4, 2.0)}, "mechanism must be the one"),
        ({"mechanism": "krr"}, "mechanism must be the one"),
        ({"before": 0.5}, "before must be an estimate"),
        ({"after": pair_of(sv.KRR(4, 2.0))[0]}, "must be estimates of one mechanism"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: Any, says: str) -> None:
    before, after = pair_of(sv.KRR(4, 1.0))
    with pytest.raises(sv.ParameterError, match=says):
        change(**{"before": before, "after": after} | arguments)
