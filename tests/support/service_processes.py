"""A nursery of collectors: a process that has imported everything, and starts one by a fork for each line it reads.

A line is JSON: {"place": [option, value], "app": {...}, "run": {...}, "port": 0}. The child prints its port and its
process id.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"


def wait_until(true: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


class Forking:
    """A script that forks a process in a few milliseconds for every line that it reads, and says its port and id."""

    def __init__(self, script: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])},
        )  # fmt: skip

    def fork(self, order: dict[str, Any]) -> Child:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return Child(**json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


class Nursery(Forking):
    """Starts collectors; whoever kills one must know its process id."""

    def __init__(self) -> None:
        super().__init__(__file__)

    def start(
        self, place: list[str], app: dict[str, Any] | None = None, run: dict[str, Any] | None = None, port: int = 0
    ) -> Child:
        return self.fork({"place": place, "app": app or {}, "run": run or {}, "port": port})


class Child:
    """A process that was started."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid
        self.url = f"http://{HOST}:{port}"

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)

    @property
    def running(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


class FaultyProxy:
    """Passes requests on to a collector, but for some: it loses them, cuts them in two, or loses the answer."""

    FATES = ("fine", "fine", "fine", "lost request", "cut request", "lost answer")

    def __init__(self, seed: int) -> None:
        self.random, self.target, self.fates = random.Random(seed), 0, Counter[str]()
        self.listener = socket.create_server((HOST, 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            fate = self.random.choice(self.FATES)
            self.fates[fate] += 1
            threading.Thread(target=self._serve, args=(client, fate), daemon=True).start()

    def _serve(self, client: socket.socket, fate: str) -> None:
        """One request on one connection."""
        with client, contextlib.suppress(OSError):
            client.settimeout(10)
            request = _whole_request(client)
            if fate == "lost request":
                return
            with socket.create_connection((HOST, self.target), 5) as server:
                server.settimeout(10)
                server.sendall(request[: len(request) // 2] if fate == "cut request" else request)
                if fate == "cut request":
                    return
                answer = b"".join(iter(lambda: server.recv(65536), b""))
            if fate == "fine":
                client.sendall(answer)

    def close(self) -> None:
        self.listener.close()


def _whole_request(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        part = client.recv(65536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        part = client.recv(65536)
        if not part:
            break
        body += part
    return head + b"\r\n\r\n" + body


@contextlib.contextmanager
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    try:
        yield made
    finally:
        made.close()


def _serve(order: dict[str, Any]) -> None:
    from sottovoce.collector import Collector, open_store
    from sottovoce.web.server import listen, run

    option, value = order["place"]
    store = open_store(**{option.removeprefix("--"): value})
    listener = listen(HOST, order["port"])
    started = json.dumps({"port": listener.getsockname()[1], "pid": os.getpid()}) + "\n"
    run(Collector(store, **{"rate": None, **order["app"]}), listener, lambda: _say(started), **order["run"])


def _say(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


def main() -> None:
    import httptools  # noqa: F401
    import numpy  # noqa: F401
    import psycopg  # noqa: F401
    import uvicorn  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Nobody waits for the children.
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            code = 1
            try:
                _serve(json.loads(line))
                code = 0
            finally:
                os._exit(code)


if __name__ == "__main__":
    main()
