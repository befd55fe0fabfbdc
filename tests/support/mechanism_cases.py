"""Small instances of every mechanism in the package, and broken twins, each with a check that must catch it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sottovoce as sv
from sottovoce import mechanisms
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.longitudinal.memoized_kinds import MemoizedTexts, MemoizedValues
from sottovoce.testing import broken, contract, over_time

GAPPED = sv.Domain(["a", "b", "c"], missing="category")
LETTERS = sv.Text(max_bytes=1)
CUT = sv.Text(max_bytes=8, longer="cut")
GROUPS: dict[str, Any] = {"base": "krr", "buckets": 3, "spans": [(0, 1), (0, 2)], "cohorts": 2, "domain": LETTERS}

CASES: dict[type[Mechanism], list[Mechanism]] = {
    sv.RandomizedResponse: [
        sv.RandomizedResponse(epsilon=1.0),
        sv.RandomizedResponse.from_coins(),
        sv.RandomizedResponse.warner(0.3),
    ],
    sv.KRR: [
        sv.KRR(2, epsilon=0.5),
        sv.KRR(["a", "b", "c"], epsilon=1.0),
        sv.KRR(GAPPED, epsilon=2.0),
        sv.KRR(9, p=0.05),
    ],
    sv.Unary: [
        sv.Unary(5, epsilon=1.0),
        sv.Unary(GAPPED, epsilon=2.0, kind="symmetric"),
        sv.Unary(3, p=0.75, q=0.25),
        sv.Unary(9, epsilon=3.0),
    ],
    sv.Subset: [
        sv.Subset(5, epsilon=1.0),
        sv.Subset(GAPPED, epsilon=0.25),
        sv.Subset(6, epsilon=1.0, size=3),
        sv.Subset(9, epsilon=0.5, size=5),
        sv.Subset(10, epsilon=2.0, size=2),
    ],
    sv.Hadamard: [sv.Hadamard(2, epsilon=1.0), sv.Hadamard(GAPPED, epsilon=0.5), sv.Hadamard(7, epsilon=2.0)],
    sv.Projective: [
        sv.Projective(2, epsilon=1.0),
        sv.Projective(GAPPED, epsilon=1.0),
        sv.Projective(7, epsilon=0.5, order=2),
        sv.Projective(13, epsilon=1.0, order=3),
        sv.Projective(17, epsilon=2.0, order=4),
        sv.Projective(6, epsilon=2.0, order=5),
    ],
    sv.LocalHash: [
        sv.LocalHash(5, epsilon=1.0, kind="binary"),
        sv.LocalHash(6, epsilon=1.0),
        sv.LocalHash(GAPPED, epsilon=0.5),
        sv.LocalHash(7, epsilon=2.0, buckets=3),
        sv.LocalHash(3, epsilon=3.0, buckets=5),
        sv.LocalHash(9, epsilon=2.0, buckets=8),
    ],
    sv.Sets: [sv.Sets(2, epsilon=0.5), sv.Sets(["a", "b", "c"], epsilon=1.0), sv.Sets(4, p=0.3)],
    sv.KeyValue: [
        sv.KeyValue(2, 0, 1, epsilon=1.0),
        sv.KeyValue(["a", "b"], -1, 5, epsilon=2.0, outside="clip"),
        sv.KeyValue(2, 1, 5, p=0.2),
    ],
    sv.Mean: [
        sv.Mean(0, 1, epsilon=1.0, kind="rounding"),
        sv.Mean(-3, 0.1, epsilon=0.5, kind="duchi", steps=5),
        sv.Mean(0, 1, epsilon=2.0, kind="piecewise", steps=7),
        sv.Mean(0, 1, epsilon=1.0, kind="piecewise", steps=1),
        sv.Mean(0, 0.3, epsilon=1.0, kind="hybrid", steps=6),
        sv.Mean(10, 20, epsilon=4.0, steps=8, outside="clip"),
    ],
    sv.SquareWave: [
        sv.SquareWave(0, 1, bins=2, epsilon=1.0, steps=4),
        sv.SquareWave(-3, 0.1, bins=5, epsilon=2.0, steps=5),
        sv.SquareWave(0, 1, bins=2, epsilon=0.5, steps=6, outside="clip"),
    ],
    sv.Ranges: [
        sv.Ranges(2, epsilon=1.0),
        sv.Ranges(5, epsilon=1.0, fanout=2),
        sv.Ranges(GAPPED, epsilon=2.0, fanout=3),
        sv.Ranges(9, epsilon=0.5),
    ],
    sv.Several: [
        sv.Several({"a": 2, "b": 3}, epsilon=1.0, how="split"),
        sv.Several({"a": 2, "b": GAPPED}, epsilon=2.0, how="sample"),
        sv.Several({"a": 3, "b": 3}, epsilon=0.5, how="joint"),
        sv.Several({"a": 2, "b": 3, "c": 2}, epsilon=1.0, how="pairs"),
        sv.Several({"a": 2, "b": 2}, epsilon=4.0),
    ],
    MemoizedValues: [
        sv.Memoized.of([False, True], "rr", permanent=2.0, first=0.5),
        sv.Memoized.of(["a", "b", "c"], "krr", permanent=3.0, first=1.0),
        sv.Memoized.of(2, "unary", permanent=2.0, first=1.0),
        sv.Memoized.rappor(2, f=0.5, p=0.5, q=0.75),
        sv.Memoized.of(3, "local_hash", permanent=2.0, first=1.0, buckets=2),
        sv.Memoized.pair(sv.LocalHash(3, 0.001, buckets=2), sv.KRR(2, p=0.75)),
        sv.Memoized.pair(sv.LocalHash(4, 0.5, buckets=2), sv.KRR(2, p=0.75), changes=1),
        sv.Memoized.of(["a", "b", "c"], "krr", permanent=2.0, first=1.0, changes=1),
        sv.Memoized.of(3, "krr", permanent=2.0, first=1.0, changes=0),
        sv.Memoized.of(2, "unary", permanent=2.0, first=1.0, changes=9),
    ],
    MemoizedTexts: [
        sv.Memoized.rappor(LETTERS, f=0.5, p=0.25, q=0.75, bits=4, hashes=2, cohorts=1),
        sv.Memoized.of(LETTERS, "bloom", permanent=3.0, first=1.0, buckets=3, hashes=1, cohorts=2),
        sv.Memoized.of(LETTERS, "hashed", permanent=2.0, first=1.0, buckets=3, cohorts=2),
        sv.Memoized.pair(sv.Hashed(sv.Unary(3, 2.0), cohorts=1, domain=LETTERS), sv.Unary(3, p=0.75, q=0.25)),
        sv.Memoized.pair(sv.Hashed("krr", 2, 2, 0.5, domain=LETTERS), sv.KRR(2, p=0.75), changes=1),
        sv.Memoized.rappor(LETTERS, f=0.75, p=0.25, q=0.75, bits=2, hashes=1, cohorts=2, changes=1),
    ],
    sv.DBitFlip: [
        sv.DBitFlip(3, 1.0, sampled=1),
        sv.DBitFlip(3, 2.0, sampled=2),
        sv.DBitFlip(2, p=0.75, sampled=2),
        sv.DBitFlip(4, p=0.75, sampled=2),
    ],
    sv.Hashed: [
        sv.Hashed("krr", 3, 2, 1.0, domain=LETTERS),
        sv.Hashed(sv.Unary(4, 2.0, kind="symmetric"), cohorts=3, domain=sv.Text(1, missing="category")),
        sv.Hashed("hadamard", 5, 2, 0.5, salt="another", domain=LETTERS),
        sv.Hashed("subset", 5, 3, 1.0, domain=LETTERS),
        sv.Hashed("local_hash", 4, 1, 1.0, domain=LETTERS),
    ],
    mechanisms.Bloom: [
        mechanisms.Bloom(4, 2, 2, 2.0, domain=LETTERS),
        mechanisms.Bloom(5, 2, 2, p=0.75, q=0.25, domain=sv.Text(1, missing="category")),
        sv.Hashed.rappor(5, 1, 1, f=0.5, p=0.5, q=0.75, domain=LETTERS),
    ],
    sv.Discovery: [
        sv.Discovery(1.0, **GROUPS),
        sv.Discovery(2.0, method="fragments", base="subset", buckets=4, cohorts=4, tag=4, domain=LETTERS),
        sv.Discovery(0.5, base="unary", buckets=4, cohorts=3, domain=sv.Text(1, missing="category")),
    ],
    sv.Changes: [sv.Changes(4, 2, 1.0), sv.Changes(4, 1, p=0.75, domain=["no", "yes"]), sv.Changes(3, 1, 2.0)],
}
ALL = [pytest.param(m, id=f"{m!r}-{at}") for cases in CASES.values() for at, m in enumerate(cases)]

UNLISTED: list[Mechanism] = [
    sv.KRR(sv.Domain(5, missing="category"), epsilon=1.0),
    sv.KRR(2**31, epsilon=5.0),
    sv.Hadamard(2**31, epsilon=1.0),
    sv.LocalHash(10**6, epsilon=1.0, buckets=7),
    sv.LocalHash(10**5, epsilon=5.6, buckets=257),
    sv.Projective(10**4, epsilon=1.0),
    sv.Ranges(10**5, epsilon=1.0),
    sv.Mean(-1e6, 1e6, epsilon=1.0),
    sv.Mean(0, 100, epsilon=1.0, outside="clip"),
    sv.SquareWave(-1, 1, epsilon=1.0),
    sv.Sets(30, epsilon=1.0),
    sv.KeyValue(12, 1, 5, epsilon=1.0),
    sv.Hashed("krr", 16, 4, 1.0),
    sv.Hashed("auto", 1024, 64, 2.0, domain=sv.Text(300, missing="category")),
    sv.Hashed("krr", 16, 4, 1.0, domain=CUT),
    mechanisms.Bloom(16, 2, 4, 2.0),
    sv.Discovery(2.0, 4),
    sv.Discovery(2.0, 4, method="fragments"),
    sv.Memoized.of(sv.Text(300), "hashed", permanent=2.0, first=1.0, buckets=16, cohorts=4),
]
"""More mechanisms; most of their channels cannot be listed."""

BUILDERS: dict[str, Callable[[float], Mechanism]] = {
    "rr": sv.RandomizedResponse,
    "krr": lambda epsilon: sv.KRR(10, epsilon),
    "krr, large": lambda epsilon: sv.KRR(2**20, epsilon),
    "unary, symmetric": lambda epsilon: sv.Unary(10, epsilon, kind="symmetric"),
    "unary, optimal": lambda epsilon: sv.Unary(10, epsilon),
    "local hash, binary": lambda epsilon: sv.LocalHash(100, epsilon, kind="binary"),
    "local hash, optimal": lambda epsilon: sv.LocalHash(100, epsilon),
    "subset": lambda epsilon: sv.Subset(100, epsilon),
    "subset, half": lambda epsilon: sv.Subset(100, epsilon, size=50),
    "hadamard": lambda epsilon: sv.Hadamard(100, epsilon),
    "projective": lambda epsilon: sv.Projective(100, epsilon),
    "choose": lambda epsilon: sv.choose(100, epsilon),
    "hashed": lambda epsilon: sv.Hashed("auto", 100, epsilon=epsilon),
    "count-mean sketch": lambda epsilon: sv.Hashed.count_mean_sketch(epsilon),
    "bloom": lambda epsilon: mechanisms.Bloom(epsilon=epsilon),
    "discovery": lambda epsilon: sv.Discovery(epsilon, 4),
    "bloom, 3 hashes": lambda epsilon: mechanisms.Bloom(64, 3, epsilon=epsilon),
    "sets": lambda epsilon: sv.Sets(10, epsilon),
    "key-value": lambda epsilon: sv.KeyValue(10, 0, 1, epsilon),
    "mean, rounding": lambda epsilon: sv.Mean(0, 1, epsilon, kind="rounding"),
    "mean, piecewise": lambda epsilon: sv.Mean(0, 1, epsilon, kind="piecewise"),
    "mean, hybrid": lambda epsilon: sv.Mean(0, 1, epsilon, kind="hybrid"),
    "mean": lambda epsilon: sv.Mean(-5, 1e6, epsilon),
    "square wave": lambda epsilon: sv.SquareWave(0, 1, epsilon=epsilon),
    "ranges": lambda epsilon: sv.Ranges(100, epsilon),
    "several, split": lambda epsilon: sv.Several({"a": 3, "b": 4, "c": 5}, epsilon, how="split"),
    "several, pairs": lambda epsilon: sv.Several({"a": 3, "b": 4, "c": 5}, epsilon, how="pairs"),
    "several, auto": lambda epsilon: sv.Several({"a": 3, "b": 4, "c": 5}, epsilon),
}

TWO: dict[str, Any] = {"permanent": 2.0, "first": 1.0}
TINY: dict[str, Any] = {"buckets": 2, "cohorts": 2}
FILTER: dict[str, Any] = {"f": 0.5, "p": 0.25, "q": 0.75, "bits": 4, "hashes": 2, "cohorts": 1}
FAINT: dict[str, Any] = {"f": 0.9, "p": 0.25, "q": 0.75, "bits": 2, "hashes": 1, "cohorts": 2}
"""A filter whose permanent answers say little, so that sharing one says more than it costs."""
SMALLEST: tuple[Any, Any] = (sv.LocalHash(3, 0.0005, buckets=2), sv.KRR(2, p=0.75))
TWINS: list[tuple[Callable[[Any], None], Mechanism]] = [
    (contract.check_every_draw_gives_the_channel, broken.CohortByValue("krr", 3, 2, 1.0, domain=LETTERS)),
    (contract.check_columns_have_the_same_law, broken.CohortByValue("krr", 3, 2, 1.0, domain=LETTERS)),
    (contract.check_every_draw_gives_the_channel, broken.LuckyCohort("krr", 3, 2, 1.0, domain=LETTERS)),
    (contract.check_every_draw_gives_the_channel, broken.GroupByLength(1.0, **GROUPS)),
    (contract.check_columns_have_the_same_law, broken.EndForgotten(1.0, **GROUPS)),
    (contract.check_every_draw_gives_the_channel, broken.SaltedByTheAnswer("krr", 3, 2, 1.0, domain=LETTERS)),
    (contract.check_epsilon_is_the_worst_ratio, broken.OneBitCounted(4, 2, 2, 2.0, domain=LETTERS)),
    (contract.check_every_draw_gives_the_channel, broken.LevelByValue(9, 1.0)),
    (contract.check_columns_have_the_same_law, broken.LevelByValue(9, 1.0)),
    (contract.check_epsilon_is_the_worst_ratio, broken.PartsNotAdded({"a": 2, "b": 3}, 1.0)),
    (contract.check_time_tells_nothing, broken.DrawsWhatItNeeds(3, 1.0)),
    (contract.check_time_tells_nothing, broken.PacksTheSetBits(3, 1.0)),
    (contract.check_all_answers_take_the_same_way, broken.ZeroIsNotHashed(6, 1.0)),
    (contract.check_all_answers_take_the_same_way, broken.CutsWhatIsLonger("krr", 3, 2, 1.0, domain=CUT)),
    (contract.check_law_is_a_distribution, broken.LawThatLeaks(3, 1.0)),
    (contract.check_epsilon_is_the_worst_ratio, broken.EpsilonRoundedDown(3, 1.0)),
    (contract.check_epsilon_is_the_worst_ratio, broken.TwoDecimals(3, 1.0)),
    (contract.check_epsilon_is_the_worst_ratio, broken.LawThatLeaks(3, 1.0)),
    (contract.check_supports_have_p_and_q, broken.ZeroCohortRejected(6, 1.0)),
    (contract.check_supports_have_p_and_q, broken.TwoDecimals(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.SetBitNeverCleared(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.SwappedProbabilities(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.LastBitNotRandomized(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.ExcludedValueStillDrawn(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.ZeroCohortRejected(6, 1.0)),
    (contract.check_columns_have_the_same_law, broken.SetBitNeverCleared(3, 1.0)),
    (contract.check_columns_have_the_same_law, broken.SwappedProbabilities(3, 1.0)),
    (contract.check_columns_have_the_same_law, broken.LastBitNotRandomized(9, 1.0)),
    (contract.check_columns_have_the_same_law, broken.ExcludedValueStillDrawn(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.ZeroRowRejected(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.ZeroPlaneRejected(7, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.ExcludedMemberStillDrawn(6, 1.0)),
    (contract.check_columns_have_the_same_law, broken.ZeroRowRejected(3, 1.0)),
    (contract.check_columns_have_the_same_law, broken.ExcludedMemberStillDrawn(6, 1.0)),
    (contract.check_errors_are_as_declared, broken.ZeroRowRejected(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.AsksWhatItHolds(3, 1.0)),
    (contract.check_columns_have_the_same_law, broken.AsksWhatItHolds(3, 1.0)),
    (contract.check_bits_count_the_reports, broken.WideReports(3, 1.0)),
    (contract.check_tally_counts_the_support, broken.WrongDecoder(6, 1.0)),
    (contract.check_merges_are_exact, broken.OverflowingTally(3, 1.0)),
    (contract.check_errors_are_as_declared, broken.SharedCoins(3, 1.0)),
    (contract.check_errors_are_as_declared, broken.ExcludedValueStillDrawn(3, 1.0)),
    (contract.check_errors_are_as_declared, broken.SwappedProbabilities(3, 1.0)),
    (contract.check_round_trip, broken.RoundedOnTheWire(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.WindowStillDrawn(0, 1, 2.0, kind="piecewise", steps=4)),
    (contract.check_columns_have_the_same_law, broken.WindowStillDrawn(0, 1, 2.0, kind="piecewise", steps=4)),
    (contract.check_every_draw_gives_the_channel, broken.EndsTellTheirKind(0, 1, 2.0, kind="hybrid", steps=4)),
    (contract.check_every_draw_gives_the_channel, broken.WindowCutAtTheEnds(0, 1, bins=4, epsilon=1.0, steps=4)),
    (contract.check_columns_have_the_same_law, broken.WindowCutAtTheEnds(0, 1, bins=4, epsilon=1.0, steps=4)),
    (over_time.check_reports_over_time_cost_as_declared, broken.PermanentRedrawn.of(2, "rr", **TWO)),
    (over_time.check_reports_over_time_cost_as_declared, broken.ForgetsOldValues.of(2, "rr", **TWO)),
    (over_time.check_columns_over_time_have_the_same_law, broken.ForgetsOldValues.of(2, "unary", **TWO)),
    (contract.check_every_draw_gives_the_channel, broken.InstantaneousSkipped.of(4, "local_hash", **TWO)),
    (over_time.check_reports_over_time_cost_as_declared, broken.InstantaneousSkipped.of(2, "unary", **TWO)),
    (over_time.check_reports_over_time_cost_as_declared, broken.ChargesOneReport.of(2, "rr", **TWO)),
    (over_time.check_reports_over_time_cost_as_declared, broken.CohortDrawnAgain.of(LETTERS, "hashed", **TWO, **TINY)),
    (over_time.check_reports_over_time_cost_as_declared, broken.AnswerPerBucket(*SMALLEST)),
    (over_time.check_reports_over_time_cost_as_declared, broken.AnswerPerBucket.of(3, "local_hash", **TWO, buckets=2)),
    (over_time.check_reports_over_time_cost_as_declared, broken.AnswerPerBucket(*SMALLEST, changes=1)),
    (over_time.check_columns_over_time_have_the_same_law, broken.ColumnsPerBucket(*SMALLEST)),
    (over_time.check_reports_over_time_cost_as_declared, broken.AnswerPerPlace.of(LETTERS, "hashed", **TWO, **TINY)),
    (over_time.check_reports_over_time_cost_as_declared, broken.AnswerPerPlace.rappor(LETTERS, **FAINT)),
    (over_time.check_reports_over_time_cost_as_declared, broken.DrawsBeyondItsChanges.of(3, "krr", **TWO, changes=0)),
    (over_time.check_reports_over_time_cost_as_declared, broken.DrawsBeyondItsChanges.of(3, "krr", **TWO, changes=1)),
    (over_time.check_columns_over_time_have_the_same_law, broken.ColumnsNeverFreeze.of(3, "krr", **TWO, changes=1)),
    (contract.check_epsilon_is_the_worst_ratio, broken.OneBitOfTheFilter.rappor(LETTERS, **FILTER)),
    (over_time.check_reports_over_time_cost_as_declared, broken.OneAnswerForTheRest(3, 1.0, sampled=1)),
    (over_time.check_reports_over_time_cost_as_declared, broken.TellsEveryChange(4, 2, 1.0)),
    (over_time.check_columns_over_time_have_the_same_law, broken.ForgetsInTheWaves(4, 2, 4.0)),
]
