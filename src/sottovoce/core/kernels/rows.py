"""Rows of bits, a row for each report: set one bit, bring a row to its number of ones, add all rows up."""

from __future__ import annotations

import math
import sys
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from sottovoce.core.kernels import DrawWords, in_one_piece, loops
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS_AT_ONCE = 2**14
"""Rows of bits added up at a time, so that the work stays in the processor's cache."""
PLACES_AT_ONCE = 16
"""Places that are drawn at a time for a row of bits that has too many ones, or too few."""
RESIZED_AT_ONCE = 2**13
"""Rows for which such places are drawn at a time, so that the draws stay near the processor."""
PAGE_BYTES, LARGE_BYTES = 2**12, 2**23
"""Rows are read so many bytes at a time, if they have at least so many bytes in all."""
NARROW_BYTES = 4
"""Bytes of a report up to which NumPy adds up bits the fastest by counting how often each byte occurs."""


@cache
def _bits() -> NDArray[np.int64]:
    """The bits of each byte, the lowest first."""
    return np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)


def put(rows: NDArray[np.uint8], codes: NDArray[np.int64], bits: NDArray[np.bool_]) -> None:
    """In each row of bits, set the one of a value to what is given.

    >>> rows = np.array([[255], [0]], dtype=np.uint8)
    >>> put(rows, np.array([0, 2]), np.array([False, True]))
    >>> rows.tolist()
    [[254], [4]]
    """
    if (compiled := loops()) is not None:
        compiled.put(rows, in_one_piece(codes), bits)
        return
    each, byte, place = np.arange(codes.size), codes >> 3, (codes & 7).astype(np.uint8)
    rows[each, byte] = rows[each, byte] & ~(np.uint8(1) << place) | bits.astype(np.uint8) << place


def resize(
    draw: DrawWords, rows: NDArray[np.uint8], codes: NDArray[np.int64], sizes: NDArray[np.int64], length: int
) -> None:
    """Toggle random bits of each row until it has so many ones. The bit of a row's own code is never toggled.

    A row with too many ones ignores a place that has none, and the other way round; so a row that favoured no place
    favours none when it is done. Places are drawn by 32 bits, and as everywhere the incomplete last run is ignored.
    """
    others, compiled = length - 1, loops() or sys.modules[__name__]
    limit, codes = 2**32 - 2**32 % others, in_one_piece(codes)
    excess = row_sums(rows) - sizes
    each = np.flatnonzero(excess)
    while each.size:
        left = 0
        for at in range(0, each.size, RESIZED_AT_ONCE):
            some = each[at : at + RESIZED_AT_ONCE]
            drawn = draw(some.size * PLACES_AT_ONCE // 2).view("<u4").reshape(-1, PLACES_AT_ONCE)
            still = some[: compiled.toggle(drawn, limit, others, some, rows, codes, excess)]
            each[left : left + still.size] = still
            left += still.size
        each = each[:left]


def row_sums(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many bits each row has set.

    >>> row_sums(np.array([[5, 1], [4, 0]], dtype=np.uint8)).tolist()
    [3, 1]
    """
    words = rows.view(np.uint64) if rows.shape[1] % 8 == 0 else rows
    if words is not rows and words.flags.aligned and (compiled := loops()) is not None:
        compiled.row_sums(words, sums := np.empty(len(rows), dtype=np.int64))
        return sums
    counted: NDArray[np.int64] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return counted


def toggle(
    drawn: NDArray[np.uint32], limit: int, others: int,
    each: NDArray[np.int64], rows: NDArray[np.uint8], codes: NDArray[np.int64], excess: NDArray[np.int64],
) -> int:  # fmt: skip
    """A few draws for every row that is to be resized. Rows that need more are moved to the front.

    Returns how many rows need more.
    """
    other = (drawn % np.uint32(others)).astype(np.int64)
    other += other >= codes[each, None]
    for at in range(PLACES_AT_ONCE):
        live = np.flatnonzero((drawn[:, at] < limit) & (excess[each] != 0))
        row, place = each[live], other[live, at]
        bit = np.uint8(1) << (place & 7).astype(np.uint8)
        use = (rows[row, place >> 3] & bit > 0) == (excess[row] > 0)
        row, place, bit = row[use], place[use], bit[use]
        rows[row, place >> 3] ^= bit
        excess[row] -= np.sign(excess[row])
    left = np.flatnonzero(excess[each])
    each[: left.size] = each[left]
    return int(left.size)


def column_sums(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many rows have each bit set, the lowest bit of a byte first.

    >>> column_sums(np.array([[5], [4]], dtype=np.uint8)).tolist()
    [1, 0, 2, 0, 0, 0, 0, 0]
    """
    if (compiled := loops()) is not None:
        return _compiled_sums(compiled, rows)
    if rows.shape[1] <= NARROW_BYTES:
        return np.concatenate([np.bincount(column, minlength=256) @ _bits() for column in rows.T])
    total = np.zeros(8 * rows.shape[1], dtype=np.int64)
    for at in range(0, len(rows), ROWS_AT_ONCE):
        total += _added(rows[at : at + ROWS_AT_ONCE])
    return total


def _compiled_sums(compiled: ModuleType, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The rows are read as words of 64 bits. Several rows are taken as one, so that it has a multiple of eight words.

    Where there are many rows, as many are taken as one as fill a page: a processor foresees what is read next on
    sixteen pages, but not jumps within one page.
    """
    width = rows.shape[1]
    together = 64 // math.gcd(width, 64)
    if rows.nbytes >= LARGE_BYTES:
        together *= -(-PAGE_BYTES // (together * width))
    full = len(rows) - len(rows) % together
    words = in_one_piece(np.ascontiguousarray(rows[:full]).reshape(-1).view("<u8")).reshape(-1, together * width // 8)
    total = np.zeros(64 * words.shape[1], dtype=np.int64)
    compiled.column_sums(words, total)
    folded: NDArray[np.int64] = total.reshape(together, 8 * width).sum(axis=0)
    return folded + _added(rows[full:])


def _added(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """A full adder turns three rows into two, for all bits at once: one of sums, one of carries that count double."""
    third = len(rows) // 3
    if third < 64:
        sums: NDArray[np.int64] = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
        return sums
    a, b, c, rest = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third], rows[3 * third :]
    either = a ^ b
    ones, twos = np.concatenate([either ^ c, rest]), a & b | c & either
    return _added(ones) + 2 * _added(twos)
