"""A small load generator for the loopback interface, shared by the benchmarks of the collector."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Load:
    """How many requests were answered in how many seconds, and by which statuses."""

    requests: int
    seconds: float
    statuses: Counter[int]

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def request_bytes(path: str, body: bytes = b"", kind: str = "application/json", method: str = "POST") -> bytes:
    """One request of HTTP/1.1 on a connection that stays open."""
    head = f"{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode("ascii") + body


def wait_for(port: int, seconds: float = 20.0) -> None:
    """Wait until somebody listens."""
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((HOST, port), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def run_load(port: int, make: Callable[[], bytes | None], seconds: float, connections: int = 32) -> Load:
    """Send what `make` gives, on so many connections, one request at a time each, until time or `make` runs out."""
    wait_for(port)
    return asyncio.run(_load(port, make, seconds, connections))


async def _load(port: int, make: Callable[[], bytes | None], seconds: float, connections: int) -> Load:
    statuses: Counter[int] = Counter()
    start = time.perf_counter()
    end = start + seconds
    await asyncio.gather(*(_client(port, make, end, statuses) for _ in range(connections)))
    return Load(statuses.total(), time.perf_counter() - start, statuses)


async def _client(port: int, make: Callable[[], bytes | None], end: float, statuses: Counter[int]) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        while time.perf_counter() < end and (request := make()) is not None:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            statuses[int(head[9:12])] += 1
            lower = head.lower()
            at = lower.find(b"content-length:")
            if at >= 0:
                await reader.readexactly(int(lower[at + 15 :].split(b"\r\n", 1)[0]))
    finally:
        writer.close()
