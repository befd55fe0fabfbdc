"""Spark, on several processes of its own: the same integers as on one machine, also when a worker dies."""

from __future__ import annotations

import datetime
import doctest
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import data as files
from sottovoce.core.errors import FileError, MissingDependencyError, ParameterError
from sottovoce.estimates import Estimate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
KRR, UNARY = sv.KRR(["a", "b", "c"], epsilon=1.0), sv.Unary(13, epsilon=2.0)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    from sottovoce.data import spark as engine
    from sottovoce.data.java import ensure_java

    try:
        ensure_java()
    except MissingDependencyError as error:  # There are machines for which there is no wheel.
        if os.environ.get("SOTTO_REQUIRE_ALL"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    session = engine.session("local-cluster[2,1,1024]", **{"spark.task.maxFailures": "8"})
    yield session
    session.stop()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("reports")
    paths = []
    for part in range(3):
        path = folder / f"part-{part}.parquet"
        rows = 2000 + part
        columns = {
            "answer": KRR.randomize_many(["a", "b"] * (rows // 2) + ["c"] * (rows % 2), seed=part),
            "page": UNARY.randomize_many(np.arange(rows) % 13, seed=part),
        }
        files.write_reports(path, {"answer": KRR, "page": UNARY}, [columns])
        paths.append(path)
    return paths


def locally(paths: list[Path]) -> dict[str, Any]:
    totals = {"answer": KRR.tally(), "page": UNARY.tally()}
    for path in paths:
        for part in files.ReportFile(path):
            for name, column in part.items():
                totals[name].add_many(column)
    return totals


def test_several_questions_in_one_pass_give_the_same_integers(spark: Any, reports: list[Path]) -> None:
    from sottovoce.data import spark as engine

    frame, mechanisms, simulated = engine.read(spark, reports)
    assert simulated and mechanisms == {"answer": KRR, "page": UNARY}
    found = engine.tallies(frame.repartition(7), mechanisms)[()]
    expected = locally(reports)
    for name, total in found.items():
        assert (total.n, total.cells.tolist()) == (expected[name].n, expected[name].cells.tolist())


@pytest.mark.parametrize("partitions", [1, 2, 40])
def test_several_batches_in_a_partition_and_several_parts_in_a_branch(
    spark: Any, reports: list[Path], partitions: int
) -> None:
    """Batches of 100 rows, so that a partition has many of them; 40 partitions are merged in 16 branches."""
    from sottovoce.data import spark as engine

    pa = pytest.importorskip("pyarrow")
    assert partitions < engine.BRANCHES or partitions > 2 * engine.BRANCHES
    frame, mechanisms, _ = engine.read(spark, reports)

    def sizes(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield pa.record_batch([pa.array([batch.num_rows], pa.int32())], names=["rows"])

    setting, expected = "spark.sql.execution.arrow.maxRecordsPerBatch", locally(reports)
    before = spark.conf.get(setting)
    try:
        spark.conf.set(setting, "100")
        found = engine.tallies(frame.repartition(partitions), mechanisms)[()]
        seen = frame.repartition(partitions).mapInArrow(sizes, "rows int").collect()
    finally:
        spark.conf.set(setting, before)
    assert len(seen) > partitions and max(row.rows for row in seen) <= 100
    for name, total in found.items():
        assert (total.n, total.cells.tolist()) == (expected[name].n, expected[name].cells.tolist())


def test_reports_of_more_than_32_bits(spark: Any, tmp_path: Path) -> None:
    """Spark has no such integers without a sign: it reads them as decimals."""
    from sottovoce.data import spark as engine

    wide, path = sv.Subset(100, epsilon=2.5), tmp_path / "wide.parquet"
    reports = wide.randomize_many(np.arange(1000) % 100, seed=1)
    assert reports.data.dtype == np.uint64 and reports.data.max() >= 2**32
    files.write_reports(path, {"page": wide}, [{"page": reports}])
    frame, mechanisms, _ = engine.read(spark, [path])
    assert dict(frame.dtypes)["page"].startswith("decimal")
    assert engine.tallies(frame.repartition(3), mechanisms)[()]["page"] == wide.tally().add_many(reports)


def test_simulated_reports_stay_marked(spark: Any, reports: list[Path], tmp_path: Path) -> None:
    from sottovoce.data import spark as engine

    frame, mechanisms, _ = engine.read(spark, reports)
    chosen = frame.filter("answer > 0").select("page", "answer").repartition(2).limit(100)
    assert [total.simulated for total in engine.tallies(chosen, mechanisms)[()].values()] == [True, True]
    real = tmp_path / "real.parquet"
    files.write_reports(real, {"answer": KRR}, [{"answer": KRR.randomize_many(["a"] * 9)}])
    assert not engine.tally(engine.read(spark, [real])[0], "answer", KRR).simulated


def test_groups(spark: Any) -> None:
    from sottovoce.data import spark as engine

    codes = KRR.randomize_many(["a"] * 600, seed=1).data.tolist()
    rows = [(code, ["x", "y", None][at % 3], at % 2 == 0) for at, code in enumerate(codes)]
    frame = spark.createDataFrame(rows, "answer long, site string, new boolean").repartition(5)
    found = engine.tally(frame, "answer", KRR, by=["site", "new"])
    assert len(found) == 6
    for (site, new), total in found.items():
        own = [code for code, s, fresh in rows if (s, fresh) == (site, new)]
        assert total.cells.tolist() == KRR.tally().add_many(own).cells.tolist()


def test_columns_may_be_called_anything(spark: Any) -> None:
    """Also what the columns of counts are called, whose case makes no difference to Spark."""
    from sottovoce.data import spark as engine

    names = ["n", "Cells", "question", "branch", "group_1", "report_0", "row", "a.b", "c`d"]
    frame = spark.createDataFrame([(1, *range(9)), (2, *range(9))], ["q.1", *names])
    assert engine.tally(frame, "q.1", KRR, by=names) == {tuple(range(9)): KRR.tally().add_many([1, 2])}


def test_groups_of_times_and_numbers(spark: Any) -> None:
    """A time is the same in every time zone, and what is not a number is one group."""
    from sottovoce.data import spark as engine

    hour, day = datetime.datetime(2026, 1, 31, 23, 30, 0, 5), datetime.date(1969, 12, 31)
    rows = [(at % 3, *[(hour, hour, day, math.nan), (None, None, None, 0.5)][at % 2]) for at in range(12)]
    frame = spark.createDataFrame(rows, "answer long, at timestamp, clock timestamp_ntz, day date, share double")
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
        found = engine.tally(frame.repartition(3), "answer", KRR, by=["at", "clock", "day", "share"])
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    half = KRR.tally().add_many([0, 1, 2] * 2)
    assert found == {(hour, hour, day, math.nan): half, (None, None, None, 0.5): half}


@pytest.mark.parametrize("mechanism", [KRR, sv.Unary(["a", "b", "c"], epsilon=2.0)], ids=["numbers", "bits"])
def test_answers_are_randomized_on_the_workers(spark: Any, mechanism: Any) -> None:
    """Shares are within 6 standard errors of the truth: false alarms about once in 10^8."""
    from sottovoce.data import spark as engine

    people = spark.createDataFrame([(at, "abbb"[at % 4]) for at in range(4000)], "id long, answer string")
    frame = engine.randomize(people.repartition(4), "answer", mechanism)
    assert frame.columns == ["id", "answer"]
    estimate = engine.tally(frame, "answer", mechanism).estimate()
    assert isinstance(estimate, Estimate) and estimate.n == 4000
    for found, error, truth in zip(estimate.frequency, estimate.stderr, (0.25, 0.75, 0.0), strict=True):
        assert abs(found - truth) < 6 * error


def test_columns_of_any_name_are_randomized(spark: Any) -> None:
    from sottovoce.data import spark as engine

    people = spark.createDataFrame([("a", 1), ("b", 2)], ["an`swer", "i`d"])
    frame = engine.randomize(people, "an`swer", KRR)
    assert [row[1] for row in frame.collect()] == [1, 2]
    assert engine.tally(frame, "an`swer", KRR).n == 2


def executors(application: str) -> list[int]:
    """The processes of this application's executors."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(b"CoarseGrainedExecutorBackend" in word for word in words) and application.encode() in words:
                found.append(int(entry.name))
    return found


def test_an_executor_is_killed_and_nothing_is_lost_or_counted_twice(spark: Any, reports: list[Path]) -> None:
    from sottovoce.data import spark as engine

    def slowly(batches: Iterator[Any]) -> Iterator[Any]:
        time.sleep(0.5)
        yield from batches

    frame, mechanisms, _ = engine.read(spark, reports)
    slow = frame.repartition(16).mapInArrow(slowly, frame.schema)
    outcome: list[Any] = []
    work = threading.Thread(target=lambda: outcome.append(engine.tallies(slow, mechanisms)[()]))
    work.start()
    deadline, running = time.monotonic() + 60, executors(spark.sparkContext.applicationId)
    while len(running) < 1 and time.monotonic() < deadline:
        time.sleep(0.1)
        running = executors(spark.sparkContext.applicationId)
    time.sleep(1.5)
    os.kill(running[0], signal.SIGKILL)
    work.join(timeout=120)
    assert not work.is_alive() and outcome
    for name, total in locally(reports).items():
        assert (outcome[0][name].n, outcome[0][name].cells.tolist()) == (total.n, total.cells.tolist())


def test_a_stream_adds_every_batch_once(spark: Any, reports: list[Path], tmp_path: Path) -> None:
    from sottovoce.data import spark as engine

    source, questions = tmp_path / "in", {"answer": KRR, "page": UNARY}
    source.mkdir()
    frame, _, _ = engine.read(spark, reports)
    running = engine.Running(tmp_path / "tally.json", questions)

    def run() -> None:
        stream = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(str(source))
        query = (
            stream.writeStream.foreachBatch(running.add)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)

    for path in reports[:2]:
        shutil.copy(path, source)
    run()
    shutil.copy(reports[2], source)
    run()  # A second start goes on where the first left off.
    expected = locally(reports)
    before = {name: total.cells.tolist() for name, total in running.read().items()}
    assert before == {name: total.cells.tolist() for name, total in expected.items()}
    last = json.loads((tmp_path / "tally.json").read_text())["batch"]
    running.add(frame, last)  # Spark repeats a batch when it cannot tell whether it was done.
    assert {name: total.cells.tolist() for name, total in running.read().items()} == before
    (tmp_path / "tally.json").write_text("{")
    with pytest.raises(FileError, match="not a running tally"):
        running.read()


def test_bad_input(spark: Any, reports: list[Path], tmp_path: Path) -> None:
    from sottovoce.data import spark as engine

    frame, _, _ = engine.read(spark, reports)
    with pytest.raises(ParameterError, match="no column 'nothing'"):
        engine.tally(frame, "nothing", KRR)
    with pytest.raises(ParameterError, match="at least one column"):
        engine.tallies(frame, {})
    with pytest.raises(ParameterError, match="other columns than the reports, got 'answer'"):
        engine.tally(frame, "answer", KRR, by=["page", "answer"])
    with pytest.raises(ParameterError, match="only once, got 'page' twice"):
        engine.tally(frame, "answer", KRR, by=["page", "page"])
    with pytest.raises(ParameterError, match="plain values, got 'pages' of type array<binary>"):
        engine.tally(frame.selectExpr("answer", "array(page) as pages"), "answer", KRR, by=["pages"])
    with pytest.raises(FileError, match="no files"):
        engine.read(spark, [])
    other = tmp_path / "other.parquet"
    files.write_reports(other, {"answer": KRR}, [{"answer": KRR.randomize_many(["a"], seed=1)}])
    with pytest.raises(FileError, match="another mechanism"):
        engine.read(spark, [*reports, other])


def test_the_command_line_gives_the_same_with_either_engine(spark: Any, reports: list[Path]) -> None:
    pattern = str(reports[0].parent / "part-*.parquet")
    outputs = []
    for engine in (["--engine", "spark", "--master", "local[2]"], []):
        command = [str(Path(sys.executable).with_name("sotto")), "estimate", pattern, "--json", *engine]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(json.loads(done.stdout))
    assert outputs[0] == outputs[1]


def test_the_examples_of_the_page(spark: Any) -> None:
    """They are marked `py`, not `python`: they need Java, which not every machine that runs the other pages has."""
    names: dict[str, Any] = {"session": spark}
    blocks = re.findall(r"```py\n(.*?)```", PAGE.read_text(), re.S)
    assert blocks
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, names, str(PAGE), None, 0)
        runner.run(test, clear_globs=False)
        names |= test.globs
    assert runner.failures == 0
