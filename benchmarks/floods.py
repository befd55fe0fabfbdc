"""What a flood costs a collector: memory, and how long /healthz takes to answer meanwhile.

    python benchmarks/floods.py [ATTACK ...]

Each attack has a collector of its own, a process of `sotto serve`. Memory is the highest resident size during the
attack less the size before it; latency is the longest of the answers to /healthz that were asked for one by one.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from sottovoce.core.sealing import PrivateKey

HOST = "127.0.0.1"
MEGABYTE = 2**20
PROBE_SECONDS = 120.0
HEADERS = (b"x: " + b"a" * 1019 + b"\r\n") * 256
CODE = "import sys; from sottovoce.cli import main; sys.exit(main(sys.argv[1:]))"
QUESTION = {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 1}


def survey(name: str, key: PrivateKey, shuffled: bool) -> dict[str, object]:
    made: dict[str, object] = {"sottovoce": 1, "id": name, "title": "Habits", "minimum": 5, "questions": [QUESTION]}
    if shuffled:
        place, other = "http://127.0.0.1:8001/v1/surveys/habits", PrivateKey.generate()
        made |= {"trust": "shuffle", "shuffle": {"analyst": str(key.public), "shuffler": str(other.public),
                 "minimum": 10, "honest": 10, "address": place, "delta": 1e-6}}  # fmt: skip
    return made


class Target:
    """A collector in a process of its own."""

    def __init__(self, folder: Path) -> None:
        key = PrivateKey.at(folder / "key")
        for name, shuffled in (("direct", False), ("shuffled", True)):
            (folder / f"{name}.json").write_text(json.dumps(survey(name, key, shuffled)))
        files = [str(folder / f"{name}.json") for name in ("direct", "shuffled")]
        options = ["--port", "0", "--public-estimates", "--json", "--key", str(folder / "key"), "--data"]
        command = [sys.executable, "-c", CODE, "serve", *files, *options, str(folder / "data")]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        lines = iter(self.process.stdout.readline, "")  # type: ignore[union-attr]
        record = json.loads("".join(itertools.takewhile(lambda line: line != "}\n", lines)) + "}")
        self.url = str(record["url"])
        self.port = int(self.url.rpartition(":")[2])

    def memory(self, field: str) -> int:
        """VmRSS or VmHWM, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith(f"{field}:"))
        return int(line.split()[1]) * 1024

    def ask(self) -> None:
        urllib.request.urlopen(f"{self.url}/healthz", timeout=PROBE_SECONDS).close()  # noqa: S310

    def connect(self) -> socket.socket:
        return socket.create_connection((HOST, self.port), 30)

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextlib.contextmanager
def probing(target: Target, latencies: list[float]) -> Iterator[None]:
    """Ask for /healthz again and again, and note how long each answer takes."""
    done = threading.Event()

    def probe() -> None:
        while not done.wait(0.05):
            begun = time.monotonic()
            with contextlib.suppress(OSError):
                target.ask()
            latencies.append(time.monotonic() - begun)

    thread = threading.Thread(target=probe)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def pour(connection: socket.socket, head: bytes, count: int, piece: bytes = b"a" * 2**18) -> int:
    """Send a head and then so many bytes; how many went before the other side hung up."""
    sent = 0
    with contextlib.suppress(OSError):
        connection.sendall(head)
        while sent < count:
            connection.sendall(piece[: count - sent])
            sent += min(len(piece), count - sent)
    return sent


def answer_of(connection: socket.socket) -> bytes:
    with contextlib.suppress(OSError):
        connection.settimeout(PROBE_SECONDS)
        return connection.recv(2**16)
    return b""


def at_once(jobs: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def head_behind_live(target: Target) -> int:
    """The head of a second request, 400 MB long, while a stream of results is held."""
    with target.connect() as connection:
        connection.sendall(b"GET /v1/surveys/direct/live HTTP/1.1\r\nhost: x\r\n\r\n")
        time.sleep(0.5)
        return pour(connection, b"GET / HTTP/1.1\r\n", 400 * MEGABYTE, HEADERS)


def trailer(target: Target) -> int:
    """A trailer of 400 MB after a chunked body."""
    head = b"POST /v1/surveys/direct/reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    head += b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    with target.connect() as connection:
        return pour(connection, head, 400 * MEGABYTE, HEADERS)


def many_in_one_piece(target: Target) -> int:
    """200 connections, each with 10,000 requests at once."""
    connections = [target.connect() for _ in range(200)]
    request = b"GET /x HTTP/1.1\r\n\r\n" * 10_000
    begin = b"GET /v1/surveys/direct/live HTTP/1.1\r\nhost: x\r\n\r\n"
    for connection in connections:
        connection.settimeout(0.2)
        with contextlib.suppress(OSError):
            connection.sendall(begin + request)
    time.sleep(3)
    for connection in connections:
        connection.close()
    return len(connections) * len(request)


def bodies(target: Target, path: str, kind: str, count: int, size: int, start: bytes, piece: bytes) -> int:
    """So many bodies at once, each as long as said; how many bytes went in all."""
    sent: list[int] = []

    def one() -> None:
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {size}\r\n\r\n"
        with target.connect() as connection:
            connection.settimeout(PROBE_SECONDS)
            sent.append(pour(connection, head.encode() + start, size - len(start), piece))
            answer_of(connection)

    at_once([one] * count)
    return sum(sent)


def batches(target: Target) -> int:
    """Three batches of 2^28 bytes that no shuffler made."""
    path, kind = "/v1/surveys/shuffled/batches", "application/octet-stream"
    return bodies(target, path, kind, 3, 2**28, b"", b"a" * 2**18)


def json_bodies(target: Target) -> int:
    """Twelve JSON bodies of 16 MB, full of small values."""
    path = "/v1/surveys/direct/reports"
    return bodies(target, path, "application/json", 12, 2**24, b'{"reports":[{}', b",{}" * 2**16)


def line_bodies(target: Target) -> int:
    """Twelve bodies of 16 MB with nothing but ends of lines."""
    path = "/v1/surveys/direct/reports"
    return bodies(target, path, "application/x-ndjson", 12, 2**24, b"", b"\n" * 2**18)


def arrow_bodies(target: Target) -> int:
    """Twelve bodies of 16 MB that say they are columns."""
    path, kind = "/v1/surveys/direct/reports", "application/vnd.apache.arrow.stream"
    return bodies(target, path, kind, 12, 2**24, b"", b"\0" * 2**18)


ATTACKS: dict[str, Callable[[Target], int]] = {
    "a head behind /live": head_behind_live,
    "a trailer": trailer,
    "10,000 requests in one piece, 200 times": many_in_one_piece,
    "3 batches of 256 MB": batches,
    "12 JSON bodies of 16 MB": json_bodies,
    "12 bodies of 16 MB of empty lines": line_bodies,
    "12 Arrow bodies of 16 MB": arrow_bodies,
}


def measure(name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        target = Target(Path(folder))
        try:
            target.ask()
            before, latencies, begun = target.memory("VmRSS"), list[float](), time.monotonic()
            with probing(target, latencies):
                sent = ATTACKS[name](target)
            seconds, more = time.monotonic() - begun, target.memory("VmHWM") - before
        finally:
            target.stop()
    longest = max(latencies, default=0.0)
    return f"| {name} | {sent / 1e6:,.0f} | {max(more, 0) / 1e6:,.0f} | {seconds:.1f} | {longest:.2f} |"


def main() -> None:
    wanted = sys.argv[1:]
    print("| attack | MB sent | MB more memory | seconds | longest /healthz, s |\n| --- | --- | --- | --- | --- |")
    for name in ATTACKS:
        if not wanted or any(text in name for text in wanted):
            print(measure(name), flush=True)


if __name__ == "__main__":
    main()
