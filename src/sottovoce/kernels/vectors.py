"""Vectors over a finite field for numba: `geometry` a column at a time, with the same integers.

A vector is a number in base `order`. A field of 2^degree elements adds by exclusive or, and multiplies polynomials
modulo `modulus`; a field of prime order has the degree 0. `powers` are those of the order, `starts` the numbers of
the first lines with so many digits behind their leading 1, and `inverses` those of the field's elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from sottovoce.kernels.bits import parity
from sottovoce.kernels.signatures import OUT, WORDS, given

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Word = np.uint64
    Column = NDArray[np.uint64]

FIELD = (numba.uint64,) * 3
ONE = np.uint64(1)
SOME = 2**10
"""People whose reports are drawn together, in the first cache."""


@numba.njit(inline="always")
def _split(vector: Word, order: Word, degree: Word) -> tuple[Word, Word]:
    """All digits but the last, and the last."""
    if degree:
        return vector >> degree, vector & (order - ONE)
    return vector // order, vector % order


@numba.njit(inline="always")
def _cut(vector: Word, k: int, powers: Column, degree: Word) -> tuple[Word, Word]:
    """All digits but the last k, and those."""
    if degree:
        return vector >> degree * np.uint64(k), vector & (powers[k] - ONE)
    return vector // powers[k], vector % powers[k]


@numba.njit(inline="always")
def _product(a: Word, b: Word, degree: Word) -> Word:
    """A product of two elements, yet to be reduced."""
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
    """The sum is reduced once, at the end: it stays far below 2^53."""
    total = np.uint64(0)
    while b:
        a, i = _split(a, order, degree)
        b, j = _split(b, order, degree)
        product = _product(i, j, degree)
        total = total ^ product if degree else total + product
    return _reduced(total, order, degree, modulus)


@numba.njit(inline="always")
def _inner_of_bits(a: Word, b: Word, order: Word, degree: int, modulus: Word) -> Word:
    """The same, all digits at once: in each lane of bits, those of one vector meet those of the other.

    Of the lanes where both are set, only the parity is of interest. The compiler must know the degree.
    """
    total, lanes = np.uint64(0), ((ONE << np.uint64(60 // degree * degree)) - ONE) // ((ONE << np.uint64(degree)) - ONE)
    for k in range(2 * degree - 1):
        both = np.uint64(0)
        for i in range(max(0, k - degree + 1), min(k + 1, degree)):
            both ^= (a >> np.uint64(i)) & (b >> np.uint64(k - i))
        total |= parity(both & lanes) << np.uint64(k)
    return _reduced(total, order, np.uint64(degree), modulus)


@numba.njit(inline="always")
def _inners_of_bits(a: Column, b: Column, order: Word, degree: int, modulus: Word, out: Column) -> None:
    for i in range(a.size):
        out[i] = _inner_of_bits(a[i], b[i], order, degree, modulus)


@numba.njit(inline="always")
def _times(
    vector: Word, factor: Word, k: int, powers: Column, lanes: Word, order: Word, degree: Word, modulus: Word
) -> Word:
    """The k digits of a vector times a factor; all at once if a digit is bits, the lowest of which are the lanes."""
    product = np.uint64(0)
    if not degree:
        for i in range(k):
            vector, digit = _split(vector, order, degree)
            product += powers[i] * _reduced(factor * digit, order, degree, modulus)
        return product
    top = degree - ONE
    for i in range(degree):
        product ^= vector * (factor >> np.uint64(i) & ONE)
        over = vector >> top & lanes
        vector = (vector ^ over << top) << ONE ^ over * (modulus ^ order)
    return product


@numba.njit(inline="always")
def _place(number: Word, bounds: Column) -> int:
    """The last of the bounds that is not above a number: mostly, one of the last."""
    k = bounds.size - 1
    while k and number < bounds[k]:
        k -= 1
    return k


@numba.njit(inline="always")
def _line(
    vector: Word, powers: Column, starts: Column, inverses: Column, order: Word, degree: Word, modulus: Word
) -> tuple[Word, Word]:
    """The factor that makes a vector's leading digit 1, and the number of its line; of zero, 0 and -1."""
    k = _place(vector, powers)
    lead, rest = _cut(vector, k, powers, degree)
    factor = inverses[lead]
    if factor > ONE:
        lanes = starts[starts.size - 1] + powers[powers.size - 1]  # All powers of the order, added up.
        rest = _times(rest, factor, k, powers, lanes, order, degree, modulus)
    return factor, starts[k] + rest if factor else ~np.uint64(0)


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
    if order == 2:
        _inners_of_bits(a, b, order, 1, modulus, out)
    elif degree == 2:
        _inners_of_bits(a, b, order, 2, modulus, out)
    elif degree == 3:
        _inners_of_bits(a, b, order, 3, modulus, out)
    elif degree == 4:
        _inners_of_bits(a, b, order, 4, modulus, out)
    else:
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
        factors[i], numbers[i] = _line(vectors[i], powers, starts, inverses, order, degree, modulus)


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
    """For each value, a hyperplane through its point or not, from the digits that are free. `vectors` becomes it.

    First the free digits, with a zero where the point has its leading 1; then all inner products; then the digit that
    makes them what they should be.
    """
    count = codes.size
    leads, points, products = np.empty(count, np.int64), np.empty(count, np.uint64), np.empty(count, np.uint64)
    for i in range(count):
        lead = leads[i] = _place(codes[i], starts)
        points[i] = powers[lead] + codes[i] - starts[lead]
        free = vectors[i]
        if through[i]:
            k = _place(lines[i], starts)
            free = powers[k] + lines[i] - starts[k]
        high, low = _cut(free, lead, powers, degree)
        vectors[i] = high * powers[lead] * order + low
    inner(vectors, points, order, degree, modulus, products)
    for i in range(count):
        wanted = np.uint64(not through[i])
        digit = wanted ^ products[i] if degree else (wanted + order - products[i]) % order
        vector = vectors[i] + powers[leads[i]] * digit
        vectors[i] = _line(vector, powers, starts, inverses, order, degree, modulus)[1]
