"""Files of reports, counted on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from queue import SimpleQueue

from sottovoce.core.errors import FileError, ParameterError, SottovoceError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.reports import Reports
from sottovoce.data.pipeline import Progress, in_order, workers
from sottovoce.data.reports import ReportFile
from sottovoce.estimates import Result
from sottovoce.estimates.tally import Counting, Tally

MAX_COUNTS_BYTES = 2**25
"""If the counts of all questions take at most this many bytes, each thread has its own."""
EXPECTED_REPORTS = 2**22
"""How many reports a file is assumed to have when the way of counting is chosen."""


def tally_files(
    paths: Sequence[str | PathLike[str]] | str | PathLike[str], *, progress: Progress | None = None
) -> dict[str, Tally[Result]]:
    """The tally of each question in files of reports, which must be of the same mechanisms.

    Name a file, several, or patterns such as `reports/*.parquet`. Memory does not grow with the files.
    """
    sources = [ReportFile(path) for path in matching_files([paths] if isinstance(paths, str | PathLike) else paths)]
    if not sources:
        raise ParameterError("name at least one file of reports")
    totals = {name: m.tally() for name, m in sources[0].mechanisms.items()}
    for at, source in enumerate(sources):
        if source.mechanisms != sources[0].mechanisms:
            raise FileError(f"{source.path}: its reports are of {source.mechanisms}, another mechanism "
                            f"than those of {sources[0].path}, {sources[0].mechanisms}")  # fmt: skip
        try:
            _count(source, totals, _part(progress, at, len(sources)))
        except SottovoceError as error:
            raise error if isinstance(error, FileError) else FileError(f"{source.path}: {error}") from None
    return totals


def matching_files(paths: Sequence[str | PathLike[str]]) -> list[Path]:
    """The files that are named; a pattern stands for all that match it, sorted. No file may be named twice."""
    found: list[Path] = []
    for path in map(Path, paths):
        if path.exists() or not set("*?[") & set(str(path)):
            found.append(path)
        elif matching := sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor)))):
            found += matching
        else:
            raise FileError(f"{path}: no file matches")
    if len({path.resolve() for path in found}) < len(found):
        raise ParameterError("a file of reports must be named once, or its reports would count twice")
    return found


def _part(progress: Progress | None, at: int, files: int) -> Progress:
    """Turns the share of one file that is done into the share of all files."""
    return lambda share: None if progress is None else progress((at + share) / files)


def _count(source: ReportFile, totals: dict[str, Tally[Result]], progress: Progress) -> None:
    """Add the reports of a file. Every thread counts on its own, if the counts are not too large for that."""
    several = workers() if sum(total.cells.nbytes for total in totals.values()) <= MAX_COUNTS_BYTES else 1
    own = [{name: Counting(m, EXPECTED_REPORTS) for name, m in source.mechanisms.items()} for _ in range(several)]
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

    rows = 0
    for counted in in_order(count, source):
        rows += counted
        progress(source.table.progress())
    for name, total in totals.items():
        cells = sum((counts[name].cells() for counts in own), np.zeros_like(total.cells))
        total.add_counts(cells, rows, source.simulated)
