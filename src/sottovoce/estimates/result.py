"""What every analysis ends in: rows of estimates, each with its error and interval, and the ways to show them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar, overload

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.lazy import load
from sottovoce.estimates.render import html_table, interval_plot, label_text, text_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes

SHOWN_ROWS = 25
"""A printed table has at most so many rows."""
PLOTTED_ROWS = 200
FRAMES = ("pandas", "polars", "arrow")
FORMATS = {
    **dict.fromkeys(("n", "yes", "asked", "counts"), ",.0f"),
    **dict.fromkeys(("frequency", "share", "share_stderr", "change"), ".4f"),
}
HEADINGS = {"counts": "count"}
"""How a column is called in a table for people, where that is not its name."""


class ResultRow(Protocol):
    """A row of a result: a dataclass that begins with `label` and ends with `stderr`, `low` and `high`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def label(self) -> object: ...
    @property
    def stderr(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


R = TypeVar("R", bound=ResultRow)


class Result(ABC):
    """Estimates that carry their errors. A subclass makes the rows; this class shows them.

    `measure` names the column that the interval is about.
    """

    measure: ClassVar[str]
    n: int
    epsilon: float
    simulated: bool
    steps: tuple[str, ...] = ()

    @abstractmethod
    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> Sequence[ResultRow]:
        """One row for each thing estimated, with an interval at the level."""

    @property
    def caption(self) -> str:
        """One line that says what the numbers rest on."""
        parts = [f"n = {self.n:,}", f"epsilon = {self.epsilon:.6g}"]
        parts += [f"biased by {', '.join(self.steps)}"] if self.steps else []
        parts += ["SIMULATED with a seed: not private"] if self.simulated else []
        return "; ".join(parts)

    @overload
    def to_frame(
        self,
        kind: Literal["pandas"] = "pandas",
        level: float = 0.95,
        simultaneous: bool = False,
        population: bool = False,
    ) -> pd.DataFrame: ...
    @overload
    def to_frame(
        self, kind: Literal["polars"], level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> pl.DataFrame: ...
    @overload
    def to_frame(self, kind: str, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> Any: ...
    def to_frame(
        self, kind: str = "pandas", level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> Any:
        """A data frame: pandas, Polars or Arrow."""
        if kind not in FRAMES:
            raise ParameterError(f"kind must be one of {', '.join(FRAMES)}, got {kind!r}")
        columns = self.columns(level, simultaneous, population)
        types = {type(label) for label in columns["label"] if label is not None}
        if len(types) > 1 or tuple in types:
            columns["label"] = [label_text(label) for label in columns["label"]]
        if kind == "arrow":
            return load("pyarrow").table(columns)
        return load(kind).DataFrame(columns)

    def columns(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> dict[str, list[Any]]:
        """The rows as columns, by their names."""
        rows = self.rows(level, simultaneous, population)
        return {field.name: [getattr(row, field.name) for row in rows] for field in (fields(rows[0]) if rows else ())}

    def to_dict(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> JsonObject:
        """A form for JSON."""
        columns = self.columns(level, simultaneous, population)
        return {
            "n": self.n,
            "epsilon": self.epsilon,
            "level": level,
            "simultaneous": simultaneous,
            "about": "population" if population else "respondents",
            "steps": list(self.steps),
            "simulated": self.simulated,
            "estimates": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        }

    def table(
        self,
        level: float = 0.95,
        simultaneous: bool = False,
        population: bool = False,
        most: int | None = None,
    ) -> tuple[list[str], list[list[str]]]:
        """Header and cells, formatted for people: all rows, or the first so many and a row that says how many more."""
        rows = self.rows(level, simultaneous, population)
        middle = [field.name for field in fields(rows[0])[1:-3]]
        digits = FORMATS.get(self.measure, ".6g")
        names = [HEADINGS.get(name, name) for name in middle]
        header = ["value", *names, "std. error", _interval_name(level, simultaneous, population)]
        cells = [
            [
                label_text(row.label),
                *(format(getattr(row, name), FORMATS.get(name, digits)) for name in middle),
                format(row.stderr, digits),
                f"{row.low:{digits}} .. {row.high:{digits}}",
            ]
            for row in rows[:most]
        ]
        if len(cells) < len(rows):
            cells.append([f"... and {len(rows) - len(cells):,} more", *[""] * (len(header) - 1)])
        return header, cells

    def plot(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False, ax: Axes | None = None
    ) -> Axes:
        """A dot and its interval for each row. Needs matplotlib; returns the axes."""
        rows = self.rows(level, simultaneous, population)
        if len(rows) > PLOTTED_ROWS:
            raise ParameterError(f"a plot must have at most {PLOTTED_ROWS} rows, got {len(rows):,}: take the top few")
        labels = [label_text(row.label) for row in rows]
        values, low, high = ([getattr(row, name) for row in rows] for name in (self.measure, "low", "high"))
        name = f"{self.measure} and its {_interval_name(level, simultaneous, population)}"
        return interval_plot(labels, values, low, high, xlabel=name, title=self.caption, ax=ax)

    def __str__(self) -> str:
        return "\n".join([text_table(*self.table(most=SHOWN_ROWS)), self.caption])

    def _repr_html_(self) -> str:
        return html_table(*self.table(most=SHOWN_ROWS), self.caption)


class Labelled(Result, Generic[R]):
    """A result with one row for each label, found by it."""

    thing: ClassVar[str] = "value"

    if TYPE_CHECKING:  # Some subclasses store them, others derive them.

        @property
        def labels(self) -> Sequence[object]: ...

    @abstractmethod
    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> Sequence[R]:
        """One row for each label, in the same order."""

    def __getitem__(self, label: object) -> R:
        if label not in self.labels:
            raise DomainError(f"the estimate has no {self.thing} {label!r}")
        return self.rows()[self.labels.index(label)]

    def __len__(self) -> int:
        return len(self.labels)


def _interval_name(level: float, simultaneous: bool, population: bool) -> str:
    kind = f"{100 * level:.12g}%{' simultaneous' if simultaneous else ''} interval"
    return f"{kind} (population)" if population else kind
