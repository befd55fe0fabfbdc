"""The store in one file: SQLite, with a log that is written to the disk before a report is acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.collector import schema
from sottovoce.collector.database import Connection, Cursor, Database, Dialect
from sottovoce.collector.group_key import KeyFiles
from sottovoce.collector.store import Store
from sottovoce.core.sqlite_file import SQLiteFile

if TYPE_CHECKING:
    import sqlite3

APPLICATION_ID = 0x736F6363  # "socc"
BUSY_SECONDS = 10.0
"""How long to wait for another process that writes."""

LOG_BUSY_MILLISECONDS = 200
"""How long to wait for readers before the log is emptied. If they take longer, that is left to the next group."""

SETTINGS = ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "cache_size = -65536")

NUMBERS = "(WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) SELECT i FROM n)"


class SQLite(Dialect):
    """A database in one file."""

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
        self._file = SQLiteFile(self.path, APPLICATION_ID, schema.VERSION, SETTINGS, BUSY_SECONDS)

    def connect(self) -> sqlite3.Connection:
        return self._file.connect()

    def run(self, connection: Connection, sql: str, values: Sequence[object] = ()) -> Cursor:
        return connection.execute(sql, values)

    def meaning(self, error: Exception) -> Exception | None:
        return self._file.meaning(error)

    def version(self, connection: Any) -> int:
        return self._file.version_of(connection)

    def set_version(self, connection: Any, version: int) -> None:
        self._file.set_version(connection, version)

    def empty(self, connection: Connection, table: str) -> None:
        connection.execute(f"DELETE FROM {table}")  # noqa: S608

    def erase_deleted(self, database: Database) -> None:
        """Destroy the keys of closed groups, and empty the log.

        A key is made within a transaction, so that within another one all files but that of the present key are old.
        """
        with database.transaction() as connection:
            row = connection.execute("SELECT name FROM waiting_key").fetchone()
            self._keys.destroy_all_but(bytes(row[0]) if row else None)
        with database.connection("write") as connection:
            connection.execute(f"PRAGMA busy_timeout = {LOG_BUSY_MILLISECONDS}")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")

    def keep_secret(self, name: bytes, secret: bytes) -> bytes:
        """In a file of its own, since it could not be erased from the database and its log."""
        self._keys.write(name, secret)
        return b""

    def find_secret(self, name: bytes, kept: bytes) -> bytes:
        return self._keys.read(name)


def sqlite_store(path: str | PathLike[str]) -> Store:
    """The store in a file, made if need be."""
    return Store(SQLite(path))
