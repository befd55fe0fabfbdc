"""A database with transactions: what is the same for SQLite and PostgreSQL, and what a dialect must say.

Writers take turns, each in one short transaction, whichever process they are in: what is checked at its beginning still
holds at its end. A connection that failed is closed, and the next use opens another.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from sottovoce.collector import schema
from sottovoce.collector.records import Unavailable
from sottovoce.errors import SottovoceError


class Database(ABC):
    """A database with the tables of a collector. A dialect is a subclass of `Store`."""

    types: ClassVar[Mapping[str, str]]
    begin: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._connections: dict[str, Any] = {}
        try:
            self.migrate()
        except BaseException:
            self.close()
            raise

    # What a dialect says.

    @abstractmethod
    def _connect(self) -> Any: ...

    @abstractmethod
    def _run(self, connection: Any, sql: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement with ? for its values; the cursor."""

    @abstractmethod
    def _error(self, error: Exception) -> Exception | None:
        """What an error of the library means; None if it is not one."""

    @abstractmethod
    def _version(self, connection: Any) -> int: ...

    @abstractmethod
    def _set_version(self, connection: Any, version: int) -> None: ...

    @abstractmethod
    def _empty(self, connection: Any, table: str) -> None:
        """Delete all rows of a table, so that its files do not hold them any more once the transaction is committed."""

    @abstractmethod
    def _forget(self) -> None:
        """Remove what a log and old keys still tell of rows that were deleted, as far as the database lets us."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes that the store takes."""

    # Connections: one that writes, one that reads.

    @contextmanager
    def _connection(self, kind: str, lock: threading.Lock) -> Iterator[Any]:
        with lock:
            try:
                if kind not in self._connections:
                    self._connections[kind] = self._connect()
                yield self._connections[kind]
            except SottovoceError:
                raise
            except BaseException as error:
                self._drop(kind)
                meaning = self._error(error) if isinstance(error, Exception) else None
                if meaning is None:
                    raise
                raise meaning from error

    def _drop(self, kind: str) -> None:
        connection = self._connections.pop(kind, None)
        if connection is not None:
            try:
                connection.close()
            except Exception as error:
                if self._error(error) is None:
                    raise

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._connection("write", self._writing) as connection:
            for statement in self.begin:
                self._run(connection, statement)
            try:
                yield connection
            except SottovoceError:
                self._run(connection, "ROLLBACK")
                raise
            self._run(connection, "COMMIT")

    def _read(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows that a statement finds. A connection may have broken since its last use, so it has a second try."""
        try:
            return self._fetch(sql, values)
        except Unavailable:
            return self._fetch(sql, values)

    def _fetch(self, sql: str, values: Sequence[Any]) -> list[Any]:
        with self._connection("read", self._reading) as connection:
            return list(self._run(connection, sql, values).fetchall())

    def close(self) -> None:
        for kind in list(self._connections):
            self._drop(kind)

    def check(self) -> None:
        """Raise `Unavailable` if the database does not answer."""
        self._read("SELECT 1")

    # The schema.

    def migrate(self) -> None:
        """Bring the store to this version, one step after the other, in one transaction."""
        with self._transaction() as connection:
            version = self._version(connection)
            schema.check_version(version)
            for step in schema.MIGRATIONS[version:]:
                step(_Runner(self, connection))
            if version < schema.VERSION:
                self._set_version(connection, schema.VERSION)
        self._forget()


class _Runner:
    """Runs the statements of a migration."""

    def __init__(self, database: Database, connection: Any) -> None:
        self.database, self.connection = database, connection

    def script(self, statements: str) -> None:
        for statement in statements.format(**self.database.types).split(";"):
            if statement.strip():
                self.database._run(self.connection, statement)

    def finds(self, statement: str) -> bool:
        return self.database._run(self.connection, statement).fetchone() is not None
