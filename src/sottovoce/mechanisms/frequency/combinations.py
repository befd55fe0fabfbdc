"""Sets of a fixed size, drawn and numbered."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import Keystream, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TABLE_ENTRIES = 2**16
"""Values times members, up to which a device keeps a table of binomials."""


@dataclass(frozen=True)
class Combinations:
    """The sets of `size` values out of `values`, numbered from 0.

    The set with members c_1 < c_2 < ... has the number C(c_1, 1) + C(c_2, 2) + ...: every number is one set's.

    >>> sets = Combinations(5, 2)
    >>> sets.count, sets.number([1, 3]), sets.members(4)
    (10, 4, (1, 3))
    """

    values: int
    size: int

    @property
    def count(self) -> int:
        return math.comb(self.values, self.size)

    def number(self, held: Iterable[int]) -> int:
        if self.values * self.size > MAX_TABLE_ENTRIES:
            return sum(math.comb(member, at) for at, member in enumerate(sorted(held), 1))
        return sum([row[member] for row, member in zip(self._rows, sorted(held), strict=True)])

    def members(self, number: int) -> tuple[int, ...]:
        members = []
        for at in range(self.size, 0, -1):
            members.append(bisect_right(range(self.values), number, key=lambda c: math.comb(c, at)) - 1)
            number -= math.comb(members[-1], at)
        return tuple(reversed(members))

    @cached_property
    def _rows(self) -> tuple[tuple[int, ...], ...]:
        """C(c, at) for every value c, a row for each at: to look one up takes the same time for all of them."""
        return tuple(tuple(math.comb(c, at) for c in range(self.values)) for at in range(1, self.size + 1))

    @cached_property
    def _binomials(self) -> NDArray[np.int64]:
        """C(c, at) for at = 1 .. size, in rows, and every value c."""
        row, rows = np.ones(self.values, dtype=np.int64), []
        for _ in range(self.size):
            row = np.concatenate([[0], np.cumsum(row)[:-1]])
            rows.append(row)
        return np.array(rows)

    def number_many(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of sets whose members stand in rows, in ascending order."""
        numbers: NDArray[np.int64] = self._binomials[np.arange(self.size), members].sum(axis=1)
        return numbers

    def members_many(self, numbers: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """The members of numbered sets, a column at a time: first the largest of each set, last the smallest."""
        for row in self._binomials[::-1]:
            member = np.searchsorted(row, numbers, side="right") - 1
            numbers = numbers - row[member]
            yield member


def sample(population: int, count: int, source: Source) -> list[int]:
    """Distinct numbers below `population`, each sequence of `count` as likely as any other.

    It is the beginning of a shuffle (R. Fisher, F. Yates), of which only the places that were moved are kept.
    """
    moved: dict[int, int] = {}
    chosen = []
    for at in range(count):
        drawn = at + source.below(population - at)
        chosen.append(moved.get(drawn, drawn))
        moved[drawn] = moved.get(at, at)
    return chosen


def sample_many(population: int, count: int, rows: int, stream: Keystream) -> NDArray[np.int64]:
    """Rows of distinct numbers, each set of `count` as likely as any other (R. Floyd's method)."""
    chosen = np.full((rows, count), -1, dtype=np.int64)
    for at, last in enumerate(range(population - count, population)):
        drawn = stream.below(last + 1, rows)
        taken = (chosen[:, :at] == drawn[:, None]).any(axis=1)
        chosen[:, at] = np.where(taken, last, drawn)
    return chosen
