"""Columns of answers, whichever library they come from: lists, NumPy, pandas, Polars, DuckDB, Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sottovoce.errors import DomainError
from sottovoce.lazy import numpy as np
from sottovoce.lazy import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray


def to_list(values: Any) -> list[Any]:
    """A column of answers as a list."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        if (column := as_arrow(values)) is not None:
            return list(column.to_pylist())
        raise DomainError(f"a column of answers must be a list or an array with one dimension, got {values!r:.40}")
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow, pandas and Polars, NumPy
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def as_arrow(values: Any) -> Any | None:
    """The column as an Arrow array in parts, without a copy, if its library has Arrow's interface; otherwise None.

    A table is a column if it has just one, such as a query of DuckDB.
    """
    if not (hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")):
        return None
    if isinstance(getattr(values, "dtype", None), np.dtype):  # pandas over NumPy, which is served as it is.
        return None
    if isinstance(values, pa.ChunkedArray):
        return values
    if hasattr(values, "__arrow_c_array__"):
        return pa.chunked_array([pa.array(values)])
    column = pa.chunked_array(values)
    if not pa.types.is_struct(column.type):
        return column
    if column.type.num_fields != 1:
        raise DomainError(f"a table of answers must have one column, got {column.type.num_fields}")
    return pa.chunked_array([part.field(0) for part in column.chunks], column.type.field(0).type)


def as_numpy(part: Any) -> NDArray[Any]:
    """An Arrow array of numbers without gaps as NumPy sees it, not copied. (NumPy's own way loads pandas.)"""
    column: NDArray[Any] = np.from_dlpack(part)
    return column


def whole_numbers(values: Any, arrow: Any | None) -> NDArray[Any] | None:
    """A column of integers without gaps, as NumPy sees it; None if it is something else."""
    if arrow is not None:
        whole = pa.types.is_integer(arrow.type) and not arrow.null_count
        return np.concatenate([as_numpy(part) for part in arrow.chunks]) if whole and arrow.num_chunks else None
    column = as_numbers(values)
    return column if column is not None and column.dtype.kind != "f" else None


def as_numbers(values: Any) -> NDArray[Any] | None:
    """A column of numbers that NumPy can take in parts without a copy of the whole; None if it is something else."""
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf" and values.ndim == 1:
        return np.asarray(values)
    return None


def each_once(column: Any, encode: Callable[[object], int], first_row: int) -> NDArray[np.int64]:
    """The codes of an Arrow column: every distinct value is encoded once in each of its parts."""
    parts = [np.empty(0, dtype=np.int64)]
    for part in column.chunks:
        parts.append(_codes(part, encode, first_row))
        first_row += len(part)
    return np.concatenate(parts) if len(parts) != 2 else parts[1]


def _codes(part: Any, encode: Callable[[object], int], first_row: int) -> NDArray[np.int64]:
    """The codes of an Arrow array, by way of a dictionary. A value in the dictionary alone may be anything."""
    try:
        coded = part if pa.types.is_dictionary(part.type) else _searchable(part).dictionary_encode()
        values = [*coded.dictionary.to_pylist(), None]  # The last one stands for a null.
    except (pa.ArrowException, UnicodeDecodeError):
        raise DomainError("an answer must be text, a number or a truth value, got something else") from None
    places = coded.indices
    if places.null_count:
        places = places.cast(pa.int64()).fill_null(len(values) - 1)
    codes = np.array([_code_or_none(value, encode) for value in values], dtype=np.int64)
    encoded: NDArray[np.int64] = codes[as_numpy(places)]
    if codes.min() < 0 and (encoded < 0).any():
        at = int(np.argmax(encoded < 0))
        try:
            encode(values[places[at].as_py()])
        except DomainError as error:
            raise DomainError(f"row {first_row + at}: {error}") from None
    return encoded


def _code_or_none(value: object, encode: Callable[[object], int]) -> int:
    try:
        return encode(value)
    except DomainError:
        return -1


def _searchable(part: Any) -> Any:
    """An Arrow array whose text has a form that Arrow can look through."""
    return part.cast(pa.large_string()) if pa.types.is_string_view(part.type) else part


def floats(column: Any, first_row: int) -> Any:
    """An Arrow column of numbers for NumPy, without gaps; one of something else as a list, to be looked at singly."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return column.to_pylist()
    if column.null_count:
        at = next(row for row, valid in enumerate(column.is_valid().to_pylist(), first_row) if not valid)
        raise DomainError(f"row {at}: an answer must not be missing, got None")
    return np.concatenate([as_numpy(part) for part in column.chunks]) if column.num_chunks else column.to_numpy()
