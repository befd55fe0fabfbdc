"""Sending what a device made, with the standard library alone: again and again until it is acknowledged.

A collector counts a report once however often it comes, so that it is safe to send again whatever was not acknowledged.
What a collector refuses is not sent again; a redirect is not followed.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from sottovoce.core.errors import ParameterError
from sottovoce.device.http_client import HTTPClient, Rejected, Undelivered
from sottovoce.device.wire import JSON, Sendable

__all__ = ["LINES", "Batcher", "Rejected", "Undelivered", "fetch", "post", "send"]

LINES = "application/x-ndjson"


def send(
    url: str,
    body: bytes,
    kind: str | None = None,
    *,
    invitation: str | None = None,
    attempts: int = 8,
    timeout: float = 10.0,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, int]:
    """Send reports to a survey at `url`, such as https://host/v1/surveys/sleep, until they are acknowledged.

    Unless a `kind` is named, the content type is that of what a device gave out, and JSON for other bytes. Returns how
    many were accepted, and how many the collector had already. Between attempts it waits for twice as long each time,
    at random so that many devices do not come back at once.
    """
    headers = {"content-type": kind or _kind(body)} | ({"sottovoce-invitation": invitation} if invitation else {})
    client = HTTPClient(attempts=attempts, timeout=timeout, sleep=sleep)
    answer = _request(client, f"{_checked(url)}/reports", body, headers)
    try:
        taken = json.loads(answer)
        return {"accepted": int(taken["accepted"]), "duplicates": int(taken["duplicates"])}
    except (ValueError, KeyError, TypeError):
        raise Undelivered(f"{url}: {client.unreadable()}") from None


def _kind(body: bytes) -> str:
    return body.content_type if isinstance(body, Sendable) else JSON


def post(
    url: str,
    body: bytes,
    kind: str,
    *,
    headers: Mapping[str, str] | None = None,
    attempts: int = 8,
    timeout: float = 10.0,
    sleep: Callable[[float], None] = time.sleep,
) -> bytes:
    """Send bytes to an address until they are acknowledged, and return the answer."""
    client = HTTPClient(attempts=attempts, timeout=timeout, sleep=sleep)
    return _request(client, _checked(url), body, {"content-type": kind, **(headers or {})})


def fetch(url: str, *, attempts: int = 8, timeout: float = 10.0, sleep: Callable[[float], None] = time.sleep) -> bytes:
    """The bytes of the published survey at `url`."""
    return _request(HTTPClient(attempts=attempts, timeout=timeout, sleep=sleep), _checked(url))


def _checked(url: str) -> str:
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise ParameterError(f"the address of a survey must begin with https:// or http://, got {url!r:.80}")
    return url.rstrip("/")


def _request(
    client: HTTPClient, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> bytes:
    try:
        return client.request(url, body, headers)
    except Undelivered as error:
        raise Undelivered(f"{url}: {error}") from None


class Batcher:
    """Sends reports in batches from a thread of its own, for programs that make many.

    `add` never waits: it takes a report in, or says that there is no room. `flush` waits until all is acknowledged.
    Reports that the collector refuses are found one by one, handed to `on_reject`, and do not hold up the others.

        with Batcher("https://host/v1/surveys/sleep") as batcher:
            batcher.add(body)
    """

    def __init__(
        self,
        url: str,
        *,
        size: int = 500,
        seconds: float = 1.0,
        capacity: int = 100_000,
        on_reject: Callable[[bytes, Rejected], None] = lambda body, error: None,
        send: Callable[[str, bytes, str], Mapping[str, int]] = send,
    ) -> None:
        if min(size, capacity) < 1 or not seconds >= 0:
            raise ParameterError(f"size and capacity must be at least 1, seconds at least 0, got {size}, {capacity}, "
                                 f"{seconds}")  # fmt: skip
        self.url, self.size, self.seconds, self.capacity = _checked(url), size, seconds, capacity
        self.accepted = self.duplicates = self.rejected = self.dropped = 0
        self._on_reject, self._send = on_reject, send
        self._waiting: deque[bytes] = deque()
        self._change = threading.Condition()
        self._flushing = self._closing = False
        self._problem: Undelivered | None = None
        self._thread = threading.Thread(target=self._run, name="sottovoce-batcher", daemon=True)
        self._thread.start()

    def add(self, body: bytes) -> bool:
        """Take in what one device sends; False if there is no room, and then it is dropped and counted."""
        if _kind(body) == JSON and b"\n" in body:
            raise ParameterError("a submission must be one line of JSON")
        with self._change:
            if self._waiting and _kind(body) != _kind(self._waiting[0]):
                raise ParameterError(f"what is sent to one survey must be all of one kind, got {_kind(body)}")
            if self._closing or len(self._waiting) >= self.capacity:
                self.dropped += 1
                return False
            self._waiting.append(body)
            if len(self._waiting) in (1, self.size):
                self._change.notify_all()
            return True

    def flush(self, timeout: float | None = None) -> None:
        """Wait until all that was added is acknowledged or rejected; `Undelivered` if that fails or takes longer."""
        with self._change:
            self._flushing, self._problem = True, None
            self._change.notify_all()
            done = self._change.wait_for(lambda: not self._waiting or self._problem, timeout)
            self._flushing = False
            if self._problem is not None:
                raise self._problem
            if not done:
                raise Undelivered(f"{self.url}: {len(self._waiting)} reports are not acknowledged yet")

    def close(self, timeout: float | None = None) -> None:
        """Flush and end. What could not be delivered stays in `left`."""
        try:
            self.flush(timeout)
        finally:
            with self._change:
                self._closing = True
                self._change.notify_all()

    @property
    def left(self) -> list[bytes]:
        """The submissions that are not acknowledged."""
        with self._change:
            return list(self._waiting)

    def __enter__(self) -> Batcher:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while batch := self._next():
            try:
                self._deliver(batch)
            except Undelivered as error:
                with self._change:
                    self._problem = error
                    self._change.notify_all()
                    self._change.wait_for(lambda: self._closing, self.seconds)
                continue
            with self._change:
                for _ in batch:
                    self._waiting.popleft()
                self._change.notify_all()

    def _next(self) -> Sequence[bytes]:
        """The oldest reports, which stay in line until they are acknowledged; nothing at the end."""
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._closing)
            self._change.wait_for(
                lambda: len(self._waiting) >= self.size or self._flushing or self._closing, self.seconds
            )
            return [] if self._closing else [self._waiting[at] for at in range(min(self.size, len(self._waiting)))]

    def _deliver(self, batch: Sequence[bytes]) -> None:
        """Send a batch. If it is refused, its halves: what is wrong with one report is found in a few steps."""
        try:
            kind = _kind(batch[0])
            lines = kind == JSON  # Envelopes are all of one length, and stand one after the other.
            taken = self._send(self.url, (b"\n" if lines else b"").join(batch), LINES if lines else kind)
        except Rejected as error:
            if len(batch) == 1:
                self.rejected += 1
                self._on_reject(batch[0], error)
                return
            middle = len(batch) // 2
            self._deliver(batch[:middle])
            self._deliver(batch[middle:])
            return
        self.accepted += taken["accepted"]
        self.duplicates += taken["duplicates"]
