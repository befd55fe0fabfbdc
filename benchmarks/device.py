"""What a device spends: the import of the client, and one answer to a survey of ten questions.

    python benchmarks/device.py

Times are the least of several runs, as the machine may be shared: processor time for the import, and for an answer
beside a transaction of SQLite that writes one row to the same disk as durably.
"""

from __future__ import annotations

import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sottovoce.device.respondent import Respondent
from sottovoce.survey import Survey

RUNS = 15


def processor(program: str) -> float:
    """Seconds of processor time of a fresh interpreter that runs a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-I", "-c", program], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(work: Callable[[int], float]) -> float:
    return min(work(run) for run in range(RUNS))


def survey(number: int) -> Survey:
    kinds: list[dict[str, Any]] = [
        {"kind": "yes_no"},
        {"kind": "choice", "values": 16},
        {"kind": "number", "low": 0, "high": 100},
        {"kind": "ordered", "values": 100},
        {"kind": "multiple", "values": ["a", "b", "c"]},
    ]
    questions = [{"id": f"q{i}", "text": "?", "epsilon": 0.5, **kinds[i % 5]} for i in range(10)]
    return Survey.from_dict({"sottovoce": 1, "id": f"s{number}", "title": "Ten", "questions": questions}).publish()


def main() -> None:
    bare, client = (least(lambda _: processor(program)) for program in ("pass", "import sottovoce.device.respondent"))  # noqa: B023
    print(f"import the device: {1000 * (client - bare):.0f} ms beside a bare interpreter of {1000 * bare:.0f} ms")
    values = ["no", 3, 7.5, 40, ["a"]]
    answers = {f"q{i}": values[i % 5] for i in range(10)}
    surveys = [survey(run).canonical() for run in range(RUNS)]
    with tempfile.TemporaryDirectory() as folder:
        me = Respondent(Path(folder) / "store", budget=1000)
        plain = sqlite3.connect(Path(folder) / "plain", isolation_level=None)
        plain.executescript("PRAGMA synchronous = EXTRA; CREATE TABLE t (x)")

        def answer(run: int) -> float:
            start = time.perf_counter()
            me.answer(surveys[run], answers)
            return time.perf_counter() - start

        def write(run: int) -> float:
            start = time.perf_counter()
            plain.execute("INSERT INTO t VALUES (?)", (run,))
            return time.perf_counter() - start

        ours, theirs = least(answer), least(write)
    print(f"ten questions from bytes to bytes: {1000 * ours:.1f} ms; one durable row: {1000 * theirs:.1f} ms")


if __name__ == "__main__":
    main()
