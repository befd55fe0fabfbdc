"""Numbers between two ends, on a grid. A value between two grid points is rounded to one of them at random.

Rounding is a mixture of the two neighbours, so that the report of any value is a mixture of reports of grid points:
a ratio of probabilities between values is never worse than between grid points, and the privacy that is proved for the
grid holds for every number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Rational, Real
from operator import add
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.columns import Column, as_arrow, floats, to_list
from sottovoce.core.domain.values import is_missing
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID, to_float
from sottovoce.core.randomness import Keystream, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_STEPS = 2**20
POLICIES = ("refuse", "clip")
"""What may become of a number that is not between low and high."""

PIECE = 2.0**50
"""A float is cut into pieces of 50 bits."""
ROUNDER = 1.5 * 2.0**52
"""Added to a float of 50 bits, it leaves no room for a fraction: the sum is rounded to a whole number."""
PLAIN_NUMBERS = frozenset({int, float})
EXACT_BELOW = 2.0**53
"""Whole numbers below it are floats as they are."""
PLACE_OFFSET = 2**21
"""Added to a place on the grid, and taken off at the end: then all places are integers of the same length."""


@dataclass(frozen=True)
class Scale:
    """The steps + 1 equally spaced points from low to high. The code of a point is its place among them.

    A value outside is refused, or clipped to the nearer end. Which of the two is public; how many were clipped is
    private, and nothing tells.

    >>> percent = Scale(0, 100, steps=4)
    >>> percent.labels
    (0.0, 25.0, 50.0, 75.0, 100.0)
    >>> from sottovoce.core.randomness import SYSTEM
    >>> percent.encode(75, SYSTEM), percent.encode(30, SYSTEM) in (1, 2)
    (3, True)
    >>> percent.encode(101, SYSTEM)
    Traceback (most recent call last):
    sottovoce.core.errors.DomainError: an answer must lie from 0 to 100 (the policy is 'refuse'), got 101
    """

    low: float
    high: float
    steps: int
    outside: str = "refuse"

    def __post_init__(self) -> None:
        if self.outside not in POLICIES:
            raise ParameterError(f"outside must be one of {', '.join(POLICIES)}, got {self.outside!r}")
        low, high = _check_end("low", self.low), _check_end("high", self.high)
        if not low < high:
            raise ParameterError(f"low must be below high, got low = {low:g} and high = {high:g}")
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or not 1 <= self.steps <= MAX_STEPS:
            raise ParameterError(f"steps must be a whole number from 1 to 2^20, got {self.steps!r}")
        if not math.isfinite(high - low) or (high - low) / self.steps < 4 * math.ulp(max(abs(low), abs(high))):
            raise ParameterError(f"numbers from {low!r} to {high!r} have no {self.steps} steps in floating point")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def size(self) -> int:
        """How many grid points there are."""
        return self.steps + 1

    @property
    def width(self) -> float:
        return self.high - self.low

    @cached_property
    def labels(self) -> tuple[float, ...]:
        """The grid points, each the nearest float."""
        low, step = Fraction(self.low), (Fraction(self.high) - Fraction(self.low)) / self.steps
        return tuple(float(low + code * step) for code in range(self.size))

    def encode(self, value: object, source: Source) -> int:
        """One of the two grid points beside a number, at random so that the expectation is the number.

        The share of the upper one is rounded down to a multiple of 2^-53. A number within the rounding of floats from a
        grid point is that point; there is a draw all the same, and the same arithmetic: time does not tell it.
        """
        units = self._place(min(max(self._inside(value), self.low), self.high))  # Multiples of 2^-53 of a step.
        shifted = units + self._slack
        is_point = shifted % GRID <= 2 * self._slack
        return source.rounded((units, shifted - shifted % GRID)[is_point]) - PLACE_OFFSET

    def _place(self, number: float | Fraction | Decimal) -> int:
        """The place of a number on the grid, in multiples of 2^-53 of a step, with PLACE_OFFSET steps more.

        A float is cut into three integers of the same length, by adding a number next to which fractions are rounded.
        """
        factor, offset, width = self._integers
        if isinstance(number, float) and factor:
            first = number * factor + ROUNDER
            rest = (number * factor - (first - ROUNDER)) * PIECE
            second = rest + ROUNDER
            rest = (rest - (second - ROUNDER)) * PIECE
            third = rest + ROUNDER
            down = rest < third - ROUNDER  # All is exact but for numbers next to nothing, which are rounded down.
            joined = ((int(first) << 50) + int(second) << 50) + int(third) - down
            return (joined * self.steps + offset << 53) // width
        low, high = Fraction(self.low), Fraction(self.high)
        return math.floor(((Fraction(number) - low) * self.steps / (high - low) + PLACE_OFFSET) * GRID)

    @cached_property
    def _integers(self) -> tuple[float, int, int]:
        """By what a number is multiplied before it is cut, what is then added, and a step in the same units.

        The factor is 0 where that would not be exact.
        """
        larger = max(abs(self.low), abs(self.high))
        exponent = math.frexp(larger)[1]
        unit = Fraction(2) ** (150 - exponent)
        low, width = Fraction(self.low) * unit, (Fraction(self.high) - Fraction(self.low)) * unit
        if abs(exponent) > 900 or low.denominator > 1 or width.denominator > 1:
            return 0.0, 0, 1
        rounders = int(ROUNDER) * ((1 << 100) + (1 << 50) + 1)
        return 2.0 ** (50 - exponent), int(width) * PLACE_OFFSET - (int(low) + rounders) * self.steps, int(width)

    @cached_property
    def _slack(self) -> int:
        """How far from a grid point a number may lie to be that point, in multiples of 2^-53 of a step."""
        larger, width = max(abs(self.low), abs(self.high)), Fraction(self.high) - Fraction(self.low)
        return math.floor(self.steps * Fraction(larger) / width) + 1

    def _inside(self, value: object) -> float | Fraction | Decimal:
        """A number, if it is one that is not refused."""
        number = _number(value)
        if self.outside == "refuse" and not self.low <= number <= self.high:
            shown = f"{self.low:g} to {self.high:g} (the policy is 'refuse')"
            raise DomainError(f"an answer must lie from {shown}, got {value!r:.40}")
        return number

    def encode_many(self, values: Column, stream: Keystream, first_row: int = 1) -> NDArray[np.int64]:
        """The same for a column: a list, a NumPy array, a pandas or Polars series, an Arrow array.

        Places on the grid are floats here. Their rounding changes which mixture of grid points a report has, by less
        than one part in 2^40 or so, and never the privacy.
        """
        column = self._floats(values, first_row)
        outside = np.flatnonzero(~((column >= self.low) & (column <= self.high)))
        if outside.size and self.outside == "refuse":
            row, value = int(outside[0]), float(column[outside[0]])
            try:
                self._inside(value)
            except DomainError as error:
                raise DomainError(f"row {first_row + row}: {error}") from None
        place = (column.clip(self.low, self.high) - self.low) / self.width * self.steps
        below = np.floor(place)
        upper = stream.draws(column.size) < ((place - below) * GRID).astype(np.uint64)
        return (below.astype(np.int64) + upper).clip(0, self.steps)

    def _floats(self, values: Column, first_row: int) -> NDArray[np.float64]:
        """A column of floats without gaps, or an error that names the first row that is no number."""
        if (arrow := as_arrow(values)) is not None:
            values = floats(arrow, first_row)
        dtype = getattr(values, "dtype", None)
        if isinstance(dtype, np.dtype) and dtype.kind in "iuf" and getattr(values, "ndim", 1) == 1:
            column = np.asarray(values, dtype=np.float64)
            gaps = np.flatnonzero(np.isnan(column))
            if gaps.size:
                raise DomainError(f"row {first_row + int(gaps[0])}: an answer must not be missing, got nan")
            return column
        rows = to_list(values)
        column = np.empty(len(rows))
        for row, value in enumerate(rows):
            try:
                column[row] = to_float(_number(value))
            except DomainError as error:
                raise DomainError(f"row {first_row + row}: {error}") from None
        return column

    def to_dict(self) -> JsonObject:
        """The form that travels in JSON."""
        return {"low": self.low, "high": self.high, "steps": self.steps, "outside": self.outside}

    @classmethod
    def from_dict(cls, data: object) -> Scale:
        if not isinstance(data, Mapping) or set(data) != {"low", "high", "steps", "outside"}:
            raise ParameterError(f"a scale must have the fields low, high, steps and outside, got {data!r:.80}")
        return cls(**data)

    def __len__(self) -> int:
        return self.size


def _number(value: object) -> float | Fraction | Decimal:
    """A number that compares exactly, infinities included, or an error that says why it is none."""
    if type(value) in PLAIN_NUMBERS:
        with suppress(OverflowError):
            number: float = add(0.0, value)  # A whole number becomes a float on the way.
            if -EXACT_BELOW < number < EXACT_BELOW or (number == number and type(value) is float):
                return number
    if is_missing(value):
        raise DomainError(f"an answer must not be missing, got {value!r}")
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise DomainError(f"an answer must be a number, got {value!r:.40}")
    if isinstance(value, Rational):
        return Fraction(value)
    return value if isinstance(value, Decimal) else float(value)


def _check_end(name: str, value: object) -> float:
    end = to_float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not math.isfinite(end):
        raise ParameterError(f"{name} must be a finite number, got {value!r:.40}")
    return end
