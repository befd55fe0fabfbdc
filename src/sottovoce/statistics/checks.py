"""Checks of arguments that several functions of this room share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import to_float

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUM_TOLERANCE = 1e-6
"""How far the sum of given frequencies may be from one: they may have been rounded for print."""


def check_level(level: object, name: str = "level") -> float:
    """A number strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < to_float(level) < 1:
        raise ParameterError(f"{name} must lie strictly between 0 and 1, got {level!r:.40}")
    return float(level)


def check_share(share: object, name: str) -> float:
    """A number from 0 to 1, both included."""
    return check_number(share, name, 0, 1)


def check_number(number: object, name: str, low: float, high: float) -> float:
    """A number within bounds, both included."""
    if isinstance(number, bool) or not isinstance(number, Real) or not low <= to_float(number) <= high:
        raise ParameterError(f"{name} must be a number from {low:g} to {high:g}, got {number!r:.40}")
    return float(number)


def check_whole(number: object, name: str, least: int = 0) -> int:
    """A whole number that is not too small."""
    if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
        raise ParameterError(f"{name} must be a whole number, {least} or more, got {number!r:.40}")
    return int(number)


def check_counts(counts: object, length: int, of: str) -> NDArray[np.float64]:
    """One whole number for each, none negative and not all zero."""
    array = _numbers(counts, "counts")
    if array.shape != (length,):
        raise ParameterError(f"counts must be those of {length} {of}, got an array of shape {array.shape}")
    if not (np.isfinite(array) & (array >= 0) & (array == np.floor(array))).all():
        raise ParameterError(f"counts must be whole numbers, zero or more, got {counts!r:.60}")
    if not array.sum():
        raise ParameterError("counts must not all be zero")
    return array


def check_distribution(frequencies: object, length: int) -> NDArray[np.float64]:
    """One frequency for each value, none negative, that add up to one."""
    array = _numbers(frequencies, "frequencies")
    if array.shape != (length,):
        raise ParameterError(f"frequencies must be those of {length} values, got an array of shape {array.shape}")
    if not (array >= 0).all() or not abs(float(array.sum()) - 1) <= SUM_TOLERANCE:
        raise ParameterError(f"frequencies must not be negative and must add up to one, got {frequencies!r:.60}")
    distribution: NDArray[np.float64] = array / array.sum()
    return distribution


def _numbers(values: object, name: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":  # Fractions, for one.
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be numbers, got {values!r:.60}") from None
    if array.dtype.kind not in "iuf":
        raise ParameterError(f"{name} must be numbers, got {values!r:.60}")
    return array.astype(np.float64)
