"""A scale rounds numbers to its grid without bias, and refuses what is none."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sottovoce import DomainError, ParameterError, Scale
from sottovoce.core.randomness import SYSTEM, Keystream, Replay, Source
from sottovoce.testing import every_draw

numbers = st.floats(-1e9, 1e9)


def expectation(scale: Scale, value: object) -> Fraction:
    def encode(source: Source) -> int:
        return scale.encode(value, source)

    return Fraction(sum(code * weight for code, weight in every_draw(encode) if isinstance(code, int)))


@given(numbers, numbers, st.integers(1, 2000), st.floats(0, 1))
def test_the_expectation_is_the_number(low: float, high: float, steps: int, part: float) -> None:
    assume(high - low > 1e-3)
    scale = Scale(low, high, steps)
    value = min(max(low + part * (high - low), low), high)
    place = (Fraction(value) - Fraction(low)) / (Fraction(high) - Fraction(low)) * steps
    snap = Fraction(steps) * Fraction(max(abs(low), abs(high))) / (Fraction(high) - Fraction(low))
    assert abs(expectation(scale, value) - place) <= (snap + 1) / 2**53


@given(numbers, numbers, st.integers(1, 300))
def test_grid_points_are_exact_whatever_is_drawn(low: float, high: float, steps: int) -> None:
    assume(high - low > 1e-3)
    scale = Scale(low, high, steps)
    for draw in (0, 2**53 - 1):
        assert [scale.encode(label, Replay([draw])) for label in scale.labels] == list(range(scale.size))
    assert len(scale) == scale.size == len(set(scale.labels))
    assert (scale.labels[0], scale.labels[-1]) == (low, high)


def test_columns_are_rounded_without_bias() -> None:
    """Five standard errors of 100,000 draws: false alarms below 1e-6. Rounding down would be 300 of them off."""
    scale = Scale(0, 10, 4)
    for seed, value in enumerate((0.0, 0.1, 2.5, 3.3, 9.99, 10.0)):
        codes = scale.encode_many(np.full(100_000, value), Keystream(seed))
        assert set(codes) <= {math.floor(value / 2.5), math.ceil(value / 2.5)}
        assert abs(codes.mean() - value / 2.5) <= 5 * codes.std() / math.sqrt(codes.size)


COLUMNS = [
    [1, 2.5, Decimal("4.0"), Fraction(1, 3)],
    np.array([1.0, 2.5, 4.0]),
    np.array([1, 2, 4], dtype=np.uint8),
    pd.Series([1.0, 2.5, 4.0]),
    pd.Series([1, 2, 4], dtype="Int64"),
    pl.Series([1.0, 2.5, 4.0]),
    pa.array([1.0, 2.5, 4.0]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: type(column).__module__)
def test_columns_of_every_library(column: Any) -> None:
    codes = Scale(0, 4, 8).encode_many(column, Keystream(1))
    assert codes.dtype == np.int64
    assert codes[0] == 2 and codes[2] == 8


@pytest.mark.parametrize(
    ("low", "high", "steps", "message"),
    [
        (1, 1, 4, "low must be below high, got low = 1 and high = 1"),
        (2, 1, 4, "low must be below high, got low = 2 and high = 1"),
        (math.nan, 1, 4, "low must be a finite number, got nan"),
        (0, math.inf, 4, "high must be a finite number, got inf"),
        (-math.inf, 0, 4, "low must be a finite number, got -inf"),
        (0, 10**400, 4, "high must be a finite number, got 1000"),
        ("0", 1, 4, "low must be a finite number, got '0'"),
        (False, True, 4, "low must be a finite number, got False"),
        (None, 1, 4, "low must be a finite number, got None"),
        (0, 1, 0, "steps must be a whole number from 1 to 2^20, got 0"),
        (0, 1, 2.0, "steps must be a whole number from 1 to 2^20, got 2.0"),
        (0, 1, True, "steps must be a whole number from 1 to 2^20, got True"),
        (0, 1, 2**20 + 1, "steps must be a whole number from 1 to 2^20, got 1048577"),
        (-1.7e308, 1.7e308, 4, "have no 4 steps in floating point"),
        (1e16, 1e16 + 2, 4, "have no 4 steps in floating point"),
    ],
)
def test_impossible_scales(low: Any, high: Any, steps: Any, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Scale(low, high, steps)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_an_unknown_policy() -> None:
    with pytest.raises(ParameterError, match="outside must be one of refuse, clip, got 'drop'"):
        Scale(0, 1, 1, outside="drop")


NO_NUMBERS = [None, "", "0.5", math.nan, Decimal("nan"), True, np.bool_(True), [0.5], 1j, pd.NA, b"1"]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("outside", ["refuse", "clip"])
def test_what_is_no_number_is_refused(value: Any, outside: str) -> None:
    scale = Scale(0, 1, 4, outside)
    with pytest.raises(DomainError, match="an answer must"):
        scale.encode(value, SYSTEM)
    with pytest.raises(DomainError, match=r"^row 12: an answer must"):
        scale.encode_many([0.5, 1, value, 0.25], Keystream(1), first_row=10)


@pytest.mark.parametrize(
    "value", [-0.001, 1.001, math.inf, -math.inf, 10**400, Fraction(5, 4), Decimal("-1")], ids=repr
)
def test_numbers_outside(value: Any) -> None:
    refuse, clip = Scale(0, 1, 4), Scale(0, 1, 4, outside="clip")
    with pytest.raises(DomainError, match="an answer must lie from 0 to 1 "):
        refuse.encode(value, SYSTEM)
    with pytest.raises(DomainError, match=r"^row 2: an answer must lie from 0 to 1 "):
        refuse.encode_many([0.5, value], Keystream(1))
    end = 4 if value > 0 else 0
    assert clip.encode(value, Replay([0])) == clip.encode(value, Replay([2**53 - 1])) == end
    assert clip.encode_many([value], Keystream(1)).tolist() == [end]


def test_nan_in_an_array() -> None:
    for column in (np.array([0.5, math.nan]), pd.Series([0.5, None])):
        with pytest.raises(DomainError, match=r"^row 2: an answer must not be missing"):
            Scale(0, 1, 4, outside="clip").encode_many(column, Keystream(1))
    with pytest.raises(DomainError, match="one dimension"):
        Scale(0, 1, 4).encode_many(np.zeros((2, 2)), Keystream(1))


def test_round_trip() -> None:
    scale = Scale(-1, 2.5, 7, outside="clip")
    assert Scale.from_dict(scale.to_dict()) == scale
    for bad in ({"low": 0, "high": 1}, [0, 1], {**scale.to_dict(), "extra": 1}):
        with pytest.raises(ParameterError, match="a scale must have the fields"):
            Scale.from_dict(bad)
