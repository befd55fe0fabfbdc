"""The public hash functions: alike in every language, uniform, and independent in pairs and threes."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_loops import compiled_loops
from scipy.stats import chi2

import sottovoce as sv
from sottovoce.core import kernels
from sottovoce.core.hashing import Hashes, P

VECTORS = Path(__file__).parents[2] / "vectors" / "hashing.json"
FUNCTIONS = json.loads(VECTORS.read_text(encoding="utf-8"))["hashing"]


@pytest.mark.parametrize("vector", FUNCTIONS)
def test_published_vectors_hold(vector: dict[str, Any]) -> None:
    hashes = Hashes(vector["salt"], vector["buckets"], vector["cohorts"], vector["functions"])
    assert hashes.table.tolist() == vector["words"]
    for case in vector["cases"]:
        data = case["text"].encode()
        code = hashes.fingerprint(data)
        assert (data.hex(), [code >> 31, code & P]) == (case["utf8"], case["fingerprint"])
        for cohort, row in enumerate(case["buckets"]):
            assert [hashes.bucket(code, cohort, at) for at in range(hashes.functions)] == row


def test_columns_agree_with_single_values() -> None:
    hashes = Hashes("columns", 1000, 5, 2)
    rows = [f"value {i}".encode() for i in range(300)]
    codes = hashes.fingerprints(rows)
    assert codes.tolist() == [hashes.fingerprint(row) for row in rows]
    cohorts = np.arange(300) % 5
    expected = [hashes.bucket(code, cohort, 1) for code, cohort in zip(codes.tolist(), cohorts.tolist(), strict=True)]
    assert hashes.spread(codes, cohorts, 1).tolist() == expected
    assert hashes.all_buckets(codes, 3).tolist() == [hashes.bucket(code, 3) for code in codes.tolist()]


def test_extreme_words_do_not_overflow() -> None:
    hashes = Hashes("", 7, 1)
    hashes.table[:] = P - 1  # The largest words there are, of a function and of a fingerprint.
    codes = np.array([(P - 1) << 31 | (P - 1), 0, 1, (P - 1) << 31])
    largest = P - 1
    expected = [(largest * int(code >> 31) + largest * int(code & P) + largest) % P % 7 for code in codes]
    assert hashes.all_buckets(codes, 0).tolist() == expected


def test_look_up_adds_over_all_functions() -> None:
    hashes = Hashes("sums", 16, 3, 2)
    codes = hashes.fingerprints([f"{i}".encode() for i in range(20_000)])  # More than a chunk.
    table = np.random.default_rng(1).random((3, 16))
    sums = hashes.look_up(table, codes)
    for at in (0, 16_383, 16_384, 19_999):
        code = int(codes[at])
        expected = sum(table[cohort, hashes.bucket(code, cohort, each)] for cohort in range(3) for each in range(2))
        assert sums[at] == pytest.approx(expected)


@pytest.mark.parametrize("buckets", [2, 3, 7, 1000, 4096, 4099, 2**16 - 1, 2**16])
def test_compiled_look_ups_are_the_same(buckets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of fingerprints and functions with the largest words there are, whose sums are multiples of P or next to."""
    compiled = compiled_loops()
    hashes = Hashes("sums", buckets, 5, 2)
    hashes.table[0], hashes.table[1], hashes.table[2, :, :2] = P - 1, 0, 1
    edges = [x << 31 | y for x in (0, 1, P - 2, P - 1) for y in (0, 1, P - 2, P - 1)]
    codes = np.concatenate([edges, hashes.fingerprints([f"{i}".encode() for i in range(5_000)])])
    draw = np.random.default_rng(1)
    for table in (draw.random((5, buckets)), draw.integers(0, 10**6, (5, buckets)), draw.integers(0, 9, (3, buckets))):
        found = []
        for way in (None, compiled):
            monkeypatch.setattr(kernels.loops, "found", way)
            found.append(hashes.look_up(table, codes).tolist())
        assert found[0] == found[1]


def test_the_stated_departures_are_the_true_ones() -> None:
    for buckets in (2, 3, 1000, 1024, 2**16):
        times, rest = divmod(P, buckets)
        exact = Fraction(rest * (times + 1) ** 2 + (buckets - rest) * times**2, P * P)
        assert exact == Fraction(1, buckets) + Fraction(rest * (buckets - rest), buckets * P * P)
        assert exact - Fraction(1, buckets) < Fraction(1, 2**48)
        assert max(Fraction(times + 1, P) - Fraction(1, buckets), Fraction(1, buckets) - Fraction(times, P)) < Fraction(
            1, P
        )


def test_functions_of_three_values_are_independent() -> None:
    """Chi-square of the joint buckets of three values over 27,000 salts' worth of functions. False alarms: 1e-6.

    Three buckets each: 27 outcomes, all as likely. Pairs follow from triples.
    """
    hashes = Hashes("triples", 3, 27_000)
    codes = hashes.fingerprints([b"one", b"two", b"three"])
    columns = hashes.spread(np.repeat(codes, 27_000), np.tile(np.arange(27_000), 3)).reshape(3, -1)
    counts = np.bincount(columns[0] * 9 + columns[1] * 3 + columns[2], minlength=27)
    assert chi2.sf(((counts - 1000.0) ** 2 / 1000).sum(), 26) > 1e-6
    same = np.bincount(columns[0] * 9 + columns[0] * 3 + columns[2], minlength=27)  # A hash that ignores the value.
    assert chi2.sf(((same - 1000.0) ** 2 / 1000).sum(), 26) < 1e-6


def test_a_salt_changes_everything() -> None:
    one, two = Hashes("one", 2**16, 8), Hashes("two", 2**16, 8)
    assert one.fingerprint(b"tea") != two.fingerprint(b"tea")
    assert not (one.table == two.table).any()


@pytest.mark.parametrize(
    "wrong",
    [("", 1, 1, 1), ("", 2**16 + 1, 1, 1), ("", 2.0, 1, 1), ("", True, 1, 1), ("", 8, 0, 1), ("", 8, 2**16 + 1, 1),
     ("", 8, 1, 0), ("", 8, 1, 17), (5, 8, 1, 1), ("\ud800", 8, 1, 1), ("x" * 1025, 8, 1, 1), (None, 8, 1, 1)],
)  # fmt: skip
def test_impossible_functions_are_refused(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(sv.ParameterError):
        Hashes(*wrong)
