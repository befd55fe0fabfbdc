"""Bits of many rows added up by full adders, for numba."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from sottovoce.kernels.signatures import COUNTS, given

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 16
"""Rows that one round of full adders takes in."""
LANES, DESK = 168, 232
"""Sixteen rows of eight words, what is left of them, and the sixteens; then eight lanes of bytes. Where those begin."""
EACH_BYTE = np.uint64(0x0101010101010101)


@numba.njit(inline="always")
def _add(a: int, b: int, c: int) -> tuple[int, int]:
    """Three bits added, 64 times at once: the sums, and the carries."""
    either = a ^ b
    return either ^ c, a & b | either & c


@numba.njit(inline="always")
def _eight(desk: NDArray[np.uint64], j: int, ones: int, twos: int) -> tuple[int, int, int, int]:
    """Word j of eight rows added to what is left of ones and twos: what is left now, and two words of fours."""
    ones, a = _add(ones, desk[j], desk[8 + j])
    ones, b = _add(ones, desk[16 + j], desk[24 + j])
    twos, c = _add(twos, a, b)
    ones, a = _add(ones, desk[32 + j], desk[40 + j])
    ones, b = _add(ones, desk[48 + j], desk[56 + j])
    twos, d = _add(twos, a, b)
    return ones, twos, c, d


@numba.njit(inline="always")
def _count(word: np.uint64, worth: int, total: NDArray[np.int64]) -> None:
    for bit in range(64):
        total[bit] += worth * np.int64(word >> np.uint64(bit) & np.uint64(1))


@numba.njit("void(uint64[::1], int64[::1])", cache=True, nogil=True)
def _unload(desk: NDArray[np.uint64], total: NDArray[np.int64]) -> None:
    """Add the bytes, which count sixteens, and begin again at zero: byte k of lane b is for bit 8 k + b of a word."""
    for start in range(0, desk.size, DESK):
        for lane in range(64):
            bit, word = lane >> 3, start // DESK * 8 + (lane & 7)
            for byte in range(8):
                sixteens = np.int64(desk[start + LANES + lane] >> np.uint64(8 * byte) & np.uint64(255))
                total[64 * word + 8 * byte + bit] += 16 * sixteens
            desk[start + LANES + lane] = 0


@numba.njit(numba.void(given(numba.uint64, 2), COUNTS), cache=True, nogil=True)
def column_sums(rows: NDArray[np.uint64], total: NDArray[np.int64]) -> None:
    """Add to `total` how many rows have each bit set. Rows have a multiple of eight words, which go side by side.

    Sixteen rows at a time go through fifteen full adders, which keep what is left of ones, twos, fours and eights for
    the next sixteen. The sixteens that come out are counted in bytes, eight to a word, before the bytes overflow. For
    each eight words there is a desk, where all of that is beside one another: in one array, the compiler sees that
    nothing overlaps.
    """
    count, width = rows.shape
    full = count - count % ROWS
    desk = np.zeros(DESK * (width // 8), dtype=np.uint64)
    for at in range(0, full, ROWS):
        for eight in range(width // 8):
            start = DESK * eight
            for row in range(ROWS):
                for j in range(8):
                    desk[start + 8 * row + j] = rows[at + row, 8 * eight + j]
            for j in range(start, start + 8):
                ones, twos, fours, eights = desk[128 + j], desk[136 + j], desk[144 + j], desk[152 + j]
                ones, twos, a, b = _eight(desk, j, ones, twos)
                fours, c = _add(fours, a, b)
                ones, twos, a, b = _eight(desk, j + 64, ones, twos)
                fours, d = _add(fours, a, b)
                eights, sixteens = _add(eights, c, d)
                desk[128 + j], desk[136 + j], desk[144 + j], desk[152 + j] = ones, twos, fours, eights
                desk[160 + j] = sixteens
            for bit in range(8):
                for j in range(start, start + 8):
                    desk[LANES + 8 * bit + j] += desk[160 + j] >> np.uint64(bit) & EACH_BYTE
        if at // ROWS % 255 == 254:
            _unload(desk, total)
    _unload(desk, total)
    for word in range(width):
        for level in range(4):
            left = desk[word // 8 * DESK + 128 + 8 * level + word % 8]
            _count(left, 1 << level, total[64 * word : 64 * word + 64])
        for at in range(full, count):
            _count(rows[at, word], 1, total[64 * word : 64 * word + 64])
