"""How a survey's reports are kept: rows of bytes of one width, and one vector of counts.

A row begins with a bit for each question that has a report, and then has room for each report: a whole number as
little-endian bytes, bits as they are. So a million rows are one array, whose columns are counted without a loop.
The vector has the number of reports to each question, then the cells of the questions' tallies, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.reports import Bits, Report
from sottovoce.estimates import Result
from sottovoce.estimates.tally import Tally
from sottovoce.mechanisms import Mechanism
from sottovoce.survey import Survey

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORD_BYTES = 8

MAX_COUNTS = 2**22
"""The most counts that a survey may have in all: each transaction adds to them."""


@dataclass(frozen=True)
class QuestionField:
    """Where one question's reports are in a row, and its counts in the vector."""

    id: str
    mechanism: Mechanism
    number: int
    start: int
    width: int
    cells: slice

    @property
    def stop(self) -> int:
        return self.start + self.width

    @property
    def bits(self) -> bool:
        return isinstance(self.mechanism.shape, Bits)

    def write(self, report: Report) -> bytes:
        return report if isinstance(report, bytes) else report.to_bytes(self.width, "little")

    def read(self, data: bytes) -> Report:
        return data if self.bits else int.from_bytes(data, "little")

    def column(self, rows: NDArray[np.uint8]) -> NDArray[np.integer[Any]] | list[int]:
        """The reports in these rows, as a tally takes them."""
        part = rows[:, self.start : self.stop]
        if self.bits:
            return np.ascontiguousarray(part)
        if self.width > WORD_BYTES:
            return [int.from_bytes(row.tobytes(), "little") for row in part]
        words = np.zeros((len(rows), WORD_BYTES), dtype=np.uint8)
        words[:, : self.width] = part
        return words.view("<u8").ravel()

    def fill(self, rows: NDArray[np.uint8], data: NDArray[np.integer[Any]]) -> None:
        """Write checked reports into these rows, and set the bits that say so."""
        rows[:, self.number // 8] |= np.uint8(1 << self.number % 8)
        if data.ndim == 2:
            rows[:, self.start : self.stop] = data
        elif self.width > WORD_BYTES:
            whole = b"".join(int(report).to_bytes(self.width, "little") for report in data)
            rows[:, self.start : self.stop] = np.frombuffer(whole, dtype=np.uint8).reshape(-1, self.width)
        else:
            words = data.astype("<u8").view(np.uint8).reshape(-1, WORD_BYTES)
            rows[:, self.start : self.stop] = words[:, : self.width]


class Layout:
    """The rows and the counts of one published survey.

    >>> from sottovoce.survey import Survey
    >>> survey = Survey.from_dict({
    ...     "sottovoce": 1, "id": "sleep", "title": "Sleep", "budget": 1,
    ...     "questions": [{"id": "pills", "text": "Do you take sleeping pills?", "kind": "yes_no"}]}).publish()
    >>> layout = Layout(survey)
    >>> row = layout.pack({"pills": 1})
    >>> row.hex(), layout.unpack(row), layout.count(row + row).tolist()
    ('0101', {'pills': 1}, [2, 0, 2])
    """

    def __init__(self, survey: Survey) -> None:
        if survey.federated is not None:
            raise ParameterError(f"survey {survey.id!r} is for curators (sotto curator): no device sends reports to it")
        self.survey = survey
        count = len(survey.questions)
        self.presence_bytes = (count + 7) // 8
        self.fields: list[QuestionField] = []
        start, first = self.presence_bytes, count
        for number, question in enumerate(survey.questions):
            m = question.mechanism
            width, stop = (m.bits + 7) // 8, first + m.cells
            self.fields.append(QuestionField(question.id, m, number, start, width, slice(first, stop)))
            start, first = start + width, stop
        self.width, self.size = start, first
        if self.size > MAX_COUNTS:
            raise ParameterError(f"a survey must have at most {MAX_COUNTS:,} counts to keep, got {self.size:,}")

    def pack(self, reports: Mapping[str, Report | None]) -> bytes:
        """The row of one submission whose reports have been checked."""
        present, parts = 0, []
        for field in self.fields:
            report = reports[field.id]
            present |= (report is not None) << field.number
            parts.append(bytes(field.width) if report is None else field.write(report))
        return present.to_bytes(self.presence_bytes, "little") + b"".join(parts)

    def unpack(self, row: bytes) -> dict[str, Report | None]:
        """The reports of one row."""
        present = int.from_bytes(row[: self.presence_bytes], "little")
        return {
            field.id: field.read(row[field.start : field.stop]) if present >> field.number & 1 else None
            for field in self.fields
        }

    def array(self, rows: bytes) -> NDArray[np.uint8]:
        """Rows, one after the other, as a table."""
        return np.frombuffer(rows, dtype=np.uint8).reshape(-1, self.width)

    def count(self, rows: bytes) -> NDArray[np.int64]:
        """The vector of these rows alone."""
        table = self.array(rows)
        vector = np.zeros(self.size, dtype=np.int64)
        for field in self.fields:
            given = table[:, field.number // 8] >> field.number % 8 & 1 == 1
            tally = field.mechanism.tally().add_many(field.column(table if given.all() else table[given]))
            vector[field.number], vector[field.cells] = tally.n, tally.cells
        return vector

    def tally(self, question: str, vector: NDArray[np.int64]) -> Tally[Result]:
        """The tally of one question in a vector of counts."""
        field = self._by_id[question]
        return field.mechanism.tally().add_counts(vector[field.cells], int(vector[field.number]))

    @cached_property
    def _by_id(self) -> dict[str, QuestionField]:
        return {field.id: field for field in self.fields}
