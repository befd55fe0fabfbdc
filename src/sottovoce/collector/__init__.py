"""The service that takes reports in: durable, private, with no statistics of its own."""

from __future__ import annotations

from pathlib import Path

from sottovoce.collector.app import Collector
from sottovoce.collector.store import Store
from sottovoce.core import durable
from sottovoce.core.errors import FileError, StoreUnavailable

__all__ = ["Collector", "Store", "StoreUnavailable", "open_store"]

FILE = "collector.sqlite"


def open_store(data: str | Path | None = None, database: str | None = None) -> Store:
    """The store in PostgreSQL if a database is named, otherwise in a file in the folder `data`, made if need be."""
    if database is not None:
        from sottovoce.collector.postgres import postgres_store

        return postgres_store(database)
    from sottovoce.collector.sqlite import sqlite_store

    folder = Path(data or ".")
    try:
        durable.make_folder(folder, 0o700)
    except OSError as error:
        raise FileError(f"{folder}: cannot be made: {error.strerror}") from None
    return sqlite_store(folder / FILE)
