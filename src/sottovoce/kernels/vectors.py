"""Vectors over a finite field for numba: `geometry` a column at a time, with the same integers.

A vector is a number in base `order`. A field of 2^degree elements adds by exclusive or, and multiplies polynomials
modulo `modulus`; a field of prime order has the degree 0. `powers` are those of the order, `starts` the numbers of
the first lines with so many digits behind their leading 1, and `inverses` those of the field's elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from sottovoce.kernels.signatures import OUT, WORDS, given

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Word = np.uint64
    Column = NDArray[np.uint64]

FIELD = (numba.uint64,) * 3
ONE = np.uint64(1)


@numba.njit(inline="always")
def _split(vector: Word, order: Word, degree: Word) -> tuple[Word, Word]:
    """All digits but the last, and the last."""
    if degree:
        return vector >> degree, vector & (order - ONE)
    return vector // order, vector % order


@numba.njit(inline="always")
def _times(a: Word, b: Word, degree: Word) -> Word:
    """A product, yet to be reduced."""
    if not degree:
        return a * b
    product = np.uint64(0)
    for i in range(degree):
        product ^= (a << np.uint64(i)) * (b >> np.uint64(i) & ONE)
    return product


@numba.njit(inline="always")
def _reduced(total: Word, order: Word, degree: Word, modulus: Word) -> Word:
    if not degree:
        return total % order
    for i in range(1, degree):
        above = degree - np.uint64(1 + i)
        total ^= (modulus << above) * (total >> degree + above & ONE)
    return total


@numba.njit(inline="always")
def _inner(a: Word, b: Word, order: Word, degree: Word, modulus: Word) -> Word:
    """The sum is reduced once, at the end: it stays far below 2^64."""
    total = np.uint64(0)
    while b:
        a, i = _split(a, order, degree)
        b, j = _split(b, order, degree)
        product = _times(i, j, degree)
        total = total ^ product if degree else total + product
    return _reduced(total, order, degree, modulus)


@numba.njit(inline="always")
def _place(number: Word, bounds: Column) -> int:
    """The last of the bounds that is not above a number: mostly, one of the last."""
    k = bounds.size - 1
    while k and number < bounds[k]:
        k -= 1
    return k


@numba.njit(inline="always")
def _line_number(
    vector: Word,
    factor: Word,
    k: int,
    powers: Column,
    start: Word,
    order: Word,
    degree: Word,
    modulus: Word,
) -> Word:
    """The number of the line of a vector with k digits behind the leading one, times the factor that makes that 1."""
    rest = vector & (powers[k] - ONE) if degree else vector % powers[k]
    tail = rest if factor == ONE else np.uint64(0)
    for i in range(0 if factor == ONE else k):
        rest, digit = _split(rest, order, degree)
        tail += powers[i] * _reduced(_times(factor, digit, degree), order, degree, modulus)
    return start + tail


@numba.njit(numba.void(WORDS, WORDS, *FIELD, OUT), cache=True, nogil=True, error_model="numpy")
def inner(
    a: Column,
    b: Column,
    order: Word,
    degree: Word,
    modulus: Word,
    out: Column,
) -> None:
    """The inner products of two columns of vectors."""
    for i in range(a.size):
        out[i] = _inner(a[i], b[i], order, degree, modulus)


@numba.njit(
    numba.void(WORDS, WORDS, WORDS, WORDS, *FIELD, OUT, OUT),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def normalise(
    vectors: Column,
    powers: Column,
    starts: Column,
    inverses: Column,
    order: Word,
    degree: Word,
    modulus: Word,
    factors: Column,
    numbers: Column,
) -> None:
    """The factor that makes a vector's leading digit 1, and the number of its line; of zero, 0 and -1."""
    for i in range(vectors.size):
        vector = vectors[i]
        k = _place(vector, powers)
        factors[i] = inverses[vector // powers[k]]
        numbers[i] = _line_number(vector, factors[i], k, powers, starts[k], order, degree, modulus)
        if not vector:
            numbers[i] = ~np.uint64(0)


@numba.njit(
    numba.void(WORDS, given(numba.boolean), WORDS, WORDS, WORDS, WORDS, *FIELD, OUT),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def planes(
    codes: Column,
    through: NDArray[np.bool_],
    lines: Column,
    powers: Column,
    starts: Column,
    inverses: Column,
    order: Word,
    degree: Word,
    modulus: Word,
    vectors: Column,
) -> None:
    """For each value, a hyperplane through its point or not, from the digits that are free. `vectors` becomes it."""
    for i in range(codes.size):
        lead = _place(codes[i], starts)
        power = powers[lead]
        point = power + codes[i] - starts[lead]
        free = vectors[i]
        if through[i]:
            k = _place(lines[i], starts)
            free = powers[k] + lines[i] - starts[k]
        high = free // power
        vector = high * power * order + (free - high * power)
        product, wanted = _inner(vector, point, order, degree, modulus), np.uint64(not through[i])
        vector += power * (wanted ^ product if degree else (wanted + order - product) % order)
        k = _place(vector, powers)
        factor = inverses[vector // powers[k]]
        vectors[i] = _line_number(vector, factor, k, powers, starts[k], order, degree, modulus)
