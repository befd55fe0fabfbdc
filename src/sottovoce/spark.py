"""Reports by the billion: randomizing and counting on Spark. What comes out is the same Tally as on one machine.

Columns reach the workers' Python as Arrow batches. Each partition is counted where it lies, and only counts travel:
they are merged in branches on the workers, then the branches on the driver.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sottovoce.errors import FileError, MissingDependencyError, ParameterError, SottovoceError
from sottovoce.files import ReportFile, answers, writing
from sottovoce.lazy import load
from sottovoce.lazy import numpy as np
from sottovoce.lazy import pyarrow as pa
from sottovoce.mechanisms import Mechanism, mechanism
from sottovoce.reports import Bits
from sottovoce.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[Any]
Group = tuple[Any, ...]

COUNTS = "question string, n long, cells binary"
BRANCHES = 16
"""Into how many counts of one question and group the workers merge those of their partitions."""


def session(master: str | None = None, **settings: str) -> SparkSession:
    """A Spark session whose workers run this Python. `master` defaults to all cores of this machine."""
    where = master or "local[*]"
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    plain = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if where.startswith("local"):  # Nobody else on the network is to reach it.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        plain |= {"spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": str(BRANCHES)}
    if "SPARK_HOME" not in os.environ and not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise MissingDependencyError("Spark needs Java 17 or later, and there is none on the path")
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
    described = m.to_dict()
    names = list(frame.columns)
    schema = ", ".join(
        f"`{name}` {'binary' if isinstance(m.shape, Bits) else 'long'}" if name == column else f"`{name}` {kind}"
        for name, kind in frame.dtypes
    )

    def reports(batches: Batches) -> Batches:
        own = mechanism(described)
        for batch in batches:
            data = own.randomize_many(answers(batch.column(names.index(column)), own.domain)).data
            column_of = pa.array([row.tobytes() for row in data]) if data.ndim == 2 else pa.array(data.astype(np.int64))
            arrays = [column_of if name == column else batch.column(at) for at, name in enumerate(names)]
            yield pa.record_batch(arrays, names=names)

    return frame.mapInArrow(reports, schema)


def tally(frame: DataFrame, column: str, m: Mechanism, by: Sequence[str] = ()) -> Any:
    """The tally of a column of reports; with `by`, one for each group, keyed by the groups' values."""
    counted = tallies(frame, {column: m}, by)
    return {group: found[column] for group, found in counted.items()} if by else counted[()][column]


def tallies(
    frame: DataFrame, questions: Mapping[str, Mechanism], by: Sequence[str] = ()
) -> dict[Group, dict[str, Tally[Any]]]:
    """The tallies of several columns in one pass over the data, for each group of `by`; `()` is the group of all."""
    _need(frame, [*questions, *by])
    if not questions:
        raise ParameterError("name at least one column of reports")
    totals: dict[Group, dict[str, Tally[Any]]] = {} if by else {(): {name: m.tally() for name, m in questions.items()}}
    for row in _counts(frame.select(*questions, *by), questions, by).collect():
        group = tuple(row[name] for name in by)
        found = totals.setdefault(group, {name: m.tally() for name, m in questions.items()})
        _merge(found[row["question"]], row["n"], row["cells"])
    return totals


def _counts(frame: DataFrame, questions: Mapping[str, Mechanism], by: Sequence[str]) -> DataFrame:
    """A row of counts for each question and group."""
    functions = load("pyspark.sql.functions")
    kinds = dict(frame.dtypes)
    schema = ", ".join([COUNTS, *(f"`{name}` {kinds[name]}" for name in by)])
    described = {name: m.to_dict() for name, m in questions.items()}
    counts = frame.mapInArrow(_counter(described, tuple(by)), schema)
    keyed = counts.withColumn("branch", functions.spark_partition_id() % BRANCHES)
    merged = keyed.groupBy("question", *by, "branch").applyInArrow(_merger, schema + ", branch int")
    return merged.drop("branch")


def _counter(described: Mapping[str, Any], by: Group) -> Callable[[Batches], Batches]:
    """What a worker does with its partition: count it, question by question and group by group."""

    def count(batches: Batches) -> Batches:
        own = {name: mechanism(data) for name, data in described.items()}
        found: dict[Group, dict[str, Tally[Any]]] = {}
        kinds: Any = None
        for batch in batches:
            kinds = batch.schema
            for group, part in _groups(batch, by):
                totals = found.setdefault(group, {name: m.tally() for name, m in own.items()})
                for name in own:
                    totals[name].add_many(pa.chunked_array([part.column(name)]))
        for group, totals in found.items():
            columns = [pa.array([value], kinds.field(name).type) for name, value in zip(by, group, strict=True)]
            for name, total in totals.items():
                row = [pa.array([name]), pa.array([total.n]), pa.array([total.cells.tobytes()])]
                yield pa.record_batch([*row, *columns], names=["question", "n", "cells", *by])

    return count


def _groups(batch: Any, by: Group) -> Iterator[tuple[Group, Any]]:
    """The parts of a batch that share a group, each with its values."""
    if not by:
        yield (), batch
        return
    table = pa.table(batch)
    marked = table.append_column("\0row", pa.array(np.arange(len(table))))
    for entry in marked.group_by(list(by)).aggregate([("\0row", "list")]).to_pylist():
        yield tuple(entry[name] for name in by), batch.take(pa.array(entry["\0row_list"]))


def _merger(table: Any) -> Any:
    """Rows of counts of one question and group, added up."""
    cells = sum(np.frombuffer(part.as_py(), dtype=np.int64) for part in table.column("cells"))
    n = sum(table.column("n").to_pylist())
    row = table.slice(0, 1)
    row = row.set_column(row.schema.get_field_index("n"), "n", pa.array([n]))
    return row.set_column(row.schema.get_field_index("cells"), "cells", pa.array([np.asarray(cells).tobytes()]))


def _merge(total: Tally[Any], n: int, cells: bytes) -> None:
    total.n += n
    total.cells += np.frombuffer(cells, dtype=np.int64)


def _need(frame: DataFrame, names: Sequence[str]) -> None:
    for name in names:
        if name not in frame.columns:
            raise ParameterError(f"no column {name!r}, the columns are {', '.join(frame.columns)}")


def read(spark: SparkSession, paths: Sequence[str | os.PathLike[str]]) -> tuple[DataFrame, dict[str, Mechanism], bool]:
    """Parquet files of reports as a table, with their mechanisms and whether they are simulated.

    The mechanisms stand in the files themselves, and must be the same in all of them.
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
    return frame, sources[0].mechanisms, any(source.simulated for source in sources)


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
        with writing(self.path) as part, open(part, "w", encoding="utf-8") as file:
            json.dump(written, file)
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> dict[str, Tally[Any]]:
        """The tallies as they are now."""
        return self._load()[1]

    def _load(self) -> tuple[int, dict[str, Tally[Any]]]:
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
