"""A thread that makes batches when they are due and carries them to the collector, each until it is acknowledged.

The collector takes a batch once, by its id. So one that was sent and not acknowledged, or not noted here as such
before a crash, is sent again as it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypedDict

from sottovoce.core.errors import SottovoceError
from sottovoce.core.sealing import PrivateKey
from sottovoce.device import envelope, transport
from sottovoce.device.http_client import Rejected, Undelivered
from sottovoce.shuffler.store import ShufflerStore
from sottovoce.web.metrics import Metrics


class Forwarding(TypedDict, total=False):
    """How often a `Forwarder` looks and tries, and how long it waits for an answer."""

    seconds: float
    refused_seconds: float
    timeout: float


class Forwarder(threading.Thread):
    """Carries the batches of one store to `url`, the address of the survey at its collector.

    It looks whenever it is woken, and every `seconds`. A batch that found no answer is sent again after `seconds`, one
    that was refused after `refused_seconds`: the collector may have been started without the survey, or its key.
    """

    def __init__(
        self,
        store: ShufflerStore,
        key: PrivateKey,
        url: str,
        metrics: Metrics,
        *,
        seconds: float = 1.0,
        refused_seconds: float = 60.0,
        timeout: float = 120.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(name="sottovoce-forwarder", daemon=True)
        self.store, self.key, self.url, self.metrics, self.clock = store, key, url.rstrip("/"), metrics, clock
        self.seconds, self.refused_seconds, self.timeout = seconds, refused_seconds, timeout
        self._wake, self._ending = threading.Event(), threading.Event()
        self._later: dict[bytes, float] = {}  # For each batch that could not be delivered, when to try again.

    def wake(self) -> None:
        """Something new waits."""
        self._wake.set()

    def close(self, seconds: float = 5.0) -> None:
        """End, but not in the midst of a delivery unless that takes too long: it is repeated after the next start."""
        self._ending.set()
        self._wake.set()
        if self.is_alive():
            self.join(seconds)

    def run(self) -> None:
        while not self._ending.is_set():
            self._wake.clear()
            try:
                self.step()
            except SottovoceError:
                self.metrics.add("failed", "storage_unavailable")
            self._wake.wait(self.seconds)

    def step(self) -> None:
        """Make what is due and deliver what is ready."""
        expires = self.store.survey.expires
        over = expires is not None and self.clock() >= expires
        self.store.mix(last=over)
        if over:
            self.metrics.add("dropped", "expired", self.store.forget())
        for name in self.store.batches():
            if self._ending.is_set() or time.monotonic() < self._later.get(name, 0.0):
                continue
            self._deliver(name)

    def _deliver(self, name: bytes) -> None:
        batch = self.store.batch(name)
        try:
            body = batch.to_bytes(self.store.survey, self.key)
            known = {envelope.BATCH_HEADER: envelope.batch_pass(self.store.survey, self.key, len(body))}
            address = f"{self.url}/batches"
            transport.post(address, body, envelope.SEALED, headers=known, attempts=1, timeout=self.timeout)
        except Rejected as error:
            self._postpone(name, self.refused_seconds, error.code)
        except Undelivered:
            self._postpone(name, self.seconds, "no_answer")
        else:
            self._later.pop(name, None)
            self.store.delivered(name)
            self.metrics.add("batches")
            self.metrics.add("forwarded", count=len(batch.reports))

    def _postpone(self, name: bytes, seconds: float, reason: str) -> None:
        self._later[name] = time.monotonic() + seconds
        self.metrics.add("undelivered", reason)
