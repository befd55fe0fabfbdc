"""Vectors over a finite field, written as numbers in base g, and the lines through the origin.

The arithmetic takes Python integers and NumPy arrays alike. A line is stood for by its one vector whose leading digit
is 1; lines are numbered by how many digits follow that 1, then by those digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import repeat
from operator import add as plus
from operator import mul as times
from operator import xor
from typing import TYPE_CHECKING, Any, overload

from sottovoce.core.field import ElementArray, Field
from sottovoce.core.kernels import in_one_piece, loops, walsh_hadamard
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_LISTED_VECTORS = 2**12
"""Vectors whose digits a device keeps in a table."""
NOT_SMALL = 2**12
"""Python keeps small integers ready, and makes larger ones when they are needed, which takes longer. A sum that starts
here is never a small integer, whatever is added: all sums take the same time."""


@dataclass(frozen=True)
class Space:
    """All vectors of a number of digits over the field of `order` elements.

    >>> plane = Space(3, digits=2)
    >>> plane.size, plane.lines, [plane.line(i) for i in range(4)]
    (9, 4, [1, 3, 4, 5])
    >>> plane.inner(5, 7), plane.normalise(8)  # 5 is (1, 2), 7 is (2, 1), 8 is (2, 2) = 2 (1, 1)
    (1, (2, 2))
    """

    order: int
    digits: int

    @classmethod
    def holding(cls, order: int, vectors: int) -> Space:
        """The smallest space with that many vectors."""
        return cls(order, next(m for m in range(1, 65) if order**m >= vectors))

    @cached_property
    def field(self) -> Field:
        return Field(self.order)

    @cached_property
    def size(self) -> int:
        return int(self.order**self.digits)

    @cached_property
    def lines(self) -> int:
        return self.first_line(self.digits)

    def first_line(self, k: int) -> int:
        """The number of the first line with k digits behind its leading 1."""
        return int(self.order**k - 1) // (self.order - 1)

    @overload
    def inner(self, a: int, b: int) -> int: ...
    @overload
    def inner(self, a: int | ElementArray, b: ElementArray) -> ElementArray: ...
    @overload
    def inner(self, a: ElementArray, b: int) -> ElementArray: ...
    def inner(self, a: int | ElementArray, b: int | ElementArray) -> int | ElementArray:
        """The inner product of two vectors."""
        if isinstance(a, int) and isinstance(b, int):
            return self._inner_of_secrets(a, b)
        total = 0 * b
        for _ in range(self.digits):
            a, i = divmod(a, self.order)
            b, j = divmod(b, self.order)
            total = self.field.add(total, self.field.multiply(i, j))
        return total

    def inner_many(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for two columns of vectors."""
        products: NDArray[np.int64]
        if (compiled := loops()) is None:
            products = self.inner(a, b)
        else:
            products = np.empty(a.size, dtype=np.int64)
            compiled.inner(words(a), words(b), *self.tables[3:], words(products))
        return products

    def line(self, number: int) -> int:
        """The vector with leading digit 1 of a numbered line."""
        starts, powers = self._steps
        k = sum([number >= start for start in starts]) - 1
        return powers[k] + number - starts[k]

    # A device works with secret vectors: here the same is done whatever they are.

    def _inner_of_secrets(self, a: int, b: int) -> int:
        """`inner` in a time that tells nothing: the logarithms of the digits are looked up and added, and the sum of
        their powers is looked up once more.
        """
        logarithms = map(plus, self._logarithms_of(a), self._logarithms_of(b))
        products = map(self.field.logarithms_and_powers[1].__getitem__, logarithms)
        return self._sums[reduce(xor, products, NOT_SMALL) if self.field.degree else sum(products, NOT_SMALL)]

    def _logarithms_of(self, vector: int) -> tuple[int, ...]:
        """The logarithms of a vector's digits, the lowest first; a few digits are looked up at a time."""
        listed = self._listed_logarithms
        if len(listed) == self.size:
            return listed[vector]
        found: tuple[int, ...] = ()
        vector += NOT_SMALL * len(listed) ** self._look_ups  # No number that is divided is small: NOT_SMALL is left.
        for _ in range(self._look_ups):
            vector, some = divmod(vector, len(listed))
            found += listed[some]
        return found[: self.digits]

    @cached_property
    def _look_ups(self) -> int:
        """How often the table must be looked into for a vector."""
        return next(count for count in range(1, 65) if len(self._listed_logarithms) ** count >= self.size)

    @cached_property
    def _listed_logarithms(self) -> list[tuple[int, ...]]:
        """The logarithms of the digits of the first vectors, as many as a power of the order.

        They are all, or up to MAX_LISTED_VECTORS.
        """
        logarithms, _ = self.field.logarithms_and_powers
        listed: list[tuple[int, ...]] = [(each,) for each in logarithms]
        while len(listed) < self.size and len(listed) * self.order <= MAX_LISTED_VECTORS:
            listed = [(*low, high) for high in logarithms for low in listed]
        return listed

    @cached_property
    def _sums(self) -> tuple[int, ...]:
        """The element that a sum of products is, from NOT_SMALL on."""
        last = self.order if self.field.degree else self.digits * (self.order - 1) + 1
        return (0,) * NOT_SMALL + tuple(total % self.order for total in range(last))

    def leading(self, vector: int) -> int:
        """The power of the order at the leading digit of a nonzero vector."""
        _, powers = self._steps
        return powers[sum([vector >= power for power in powers]) - 1]

    def normalise(self, vector: int) -> tuple[int, int]:
        """The factor that makes a nonzero vector's leading digit 1, and the number of its line."""
        (starts, powers), (logarithms, products) = self._steps, self.field.logarithms_and_powers
        digits = self._logarithms_of(vector)
        k = sum([vector >= power for power in powers]) - 1
        factor = self._inverses[digits[k]]
        multiple = sum(map(times, powers, map(products.__getitem__, map(plus, digits, repeat(logarithms[factor])))))
        return factor, starts[k] + multiple - powers[k]

    @cached_property
    def _inverses(self) -> dict[int, int]:
        """The inverse of an element, by its logarithm."""
        logarithms, _ = self.field.logarithms_and_powers
        return {logarithms[element]: self.field.inverse(element) for element in range(1, self.order)}

    @cached_property
    def _steps(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The number of the first line, and the power of the order, for each number of digits behind the leading 1."""
        return (
            tuple(self.first_line(k) for k in range(self.digits)),
            tuple(int(self.order**k) for k in range(self.digits)),
        )

    def line_many(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for a column of numbers."""
        k = np.searchsorted(self._starts, numbers, side="right") - 1
        vectors: NDArray[np.int64] = self._powers[k] + numbers - self._starts[k]
        return vectors

    def normalise_many(self, vectors: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same for a column of vectors. Zero has no line: it gets the factor 0 and the number -1."""
        if (compiled := loops()) is not None:
            factors, numbers = np.empty((2, vectors.size), dtype=np.int64)
            compiled.normalise(words(vectors), *self.tables, words(factors), words(numbers))
            return factors, numbers
        k = np.searchsorted(self._powers, vectors, side="right") - 1
        factor = self.field.inverse(vectors // self._powers[np.maximum(k, 0)])
        tail = vectors - self._powers[np.maximum(k, 0)] * (vectors // self._powers[np.maximum(k, 0)])
        number = np.append(self._starts, -1)[k]
        for power in self._powers[:-1]:
            number += power * self.field.multiply(factor, tail // power % self.order)
        return factor, number

    @cached_property
    def _powers(self) -> NDArray[np.int64]:
        return np.array([self.order**k for k in range(self.digits)])

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.array([self.first_line(k) for k in range(self.digits)])

    @cached_property
    def tables(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], int, int, int]:
        """What the compiled loops ask for: powers, first lines, inverses; the field's order, degree, modulus."""
        inverses = self.field.inverse(np.arange(self.order, dtype=np.int64))
        columns = words(self._powers), words(self._starts), words(inverses)
        return (*columns, self.order, self.field.degree, self.field.modulus)

    def transform(self, counts: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
        """From counts[c, y] to sums over c of counts[c, y + <c, x>] for every x of so many digits.

        One digit of c is summed out at a time, and one of x takes its place.
        """
        g, field = self.order, self.field
        element, digit = np.arange(g), np.arange(g)[:, None]
        for _ in range(digits):
            pairs = counts.reshape(g, -1, g).transpose(1, 0, 2).reshape(-1, g * g)
            image = np.empty((len(pairs), g, g), dtype=counts.dtype)
            for value in range(g):
                shifted = digit * g + field.add(element, field.multiply(digit, value))
                image[:, value] = pairs[:, shifted.ravel()].reshape(-1, g, g).sum(axis=1)
            counts = image.reshape(-1, g)  # The leading digit is now the last: after all of them, order is restored.
        return counts

    # Sums over lines are decoded by characters, as convolutions are by Fourier transforms: [<c, x> = y] is the mean of
    # chi(f y) conj(chi(f <c, x>)) over the elements f. The term f = 0 is the plain total; the others put a line's own
    # small transform at its multiples f c, and one large transform gives the sums for all vectors x at once.

    def sums(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """For every vector x, the sum over the lines c of counts[c, <c, x>]."""
        if not self._binary:
            return self._decode(counts.sum(), np.fft.fft(counts, axis=1).conj())
        return self._decode(counts.sum(), walsh_hadamard(counts)[:, self._dual])

    def meets(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """For every vector x, the sum of the weights of the lines c with <c, x> = 0."""
        return self._decode(weights.sum(), np.broadcast_to(weights[:, None], (self.lines, self.order)))

    def _decode(self, total: int, spectra: NDArray[Any]) -> NDArray[np.int64]:
        g, table = self.order, np.zeros(self.size, dtype=spectra.dtype)
        for factor in range(1, g):
            digit = self._dual[self.field.multiply(np.arange(g), factor)]
            tails = np.zeros(1, dtype=np.int64)
            for k in range(self.digits):
                tails = (digit[:, None] * g ** (k - 1) + tails).ravel() if k else tails
                table[digit[1] * g**k + tails] = spectra[self.first_line(k) : self.first_line(k + 1), factor]
        sums = walsh_hadamard(table) if self._binary else self._fourier(table)
        sums += total
        return np.floor_divide(sums, g, out=sums)

    def _fourier(self, table: NDArray[Any]) -> NDArray[np.int64]:
        """The Fourier transform of a table whose transform is known to be real, and whole."""
        shape = (self.order,) * self.digits
        half = table.conj().reshape(shape)[..., : self.order // 2 + 1]
        return np.rint(np.fft.irfftn(half, s=shape, axes=range(self.digits)) * self.size).astype(np.int64).ravel()

    @cached_property
    def _binary(self) -> bool:
        return self.order & (self.order - 1) == 0

    @cached_property
    def _dual(self) -> NDArray[np.int64]:
        """For each element a, the element whose bits say how the character chi(a y) depends on the bits of y.

        In a field of 2^k elements chi(a) = -1 to the power of the trace of a. In a prime field characters multiply, and
        an element stands for itself.
        """
        elements = np.arange(self.order)
        if not self._binary or self.order == 2:
            return elements
        traces = [self._trace(self.field.multiply(elements, 2**i)) << i for i in range(self.order.bit_length() - 1)]
        dual: NDArray[np.int64] = np.bitwise_or.reduce(traces)
        return dual

    def _trace(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum of an element's conjugates a, a^2, a^4, ...: 0 or 1."""
        total, power = elements, elements
        for _ in range(self.order.bit_length() - 2):
            power = self.field.multiply(power, power)
            total = total ^ power
        return total


def words(column: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A column as the compiled loops see it: of words, in one piece."""
    return in_one_piece(column.astype(np.int64, copy=False)).view(np.uint64)
