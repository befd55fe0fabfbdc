"""The shuffle model: bounds against brute force, published values and known mistakes; sums, histograms, rounds."""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shuffled_law import Law, divergence, multiset, neighbours

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.privacy import GRID
from sottovoce.mechanisms import build
from sottovoce.trust import BinarySum, RealSum, Shuffle, ShuffledHistogram
from sottovoce.trust.shuffle import bit_counts, lattice
from sottovoce.trust.shuffle.bit_counts import BitCounts
from sottovoce.trust.shuffle.pairs import Pair, TwoLevel, blankets, clones, two_level
from sottovoce.trust.shuffle.solve import least
from sottovoce.trust.shuffle.sums import _messages

DELTAS = (0.1, 1e-2, 1e-6)


def sound(m: sv.Mechanism, n: int, laws: list[tuple[Law, Law]], delta: float) -> bool:
    """Whether the bounds lie on either side of the exact divergence of all neighbours."""
    found = sv.shuffle_epsilon(m, n, delta)
    at_upper, at_lower = (max(divergence(a, b, e) for a, b in laws) for e in (found.upper, found.lower))
    return found.lower <= found.upper and at_upper <= delta * (1 + 1e-9) and (not found.lower or at_lower >= delta)


# Brute force.


@pytest.mark.parametrize(("k", "n"), [(2, 6), (3, 4), (4, 3), (5, 3), (6, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 2.5])
def test_krr_is_bounded_from_both_sides(k: int, n: int, epsilon: float) -> None:
    m = sv.KRR(k, epsilon=epsilon)
    laws = list(neighbours(m, n, symmetric=True))
    assert all(sound(m, n, laws, delta) for delta in DELTAS)


@pytest.mark.slow
@pytest.mark.parametrize("k", range(2, 7))
def test_krr_is_bounded_from_both_sides_for_every_small_n(k: int) -> None:
    for n in range(1, 6 if k < 5 else 5):
        for epsilon in (0.2, 1.0, 3.5):
            m = sv.KRR(k, epsilon=epsilon)
            laws = list(neighbours(m, n, symmetric=True))
            assert all(sound(m, n, laws, delta) for delta in (0.3, *DELTAS, 1e-9))


OTHERS = [
    sv.KRR(4, p=0.1),
    sv.Unary(2, epsilon=1.0),
    sv.Unary(3, epsilon=1.5, kind="symmetric"),
    sv.Hadamard(2, epsilon=1.0),
    sv.Hadamard(4, epsilon=1.5),
    sv.LocalHash(3, epsilon=0.7, buckets=2),
    sv.LocalHash(4, epsilon=2.0, buckets=3),
    sv.Subset(4, epsilon=1.0, size=2),
    sv.Projective(3, epsilon=1.0, order=2),
    sv.Projective(5, epsilon=1.0, order=2),
    sv.Sets(2, epsilon=1.0),
    sv.Mean(0, 1, steps=2, epsilon=1.0),
    sv.SquareWave(0, 1, bins=4, steps=4, epsilon=1.0),
]


@pytest.mark.parametrize("m", OTHERS, ids=lambda m: f"{m.name}{m.domain.size}")
def test_other_mechanisms_are_bounded_from_both_sides(m: sv.Mechanism) -> None:
    for n in (2, 3):
        laws = list(neighbours(m, n))
        assert all(sound(m, n, laws, delta) for delta in DELTAS)


@pytest.mark.parametrize(
    "m",
    [
        *(sv.KRR(k, epsilon=1.0) for k in (2, 3, 4)),
        *(sv.Hadamard(k, epsilon=1.0) for k in (2, 3, 4, 7)),
        *(sv.LocalHash(k, epsilon=1.0, buckets=g) for k, g in ((3, 3), (4, 3), (4, 2))),
        *(sv.Subset(k, epsilon=1.0, size=2) for k in (3, 4, 5)),
        *(sv.Projective(k, epsilon=1.0, order=2) for k in (3, 4, 7)),
    ],
    ids=lambda m: f"{m.name}{m.domain.size}",
)
def test_reports_speak_for_some_values_as_often_as_is_said(m: Any) -> None:
    """For every one and every two values, and for some three: a bound from below needs no more than three that exist.

    Of three values of Hadamard response the third is the sum of the others, so that no three are as is said.
    """
    levels = two_level(m)
    assert levels is not None
    spoken = [set(m.supports(report)) for report in next(iter(m.channel().values()))]

    def shares(size: int) -> set[Fraction]:
        groups = combinations(range(m.domain.size), size)
        return {Fraction(sum(held.issuperset(some) for held in spoken), len(spoken)) for some in groups}

    assert shares(1) == {levels.one} and shares(2) == {levels.two}
    assert levels.three is None or levels.three in shares(3)


@pytest.mark.parametrize("planted", [1.15, 2.0])
def test_a_blanket_that_is_too_large_is_noticed(planted: float, monkeypatch: pytest.MonkeyPatch) -> None:
    m, n = sv.KRR(3, epsilon=1.2345 + planted), 4
    blanket = TwoLevel.blanket

    def wrong(self: TwoLevel) -> Pair:
        pair = blanket(self)
        return Pair(min(pair.gamma * Fraction(planted), Fraction(1)), pair.base, pair.first, pair.second)

    monkeypatch.setattr(TwoLevel, "blanket", wrong)
    blankets.cache_clear()
    laws = list(neighbours(m, n, symmetric=True))
    assert not all(sound(m, n, laws, delta) for delta in DELTAS)
    blankets.cache_clear()


def test_a_lattice_that_rounds_down_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values moved to the lattice below instead of being split: no bound any more."""

    def down(values: Any, weights: Any, fine: float = 0.3) -> lattice.Lattice:
        origin, step = lattice._scale(values, weights, fine)
        places = np.floor((values - origin) / step - 1e-9).astype(np.int64)
        return lattice.Lattice(origin, step, *lattice._merged(places, weights))

    monkeypatch.setattr(lattice, "spread", down)
    m, n = sv.KRR(3, epsilon=1.2346), 4
    laws = list(neighbours(m, n, symmetric=True))
    assert not all(sound(m, n, laws, delta) for delta in DELTAS)


@pytest.mark.parametrize("n", [2, 5, 9])
@pytest.mark.parametrize("p", [0.6, 0.9, 0.2])
def test_randomized_response_is_exact(n: int, p: float) -> None:
    m = sv.RandomizedResponse(p=p)
    laws = list(neighbours(m, n))
    for delta in (0.05, 1e-3, 1e-6):
        found = sv.shuffle_epsilon(m, n, delta)
        exact = least(lambda e: max(divergence(a, b, e) for a, b in laws), delta, m.epsilon / 2, m.epsilon)
        assert found.method in ("exact", "local")
        assert found.upper == pytest.approx(exact, rel=1e-3, abs=1e-9)


def test_a_grid_of_counts_bounds_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = BitCounts(701, Fraction(3, 4))
    assert not exact._stride
    values = [exact.upper(epsilon) for epsilon in (0.05, 0.12, 0.2)]
    for rows in (40, 90):
        monkeypatch.setattr(bit_counts, "MIN_ROWS", rows)
        coarse = BitCounts(701, Fraction(3, 4), cells=0)
        starts, stride = coarse._starts, coarse._stride
        assert stride
        for ones in range(701):
            assert any(start <= ones <= start + stride and start <= 700 - stride for start in starts)
        for epsilon, value in zip((0.05, 0.12, 0.2), values, strict=True):
            assert value <= coarse.upper(epsilon) <= value * 1.8


def test_clones_bound_every_channel() -> None:
    """Random channels whose worst ratio is e^epsilon, by brute force over all neighbours."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        d, outputs, n = (int(rng.integers(2, 4)) for _ in range(3))
        table = np.where(rng.random((d, outputs)) < 0.5, 1.0, 6.0) * rng.random(outputs)
        table /= table.sum(axis=1, keepdims=True)
        worst = float(np.log((table[:, None] / table[None]).max()))
        if worst < 1e-6:
            continue
        for others in product(range(d), repeat=n - 1):
            first, second = (multiset([*table[list(others)].tolist(), table[v].tolist()]) for v in (0, 1))
            for epsilon in (0.2 * worst, 0.8 * worst):
                assert divergence(first, second, epsilon) <= clones(worst).upper(n, epsilon) * (1 + 1e-9) + 1e-15


# Published values and known mistakes.

REFERENCE = {
    (1.0, 10**4): (0.0530, 0.03566, 0.0186),
    (1.0, 10**6): (0.004335, 0.002849, 0.001471),
    (4.0, 10**4): (0.6009, 0.3146, 0.3617),
}


@pytest.mark.parametrize(("epsilon", "n"), REFERENCE)
def test_reference_points(epsilon: float, n: int) -> None:
    targets: tuple[float | sv.Mechanism, ...] = (epsilon, sv.KRR(2, epsilon=epsilon), sv.KRR(16, epsilon=epsilon))
    for target, known in zip(targets, REFERENCE[epsilon, n], strict=True):
        found = sv.shuffle_epsilon(target, n, 1e-6)
        assert found.upper == pytest.approx(known, rel=0.005)
        if isinstance(target, sv.Mechanism):
            assert found.lower == pytest.approx(known, rel=0.005)


@pytest.mark.parametrize(
    ("epsilon", "n", "known"), [(1.0, 10**4, 0.0432), (1.0, 10**6, 0.003514), (4.0, 10**4, 0.4108)]
)
def test_blanket_of_randomized_response(epsilon: float, n: int, known: float) -> None:
    structure = two_level(sv.KRR(2, epsilon=epsilon))
    assert structure
    pair = structure.blanket()
    assert least(lambda e: pair.upper(n, e), 1e-6, known, epsilon) == pytest.approx(known, rel=0.005)


def test_the_variation_ratio_is_not_sound_for_many_values() -> None:
    """Counting only the two answers in question, as if all others were alike, understates k-ary response from k = 4."""
    m = sv.KRR(10, epsilon=2.0)
    found = sv.shuffle_epsilon(m, 60, 1e-6)
    assert found.upper >= found.lower >= 1.09145
    p, q = Fraction(m.p), Fraction(m.q)
    merged = Pair.of(Fraction(1), [(q, p, q), (q, q, p), (1 - 2 * q, 1 - p - q, 1 - p - q)])
    assert least(lambda e: merged.upper(60, e), 1e-6, 1.0, 2.0) < 1.09


def test_few_reports_hide_little() -> None:
    """A bound that steps over small n must not come out as nothing."""
    for target in (2.0, sv.KRR(2, epsilon=2.0), sv.KRR(5, epsilon=2.0)):
        uppers = [sv.shuffle_epsilon(target, n, 1e-6).upper for n in (1, 2, 5, 20, 50)]
        assert uppers == sorted(uppers, reverse=True)
        assert uppers[0] == pytest.approx(2.0, rel=1e-4)
        assert uppers[-1] > 0.8


def test_the_general_bound_is_above_every_mechanism() -> None:
    """The theorems that replace the clones of 2021 by likelier ones for all mechanisms have an erratum: not used."""
    for n in (50, 3000):
        general = sv.shuffle_epsilon(2.0, n, 1e-6).upper
        for kind in (sv.KRR, sv.Unary, sv.Hadamard, sv.LocalHash, sv.Subset, sv.Projective):
            assert sv.shuffle_epsilon(kind(7, epsilon=2.0), n, 1e-6).lower <= general
    assert clones(2.0).gamma <= math.exp(-2.0)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    k=st.integers(2, 40),
    epsilon=st.floats(0.05, 8.0),
    n=st.integers(1, 5000),
    delta=st.sampled_from([0.3, 1e-3, 1e-8, 1e-14]),
)
def test_bounds_are_in_order(k: int, epsilon: float, n: int, delta: float) -> None:
    found = sv.shuffle_epsilon(sv.KRR(k, epsilon=epsilon), n, delta)
    assert 0 <= found.lower <= found.upper <= found.local <= epsilon
    assert found.upper <= sv.shuffle_epsilon(epsilon, n, delta).upper * 1.001 + 1e-9


@pytest.mark.slow
def test_many_reports_and_small_delta() -> None:
    found = sv.shuffle_epsilon(sv.KRR(8, epsilon=2.0), 10**7, 1e-12)
    assert 0 < found.upper / found.lower < 1.01


def test_large_domains() -> None:
    for m in (sv.Subset(100_000, epsilon=1.0), sv.Unary(5000, epsilon=1.0), sv.Projective(10**6, epsilon=1.0)):
        found = sv.shuffle_epsilon(m, 1000, 1e-6)
        assert found.method == "blanket"
        assert found.lower < found.upper < 0.2
    hashed = sv.shuffle_epsilon(sv.Hashed("krr", buckets=16, cohorts=4, epsilon=1.0), 1000, 1e-6)
    assert hashed.upper == sv.shuffle_epsilon(sv.KRR(16, epsilon=1.0), 1000, 1e-6).upper
    assert hashed.lower == 0


# Rounds and inverses.


def test_rounds_against_brute_force() -> None:
    """Two rounds of four people: the exact product of the worst laws lies below the composed bound."""
    m, n = sv.KRR(2, epsilon=1.5), 4
    once = list(neighbours(m, n))
    twice = []
    for first, second in once:
        both: list[Law] = [defaultdict(float), defaultdict(float)]
        for law, total in zip((first, second), both, strict=True):
            for (a, x), (b, y) in product(law.items(), repeat=2):
                total[a + b] += x * y
        twice.append((both[0], both[1]))
    for delta in (1e-2, 1e-4):
        found = sv.shuffle_epsilon(m, n, delta, rounds=2)
        exact = least(lambda e: max(divergence(a, b, e) for a, b in twice), delta, 2.0, 3.0)
        assert max(divergence(a, b, found.upper) for a, b in twice) <= delta
        assert found.upper <= exact * 1.03


def test_what_is_shown_is_rounded_up() -> None:
    for n in range(1000, 1020):
        found = sv.shuffle_epsilon(sv.KRR(16, epsilon=1.0), n, 1e-6)
        shown = float(found.words.partition(" is (")[2].partition(",")[0])
        assert found.upper <= shown <= 1.001 * found.upper
        assert f".. {shown:g} at" in str(found)


def test_the_amplification_is_how_many_times_less_is_spent() -> None:
    for rounds in (1, 3):
        found = sv.shuffle_epsilon(sv.KRR(16, epsilon=1.0), 1000, 1e-6, rounds=rounds)
        assert found.amplification == pytest.approx(rounds * 1.0 / found.upper)
        assert found.amplification > 2


def test_rounds_that_cost_nothing_cost_nothing() -> None:
    """Where delta alone covers every round there is no grid of losses to compose."""
    found = sv.shuffle_epsilon(1e-6, 1000, 0.3, rounds=3)
    assert (found.upper, found.amplification) == (0.0, math.inf)


def test_rounds_at_a_delta_below_the_errors_of_a_transform_are_added_up() -> None:
    m, delta, rounds = sv.KRR(16, epsilon=1.0), 1e-13, 128
    found = sv.shuffle_epsilon(m, 10_000, delta, rounds=rounds).upper
    assert found == pytest.approx(rounds * sv.shuffle_epsilon(m, 10_000, delta / rounds).upper)


def test_rounds_grow_like_their_square_root() -> None:
    m = sv.KRR(16, epsilon=1.0)
    one, nine = (sv.shuffle_epsilon(m, 10_000, 1e-6, rounds=rounds).upper for rounds in (1, 9))
    assert 2.8 * one < nine < 3.6 * one


def test_local_epsilon_for_a_target() -> None:
    for made in (None, lambda e: sv.KRR(16, epsilon=e), lambda e: sv.KRR(2, epsilon=e)):
        local = sv.shuffle_local_epsilon(0.5, 2000, 1e-6, made).local
        make = made or (lambda e: e)
        assert sv.shuffle_epsilon(make(local), 2000, 1e-6).upper <= 0.5
        assert sv.shuffle_epsilon(make(1.02 * local), 2000, 1e-6).upper > 0.5


def test_n_for_a_target() -> None:
    for target in (1.0, sv.KRR(16, epsilon=1.0), sv.KRR(2, epsilon=1.0)):
        n = sv.shuffle_n(target, 0.1, 1e-6).n
        assert sv.shuffle_epsilon(target, n, 1e-6).upper <= 0.1
        assert sv.shuffle_epsilon(target, int(0.98 * n), 1e-6).upper > 0.1
    assert sv.shuffle_n(0.5, 0.6, 1e-6).n == 1


# Protocols.


def _counts(bits_: list[Any]) -> list[Any]:
    law: list[Any] = [1]
    for chance in bits_:
        law = [
            (law[k] if k < len(law) else 0) * (1 - chance) + (law[k - 1] * chance if k else 0)
            for k in range(len(law) + 1)
        ]
    return law


def worst_real_sum(keep: Any, n: int, messages: int, epsilon: float) -> Any:
    """The largest divergence over all answers of the others and all changes, by listing them; exact for a fraction."""
    worst, others, ratio = 0, (n - 1) * messages, type(keep)(math.exp(epsilon))
    for ones in range(others + 1):
        base = [keep] * ones + [1 - keep] * (others - ones)
        laws = [_counts(base + [keep] * v + [1 - keep] * (messages - v)) for v in range(messages + 1)]
        for first, second in product(laws, repeat=2):
            worst = max(worst, sum(max(a - ratio * b, 0) for a, b in zip(first, second, strict=True)))
    return worst


@pytest.mark.parametrize(("n", "messages"), [(2, 3), (5, 2), (4, 5)])
def test_several_messages_are_exact(n: int, messages: int) -> None:
    for delta in (0.05, 1e-4):
        noisy = RealSum(0, 1, n=n, delta=delta, messages=messages, p=0.5)
        upper, lower = noisy.shuffled.upper, noisy.shuffled.lower
        keep = float(noisy.keep)
        assert worst_real_sum(keep, n, messages, upper) <= delta * (1 + 1e-9)
        assert worst_real_sum(keep, n, messages, lower) >= delta * (1 - 1e-9)
        assert lower == pytest.approx(upper, rel=0.2)


@pytest.mark.parametrize(("n", "messages"), [(1, 2), (3, 1), (4, 3), (6, 1)])
@pytest.mark.parametrize("flip", [Fraction(1, 10**6), Fraction(1, 2**40), Fraction(1, 2**52)])
@pytest.mark.parametrize("delta", [1e-6, 1e-12, 1e-200])
def test_bits_that_hardly_ever_flip_are_exact(n: int, messages: int, flip: Fraction, delta: float) -> None:
    """A float of a probability near 1 has lost most of what is left of it: the rest has a float of its own."""
    noisy, local = BitCounts(n, 1 - flip, messages, delta), messages * math.log((1 - flip) / flip)
    for share in (0.2, 0.7, 0.95, 0.999999):
        exact = float(worst_real_sum(1 - flip, n, messages, share * local))
        assert noisy.lower(share * local) <= exact * (1 + 1e-12)
        assert noisy.upper(share * local) >= exact * (1 - 1e-12)


@pytest.mark.parametrize("n", [1, 30, 1000, 50_000])
def test_binary_sums_are_calibrated(n: int) -> None:
    yes = BinarySum(0.8, n=n, delta=1e-6)
    assert (yes.keep * GRID).denominator == 1
    assert yes.epsilon <= 0.8
    assert yes.shuffled.lower > 0.795
    less = BinarySum(n=n, p=yes.p * Fraction(95, 100), delta=1e-6)
    assert less.shuffled.lower > 0.8


@pytest.mark.parametrize("messages", [1, 5])
def test_messages_are_no_noisier_than_alone(messages: int) -> None:
    """Where few reports hide nothing at so small a delta, a person's messages cost epsilon by themselves."""
    alone = 2 / (1 + math.exp(0.1 / messages))
    assert float(RealSum(0, 1, 0.1, n=2, delta=1e-300, messages=messages).p) == pytest.approx(alone, rel=1e-15)


def test_binary_sums_are_unbiased() -> None:
    """A z-test of 300 sums against the stated error: false alarm below 1e-4. Another p is noticed."""
    yes = BinarySum(1.0, n=2000)
    answers = [True] * 700 + [False] * 1300
    ones = [int(yes.randomize_many(answers, seed=seed).sum()) for seed in range(300)]

    def z(protocol: BinarySum) -> float:
        totals = [protocol.estimate(one, 2000) for one in ones]
        return abs(float(np.mean([t.sum for t in totals])) - 700) / (totals[0].stderr / math.sqrt(300))

    assert z(yes) < 3.9
    assert z(BinarySum(n=2000, p=2 * yes.p)) > 3.9
    assert np.std([yes.estimate(one, 2000).sum for one in ones]) == pytest.approx(yes.estimate(0, 2000).stderr, rel=0.2)
    assert {yes.randomize(True) for _ in range(3)} <= {0, 1}


def test_real_sums_are_unbiased_and_near_a_curators_error() -> None:
    """A z-test of 300 sums: false alarm below 1e-4."""
    hours = RealSum(-1, 3, 1.0, n=2000)
    answers = np.linspace(-1, 3, 2000) ** 2 / 3
    totals = [hours.estimate(int(hours.randomize_many(answers, seed=s).sum()), 2000) for s in range(300)]
    error = np.array([t.sum for t in totals]) - answers.sum()
    assert abs(error.mean()) < 3.9 * totals[0].stderr / math.sqrt(300)
    assert 0.8 * totals[0].stderr < error.std() < 1.1 * totals[0].stderr
    low, high = totals[0].interval()
    assert low < totals[0].sum < high
    assert totals[0].mean == totals[0].sum / 2000
    assert len(hours.randomize(2.5)) == hours.messages
    stderr = [RealSum(0, 1, 1.0, n=n).estimate(0, n).stderr for n in (10_000, 100_000)]
    assert stderr[1] < 1.05 * stderr[0] < 6  # In units, whatever n is; a curator has 1.4.


@pytest.mark.parametrize(
    ("n", "epsilon", "delta", "messages"),
    [
        (10**6, 1.0, 1e-6, 316),
        (10**4, 0.5, 1e-6, 7),
        (10**4, 1.0, 0.3, 118),
        (50_000, 2.0, 1e-9, 112),
        (10, 0.1, 1e-6, 1),
    ],
)
def test_a_real_sum_has_as_many_messages_as_its_noise_is_worth(
    n: int, epsilon: float, delta: float, messages: int
) -> None:
    """By the rule in words: rounding is a third of the noise, and p stays below 1/4; from 1 to 1,024 messages."""
    z = statistics.NormalDist().inv_cdf(1 - min(delta, 0.1))
    third, quarter = 3 * (math.sqrt(n) / 2) / (z / epsilon), n / (4 * z / epsilon) ** 2
    assert _messages(n, epsilon, delta) == messages == max(1, math.ceil(min(third, quarter)))
    assert _messages(10**9, 4.0, 1e-6) == 1024


def test_histograms_reach_their_target() -> None:
    for domain, n in ((2, 500), (12, 3000), (300, 3000)):
        h = ShuffledHistogram(domain, 0.7, n)
        assert h.shuffled.upper <= 0.7
        assert h.stderr < math.sqrt(build("auto", h.domain, 0.7).variance / n)
    assert ShuffledHistogram(5, 0.5, 100, mechanism="unary").mechanism.name == "unary"


def test_the_shuffle_model_falls_like_the_central_one() -> None:
    curve = sv.error_curve(8, 1.0, ns=[1000, 3000, 9000], models=["central", "shuffle", "local"], runs=30, seed=3)
    assert curve.slopes["local"] == pytest.approx(-0.5, abs=0.1)
    assert curve.slopes["shuffle"] == pytest.approx(-1, abs=0.1)
    assert all(0.8 < ratio < 1.2 for ratio in curve["shuffle"].ratio)
    assert Shuffle("krr").name == "shuffle krr"


# What is refused, and the command.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 0, 1e-6), "honest"),
        ((1.0, True, 1e-6), "honest"),
        ((1.0, 2.5, 1e-6), "honest"),
        ((1.0, 10, 0), "delta"),
        ((1.0, 10, 1), "delta"),
        ((1.0, 10, float("nan")), "delta"),
        ((1.0, 10, "x"), "delta"),
        ((float("nan"), 10, 1e-6), "epsilon"),
        (("krr", 10, 1e-6), "epsilon"),
        ((-1, 10, 1e-6), "epsilon"),
        ((1.0, 10, 1e-6, 0), "rounds"),
        ((sv.Memoized.of(3, "krr", permanent=2.0, first=1.0), 10, 1e-6, 2), "remembers"),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(sv.ParameterError, match=message):
        sv.shuffle_epsilon(*arguments)


def test_bad_protocols() -> None:
    for make in (
        lambda: BinarySum(n=10),
        lambda: BinarySum(1.0, n=10, p=0.5),
        lambda: BinarySum(n=10, p=1.5),
        lambda: BinarySum(1.0, n=10).estimate(11, 10),
        lambda: BinarySum(1.0, n=10).estimate(-1, 10),
        lambda: RealSum(1, 0, 1.0, n=10),
        lambda: RealSum(0, 1, 1.0, n=10, messages=0),
        lambda: ShuffledHistogram(3, 1.0, 10, mechanism="mean"),
        lambda: Shuffle(delta=2),
        lambda: sv.shuffle_n(36.0, 1e-6, 1e-9),
    ):
        with pytest.raises(sv.ParameterError):
            make()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["shuffle", *arguments])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "-m", "krr", "-d", "16", "-e", "1", "--n", "10000", "--delta", "1e-6", "--json")
    record = json.loads(out)
    assert code == 0
    assert record["method"] == "blanket"
    assert record["lower"] <= record["upper"] == pytest.approx(0.0186, rel=0.005)
    assert "honest" in record["words"]
    for arguments in (
        ("--target", "0.5", "--n", "1000"),
        ("-m", "unary", "-d", "5", "--target", "0.5", "--n", "1000"),
        ("-m", "rr", "-e", "1", "--target", "0.2"),
        ("-m", "sum", "--n", "1000", "--target", "0.2"),
        ("-m", "sum", "--p", "0.3", "--target", "0.2"),
    ):
        code, out = run(capsys, *arguments, "--json")
        assert code == 0
        assert json.loads(out)["upper"] <= json.loads(out)["target"]
    code, out = run(capsys, "-e", "1", "--n", "100", "--rounds", "3")
    assert code == 0
    assert "3 rounds" in out


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("-e", "1"),
        ("-e", "1", "--n", "10", "--target", "1"),
        ("-e", "1", "--n", "10", "--p", "0.5"),
        ("-m", "sum", "-e", "1", "--n", "10"),
        ("-m", "krr", "-e", "1", "--n", "10"),
        ("-d", "3", "-e", "1", "--n", "10"),
        ("-m", "none", "-d", "3", "-e", "1", "--n", "10"),
        ("-e", "1", "--target", "0.5", "--rounds", "2"),
        ("-e", "nan", "--n", "10"),
    ],
)
def test_command_refuses(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, *arguments)
    assert code == 2
    assert out.startswith("sotto: ")
    assert out.count("\n") == 1


def test_compare_command(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = ["compare", "--domain", "4", "--n", "500", "--seed", "1", "--json", "--models"]
    assert main([*drawn, "central,shuffle,local"]) == 0
    names = [model["model"] for model in json.loads(capsys.readouterr().out)["models"]]
    assert names == ["central", "shuffle", "local"]
    assert main([*drawn, "central,,local"]) == 2
