"""Opening a SQLite file: whose it is, of which version, for whom, and what its errors mean."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from sottovoce.core.errors import StoreError, StoreFull, StoreUnavailable
from sottovoce.core.sqlite_file import REWRITE, SQLiteFile, Upgrade

CATS = 0x63617473


def cats(path: Path, version: int = 1, busy_seconds: float = 10.0) -> SQLiteFile:
    return SQLiteFile(path, CATS, version, ("synchronous = FULL", "secure_delete = ON"), busy_seconds)


def make(path: Path) -> None:
    """A file of version 1 with a name that was deleted, and whose bytes are still there."""
    file = cats(path)
    connection = file.connect()
    connection.execute("PRAGMA secure_delete = OFF")
    with file.transaction(connection):
        connection.execute("CREATE TABLE cats (name TEXT)")
        connection.executemany("INSERT INTO cats VALUES (?)", [("Tom",), ("Secret" * 20,)])
        file.set_version(connection, 1)
    connection.execute("DELETE FROM cats WHERE name != 'Tom'")
    connection.close()


def add_age(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE cats ADD COLUMN age INTEGER")


STEPS: Mapping[int, Upgrade | None] = {1: add_age, 2: REWRITE}


def test_settings_hold_for_every_connection(tmp_path: Path) -> None:
    file = cats(tmp_path / "x")
    for _ in range(2):
        connection = file.connect()
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "secure_delete")]
        connection.close()
        assert found == [2, 1]
    assert (tmp_path / "x").stat().st_mode & 0o077 == 0


def test_an_older_file_is_brought_up_to_date_and_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "x"
    make(path)
    assert b"SecretSecret" in path.read_bytes()
    file = cats(path, 3)
    connection = file.connect()
    file.upgrade(connection, STEPS)
    assert connection.execute("SELECT * FROM cats").fetchall() == [("Tom", None)] and file.version_of(connection) == 3
    file.upgrade(connection, {})  # There is nothing left to do.
    connection.close()
    assert b"SecretSecret" not in path.read_bytes()


def test_a_step_that_fails_is_done_again(tmp_path: Path) -> None:
    make(tmp_path / "x")
    file = cats(tmp_path / "x", 3)
    connection = file.connect()

    def broken(connection: sqlite3.Connection) -> None:
        add_age(connection)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        file.upgrade(connection, {1: broken})
    assert file.version_of(connection) == 1 and not connection.in_transaction
    file.upgrade(connection, STEPS)
    assert file.version_of(connection) == 3
    connection.close()


def test_many_may_bring_one_file_up_to_date(tmp_path: Path) -> None:
    """Each step is taken once: a second `ADD COLUMN` would fail."""
    make(tmp_path / "x")
    file, errors = cats(tmp_path / "x", 3, 30.0), list[Exception]()

    def run() -> None:
        connection = file.connect()
        try:
            file.upgrade(connection, STEPS)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    connection = file.connect()
    assert errors == [] and file.version_of(connection) == 3
    connection.close()


def test_an_empty_file_stays_empty(tmp_path: Path) -> None:
    file = cats(tmp_path / "x", 3)
    connection = file.connect()
    file.upgrade(connection, STEPS)
    assert file.version_of(connection) == 0
    connection.close()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("CREATE TABLE dogs (name)", "x: is the database of another program"),
        ("PRAGMA user_version = 1", "another program"),
        ("PRAGMA application_id = 5; PRAGMA user_version = 1", "another program"),
        (f"PRAGMA application_id = {CATS}", "another program"),
        (f"PRAGMA application_id = {CATS}; PRAGMA user_version = 9", "x: the store has version 9, newer than"),
    ],
)
def test_files_of_others_and_of_later_programs_are_refused(tmp_path: Path, script: str, message: str) -> None:
    other = sqlite3.connect(tmp_path / "x")
    other.executescript(script)
    other.close()
    file = cats(tmp_path / "x", 3)
    connection = file.connect()
    with pytest.raises(StoreError, match=message):
        file.upgrade(connection, STEPS)
    connection.close()


def failure(file: SQLiteFile, script: str) -> StoreError | None:
    """What the error of a script means."""
    connection = None
    try:
        connection = file.connect()
        connection.executescript(script)
    except Exception as error:
        return file.meaning(error)
    finally:
        if connection is not None:
            connection.close()
    return None


def test_what_errors_mean(tmp_path: Path) -> None:
    make(tmp_path / "x")
    file = cats(tmp_path / "x", busy_seconds=0.05)
    full = failure(file, "PRAGMA max_page_count = 2; CREATE TABLE a (b); INSERT INTO a VALUES (zeroblob(100000))")
    assert type(full) is StoreFull and str(full) == "the disk is full"
    writer = file.connect()
    writer.execute("BEGIN EXCLUSIVE")
    locked = failure(file, "BEGIN IMMEDIATE")
    writer.close()
    assert type(locked) is StoreUnavailable and str(locked).endswith("x: cannot be used: database is locked")
    (tmp_path / "text").write_text("no database" * 100)
    damaged = failure(cats(tmp_path / "text"), "SELECT * FROM sqlite_master")
    assert type(damaged) is StoreError and "is not a store, or is damaged" in str(damaged)
    missing = failure(cats(tmp_path / "no" / "folder"), "SELECT 1")
    assert type(missing) is StoreUnavailable and "cannot be opened" in str(missing)
    assert file.meaning(ValueError("x")) is None
    assert type(file.meaning(OSError(28, "No space left on device"))) is StoreFull
    assert type(file.meaning(OSError(5, "Input/output error"))) is StoreUnavailable
