"""Running a collector: one process with uvicorn, that ends in order when it is told to."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sottovoce.collector.http import JSON, Problem, Receive, Request, Scope, Send, to_json
from sottovoce.collector.service import Service
from sottovoce.errors import FileError
from sottovoce.lazy import load

SWITCH = 0.001
"""Seconds after which the thread that writes gets its turn: it needs it seldom and briefly, and all wait for it."""

GARBAGE = 200_000
"""New objects between two searches for garbage: thousands of requests that wait make many, and none in cycles."""

HEAD_BYTES = 2**15


def listen(host: str, port: int) -> socket.socket:
    """A socket to serve on; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise FileError(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    listener.listen(2048)
    return listener


def run(
    app: Service,
    listener: socket.socket,
    started: Callable[[], None] = lambda: None,
    head_seconds: float = 10.0,
    idle_seconds: int = 30,
    drain_seconds: int = 30,
    connections: int = 10_000,
) -> None:
    """Serve until SIGTERM or SIGINT. Then no new connections; what was taken in is written and acknowledged.

    No address and no user agent is logged: there is no access log.
    """
    uvicorn = load("uvicorn")
    sys.setswitchinterval(SWITCH)
    gc.freeze()
    gc.set_threshold(GARBAGE)
    config = uvicorn.Config(
        app,
        http=_protocol(head_seconds, connections),
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=idle_seconds,
        timeout_graceful_shutdown=drain_seconds,
    )
    _server(uvicorn, app, started)(config).run(sockets=[listener])


def _server(uvicorn: Any, app: Any, started: Callable[[], None]) -> Any:
    class Server(uvicorn.Server):  # type: ignore[misc]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if not self.should_exit:
                started()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """Responses without end would keep a server from ending: they are told first."""
            if isinstance(app, Service):
                app.ending.set()
            await super().shutdown(sockets=sockets)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Signals end the server, and having ended is no error."""
            old = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in old.items():
                    signal.signal(number, handler)

    return Server


async def crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """The answer to a request when there are too many connections."""
    problem = Problem(503, "busy", "there are too many connections", {"retry-after": "1", "connection": "close"})
    await problem.response().send(send, Request(scope, receive), asyncio.Event())


class Joining:
    """A transport that sends the head of a response and its body by one call of the system, not two."""

    def __init__(self, transport: Any) -> None:
        self._transport, self._head = transport, b""
        self.is_closing, self.abort = transport.is_closing, transport.abort

    def write(self, data: bytes) -> None:
        if self._head:
            self._transport.write(self._head + data)
            self._head = b""
        elif data.startswith(b"HTTP/1.1 ") and b"\r\ncontent-length: " in data:
            self._head = data
        else:
            self._transport.write(data)

    def flush(self) -> None:
        if self._head:
            self.write(b"")

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def _protocol(seconds: float, connections: int) -> Any:
    """HTTP on one connection, which is cut if the head of a request does not come in time or does not end.

    What is not HTTP, or one connection too many, gets an error of the same shape as all others.
    """
    base = load("uvicorn.protocols.http.httptools_impl").HttpToolsProtocol

    class Protocol(base):  # type: ignore[misc, valid-type]
        late: Any = None
        head = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.transport = Joining(transport)
            self._expect()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.late is None and (self.cycle is None or self.cycle.response_complete):
                self._expect()
            if self.late is not None:
                self.head += len(data)
            super().data_received(data)
            if self.late is not None and self.head > HEAD_BYTES:
                self.transport.abort()

        def on_headers_complete(self) -> None:
            self._cancel()
            if len(self.connections) > connections:
                self.app = crowded
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            self.transport.flush()
            super().on_response_complete()

        def send_400_response(self, msg: str) -> None:
            body = to_json({"error": {"code": "bad_http", "message": "this is not a request of HTTP/1.1"}})
            head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: {JSON}\r\ncontent-length: {len(body)}\r\n"
            self.transport.write(head.encode("ascii") + b"connection: close\r\n\r\n" + body)
            self.transport.close()

        def _expect(self) -> None:
            self.head = 0
            self.late = self.loop.call_later(seconds, self.transport.abort)

        def _cancel(self) -> None:
            if self.late is not None:
                self.late.cancel()
                self.late = None

    return Protocol
