"""Long files: the work of several threads is that of one, in order, and nothing is left behind when it fails."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce import data as files
from sottovoce.cli import main
from sottovoce.core.errors import FileError
from sottovoce.core.reports import Reports
from sottovoce.data import pipeline, tables
from sottovoce.data import tally as counting

LABELS = ["tea", "coffee", "milk", "water"]
ROWS = 50_000


@pytest.fixture(autouse=True)
def short_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of ordinary length in many batches."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files.reports, "BATCH_ROWS", 3_000)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 2**14)


def threads(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setenv("SOTTO_THREADS", str(count))


def column(rows: int = ROWS) -> Any:
    return pa.array(LABELS).take(pa.array(np.arange(rows) * 7 % 4))


def write(name: str, answers: Any) -> str:
    table = pa.table({"drink": answers, "age": np.arange(len(answers)) % 90})
    if name.endswith(".csv"):
        pyarrow.csv.write_csv(table, name)
    elif name.endswith(".arrow"):
        with pa.ipc.new_file(name, table.schema) as file:
            file.write_table(table, max_chunksize=20_000)
    else:
        pq.write_table(table, name, row_group_size=20_000)
    return name


def randomize(source: str, output: str, *options: str) -> int:
    asked = ("-q", f"drink:choice:{','.join(LABELS)}", "-q", "age:number:0:89", "-e", "2", "-o", output)
    return main(["randomize", source, *asked, *options])


# Parts side by side.


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_order_with_few_under_way(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    threads(monkeypatch, count)
    read, most = 0, 0

    def parts() -> Iterator[int]:
        nonlocal read
        for part in range(1, 101):
            read = part
            yield part

    def task(part: int) -> int:
        time.sleep(0.001 * (part % 3))
        return -part

    for done, result in enumerate(files.in_order(task, parts()), 1):
        assert result == -done
        most = max(most, read - done)
    assert done == 100 and most <= pipeline.PARTS_PER_THREAD * count


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize(
    ("failing", "message", "before"), [({2, 3}, "part 2", 2), ({4}, "part 4", 4), (set(), "cannot be read on", 5)]
)
def test_the_first_failure_in_order_is_the_one_that_is_told(
    monkeypatch: pytest.MonkeyPatch, count: int, failing: set[int], message: str, before: int
) -> None:
    threads(monkeypatch, count)

    def parts() -> Iterator[int]:
        yield from range(5)
        raise FileError("cannot be read on")

    def task(part: int) -> int:
        if part in failing:
            time.sleep(0.05 * (4 - part))  # The later one fails earlier.
            raise FileError(f"part {part}")
        return part

    results = files.in_order(task, parts())
    assert [next(results) for _ in range(before)] == list(range(before))
    with pytest.raises(FileError, match=message):
        next(results)


def test_parts_that_nobody_waits_for_are_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    threads(monkeypatch, 2)
    begun: list[int] = []
    results = files.in_order(begun.append, range(100))
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert len(begun) <= 4
    assert not [thread for thread in threading.enumerate() if "ThreadPool" in thread.name]


# The same integers.


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_seed_gives_the_same_reports_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    write(name, column())
    for count in (1, 2, 5):
        threads(monkeypatch, count)
        assert randomize(name, f"{count}.parquet", "--seed", "5") == 0
    one = pq.read_table("1.parquet")
    assert len(one) == ROWS and one == pq.read_table("2.parquet") == pq.read_table("5.parquet")
    batch = one.column("drink").to_numpy()
    assert (batch[:3000] != batch[3000:6000]).any(), "batches do not repeat one another's draws"


@pytest.mark.parametrize("own", [counting.MAX_COUNTS_BYTES, 0])
def test_counts_are_those_of_one_thread(monkeypatch: pytest.MonkeyPatch, own: int) -> None:
    assert randomize(write("a.parquet", column()), "r.parquet", "--seed", "1") == 0
    monkeypatch.setattr(counting, "MAX_COUNTS_BYTES", own)
    expected = {name: m.tally() for name, m in files.ReportFile(Path("r.parquet")).mechanisms.items()}
    for part in files.ReportFile(Path("r.parquet")):
        for name, reports in part.items():
            expected[name].add_many(reports)
    assert expected["drink"].n == ROWS and expected["drink"].simulated
    for count in (1, 2, 5):
        threads(monkeypatch, count)
        assert files.tally_files((Path("r.parquet"),)) == expected


@pytest.mark.parametrize("many", [counting.EXPECTED_REPORTS, 0])
def test_reports_that_stand_for_several_values_are_counted_by_outcome(
    monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(counting, "EXPECTED_REPORTS", many)
    threads(monkeypatch, 3)
    asked: dict[str, sv.Mechanism] = {
        "set": sv.Subset(8, 1.0),
        "hash": sv.LocalHash(30, 1.0),
        "plane": sv.Projective(50, 1.0),
    }
    columns = {name: m.randomize_many(np.arange(ROWS) % m.domain.size, seed=3) for name, m in asked.items()}
    parts = [{name: column[at : at + 7_000] for name, column in columns.items()} for at in range(0, ROWS, 7_000)]
    files.write_reports(Path("r.parquet"), asked, parts)
    expected = {name: m.tally().add_many(columns[name]) for name, m in asked.items()}
    assert files.tally_files((Path("r.parquet"),)) == expected
    bad = columns["set"].data.copy()
    bad[ROWS - 3] = 28
    files.write_reports(Path("bad.parquet"), {"set": asked["set"]}, [{"set": Reports(asked["set"], bad, True)}])
    with pytest.raises(FileError, match=r"bad\.parquet: a report must be from 0 to 27, got 28"):
        files.tally_files((Path("bad.parquet"),))


def test_small_parts_are_written_in_large_groups() -> None:
    assert randomize(write("a.csv", column()), "r.parquet") == 0
    assert pq.ParquetFile("r.parquet").metadata.num_row_groups == 1


# Answers of a list come as dictionaries.


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_listed_answers_come_as_dictionaries(name: str) -> None:
    table = files.Table(Path(write(name, column())), ["drink"])
    kinds = {pa.types.is_dictionary(batch.column("drink").type) for batch in table.batches(["drink"])}
    assert kinds == {True}
    assert next(table.batches()).column("drink").type == pa.string()
    joined = [value for batch in table.batches(["drink"], rows=777) for value in batch.column("drink").to_pylist()]
    assert joined == column().to_pylist()


def test_text_that_differs_in_every_row_is_read_as_it_is() -> None:
    pq.write_table(pa.table({"drink": [f"drink number {at}" for at in range(ROWS)]}), "a.parquet")
    table = files.Table(Path("a.parquet"), ["drink"])
    assert next(table.batches(["drink"])).column("drink").type == pa.string()


def test_long_rows_come_in_short_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"drink": [f"{at:01000}" for at in range(2_000)]}), "a.parquet", use_dictionary=False)
    monkeypatch.setattr(tables, "BATCH_BYTES", 100_000)
    sizes = [len(batch) for batch in files.Table(Path("a.parquet"), ["drink"]).batches()]
    assert sum(sizes) == 2_000 and max(sizes) <= 100


def test_a_label_that_only_the_dictionary_has_is_no_answer() -> None:
    indices = pa.array([0, None, 2, 0], pa.int8())
    coded = pa.DictionaryArray.from_arrays(indices, pa.array(["tea", "poison", "coffee"]))
    domain = sv.Domain(["tea", "coffee"], missing="category")
    assert domain.encode_many(coded).tolist() == [0, 2, 1, 0]
    assert domain.encode_many(files.answers(coded, domain)).tolist() == [0, 2, 1, 0]
    with pytest.raises(sv.DomainError, match="row 12: an answer must not be missing"):
        sv.Domain(["tea", "coffee"]).encode_many(coded, first_row=11)
    parts = pa.chunked_array([coded, pa.DictionaryArray.from_arrays(indices, pa.array(["coffee", "tea", "milk"]))])
    with pytest.raises(sv.DomainError, match=r"row 7: .*'milk'"):
        domain.encode_many(parts)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.arrow"])
def test_progress_goes_from_nothing_to_everything(name: str) -> None:
    write(name, column(8 * ROWS))  # Arrow reads a few dozen blocks of CSV ahead.
    table = files.Table(Path(name), ["drink"])
    shares = [0.0] + [table.progress() for _ in table.batches(rows=5_000)]
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(set(shares)) > 2


# Bad rows, a full disk, Ctrl-C.


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize(
    ("kind", "bad", "message"),
    [
        ("choice:90", "99999999999999999999", "an answer must be a whole number below 90, got '99999999999999999999'"),
        ("choice:90", "90", "an answer must be one of the 90 values of its domain, got 90"),
        ("number:0:90", "many", "an answer must be a number, got 'many'"),
        ("number:0:90", "1e400", "an answer must lie from 0 to 90 (the policy is 'refuse'), got inf"),
        ("number:0:90", "", "an answer must not be missing, got None"),
        ("number:0:90", "nan", "an answer must not be missing, got None"),
    ],
)
def test_bad_numbers_have_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str, bad: str, message: str, count: int
) -> None:
    threads(monkeypatch, count)
    numbers = [str(at % 90) for at in range(ROWS)]
    numbers[12_344] = numbers[12_349] = numbers[40_000] = bad
    Path("a.csv").write_text("age,id\n" + "".join(f"{number},{at}\n" for at, number in enumerate(numbers)))
    assert main(["randomize", "a.csv", "-q", f"age:{kind}", "-e", "1", "-o", "r.parquet"]) == 2
    assert capsys.readouterr().err == f"sotto: row 12345: {message}\n"
    assert [path.name for path in Path().iterdir()] == ["a.csv"]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
@pytest.mark.parametrize("count", [1, 4])
def test_the_first_bad_row_is_the_one_that_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, count: int
) -> None:
    threads(monkeypatch, count)
    answers = column().to_pylist()
    for row in (20_011, 20_012, 31_000, 49_999):
        answers[row] = "beer" if row % 2 else ""
    write(name, pa.array(answers))
    for _ in range(3):
        assert randomize(name, "r.parquet") == 2
        out, err = capsys.readouterr()
        assert (out, err) == (
            "",
            "sotto: drink: row 20012: an answer must be one of the 4 values of its domain, got 'beer'\n",
        )
    assert [path.name for path in Path().iterdir()] == [name]


def command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("sotto")), *arguments]


LONG = ("randomize", "long.parquet", "-c", "drink", "-e", "1", "-d", "1024", "-m", "unary", "-o", "r.parquet")


def long_file() -> None:
    """A small file whose reports would be 2.5 GB."""
    numbers = pa.array(np.arange(2**20) % 1024)
    with pq.ParquetWriter("long.parquet", pa.schema([("drink", pa.int64())])) as file:
        for _ in range(20):
            file.write_table(pa.table({"drink": numbers}))


def test_ctrl_c_leaves_nothing() -> None:
    long_file()
    running = subprocess.Popen(command(*LONG), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in Path().glob(".r.parquet.*.part")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err.strip()) == (130, "", "sotto: interrupted")
    assert [path.name for path in Path().iterdir()] == ["long.parquet"]


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="the length of files cannot be limited here")
def test_a_full_disk_leaves_nothing() -> None:
    long_file()
    limit = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    done = subprocess.run([sys.executable, "-c", limit, *command(*LONG)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("sotto: r.parquet: cannot be written: ") and done.stderr.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["long.parquet"]


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "none.arrow"])
def test_an_empty_file_is_called_one(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).touch()
    randomize = ["randomize", "-c", "a", "-d", "x,y", "-m", "krr", "-e", "1", "-o", str(tmp_path / "out.parquet")]
    for command in (["estimate"], ["discover"], randomize):
        assert main([command[0], str(tmp_path / name), *command[1:]]) == 2
        assert capsys.readouterr().err == f"sotto: {tmp_path / name}: the file is empty\n"
