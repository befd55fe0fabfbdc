"""Time limits for many futures with one timer: it looks every so often which of them are overdue.

A timer for each request, as `asyncio.timeout` sets, would cost a tenth of what a request costs altogether.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

CHECK_SECONDS = 0.25
"""Time between two looks: a limit is kept to within this."""

Timed = asyncio.Future[Any]
"""A future or task of any result."""


class Deadlines:
    """Futures and tasks with a time limit. An overdue future ends in `TimeoutError`; an overdue task is cancelled."""

    def __init__(self) -> None:
        self._due: dict[Timed, float] = {}
        self._late: set[Timed] = set()
        self._watch: asyncio.Task[None] | None = None

    def set(self, future: Timed, seconds: float) -> None:
        self._due[future] = time.monotonic() + seconds

    def clear(self, future: Timed) -> bool:
        """Take the limit off. True if the time was over already, and the task was cancelled."""
        self._due.pop(future, None)
        if future in self._late:
            self._late.discard(future)
            return True
        return False

    def start(self) -> None:
        self._watch = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            now = time.monotonic()
            for future in [future for future, due in self._due.items() if due < now]:
                del self._due[future]
                self._end(future)

    def _end(self, future: Timed) -> None:
        if isinstance(future, asyncio.Task):
            self._late.add(future)
            future.cancel()
        elif not future.done():
            future.set_exception(TimeoutError())
