"""What is special to one mechanism; what they share is in the contract suite."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.field import is_order
from sottovoce.core.geometry import Space
from sottovoce.core.reports import Bits
from sottovoce.mechanisms import build
from sottovoce.mechanisms.frequency.choose import CANDIDATES, MAX_BITS
from sottovoce.mechanisms.frequency.subset import least_variance


def test_five_ways_to_one_mechanism() -> None:
    coins = sv.RandomizedResponse.from_coins()
    assert coins.p == Fraction(3, 4) and coins.epsilon == pytest.approx(math.log(3), abs=1e-15)
    assert coins == sv.RandomizedResponse.from_truth(0.75) == sv.RandomizedResponse.from_gamma(0.25)
    assert coins == sv.RandomizedResponse.warner(0.75) != sv.RandomizedResponse(epsilon=1.0)
    assert sv.RandomizedResponse.warner(0.25).epsilon == coins.epsilon
    single: Any = np.float32(0.25)
    assert sv.RandomizedResponse.from_gamma(single) == coins
    assert sv.RandomizedResponse.from_coins(domain=["no", "yes"]).randomize("yes") in (0, 1)


def test_one_bit_has_the_textbook_estimate() -> None:
    m = sv.RandomizedResponse(epsilon=1.0)
    reports = [1] * 7 + [0] * 3
    e = math.exp(1)
    expected = sum(((1 + e) * y - 1) / (e - 1) for y in reports) / 10
    assert m.tally().add_many(reports).estimate()[True].frequency == pytest.approx(expected, rel=1e-12)


def test_the_reference_run_of_unary() -> None:
    m = sv.Unary(14, p=0.75, q=0.25)
    assert m.epsilon == pytest.approx(2.1972245773362196, abs=1e-15)
    assert m.variance / 32_561 == pytest.approx(0.1875 / 0.25 / 32_561)
    symmetric = sv.Unary(14, epsilon=m.epsilon, kind="symmetric")
    assert float(symmetric.p) == pytest.approx(0.75) and symmetric.q == 1 - symmetric.p


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 3.0, 4.0])
def test_optimal_kinds_are_near_their_formula(epsilon: float) -> None:
    """Both optimal protocols have variance 4 e^eps / (e^eps - 1)^2 for rare values; a field order is near enough."""
    formula = 4 * math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2
    for m in (sv.Unary(10**6, epsilon), sv.LocalHash(10**6, epsilon)):
        assert m.variance == pytest.approx(formula, rel=0.03)


@given(st.sampled_from([g for g in range(2, 30) if is_order(g)]), st.integers(2, 60), st.data())
def test_two_values_share_a_bucket_in_one_cohort_of_g(g: int, size: int, data: st.DataObject) -> None:
    m = sv.LocalHash(size, epsilon=1.0, buckets=g)
    a, b = data.draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=2, unique=True))
    cohorts = np.arange(m.cohorts)
    shared = m.hash(cohorts, np.full(m.cohorts, a)) == m.hash(cohorts, np.full(m.cohorts, b))
    assert int(shared.sum()) * g == m.cohorts


@given(st.sampled_from([2, 3, 4, 5, 7, 8, 13]), st.integers(2, 200), st.integers(0, 2**32))
def test_decoding_is_counting_the_support(g: int, size: int, seed: int) -> None:
    m = sv.LocalHash(size, epsilon=1.0, buckets=g)
    reports = np.random.default_rng(seed).integers(0, m.cohorts * g, 200)
    cohort, bucket = divmod(reports, g)
    codes = np.arange(size)
    expected = sum((m.hash(np.full(size, c), codes) == b).astype(int) for c, b in zip(cohort, bucket, strict=True))
    assert (m.tally().add_many(reports).estimate().support == expected).all()


def test_local_hash_is_small() -> None:
    m = sv.LocalHash(2**20, epsilon=1.0)
    assert (m.buckets, m.bits) == (4, 22)
    assert m.cells < 1.4 * 2**20


def test_choose() -> None:
    assert sv.choose(2, 1.0).name == "krr"
    assert sv.choose(1024, 8.0).name == "krr"
    assert sv.choose(1024, 1.0).name == "projective"
    assert sv.choose(100, 1.0).name == "subset"
    assert sv.choose(2**20, 8.0).name == "local_hash"
    assert sv.choose(1024, 1.0, max_bits=10).name == "krr"
    assert sv.choose(["a", "b"], 1.0, n=100).domain.values == ("a", "b")


@given(st.floats(0.25, 8), st.integers(2, 2**20))
def test_no_mechanism_beats_the_choice_by_more_than_1_percent(epsilon: float, size: int) -> None:
    chosen = sv.choose(size, epsilon)
    rivals = [make(sv.Domain(size), epsilon) for make in CANDIDATES]
    assert chosen.variance <= 1.01 * min(m.variance for m in rivals if m.bits <= max(chosen.bits, MAX_BITS))
    assert chosen.variance <= 1.12 * least_variance(size, epsilon)


@pytest.mark.parametrize("size", [2, 3, 10, 100, 1000])
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_subset_selection_has_the_least_variance(size: int, epsilon: float) -> None:
    best = sv.Subset(size, epsilon)
    assert best.variance == pytest.approx(least_variance(size, epsilon), rel=1e-9)
    assert all(make(sv.Domain(size), epsilon).variance >= best.variance * (1 - 1e-9) for make in CANDIDATES)


@given(st.sampled_from([2, 3, 4, 5, 7, 8, 13]), st.integers(2, 60), st.integers(0, 2**32))
def test_projective_decoding_is_counting_the_support(g: int, size: int, seed: int) -> None:
    m = sv.Projective(size, epsilon=1.0, order=g)
    reports = np.random.default_rng(seed).integers(0, m.cells, 30)
    expected = np.zeros(size, dtype=int)
    for report in reports.tolist():
        expected[list(m.supports(report))] += 1
    assert (m.tally().add_many(reports).estimate().support == expected).all()


@given(st.sampled_from([g for g in range(2, 40) if is_order(g)]), st.integers(1, 4), st.data())
def test_lines_are_numbered_one_to_one(g: int, digits: int, data: st.DataObject) -> None:
    space = Space(g, digits)
    number = data.draw(st.integers(0, space.lines - 1))
    factor = data.draw(st.integers(1, g - 1))
    vector = space.line(number)
    scaled = sum(space.field.multiply(factor, vector // g**i % g) * g**i for i in range(digits))
    assert space.normalise(scaled) == (space.field.inverse(factor), number)
    assert [int(column[0]) for column in space.normalise_many(np.array([scaled]))] == list(space.normalise(scaled))
    assert space.line_many(np.array([number])).tolist() == [vector]


@given(st.sampled_from([2, 3, 4, 5, 8, 7, 16]), st.integers(1, 3), st.integers(0, 2**32))
def test_sums_over_lines_are_exact(g: int, digits: int, seed: int) -> None:
    space = Space(g, digits)
    counts = np.random.default_rng(seed).integers(0, 1000, (space.lines, g))
    vectors = np.arange(space.size)
    expected = sum(counts[c, space.inner(np.full(space.size, space.line(c)), vectors)] for c in range(space.lines))
    assert (space.sums(counts) == expected).all()


@given(st.integers(2, 60), st.data())
def test_sets_are_numbered_one_to_one(size: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, min(size // 2, 12)))
    m = sv.Subset(size, epsilon=1.0, size=k)
    held = data.draw(st.sets(st.integers(0, size - 1), min_size=k, max_size=k))
    number = m._pack(held)
    assert isinstance(number, int) and set(m.supports(number)) == held
    assert set(np.flatnonzero(m.tally().add(number).estimate().support)) == held


def test_sets_are_uniform() -> None:
    """Each of 70 values is in a set with probability p or q, and each pair alike: within 5 standard errors, seeded."""
    m = sv.Subset(70, epsilon=0.25)
    assert isinstance(m.shape, Bits)
    rows = m.randomize_many(np.full(40_000, 7), seed=3).data.view(np.uint8)
    bits = np.unpackbits(rows, axis=1, bitorder="little")[:, :70]
    assert (bits.sum(axis=1) == m.size).all()
    others = np.delete(bits, 7, axis=1).astype(float)
    pairs = others.T @ others / len(bits)
    k = m.size
    expected = float(m.p * (k - 1) * (k - 2) + (1 - m.p) * k * (k - 1)) / (69 * 68)
    off_diagonal = pairs[~np.eye(69, dtype=bool)]
    assert abs(off_diagonal - expected).max() < 5 * (expected / len(bits)) ** 0.5
    assert abs(others.mean(axis=0) - float(m.q)).max() < 5 * (float(m.q) / len(bits)) ** 0.5


def _with_part(part: sv.Mechanism) -> dict[str, Any]:
    good = sv.Ranges(16, epsilon=1.0, fanout=4).to_dict()
    return good | {"parts": [part.to_dict(), *good["parts"][1:]]}


BAD: list[tuple[Any, str]] = [
    (lambda: sv.KRR(3), "give either epsilon or p"),
    (lambda: sv.KRR(3, 1.0, p=0.5), "give either epsilon or p"),
    (lambda: sv.KRR(4, p=0.25), "p must differ from 1/4"),
    (lambda: sv.KRR(4, 1e-17), "epsilon is too small"),
    (lambda: sv.KRR(4, p=1.0), "p must lie strictly between 0 and 1, got 1"),
    (lambda: sv.KRR(4, 40), "epsilon must be at most 36"),
    (lambda: sv.RandomizedResponse.from_gamma(0.5), "gamma must lie strictly between 0 and 1/2"),
    (lambda: sv.RandomizedResponse.from_truth(0.5), "p must differ from 1/2"),
    (lambda: sv.RandomizedResponse(1.0, domain=["a", "b", "c"]), "needs a domain of 2 values, got 3"),
    (lambda: sv.Unary(3), "give either epsilon"),
    (lambda: sv.Unary(3, p=0.75), "give either epsilon"),
    (lambda: sv.Unary(3, 1.0, p=0.75, q=0.25), "give either epsilon"),
    (lambda: sv.Unary(3, p=0.25, q=0.75), "p must be greater than q"),
    (lambda: sv.Unary(3, p=0.5, q=0.5), "p must be greater than q"),
    (lambda: sv.Unary(3, 1.0, kind="best"), "kind must be optimal or symmetric, got 'best'"),
    (lambda: sv.Bloom(), "give either epsilon or both p and q"),
    (lambda: sv.Bloom(p=0.75), "give either epsilon or both p and q"),
    (lambda: sv.Bloom(q=0.25), "give either epsilon or both p and q"),
    (lambda: sv.Bloom(epsilon=1.0, q=0.25), "give either epsilon or both p and q"),
    (lambda: sv.Bloom(epsilon=1.0, p=0.75, q=0.25), "give either epsilon or both p and q"),
    (lambda: sv.LocalHash(3), "give epsilon"),
    (lambda: sv.LocalHash(3, 1.0, kind="best"), "kind must be optimal or binary, got 'best'"),
    (lambda: sv.LocalHash(3, 1.0, buckets=6), "a field must have a prime or a power of two"),
    (lambda: sv.LocalHash(3, 1.0, kind="binary", buckets=2), "give either a kind or a number of buckets"),
    (lambda: sv.LocalHash(9, buckets=4, p=0.1), "p must be greater than 1/4"),
    (lambda: sv.Subset(9), "give either epsilon or both size and p"),
    (lambda: sv.Subset(9, p=0.5), "give either epsilon or both size and p"),
    (lambda: sv.Subset(9, 1.0, size=9), "size must be a whole number from 1 to 8, got 9"),
    (lambda: sv.Subset(9, 1.0, size=0), "size must be a whole number from 1 to 8, got 0"),
    (lambda: sv.Subset(9, size=3, p=0.1), "p must be greater than q"),
    (lambda: sv.Hadamard(9, p=0.3), "p must be greater than 1/2"),
    (lambda: sv.Hadamard(9), "give either epsilon or p"),
    (lambda: sv.Projective(9), "give either epsilon or both order and p"),
    (lambda: sv.Projective(9, p=0.5), "give either epsilon or both order and p"),
    (lambda: sv.Projective(9, 1.0, order=6), "a field must have a prime or a power of two"),
    (lambda: sv.Projective(9, order=3, p=0.01), "p must be greater than q"),
    (lambda: sv.KRR({"a", "b"}, 1.0), "a domain must have an order"),
    (lambda: sv.mechanism({"mechanism": ["krr"]}), "a mechanism must be one of"),
    (lambda: sv.mechanism(sv.LocalHash(9, 1.0).to_dict() | {"buckets": "4"}), "a field must have a prime"),
    (lambda: sv.mechanism(sv.LocalHash(9, 1.0).to_dict() | {"buckets": 4.0}), "a field must have a prime"),
    (lambda: sv.choose(9, 1.0, n=0), "n must be at least 1"),
    (lambda: sv.choose(9, 1.0, max_bits=3), "max_bits must be at least 4 for 9 values, got 3"),
    (lambda: build("unary", sv.Domain(9), 1.0, max_bits=8), "unary takes 9 bits for 9 values"),
    (lambda: build("magic", sv.Domain(9), 1.0), "a mechanism must be auto or one of"),
    (lambda: sv.Unary(40, 1.0).channel(), "a channel must have at most"),
    (lambda: sv.Subset(2, 1e-17), "p must be greater than q"),
    (lambda: sv.Projective(3, 1e-17), "p must be greater than q"),
    (lambda: sv.KRR(2**70, 1.0), "from 2 to 2\\^32 values"),
    (lambda: sv.KRR(3, p=10**400), "p must be a number between 0 and 1"),
    (lambda: sv.KeyValue(3, 0, 10**400, 1.0), "high must be a finite number"),
    (lambda: sv.SquareWave(0, 1, epsilon=0.01), "epsilon must be at least 0.05"),
    (lambda: sv.SquareWave(0, 1, epsilon=1.0, steps=2**17), "steps must be at most 4096"),
    (lambda: sv.mechanism(sv.Mean(0, 1, 1.0).to_dict() | {"kind": []}), "mean"),
    (lambda: sv.mechanism(sv.KRR(3, 1.0).to_dict() | {"p": 10**400}), "p must be a number"),
    (lambda: sv.mechanism(_with_part(sv.KRR(sv.Domain(4, missing="category"), 1.0))), "parts must be krr"),
    (lambda: sv.mechanism(_with_part(sv.RandomizedResponse(1.0))), "a part must be one of"),
    (lambda: sv.mechanism([]), "a mechanism must be one of"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("attempt", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_parameters(attempt: Any, message: str) -> None:
    with pytest.raises(sv.ParameterError, match=message):
        attempt()


def test_mechanisms_are_frozen_values() -> None:
    m = sv.KRR(3, 1.0)
    with pytest.raises(AttributeError):
        m.p = m.q  # type: ignore[misc]
    assert {m: 1}[sv.KRR(3, 1.0)] == 1
    assert m != sv.KRR(4, 1.0)
    assert repr(m) == "KRR(3 values, epsilon=1)"
