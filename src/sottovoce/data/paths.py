"""Files that cannot be read, in one line; files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sottovoce.core import durable
from sottovoce.core.errors import DomainError, FileError, ParameterError


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what a library says about an unreadable file into one line."""
    try:
        yield
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except (OSError, EOFError, ValueError, RecursionError) as error:  # ArrowInvalid is a ValueError.
        if isinstance(error, FileError | DomainError | ParameterError):
            raise
        if path.is_file() and not path.stat().st_size:
            raise FileError(f"{path}: the file is empty") from None
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(f"{path}: cannot be read: {reason}") from None


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its name when all went well, and vanishes when not.

    Once it has the name, it is on the disk, and stays there when the power is cut.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}") from None
    os.close(handle)
    part = Path(name)
    try:
        yield part
        os.chmod(part, 0o666 & ~_umask())
        durable.replace(part, path)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
