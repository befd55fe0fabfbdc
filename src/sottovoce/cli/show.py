"""What the commands print: tables and progress for people, JSON for programs."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from sottovoce.core.canonical import JsonObject
from sottovoce.estimates.render import text_table

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.estimates import Result


MAX_ROWS_SHOWN = 100
"""Rows of a table in a terminal; a file or --json has them all."""

Part = TypeVar("Part")


class ErrorOptions(TypedDict, total=False):
    """Which intervals a result is shown with."""

    level: float
    simultaneous: bool
    population: bool


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], None]]:
    """A function that is told the share that is done. On a terminal it shows a bar, on standard error."""
    if not sys.stderr.isatty():
        yield lambda share: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def progress(parts: Iterable[Part], done: Callable[[], float], title: str) -> Iterator[Part]:
    """Pass parts on, with a bar that shows the share that is done."""
    with progress_bar(title) as show:
        for part in parts:
            yield part
            show(done())


def print_json(record: JsonObject) -> None:
    click.echo(json.dumps(record, indent=2))


def print_result(name: str | None, result: Result, errors: ErrorOptions) -> None:
    print_table(*result.table(**errors, most=MAX_ROWS_SHOWN), result.caption, name)
    if name:
        click.echo()


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str, title: str | None = None) -> None:
    """A table of text cells, and a caption below it. One that goes into a pipe needs no library for terminals."""
    cells = list(rows)
    if not _has_width() and all(cell.isascii() for row in (header, *cells) for cell in row):
        for text in ([title] if title else []) + [text_table(header, cells), caption]:
            click.echo(text)
        return
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=None, header_style="bold", pad_edge=False, title=title, title_justify="left", title_style="bold")
    for at, name in enumerate(header):
        grid.add_column(name, justify="right" if at else "left", no_wrap=bool(at))
    for row in cells:
        grid.add_row(*map(escape, row))
    out = console()
    out.print(grid)
    out.print(f"[dim]{escape(caption)}[/dim]")


def write_figure(path: Path, figure: Any) -> None:
    """Save a figure whole or not at all; the ending of its name says how."""
    from sottovoce import data as files

    with files.writing(path) as part, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A glyph that the font lacks is drawn as a box; nothing is lost.
        figure.savefig(part, format=path.suffix[1:])


def console() -> Console:
    """Standard output. A pipe has no width to wrap at, and one that is closed is not an error."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Output(highlight=False, width=None if _has_width() else 1000)


def _has_width() -> bool:
    """Whether lines of standard output are as long as a terminal is wide."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ
