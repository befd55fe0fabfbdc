"""The one module that owns randomness.

A device draws 53 bits at a time from the operating system (`SYSTEM`); a column draws from a `Keystream`, AES-256 in
counter mode under a fresh key from the operating system. Either way a coin of probability P / 2^53 is one comparison
of 53 uniform bits with P, and a choice among k is exact by rejection. A seed exists for simulation only.
"""

from __future__ import annotations

import hashlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from sottovoce.core.errors import ParameterError
from sottovoce.core.kernels import UNUSED_BITS, remainders
from sottovoce.core.kernels import below as fill_below
from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID, Probability

if TYPE_CHECKING:
    from numpy.typing import NDArray

COIN_BLOCK_WORDS = 2**16
"""Words of coins tossed at a time: few enough for the processor's cache, but so many that threads seldom wait."""
ZEROS = bytes(2**21)
"""What is encrypted: the keystream itself comes out."""
SPARE_WORDS = 2
"""Room for one block more, which the cipher asks for."""
BUFFER_WORDS = 2**19
"""Words that a stream can lend at a time."""
FREE_BUFFERS: list[NDArray[np.uint64]] = []
"""Memory for so many words that no stream is using now."""
COUNTER_BLOCKS = 2**32
"""Blocks that a cipher can count. After these, a new cipher takes over."""
DRAW_BYTES = 7
"""Bytes that a draw takes from the operating system: 56 bits, of which 53 are used."""
ALWAYS_TWO_DIGITS = 3 * GRID
"""Added to a draw before a threshold is subtracted: then the number has two of Python's digits whatever was drawn.
Work on numbers of another length takes another time."""
BLUR_STEPS = 2**10
"""A blur is fewer additions than this, of some nanoseconds each."""
FORKS = [0]
"""How many forks lie between the first process and this one. The system may give a process id a second time."""

if hasattr(os, "register_at_fork"):  # Not on Windows, which does not fork.
    os.register_at_fork(after_in_child=lambda: FORKS.__setitem__(0, FORKS[0] + 1))


def blur_time() -> None:
    """Work for a time drawn at random, up to some microseconds, in one instruction of Python.

    Equal work is never quite equal: where an integer lies in memory, or how a processor guesses, is worth some
    nanoseconds. One call does not show them below this. Many calls for one answer would, when they are averaged.
    """
    sum(range(int.from_bytes(os.urandom(2), "little") % BLUR_STEPS))


def threshold(p: Probability) -> int:
    """The integer P of p = P / 2^53."""
    return p.threshold


def heads(p: Probability) -> int:
    """The bound that a random word is below with probability p: its first 53 bits decide."""
    return p.threshold << UNUSED_BITS


def last_fair(k: int) -> int:
    """The last word whose first 53 bits are not in the incomplete last run of multiples of k."""
    return ((GRID - GRID % k) << UNUSED_BITS) - 1


class Source(ABC):
    """Random bits for one answer. A subclass says where the 53 bits come from.

    Time must not tell what was drawn. So outcomes are numbers, made by arithmetic on integers of a fixed size: a
    mechanism draws all that any outcome needs and picks from a tuple by such a number, without a branch. What is drawn
    again depends on nothing but the draw itself.
    """

    @abstractmethod
    def draw(self) -> int:
        """An integer, uniform over 0 .. 2^53 - 1."""

    def bernoulli(self, p: Probability) -> int:
        """1 with probability p, otherwise 0."""
        return 3 - (self.draw() + ALWAYS_TWO_DIGITS - p.threshold >> 53)

    def coins(self, chances: Sequence[Probability]) -> list[int]:
        """A coin of each of these probabilities."""
        return [self.bernoulli(p) for p in chances]

    def rounded(self, units: int) -> int:
        """`units` / 2^53, rounded down or up at random so that the mean stays. A whole number stays what it is."""
        return units + GRID - 1 - self.draw() >> 53

    def role(self, name: str, code: int | str | None = None) -> Source:
        """The source for draws that play a part: cohort, permanent, instantaneous, fresh or report.

        Where draws are independent anyway, it is this one. A personal key derives other draws for each part and code.
        """
        return self

    def below(self, k: int) -> int:
        """An integer, uniform over 0 .. k - 1. The incomplete last run of multiples of k is drawn again."""
        if k == 1:
            return 0
        limit = GRID - GRID % k
        while (bits := self.draw()) >= limit:
            pass
        return bits % k


class System(Source):
    """The operating system's generator. Nothing is buffered, so a forked process never repeats a draw."""

    def draw(self) -> int:
        return int.from_bytes(os.urandom(DRAW_BYTES), "little") >> 3

    def coins(self, chances: Sequence[Probability]) -> list[int]:
        data, number = os.urandom(DRAW_BYTES * len(chances)), int.from_bytes
        draws = [number(data[at : at + DRAW_BYTES], "little") >> 3 for at in range(0, len(data), DRAW_BYTES)]
        return [3 - (bits + ALWAYS_TWO_DIGITS - p.threshold >> 53) for bits, p in zip(draws, chances, strict=True)]


class Replay(Source):
    """Draws that were written down: for test vectors, never for answers."""

    def __init__(self, draws: Iterable[int]) -> None:
        self._draws = iter(draws)

    def draw(self) -> int:
        return next(self._draws)


SYSTEM = System()


class Keystream:
    """Random words by the million. Keyed by the operating system, or by a seed for simulation only."""

    _room: NDArray[np.uint64] | None = None

    def __init__(self, seed: int | None = None) -> None:
        self.simulated = seed is not None
        self._begin(os.urandom(32) if seed is None else _simulation_key(seed))

    def _begin(self, key: bytes) -> None:
        self._process, self._key, self._turn, self._left = _this_process(), key, 0, 0

    def _renew(self) -> None:
        """A cipher for the blocks to come, which encrypts the numbers 0, 1, 2, ... of blocks.

        The authenticated mode GCM counts just like counter mode, in the last four bytes and from 2 on, and libraries
        drive it by the widest instructions that a processor has, up to twice as fast. Its tag is never asked for. The
        first two blocks of 2^32 come from counter mode itself.
        """
        ciphers = load("cryptography.hazmat.primitives.ciphers")
        high, first = divmod(self._turn, 2)
        nonce = high.to_bytes(12, "big")
        mode = ciphers.modes.GCM(nonce) if first else ciphers.modes.CTR(nonce + bytes(4))
        self._encrypt = ciphers.Cipher(ciphers.algorithms.AES(self._key), mode).encryptor().update_into
        self._left = 16 * (COUNTER_BLOCKS - 2) if first else 16 * 2
        self._turn += 1

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse `copy` and `pickle`, and with them multiprocessing, joblib and Spark: a copy would repeat the bits."""
        raise TypeError(
            "a Keystream cannot be copied or pickled, for the copy would repeat its random bits: "
            "make one where it is used, or take a split() of it in the same process"
        )

    @classmethod
    def of(cls, seed: int | Keystream | None) -> Keystream:
        """A keystream as it is, so that a column can be handled in parts; otherwise a new one."""
        return seed if isinstance(seed, Keystream) else cls(seed)

    def split(self) -> Keystream:
        """A stream of its own for a part of the work, keyed by this one, so that parts can be done side by side."""
        part = object.__new__(type(self))
        part.simulated = self.simulated
        part._begin(self.words(4).tobytes())
        return part

    def words(self, count: int) -> NDArray[np.uint64]:
        """Uniform 64-bit words."""
        return self._into(np.empty(count + SPARE_WORDS, dtype="<u8"), count)

    def lent(self, count: int) -> NDArray[np.uint64]:
        """The same, valid until this stream lends some again: new memory each time would cost more than to draw."""
        if count + SPARE_WORDS > BUFFER_WORDS:
            return self.words(count)
        if self._room is None:
            self._room = np.empty(BUFFER_WORDS, dtype="<u8")
        return self._into(self._room, count)

    @contextmanager
    def settled(self) -> Iterator[None]:
        """During one piece of work, lend memory that an earlier piece has used. No other stream has it meanwhile."""
        try:
            self._room = FREE_BUFFERS.pop()
        except IndexError:  # All of them are in use.
            self._room = None
        try:
            yield
        finally:
            if self._room is not None:
                FREE_BUFFERS.append(self._room)
            self._room = None

    def _into(self, out: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
        if self._process != _this_process() and not self.simulated:
            self._begin(os.urandom(32))  # A forked process must not repeat its parent's draws.
        room, zeros = memoryview(out.view(np.uint8)), memoryview(ZEROS)  # type: ignore[arg-type]
        at = 0
        while at < 8 * count:
            if not self._left:
                self._renew()
            size = min(8 * count - at, self._left, len(ZEROS))
            self._encrypt(zeros[:size], room[at:])
            at += size
            self._left -= size
        return out[:count]

    def draws(self, count: int) -> NDArray[np.uint64]:
        """Integers, uniform over 0 .. 2^53 - 1."""
        return self.words(count) >> np.uint64(UNUSED_BITS)

    def bernoulli(self, p: Probability, count: int) -> NDArray[np.bool_]:
        return self.lent(count) < np.uint64(heads(p))

    def below(self, k: int, count: int) -> NDArray[np.int64]:
        """Integers, uniform over 0 .. k - 1, by the same rejection as `Source.below`."""
        words = self.words(count)
        while not remainders(words, last_fair(k), k):
            self.fair(words, k)
        return words.view(np.int64)

    def feed(self, loop: Callable[..., bool], count: int, *needs: Probability | int) -> None:
        """Run a loop that takes a column of random words for each of its needs, with a word for each of `count` people.

        A need is a probability p or a number k. For a coin of probability p the loop compares a word with `heads(p)`;
        for one of k numbers it divides the first 53 bits by k. It returns whether no word is beyond `last_fair(k)`.
        If one is, those words are drawn again and the loop runs again from its beginning.
        """
        columns = self.columns(count, *needs)
        while not loop(*columns):
            for words, need in zip(columns, needs, strict=True):
                if isinstance(need, int):
                    self.fair(words, need)

    def columns(self, count: int, *needs: Probability | int) -> Sequence[NDArray[np.uint64]]:
        """The words for `feed`, lent. The needs matter only to streams that are told what to draw, as in tests."""
        words = self.lent(len(needs) * count)
        return [words[at * count : (at + 1) * count] for at in range(len(needs))]

    def fair(self, words: NDArray[np.uint64], k: int) -> None:
        """Draw again all words in the incomplete last run of multiples of k, until there are none."""
        while (again := np.flatnonzero(words > np.uint64(last_fair(k)))).size:
            words[again] = self.words(again.size)

    def coins(self, p: Probability, count: int) -> NDArray[np.uint64]:
        """Words of 64 independent coins each, every bit set with probability exactly p."""
        return self._toss(p, np.empty(count, dtype=np.uint64))

    def coin_rows(self, p: Probability, rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Toss a coin for every bit of some rows of bytes, which lie in one piece."""
        if not rows.flags.c_contiguous:
            raise ValueError("rows of coins must lie in one piece, or a copy of them would be tossed")
        flat = rows.reshape(-1)
        words = flat.view(np.uint64) if flat.size % 8 == 0 and sys.byteorder == "little" else None
        if words is not None and words.flags.aligned:
            self._toss(p, words)
        else:
            flat[:] = self.coins(p, (flat.size + 7) // 8).astype("<u8", copy=False).view(np.uint8)[: flat.size]
        return rows

    def _toss(self, p: Probability, coins: NDArray[np.uint64]) -> NDArray[np.uint64]:
        for at in range(0, coins.size, COIN_BLOCK_WORDS):
            fill_below(self.lent, p.threshold, coins[at : at + COIN_BLOCK_WORDS])
        return coins


def _this_process() -> tuple[int, int]:
    return os.getpid(), FORKS[0]


def _simulation_key(seed: int) -> bytes:
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or seed.__index__() < 0:
        raise ParameterError(f"seed must be a whole number, zero or more, got {seed!r}")
    return hashlib.sha256(b"sottovoce simulation, not private: %d" % seed.__index__()).digest()
