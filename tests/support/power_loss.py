"""A machine whose power is cut: work is done on a disk that forgets what was not synced, and then looked at again.

The work runs in a process with `power_loss.c` preloaded, and is killed instead of making its n-th sync. A `Cut` then
rebuilds what the disk may hold: only what was synced, all that was written, or any mixture of the two, name by name and
block by block, for a disk may write what it was not asked for in any order.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).with_suffix(".c")
BLOCK_BYTES = 4096
MOST_SYNCS = 400
"""More syncs than any work here makes: a work that makes more would never end."""
MIXTURES: tuple[int | None, ...] = (None, 1, 2)
"""How to rebuild what is left: with None only what was synced, with a number a random mixture."""

Ack = Callable[[str, str], None]
Work = Callable[[Path, Ack], None]


def compiled(folder: Path) -> Path:
    """The library, compiled; without a compiler the test is skipped, but never in CI."""
    compiler = shutil.which("cc") or shutil.which("gcc") or ""
    if not compiler or sys.platform != "linux":
        reason = "a power cut needs Linux and a C compiler"
        pytest.fail(reason) if os.environ.get("SOTTO_REQUIRE_ALL") else pytest.skip(reason)
    library = folder / "power_loss.so"
    command = [compiler, "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-lpthread"]
    subprocess.run(command, check=True, timeout=60)
    return library


@dataclass(frozen=True)
class Cut:
    """A machine after its power was cut; `acks` is what it had acknowledged, a name and a text each."""

    folder: Path
    acks: list[tuple[str, str]]
    survived: bool
    """Whether the work was done before the cut."""

    def left(self, seed: int | None) -> Path:
        """A folder with what the disk may hold: all that was synced, and by chance some of what was not."""
        target = self.folder / f"left-{seed}"
        root = self.folder / "root"
        self._rebuild(root.stat().st_ino, root, target, None if seed is None else random.Random(seed))
        return target

    def _rebuild(self, inode: int, now: Path | None, target: Path, chance: random.Random | None) -> None:
        target.mkdir()
        synced, current = self._synced_names(inode), _current_names(now)
        for name in sorted({*synced, *current}):
            known = (synced.get(name), current.get(name))
            entry = known[0] if chance is None else chance.choice(known)
            if entry is None:
                continue
            path = now / name if now is not None and current.get(name) == entry else None
            if path is not None and path.is_dir():
                self._rebuild(entry, path, target / name, chance)
            else:
                (target / name).write_bytes(self._content(entry, path, chance))

    def _synced_names(self, inode: int) -> dict[str, int]:
        notes = self.folder / "disk" / "names" / str(inode)
        lines = notes.read_text().splitlines() if notes.exists() else []
        return {name: int(number) for number, _, name in (line.partition(" ") for line in lines)}

    def _content(self, inode: int, path: Path | None, chance: random.Random | None) -> bytes:
        disk = self.folder / "disk"
        synced = _bytes(disk / "content" / str(inode))
        if chance is None:
            return synced
        return _mixed(synced, _bytes(path or disk / "pins" / str(inode)), chance)


def _current_names(folder: Path | None) -> dict[str, int]:
    return {} if folder is None else {entry.name: entry.inode() for entry in os.scandir(folder)}


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _mixed(synced: bytes, written: bytes, chance: random.Random) -> bytes:
    """Each block as it was synced or as it was written last; a block that was added may be there and hold zeros.

    What was cut off a file is gone or, if its old length was kept, as it was.
    """
    length = chance.choice([len(synced), len(written)])
    blocks = []
    for at in range(0, length, BLOCK_BYTES):
        size = min(BLOCK_BYTES, length - at)
        block = synced if at >= len(written) else chance.choice([synced, written])
        blocks.append(block[at : at + size].ljust(size, b"\0"))
    return b"".join(blocks)


class Machine:
    """Does named work of the module `power_work` in processes of its own, and cuts their power."""

    def __init__(self, library: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip

    def run(self, folder: Path, work: str, cut: int, unsynced: bool = False) -> Cut:
        """Do some work in a fresh folder until its n-th sync; `unsynced` makes every SQLite file careless."""
        for name in ("root", "disk/content", "disk/names", "disk/pins"):
            (folder / name).mkdir(parents=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        order = {"folder": str(folder), "work": work, "cut": cut, "unsynced": unsynced}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        code = json.loads(self._process.stdout.readline())["code"]
        assert code in (0, -9), f"the work {work} failed: {code}"
        acks = [tuple(json.loads(line)) for line in _bytes(folder / "acks").splitlines()]
        return Cut(folder, acks, survived=code == 0)

    def cuts(self, folder: Path, work: str, unsynced: bool = False) -> Iterator[Cut]:
        """The same work with the power cut at its first sync, at its second, and so on, and at last after its end."""
        for number in range(1, MOST_SYNCS):
            cut = self.run(folder / str(number), work, number, unsynced)
            yield cut
            shutil.rmtree(cut.folder)
            if cut.survived:
                return
        raise AssertionError(f"the work {work} makes more than {MOST_SYNCS} syncs")

    def close(self) -> None:
        self._process.communicate(timeout=60)


@contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    made = Machine(compiled(folder))
    try:
        yield made
    finally:
        made.close()


# In the process with the library.


class Careless(sqlite3.Connection):
    """A connection that never syncs, whatever it is told."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql.startswith("PRAGMA synchronous"):
            sql = "PRAGMA synchronous = OFF"
        return super().execute(sql, *values)


def _child(order: dict[str, Any], work: Work) -> None:
    folder = Path(order["folder"])
    root, out = folder / "root", os.open(folder / "acks", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.environ |= {"POWER_ROOT": str(root), "POWER_DISK": str(folder / "disk"), "POWER_CUT": str(order["cut"])}
    if order["unsynced"]:
        connect = sqlite3.connect
        sqlite3.connect = lambda *args, **options: connect(*args, **options, factory=Careless)  # type: ignore[assignment]

    def ack(name: str, text: str) -> None:
        os.write(out, json.dumps([name, text]).encode() + b"\n")

    work(root, ack)


def main() -> None:
    import power_work

    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # What the work prints is not an answer.
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            code = 1
            try:
                _child(order, power_work.WORK[order["work"]])
                code = 0
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(answers, json.dumps({"code": code}).encode() + b"\n")


if __name__ == "__main__":
    main()
