"""The hot loops. Each is written for NumPy; the hottest are written in C as well, and give the same integers.

A wheel brings the C loops compiled. Without them everything works the same, slower.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sottovoce.core.errors import MissingDependencyError
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scalar = TypeVar("Scalar", bound=np.generic)

DrawWords: TypeAlias = "Callable[[int], NDArray[np.uint64]]"
"""Gives so many random words of 64 bits."""

TRANSFORM_STEP_BITS = 6
"""Bits that a transform handles at a time where NumPy does it."""
COIN_HEAD_BITS = 6
"""Bits of every coin that are drawn for all of them at once; after that, most words are decided."""
PART_ROWS = 2**18
"""Rows that one thread works on. What comes out does not depend on the number of threads."""
COUNTED_AT_ONCE = 2**24
"""Numbers counted in one call: few enough for counters of 32 bits, and for Ctrl-C to be noticed soon."""
UNUSED_BITS = 11
"""The low bits of a word that a draw of 53 bits leaves out."""


class Loops:
    """The module of compiled loops, or None: then NumPy does the work.

    The environment can decide: with `SOTTO_COMPILED=0` they are never used, with `SOTTO_COMPILED=1` they must be there.
    """

    def __call__(self) -> ModuleType | None:
        return self.found

    @cached_property
    def found(self) -> ModuleType | None:
        wish = os.environ.get("SOTTO_COMPILED")
        if wish == "0":
            return None
        try:
            from sottovoce.core.kernels import compiled
        except ImportError as error:
            if wish == "1":
                raise MissingDependencyError(f"SOTTO_COMPILED=1 asks for compiled loops: {error}") from None
            return None
        return compiled


loops = Loops()


def in_one_piece(column: NDArray[Scalar]) -> NDArray[Scalar]:
    """A column as the compiled loops take it: without gaps, and aligned. One that is so already is not copied."""
    return np.require(column, requirements=["C", "A"])


def below(draw: DrawWords, bound: int, coins: NDArray[np.uint64]) -> None:
    """Fill in words of 64 coins: each bit says whether a number of 53 bits is below `bound`. `draw` gives random words.

    The numbers are compared with the bound one bit at a time from the top, 64 at once. A lane is open while its number
    agrees with the bound so far. At a 1 of the bound, a lane that draws 0 is below it for good; at a 0, a lane that
    draws 1 is above it. Half the open lanes close at each step, so that fewer than eight bits are drawn instead of 53:
    six for every coin, and more for the words that have an open lane.
    """
    needed = 53 - ((bound & -bound).bit_length() - 1)  # Beyond the last 1 of the bound, an open lane cannot fall below.
    step = min(COIN_HEAD_BITS, needed)
    compiled = loops() or sys.modules[__name__]
    where, still = np.empty(coins.size, dtype=np.int64), np.empty(coins.size, dtype=np.uint64)
    left = compiled.head(draw(step * coins.size), bound >> (53 - step), step, coins, where, still)
    while left and step < needed:  # Mostly once: about 2.4 words are needed for every open one.
        words = draw(5 * left // 2 + 1)
        left, step = compiled.narrow(words, bound, step, needed, coins, where[:left], still[:left])


def head(
    words: NDArray[np.uint64], bound: int, steps: int,
    coins: NDArray[np.uint64], where: NDArray[np.int64], still: NDArray[np.uint64],
) -> int:  # fmt: skip
    """Compare the first bits of every coin with the bound, and set the coins that are below it.

    The words that still have an open lane are written to `where` and `still`. Returns how many there are.
    """
    lanes = np.full(coins.size, ~np.uint64(0))
    coins[:] = 0
    for step, drawn in enumerate(words.reshape(steps, -1)):
        coins |= _compare(drawn, bound >> (steps - 1 - step) & 1, lanes)
    open_ = np.flatnonzero(lanes)
    where[: open_.size], still[: open_.size] = open_, lanes[open_]
    return int(open_.size)


def narrow(
    words: NDArray[np.uint64], bound: int, step: int, needed: int,
    coins: NDArray[np.uint64], where: NDArray[np.int64], still: NDArray[np.uint64],
) -> tuple[int, int]:  # fmt: skip
    """Compare further bits of the open words, as long as there are drawn words for all of them.

    Returns how many words are still open, and the step that was reached.
    """
    left = where.size
    while 0 < left <= words.size and step < needed:
        coins[where[:left]] |= _compare(words[:left], bound >> (52 - step) & 1, still[:left])
        open_ = np.flatnonzero(still[:left])
        words, left, step = words[left:], open_.size, step + 1
        where[:left], still[:left] = where[open_], still[open_]
    return int(left), step


def _compare(words: NDArray[np.uint64], bit: int, still: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Compare one more bit of the open lanes with a bit of the bound. Lanes that differ from it are closed.

    Returns those that are now below the bound.
    """
    ones = still & words
    below = still ^ ones if bit else np.zeros_like(ones)
    still[:] = ones if bit else still ^ ones
    return below


def remainders(words: NDArray[np.uint64], last: int, divisor: int) -> bool:
    """Replace each word by the remainder of its first 53 bits. If a word is above `last`, change none and return False.

    >>> words = np.array([7, 2**53 - 1], dtype=np.uint64) << np.uint64(UNUSED_BITS)
    >>> remainders(words, 2**64 - 1, 10), words.tolist()
    (True, [7, 1])
    >>> remainders(words, 6, 2), words.tolist()
    (False, [7, 1])
    """
    if (compiled := loops()) is not None:
        return bool(compiled.remainders(words, last, divisor))
    if words.max(initial=0) > last:
        return False
    words >>= np.uint64(UNUSED_BITS)
    runs = words // np.uint64(divisor)  # NumPy divides by one number much faster than it takes a remainder.
    runs *= np.uint64(divisor)
    words -= runs
    return True


def occurrences(numbers: NDArray[np.integer[Any]], cells: int) -> NDArray[np.int64]:
    """How often each number from 0 to `cells` - 1 occurs. There must be no others: compiled loops refuse them.

    >>> occurrences(np.array([2, 0, 2], dtype=np.uint8), 4).tolist()
    [1, 0, 2, 0]
    """
    if (compiled := loops()) is None and numbers.size <= PART_ROWS:
        return np.bincount(numbers, minlength=cells)
    total, step = np.zeros(cells, dtype=np.int64), COUNTED_AT_ONCE if compiled else PART_ROWS
    for at in range(0, numbers.size, step):
        some = in_one_piece(numbers[at : at + step])
        if compiled is None:
            total += np.bincount(some, minlength=cells)
        elif _has_negative(some, cells) or not compiled.add_occurrences(some.view(f"u{some.itemsize}"), total):
            raise ValueError(f"numbers must be from 0 to {cells - 1}")
    return total


def _has_negative(numbers: NDArray[np.integer[Any]], cells: int) -> bool:
    """Whether there are negative numbers that would be below `cells` without their sign, as -1 is 255 in a byte."""
    return numbers.dtype.kind == "i" and cells > 2 ** (8 * numbers.itemsize - 1) and bool(numbers.min() < 0)


def walsh_hadamard(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """For every x, the sum of the entries that share an even number of bits with x, less the sum of the others.

    Of a table, each row is transformed. Without C, six bits are handled at a time, by a product with a matrix of
    signs. The floats hold whole numbers below 2^53 all along, so that nothing is rounded.

    >>> walsh_hadamard(np.array([5, 3, 2, 1])).tolist()
    [11, 3, 5, 1]
    """
    if (compiled := loops()) is not None:
        table = np.array(column, dtype=np.int64, order="C")
        compiled.walsh_hadamard(table.reshape(-1, column.shape[-1]))
        return table
    values, bits = column.astype(np.float64), column.shape[-1].bit_length() - 1
    for done in range(0, bits, TRANSFORM_STEP_BITS):
        width = 2 ** min(TRANSFORM_STEP_BITS, bits - done)
        index = np.arange(width)
        signs = 1.0 - 2.0 * (np.bitwise_count(index[:, None] & index) & 1)
        values = np.matmul(signs, values.reshape(-1, width, 2**done))
    return values.reshape(column.shape).astype(np.int64)
