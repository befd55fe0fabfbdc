"""As much of HTTP as a service needs, over ASGI: a request with a bounded body, a response, an error of one shape."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import parse_qsl

from sottovoce.web.deadlines import Deadlines
from sottovoce.web.limits import ByteBudget

Scope = dict[str, Any]
Message = dict[str, Any]
"""Dicts of ASGI, whose fields depend on their type."""
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON = "application/json"
HTML = "text/html; charset=utf-8"
NO_SNIFFING = (b"x-content-type-options", b"nosniff")
MAX_LENGTH_DIGITS = 19
"""A content-length with more digits is ignored: nobody sends so many bytes."""

EMPTY_BODY = {"type": "http.response.body", "body": b"", "more_body": False}


class Problem(Exception):  # noqa: N818
    """An answer that is not what was asked for: a status, a code for programs and a line for people."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, dict(headers or {})

    def response(self) -> Response:
        return Response(self.status, {"error": {"code": self.code, "message": self.message}}, headers=self.headers)


class Disconnected(Exception):  # noqa: N818
    """Nobody is there to be answered."""


@dataclass
class Response:
    """A status and a body: bytes as they are, anything else as JSON."""

    status: int
    body: object = b""
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send, request: Request, ending: asyncio.Event) -> None:
        """Send it; the answer to HEAD has no body, only its length."""
        start, body = self._messages
        await send(start)
        await send(EMPTY_BODY if request.method == "HEAD" else body)

    @cached_property
    def _messages(self) -> tuple[Message, Message]:
        """The messages of ASGI, made once: a response may be sent many times."""
        body = self.body if isinstance(self.body, bytes) else to_json(self.body)
        headers = [(b"content-length", b"%d" % len(body)), *raw_headers(self.kind, self.headers)]
        start = {"type": "http.response.start", "status": self.status, "headers": headers}
        return start, {"type": "http.response.body", "body": body}


@dataclass
class Stream:
    """A body that comes in parts, for as long as there are any, somebody listens, and the server does not end.

    Whichever of the three stops first, the iterator is closed: what it began is tidied up in its `finally`, and what
    was there before in `ended`, which is called in any case. A client that takes nothing for `patience` seconds does
    not listen.
    """

    chunks: AsyncGenerator[bytes, None]
    kind: str
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    patience: float = 60.0
    ended: Callable[[], None] = lambda: None

    async def send(self, send: Send, request: Request, ending: asyncio.Event) -> None:
        headers = raw_headers(self.kind, self.headers)
        try:
            await send({"type": "http.response.start", "status": self.status, "headers": headers})
            if request.method != "HEAD":
                await self._race(self._pump(send), request.gone(), ending.wait())
        except TimeoutError:
            return  # Without an end, so that the server cuts the connection.
        finally:
            self.ended()
            await self.chunks.aclose()
        await send(EMPTY_BODY)

    async def _pump(self, send: Send) -> None:
        async for chunk in self.chunks:
            message = {"type": "http.response.body", "body": chunk, "more_body": True}
            async with asyncio.timeout(self.patience):  # `wait_for` loses a cancellation that comes at its end.
                await send(message)

    async def _race(self, *runners: Awaitable[object]) -> None:
        """Run all until one is done, and raise what the first raised."""
        tasks = [asyncio.ensure_future(runner) for runner in runners]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        error = ends[0]
        if isinstance(error, Exception):
            raise error


Reply = Response | Stream


def raw_headers(kind: str, headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI has them."""
    given = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    return [(b"content-type", kind.encode("latin-1")), NO_SNIFFING, *given]


class Request:
    """A request whose body has not been read yet."""

    __slots__ = ("_headers", "_receive", "_scope", "address", "held", "method", "path")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._scope, self._receive = scope, receive
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        client = scope.get("client")
        self.address = str(client[0]) if client else ""
        """Whom it is from: the other end of the connection, unless a trusted proxy says otherwise."""
        self.held = 0
        """Bytes of its body for which room was taken in a budget."""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """All headers as they came; one may occur several times."""
        found: list[tuple[bytes, bytes]] = self._scope["headers"]
        return found

    def header(self, name: bytes) -> str:
        """A header, or the empty string."""
        value = self._headers.get(name)
        return value.decode("latin-1") if value else ""

    @property
    def kind(self) -> str:
        """The content type, without its parameters."""
        return media_type(self._headers.get(b"content-type", b""))

    def query(self, *allowed: str) -> dict[str, list[str]]:
        """The parameters of the query, of which there must be no others than these."""
        try:
            text = self._scope["query_string"].decode("ascii")
            pairs = parse_qsl(
                text, keep_blank_values=True, strict_parsing=bool(text), errors="strict", max_num_fields=100
            )
        except ValueError:
            raise Problem(400, "bad_query", "the query must be name=value pairs in UTF-8") from None
        found: dict[str, list[str]] = {}
        for name, value in pairs:
            if name not in allowed:
                raise Problem(400, "bad_query", f"a parameter must be one of {', '.join(allowed)}, got {name!r:.40}")
            found.setdefault(name, []).append(value)
        return found

    async def gone(self) -> None:
        """Return when nobody is there any more. What comes until then is not read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    @property
    def length(self) -> int | None:
        """The length of the body according to the head, or None."""
        text = self._headers.get(b"content-length", b"")
        return int(text) if text.isdigit() and len(text) <= MAX_LENGTH_DIGITS else None

    async def body(self, most: int, seconds: float, deadlines: Deadlines, budget: ByteBudget) -> bytes:
        """The whole body, which must be there in time and not too large."""
        parts = [part async for part in self.parts(most, seconds, deadlines, budget)]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def parts(
        self, most: int, seconds: float, deadlines: Deadlines, budget: ByteBudget
    ) -> AsyncGenerator[bytes, None]:
        """The body as it comes. A reader done with a part may `let_go` of it; the end of the request does so too."""
        if (self.length or 0) > most:
            raise too_large(most)
        size, more, left = 0, True, seconds
        while more:
            begun = time.monotonic()
            try:
                message = await self._next(left, deadlines)
            except TimeoutError:
                raise too_slow(seconds) from None
            left -= time.monotonic() - begun
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise too_large(most)
            self._hold(len(part), budget)
            more = message.get("more_body", False)
            yield part

    async def _next(self, seconds: float, deadlines: Deadlines) -> Message:
        """The next message of the client; `TimeoutError` if none comes in time."""
        task: Any = asyncio.current_task()
        deadlines.set(task, seconds)
        try:
            message = await self._receive()
        except asyncio.CancelledError:
            if not deadlines.clear(task):
                raise
            task.uncancel()
            raise TimeoutError from None
        finally:
            deadlines.clear(task)
        if message["type"] == "http.disconnect":
            raise Disconnected
        return message

    def _hold(self, count: int, budget: ByteBudget) -> None:
        if not budget.take(self.address, self.held, count):
            raise Problem(503, "busy", "too much is being sent at once, try again", {"retry-after": "2"})
        self.held += count

    def let_go(self, budget: ByteBudget, count: int | None = None) -> None:
        """Give back the room for some bytes of the body, or for all of them."""
        count = self.held if count is None else count
        budget.give(self.address, count)
        self.held -= count


@lru_cache(maxsize=64)
def media_type(value: bytes) -> str:
    return value.decode("latin-1").partition(";")[0].strip().lower()


def too_slow(seconds: float) -> Problem:
    return Problem(408, "too_slow", f"the body must be sent within {seconds:g} seconds", {"connection": "close"})


def too_large(most: int) -> Problem:
    message = f"the body must have at most {most:,} bytes"
    return Problem(413, "too_large", message, {"connection": "close"})


def to_json(value: object) -> bytes:
    return json.dumps(finite(value)).encode()


def finite(value: object) -> object:
    """The same value with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return value
