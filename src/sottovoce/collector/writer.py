"""Group commit: one thread writes what many requests wait for, as much at a time as has come in the meantime.

While one transaction is on its way to the disk, the next one gathers. So the cost of making reports durable is shared
by all that wait for it, without a delay for those that come one by one.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from sottovoce.collector.records import Block, Full, Outcome, Unavailable
from sottovoce.collector.store import Store
from sottovoce.errors import SottovoceError

Answer = Outcome | Exception
Done = Callable[[Sequence[tuple[object, Answer]]], None]


LINGER = 0.002
"""Seconds to wait for more to write, if the last group shows that many come at once."""


class Busy(SottovoceError):  # noqa: N818
    """More reports wait than there is room for."""


class Writer(threading.Thread):
    """Writes blocks in groups. `done` is called from its thread with what became of each, after it is durable."""

    def __init__(self, store: Store, done: Done, group: int = 10_000, pending: int = 100_000) -> None:
        super().__init__(name="sottovoce-writer", daemon=True)
        self.store, self.done, self.group, self.room = store, done, group, pending
        self._taken = self._written = 0
        self._queue: deque[tuple[Block, object]] = deque()
        self._wake = threading.Event()
        self._closing = False

    @property
    def pending(self) -> int:
        """Reports that wait."""
        return self._taken - self._written

    def submit(self, block: Block, ticket: object) -> None:
        """Take a block in, always from the same thread; `done` will be called with its ticket."""
        if self._closing or self.pending + len(block) > max(self.room, len(block)):
            raise Busy("too many reports wait to be written")
        self._taken += len(block)
        self._queue.append((block, ticket))
        if not self._wake.is_set():
            self._wake.set()

    def close(self) -> None:
        """Write all that was taken in, then end."""
        self._closing = True
        self._wake.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        last = 1
        while group := self._next(last):
            answers = self._write([block for block, _ in group])
            last = len(group)
            self._written += sum(len(block) for block, _ in group)
            self.done([(ticket, answer) for (_, ticket), answer in zip(group, answers, strict=True)])

    def _next(self, last: int) -> list[tuple[Block, object]]:
        """All that waits, up to the size of a group; nothing at the very end.

        If fewer wait than half of those before, the others are likely to be on their way, having just been answered.
        """
        while not self._queue and not self._closing:
            self._wake.wait()
            self._wake.clear()
        if 2 * len(self._queue) < last and not self._closing:
            time.sleep(LINGER)
        group: list[tuple[Block, object]] = []
        count = 0
        while self._queue and (not group or count + len(self._queue[0][0]) <= self.group):
            group.append(self._queue.popleft())
            count += len(group[-1][0])
        return group

    def _write(self, blocks: list[Block], again: bool = True) -> Sequence[Answer]:
        """Write a group; if it fails for another reason than the database, each block alone.

        A connection may have broken since its last use, so there is a second try: reports are counted once anyway.
        """
        try:
            return self.store.add(blocks)
        except Unavailable as error:
            retry = again and not isinstance(error, Full)
            return self._write(blocks, again=False) if retry else [error] * len(blocks)
        except Exception as error:
            return [error] if len(blocks) == 1 else [self._write([block])[0] for block in blocks]
