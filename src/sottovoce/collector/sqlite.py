"""The store in one file: SQLite, with a log that is written to the disk before a report is acknowledged."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from sottovoce.collector.records import Full, Unavailable
from sottovoce.collector.store import Store
from sottovoce.errors import StoreError

APPLICATION = 0x736F6363  # "socc"
BUSY = 10.0
"""Seconds to wait for another process."""

NUMBERS = "(WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) SELECT i FROM n)"


class SQLiteStore(Store):
    """A store in a file."""

    types: ClassVar = {
        "whole": "INTEGER",
        "int": "INTEGER",
        "blob": "BLOB",
        "keyed": "WITHOUT ROWID",
        "numbers": NUMBERS,
    }
    begin: ClassVar = ("BEGIN IMMEDIATE",)

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        super().__init__()

    def _connect(self) -> Any:
        if not self.path.exists():  # To close a file drops all locks that this process holds on it, SQLite's too.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA cache_size = -65536")
        except BaseException:
            connection.close()
            raise
        return connection

    def _run(self, connection: Any, sql: str, values: Sequence[Any] = ()) -> Any:
        return connection.execute(sql, values)

    def _error(self, error: Exception) -> Exception | None:
        return meaning(error, self.path)

    def _version(self, connection: Any) -> int:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if application not in (0, APPLICATION) or (application == 0 and version != 0):
            raise StoreError(f"{self.path}: is the database of another program")
        return version

    def _set_version(self, connection: Any, version: int) -> None:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {version}")

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in self.path.parent.glob(self.path.name + "*"))


def meaning(error: Exception, path: Path) -> Exception | None:
    """What an error of SQLite, or of the file under it, means; None if it is another one."""
    if isinstance(error, OSError):
        return Unavailable(f"{path}: cannot be opened: {error.strerror}")
    if not isinstance(error, sqlite3.Error):
        return None
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return Full("the disk is full")
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return StoreError(f"{path}: is not a store, or is damaged: {error}")
    return Unavailable(f"the store cannot be used: {error}")
