"""Running a collector: one process with uvicorn, that ends in order when it is told to."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sottovoce.collector.app import Collector
from sottovoce.errors import FileError
from sottovoce.lazy import load

SWITCH = 0.001
"""Seconds after which the thread that writes gets its turn: it needs it seldom and briefly, and all wait for it."""

GARBAGE = 20_000
"""New objects between two searches for garbage: requests make many, and none in cycles."""

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
    app: Collector,
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
        http=_protocol(head_seconds),
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=idle_seconds,
        timeout_graceful_shutdown=drain_seconds,
        limit_concurrency=connections,
    )
    _server(uvicorn, started)(config).run(sockets=[listener])


def _server(uvicorn: Any, started: Callable[[], None]) -> Any:
    class Server(uvicorn.Server):  # type: ignore[misc]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if not self.should_exit:
                started()

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


def _protocol(seconds: float) -> Any:
    """HTTP on one connection, which is cut if the head of a request does not come in time or does not end."""
    base = load("uvicorn.protocols.http.httptools_impl").HttpToolsProtocol

    class Protocol(base):  # type: ignore[misc, valid-type]
        late: Any = None
        head = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
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
            super().on_headers_complete()

        def _expect(self) -> None:
            self.head = 0
            self.late = self.loop.call_later(seconds, self.transport.abort)

        def _cancel(self) -> None:
            if self.late is not None:
                self.late.cancel()
                self.late = None

    return Protocol
