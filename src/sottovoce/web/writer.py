"""Group commit: one thread writes what many requests wait for, as much at a time as has come in the meantime.

What comes in one turn of the event loop is handed over together at its end, and while that is on its way to the disk,
the next group gathers. So the cost of making reports durable, and of passing from one thread to the other, is shared by
all that wait, without a delay for those that come one by one.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Sequence, Sized
from typing import Generic, Protocol, TypeVar

from sottovoce.core.errors import SottovoceError, StoreFull, StoreUnavailable
from sottovoce.web.block_outcome import BlockOutcome

Block = TypeVar("Block", bound=Sized)
BlockIn = TypeVar("BlockIn", bound=Sized, contravariant=True)

OutcomeOrError = BlockOutcome | Exception
Pending = tuple[Block, "asyncio.Future[BlockOutcome]"]
"""A block, and the future that is done once it is durable."""


class BlockStore(Protocol[BlockIn]):
    """A store that makes blocks of reports durable, many in one transaction, and says what became of each."""

    def add(self, blocks: Sequence[BlockIn], /) -> Sequence[BlockOutcome]: ...

    def check(self) -> None: ...

    def close(self) -> None: ...


class Busy(SottovoceError):  # noqa: N818
    """More reports wait than there is room for."""


class Writer(threading.Thread, Generic[Block]):
    """Writes blocks in groups, for those who wait in an event loop until theirs is durable."""

    def __init__(
        self, store: BlockStore[Block], loop: asyncio.AbstractEventLoop, group: int = 10_000, pending: int = 100_000
    ) -> None:
        super().__init__(name="sottovoce-writer", daemon=True)
        self.store, self.loop, self.group, self.room = store, loop, group, pending
        self.pending = 0
        """Reports that wait."""
        self._waiting: deque[Pending[Block]] = deque()
        self._groups: queue.SimpleQueue[list[Pending[Block]] | None] = queue.SimpleQueue()
        self._busy = self._closing = False
        self._lock = threading.Lock()

    def add(self, block: Block) -> asyncio.Future[BlockOutcome]:
        """Add a block, from the event loop. The future tells what became of it, once it is durable."""
        size = len(block)
        future: asyncio.Future[BlockOutcome] = self.loop.create_future()
        with self._lock:
            if self._closing or self.pending + size > max(self.room, size):
                raise Busy("too many reports wait to be written")
            self._waiting.append((block, future))
        self.pending += size
        if not self._busy:
            self._busy = True
            self.loop.call_soon(self._hand_over)
        return future

    def close(self) -> None:
        """Write all that was taken in, then end."""
        with self._lock:
            self._closing = True
            self._groups.put(None)
        if self.is_alive():
            self.join()

    def run(self) -> None:
        while group := self._groups.get():
            self._finish(group)
        while self._waiting:
            self._finish(self._next())

    def _hand_over(self) -> None:
        with self._lock:
            if not self._closing:
                self._groups.put(self._next())

    def _next(self) -> list[Pending[Block]]:
        """All that waits, up to the size of a group."""
        group = [self._waiting.popleft()]
        size = len(group[0][0])
        while self._waiting and size + len(self._waiting[0][0]) <= self.group:
            group.append(self._waiting.popleft())
            size += len(group[-1][0])
        return group

    def _finish(self, group: list[Pending[Block]]) -> None:
        answers = self._write([block for block, _ in group])
        self.loop.call_soon_threadsafe(self._done, group, answers)

    def _done(self, group: list[Pending[Block]], answers: Sequence[OutcomeOrError]) -> None:
        """Wake those who still wait, and start the next group."""
        for (block, future), answer in zip(group, answers, strict=True):
            self.pending -= len(block)
            if future.done():
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        self._busy = bool(self._waiting)
        if self._busy:
            self.loop.call_soon(self._hand_over)

    def _write(self, blocks: list[Block], again: bool = True) -> Sequence[OutcomeOrError]:
        """Write a group; if it fails for another reason than the database, each block alone.

        A connection may have broken since its last use, so there is a second try: reports are counted once anyway.
        """
        try:
            return self.store.add(blocks)
        except StoreUnavailable as error:
            retry = again and not isinstance(error, StoreFull)
            return self._write(blocks, again=False) if retry else [error] * len(blocks)
        except Exception as error:
            return [error] if len(blocks) == 1 else [self._write([block])[0] for block in blocks]
