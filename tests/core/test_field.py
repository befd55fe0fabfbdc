from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from sottovoce.core.errors import ParameterError
from sottovoce.core.field import MAX_ORDER, Field, is_order
from sottovoce.core.geometry import MAX_LISTED_VECTORS, Space

ORDERS = [g for g in range(2, MAX_ORDER + 1) if is_order(g)]


def test_orders_are_primes_and_powers_of_two() -> None:
    assert ORDERS[:10] == [2, 3, 4, 5, 7, 8, 11, 13, 16, 17]
    assert {2**k for k in range(1, 13)} < set(ORDERS)
    assert 9 not in ORDERS and 1000 not in ORDERS


@pytest.mark.parametrize(
    "order", [g for g in ORDERS if g <= 32] + [64, 128, 251, 256, 512, 1021, 1024, 2048, 4093, 4096]
)
def test_it_is_a_field(order: int) -> None:
    field = Field(order)
    elements = np.arange(order)
    assert (field.multiply(elements, field.inverse(elements))[1:] == 1).all()
    assert (np.sort(field.add(elements, order - 1)) == elements).all(), "adding is one to one"
    for a in range(1, order, max(order // 7, 1)):
        assert (np.sort(field.multiply(elements, a)) == elements).all(), "multiplying is one to one"
        b, c = (3 * a + 1) % order, (5 * a + 2) % order
        both = field.multiply(elements, field.add(b, c))
        assert (both == field.add(field.multiply(elements, b), field.multiply(elements, c))).all()
        assert (field.multiply(field.multiply(elements, b), c) == field.multiply(elements, field.multiply(b, c))).all()


def test_numbers_and_columns_agree() -> None:
    for order in (2, 3, 4, 7, 16):
        field = Field(order)
        for a in range(order):
            row = field.multiply(np.full(order, a), np.arange(order))
            assert row.tolist() == [field.multiply(a, b) for b in range(order)]
            assert field.inverse(np.array([a])).tolist() == [field.inverse(a)]


@pytest.mark.parametrize("order", [0, 1, 6, 9, 1000, 4099, 8192])
def test_other_orders_are_refused(order: int) -> None:
    with pytest.raises(ParameterError, match="a field must have a prime or a power of two"):
        Field(order)


@pytest.mark.parametrize("order", [g for g in ORDERS if g < 70] + [4093, 4096])
def test_look_ups_give_the_product(order: int) -> None:
    field, elements = Field(order), [*range(min(order, 70)), order - 1]
    logarithms, powers = field.logarithms_and_powers
    assert all(powers[logarithms[a] + logarithms[b]] == field.multiply(a, b) for a in elements for b in elements)


class Watched(int):
    """A secret that notes what is divided."""

    divided: ClassVar[list[int]] = []

    def __add__(self, other: int) -> Watched:
        return Watched(int(self) + other)

    def __divmod__(self, other: int) -> tuple[Watched, int]:
        Watched.divided.append(int(self))
        quotient, rest = divmod(int(self), other)
        return Watched(quotient), rest


@pytest.mark.parametrize("order", [2, 3, 4, 7, 8, 67])
@pytest.mark.parametrize("vectors", [100, 10**6, 10**10])
def test_secrets_are_looked_up_or_divided_alike(order: int, vectors: int) -> None:
    """Zero and shorter numbers take Python another time: calls for the values 0 and 999 were told apart by .63."""
    space, ways = Space.holding(order, vectors), set()
    cohorts = np.random.default_rng(1).integers(0, space.size, 50)
    for secret in (0, 1, order, vectors // 3, space.size - 1):
        Watched.divided.clear()
        expected = space.inner(cohorts, np.full(cohorts.size, secret))
        assert [space.inner(int(cohort), Watched(secret)) for cohort in cohorts] == expected.tolist()
        ways.add(tuple((number.bit_length() + 29) // 30 for number in Watched.divided))
        assert all(number > 256 for number in Watched.divided)  # Smaller ones are ready, and take another time.
    assert len(ways) == 1
    assert bool(Watched.divided) == (space.size > MAX_LISTED_VECTORS)
