"""The service between devices and collector that mixes reports it cannot read."""

from __future__ import annotations

from pathlib import Path

from sottovoce.core import durable
from sottovoce.core.errors import FileError
from sottovoce.shuffler.app import Shuffler
from sottovoce.shuffler.store import ShufflerStore
from sottovoce.survey import Survey

__all__ = ["Shuffler", "ShufflerStore", "open_store"]

STORE_FILE = "shuffler.sqlite"


def open_store(data: str | Path, survey: Survey, extra: int | None = None) -> ShufflerStore:
    """The store of a survey's shuffler in the folder `data`, made if need be."""
    folder = Path(data)
    try:
        durable.make_folder(folder, 0o700)
    except OSError as error:
        raise FileError(f"{folder}: cannot be made: {error.strerror}") from None
    return ShufflerStore(folder / STORE_FILE, survey, extra)
