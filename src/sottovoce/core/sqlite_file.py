"""A SQLite file of this program: for its owner alone, with fixed settings, a version, and errors in plain words.

The standard library is enough for it, as devices have no more.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike

from sottovoce.core import private_files
from sottovoce.core.errors import StoreError, StoreFull, StoreUnavailable

Upgrade = Callable[[sqlite3.Connection], None]
"""Changes the tables of one version into those of the next, inside a transaction."""

REWRITE: None = None
"""A step to the next version in which nothing changes, but every byte that was ever deleted is gone from the file."""

PRIMARY_CODE = 0xFF
"""SQLite's extended error codes have the code of their kind in the lowest byte."""


@dataclass(frozen=True)
class SQLiteFile:
    """What all connections to a file have in common. `settings` are pragmas, such as "synchronous = FULL".

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = SQLiteFile(folder + "/cats.sqlite", 0x63617473, version=1, settings=("synchronous = FULL",))
    ...     connection = file.connect()
    ...     before = file.version_of(connection)
    ...     with file.transaction(connection):
    ...         _ = connection.execute("CREATE TABLE cats (name TEXT)")
    ...         file.set_version(connection, 1)
    ...     before, file.version_of(connection), connection.close()
    (0, 1, None)
    """

    path: str | PathLike[str]
    application_id: int
    version: int
    settings: Sequence[str]
    busy_seconds: float = 10.0
    """How long to wait for another process that writes."""

    def connect(self) -> sqlite3.Connection:
        """A connection that begins no transaction by itself. A file that is missing is made."""
        private_files.prepare_database(self.path)
        connection = sqlite3.connect(
            self.path, timeout=self.busy_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            for setting in self.settings:
                connection.execute(f"PRAGMA {setting}")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def transaction(self, connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
        """All or nothing, with no other writer between its beginning and its end."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            if connection.in_transaction:  # A full disk ends it by itself.
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    # Versions.

    def version_of(self, connection: sqlite3.Connection) -> int:
        """The version of the tables, 0 if there are none; `StoreError` if they are not of this program, or too new."""
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if (application, version) == (0, 0) and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            return 0
        if application != self.application_id or version < 1:
            raise StoreError(f"{self.path}: is the database of another program")
        if version > self.version:
            newest = f"newer than this program's {self.version}"
            raise StoreError(f"{self.path}: the store has version {version}, {newest}: update it")
        return version

    def set_version(self, connection: sqlite3.Connection, version: int) -> None:
        """Note whose tables these are and of which version, inside the transaction that made them."""
        connection.execute(f"PRAGMA application_id = {self.application_id}")
        connection.execute(f"PRAGMA user_version = {version}")

    def upgrade(self, connection: sqlite3.Connection, steps: Mapping[int, Upgrade | None]) -> None:
        """Bring an older file to this version; an empty one stays empty. `steps` has, by version, how to leave it.

        Each step is a transaction: cut short, it is done again at the next opening. Another process may do the same.
        """
        while 0 < (version := self.version_of(connection)) < self.version:
            step = steps[version]
            if step is REWRITE:
                _rewrite(connection)
            with self.transaction(connection):
                if self.version_of(connection) == version:
                    if step is not None:
                        step(connection)
                    self.set_version(connection, version + 1)

    # Errors.

    def meaning(self, error: Exception) -> StoreError | None:
        """What an error of SQLite, or of the file under it, means; None if it is another one."""
        if isinstance(error, OSError):
            if error.errno == errno.ENOSPC:
                return StoreFull("the disk is full")
            return StoreUnavailable(f"{self.path}: cannot be opened: {error.strerror}")
        if not isinstance(error, sqlite3.Error):
            return None
        code, message = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE, " ".join(str(error).split())
        if code == sqlite3.SQLITE_FULL:
            return StoreFull("the disk is full")
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return StoreError(f"{self.path}: is not a store, or is damaged: {message}")
        if code == sqlite3.SQLITE_CANTOPEN:
            return StoreUnavailable(f"{self.path}: cannot be opened: {message}")
        return StoreUnavailable(f"{self.path}: cannot be used: {message}")


def _rewrite(connection: sqlite3.Connection) -> None:
    """Write the whole file anew, outside a transaction: no byte stays of what was ever deleted from it."""
    connection.execute("PRAGMA temp_store = MEMORY")  # The copy does not lie in a folder that others share.
    connection.execute("VACUUM")
