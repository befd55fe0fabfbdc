"""Drawn words to reports, for numba: one loop for each of the mechanisms whose reports are numbers.

A loop is given the words of its coins and draws, a column for each, and says whether all of them are fair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from sottovoce.kernels import SPARE
from sottovoce.kernels.bits import parity
from sottovoce.kernels.signatures import CODES, WORDS
from sottovoce.kernels.vectors import FIELD, SOME, inner, planes

if TYPE_CHECKING:
    from numpy.typing import NDArray

REPORTS = [numba.uint8[::1], numba.uint16[::1], numba.uint32[::1], numba.uint64[::1], numba.int64[::1]]
"""Where reports are written."""


@numba.njit(inline="always")
def _remainder(number: np.uint64, divisor: np.uint64, inverse: float) -> np.uint64:
    """A number below 2^53 is a float without loss. Its quotient by a rounded inverse is off by one at the most."""
    rest = np.int64(number) - np.int64(np.float64(number) * inverse) * np.int64(divisor)
    rest += np.int64(divisor) if rest < 0 else np.int64(0)
    rest -= np.int64(divisor) if rest >= np.int64(divisor) else np.int64(0)
    return np.uint64(rest)


@numba.njit("boolean(uint64[::1], uint64, uint64)", cache=True, nogil=True)
def remainders(words: NDArray[np.uint64], last: np.uint64, divisor: np.uint64) -> bool:
    """Words become what their first 53 bits leave when they are divided. If one is beyond the last, none does."""
    inverse, most = 1.0 / np.float64(divisor), np.uint64(0)
    for i in range(words.size):
        most = max(most, words[i])
    if most > last:
        return False
    for i in range(words.size):
        words[i] = _remainder(words[i] >> np.uint64(SPARE), divisor, inverse)
    return True


@numba.njit(
    [numba.boolean(CODES, numba.uint64, numba.uint64, numba.uint64, out, WORDS, WORDS) for out in REPORTS],
    cache=True,
    nogil=True,
)
def respond(
    codes: NDArray[np.int64], heads: np.uint64, others: np.uint64, last: np.uint64, out: NDArray[Any],
    tosses: NDArray[np.uint64], drawn: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """A code where its coin falls heads, otherwise one of so many others, all as likely if no draw is beyond the last.

    Whether that is so is the result.
    """
    inverse, most = 1.0 / np.float64(others), np.uint64(0)
    for i in range(codes.size):
        most = max(most, drawn[i])
        other = np.int64(_remainder(drawn[i] >> np.uint64(SPARE), others, inverse))
        other += other >= codes[i]
        out[i] = codes[i] if tosses[i] < heads else other
    return bool(most <= last)


@numba.njit(
    [numba.boolean(WORDS, *[numba.uint64] * 7, out, WORDS, WORDS, WORDS) for out in REPORTS], cache=True, nogil=True
)
def hash_and_respond(
    codes: NDArray[np.uint64], order: np.uint64, degree: np.uint64, modulus: np.uint64,
    cohorts: np.uint64, last_cohort: np.uint64, heads: np.uint64, last: np.uint64, out: NDArray[Any],
    drawn_cohorts: NDArray[np.uint64], tosses: NDArray[np.uint64], drawn: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """A cohort, and the bucket of the value there or another one, as one number; a few people at a time."""
    inverse, fair = 1.0 / np.float64(cohorts), True
    own, buckets, told = np.empty(SOME, np.uint64), np.empty(SOME, np.uint64), np.empty(SOME, np.int64)
    for at in range(0, codes.size, SOME):
        some, most = codes[at : at + SOME], np.uint64(0)
        end = at + some.size
        for i in range(some.size):
            most = max(most, drawn_cohorts[at + i])
            own[i] = _remainder(drawn_cohorts[at + i] >> np.uint64(SPARE), cohorts, inverse)
        inner(own[: some.size], some, order, degree, modulus, buckets[: some.size])
        hashed = buckets[: some.size].view(np.int64)
        fair &= respond(hashed, heads, order - np.uint64(1), last, told, tosses[at:end], drawn[at:end])
        fair &= bool(most <= last_cohort)
        for i in range(some.size):
            out[at + i] = own[i] * order + np.uint64(told[i])
    return fair


@numba.njit(
    [
        numba.boolean(WORDS, *[numba.uint64] * 5, WORDS, WORDS, WORDS, *FIELD, out, WORDS, WORDS, WORDS)
        for out in REPORTS
    ],
    cache=True,
    nogil=True,
)
def draw_planes(
    codes: NDArray[np.uint64], heads: np.uint64,
    on: np.uint64, last_on: np.uint64, off: np.uint64, last_off: np.uint64,
    powers: NDArray[np.uint64], starts: NDArray[np.uint64], inverses: NDArray[np.uint64],
    order: np.uint64, degree: np.uint64, modulus: np.uint64, out: NDArray[Any],
    tosses: NDArray[np.uint64], drawn_on: NDArray[np.uint64], drawn_off: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """A hyperplane through the point of each value where its coin falls heads, otherwise one beside it."""
    fair, by_on, by_off = True, 1.0 / np.float64(on), 1.0 / np.float64(off)
    through, lines, vectors = np.empty(SOME, np.bool_), np.empty(SOME, np.uint64), np.empty(SOME, np.uint64)
    for at in range(0, codes.size, SOME):
        some, most_on, most_off = codes[at : at + SOME], np.uint64(0), np.uint64(0)
        for i in range(some.size):
            through[i] = tosses[at + i] < heads
            most_on, most_off = max(most_on, drawn_on[at + i]), max(most_off, drawn_off[at + i])
            lines[i] = _remainder(drawn_on[at + i] >> np.uint64(SPARE), on, by_on)
            vectors[i] = _remainder(drawn_off[at + i] >> np.uint64(SPARE), off, by_off)
        own = vectors[: some.size]
        planes(some, through[: some.size], lines[: some.size], powers, starts, inverses, order, degree, modulus, own)
        fair &= bool(most_on <= last_on) & bool(most_off <= last_off)
        for i in range(some.size):
            out[at + i] = own[i]
    return fair


@numba.njit(
    [numba.boolean(CODES, numba.uint64, numba.uint64, out, WORDS, WORDS) for out in REPORTS], cache=True, nogil=True
)
def reflect(
    codes: NDArray[np.int64], heads: np.uint64, mask: np.uint64, out: NDArray[Any],
    tosses: NDArray[np.uint64], drawn: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """Rows that share an even number of bits with a value where its coin falls heads, otherwise an odd number.

    The number of rows is a power of two, of which all remainders are fair.
    """
    for i in range(codes.size):
        value, row = np.uint64(codes[i] + 1), drawn[i] >> np.uint64(SPARE) & mask
        lowest = value & (~value + np.uint64(1))
        wrong = parity(row & value) != np.uint64(tosses[i] >= heads)
        out[i] = row ^ lowest if wrong else row
    return True
