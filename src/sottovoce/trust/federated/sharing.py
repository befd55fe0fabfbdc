"""Secret sharing of whole columns: too few pieces of a number tell nothing, and pieces can be added.

`Additive` splits a number into pieces that add up to it modulo 2^64: all of them are needed. `Shamir` makes the pieces
values of a random polynomial of degree `threshold` over the integers modulo 2^61 - 1, whose value at 0 is the number:
any threshold + 1 of them are enough, any `threshold` tell nothing. Pieces of different numbers, added, are pieces of
their sum.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.core.field import is_prime
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID
from sottovoce.core.randomness import SYSTEM, Keystream
from sottovoce.trust.federated.divisible import MAX_CURATORS
from sottovoce.trust.synthetic import check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = Sequence[int] | NDArray[np.integer]
    Residues = NDArray[np.uint64]

MERSENNE = 2**61 - 1
WORD = 2**64
MAX_COUNT = 2**48
"""The largest count, either way, that one curator may share: a thousand of them stay far from wrapping around."""

LIMB_BITS = 20
NUMBERS_AT_A_TIME = 512
"""Numbers that are split at a time, so that their differences stay in the processor's cache."""


class Sharing(ABC):
    """A way to split columns among `curators`, of whom any `threshold` together learn nothing from their pieces."""

    kind: str
    curators: int
    threshold: int
    modulus: int

    @property
    def needed(self) -> int:
        """How many pieces tell the sum."""
        return self.threshold + 1

    def split(self, column: Counts, stream: Keystream) -> Residues:
        """A row of pieces for each curator. Counts beyond 2^48 either way are refused: sums must not wrap around."""
        counts = np.asarray(column)
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or not counts.size:
            raise ParameterError("what is shared must be a column of at least one whole number")
        if int(counts.max()) > MAX_COUNT or int(counts.min()) < -MAX_COUNT:
            raise ParameterError("a count must be at most 2^48 either way to be shared")
        random = np.stack([self._uniform(counts.size, stream) for _ in range(self.threshold)]) if self.threshold else (
            np.empty((0, counts.size), dtype=np.uint64))  # fmt: skip
        return self._split(self.enter(counts), random)

    def enter(self, counts: Counts) -> Residues:
        """Whole numbers as residues."""
        signed = np.asarray(counts).astype(np.int64)
        if self.modulus == WORD:
            return signed.view(np.uint64)
        return np.mod(signed, np.int64(self.modulus)).astype(np.uint64)

    def leave(self, residues: Residues) -> NDArray[np.int64]:
        """Residues as whole numbers around zero."""
        if self.modulus == WORD:
            return residues.view(np.int64)
        signed = residues.astype(np.int64)
        return np.where(signed > self.modulus // 2, signed - self.modulus, signed)

    def add(self, a: Residues, b: Residues) -> Residues:
        if self.modulus == WORD:
            return a + b
        total = a + b
        # Below the modulus, the difference wraps to the top.
        reduced: Residues = np.minimum(total, total - np.uint64(self.modulus))
        return reduced

    def subtract(self, a: Residues, b: Residues) -> Residues:
        if self.modulus == WORD:
            return a - b
        return self.add(a, np.uint64(self.modulus) - b)

    def total(self, pieces: Residues) -> Residues:
        """The sum over the second of three axes, by halves."""
        while (count := pieces.shape[1]) > 1:
            half = count // 2
            added = self.add(pieces[:, :half], pieces[:, half : 2 * half])
            pieces = np.concatenate([added, pieces[:, 2 * half :]], axis=1)
        return pieces[:, 0]

    def check(self, piece: Residues) -> None:
        """Refuse what is no piece."""
        if self.modulus != WORD and (piece >= np.uint64(self.modulus)).any():
            raise ReportError("a piece must be below the modulus")

    def _uniform(self, count: int, stream: Keystream) -> Residues:
        if self.modulus == WORD:
            return stream.words(count)
        shift = np.uint64(64 - self.modulus.bit_length())
        words = stream.words(count) >> shift
        while (again := np.flatnonzero(words >= np.uint64(self.modulus))).size:
            words[again] = stream.words(again.size) >> shift
        return words

    @abstractmethod
    def _split(self, residues: Residues, random: Residues) -> Residues:
        """The pieces, of which `threshold` are the random numbers themselves."""

    @abstractmethod
    def join(self, pieces: Mapping[int, Residues]) -> NDArray[np.int64]:
        """The sum from pieces by the number of their curator, counted from 0."""

    def _enough(self, pieces: Mapping[int, Residues]) -> list[int]:
        found = sorted(pieces)
        if any(at not in range(self.curators) for at in found):
            raise ReportError(f"pieces must be of curators 0 to {self.curators - 1}, got {found!r:.60}")
        if len(found) < self.needed:
            raise ReportError(f"{self.needed} pieces are needed to tell a sum, got {len(found)}")
        if len({piece.shape for piece in pieces.values()}) > 1:
            raise ReportError("pieces must be of the same length")
        return found


@dataclass(frozen=True)
class Additive(Sharing):
    """Pieces that add up: the threshold is all but one, and no curator may drop out.

    >>> three = Additive(3)
    >>> pieces = three.split([5, -2], Keystream(seed=1))
    >>> three.join(dict(enumerate(pieces)))
    array([ 5, -2])
    """

    curators: int
    modulus: int = WORD
    kind = "additive"

    def __post_init__(self) -> None:
        check_whole("the number of curators", self.curators, MAX_CURATORS)

    @property
    def threshold(self) -> int:  # type: ignore[override]
        return self.curators - 1

    def _split(self, residues: Residues, random: Residues) -> Residues:
        last = residues
        for piece in random:
            last = self.subtract(last, piece)
        return np.vstack([random, last[None]])

    def join(self, pieces: Mapping[int, Residues]) -> NDArray[np.int64]:
        found = self._enough(pieces)
        total = pieces[found[0]]
        for at in found[1:]:
            total = self.add(total, pieces[at])
        return self.leave(total)


@dataclass(frozen=True)
class Shamir(Sharing):
    """Values of a polynomial at 1, 2, 3, ..: any threshold + 1 of them give its value at 0.

    >>> five = Shamir(5, threshold=2)
    >>> pieces = five.split([5, -2], Keystream(seed=1))
    >>> five.join({0: pieces[0], 3: pieces[3], 4: pieces[4]})
    array([ 5, -2])
    >>> five.join({0: pieces[0], 3: pieces[3]})
    Traceback (most recent call last):
    sottovoce.core.errors.ReportError: 3 pieces are needed to tell a sum, got 2

    A. Shamir, How to Share a Secret, Communications of the ACM 1979.
    """

    curators: int
    threshold: int
    modulus: int = MERSENNE
    kind = "shamir"

    def __post_init__(self) -> None:
        check_whole("the number of curators", self.curators, min(MAX_CURATORS, self.modulus - 1))
        check_whole("the threshold", self.threshold, self.curators - 1, 0)
        if self.modulus != MERSENNE and not (self.modulus < 2**16 and is_prime(self.modulus)):
            raise ParameterError(f"the modulus must be 2^61 - 1, or a prime below 2^16 to study, got {self.modulus}")

    def _split(self, residues: Residues, random: Residues) -> Residues:
        """A polynomial is known from its values at 0 .. threshold, here the number and random ones."""
        pieces = np.empty((self.curators, residues.size), dtype=np.uint64)
        values = np.vstack([residues[None], random])
        for at in range(0, residues.size, NUMBERS_AT_A_TIME):
            self._extend(values[:, at : at + NUMBERS_AT_A_TIME], pieces[:, at : at + NUMBERS_AT_A_TIME])
        return pieces

    def _extend(self, values: Residues, pieces: Residues) -> None:
        """From the values at 0, 1, .. those at 1 .. curators, each from the differences of the one before."""
        left, rows = values, [values[0]]
        for _ in range(self.threshold):
            left = self.subtract(left[1:], left[:-1])
            rows.append(left[0])
        differences, modulus = np.stack(rows), np.uint64(self.modulus)
        total, less = (np.empty_like(differences[1:]) for _ in range(2))
        for at in range(self.curators):
            np.add(differences[:-1], differences[1:], out=total)
            np.subtract(total, modulus, out=less)
            np.minimum(total, less, out=differences[:-1])
            pieces[at] = differences[0]

    def join(self, pieces: Mapping[int, Residues]) -> NDArray[np.int64]:
        """The sum. If there are more pieces than needed, they must lie on one polynomial: else one is wrong."""
        found = self._enough(pieces)
        points = [at + 1 for at in found]
        if len(found) > self.needed and self._combined(pieces, found, self._test(points)).any():
            raise ReportError("the pieces do not lie on one polynomial: at least one curator's is wrong")
        return self.leave(self._combined(pieces, found, self._weights(points[: self.needed])))

    def _combined(self, pieces: Mapping[int, Residues], found: list[int], weights: list[int]) -> Residues:
        total = np.zeros_like(pieces[found[0]])
        for at, weight in zip(found, weights, strict=False):
            total = self.add(total, self._times(pieces[at], weight))
        return total

    def _weights(self, points: list[int]) -> list[int]:
        """The weight of each value in the value at 0, by Lagrange's formula."""
        p = self.modulus
        return [math.prod(x * pow(x - at, -1, p) for x in points if x != at) % p for at in points]

    def _test(self, points: list[int]) -> list[int]:
        """Weights that give 0 for every polynomial of the degree, and for anything else with a chance of one in 2^53.

        Times a polynomial g of a degree so low that the product is still below len(points) - 1, the highest divided
        difference is 0; g is random, and drawn after the pieces.
        """
        p, rest = self.modulus, len(points) - self.threshold - 2
        most = min(p, GRID)  # A source draws 53 bits at a time.
        g = [SYSTEM.below(most) for _ in range(rest)] + [1 + SYSTEM.below(most - 1)]
        value = {at: sum(c * pow(at, i, p) for i, c in enumerate(g)) for at in points}
        return [value[at] * pow(math.prod(at - x for x in points if x != at), -1, p) % p for at in points]

    def _times(self, column: Residues, factor: int) -> Residues:
        """A column times a number: at once if the products fit into 64 bits, otherwise twenty bits of it at a time."""
        if self.modulus < 2**32:
            return column * np.uint64(factor) % np.uint64(self.modulus)
        total = np.zeros_like(column)
        for at in range(61 // LIMB_BITS * LIMB_BITS, -1, -LIMB_BITS):
            total = self.add(_by_small(total, 1 << LIMB_BITS), _by_small(column, factor >> at & (1 << LIMB_BITS) - 1))
        return total


def _by_small(column: Residues, factor: int) -> Residues:
    """A column times a number up to 2^20, modulo 2^61 - 1: the product is high * 2^32 + low, and 2^61 is 1."""
    f, modulus = np.uint64(factor), np.uint64(MERSENNE)
    high, low = (column >> np.uint64(32)) * f, (column & np.uint64(2**32 - 1)) * f
    total = (high >> np.uint64(29)) + ((high & np.uint64(2**29 - 1)) << np.uint64(32)) + low
    total = (total & modulus) + (total >> np.uint64(61))
    reduced: Residues = np.minimum(total, total - modulus)
    return reduced
