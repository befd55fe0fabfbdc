"""The store in one file: SQLite, with a log that is written to the disk before a report is acknowledged."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from sottovoce.collector.group_key import KeyFiles
from sottovoce.collector.records import Full, Unavailable
from sottovoce.collector.store import Store
from sottovoce.errors import StoreError

APPLICATION = 0x736F6363  # "socc"
BUSY = 10.0
"""Seconds to wait for another process."""

LOG_BUSY_MILLISECONDS = 200
"""How long to wait for readers before the log is emptied. If they take longer, that is left to the next group."""

SETTINGS = ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "cache_size = -65536")

NUMBERS = "(WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) SELECT i FROM n)"


class SQLiteStore(Store):
    """A store in a file."""

    types: ClassVar = {
        "whole": "INTEGER",
        "int": "INTEGER",
        "blob": "BLOB",
        "keyed": "WITHOUT ROWID",
        "empty": "DELETE FROM",
        "numbers": NUMBERS,
    }
    begin: ClassVar = ("BEGIN IMMEDIATE",)

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._keys = KeyFiles(self.path)
        super().__init__()

    def _connect(self) -> Any:
        make_private(self.path)
        connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
        try:
            for setting in SETTINGS:
                connection.execute(f"PRAGMA {setting}")
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

    def _empty(self, connection: Any, table: str) -> None:
        connection.execute(f"DELETE FROM {table}")  # noqa: S608

    def _forget(self) -> None:
        """Destroy the keys of closed groups, and empty the log.

        A key is made within a transaction, so that within another one all files but that of the present key are old.
        """
        with self._transaction() as connection:
            row = connection.execute("SELECT name FROM waiting_key").fetchone()
            self._keys.destroy_all_but(bytes(row[0]) if row else None)
        with self._connection("write", self._writing) as connection:
            connection.execute(f"PRAGMA busy_timeout = {LOG_BUSY_MILLISECONDS}")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {int(BUSY * 1000)}")

    def _keep_secret(self, name: bytes, secret: bytes) -> bytes:
        """In a file of its own, since it could not be erased from the database and its log."""
        self._keys.write(name, secret)
        return b""

    def _find_secret(self, name: bytes, kept: bytes) -> bytes:
        return self._keys.read(name)

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in self.path.parent.glob(self.path.name + "*"))


def make_private(path: Path) -> None:
    """Make a database file, and see to it that only its owner reads it; SQLite gives its log the same permissions."""
    if not path.exists():  # To close a file drops all locks that this process holds on it, SQLite's too.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for one in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        with suppress(FileNotFoundError, PermissionError):  # A file of somebody else is theirs to protect.
            if one.stat().st_mode & 0o077:
                one.chmod(0o600)


def meaning(error: Exception, path: Path) -> Exception | None:
    """What an error of SQLite, or of the file under it, means; None if it is another one."""
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return Full("the disk is full")
        return Unavailable(f"{path}: cannot be opened: {error.strerror}")
    if not isinstance(error, sqlite3.Error):
        return None
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return Full("the disk is full")
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return StoreError(f"{path}: is not a store, or is damaged: {error}")
    return Unavailable(f"the store cannot be used: {error}")
