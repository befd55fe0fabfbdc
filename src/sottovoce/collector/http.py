"""As much of HTTP as a collector needs, over ASGI: a request with a bounded body, a response, an error of one shape."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from sottovoce.collector.deadlines import Deadlines

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

JSON = "application/json"
SAFE = (b"x-content-type-options", b"nosniff")


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
    body: Any = b""
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send, bare: bool = False) -> None:
        """Send it; a bare one has no body, only its length."""
        body = self.body if isinstance(self.body, bytes) else json.dumps(finite(self.body)).encode()
        headers = [(b"content-length", b"%d" % len(body)), *raw_headers(self.kind, tuple(self.headers.items()))]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if bare else body})


@lru_cache(maxsize=256)
def raw_headers(kind: str, headers: tuple[tuple[str, str], ...]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI has them. Most responses have the same as the one before."""
    given = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return [(b"content-type", kind.encode("latin-1")), SAFE, *given]


class Request:
    """A request whose body has not been read yet."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._scope, self._receive = scope, receive
        self._headers: dict[bytes, bytes] = dict(scope["headers"])

    @property
    def address(self) -> str:
        client = self._scope.get("client")
        return str(client[0]) if client else ""

    def header(self, name: bytes) -> str:
        """A header, or the empty string."""
        return self._headers.get(name, b"").decode("latin-1")

    @property
    def kind(self) -> str:
        return self.header(b"content-type").partition(";")[0].strip().lower()

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

    async def body(self, most: int, seconds: float, deadlines: Deadlines) -> bytes:
        """The whole body, which must be there in time and not too large."""
        length = self.header(b"content-length")
        if length.isdecimal() and len(length) < 20 and int(length) > most:
            raise too_large(most)
        task: Any = asyncio.current_task()
        deadlines.set(task, seconds)
        try:
            return await self._read(most)
        except asyncio.CancelledError:
            if not deadlines.clear(task):
                raise
            task.uncancel()
            message = f"the body must be sent within {seconds:g} seconds"
            raise Problem(408, "too_slow", message, {"connection": "close"}) from None
        finally:
            deadlines.clear(task)

    async def _read(self, most: int) -> bytes:
        parts, size, more = [], 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise too_large(most)
            more = message.get("more_body", False)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def too_large(most: int) -> Problem:
    message = f"the body must have at most {most:,} bytes"
    return Problem(413, "too_large", message, {"connection": "close"})


def finite(value: Any) -> Any:
    """The same with null for what is not a number: JSON has no NaN and no infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return value
