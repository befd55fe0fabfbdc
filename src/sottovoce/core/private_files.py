"""Files that only their owner may read, whatever the umask says."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

OWNER_ONLY = 0o600
OTHERS = stat.S_IRWXG | stat.S_IRWXO
SIDE_FILES = ("-wal", "-shm", "-journal")
"""What SQLite writes beside a database. New ones get the mode of the database itself."""


def close_to_others(path: str | os.PathLike[str]) -> None:
    """Take a file away from everybody but its owner. What cannot be changed, or is no file, stays as it is."""
    with suppress(OSError, ValueError):
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode) and mode & OTHERS:
            os.chmod(path, OWNER_ONLY)


def prepare_database(path: str | os.PathLike[str]) -> None:
    """Before SQLite opens a database: make it if it is not there, and close it and its side files to others.

    A symbolic link is followed, as SQLite does, also to a file that is not there yet. An existing file is not opened
    here: closing it would drop all locks that this process holds on it, SQLite's too.
    """
    with suppress(OSError, ValueError):  # SQLite has the better message.
        path = os.path.realpath(path)
        if not Path(path).exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    for suffix in ("", *SIDE_FILES):
        close_to_others(f"{os.fspath(path)}{suffix}")
