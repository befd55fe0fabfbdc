"""Running a service: one process with uvicorn, that ends in order when it is told to."""

from __future__ import annotations

import contextlib
import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sottovoce.core.errors import FileError, ParameterError
from sottovoce.core.lazy import load
from sottovoce.web.application import Application
from sottovoce.web.connections import ConnectionLimits, protocol

if TYPE_CHECKING:
    import uvicorn

THREAD_SWITCH_SECONDS = 0.001
"""The thread that writes gets its turn after this: it needs little time, and all requests wait for it."""

OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""New objects until Python looks for cycles: thousands of requests that wait make many objects, and no cycles."""

OTHER_FILES = 256
"""Files that a service opens besides its connections."""


def listen(host: str, port: int) -> socket.socket:
    """A socket to serve on; port 0 is any that is free."""
    if not host:  # The system would let all machines in.
        raise ParameterError("the host to listen on must be an address or a name, got ''")
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
    app: Application,
    listener: socket.socket,
    started: Callable[[], None] = lambda: None,
    head_seconds: float = 10.0,
    idle_seconds: int = 30,
    drain_seconds: int = 30,
    write_seconds: float = 30.0,
    connections: int = 10_000,
    connections_per_address: int = 1_000,
) -> None:
    """Serve until SIGTERM or SIGINT. Then no new connections; what was taken in is written and acknowledged.

    No address and no user agent is logged: there is no access log. See `ConnectionLimits` for what one client may do.
    """
    server = _server(app, started)
    limits = ConnectionLimits(
        head_seconds,
        write_seconds=write_seconds,
        connections=connections,
        connections_per_address=connections_per_address,
        proxies=app.proxies,
    )
    _allow_files(connections + OTHER_FILES)
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    config = load("uvicorn").Config(
        app,
        http=protocol(limits),
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="error",  # A line for each bad request would let anybody fill the disk.
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=idle_seconds,
        timeout_graceful_shutdown=drain_seconds,
    )
    server(config).run(sockets=[listener])


def _server(app: Application, started: Callable[[], None]) -> type[uvicorn.Server]:
    load("uvicorn")  # Where it is missing, this says how to install it.
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if not self.should_exit:
                started()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """Tell responses without end first: they would keep the server from ending."""
            app.ending.set()
            await super().shutdown(sockets=sockets)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Let signals end the server. Unlike uvicorn's own way, they are not raised again afterwards."""
            old = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in old.items():
                    signal.signal(number, handler)

    return Server


def _allow_files(count: int) -> None:
    """Every connection is an open file, and many systems allow a process 1,024 unless it asks for more."""
    try:
        import resource
    except ImportError:  # Not on Windows, which has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
