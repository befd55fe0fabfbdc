"""Files of reports, counted: in this process or on Spark."""

from __future__ import annotations

from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from sottovoce.cli.show import progress
from sottovoce.errors import FileError, ParameterError, SottovoceError
from sottovoce.tally import Counting

if TYPE_CHECKING:
    from sottovoce.files import ReportFile
    from sottovoce.reports import Reports
    from sottovoce.tally import Tally

OWN_BYTES = 2**25
"""The largest tallies of which every thread has its own."""
MANY = 2**22
"""Reports that a file is taken to have."""


def expanded(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files that are named; a pattern that the shell has left alone stands for all that match it, sorted."""
    found: list[Path] = []
    for path in paths:
        if path.exists() or not set("*?[") & set(str(path)):
            found.append(path)
        elif matching := sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor)))):
            found += matching
        else:
            raise FileError(f"{path}: no file matches")
    return tuple(found)


def counted(paths: tuple[Path, ...], engine: str = "here", master: str | None = None) -> dict[str, Tally[Any]]:
    """The tally of each question."""
    if engine == "spark":
        return _on_spark(paths, master)
    if master is not None:
        raise ParameterError("--master goes with --engine spark")
    return _here(paths)


def _here(paths: tuple[Path, ...]) -> dict[str, Tally[Any]]:
    from sottovoce.files import ReportFile

    sources = [ReportFile(path) for path in paths]
    totals = {name: m.tally() for name, m in sources[0].mechanisms.items()}
    for source in sources:
        if source.mechanisms != sources[0].mechanisms:
            raise FileError(f"{source.path}: its reports are of {source.mechanisms}, another mechanism "
                            f"than those of {sources[0].path}, {sources[0].mechanisms}")  # fmt: skip
        try:
            _count(source, totals)
        except SottovoceError as error:
            raise error if isinstance(error, FileError) else FileError(f"{source.path}: {error}") from None
    return totals


def _count(source: ReportFile, totals: dict[str, Tally[Any]]) -> None:
    """Add the reports of a file. Every thread counts on its own, if the counts are not too large for that."""
    from sottovoce.files import in_order, workers

    several = workers() if sum(total.cells.nbytes for total in totals.values()) <= OWN_BYTES else 1
    own = [{name: Counting(m, MANY) for name, m in source.mechanisms.items()} for _ in range(several)]
    free: SimpleQueue[dict[str, Counting]] = SimpleQueue()
    for counts in own:
        free.put(counts)

    def count(part: dict[str, Reports]) -> int:
        counts = free.get()
        try:
            for name, column in part.items():
                counts[name].add(column.data)
        finally:
            free.put(counts)
        return len(next(iter(part.values())))

    rows = sum(progress(in_order(count, source), source.table.progress, "counting"))
    for name, total in totals.items():
        for counts in own:
            total.cells += counts[name].cells()
        total.n += rows
        total.simulated |= source.simulated


def _on_spark(paths: tuple[Path, ...], master: str | None) -> dict[str, Tally[Any]]:
    from sottovoce import spark

    running = spark.session(master)
    try:
        frame, mechanisms, simulated = spark.read(running, paths)
        totals = spark.tallies(frame, mechanisms)[()]
    finally:
        running.stop()
    for total in totals.values():
        total.simulated |= simulated
    return totals
