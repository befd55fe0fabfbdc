"""Reports by the billion: randomizing and counting on Spark. What comes out is the same Tally as on one machine.

Columns reach the workers' Python as Arrow batches. Each partition is counted where it lies, and only counts travel:
they are merged in branches on the workers, then the branches on the driver.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import FileError, ParameterError, SottovoceError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import pyarrow as pa
from sottovoce.core.reports import Bits
from sottovoce.data import ReportFile, answers, writing
from sottovoce.data.java import ensure_java
from sottovoce.estimates import Result
from sottovoce.estimates.tally import Tally
from sottovoce.mechanisms import Mechanism, mechanism

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    Batches = Iterator[pa.RecordBatch]

Group = tuple[object, ...]
"""The values of the columns that make a group."""

QUESTION, N, CELLS, BRANCH, REPORT, GROUP = "question", "n", "cells", "branch", "report_{}", "group_{}"
"""The names of columns on the workers. No column keeps its own name there, so that no two names can be the same."""
COUNTS = f"{QUESTION} int, {N} long, {CELLS} binary"
BRANCHES = 16
"""The workers merge the counts of their partitions into this many, for each question and group."""
SIMULATED = "sottovoce.simulated"
"""The mark of simulated reports, in their column's metadata: Spark keeps it when rows and columns are chosen."""
GROUPABLE = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|decimal\(.*\)|string|binary|void"
    r"|date|time\(.*\)|timestamp(_ntz)?|interval (day|hour|minute|second).*"
)
"""Types with values that Arrow groups by and that can be keys."""


def session(master: str | None = None, **settings: str) -> SparkSession:
    """A Spark session whose workers run this Python. `master` defaults to all cores of this machine."""
    where = master or "local[*]"
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    plain = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if where.startswith("local"):  # Nobody else on the network is to reach it.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        plain |= {"spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": str(BRANCHES)}
    ensure_java()
    builder = load("pyspark.sql").SparkSession.builder.appName("sottovoce").master(where)
    for name, value in (plain | settings).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark  # type: ignore[no-any-return]


def randomize(frame: DataFrame, column: str, m: Mechanism) -> DataFrame:
    """The table with a column of answers replaced by their reports; the answers go nowhere else.

    The randomness is that of each worker's operating system. Spark repeats the work of a worker that was lost, and a
    query that runs twice draws twice: write the reports down once, and count what was written.
    """
    _need(frame, [column])
    described, reports_kind = m.to_dict(), "binary" if isinstance(m.shape, Bits) else "long"
    names = list(frame.columns)
    schema = ", ".join(f"{_quoted(name)} {reports_kind if name == column else kind}" for name, kind in frame.dtypes)

    def reports(batches: Batches) -> Batches:
        own = mechanism(described)
        for batch in batches:
            data = own.randomize_many(answers(batch.column(names.index(column)), own.domain)).data
            column_of = pa.array([row.tobytes() for row in data]) if data.ndim == 2 else pa.array(data.astype(np.int64))
            arrays = [column_of if name == column else batch.column(at) for at, name in enumerate(names)]
            yield pa.record_batch(arrays, names=names)

    plain = frame.toDF(*(f"column_{at}" for at in range(len(names))))  # Spark's own look-up stumbles over a backtick.
    return plain.mapInArrow(reports, schema)


@overload
def tally(frame: DataFrame, column: str, m: Mechanism) -> Tally[Result]: ...
@overload
def tally(frame: DataFrame, column: str, m: Mechanism, by: Sequence[str]) -> dict[Group, Tally[Result]]: ...
def tally(
    frame: DataFrame, column: str, m: Mechanism, by: Sequence[str] = ()
) -> Tally[Result] | dict[Group, Tally[Result]]:
    """The tally of a column of reports; with `by`, one for each group, keyed by the groups' values."""
    counted = tallies(frame, {column: m}, by)
    return {group: found[column] for group, found in counted.items()} if by else counted[()][column]


def tallies(
    frame: DataFrame, questions: Mapping[str, Mechanism], by: Sequence[str] = ()
) -> dict[Group, dict[str, Tally[Result]]]:
    """The tallies of several columns in one pass over the data, for each group of `by`; `()` is the group of all."""
    _need(frame, [*questions, *by])
    if not questions:
        raise ParameterError("name at least one column of reports")
    _check_groups(frame, questions, by)
    simulated = {name for name in questions if frame.schema[name].metadata.get(SIMULATED)}

    def empty() -> list[Tally[Result]]:
        return [
            m.tally().add_counts(np.zeros(m.cells, np.int64), 0, name in simulated) for name, m in questions.items()
        ]

    found: dict[Group, list[Tally[Result]]] = {} if by else {(): empty()}
    for question, n, cells, *group in _counts(frame, questions, by).collect():
        totals = found.setdefault(_key(group), empty())
        totals[question].add_counts(np.frombuffer(cells, dtype=np.int64), n)
    return {group: dict(zip(questions, totals, strict=True)) for group, totals in found.items()}


def _check_groups(frame: DataFrame, questions: Mapping[str, Mechanism], by: Sequence[str]) -> None:
    kinds = dict(frame.dtypes)
    for at, name in enumerate(by):
        if name in questions:
            raise ParameterError(f"groups must be of other columns than the reports, got {name!r}")
        if name in by[:at]:
            raise ParameterError(f"a column can make groups only once, got {name!r} twice")
        if not GROUPABLE.fullmatch(kinds[name]):
            raise ParameterError(f"groups must be of plain values, got {name!r} of type {kinds[name]}")


def _counts(frame: DataFrame, questions: Mapping[str, Mechanism], by: Sequence[str]) -> DataFrame:
    """A row of counts for each question and group: the question's number, n, the cells, and the group's values.

    A time travels as a number. Arrow gives it the session's time zone, but takes it back only in UTC.
    """
    functions, kinds = load("pyspark.sql.functions"), dict(frame.dtypes)
    groups = {GROUP.format(at): name for at, name in enumerate(by)}
    times = {group for group, name in groups.items() if kinds[name] == "timestamp"}
    values = {group: _column(name) for group, name in groups.items()}
    values |= {group: functions.unix_micros(values[group]) for group in times}
    values |= {REPORT.format(at): _column(name) for at, name in enumerate(questions)}
    chosen = frame.select(*(value.alias(name) for name, value in values.items()))
    schema = ", ".join([COUNTS, *(f"{name} {kind}" for name, kind in chosen.dtypes if name in groups)])
    described = [m.to_dict() for m in questions.values()]
    counts = chosen.mapInArrow(_counter(described, list(groups)), schema)
    keyed = counts.withColumn(BRANCH, functions.spark_partition_id() % BRANCHES)
    merged = keyed.groupBy(QUESTION, *groups, BRANCH).applyInArrow(_merger, f"{schema}, {BRANCH} int")
    back = [functions.timestamp_micros(group) if group in times else group for group in groups]
    return merged.select(QUESTION, N, CELLS, *back)


def _counter(described: Sequence[JsonObject], groups: Sequence[str]) -> Callable[[Batches], Batches]:
    """The function with which a worker counts its partition, question by question and group by group."""

    def count(batches: Batches) -> Batches:
        own = [mechanism(data) for data in described]
        found: dict[Group, list[Tally[Result]]] = {}
        kinds: pa.Schema = None
        for batch in batches:
            kinds = batch.schema
            for group, part in _groups(batch, groups):
                totals = found.setdefault(group, [m.tally() for m in own])
                for at, total in enumerate(totals):
                    total.add_many(pa.chunked_array([part.column(REPORT.format(at))]))
        for group, totals in found.items():
            columns = [pa.array([value], kinds.field(name).type) for name, value in zip(groups, group, strict=True)]
            for at, total in enumerate(totals):
                row = [pa.array([at], pa.int32()), pa.array([total.n]), pa.array([total.cells.tobytes()])]
                yield pa.record_batch([*row, *columns], names=[QUESTION, N, CELLS, *groups])

    return count


def _groups(batch: pa.RecordBatch, groups: Sequence[str]) -> Iterator[tuple[Group, pa.RecordBatch]]:
    """The parts of a batch that share a group, each with its values."""
    if not groups:
        yield (), batch
        return
    table = pa.table(batch)
    marked = table.append_column("row", pa.array(np.arange(len(table))))
    for entry in marked.group_by(list(groups)).aggregate([("row", "list")]).to_pylist():
        yield _key([entry[name] for name in groups]), batch.take(pa.array(entry["row_list"]))


def _key(values: Iterable[object]) -> Group:
    """The values of a group as a key. Every NaN is the same object: two NaN objects would make two groups."""
    return tuple(math.nan if value != value else value for value in values)


def _merger(table: pa.Table) -> pa.Table:
    """Rows of counts of one question and group, added up."""
    cells = sum(np.frombuffer(part.as_py(), dtype=np.int64) for part in table.column(CELLS))
    n = sum(table.column(N).to_pylist())
    row = table.slice(0, 1)
    row = row.set_column(row.schema.get_field_index(N), N, pa.array([n]))
    return row.set_column(row.schema.get_field_index(CELLS), CELLS, pa.array([np.asarray(cells).tobytes()]))


def _need(frame: DataFrame, names: Sequence[str]) -> None:
    for name in names:
        if name not in frame.columns:
            raise ParameterError(f"no column {name!r}, the columns are {', '.join(frame.columns)}")


def _column(name: str) -> Column:
    """A column by its name, whatever characters are in it."""
    column: Column = load("pyspark.sql.functions").col(_quoted(name))
    return column


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def read(spark: SparkSession, paths: Sequence[str | os.PathLike[str]]) -> tuple[DataFrame, dict[str, Mechanism], bool]:
    """Parquet files of reports as a table, with their mechanisms and whether they are simulated.

    The mechanisms stand in the files themselves, and must be the same in all of them. The columns are marked if they
    are simulated, so that their tallies say so.
    """
    sources = [ReportFile(Path(path)) for path in paths]
    if not sources:
        raise FileError("there are no files of reports")
    for source in sources:
        if source.path.suffix != ".parquet":
            raise FileError(f"{source.path}: Spark reads reports from .parquet files")
        if source.mechanisms != sources[0].mechanisms:
            raise FileError(f"{source.path}: its reports are of another mechanism than those of {sources[0].path}")
    frame = spark.read.parquet(*(str(source.path.resolve()) for source in sources))
    mechanisms, simulated = sources[0].mechanisms, any(source.simulated for source in sources)
    if simulated:
        marked = {name: _column(name).alias(name, metadata={SIMULATED: True}) for name in mechanisms}
        frame = frame.select(*(marked.get(name, _column(name)) for name in frame.columns))
    return frame, mechanisms, simulated


def tally_files(paths: Sequence[str | os.PathLike[str]], master: str | None = None) -> dict[str, Tally[Result]]:
    """The tally of each question in Parquet files of reports, counted by a Spark session of its own."""
    running = session(master)
    try:
        frame, mechanisms, _ = read(running, paths)
        return tallies(frame, mechanisms)[()]
    finally:
        running.stop()


class Running:
    """A tally that a stream of reports adds to, kept in a file: each batch once, also after a crash.

    Spark numbers the batches of a stream and repeats the last one if it cannot tell whether it was done. The file holds
    the counts and the number of the last batch in them, and is replaced as a whole.

        running = Running("tally.json", {"answer": m})
        stream.writeStream.foreachBatch(running.add).option("checkpointLocation", "...").start()
        running.read()["answer"].estimate()
    """

    def __init__(self, path: str | os.PathLike[str], questions: Mapping[str, Mechanism]) -> None:
        self.path, self.questions = Path(path), dict(questions)
        self.read()

    def add(self, frame: DataFrame, batch: int) -> None:
        """Count a batch, unless that was done before."""
        last, totals = self._load()
        if batch <= last:
            return
        for name, counted in tallies(frame, self.questions)[()].items():
            totals[name].merge(counted)
        written = {"batch": batch, "tallies": {name: total.to_dict() for name, total in totals.items()}}
        with writing(self.path) as part:
            part.write_text(json.dumps(written), "utf-8")

    def read(self) -> dict[str, Tally[Result]]:
        """The tallies as they are now."""
        return self._load()[1]

    def _load(self) -> tuple[int, dict[str, Tally[Result]]]:
        try:
            data = json.loads(self.path.read_text("utf-8"))
            totals = {name: Tally.from_dict(data["tallies"][name], m) for name, m in self.questions.items()}
            if set(data["tallies"]) != set(self.questions):
                raise FileError(f"{self.path}: a running tally of other questions")
            return int(data["batch"]), totals
        except FileNotFoundError:
            return -1, {name: m.tally() for name, m in self.questions.items()}
        except SottovoceError:
            raise
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"{self.path}: not a running tally: {error}") from None
