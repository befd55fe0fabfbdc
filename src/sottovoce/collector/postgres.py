"""The store in PostgreSQL, which several collectors may share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sottovoce.collector.database import Connection, Cursor, Database, Dialect
from sottovoce.collector.store import Store
from sottovoce.core.errors import StoreFull, StoreUnavailable
from sottovoce.core.lazy import load

WRITERS_LOCK = 0x736F6363
"""Writers of all collectors take turns by this advisory lock, held until the transaction ends."""

CONNECTION_OPTIONS = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
SESSION_SETTINGS = (
    "SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = '60s'; SET synchronous_commit = on"
)

LOCK_TIMEOUT = "2s"
"""How long to wait for a reader of the whole table, such as a backup. After that the group stays open for longer."""


class Postgres(Dialect):
    """The database that `url` (postgresql://...) names."""

    types: ClassVar = {
        "whole": "BIGINT",
        "int": "INTEGER",
        "blob": "BYTEA",
        "keyed": "",
        "empty": "TRUNCATE",
        "numbers": "generate_series(0, CAST(? AS INTEGER) - 1) AS numbers(i)",
    }
    begin: ClassVar = ("BEGIN", f"SELECT pg_advisory_xact_lock({WRITERS_LOCK})")

    def __init__(self, url: str) -> None:
        self.url = url
        self._psycopg = load("psycopg")

    def connect(self) -> Connection:
        connection: Connection = self._psycopg.connect(self.url, autocommit=True, **CONNECTION_OPTIONS)
        connection.execute(SESSION_SETTINGS)
        return connection

    def run(self, connection: Any, sql: str, values: Sequence[object] = ()) -> Cursor:
        cursor: Cursor = connection.execute(sql.replace("?", "%s"), values or None, binary=True)
        return cursor

    def meaning(self, error: Exception) -> Exception | None:
        if not isinstance(error, self._psycopg.Error):
            return None
        reason = " ".join(str(error).split())
        full = isinstance(error, self._psycopg.errors.DiskFull)
        return (
            StoreFull("the disk of the database is full")
            if full
            else StoreUnavailable(f"the database fails: {reason:.200}")
        )

    def version(self, connection: Connection) -> int:
        connection.execute("SET LOCAL statement_timeout = 0")  # An upgrade may rewrite a large table.
        connection.execute("CREATE TABLE IF NOT EXISTS meta (version BIGINT NOT NULL)")
        found = connection.execute("SELECT version FROM meta").fetchone()
        return int(found[0]) if found else 0

    def set_version(self, connection: Connection, version: int) -> None:
        connection.execute("DELETE FROM meta")
        connection.execute("INSERT INTO meta VALUES (%s)", [version])

    def empty(self, connection: Connection, table: str) -> None:
        """Deleted rows stay in their file until it is vacuumed; TRUNCATE takes another file and removes the old one."""
        connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        connection.execute(f"TRUNCATE {table}")

    def erase_deleted(self, database: Database) -> None:
        """Nothing: what its log keeps is up to the server."""

    def keep_secret(self, name: bytes, secret: bytes) -> bytes:
        """In the database: all collectors that share it need the key, and have nothing else in common."""
        return secret

    def find_secret(self, name: bytes, kept: bytes) -> bytes:
        return kept


def postgres_store(url: str) -> Store:
    """The store in the database that `url` names; its tables are made if need be."""
    return Store(Postgres(url))
