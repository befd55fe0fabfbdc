"""Columns of answers, whichever library they come from: lists, NumPy, pandas, Polars, DuckDB, Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from sottovoce.core.errors import DomainError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

Column: TypeAlias = Iterable[object]
"""Answers of many people, whichever library they come from."""


def to_list(values: object) -> list[Any]:
    """A column of answers as a list."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        if (column := as_arrow(values)) is not None:
            return list(column.to_pylist())
        raise DomainError(f"a column of answers must be a list or an array with one dimension, got {values!r:.40}")
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow, pandas and Polars, NumPy
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def as_column(values: object) -> Any:
    """Numbers as NumPy sees them, what has Arrow's interface as an Arrow array in parts, and anything else as it is."""
    if (numbers := as_numbers(values)) is not None:
        return numbers
    try:
        arrow = as_arrow(values)
    except DomainError:  # A table of several columns may be just what is asked for.
        return values
    return values if arrow is None else arrow


def is_divisible(column: object) -> bool:
    """Whether this is a column of numbers whose parts can be read without a copy of the whole."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "biuf" and column.ndim == 1
    return isinstance(column, pa.ChunkedArray) and bool(pa.types.is_integer(column.type))


def as_arrow(values: object) -> pa.ChunkedArray | None:
    """The column as an Arrow array in parts, without a copy, if its library has Arrow's interface; otherwise None.

    A table is a column if it has just one, such as a query of DuckDB.
    """
    if not (hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")):
        return None
    if isinstance(getattr(values, "dtype", None), np.dtype):  # pandas over NumPy, which is served as it is.
        return None
    if hasattr(values, "__arrow_c_array__"):
        return _one_column(pa.chunked_array([pa.array(values)]))
    return _one_column(values if isinstance(values, pa.ChunkedArray) else pa.chunked_array(values))


def _one_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The only field of a table. Decimals without a fraction are integers: HUGEINT of DuckDB, uint64 of Spark."""
    if pa.types.is_struct(column.type):
        if column.type.num_fields != 1:
            raise DomainError(f"a table of answers must have one column, got {column.type.num_fields}")
        column = pa.chunked_array([part.field(0) for part in column.chunks], column.type.field(0).type)
    if pa.types.is_decimal(column.type) and not column.type.scale:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:  # A number of more digits is in no domain.
            return column
    return column


def as_numpy(part: pa.Array) -> NDArray[Any]:
    """An Arrow array of numbers without gaps as NumPy sees it, not copied. (NumPy's own way loads pandas.)"""
    column: NDArray[Any] = np.from_dlpack(part)
    return column


def whole_numbers(values: object, arrow: pa.ChunkedArray | None) -> NDArray[np.integer[Any] | np.bool_] | None:
    """A column of integers without gaps, as NumPy sees it; None if it is something else."""
    if arrow is not None:
        whole = pa.types.is_integer(arrow.type) and not arrow.null_count and arrow.num_chunks
        return _joined(arrow.chunks) if whole else None
    column = as_numbers(values)
    return column if column is not None and column.dtype.kind != "f" else None


def _joined(parts: list[pa.Array]) -> NDArray[Any]:
    """Arrow arrays of numbers without gaps as one of NumPy, copied only if there are several."""
    return as_numpy(parts[0]) if len(parts) == 1 else np.concatenate([as_numpy(part) for part in parts])


def as_numbers(values: object) -> NDArray[Any] | None:
    """A column of numbers or truth values as NumPy sees it, not copied; None if it is something else."""
    dtype = getattr(values, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf" or getattr(values, "ndim", 1) != 1:
        return None
    return None if isinstance(values, np.ma.MaskedArray) else np.asarray(values)  # A list says what is missing.


def encode_distinct(column: pa.ChunkedArray, encode: Callable[[object], int], first_row: int) -> NDArray[np.int64]:
    """The codes of an Arrow column: every distinct value is encoded once in each of its parts."""
    parts = [np.empty(0, dtype=np.int64)]
    for part in column.chunks:
        parts.append(_codes(part, encode, first_row))
        first_row += len(part)
    return np.concatenate(parts) if len(parts) != 2 else parts[1]


def _codes(part: pa.Array, encode: Callable[[object], int], first_row: int) -> NDArray[np.int64]:
    """The codes of an Arrow array, by way of a dictionary. A value in the dictionary alone may be anything."""
    try:
        coded = part if pa.types.is_dictionary(part.type) else _searchable(part).dictionary_encode()
        values = [*coded.dictionary.to_pylist(), None]  # The last one stands for a null.
    except (pa.ArrowException, UnicodeDecodeError):
        raise DomainError("an answer must be text, a number or a truth value, got something else") from None
    places = coded.indices
    if places.null_count:
        places = places.cast(pa.int64()).fill_null(len(values) - 1)
    codes = np.array([_code_or_minus_one(value, encode) for value in values], dtype=np.int64)
    encoded: NDArray[np.int64] = codes[as_numpy(places)]
    if codes.min() < 0 and (encoded < 0).any():
        at = int(np.argmax(encoded < 0))
        try:
            encode(values[places[at].as_py()])
        except DomainError as error:
            raise DomainError(f"row {first_row + at}: {error}") from None
    return encoded


def _code_or_minus_one(value: object, encode: Callable[[object], int]) -> int:
    try:
        return encode(value)
    except DomainError:
        return -1


def _searchable(part: pa.Array) -> pa.Array:
    """An Arrow array whose text has a form that Arrow can look through."""
    return part.cast(pa.large_string()) if pa.types.is_string_view(part.type) else part


def floats(column: pa.ChunkedArray, first_row: int) -> NDArray[Any] | list[object]:
    """An Arrow column of numbers for NumPy, without gaps. A column of anything else comes as a list."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return list(column.to_pylist())
    if column.null_count:
        at = next(row for row, valid in enumerate(column.is_valid().to_pylist(), first_row) if not valid)
        raise DomainError(f"row {at}: an answer must not be missing, got None")
    return _joined(column.chunks) if column.num_chunks else column.to_numpy()
