"""Nothing lost, nothing twice: crashes at every step, kills under load, lost packets, full disks, lost databases."""

from __future__ import annotations

import json
import random
import secrets
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import sqlite_crash
from collector_service import (
    LINES,
    Inside,
    Postgres,
    check_sums,
    open_place,
    request,
    submission,
    survey,
)
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from service_processes import HOST, Child, FaultyProxy, Nursery, wait_until

from sottovoce.collector import Store, intake, openapi, sqlite, tokens
from sottovoce.collector.sqlite import sqlite_store
from sottovoce.collector.tallies import Tallies
from sottovoce.device import transport

KILLS = 25


@pytest.fixture
def place(place: list[str]) -> list[str]:
    """A store with a survey, of each kind."""
    store = open_place(place)
    store.publish(survey())
    store.close()
    return place


# Settings that a kill does not show: only a loss of power would.


def test_every_connection_waits_for_the_disk(tmp_path: Path) -> None:
    """Asked of the connections that a running collector writes and reads with, also after one was lost."""
    store = sqlite_store(tmp_path / "x.sqlite")
    store.publish(survey())
    inside = Inside(store, rate=None)
    for _ in range(2):
        assert inside.send(submission(survey())).status == 200 and check_sums(store)
        for kind in ("write", "read"):
            found = {name: store.database._connections[kind].execute(f"PRAGMA {name}").fetchone()[0]
                     for name in ("synchronous", "journal_mode", "secure_delete")}  # fmt: skip
            assert found == {"synchronous": 2, "journal_mode": "wal", "secure_delete": 1}
            store.database._drop(kind)
    inside.close()


def test_every_connection_to_a_database_waits_for_its_disk(server: Postgres) -> None:
    store = open_place(["--database", server.fresh()])
    name = store.database.read("SELECT current_database()")[0][0]
    server.run(f"ALTER DATABASE {name} SET synchronous_commit = off")
    store.close()
    store.publish(survey())
    inside = Inside(store, rate=None)
    assert inside.send(submission(survey())).status == 200
    assert store.database._connections["write"].execute("SHOW synchronous_commit").fetchone()[0] == "on"
    inside.close()


# A crash at every statement.


def die_at(path: Path, steps: int, body: bytes) -> bool:
    """Add one report in a process that dies before a statement; whether it lived to acknowledge."""

    def work() -> bytes:
        store = sqlite_store(path)
        to = store.survey("habits")
        assert to is not None
        return str(store.add([intake.read(body, intake.JSON, to, 1)])[0].accepted).encode()

    return sqlite_crash.run(steps, work, path.with_suffix(".acknowledged"))


def crash_everywhere(path: Path) -> None:
    """Die at every statement in turn: what was acknowledged is there, what is there is counted."""
    store = sqlite_store(path)
    store.publish(survey())
    acknowledged = 0
    for steps in range(40):
        acknowledged += die_at(path, steps, submission(survey()))
        count = check_sums(store)
        assert count >= acknowledged
        if acknowledged == 3:
            break
    assert acknowledged == 3
    store.close()


def test_a_crash_at_any_statement_loses_nothing_acknowledged(tmp_path: Path) -> None:
    crash_everywhere(tmp_path / "x.sqlite")


def test_the_crash_test_catches_a_tally_in_a_transaction_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Tallies.add_part

    def wrong(self: Any, connection: Any, *arguments: Any) -> None:
        self.database.run(connection, "COMMIT")
        self.database.run(connection, "BEGIN IMMEDIATE")
        right(self, connection, *arguments)

    monkeypatch.setattr(Tallies, "add_part", wrong)
    with pytest.raises(AssertionError):
        crash_everywhere(tmp_path / "x.sqlite")


# Kills under load, through a proxy that loses requests and answers.


class Senders:
    """Devices that send until they are told to stop, and note what was acknowledged."""

    def __init__(self, url: str, count: int) -> None:
        self.url, self.sent, self.acknowledged = url, dict[str, bytes](), set[str]()
        self.duplicates, self.stopped = 0, threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(number,)) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def _run(self, seed: int) -> None:
        choice = random.Random(seed)
        while not self.stopped.is_set():
            names = [secrets.token_hex(16) for _ in range(choice.choice([1, 1, 1, 8]))]
            made = {name: submission(survey(), choice.randrange(2), name=name) for name in names}
            self.sent |= made
            self.try_to_send(made, attempts=3)

    def try_to_send(self, made: dict[str, bytes], attempts: int) -> None:
        try:
            pause = lambda seconds: time.sleep(min(seconds, 0.05))  # noqa: E731
            body = b"\n".join(made.values())
            taken = transport.send(self.url, body, LINES, attempts=attempts, timeout=5, sleep=pause)
        except transport.Undelivered:
            return
        assert taken["accepted"] + taken["duplicates"] == len(made)
        self.duplicates += taken["duplicates"]
        self.acknowledged |= set(made)

    def stop(self) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join()


def stored(store: Store) -> list[str]:
    to = store.survey("habits")
    assert to is not None
    return [row[1].hex() for rows in store.reports(to) for row in rows]


@pytest.mark.slow
def test_kills_under_load_lose_nothing_and_count_nothing_twice(nest: Nursery, place: list[str]) -> None:
    """Killed at random moments, 25 times; then what is left over is sent again, and all is there once."""
    proxy, moment = FaultyProxy(seed=1), random.Random(2)
    child = nest.start(place)
    proxy.target = child.port
    senders = Senders(f"http://{HOST}:{proxy.port}/v1/surveys/habits", 4)
    try:
        for _ in range(KILLS):
            time.sleep(moment.uniform(0.02, 0.6))
            child.kill()
            child = nest.start(place)
            proxy.target = child.port
        time.sleep(0.5)
    finally:
        senders.stop()
        proxy.close()
        child.kill()
    store = open_place(place)
    found = stored(store)
    assert len(found) == len(set(found)) == check_sums(store)
    assert senders.acknowledged <= set(found) <= set(senders.sent)
    assert len(senders.acknowledged) > 100 and senders.duplicates > 0 and len(proxy.fates) == 4
    again = nest.start(place)
    senders.url = f"{again.url}/v1/surveys/habits"
    left = {name: body for name, body in senders.sent.items() if name not in senders.acknowledged}
    for name, body in left.items():
        senders.try_to_send({name: body}, attempts=5)
    again.kill(signal.SIGTERM)
    assert set(stored(store)) == set(senders.sent) == senders.acknowledged
    assert check_sums(store) == len(senders.sent)
    store.close()


def test_the_end_drains_and_acknowledges(nest: Nursery, place: list[str]) -> None:
    """SIGTERM under load: every answer that came is true, and no request that was taken in is left without one."""
    child = nest.start(place)
    senders = Senders(f"{child.url}/v1/surveys/habits", 3)
    time.sleep(0.5)
    child.kill(signal.SIGTERM)
    wait_until(lambda: not child.running)
    senders.stop()
    store = open_place(place)
    found = stored(store)
    assert len(found) == check_sums(store) and senders.acknowledged <= set(found)
    assert set(found) == senders.acknowledged and len(found) > 0
    store.close()


# Disks and databases.


def test_a_full_disk_is_said_so_and_passes(tmp_path: Path) -> None:
    store = sqlite_store(tmp_path / "x.sqlite")
    store.publish(survey())
    inside = Inside(store, rate=None)
    assert inside.send(submission(survey())).status == 200
    pages = store.database._connections["write"].execute("PRAGMA page_count").fetchone()[0]
    connect = store.database.dialect.connect

    def full() -> Any:
        connection = connect()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    store.database._drop("write")
    store.database.dialect.connect = full  # type: ignore[method-assign]
    lines = b"\n".join(submission(survey()) for _ in range(500))
    answer = inside.send(lines, LINES)
    assert (answer.status, answer.code) == (507, "storage_full") and check_sums(store) == 1
    store.database.dialect.connect = connect  # type: ignore[method-assign]
    assert inside.send(lines, LINES).json == {"accepted": 500, "duplicates": 0}
    assert check_sums(store) == 501
    inside.close()


def test_a_full_disk_of_a_database_is_said_so(server: Postgres) -> None:
    import psycopg

    from sottovoce.collector.postgres import postgres_store
    from sottovoce.core.errors import StoreFull, StoreUnavailable

    store = postgres_store(server.fresh())
    assert isinstance(store.database.dialect.meaning(psycopg.errors.DiskFull("no space")), StoreFull)
    assert type(store.database.dialect.meaning(psycopg.OperationalError("gone"))) is StoreUnavailable
    assert store.database.dialect.meaning(KeyError()) is None
    store.close()


def test_a_locked_file_is_waited_for_then_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    store = sqlite_store(tmp_path / "x.sqlite")
    store.publish(survey())
    inside = Inside(store, rate=None)
    other = sqlite3.connect(tmp_path / "x.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    body = submission(survey())
    answer = inside.send(body)
    assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "storage_unavailable", "1")
    other.execute("ROLLBACK")
    other.close()
    assert inside.send(body).json["accepted"] == 1
    inside.close()


def test_a_database_that_goes_and_comes_back(server: Postgres) -> None:
    """While it is away all is refused with a clear status; when it is back all works without hands."""
    store = open_place(["--database", server.fresh()])
    store.publish(survey())
    inside = Inside(store, rate=None)
    body = submission(survey())
    assert inside.send(body).status == 200
    server.stop()
    try:
        answer = inside.send(submission(survey()))
        assert (answer.status, answer.code) == (503, "storage_unavailable")
        assert inside("GET", "/healthz").status == 503
        assert inside("GET", "/v1/surveys/habits/estimates", token=inside.analyst).status == 503
    finally:
        server.start()
    assert inside.send(body).json == {"accepted": 0, "duplicates": 1}
    assert inside.send(submission(survey())).status == 200 and inside("GET", "/healthz").status == 200
    assert check_sums(store) == 2
    inside.close()


def test_a_connection_that_breaks_between_two_reports(server: Postgres) -> None:
    store = open_place(["--database", server.fresh()])
    store.publish(survey())
    inside = Inside(store, rate=None)
    inside.send(submission(survey()))
    server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
               " AND backend_type = 'client backend'")  # fmt: skip
    assert inside.send(submission(survey())).json["accepted"] == 1
    assert check_sums(store) == 2
    inside.close()


# Clients that are slow, or gone.


def post(size: int, name: str = "habits") -> bytes:
    head = f"POST /v1/surveys/{name}/reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {size}\r\n\r\n".encode()


@pytest.fixture(scope="module")
def hasty(nest: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    place = ["--data", str(tmp_path_factory.mktemp("hasty"))]
    store = open_place(place)
    store.publish(survey())
    store.close()
    child = nest.start(place, {"body_seconds": 0.5}, {"head_seconds": 0.5})
    yield child
    child.kill(signal.SIGTERM)


def talk(child: Child, *parts: bytes, pause: float = 0.0) -> bytes:
    """Send parts, with pauses; all that comes back until the other side ends."""
    with socket.create_connection((HOST, child.port), 10) as connection:
        connection.settimeout(10)
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            return b"".join(iter(lambda: connection.recv(65536), b""))
        except ConnectionError:
            return b""


def test_half_a_body_gets_a_408(hasty: Child) -> None:
    body = submission(survey())
    answer = talk(hasty, post(len(body)), body[: len(body) // 2])
    assert answer.startswith(b"HTTP/1.1 408 ") and b'"too_slow"' in answer


def test_a_body_by_the_byte_gets_a_408(hasty: Child) -> None:
    answer = talk(hasty, post(1000), *[b"{"] * 3, pause=0.12)
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_half_a_head_is_cut_off(hasty: Child) -> None:
    start = time.monotonic()
    assert talk(hasty, post(10)[:40]) == b""
    assert talk(hasty, b"") == b""
    assert talk(hasty, b"GET / HTTP/1.1\r\n", *[b"x: y\r\n"] * 10, pause=0.12) == b""
    assert time.monotonic() - start < 8


def test_a_head_without_end_is_cut_off(hasty: Child) -> None:
    assert talk(hasty, b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000).startswith((b"", b"HTTP/1.1 400"))
    assert request(f"{hasty.url}/healthz", None)[0] == 200


def test_garbage_is_a_400(hasty: Child) -> None:
    head, _, body = talk(hasty, b"\x16\x03\x01\x02\x00\x01garbage\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400") and json.loads(body)["error"]["code"] == "bad_http"


def test_one_connection_too_many_gets_a_503(nest: Nursery, tmp_path: Path) -> None:
    child = nest.start(["--data", str(tmp_path)], run={"connections": 2})
    with socket.create_connection((HOST, child.port)), socket.create_connection((HOST, child.port)):
        status, body = request(f"{child.url}/healthz", None)
        assert (status, json.loads(body)["error"]["code"]) == (503, "busy")
    wait_until(lambda: request(f"{child.url}/healthz", None)[0] == 200)
    child.kill(signal.SIGTERM)


def test_a_client_that_leaves_in_the_middle_changes_nothing(hasty: Child) -> None:
    body = submission(survey())
    for _ in range(5):
        with socket.create_connection((HOST, hasty.port), 5) as connection:
            connection.sendall(post(len(body)) + body[:50])
    wait_until(lambda: b'reason="disconnected"} 5' in request(f"{hasty.url}/metrics", None)[1], 10)
    assert request(f"{hasty.url}/v1/surveys/habits/reports", body)[1] == b'{"accepted": 1, "duplicates": 0}'


def test_too_large_a_body_is_refused_before_it_is_sent(hasty: Child) -> None:
    answer = talk(hasty, post(2**40))
    assert answer.startswith(b"HTTP/1.1 413 ")


# What the description says is what happens.


@pytest.fixture(scope="module")
def described(nest: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Child, str]]:
    place = ["--data", str(tmp_path_factory.mktemp("described"))]
    store = open_place(place)
    store.publish(survey())
    token, _ = tokens.create(store, "admin")
    store.close()
    child = nest.start(place)
    yield child, token
    child.kill(signal.SIGTERM)


DESCRIPTION = json.loads(json.dumps(openapi.document()))
SCHEMA: Any = schemathesis.openapi.from_dict(DESCRIPTION)
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_requests_made_from_the_description_have_the_answers_it_names(
    operation: Any, described: tuple[Child, str]
) -> None:
    child, token = described

    @settings(max_examples=12, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        if "id" in (case.path_parameters or {}) and random.Random(repr(case.path_parameters)).random() < 0.5:
            case.path_parameters["id"] = "habits"
        if operation.path.endswith("/live"):
            case.query = {**(case.query or {}), "events": 1}  # Others have no end.
        headers = {"authorization": f"Bearer {token}"}
        case.call_and_validate(base_url=child.url, headers=headers, checks=CHECKS, timeout=20)

    check()
