"""Files that are still there, and whole, after the power was cut.

What a program writes reaches the disk when the file is synced; the name of a new or renamed file reaches it when its
folder is. Before that, the file may be empty, torn, or gone after a power cut, even though every program saw it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace(part: Path, path: Path) -> None:
    """Give the file `part` the name `path` beside it: after a power cut there is the old file or the new, whole."""
    sync_file(part)
    os.replace(part, path)
    sync_folder(path.parent)


def create(path: Path, data: bytes) -> None:
    """Make a file that only its owner may read, whole or not at all; `FileExistsError` if the name is taken."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")  # Its mode is 0600.
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        sync_file(part)
        os.link(part, path)  # Unlike a renaming, this never takes the place of another file.
    finally:
        part.unlink()
    sync_folder(path.parent)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder, and those above it, if they are not there."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(mode, exist_ok=True)
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Wait until what was written to a file is on the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk; Windows has no such call, and keeps names by itself."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
