"""A store that dies at a chosen step, as a device does whose battery is empty."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any


def dying(steps: int) -> type[sqlite3.Connection]:
    """A connection whose process ends, without a word to anybody, before the statement after so many."""
    left = [steps]

    class Dying(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            _step(left)
            return super().execute(*arguments)

        def executemany(self, *arguments: Any) -> sqlite3.Cursor:
            _step(left)
            return super().executemany(*arguments)

    return Dying


def _step(left: list[int]) -> None:
    if not left[0]:
        os._exit(9)
    left[0] -= 1


def run(steps: int, work: Callable[[], bytes], released: Path) -> bool:
    """Do the work in a process of its own that dies after so many statements; whether it lived to the end.

    What the work returns is what leaves the device: it goes to the file `released`.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    code = 1
    try:
        connect, factory = sqlite3.connect, dying(steps)
        sqlite3.connect = lambda *args, **options: connect(*args, **options, factory=factory)  # type: ignore[assignment]
        released.write_bytes(work())
        code = 0
    finally:
        os._exit(code)
    return False
