"""Whether a store answers, asked in a thread of its own: no other work can keep the question waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from sottovoce.core.errors import StoreUnavailable

PATIENCE_SECONDS = 0.5
"""How long to wait for the answer of a store that is busy."""

TRUSTED_SECONDS = 30.0
"""For how long the last good answer of a busy store stands."""


class Health:
    """Asks a store once for all who want to know at the same time. A busy store is a healthy one, for a while."""

    def __init__(
        self, check: Callable[[], None], patience: float = PATIENCE_SECONDS, trusted: float = TRUSTED_SECONDS
    ) -> None:
        self._check, self._patience, self._trusted = check, patience, trusted
        self._pool = ThreadPoolExecutor(1, "sottovoce-health")
        self._asked: asyncio.Future[None] | None = None
        self._answered = time.monotonic()

    async def confirm(self) -> None:
        """Return if the store works; raise what it raised, or `StoreUnavailable` if it has said nothing for long."""
        asked = self._asked
        if asked is None or asked.done():
            asked = self._asked = asyncio.get_running_loop().run_in_executor(self._pool, self._ask)
            asked.add_done_callback(
                lambda ended: ended.cancelled() or ended.exception()
            )  # Otherwise asyncio logs an error that nobody fetched.
        done, _ = await asyncio.wait([asked], timeout=self._patience)
        if done:
            asked.result()
        elif time.monotonic() - self._answered > self._trusted:
            raise StoreUnavailable("the storage does not answer")

    def _ask(self) -> None:
        self._check()
        self._answered = time.monotonic()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
