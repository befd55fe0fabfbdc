"""Every sequence of draws that a randomizer can make, each with its exact probability.

The audit (`sottovoce.statistics.auditing.exact`) follows draws too, in code of its own: the two check each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.kernels import UNUSED_BITS
from sottovoce.core.privacy import GRID, Probability
from sottovoce.core.randomness import Keystream, Source, heads, threshold
from sottovoce.core.reports import ReportArray
from sottovoce.mechanisms.base import Mechanism
from sottovoce.testing.rules import BrokenRule, TooLargeToCheckError, require

Drawn = TypeVar("Drawn")

MAX_DRAW_SEQUENCES = 2**20
"""Sequences of draws that are followed for one answer. A larger instance would take minutes."""


class ScriptedSource(Source):
    """Follows a script of outcomes, takes the first outcome beyond it, and records every probability on the way."""

    def __init__(self, script: list[int]) -> None:
        self.script = script
        self.taken: list[tuple[int, int]] = []
        self.ways, self.all_ways = 1, 1

    def draw(self) -> int:
        require(False, "a mechanism must draw by bernoulli, below and rounded only")
        return 0

    def bernoulli(self, p: Probability) -> bool:
        head = threshold(p)
        outcome = self._branch(2)
        self.ways *= GRID - head if outcome else head
        self.all_ways *= GRID
        return not outcome

    def below(self, k: int) -> int:
        self.all_ways *= k
        return self._branch(k)

    def rounded(self, units: int) -> int:
        below, share = divmod(units, GRID)
        up = self._branch(2) if share else self._branch(1)
        self.ways *= share if up else GRID - share
        self.all_ways *= GRID
        return below + up

    def _branch(self, outcomes: int) -> int:
        at = len(self.taken)
        outcome = self.script[at] if at < len(self.script) else 0
        self.taken.append((outcome, outcomes))
        return outcome

    @property
    def weight(self) -> Fraction:
        """The exact probability of what was taken."""
        return Fraction(self.ways, self.all_ways)


def every_draw(perturb: Callable[[Source], Drawn]) -> Iterator[tuple[Drawn, Fraction]]:
    """Run a randomizer on every sequence of outcomes of its draws, each with its exact probability."""
    script: list[int] = []
    for _ in range(MAX_DRAW_SEQUENCES):
        source = ScriptedSource(script)
        yield perturb(source), source.weight
        path = source.taken
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return
        script = [outcome for outcome, _ in path[:-1]] + [path[-1][0] + 1]
    raise TooLargeToCheckError("an instance to check must have at most 2^20 sequences of draws: take a smaller one")


class SingleAnswerStream(Keystream):
    """Feeds a column of one answer with a source's draws. Coins beyond the report's bits are heads: they must go."""

    def __init__(self, source: Source, length: int) -> None:
        self.source, self.length = source, length

    def words(self, count: int) -> NoReturn:
        raise BrokenRule("a column that can be enumerated must draw by bernoulli, below and coin_rows only")

    def bernoulli(self, p: Probability, count: int) -> NDArray[np.bool_]:
        return np.array([self.source.bernoulli(p) for _ in range(count)])

    def below(self, k: int, count: int) -> NDArray[np.int64]:
        return np.array([self.source.below(k) for _ in range(count)], dtype=np.int64)

    def columns(self, count: int, *needs: Probability | int) -> list[NDArray[np.uint64]]:
        """Words at the edge: the last that is heads or the first that is tails; for numbers, those of the last run."""
        return [np.array(list(self._words(need, count)), dtype=np.uint64) for need in needs]

    def _words(self, need: Probability | int, count: int) -> Iterator[int]:
        if isinstance(need, int):
            return ((GRID // need * need - need + int(rest)) << UNUSED_BITS for rest in self.below(need, count))
        return (heads(need) - int(head) for head in self.bernoulli(need, count))

    def coin_rows(self, p: Probability, rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        heads = [at >= self.length or self.source.bernoulli(p) for at in range(8 * rows.shape[1])]
        require(len(rows) == 1, "one answer has one row of coins")
        rows[:] = np.packbits([heads], axis=1, bitorder="little")
        return rows


def column_of_one(m: Mechanism, code: int, source: Source) -> ReportArray:
    """The column that one answer becomes, with the draws of a source."""
    column = m.shape.empty(1)
    m._perturb_into(np.array([code]), SingleAnswerStream(source, m.bits), column)
    return column
