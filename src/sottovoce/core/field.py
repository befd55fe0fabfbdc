"""Finite fields whose order is a prime or a power of two.

The arithmetic is written once and takes Python integers and NumPy arrays alike: a device hashes one value with the
same lines that a simulation runs on a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias, TypeVar, overload

from sottovoce.core.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ElementArray: TypeAlias = "NDArray[np.int64]"
"""Elements of a field, for many people."""
Elements = TypeVar("Elements", int, "NDArray[np.int64]")
"""One element, or a column of elements."""

MAX_ORDER = 4096
SMALL_ORDER = 64
"""In fields up to this order, sums of logarithms are among the small integers that Python keeps ready."""

# Irreducible polynomials over GF(2) by degree, as bits: x^2 + x + 1 is 0b111.
_MODULI = {
    2: 0b111,
    3: 0b1011,
    4: 0b10011,
    5: 0b100101,
    6: 0b1000011,
    7: 0b10000011,
    8: 0b100011011,
    9: 0b1000010001,
    10: 0b10000001001,
    11: 0b100000000101,
    12: 0b1000001010011,
}


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


@lru_cache(maxsize=2**13)
def is_order(number: int) -> bool:
    """Whether there is a field here with that many elements.

    >>> [g for g in range(20) if is_order(g)]
    [2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19]
    """
    return 2 <= number <= MAX_ORDER and (number & (number - 1) == 0 or is_prime(number))


@dataclass(frozen=True)
class Field:
    """The field of `order` elements, which are the integers 0 .. order - 1.

    >>> four = Field(4)
    >>> four.multiply(2, 3), four.add(2, 3), four.inverse(2)
    (1, 1, 3)
    """

    order: int

    def __post_init__(self) -> None:
        if type(self.order) is not int or not is_order(self.order):
            raise ParameterError(
                f"a field must have a prime or a power of two of elements, from 2 to {MAX_ORDER}, got {self.order!r}"
            )

    @cached_property
    def degree(self) -> int:
        """The degree over GF(2), or 0 for a field of prime order, whose arithmetic is modular."""
        return 0 if is_prime(self.order) else self.order.bit_length() - 1

    @property
    def modulus(self) -> int:
        """The polynomial that products are reduced by, or 0 for a field of prime order."""
        return _MODULI.get(self.degree, 0)

    @overload
    def add(self, a: int, b: int) -> int: ...
    @overload
    def add(self, a: int | ElementArray, b: ElementArray) -> ElementArray: ...
    @overload
    def add(self, a: ElementArray, b: int) -> ElementArray: ...
    def add(self, a: int | ElementArray, b: int | ElementArray) -> int | ElementArray:
        return a ^ b if self.degree else (a + b) % self.order

    def negative(self, a: Elements) -> Elements:
        return a if self.degree else -a % self.order

    @overload
    def multiply(self, a: int, b: int) -> int: ...
    @overload
    def multiply(self, a: int | ElementArray, b: ElementArray) -> ElementArray: ...
    @overload
    def multiply(self, a: ElementArray, b: int) -> ElementArray: ...
    def multiply(self, a: int | ElementArray, b: int | ElementArray) -> int | ElementArray:
        degree = self.degree
        if not degree:
            return a * b % self.order
        product = 0 * a
        for i in range(degree):
            product = product ^ (a << i) * (b >> i & 1)
        for i in range(2 * degree - 2, degree - 1, -1):
            product = product ^ (self.modulus << i - degree) * (product >> i & 1)
        return product

    @cached_property
    def logarithms_and_powers(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The logarithm of each element, and the powers by the sum of two logarithms: to look up a product of secrets.

        Zero takes as long as other elements: its logarithm lies where all powers are zero. In larger fields 2^8 is
        added to all logarithms: then no sum of two is a small integer that Python keeps ready.
        """
        units, more = self.order - 1, 0 if self.order <= SMALL_ORDER else 2**8
        powers = next(found for base in range(1, self.order) if len(found := self._cycle(base)) == units)
        places = {element: place for place, element in enumerate(powers)}
        logarithms = tuple(more + places.get(element, 2 * units) for element in range(self.order))
        return logarithms, (*[0] * (2 * more), *powers, *powers, *[0] * (2 * units + 1))

    def _cycle(self, base: int) -> list[int]:
        """The powers of an element, from 1 on, until they come round."""
        found = [1]
        while (element := self.multiply(found[-1], base)) != 1:
            found.append(element)
        return found

    def inverse(self, a: Elements) -> Elements:
        """The inverse of every nonzero element (zero gives zero): a^(order - 2), by squaring."""
        result, power, exponent = 0 * a + 1, a, self.order - 2
        while exponent:
            if exponent & 1:
                result = self.multiply(result, power)
            power = self.multiply(power, power)
            exponent >>= 1
        return result if self.order > 2 else a
