"""HTTP on one connection, with a limit on everything that a client may make the server keep for it.

- The head of a request, whatever else is under way on the connection: its bytes, and the time until it is complete.
  Empty lines before it, the frames of a chunked body and its trailers count in the same way.
- The requests that wait behind one that is being answered.
- The time in which a client must take what is written to it.
- The connections, in all and of one address.

What is not HTTP, or one connection too many, gets an error of the same shape as all others.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from sottovoce.core.lazy import load
from sottovoce.web.http import JSON, Problem, Receive, Request, Scope, Send, to_json
from sottovoce.web.limits import network
from sottovoce.web.proxies import Proxies
from sottovoce.web.refusals import refusal

PIECE_BYTES = 2**14
"""Bytes given to the parser at a time. A head that begins inside them behind another request may be longer by this."""

MAX_HEADERS = 100
"""Headers of a request, its trailers among them: many small ones take far more memory than their bytes."""

QUEUED_REQUESTS = 32
"""Requests that may wait on one connection behind the one that is being answered."""

LINGER_SECONDS = 2.0
"""How long the rest of a refused body is read and thrown away, so that the client gets to read why."""

LEAST_TAKEN_BYTES = 2**15
"""What a client must take of a waiting answer in each `write_seconds`."""

JOINED_BYTES = 2**14
"""A body up to this long is copied behind its head and sent with it; a longer one is not copied."""

ABORTED_FACTOR = 2
"""Connections beyond the limit are told so, up to this many times the limit; any beyond that are cut at once."""

IDLE, HEAD, BODY = range(3)
"""What a connection is reading: nothing, the head of a request, or its body."""

App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class ConnectionLimits:
    """What one connection, and one address, may use."""

    head_seconds: float = 10.0
    head_bytes: int = 2**15
    write_seconds: float = 30.0
    connections: int = 10_000
    connections_per_address: int = 1_000
    proxies: Proxies = field(default_factory=Proxies)


class TooManyRequests(Exception):  # noqa: N818
    """More requests were sent ahead on a connection than may wait."""


class TooManyHeaders(Exception):  # noqa: N818
    """A request has more headers than it may."""


async def crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """The answer to a request when there are too many connections."""
    await _crowded("there are too many connections", scope, receive, send)


async def crowded_address(scope: Scope, receive: Receive, send: Send) -> None:
    """The answer to a request when there are too many connections from its address."""
    await _crowded("there are too many connections from one address", scope, receive, send)


async def _crowded(message: str, scope: Scope, receive: Receive, send: Send) -> None:
    problem = Problem(503, "busy", message, {"retry-after": "1", "connection": "close"})
    request = Request(scope, receive)
    await refusal(problem, request).send(send, request, asyncio.Event())


class WatchedConnection(Protocol):
    """What `Outgoing` needs of the connection that it writes for."""

    part: int

    def linger(self) -> None: ...

    def watch_writing(self) -> None: ...


class Outgoing:
    """A transport that sends the head of a response and its body by one call of the system, not two.

    When it is closed in the midst of a request, the rest of the request is read first (see `LINGER_SECONDS`): to close
    with bytes unread would reset the connection, and the client would lose the answer that it was just sent.
    """

    def __init__(self, transport: asyncio.Transport, connection: WatchedConnection) -> None:
        self._transport, self._connection, self._head = transport, connection, b""
        self.abort = transport.abort
        self.lingering = False

    def is_closing(self) -> bool:
        return self.lingering or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        if self.lingering:  # The connection was refused meanwhile: nobody waits for this any more.
            return
        if self._head:
            parts = [self._head + data] if len(data) <= JOINED_BYTES else [self._head, data]
            self._head = b""
            for part in parts:
                self._transport.write(part)
        elif data.startswith(b"HTTP/1.1 ") and b"\r\ncontent-length: " in data:
            self._head = data
        else:
            self._transport.write(data)

    def flush(self) -> None:
        if self._head:
            self.write(b"")

    def close(self) -> None:
        self.flush()
        if self.lingering or self._transport.is_closing():
            self._transport.close()
        elif self._connection.part == BODY and self._transport.can_write_eof():
            self.lingering = True
            self._transport.write_eof()
            self._connection.linger()
        else:
            self._connection.watch_writing()
            self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def protocol(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """The class of a connection. All connections of one server share its counters."""
    base = load("uvicorn.protocols.http.httptools_impl").HttpToolsProtocol
    by_address: Counter[str] = Counter()

    class LimitedProtocol(base):  # type: ignore[misc, valid-type]
        part = IDLE
        unparsed = unwritten = 0
        moved = False
        head_timer: asyncio.TimerHandle | None = None
        write_timer: asyncio.TimerHandle | None = None
        running: Any = None  # A cycle of uvicorn, which is not public.
        address = ""
        app: App

        # The connection.

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.transport = Outgoing(transport, self)
            _set_timeout(transport, limits.write_seconds)
            peer = self.client[0] if self.client else ""
            self.address = "" if not peer or limits.proxies.trusts(peer) else network(peer)
            by_address[self.address] += 1
            if self._over(ABORTED_FACTOR):
                transport.abort()
            self._expect_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timers()
            by_address[self.address] -= 1
            if not by_address[self.address]:
                del by_address[self.address]
            running = self.running
            if running is not None and not running.response_complete:  # Not always the cycle that uvicorn tells.
                running.disconnected = True
                running.message_event.set()
            super().connection_lost(exc)

        def _over(self, factor: int = 1) -> App | None:
            """The answer for one connection too many; None if this one may stay."""
            if len(self.connections) > factor * limits.connections:
                return crowded
            of_address = by_address[self.address] if self.address else 0
            return crowded_address if of_address > factor * limits.connections_per_address else None

        # Reading.

        def data_received(self, data: bytes) -> None:
            at = 0
            while at < len(data) and not self.transport.is_closing():
                room = PIECE_BYTES if self.part == BODY else limits.head_bytes - self.unparsed
                piece = data[at : at + min(PIECE_BYTES, room)] if at or len(data) > min(PIECE_BYTES, room) else data
                at += len(piece)
                self._read(piece)

        def _read(self, piece: bytes) -> None:
            """Parse some bytes. Those that bring no body and end no head add up."""
            if self.part == IDLE:
                self._expect_head()
            self.moved = False
            super().data_received(piece)
            if self.part == HEAD:
                self._expect_head()
            self.unparsed = 0 if self.moved else self.unparsed + len(piece)
            if self.unparsed >= limits.head_bytes and not self.transport.is_closing():
                self._refuse_head()

        def _refuse_head(self) -> None:
            """An answer if the client can tell that it is meant for this request; otherwise the end."""
            if self.part == BODY or (self.cycle is not None and not self.cycle.response_complete):
                self.transport.abort()
            else:
                message = f"the head of a request must have at most {limits.head_bytes:,} bytes, {MAX_HEADERS} headers"
                self._refuse("431 Request Header Fields Too Large", "head_too_large", message)

        def on_message_begin(self) -> None:
            self.part = HEAD
            super().on_message_begin()

        def on_header(self, name: bytes, value: bytes) -> None:
            if len(self.headers) == MAX_HEADERS:
                self._refuse_head()
                raise TooManyHeaders  # So that the parser does not go on with the rest.
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self.part, self.moved = BODY, True
            self._cancel_head()
            self.app = self._over() or self.app
            if len(self.pipeline) >= QUEUED_REQUESTS:
                self.transport.abort()
                raise TooManyRequests  # So that the parser does not go on with the rest.
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self.moved = True
            super().on_body(body)

        def on_message_complete(self) -> None:
            self.part, self.moved = IDLE, True
            self._cancel_head()
            super().on_message_complete()

        def _expect_head(self) -> None:
            if self.head_timer is None:
                self.head_timer = self.loop.call_later(limits.head_seconds, self._head_is_late)

        def _head_is_late(self) -> None:
            self.head_timer = None
            if self.flow.read_paused:  # The client may not be at fault: nobody reads what it sends.
                self._expect_head()
            else:
                self.transport.abort()

        def _cancel_head(self) -> None:
            if self.head_timer is not None:
                self.head_timer.cancel()
                self.head_timer = None

        # Answering.

        def _start_asgi_task(self, cycle: Any, app: App) -> None:
            self.running = cycle
            super()._start_asgi_task(cycle, app)

        def on_response_complete(self) -> None:
            self.transport.flush()
            if self.part == BODY:  # The rest of a body that nobody wanted must come to an end too.
                self._expect_head()
            super().on_response_complete()

        def send_400_response(self, msg: str) -> None:
            """An answer, unless it would come in the midst of another one or be taken for it."""
            cycle = self.cycle
            body = self.part == BODY and cycle is self.running and not cycle.response_started
            if cycle is None or cycle.response_complete or body:
                self._refuse("400 Bad Request", "bad_http", "this is not a request of HTTP/1.1")
            else:
                self.transport.abort()

        def _refuse(self, status: str, code: str, message: str) -> None:
            if self.transport.is_closing():
                return
            body = to_json({"error": {"code": code, "message": message}})
            head = f"HTTP/1.1 {status}\r\ncontent-type: {JSON}\r\ncontent-length: {len(body)}\r\n"
            self.transport.flush()
            self.transport.write(head.encode("ascii") + b"connection: close\r\n\r\n" + body)
            self.part = BODY
            self.transport.close()

        def linger(self) -> None:
            """Read and throw away what still comes, for a while."""
            self._stop_timers()
            self.head_timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)
            self.flow.resume_reading()

        # Writing.

        def pause_writing(self) -> None:
            super().pause_writing()
            self.watch_writing()

        def resume_writing(self) -> None:
            self._cancel_write()
            super().resume_writing()

        def watch_writing(self) -> None:
            """If something waits to be written, check again later that the client has taken a fair part of it."""
            self._cancel_write()
            self.unwritten = self.transport.get_write_buffer_size()
            if self.unwritten:
                self.write_timer = self.loop.call_later(limits.write_seconds, self._check_writing)

        def _check_writing(self) -> None:
            if self.transport.get_write_buffer_size() > self.unwritten - LEAST_TAKEN_BYTES:
                self.transport.abort()
            else:
                self.watch_writing()

        def _cancel_write(self) -> None:
            if self.write_timer is not None:
                self.write_timer.cancel()
                self.write_timer = None

        def _stop_timers(self) -> None:
            self._cancel_head()
            self._cancel_write()

    return LimitedProtocol


def _set_timeout(transport: asyncio.Transport, seconds: float) -> None:
    """Have the system give up too, where it can, on a client that takes nothing: the system's buffers are large."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    raw = transport.get_extra_info("socket")
    if option is not None and raw is not None:
        with contextlib.suppress(OSError):
            raw.setsockopt(socket.IPPROTO_TCP, option, int(seconds * 1000))
