"""A table of answers in, a file of reports out: a part at a time, on all cores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.core.privacy import check_epsilon, compose
from sottovoce.core.randomness import Keystream
from sottovoce.core.reports import Reports
from sottovoce.data.pipeline import Progress, in_order
from sottovoce.data.reports import batch_rows, write_reports
from sottovoce.data.tables import Table, answers, is_listed
from sottovoce.mechanisms import Longitudinal, Mechanism
from sottovoce.survey import Survey, short_form
from sottovoce.survey.short_form import ColumnQuestion

if TYPE_CHECKING:
    import pyarrow as pa

AskedOfTable = Survey | Mapping[str, Mechanism] | Sequence[str | ColumnQuestion]
"""What can be asked of a table: a survey, a mechanism for each column, or questions in short form."""


@dataclass(frozen=True)
class RandomizedFile:
    """What `randomize_file` wrote."""

    path: Path
    rows: int
    mechanisms: Mapping[str, Mechanism]
    simulated: bool
    """Whether a seed was used, in which case the reports protect nobody."""
    domains_from_data: tuple[str, ...] = ()
    """Questions whose values were read off their column. Which values occur is then known to whoever has the file."""

    @property
    def epsilon(self) -> float:
        """What the reports of one row cost together."""
        return compose(m.epsilon for m in self.mechanisms.values())


def randomize_file(
    source: str | PathLike[str],
    output: str | PathLike[str],
    questions: AskedOfTable,
    epsilon: float | None = None,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
) -> RandomizedFile:
    """Randomize columns of a CSV, Parquet or Arrow file into a file of reports, a row for each row.

    The questions are those of a survey, whose ids are the columns; or a mechanism for each column; or survey questions
    in short form, such as `age:number:0:120`, which share `epsilon`. A seed is for simulation, and the file says so.
    Memory does not grow with the file, and the output appears when it is whole.
    """
    columns, mechanisms, table, read_off = _prepared(Path(source), questions, epsilon)
    for name, m in mechanisms.items():
        if isinstance(m, Longitudinal):
            raise ParameterError(f"{name}: {m!r} needs a device that remembers its permanent answer; a file has none")
    parts = _randomized(table, columns, mechanisms, Keystream(seed))
    rows = write_reports(Path(output), mechanisms, _watched(parts, table, progress))
    return RandomizedFile(Path(output), rows, mechanisms, seed is not None, read_off)


Prepared = tuple[dict[str, str], dict[str, Mechanism], Table, tuple[str, ...]]
"""The column and the mechanism of each question, the table, and the questions whose values were read off it."""


def _prepared(source: Path, questions: AskedOfTable, epsilon: float | None) -> Prepared:
    if isinstance(questions, Survey | Mapping):
        if epsilon is not None:
            raise ParameterError("epsilon goes with questions in short form: a survey or a mechanism has its own")
        mechanisms = of_survey(questions) if isinstance(questions, Survey) else dict(questions)
        columns = {name: name for name in mechanisms}
        return columns, mechanisms, _table(source, columns), ()
    asked = [short_form.parse(question) if isinstance(question, str) else question for question in questions]
    columns = {question.id: question.column for question in asked}
    table = _table(source, columns)
    made = [question.question(partial(table.labels, question.column)) for question in asked]
    mechanisms = short_form.settle(made, None if epsilon is None else check_epsilon(epsilon))
    return columns, mechanisms, table, tuple(question.id for question in asked if question.takes_labels)


def _table(source: Path, columns: Mapping[str, str]) -> Table:
    if not columns:
        raise ParameterError("ask at least one question")
    return Table(source, list(dict.fromkeys(columns.values())), missing=[""])


def of_survey(survey: Survey) -> dict[str, Mechanism]:
    """The mechanism of each question of a survey. A draft is published first; a table is one wave of it."""
    if survey.federated is not None:
        raise ParameterError(
            f"survey {survey.id!r} has curators, who add up answers and send no reports: sotto federate"
        )
    if survey.shuffle is not None:
        raise ParameterError(f"survey {survey.id!r} sends sealed reports through a shuffler; a file would mix nothing")
    return {question.id: question.mechanism for question in survey.publish().questions}


def _randomized(
    table: Table, columns: Mapping[str, str], mechanisms: Mapping[str, Mechanism], stream: Keystream
) -> Iterator[dict[str, Reports]]:
    """Reports, batch by batch. Each batch draws from its own stream, so that a seed gives the same on any threads."""

    def batches() -> Iterator[tuple[pa.RecordBatch, int, Keystream]]:
        row = 1
        for batch in table.batches(_listed(columns, mechanisms), batch_rows(mechanisms)):
            yield batch, row, stream.split()
            row += len(batch)

    def reports(part: tuple[pa.RecordBatch, int, Keystream]) -> dict[str, Reports]:
        batch, row, own = part
        made = {}
        for name, m in mechanisms.items():
            with _naming(name, len(mechanisms)):
                values = answers(batch.column(columns[name]), m.domain, table.csv, row)
                made[name] = m.randomize_many(values, seed=own, first_row=row)
        return made

    return in_order(reports, batches())


def _watched(
    parts: Iterator[dict[str, Reports]], table: Table, progress: Progress | None
) -> Iterator[dict[str, Reports]]:
    """The same parts; after each one is written, progress is told."""
    for part in parts:
        yield part
        if progress is not None:
            progress(table.progress())


def _listed(columns: Mapping[str, str], mechanisms: Mapping[str, Mechanism]) -> set[str]:
    """The columns of which every question wants labels of a list."""
    others = {columns[name] for name, m in mechanisms.items() if not is_listed(m.domain)}
    return set(columns.values()) - others


@contextmanager
def _naming(question: str, questions: int) -> Iterator[None]:
    """Say which of several questions an error is about."""
    try:
        yield
    except SottovoceError as error:
        raise (type(error)(f"{question}: {error}") if questions > 1 else error) from None
