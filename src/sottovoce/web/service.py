"""A service over a store: what its requests bring is made durable by one writer before it is acknowledged."""

from __future__ import annotations

import asyncio
from typing import Generic, Unpack

from sottovoce.core.errors import StoreUnavailable
from sottovoce.web.application import REQUEST_DEFAULTS, RETRY, Application, RequestLimits
from sottovoce.web.block_outcome import BlockOutcome
from sottovoce.web.health import Health
from sottovoce.web.http import Problem, Request, Response
from sottovoce.web.writer import Block, BlockStore, Busy, Writer


class Limits(RequestLimits, total=False):
    """What a service with a store allows: the seconds of a commit, the reports of one, and those that may wait."""

    commit_seconds: float
    max_pending: int
    group: int


DEFAULTS: Limits = {**REQUEST_DEFAULTS, "commit_seconds": 30.0, "max_pending": 200_000, "group": 20_000}


class Service(Application, Generic[Block]):
    """A store, and routes to it. Every limit is an argument (see `Limits`); None for `rate` means no limit.

    Besides what any `Application` offers, handlers `add` a block to the store.
    """

    def __init__(self, store: BlockStore[Block], **given: Unpack[Limits]) -> None:
        limits: Limits = {**DEFAULTS, **given}
        super().__init__(limits)
        self._store, self.commit_seconds = store, limits["commit_seconds"]
        self._group, self._max_pending = limits["group"], limits["max_pending"]
        self._health = Health(store.check)
        self._writer: Writer[Block] | None = None

    def start(self) -> None:
        """Start to write, for the event loop that runs now."""
        self._writer = Writer(self._store, asyncio.get_running_loop(), self._group, self._max_pending)
        self._writer.start()
        super().start()

    def stop(self) -> None:
        """Write all that was taken in, and close the store."""
        if self._writer is not None:
            self._writer.close()
        self._health.close()
        super().stop()
        self._store.close()

    def problem_for(self, error: Exception) -> Problem:
        return Problem(503, "busy", str(error), RETRY) if isinstance(error, Busy) else super().problem_for(error)

    async def add(self, block: Block) -> BlockOutcome:
        """Add a block to the store, wait until it is durable, and say what became of it."""
        if self._writer is None:
            raise Busy("the service has not started")
        future = self._writer.add(block)
        self._deadlines.set(future, self.commit_seconds)
        try:
            return await future
        except TimeoutError:
            raise StoreUnavailable("the storage takes too long") from None
        finally:
            self._deadlines.clear(future)

    async def health(self, request: Request) -> Response:
        await self._health.confirm()
        if self._writer is None or not self._writer.is_alive():
            raise StoreUnavailable("nothing is written")
        return await super().health(request)

    def gauges(self) -> dict[str, int]:
        return {**super().gauges(), "pending": self._writer.pending if self._writer else 0}
