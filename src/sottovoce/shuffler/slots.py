"""Places for envelopes that wait: each goes to a free one drawn at random, and is written over what was there.

So nothing in the file tells when an envelope came, or before which other one. All places have the same width, and
SQLite overwrites a row with one of the same size where it is.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections import defaultdict
from collections.abc import Iterable

FIRST_SLOTS = 256
"""Places at first; there are twice as many when half of them are taken."""

WAVE_BYTES, TAG_BYTES = 4, 16
HEAD_BYTES = 1 + WAVE_BYTES + TAG_BYTES
WRITE_SLOT = "UPDATE slots SET data = ? WHERE slot = ?"
INSERT_SLOT = "INSERT INTO slots VALUES (?, ?)"

SYSTEM_RANDOM = secrets.SystemRandom()
"""The random bits of the operating system."""


class Slots:
    """The table of places, and what is remembered of it while its file is open."""

    def __init__(self, connection: sqlite3.Connection, width: int) -> None:
        self.connection, self.empty = connection, bytes(HEAD_BYTES + width)
        self.free: list[int] = []
        self.taken: defaultdict[int, dict[bytes, int]] = defaultdict(dict)  # For each wave its tags, with their places.
        for slot, data in connection.execute("SELECT slot, data FROM slots"):
            self._note(slot, data)

    def _note(self, slot: int, data: bytes) -> None:
        if data[0]:
            self.taken[int.from_bytes(data[1 : 1 + WAVE_BYTES], "big")][data[1 + WAVE_BYTES : HEAD_BYTES]] = slot
        else:
            self.free.append(slot)

    def __len__(self) -> int:
        return sum(map(len, self.taken.values()))

    def make_room(self, count: int) -> None:
        """Make sure that after `count` more at least half of the places are free; if not, all move to new places."""
        room = len(self.free) + len(self)
        size = room or FIRST_SLOTS
        while size < 2 * (len(self) + count):
            size *= 2
        if size == room:
            return
        old = [bytes(row[0]) for row in self.connection.execute("SELECT data FROM slots") if row[0][0]]
        data = dict(zip(SYSTEM_RANDOM.sample(range(size), len(old)), old, strict=True))
        self.connection.execute("DELETE FROM slots")
        self.connection.executemany(INSERT_SLOT, ((slot, data.get(slot, self.empty)) for slot in range(size)))
        self.free.clear()
        self.taken.clear()
        for slot in range(size):
            self._note(slot, data.get(slot, self.empty))

    def put(self, wave: int, tag: bytes, inner: bytes) -> None:
        at = SYSTEM_RANDOM.randrange(len(self.free))
        self.free[at], self.free[-1] = self.free[-1], self.free[at]
        slot = self.taken[wave][tag] = self.free.pop()
        self.connection.execute(WRITE_SLOT, (b"\1" + wave.to_bytes(WAVE_BYTES, "big") + tag + inner, slot))

    def read(self, wave: int) -> dict[bytes, bytes]:
        """The envelopes of a wave, by their tags."""
        mark = b"\1" + wave.to_bytes(WAVE_BYTES, "big")
        rows = self.connection.execute("SELECT data FROM slots")
        return {data[1 + WAVE_BYTES : HEAD_BYTES]: data[HEAD_BYTES:] for (data,) in rows if data.startswith(mark)}

    def clear(self, wave: int, tags: Iterable[bytes]) -> None:
        """Overwrite what waits under some tags."""
        slots = sorted(self.taken[wave].pop(tag) for tag in tags)
        self.connection.executemany(WRITE_SLOT, [(self.empty, slot) for slot in slots])
        self.free += slots
