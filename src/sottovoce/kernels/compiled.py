"""The hottest loops for numba: compiled once, kept beside this file, and free of the interpreter's lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from sottovoce.kernels import HEAD
from sottovoce.kernels.adders import column_sums  # noqa: F401
from sottovoce.kernels.bits import ones
from sottovoce.kernels.responses import draw_planes, hash_and_respond, reflect, remainders, respond  # noqa: F401
from sottovoce.kernels.signatures import CODES, COUNTS, given
from sottovoce.kernels.transforms import walsh_hadamard  # noqa: F401
from sottovoce.kernels.vectors import inner, normalise  # noqa: F401

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKED_AT = 2**15
"""Numbers that are looked at before they are counted."""
VALUES = 2**11
"""Values that are looked up in one cohort before the next."""
UNSIGNED = [numba.uint8, numba.uint16, numba.uint32, numba.uint64]


@numba.njit(inline="always")
def _compare(word: np.uint64, bound: np.uint64, below: np.uint64, open_: np.uint64) -> tuple[np.uint64, np.uint64]:
    """One bit of 64 coins beside the last of the bound: a coin that differs from it is decided."""
    ones = np.uint64(0) - (bound & np.uint64(1))
    return below | open_ & ~word & ones, open_ & ~(word ^ ones)


@numba.njit(inline="always")
def _head(
    words: NDArray[np.uint64], bound: np.uint64, steps: int, coins: NDArray[np.uint64], still: NDArray[np.uint64]
) -> None:
    """A word stays in registers for all of its steps, and eight words go side by side."""
    for i in range(coins.size):
        below, open_ = np.uint64(0), ~np.uint64(0)
        for step in range(steps):
            below, open_ = _compare(words[step * coins.size + i], bound >> np.uint64(steps - 1 - step), below, open_)
        coins[i], still[i] = below, open_


@numba.njit("int64(uint64[::1], uint64, int64, uint64[::1], int64[::1], uint64[::1])", cache=True, nogil=True)
def head(
    words: NDArray[np.uint64], bound: np.uint64, steps: int,
    coins: NDArray[np.uint64], where: NDArray[np.int64], still: NDArray[np.uint64],
) -> int:  # fmt: skip
    """The first `steps` bits of 64 coins a word. The compiler makes more of a number that it knows: here, the usual."""
    if steps == HEAD:
        _head(words, bound, HEAD, coins, still)
    else:
        _head(words, bound, steps, coins, still)
    left = 0
    for i in range(coins.size):
        where[left], still[left] = i, still[i]  # Overwritten unless it is open.
        left += still[i] != np.uint64(0)
    return left


@numba.njit(
    "UniTuple(int64, 2)(uint64[::1], uint64, int64, int64, uint64[::1], int64[::1], uint64[::1])",
    cache=True,
    nogil=True,
)
def narrow(
    words: NDArray[np.uint64], bound: np.uint64, step: int, needed: int,
    coins: NDArray[np.uint64], where: NDArray[np.int64], still: NDArray[np.uint64],
) -> tuple[int, int]:  # fmt: skip
    """More bits of the open words, as long as the words that were drawn last. How many are open after which step?"""
    left, at = where.size, 0
    while 0 < left <= words.size - at and step < needed:
        last, left = left, 0
        for i in range(last):
            place = where[i]
            below, open_ = _compare(words[at + i], bound >> np.uint64(52 - step), coins[place], still[i])
            coins[place], where[left], still[left] = below, place, open_  # Overwritten unless it is open.
            left += open_ != np.uint64(0)
        at, step = at + last, step + 1
    return left, step


@numba.njit(inline="always")
def _buckets(codes: NDArray[np.int64], words: NDArray[np.uint64], size: int, buckets: NDArray[np.int32]) -> None:
    """The buckets of values for one function. A remainder by 2^31 - 1 is the sum of digits of 31 bits, taken twice."""
    inverse, many, last, digit = 1.0 / np.float64(size), np.int32(size), np.uint64(2**31 - 1), np.uint64(31)
    for i in range(codes.size):
        code = np.uint64(codes[i])
        total = words[0] * (code >> digit) + words[1] * (code & last) + words[2]
        total = (total & last) + (total >> digit)
        total = (total & last) + (total >> digit)
        number = np.int32(total - last if total >= last else total)
        rest = np.int32(number - np.int32(np.float64(number) * inverse) * many)
        rest = np.int32(rest + many) if rest < 0 else rest
        buckets[i] = np.int32(rest - many) if rest >= many else rest


@numba.njit(
    [
        numba.void(CODES, given(numba.uint64, 3), given(kind, 2), numba.float64[::1])
        for kind in (numba.int64, numba.float64)
    ],
    cache=True,
    nogil=True,
)
def look_up(
    codes: NDArray[np.int64], words: NDArray[np.uint64], table: NDArray[Any], sums: NDArray[np.float64]
) -> None:
    """Add what the table has in the buckets of each value: a row for each cohort, and the words of its functions.

    The buckets come first, eight values at once, in numbers of 32 bits.
    """
    buckets = np.empty(VALUES, dtype=np.int32)
    for at in range(0, codes.size, VALUES):
        some, own = codes[at : at + VALUES], sums[at : at + VALUES]
        for cohort in range(words.shape[0]):
            row = table[cohort]
            for function in range(words.shape[1]):
                _buckets(some, words[cohort, function], row.size, buckets)
                for i in range(some.size):
                    own[i] += row[np.uint32(buckets[i])]


@numba.njit([numba.boolean(given(kind), COUNTS) for kind in UNSIGNED], cache=True, nogil=True)
def add_occurrences(numbers: NDArray[Any], total: NDArray[np.int64]) -> bool:
    """Add to `total` how often each number occurs, fewer than 2^32 of them; or say that one of them is too large.

    They are looked at before they are counted, a block at a time, which also brings them near. Neighbours go to tables
    of their own: they are often alike. Somebody may change them meanwhile: nothing is written beside a table.
    """
    several = total.size <= 2**14 and numbers.size >= 32 * total.size
    width = 1
    while width < total.size:
        width *= 2
    tables, mask = np.zeros((4, width if several else 0), dtype=np.uint32), np.uint64(width - 1)
    for start in range(0, numbers.size, LOOKED_AT):
        some = numbers[start : start + LOOKED_AT]
        most = some[0]
        for i in range(some.size):
            most = max(most, some[i])
        if most >= np.uint64(total.size):
            return False
        fours = some.size - some.size % 4 if several else 0
        for i in range(0, fours, 4):
            tables[0, some[i] & mask] += np.uint32(1)
            tables[1, some[i + 1] & mask] += np.uint32(1)
            tables[2, some[i + 2] & mask] += np.uint32(1)
            tables[3, some[i + 3] & mask] += np.uint32(1)
        for i in range(fours, some.size):
            total[min(np.uint64(some[i]), np.uint64(total.size - 1))] += 1
    for j in range(total.size if several else 0):
        total[j] += np.int64(tables[0, j]) + tables[1, j] + tables[2, j] + tables[3, j]
    return True


@numba.njit(numba.void(numba.uint8[:, ::1], CODES, given(numba.boolean)), cache=True, nogil=True)
def put(rows: NDArray[np.uint8], codes: NDArray[np.int64], bits: NDArray[np.bool_]) -> None:
    """In each row of bits, set the one of a value to what is given.

    Codes can be the answers themselves, which somebody may change meanwhile: nothing is written beside a row.
    """
    for i in range(codes.size):
        byte, place = min(np.uint64(codes[i] >> 3), np.uint64(rows.shape[1] - 1)), np.uint8(codes[i] & 7)
        rows[i, byte] = rows[i, byte] & ~(np.uint8(1) << place) | np.uint8(bits[i]) << place


@numba.njit(numba.void(given(numba.uint64, 2), COUNTS), cache=True, nogil=True)
def row_sums(rows: NDArray[np.uint64], sums: NDArray[np.int64]) -> None:
    """How many bits each row has set."""
    for i in range(rows.shape[0]):
        total = np.int64(0)
        for j in range(rows.shape[1]):
            total += np.int64(ones(rows[i, j]))
        sums[i] = total


@numba.njit(
    numba.int64(given(numba.uint32, 2), numba.int64, numba.int64, COUNTS, numba.uint8[:, ::1], CODES, COUNTS),
    cache=True,
    nogil=True,
)
def toggle(
    drawn: NDArray[np.uint32], limit: int, others: int,
    each: NDArray[np.int64], rows: NDArray[np.uint8], codes: NDArray[np.int64], excess: NDArray[np.int64],
) -> int:  # fmt: skip
    """A few draws for every row that is to be resized, without a branch: nobody can foresee which are of use."""
    left, divisor, most = 0, np.uint32(others), np.uint64(limit)
    for i in range(each.size):
        row, code = rows[each[i]], codes[each[i]]
        rest, ones = abs(excess[each[i]]), np.uint8(excess[each[i]] > 0)
        for at in range(drawn.shape[1]):
            other = np.int64(drawn[i, at] % divisor)
            other += other >= code
            byte, place = row[other >> 3], np.uint8(other & 7)
            use = np.uint8(drawn[i, at] < most) & np.uint8(byte >> place & np.uint8(1) == ones) & np.uint8(rest != 0)
            row[other >> 3] = byte ^ use << place
            rest -= use
        excess[each[i]] = rest if ones else -rest
        each[left] = each[i]
        left += rest != 0
    return left
