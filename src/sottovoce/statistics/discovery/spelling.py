"""Which bytes may follow which: the spelling of texts in UTF-8, over all characters or some of them.

It is an automaton. A state says how far a character has come; in the first state one is complete, and the text may end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.domain.text import END_MARK
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    States = NDArray[np.int64]

Transition = tuple[int, int, int]
"""The bytes from the first to the second number lead to the state with the third."""

UNICODE: tuple[tuple[Transition, ...], ...] = (
    ((0x20, 0x7E, 0), (0xC2, 0xDF, 1), (0xE0, 0xE0, 4), (0xE1, 0xEC, 2), (0xED, 0xED, 5), (0xEE, 0xEF, 2),
     (0xF0, 0xF0, 6), (0xF1, 0xF3, 3), (0xF4, 0xF4, 7)),
    ((0x80, 0xBF, 0),),
    ((0x80, 0xBF, 1),),
    ((0x80, 0xBF, 2),),
    ((0xA0, 0xBF, 1),),
    ((0x80, 0x9F, 1),),
    ((0x90, 0xBF, 2),),
    ((0x80, 0x8F, 2),),
)  # fmt: skip
"""All of UTF-8 but control characters: those are not looked for."""

ENDED = -1


@dataclass(frozen=True)
class Spelling:
    r"""The texts that are looked for.

    >>> letters = Spelling.of("aé")
    >>> grown = letters.start()
    >>> for _ in range(2):
    ...     grown = letters.extend(grown)
    >>> [row.tobytes() for row in grown.rows]
    [b'a\xff', b'aa', b'a\xc3', b'\xc3\xa9']
    """

    steps: tuple[tuple[Transition, ...], ...] = UNICODE

    @classmethod
    def of(cls, alphabet: Iterable[str] | None) -> Spelling:
        """Over the characters of an alphabet; over all of Unicode without one."""
        if alphabet is None:
            return cls()
        letters = sorted(set(alphabet)) if isinstance(alphabet, Iterable) else []
        if not letters or not all(isinstance(letter, str) and len(letter) == 1 for letter in letters):
            raise ParameterError(f"alphabet must be characters, at least one, got {alphabet!r:.40}")
        try:
            return cls(_automaton([letter.encode() for letter in letters]))
        except UnicodeEncodeError:
            raise ParameterError(f"alphabet must be valid Unicode, got {alphabet!r:.40}") from None

    @cached_property
    def _following(self) -> list[tuple[Bytes, States]]:
        """For each state, the bytes that may follow and the states that they lead to; last the end, in the first."""
        lists = []
        for at, steps in enumerate(self.steps):
            pairs = [(END_MARK[0], ENDED)] if at == 0 else []
            pairs += [(byte, state) for low, high, state in steps for byte in range(low, high + 1)]
            data, states = zip(*pairs, strict=True)
            lists.append((np.array(data, dtype=np.uint8), np.array(states, dtype=np.int64)))
        return lists

    @property
    def branches(self) -> int:
        """How many bytes, the end among them, may follow a character."""
        return self._following[0][0].size

    @cached_property
    def bytes(self) -> Bytes:
        """All bytes that there are, the end mark among them."""
        return np.unique(np.concatenate([following for following, _ in self._following]))

    def start(self) -> Grown:
        """The empty beginning of all texts."""
        return Grown(np.zeros((1, 0), dtype=np.uint8), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))

    def extend(self, grown: Grown) -> Grown:
        """All that has one byte more. `parents` says from which row each one came; what has ended stays out."""
        rows, data, states = [], [], []
        for at, (following, leading) in enumerate(self._following):
            own = np.flatnonzero(grown.states == at)
            skip = int(at == 0 and not grown.rows.shape[1])  # No text is empty.
            rows.append(own.repeat(following.size - skip))
            data.append(np.tile(following[skip:], own.size))
            states.append(np.tile(leading[skip:], own.size))
        parents = np.concatenate(rows)
        joined = np.column_stack([grown.rows[parents], np.concatenate(data)])
        return Grown(joined, np.concatenate(states), parents)


@dataclass(frozen=True, eq=False)
class Grown:
    """Beginnings of texts, all of one length."""

    rows: Bytes
    states: States
    parents: States

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: States) -> Grown:
        return Grown(self.rows[places], self.states[places], self.parents[places])

    @property
    def ended(self) -> NDArray[np.bool_]:
        ended: NDArray[np.bool_] = self.states == ENDED
        return ended

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether the last character is complete, so that a text might end there."""
        complete: NDArray[np.bool_] = self.states == 0
        return complete

    def texts(self) -> list[bytes]:
        """The rows, with their end marks if they have one."""
        width = self.rows.shape[1]
        whole = np.ascontiguousarray(self.rows).view(np.dtype((np.void, width))).ravel()
        return [bytes(row) for row in whole.tolist()]


def _automaton(letters: list[bytes]) -> tuple[tuple[Transition, ...], ...]:
    """The states are the beginnings of letters that are not complete yet."""
    begun = sorted({letter[:at] for letter in letters for at in range(len(letter))}, key=lambda part: (len(part), part))
    places, complete = {part: at for at, part in enumerate(begun)}, set(letters)
    steps = []
    for part in begun:
        after = sorted({letter[len(part)] for letter in letters if letter.startswith(part) and len(letter) > len(part)})
        nexts = [(byte, part + bytes([byte])) for byte in after]
        steps.append(tuple((byte, byte, 0 if to in complete else places[to]) for byte, to in nexts))
    return tuple(steps)
