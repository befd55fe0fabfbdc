"""A curator's own table: the column that a query is about, added up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce import data as files
from sottovoce.core.domain import Domain, to_list
from sottovoce.core.errors import FileError, Refusal
from sottovoce.core.lazy import numpy as np
from sottovoce.trust.federated import Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

AS_TEXT = Domain(("text", "as it is"))
"""A domain whose answers are read as text."""


@dataclass(frozen=True)
class CuratorData:
    """A CSV, Parquet or Arrow file, and the columns that may be asked for: all, unless some are named.

    `columns` has the name in the file for each name in a task.
    """

    path: Path
    columns: Mapping[str, str] = field(default_factory=dict)

    def open(self) -> None:
        """Fail now if the file cannot be read, or lacks a column that is offered."""
        files.Table(self.path, list(self.columns.values()))

    def check(self, column: str) -> None:
        """Refuse a column that is not there or not offered. Nothing is said of what a column holds."""
        if self.columns and column not in self.columns:
            raise Refusal(f"the column {column!r:.80} is not offered")
        try:
            files.Table(self.path, [self._own(column)])
        except FileError:
            raise Refusal(f"there is no column {column!r:.80} here") from None

    def count(self, column: str, query: Query) -> tuple[NDArray[np.int64], int]:
        """The column of the query, and how many rows there are."""
        total, rows = np.zeros(query.size, dtype=np.int64), 0
        for part in self._parts(column):
            total += query.column(part)
            rows += len(part)
        return total, rows

    def _own(self, column: str) -> str:
        return self.columns.get(column, column)

    def _parts(self, column: str) -> Iterator[list[object]]:
        own = self._own(column)
        table = files.Table(self.path, [own])
        for batch in table.batches():
            yield to_list(files.answers(batch.column(batch.schema.get_field_index(own)), AS_TEXT, table.csv))
