"""A database with transactions. A dialect says what differs between SQLite and PostgreSQL.

Writers take turns, each in one short transaction, whichever process they are in: what is checked at its beginning still
holds at its end. A connection that failed is closed, and the next use opens another.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, Protocol

from sottovoce.collector import schema
from sottovoce.core.errors import SottovoceError, StoreUnavailable

Purpose = Literal["write", "read"]
"""What a connection is for: there is one of each."""

Row = tuple[Any, ...]
"""What a statement finds; its columns are those that the statement names."""


class Cursor(Protocol):
    """What a statement found or changed."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...  # A row, or None: the statement tells whether there must be one.

    def fetchall(self) -> list[Row]: ...


class Connection(Protocol):
    """A connection of `sqlite3` or `psycopg`. Statements with ? for their values go through `Dialect.run`."""

    def execute(self, sql: str, values: Sequence[object] = ..., /) -> Cursor: ...

    def close(self) -> None: ...


class Dialect(ABC):
    """What one kind of database does in its own way."""

    types: ClassVar[Mapping[str, str]]
    """Words that the statements of the schema leave open."""

    begin: ClassVar[tuple[str, ...]]
    """The statements that begin a transaction, once no other writer has one."""

    @abstractmethod
    def connect(self) -> Connection: ...

    @abstractmethod
    def run(self, connection: Connection, sql: str, values: Sequence[object] = ()) -> Cursor:
        """Run a statement with ? for its values; the cursor."""

    @abstractmethod
    def meaning(self, error: Exception) -> Exception | None:
        """The error to raise for one of the library; None if it is not one of the library."""

    @abstractmethod
    def version(self, connection: Connection) -> int:
        """The version of the schema in the database; 0 if there are no tables yet."""

    @abstractmethod
    def set_version(self, connection: Connection, version: int) -> None: ...

    @abstractmethod
    def empty(self, connection: Connection, table: str) -> None:
        """Delete all rows of a table, so that its files do not hold them any more once the transaction is committed."""

    @abstractmethod
    def erase_deleted(self, database: Database) -> None:
        """Remove what a log and old keys still tell of rows that were deleted, as far as the database lets us."""

    @abstractmethod
    def keep_secret(self, name: bytes, secret: bytes) -> bytes:
        """Keep the secret of a new key, and return what is to be written beside its name in the database."""

    @abstractmethod
    def find_secret(self, name: bytes, kept: bytes) -> bytes:
        """The secret of a key, from what is written beside its name."""


class Database:
    """Connections and transactions of one database, whose tables are those of this version."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._locks = {"write": threading.Lock(), "read": threading.Lock()}
        self._connections: dict[str, Connection] = {}
        try:
            self.migrate()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def connection(self, purpose: Purpose) -> Iterator[Connection]:
        """A connection for this thread alone; one that fails is closed."""
        with self._locks[purpose]:
            try:
                if purpose not in self._connections:
                    self._connections[purpose] = self.dialect.connect()
                yield self._connections[purpose]
            except SottovoceError:
                raise
            except BaseException as error:
                self._drop(purpose)
                meaning = self.dialect.meaning(error) if isinstance(error, Exception) else None
                if meaning is None:
                    raise
                raise meaning from error

    def _drop(self, purpose: str) -> None:
        connection = self._connections.pop(purpose, None)
        if connection is not None:
            try:
                connection.close()
            except Exception as error:
                if self.dialect.meaning(error) is None:
                    raise

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection whose statements are committed together at the end, or none of them if one fails."""
        with self.connection("write") as connection:
            for statement in self.dialect.begin:
                self.run(connection, statement)
            try:
                yield connection
            except SottovoceError:
                self.run(connection, "ROLLBACK")
                raise
            self.run(connection, "COMMIT")

    def run(self, connection: Connection, sql: str, values: Sequence[object] = ()) -> Cursor:
        """Run a statement with ? for its values; the cursor."""
        return self.dialect.run(connection, sql, values)

    def read(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """The rows that a statement finds. A connection may have broken since its last use, so it has a second try."""
        try:
            return self._fetch(sql, values)
        except StoreUnavailable:
            return self._fetch(sql, values)

    def _fetch(self, sql: str, values: Sequence[object]) -> list[Row]:
        with self.connection("read") as connection:
            return list(self.run(connection, sql, values).fetchall())

    def close(self) -> None:
        for purpose in list(self._connections):
            self._drop(purpose)

    def check(self) -> None:
        """Raise `StoreUnavailable` if the database does not answer."""
        self.read("SELECT 1")

    def erase_deleted(self) -> None:
        """Remove what a log and old keys still tell of rows that were deleted, as far as the database lets us."""
        self.dialect.erase_deleted(self)

    def migrate(self) -> None:
        """Bring the tables to this version, one step after the other, in one transaction."""
        with self.transaction() as connection:
            version = self.dialect.version(connection)
            schema.check_version(version)
            for step in schema.MIGRATIONS[version:]:
                step(_Migration(self.dialect, connection))
            if version < schema.VERSION:
                self.dialect.set_version(connection, schema.VERSION)
        self.erase_deleted()


class _Migration:
    """Runs the statements of a migration."""

    def __init__(self, dialect: Dialect, connection: Connection) -> None:
        self.dialect, self.connection = dialect, connection

    def script(self, statements: str) -> None:
        for statement in statements.format(**self.dialect.types).split(";"):
            if statement.strip():
                self.dialect.run(self.connection, statement)

    def finds(self, statement: str) -> bool:
        return self.dialect.run(self.connection, statement).fetchone() is not None
