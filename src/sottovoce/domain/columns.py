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


def whole_numbers(values: Any, arrow: Any | None) -> NDArray[Any] | None:
    """A column of integers without gaps, as NumPy sees it; None if it is something else."""
    if arrow is not None:
        whole = pa.types.is_integer(arrow.type) and not arrow.null_count
        return np.concatenate([np.asarray(part) for part in arrow.chunks]) if whole and arrow.num_chunks else None
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iu" and values.ndim == 1:
        return np.asarray(values)
    return None


def each_once(column: Any, encode: Callable[[object], int], first_row: int) -> NDArray[np.int64]:
    """The codes of an Arrow column: every distinct value is encoded once, however long the column."""
    try:
        column = pa.chunked_array([_plain(part) for part in column.chunks], column.type if not column.chunks else None)
        parts = column.dictionary_encode(null_encoding="encode").chunks  # One dictionary for all of them.
    except (pa.ArrowException, UnicodeDecodeError):
        raise DomainError("an answer must be text, a number or a truth value, got something else") from None
    if not parts:
        return np.empty(0, dtype=np.int64)
    places = np.concatenate([np.asarray(part.indices, dtype=np.int64) for part in parts])
    codes = np.empty(len(parts[0].dictionary), dtype=np.int64)
    for place, value in enumerate(parts[0].dictionary.to_pylist()):
        try:
            codes[place] = encode(value)
        except DomainError as error:
            row = first_row + int(np.argmax(places == place))
            raise DomainError(f"row {row}: {error}") from None
    encoded: NDArray[np.int64] = codes[places]
    return encoded


def _plain(part: Any) -> Any:
    """An Arrow array without a dictionary of its own, its text in a form that Arrow can look through."""
    if pa.types.is_dictionary(part.type):
        return _plain(part.dictionary).take(part.indices)
    return part.cast(pa.large_string()) if pa.types.is_string_view(part.type) else part


def floats(column: Any, first_row: int) -> Any:
    """An Arrow column of numbers for NumPy, without gaps; one of something else as a list, to be looked at singly."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return column.to_pylist()
    if column.null_count:
        at = next(row for row, valid in enumerate(column.is_valid().to_pylist(), first_row) if not valid)
        raise DomainError(f"row {at}: an answer must not be missing, got None")
    return column.to_numpy()
