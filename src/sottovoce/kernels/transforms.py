"""The fast Walsh-Hadamard transform for numba: in place, in whole numbers, and twice through memory at the most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.int64]

BLOCK = 2**13
"""Numbers that are transformed by themselves, near the processor: those that differ in the low bits of their place."""
WIDTH = 2**6
"""Places side by side whose numbers are then transformed together, over the high bits."""


@numba.njit(inline="always")
def _twos(a: Column, b: Column) -> None:
    for i in range(a.size):
        a[i], b[i] = a[i] + b[i], a[i] - b[i]


@numba.njit(inline="always")
def _four(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """Two bits at once."""
    ab, cd, a_b, c_d = a + b, c + d, a - b, c - d
    return ab + cd, a_b + c_d, ab - cd, a_b - c_d


@numba.njit(inline="always")
def _fours(a: Column, b: Column, c: Column, d: Column) -> None:
    for i in range(a.size):
        a[i], b[i], c[i], d[i] = _four(a[i], b[i], c[i], d[i])


@numba.njit(inline="always")
def _sixteens(v: Column) -> None:
    """The four lowest bits at once: so few places are not worth a loop."""
    for i in range(0, v.size, 16):
        a, b, c, d = _four(v[i], v[i + 1], v[i + 2], v[i + 3])
        e, f, g, h = _four(v[i + 4], v[i + 5], v[i + 6], v[i + 7])
        j, k, m, n = _four(v[i + 8], v[i + 9], v[i + 10], v[i + 11])
        p, q, r, s = _four(v[i + 12], v[i + 13], v[i + 14], v[i + 15])
        v[i], v[i + 4], v[i + 8], v[i + 12] = _four(a, e, j, p)
        v[i + 1], v[i + 5], v[i + 9], v[i + 13] = _four(b, f, k, q)
        v[i + 2], v[i + 6], v[i + 10], v[i + 14] = _four(c, g, m, r)
        v[i + 3], v[i + 7], v[i + 11], v[i + 15] = _four(d, h, n, s)


@numba.njit("void(int64[::1], int64)", cache=True, nogil=True)
def _passes(values: Column, step: int) -> None:
    """Over all bits of a place from the one that is worth `step` on."""
    if step == 1 and values.size >= 16:
        _sixteens(values)
        step = 16
    while 2 * step < values.size:
        for at in range(0, values.size, 4 * step):
            b, c, d, end = at + step, at + 2 * step, at + 3 * step, at + 4 * step
            _fours(values[at:b], values[b:c], values[c:d], values[d:end])
        step *= 4
    if step < values.size:
        _twos(values[:step], values[step:])


@numba.njit("void(int64[:, ::1])", cache=True, nogil=True)
def walsh_hadamard(table: NDArray[np.int64]) -> None:
    """Each row of a table, whose length is a power of two, becomes its transform."""
    size = table.shape[1]
    high = max(1, size // BLOCK)
    desk = np.empty(high * WIDTH, dtype=np.int64)
    for number in range(table.shape[0]):
        row = table[number]
        for at in range(0, size, BLOCK):
            _passes(row[at : at + BLOCK], 1)
        if high == 1:
            continue
        for at in range(0, BLOCK, WIDTH):
            for k in range(high):
                desk[k * WIDTH : (k + 1) * WIDTH] = row[k * BLOCK + at : k * BLOCK + at + WIDTH]
            _passes(desk, WIDTH)
            for k in range(high):
                row[k * BLOCK + at : k * BLOCK + at + WIDTH] = desk[k * WIDTH : (k + 1) * WIDTH]
