"""People with a device each: what they answer leaves it randomized, and goes to a collector by HTTP.

A crowd is spread over processes, as many as there are cores. Each fetches the published survey, and reports how many
submissions were acknowledged.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import pairwise
from types import TracebackType

from sottovoce.core.errors import SottovoceError
from sottovoce.demo import town
from sottovoce.device import transport
from sottovoce.device.hiding import Hiding
from sottovoce.device.ledger import Entries, Ledger
from sottovoce.device.respondent import Respondent
from sottovoce.survey import Survey

PEOPLE_PER_REQUEST = 250
TIMEOUT_SECONDS = 30.0
COMMAND = [sys.executable, "-c", "from sottovoce.demo.crowd import main; main()"]


class MemoryLedger(Ledger):
    """A ledger in memory: the people of a demonstration are gone when it ends."""

    def __init__(self) -> None:
        self.path = "memory"
        self._tables = sqlite3.connect(":memory:", isolation_level=None)
        with self.transaction() as entries:
            entries.make({})

    @contextmanager
    def transaction(self) -> Iterator[Entries]:
        self._tables.execute("BEGIN")
        try:
            yield Entries(self._tables)
        except BaseException:
            self._tables.execute("ROLLBACK")
            raise
        self._tables.execute("COMMIT")

    def close(self) -> None:
        self._tables.close()


class MemoryDevice(Respondent):
    """A device like any other, over a ledger in memory."""

    def __init__(self, ledger: MemoryLedger) -> None:
        self.ledger, self.pins, self.key, self.hiding = ledger, {}, None, Hiding(keyring=False)
        self.clock = lambda: datetime.now(UTC)


def submission(survey: Survey, answers: town.Answers) -> bytes:
    """What a new device sends.

    >>> survey = town.survey()
    >>> one, other = (submission(survey, town.person(1, 0)) for _ in range(2))
    >>> one == other  # Another device, another draw.
    False
    """
    with closing(MemoryLedger()) as ledger:
        return MemoryDevice(ledger).answer(survey, answers)


def visit(url: str, seed: int, first: int, last: int) -> Iterator[int]:
    """Let the people from `first` to before `last` answer; how many were acknowledged, batch by batch."""
    survey = Survey.loads(transport.fetch(url, timeout=TIMEOUT_SECONDS))
    for start in range(first, last, PEOPLE_PER_REQUEST):
        numbers = range(start, min(start + PEOPLE_PER_REQUEST, last))
        body = b"\n".join(submission(survey, town.person(seed, number)) for number in numbers)
        yield transport.send(url, body, transport.LINES, timeout=TIMEOUT_SECONDS)["accepted"]


def main() -> None:
    """One of the processes: its arguments are those of `visit`, and it prints a line for each batch."""
    url, *numbers = sys.argv[1:]
    try:
        with suppress(BrokenPipeError):
            for accepted in visit(url, *map(int, numbers)):
                os.write(1, b"%d\n" % accepted)
    except SottovoceError as error:
        sys.exit(str(error))


class Crowd:
    """All processes. They begin at once, and none is left when the block ends.

    They have a session of their own, so that Ctrl-C is for the demonstration to handle.
    """

    def __init__(self, url: str, seed: int, people: int, processes: int | None = None) -> None:
        count = min(processes or os.cpu_count() or 1, -(-people // PEOPLE_PER_REQUEST))
        ends = [people * at // count for at in range(count + 1)]
        reading, writing = os.pipe()
        self._lines = os.fdopen(reading)
        try:
            self.processes = [
                subprocess.Popen(  # noqa: S603
                    [*COMMAND, url, str(seed), str(first), str(last)],
                    stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE, start_new_session=True,
                )
                for first, last in pairwise(ends)
            ]  # fmt: skip
        finally:
            os.close(writing)

    def acknowledged(self) -> Iterator[int]:
        """How many submissions were acknowledged, as it happens; a `SottovoceError` if some people could not send."""
        for line in self._lines:
            yield int(line)
        for process in self.processes:
            _, errors = process.communicate()
            if process.returncode:
                words = errors.decode(errors="replace").split()
                raise SottovoceError(f"a process of respondents ended: {' '.join(words)[-400:] or process.returncode}")

    def stop(self) -> None:
        """End what still runs; `acknowledged` ends then too."""
        for process in self.processes:
            process.kill()

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        for process in self.processes:
            with process:  # Waits, and closes its pipe.
                pass
        self._lines.close()
