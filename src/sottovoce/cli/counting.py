"""Files of reports, counted: in this process or on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sottovoce.cli.show import progress
from sottovoce.errors import FileError, ParameterError, SottovoceError

if TYPE_CHECKING:
    from sottovoce.tally import Tally


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
        for part in progress(source, source.table.progress, "counting"):
            try:
                for name, column in part.items():
                    totals[name].add_many(column)
            except SottovoceError as error:
                raise FileError(f"{source.path}: {error}") from None
    return totals


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
