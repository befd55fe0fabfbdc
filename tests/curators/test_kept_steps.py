"""The steps of curators have a table of their own; files of earlier versions kept them among the reports of devices."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from curator_group import Group, write

from sottovoce.core import canonical
from sottovoce.core.errors import Refusal
from sottovoce.curators import federate
from sottovoce.curators.steps import STEPS
from sottovoce.device.ledger import Ledger

VERSION_4 = """
CREATE TABLE owner (budget REAL NOT NULL, delta REAL NOT NULL, unit REAL);
CREATE TABLE hiding (way TEXT NOT NULL, salt BLOB NOT NULL, proof BLOB NOT NULL);
CREATE TABLE pins (survey TEXT PRIMARY KEY, digest TEXT NOT NULL, key TEXT);
CREATE TABLE charges (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, survey TEXT NOT NULL, digest TEXT NOT NULL, wave INTEGER NOT NULL,
    question TEXT NOT NULL, epsilon REAL NOT NULL
);
CREATE TABLE memories (
    digest TEXT NOT NULL, question TEXT NOT NULL, memory TEXT NOT NULL, PRIMARY KEY (digest, question)
);
CREATE TABLE drafts (
    number INTEGER PRIMARY KEY, digest TEXT NOT NULL, wave INTEGER NOT NULL, body BLOB NOT NULL, submission BLOB,
    costs TEXT NOT NULL, UNIQUE (digest, wave)
);
CREATE TABLE reports (
    digest TEXT NOT NULL, wave INTEGER NOT NULL, body BLOB NOT NULL, at TEXT NOT NULL, PRIMARY KEY (digest, wave)
);
PRAGMA application_id = 0x736F7474;
PRAGMA user_version = 4;
"""
"""The tables as version 4 made them."""

SHARED_TABLES = ("owner", "hiding", "pins", "charges", "memories", "drafts")
SURVEY = "sha256:" + "0" * 64


def read(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def as_version_4(path: Path) -> None:
    """Write the file of a curator as version 4 had it, with a report of a survey of its owner's besides."""
    rows = {table: read(path, f"SELECT * FROM {table}") for table in SHARED_TABLES}  # noqa: S608
    steps = read(path, "SELECT task, step, answer, at FROM curator_steps")
    path.unlink()
    connection = sqlite3.connect(path)
    connection.executescript(VERSION_4)
    for table, found in rows.items():
        for row in found:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
    kept = [(task, STEPS.index(step), answer, at) for task, step, answer, at in steps]
    connection.executemany("INSERT INTO reports VALUES (?, ?, ?, ?)", [*kept, (SURVEY, 2, b"mine", "2029-01-01")])
    connection.commit()
    connection.close()


@pytest.fixture
def group(tmp_path: Path) -> Group:
    return Group(tmp_path, {name: write(tmp_path / f"{name}.csv", ["a", "b"]) for name in ("north", "south", "east")})


def test_an_old_file_gives_out_the_same_bytes_and_charges_nothing(group: Group, tmp_path: Path) -> None:
    task, path = group.task(), tmp_path / "north.sqlite"
    federate(task, group)
    before = read(path, "SELECT task, step, answer, at FROM curator_steps ORDER BY task, step")
    requests = [(step, request) for name, step, request in group.asked if name == "north"]
    answers = [canonical.dumps(group.curators["north"].step(step, request)) for step, request in requests]
    assert [step for step, _ in requests] == list(STEPS)
    as_version_4(path)
    again = group.restart("north")
    assert [canonical.dumps(again.step(step, request)) for step, request in requests] == answers
    assert len(again.ledger.charges()) == 1
    assert read(path, "SELECT task, step, answer, at FROM curator_steps ORDER BY task, step") == before
    assert read(path, "SELECT * FROM reports") == [(SURVEY, 2, b"mine", "2029-01-01")]
    assert read(path, "PRAGMA user_version") == [(5,)]
    with Ledger(path).transaction() as entries:
        assert entries.report(SURVEY, 2) == b"mine"


def test_an_old_file_still_refuses_a_second_group(group: Group, tmp_path: Path) -> None:
    """Without the steps of the old file a curator would give out other pieces of the same people."""
    federate(group.task(threshold=1, dropouts=1), group)
    share = next(request for name, step, request in group.asked if (name, step) == ("north", "share"))
    as_version_4(tmp_path / "north.sqlite")
    again = group.restart("north")
    with pytest.raises(Refusal, match="another roster"):
        again.step("share", share | {"roster": ["north", "south"]})
    with pytest.raises(Refusal, match="pinned"):
        again.agree(group.task(epsilon=0.5, threshold=1, dropouts=1).to_dict())


def test_a_move_that_fails_leaves_the_old_file(group: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sottovoce.device import ledger_schema

    path = tmp_path / "north.sqlite"
    federate(group.task(), group)
    as_version_4(path)
    before = read(path, "SELECT * FROM reports")

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute(ledger_schema.FROM_VERSION_4[0])
        connection.execute(ledger_schema.FROM_VERSION_4[2])
        raise KeyboardInterrupt

    monkeypatch.setattr(ledger_schema, "UPGRADES", {4: broken})
    with pytest.raises(KeyboardInterrupt):
        Ledger(path)
    monkeypatch.undo()
    assert read(path, "SELECT * FROM reports") == before and read(path, "PRAGMA user_version") == [(4,)]
    assert len(Ledger(path).charges()) == 1 and len(read(path, "SELECT * FROM curator_steps")) == 4
