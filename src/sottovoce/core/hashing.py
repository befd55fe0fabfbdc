"""Public hash functions from text to a few buckets, a different one for each cohort and alike in every language.

SHA-256 boils a value down to its fingerprint, two words x and y below P = 2^31 - 1. It also gives each function three
words a, b and c. The bucket is ((a x + b y + c) mod P) mod m: whole numbers below 2^63 all along, in any language.
Everything depends on a public salt, so that each survey has functions of its own.

With a, b and c drawn at random, any two fingerprints go to independent residues mod P, and so do any three that are not
on one line of the plane mod P. Two departures from perfection remain, both public and far below any noise. With
r = P mod m, two values share a bucket with probability 1/m + r (m - r) / (m P^2), which is less than 1/m + 2^-48, and
no bucket is more or less likely than 1/m by more than 1/P. The word P stands for 0, which is drawn twice as often as
others. Two values have the same fingerprint with probability near 2^-62.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.kernels import in_one_piece, loops
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

P = 2**31 - 1
"""The prime below which fingerprints and functions have their words."""

FOUR_TIMES_P = 4 * P
"""Added to a word, it changes no remainder by P, but makes all words integers of the same length."""

FIRST_WORD_MARK = FOUR_TIMES_P << 31
"""The same for the first word of a fingerprint."""

MAX_BUCKETS = 2**16
MAX_COHORTS = 2**16
MAX_FUNCTIONS = 16
MAX_SALT_CHARACTERS = 1024
ZEROS = memoryview(bytes(2**13))
"""Hashed after a short text, so that as many blocks are hashed as for the longest."""

PREFIX_BYTES, END_BYTES = 33, 9
"""Bytes that are hashed before a value, and that SHA-256 adds at the end. A block has 64."""

CHUNK_VALUES = 2**14
"""Values hashed at a time, so that the work stays in the processor's cache."""


@dataclass(frozen=True)
class Hashes:
    """Hash functions to `buckets` buckets, `functions` of them for each cohort. The cohorts count from `first`.

    >>> hashes = Hashes("a survey", buckets=1024, cohorts=64)
    >>> code = hashes.fingerprint("tea".encode())
    >>> [hashes.bucket(code, cohort) for cohort in range(4)]
    [1016, 861, 866, 355]
    """

    salt: str
    buckets: int
    cohorts: int = 1
    functions: int = 1
    first: int = 0

    def __post_init__(self) -> None:
        _check("buckets", self.buckets, 2, MAX_BUCKETS)
        _check("cohorts", self.cohorts, 1, MAX_COHORTS)
        _check("hashes", self.functions, 1, MAX_FUNCTIONS)
        _check("first", self.first, 0, MAX_COHORTS - self.cohorts)
        if not isinstance(self.salt, str) or len(self.salt) > MAX_SALT_CHARACTERS:
            raise ParameterError(
                f"a salt must be text of at most {MAX_SALT_CHARACTERS} characters, got {self.salt!r:.40}"
            )
        if any("\ud800" <= letter <= "\udfff" for letter in self.salt):
            raise ParameterError(f"a salt must be valid Unicode, got {self.salt!r:.40}")

    @cached_property
    def _prefix(self) -> bytes:
        return b"v" + self._key

    @cached_property
    def _key(self) -> bytes:
        return hashlib.sha256(self.salt.encode()).digest()

    # One value.

    def fingerprint(self, data: bytes, longest: int = 0) -> int:
        """The two words of a value as one number of 62 bits, x first.

        With the bytes of the longest value, as many blocks are hashed for a short one: time does not tell its length.
        """
        return self.marked(data, max(longest, len(data))) - FIRST_WORD_MARK

    def marked(self, data: bytes, longest: int) -> int:
        """A fingerprint with 4 P more in its first word, which changes no bucket.

        All of them are integers of the same length, and so are the words on the way: time does not tell a text.
        """
        digest = hashlib.sha256(self._prefix + data).digest()
        hash_rest(len(data), longest, PREFIX_BYTES)
        x = (int.from_bytes(digest[:4], "big") & P) + FOUR_TIMES_P
        y = (int.from_bytes(digest[4:8], "big") & P) + FOUR_TIMES_P
        return (x % P + FOUR_TIMES_P << 31) + y % P

    def words(self, cohort: int, function: int = 0) -> tuple[int, int, int]:
        """The numbers a, b and c of a hash function."""
        place = (self.first + cohort).to_bytes(4, "big") + function.to_bytes(4, "big")
        a, b, c = _words(hashlib.sha256(b"f" + self._key + place).digest(), 3)
        return a, b, c

    def bucket(self, code: int, cohort: int, function: int = 0) -> int:
        """The bucket of a value, given by its fingerprint."""
        a, b, c = self.words(cohort, function)
        x, y = (code >> 31) + FOUR_TIMES_P, (code & P) + FOUR_TIMES_P
        return ((a * x + b * y + c) % P + (self.buckets << 31)) % self.buckets  # As long whatever the remainder is.

    # Columns.

    def fingerprints(self, rows: Sequence[bytes]) -> NDArray[np.int64]:
        """The fingerprints of a column."""
        codes = np.empty(len(rows), dtype=np.int64)
        sha256, prefix = hashlib.sha256, self._prefix
        for at in range(0, len(rows), CHUNK_VALUES):
            digests = b"".join([sha256(prefix + data).digest() for data in rows[at : at + CHUNK_VALUES]])
            words = np.frombuffer(digests, dtype=">u4").reshape(-1, 8)[:, :2].astype(np.int64) & P
            words[words == P] = 0
            codes[at : at + CHUNK_VALUES] = words[:, 0] << 31 | words[:, 1]
        return codes

    @cached_property
    def table(self) -> NDArray[np.uint64]:
        """The numbers of all functions: an axis for the cohorts, one for their functions, one for a, b and c."""
        cells = [[self.words(cohort, at) for at in range(self.functions)] for cohort in range(self.cohorts)]
        return np.array(cells, dtype=np.uint64)

    def spread(self, codes: NDArray[np.int64], cohorts: NDArray[np.int64], function: int = 0) -> NDArray[np.int64]:
        """The buckets of a column of values, each in its own cohort."""
        a, b, c = np.moveaxis(self.table[cohorts, function], -1, 0)
        return self._finish(a * (codes >> 31).view(np.uint64) + b * (codes & P).view(np.uint64) + c)

    def all_buckets(self, codes: NDArray[np.int64], cohort: int, function: int = 0) -> NDArray[np.int64]:
        """The buckets of a column of values, all in one cohort."""
        a, b, c = self.table[cohort, function]
        return self._finish((codes >> 31).view(np.uint64) * a + (codes & P).view(np.uint64) * b + c)

    def _finish(self, sums: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Remainders by P, then by the number of buckets: NumPy is quicker at quotients than at remainders."""
        for divisor in (np.uint64(P), np.uint64(self.buckets)):
            sums -= sums // divisor * divisor
        return sums.view(np.int64)

    def look_up(self, table: NDArray[np.int64 | np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """For each value, the sum over all functions of what `table`, with a row for each cohort, has in its bucket.

        A million values in 64 cohorts take a fraction of a second.
        """
        sums = np.zeros(codes.size)
        if (compiled := loops()) is not None:
            counts = in_one_piece(table if table.dtype == np.int64 else table.astype(np.float64, copy=False))
            compiled.look_up(in_one_piece(codes), self.table[: len(table)], counts, sums)
            return sums
        for at in range(0, codes.size, CHUNK_VALUES):
            part = codes[at : at + CHUNK_VALUES]
            for cohort, row in enumerate(table):
                for function in range(self.functions):
                    sums[at : at + CHUNK_VALUES] += row.take(self.all_buckets(part, cohort, function), mode="clip")
        return sums


@dataclass(frozen=True)
class Joined:
    """Hash functions with several salts, one after another, all to as many buckets; one function for each cohort.

    A value has a fingerprint for each salt, in columns.
    """

    parts: tuple[Hashes, ...]

    @property
    def buckets(self) -> int:
        return self.parts[0].buckets

    @property
    def functions(self) -> int:
        return self.parts[0].functions

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(part.cohorts for part in self.parts)]

    def fingerprints(self, rows: Sequence[bytes]) -> NDArray[np.int64]:
        return np.column_stack([part.fingerprints(rows) for part in self.parts])

    def all_buckets(self, codes: NDArray[np.int64], cohort: int, function: int = 0) -> NDArray[np.int64]:
        at = bisect_right(self._starts, cohort) - 1
        return self.parts[at].all_buckets(codes[:, at], cohort - self._starts[at], function)

    def look_up(self, table: NDArray[np.int64 | np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
        places = pairwise(self._starts)
        tables = [part.look_up(table[slice(*place)], column)
                  for part, column, place in zip(self.parts, codes.T, places, strict=True)]  # fmt: skip
        sums: NDArray[np.float64] = np.sum(tables, axis=0)
        return sums


def _words(digest: bytes, count: int) -> list[int]:
    """The first 32-bit words of a digest, each without its top bit; P is 0."""
    words = (int.from_bytes(digest[4 * at : 4 * at + 4], "big") & P for at in range(count))
    return [word % P for word in words]


def hash_rest(size: int, longest: int, before: int = 0) -> None:
    """Hash zeros after a text of so many bytes: as many blocks as the longest text has more, and one in any case."""
    blocks = (longest + before + END_BYTES - 1 >> 6) - (size + before + END_BYTES - 1 >> 6)
    hashlib.sha256(ZEROS[: 64 * blocks + 1]).digest()


def _check(name: str, value: object, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise ParameterError(f"{name} must be a whole number from {least} to {most:,}, got {value!r:.40}")
