from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce import cli
from sottovoce import data as files
from sottovoce.cli import main
from sottovoce.cli.show import print_table

ANSWERS = ["tea"] * 500 + ["coffee"] * 300 + ["milk"] * 200


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"id": range(1000), "drink": ANSWERS}).to_csv("data.csv", index=False)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(list(arguments)) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


RANDOMIZE = ("randomize", "data.csv", "--column", "drink", "--epsilon", "2", "--domain", "tea,coffee,milk")


def randomize(capsys: pytest.CaptureFixture[str], output: str = "reports.parquet", *more: str) -> tuple[str, str]:
    return run(capsys, *RANDOMIZE, "-o", output, *more)


def estimated(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    (record,) = json.loads(run(capsys, "estimate", "--json", *arguments)[0])["questions"]
    return dict(record)


@pytest.mark.parametrize("mechanism", ["auto", "krr", "unary", "local_hash", "subset", "hadamard", "projective"])
@pytest.mark.parametrize("output", ["reports.parquet", "reports.arrow"])
def test_there_and_back(capsys: pytest.CaptureFixture[str], mechanism: str, output: str) -> None:
    out, err = randomize(capsys, output, "--mechanism", mechanism, "--seed", "3")
    assert "1,000 rows of reports" in out and "SIMULATED" in out and err == ""
    record = estimated(capsys, output)
    assert record["n"] == 1000 and record["simulated"] is True and record["epsilon"] <= 2
    rows = {row["label"]: row for row in record["estimates"]}
    for label in ("tea", "coffee", "milk"):  # Within 5 standard errors: false alarms 6e-7 each, seeded.
        assert abs(rows[label]["counts"] - ANSWERS.count(label)) < 5 * rows[label]["stderr"] * 1000


def test_two_values(capsys: pytest.CaptureFixture[str]) -> None:
    Path("poll.csv").write_text("vote\nyes\nno\nyes\n")
    run(capsys, "randomize", "poll.csv", "-c", "vote", "-e", "1", "-d", "no,yes", "-m", "rr", "-o", "poll.arrow")
    assert estimated(capsys, "poll.arrow")["mechanism"]["mechanism"] == "rr"


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "arrow", "dictionary.parquet"])
def test_input_formats(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    frame = pl.DataFrame({"id": range(1000), "drink": ANSWERS})
    path = f"input.{kind}"
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "tsv":
        frame.write_csv(path, separator="\t")
    elif kind == "arrow":
        frame.write_ipc(path)
    else:
        column = pl.col("drink").cast(pl.Categorical) if kind.startswith("dictionary") else pl.col("drink")
        frame.with_columns(column).write_parquet(path)
    arguments = ("randomize", path, *RANDOMIZE[2:], "-m", "krr", "--seed", "1", "-o")
    run(capsys, *arguments, "other.parquet")
    randomize(capsys, "reports.parquet", "--seed", "1", "-m", "krr")
    assert pq.read_table("other.parquet") == pq.read_table("reports.parquet")


def test_numbers_and_truth_values_are_matched_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    pl.DataFrame({"b": [True, False], "i": [7, 8], "f": [0.5, None]}).write_parquet("typed.parquet")
    run(capsys, "randomize", "typed.parquet", "-c", "b", "-e", "1", "-d", "false,true", "-o", "b.parquet")
    run(capsys, "randomize", "typed.parquet", "-c", "i", "-e", "1", "-d", "7,8", "-o", "i.parquet")
    run(capsys, "randomize", "typed.parquet", "-c", "i", "-e", "1", "-d", "10", "-o", "n.parquet")
    run(
        capsys,
        "randomize",
        "typed.parquet",
        "-c",
        "f",
        "-e",
        "1",
        "-d",
        "0.5,1",
        "--missing",
        "category",
        "-o",
        "f.arrow",
    )
    assert estimated(capsys, "n.parquet")["mechanism"]["domain"]["values"] == 10


def test_a_domain_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("drinks.txt").write_text("tea\ncoffee\n\nmilk\n", encoding="utf-8-sig")
    run(capsys, *RANDOMIZE[:-1], "drinks.txt", "-o", "reports.parquet")
    assert files.ReportFile(Path("reports.parquet")).mechanisms["drink"].domain.labels == ("tea", "coffee", "milk")


def test_reading_the_domain_off_the_column_warns(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run(capsys, *RANDOMIZE[:-2], "-o", "reports.parquet")
    assert err.count("\n") == 1 and "reveals which values occur" in err
    assert files.ReportFile(Path("reports.parquet")).mechanisms["drink"].domain.labels == ("coffee", "milk", "tea")


def test_empty_lines_are_answers_where_there_is_one_column(capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.csv").write_text("x\ntea\n\ncoffee\n\n\ntea\n")
    options = ("-c", "x", "-d", "tea,coffee", "-e", "1", "--missing", "category")
    assert "6 rows" in run(capsys, "randomize", "one.csv", *options, "-o", "one.parquet")[0]
    Path("two.csv").write_text("x,y\ntea,1\n\ncoffee,2\n")
    assert "2 rows" in run(capsys, "randomize", "two.csv", *options, "-o", "two.parquet")[0]


def test_an_empty_cell_of_a_csv_file_is_the_empty_set(capsys: pytest.CaptureFixture[str]) -> None:
    Path("sets.csv").write_text("id,likes\n1,tea;milk\n2,\n3,tea\n")
    out, _ = run(capsys, "randomize", "sets.csv", "-q", "likes:multiple:tea,milk", "-e", "1", "-o", "sets.parquet")
    assert "3 rows" in out


def test_tables_say_what_their_errors_are_about(capsys: pytest.CaptureFixture[str]) -> None:
    randomize(capsys)
    out, _ = run(capsys, "estimate", "reports.parquet", "--population", "--simultaneous", "--level", "0.999")
    assert "99.9% simultaneous interval (population)" in out


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{Path(sys.executable).parent / 'sotto'} demo adult | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("32,561 people")


def test_missing_answers(capsys: pytest.CaptureFixture[str]) -> None:
    Path("gaps.csv").write_text("drink\ntea\n\nNaN\ncoffee\n" + "tea,\n" * 0)
    arguments = ("randomize", "gaps.csv", "-c", "drink", "-e", "1", "-d", "tea,coffee", "-o", "gaps.parquet")
    _, err = run(capsys, *arguments, code=2)
    assert "missing" in err
    run(capsys, *arguments, "--missing", "category")
    assert "(missing)" in run(capsys, "estimate", "gaps.parquet")[0]


def test_reports_hold_nothing_but_reports(capsys: pytest.CaptureFixture[str]) -> None:
    randomize(capsys)
    table = pq.read_table("reports.parquet")
    assert table.column_names == ["drink"] and table.num_rows == 1000
    assert set(json.loads(table.schema.metadata[b"sottovoce"])) == {"version", "questions", "simulated"}


def test_seeded_runs_repeat_and_others_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        randomize(capsys, f"{name}.parquet", "--seed", "7")
        randomize(capsys, f"{name}.arrow")
    assert pq.read_table("a.parquet") == pq.read_table("b.parquet")
    assert Path("a.arrow").read_bytes() != Path("b.arrow").read_bytes()


def test_many_batches(capsys: pytest.CaptureFixture[str]) -> None:
    n = 3 * files.BATCH_ROWS + 17
    pl.DataFrame({"x": np.arange(n) % 50}).write_parquet("long.parquet")
    out, _ = run(
        capsys, "randomize", "long.parquet", "-c", "x", "-e", "1", "-d", "50", "-m", "unary", "-o", "r.parquet"
    )
    assert f"{n:,} rows" in out
    assert estimated(capsys, "r.parquet")["n"] == n


def test_several_files_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    randomize(capsys, "a.parquet")
    randomize(capsys, "b.arrow")
    assert estimated(capsys, "a.parquet", "b.arrow")["n"] == 2000


def test_estimate_options(capsys: pytest.CaptureFixture[str]) -> None:
    randomize(capsys)
    plain = estimated(capsys, "reports.parquet")["estimates"]
    options = ("--level", "0.99", "--simultaneous", "--population", "--postprocess", "simplex", "--top", "2")
    record = estimated(capsys, "reports.parquet", *options)
    assert [row["label"] for row in record["estimates"]] == ["tea", "coffee"]
    assert record["steps"] == ["simplex"] and record["about"] == "population"
    assert record["estimates"][0]["low"] < plain[0]["low"]
    assert "biased by simplex" in run(capsys, "estimate", "reports.parquet", "--sort", "--postprocess", "simplex")[0]


@pytest.mark.parametrize("output", ["e.csv", "e.parquet", "e.arrow", "e.json"])
def test_estimates_to_a_file(capsys: pytest.CaptureFixture[str], output: str) -> None:
    randomize(capsys)
    out, _ = run(capsys, "estimate", "reports.parquet", "-o", output)
    assert "tea" in out
    if output == "e.json":
        assert len(json.loads(Path(output).read_text())["questions"][0]["estimates"]) == 3
        return
    readers = {"e.csv": pl.read_csv, "e.parquet": pl.read_parquet, "e.arrow": pl.read_ipc}
    frame = readers[output](output)  # type: ignore[operator]
    assert frame.columns == ["label", "counts", "frequency", "stderr", "low", "high"] and len(frame) == 3


@pytest.mark.parametrize(("output", "magic"), [("e.svg", b"<?xml"), ("e.png", b"\x89PNG"), ("e.pdf", b"%PDF")])
def test_plots(capsys: pytest.CaptureFixture[str], output: str, magic: bytes) -> None:
    randomize(capsys)
    run(capsys, "estimate", "reports.parquet", "--plot", output)
    assert Path(output).read_bytes().startswith(magic)


QUESTIONS = """
- {id: drink, kind: choice, values: [tea, coffee, milk], epsilon: 1}
- {id: share, kind: number, column: id, low: 0, high: 999}
- {id: shape, kind: number, column: id, low: 0, high: 999, estimate: distribution, bins: 8}
- {id: rank, kind: ordered, column: id, values: 1000}
- {id: likes, kind: multiple, column: drink, values: [tea, coffee, milk]}
"""


def test_long_tables_are_cut_on_the_screen_alone(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "randomize", "data.csv", "-c", "id", "-d", "1000", "-e", "1", "-o", "ids.parquet")
    assert "... and 900 more" in run(capsys, "estimate", "ids.parquet", "-o", "ids.csv")[0]
    assert len(pl.read_csv("ids.csv")) == 1000
    assert "at most 200 rows" in run(capsys, "estimate", "ids.parquet", "--plot", "ids.svg", code=2)[1]
    assert "more" not in run(capsys, "estimate", "ids.parquet", "--plot", "ids.svg", "--top", "5")[0]


def test_labels_cannot_format_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.csv").write_text("x\n[red]a\n\x1b[2Jb\n")
    run(capsys, "randomize", "odd.csv", "-c", "x", "-e", "1", "-o", "odd.parquet")
    out, _ = run(capsys, "estimate", "odd.parquet")
    assert "[red]a" in out and "\x1b" not in out


def test_several_questions(capsys: pytest.CaptureFixture[str]) -> None:
    Path("questions.yaml").write_text(QUESTIONS)
    arguments = (
        "randomize",
        "data.csv",
        "--questions",
        "questions.yaml",
        "-e",
        "13",
        "--seed",
        "1",
        "-o",
        "all.parquet",
    )
    record = json.loads(run(capsys, *arguments, "--json")[0])
    assert record["epsilon"] <= 13 and record["n"] == 1000
    assert {name: round(q["epsilon"], 6) for name, q in record["questions"].items()} == {
        "drink": 1.0, "share": 3.0, "shape": 3.0, "rank": 3.0, "likes": 3.0
    }  # fmt: skip
    results = {r["question"]: r for r in json.loads(run(capsys, "estimate", "all.parquet", "--json")[0])["questions"]}
    mean = results["share"]["estimates"][0]
    assert abs(mean["mean"] - 499.5) < 5 * mean["stderr"]  # False alarms 6e-7, seeded.
    assert len(results["shape"]["estimates"]) == 8
    text = run(capsys, "estimate", "all.parquet", "-o", "all.csv", "--plot", "all.svg")[0]
    assert all(name in text for name in results)
    frame = pl.read_csv("all.csv")
    assert frame.columns == ["question", "label", "measure", "estimate", "stderr", "low", "high", "simulated"]
    assert set(frame["question"]) == set(results) and Path("all.svg").stat().st_size > 10_000


def test_questions_by_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ("-q", "drink:choice:tea,coffee,milk", "-q", "id:number:0:500")
    out, err = run(capsys, "randomize", "data.csv", *lines, "--outside", "clip", "-e", "2", "-o", "two.arrow")
    assert "1,000 rows of reports, epsilon = 2 a row" in out and "id: " in out and not err
    assert "clip" not in run(capsys, "estimate", "two.arrow")[0]


def test_quantiles_and_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    pd.DataFrame({"age": np.arange(4000) % 80, "pay": np.arange(4000) % 80, "smokes": "no"}).to_csv(
        "a.csv", index=False
    )
    asked = ["-q", "age:ordered:80", "-q", "pay:number:0:80:distribution:16", "-q", "smokes:yes_no"]
    run(capsys, "randomize", "a.csv", *asked, "-e", "12", "--seed", "1", "-o", "a.parquet")
    options = ["estimate", "a.parquet", "--quantile", "0.5", "--quantile", "0.9", "--range", "20:39"]
    text, _ = run(capsys, *options, "-o", "a-estimates.csv")
    assert (
        text.count("quantile 0.5: ") == text.count("quantile 0.9: ") == 2 and text.count("share of 20 .. 39: 0.2") == 1
    )
    assert pd.read_csv("a-estimates.csv")["simulated"].all()
    age, pay, smokes = json.loads(run(capsys, *options, "--json")[0])["questions"]
    assert (
        age["quantiles"][0]["low"] <= 39 <= age["quantiles"][0]["high"]
        and abs(age["ranges"][0]["frequency"] - 0.25) < 0.05
    )
    assert pay["quantiles"][1]["low"] < 72 < pay["quantiles"][1]["high"] and "ranges" not in pay
    assert "quantiles" not in smokes
    for bad, message in (("20:90", "two of the 80 values"), ("20", "FIRST:LAST"), ("30:20", "must not end before")):
        assert message in run(capsys, "estimate", "a.parquet", "--range", bad, code=2)[1]
    randomize(capsys)
    for option, value in (("--range", "tea:milk"), ("--quantile", "0.5")):
        assert "is for ordered values" in run(capsys, "estimate", "reports.parquet", option, value, code=2)[1]


def write_damaged_files() -> None:
    """Files that a user might give by mistake, or an attacker on purpose."""
    Path("empty.csv").write_text("")
    Path("bad.yaml").write_text("- id: [")
    Path("odd.yaml").write_text("- {id: drink, kind: choice, values: 9, colour: red}")
    Path("header.csv").write_text("id,drink\n")
    Path("words.parquet").write_text("these are not reports")
    Path("dear.yaml").write_text("- {id: id, kind: number, low: 0, high: 999, epsilon: 4}")
    Path("bools.yaml").write_text("- {id: drink, kind: choice, values: [true, yes]}")
    Path("text.yaml").write_text("- {id: id, kind: number, low: x, high: 9}")
    pq.write_table(pa.table({"drink": [["tea"], ["milk"]]}), "lists.parquet")
    pl.DataFrame({"drink": ["tea", None]}).write_ipc("nulls.arrow")
    Path("header.latin.csv").write_bytes(b"caf\xe9,drink\n1,tea\n")
    Path("latin.csv").write_bytes(b"drink\ntea\ncaf\xe9\n")
    Path("ragged.csv").write_text("id,drink\n1,tea\n2,tea,3\n")
    whole = Path("reports.parquet").read_bytes()
    Path("cut.parquet").write_bytes(whole[: len(whole) // 2])
    Path("flipped.parquet").write_bytes(whole[:8] + bytes(64) + whole[72:])
    pq.write_table(pa.table({"drink": [0, 1]}), "foreign.parquet")
    schema = pq.read_schema("reports.parquet")
    note = json.loads(schema.metadata[b"sottovoce"])

    def rewrite(name: str, column: pa.Array, **changes: object) -> None:
        changed = note | {"questions": {"drink": note["questions"]["drink"] | changes}}
        table = pa.table({"drink": column}).replace_schema_metadata({b"sottovoce": json.dumps(changed).encode()})
        pq.write_table(table, name)

    rewrite("outside.parquet", pa.array([0, 1, 200], pa.uint8()))
    rewrite("nulls.parquet", pa.array([0, None], pa.uint8()))
    rewrite("typed.parquet", pa.array([0.5, 1.0]))
    rewrite("cheaper.parquet", pa.array([0, 1], pa.uint8()), epsilon=0.1)
    rewrite("vast.parquet", pa.array([0, 1], pa.uint8()), p=10**400)
    deep = pa.table({"drink": pa.array([0], pa.uint8())}).replace_schema_metadata({b"sottovoce": b"[" * 100_000})
    pq.write_table(deep, "deep.parquet")
    twice = pa.Table.from_arrays([pa.array([0], pa.uint8())] * 2, names=["drink", "drink"])
    pq.write_table(twice.replace_schema_metadata(schema.metadata), "twice.parquet")
    rewrite("huge.parquet", pa.array([0], pa.uint32()), domain={"values": 2**32, "missing": "refuse"})


ASK = ("randomize", "data.csv", "-e", "1", "-o", "x.parquet", "-q")
BAD = [
    (("randomize", "none.csv", *RANDOMIZE[2:], "-o", "x.parquet"), "none.csv: no such file"),
    (("randomize", "empty.csv", *RANDOMIZE[2:], "-o", "x.parquet"), "empty.csv: the file is empty"),
    (("randomize", "header.csv", *RANDOMIZE[2:], "-o", "x.parquet"), "no answers to randomize"),
    (("randomize", "ragged.csv", *RANDOMIZE[2:], "-o", "x.parquet"), "ragged.csv: cannot be read"),
    (("randomize", "latin.csv", *RANDOMIZE[2:], "-o", "x.parquet"), "latin.csv: cannot be read"),
    ((*RANDOMIZE[:3], "food", *RANDOMIZE[4:], "-o", "x.parquet"), "no column 'food', the columns are id, drink"),
    ((*RANDOMIZE[:-1], "tea,coffee", "-o", "x.parquet"), "row 801: an answer must be one of the 2 values"),
    ((*RANDOMIZE[:-1], "10", "-o", "x.parquet"), "an answer must be a whole number"),
    ((*RANDOMIZE[:-1], "tea,tea", "-o", "x.parquet"), "got 'tea' twice"),
    ((*RANDOMIZE[:-1], "tea", "-o", "x.parquet"), "a domain must be a file, a number of values, or labels"),
    ((*RANDOMIZE[:-1], "1", "-o", "x.parquet"), "from 2 to 2^32 values, got 1"),
    ((*RANDOMIZE[:5], "0", *RANDOMIZE[6:], "-o", "x.parquet"), "epsilon must be positive, got 0"),
    ((*RANDOMIZE[:5], "-1", *RANDOMIZE[6:], "-o", "x.parquet"), "epsilon must be positive, got -1"),
    ((*RANDOMIZE[:5], "37", *RANDOMIZE[6:], "-o", "x.parquet"), "epsilon must be at most 36"),
    ((*RANDOMIZE[:5], "nan", *RANDOMIZE[6:], "-o", "x.parquet"), "epsilon must be a number, got nan"),
    ((*RANDOMIZE[:5], "inf", *RANDOMIZE[6:], "-o", "x.parquet"), "epsilon must be at most 36"),
    ((*RANDOMIZE[:5], "one", *RANDOMIZE[6:], "-o", "x.parquet"), "'one' is not a valid float"),
    ((*RANDOMIZE, "-o", "x.csv"), "x.csv: a file of reports must end in .parquet or .arrow"),
    ((*RANDOMIZE, "-o", "no/such/folder/x.parquet"), "cannot be written: No such file"),
    ((*RANDOMIZE, "-o", "x.parquet", "-m", "rr"), "values must be 2, one for no and one for yes, got 3"),
    ((*RANDOMIZE, "-o", "x.parquet", "-m", "magic"), "mechanism must be one of auto, krr"),
    ((*RANDOMIZE, "-o", "x.parquet", "--max-bits", "1"), "max_bits must be at least 2"),
    ((*RANDOMIZE, "-o", "x.parquet", "--seed", "-1"), "-1"),
    (RANDOMIZE, "Missing option '--output'"),
    (("randomize", "data.csv", "-e", "1", "-o", "x.parquet"), "one of --column, --question, --questions or --survey"),
    ((*RANDOMIZE, "-q", "id:number:0:9", "-o", "x.parquet"), "one of --column, --question, --questions or --survey"),
    (("randomize", "data.csv", "-c", "drink", "-o", "x.parquet"), "drink: an epsilon is needed"),
    ((*ASK, "id"), "a question must be NAME:KIND"),
    ((*ASK, "id:magic"), "question 'id': kind must be one of yes_no, choice"),
    ((*ASK, "id:number"), "a question must be NAME:number:LOW:HIGH"),
    ((*ASK, "id:number:a:b"), "a question must be NAME:number:LOW:HIGH"),
    ((*ASK, "id:number:9:0"), "low must be below high"),
    ((*ASK, "id:number:nan:9"), "low must be"),
    ((*ASK, "id:number:0:inf"), "high must be"),
    ((*ASK, "id:number:0:9"), "row 11: an answer must lie from 0 to 9"),
    ((*ASK, "drink:number:0:9"), "an answer must be a number"),
    ((*ASK, "id:number:0:999:distribution:1"), "bins"),
    ((*ASK, "id:ordered"), "question 'id': the field 'values' is missing"),
    ((*ASK, "id:ordered:1"), "from 2 to 2^32 values, got 1"),
    ((*ASK, "drink:multiple:tea,milk"), "coffee"),
    ((*ASK, "drink:yes_no"), "an answer must be one of the 2 values"),
    ((*ASK, "id:number:0:999", "-q", "id:ordered:1000"), "questions must have different ids"),
    (("randomize", "data.csv", "--questions", "none.yaml", "-e", "1", "-o", "x.parquet"), "none.yaml: no such file"),
    (("randomize", "data.csv", "--questions", "bad.yaml", "-e", "1", "-o", "x.parquet"), "bad.yaml: not YAML"),
    (("randomize", "data.csv", "--questions", "odd.yaml", "-e", "1", "-o", "x.parquet"), "unknown field 'colour'"),
    (
        ("randomize", "data.csv", "--questions", "data.csv", "-e", "1", "-o", "x.parquet"),
        "must hold a list of questions",
    ),
    ((*ASK, "id:number:0:999:5:6"), "a question must be NAME:number:LOW:HIGH"),
    ((*ASK, "id:number:0:999:distribution:2.7"), "a question must be NAME:number:LOW:HIGH[:distribution"),
    ((*ASK, "id:number:0:999:distribution:nan"), "a question must be NAME:number:LOW:HIGH[:distribution"),
    ((*ASK, "drink:set:tea,milk"), "question 'drink': the kind 'set' is called multiple"),
    ((*ASK, "id:distribution:0:9"), "is called number, with estimate: distribution (NAME:number:LOW:HIGH[:dist"),
    ((*ASK, "id:number:0:999", "--missing", "category"), "missing is for the kinds yes_no, choice, ordered, text"),
    ((*ASK, "drink:choice:tea,milk", "--outside", "clip"), "outside is for the kinds number, text"),
    ((*ASK, "drink:choice", "-d", "tea,milk"), "--domain goes with --column"),
    ((*ASK, "id:number:0:999", "-q", "drink:choice:tea,milk"), "drink: row 501: an answer must be one of"),
    (("randomize", "data.csv", "--questions", "dear.yaml", "-e", "1", "-o", "x.parquet"), "cost 4 together"),
    (
        ("randomize", "data.csv", "--questions", "bools.yaml", "-e", "1", "-o", "x.parquet"),
        "put true and false in quotes",
    ),
    (("randomize", "data.csv", "--questions", "text.yaml", "-e", "1", "-o", "x.parquet"), "low must be a number"),
    (("randomize", "data.csv", "--questions", "dear.yaml", "-m", "krr", "-o", "x.parquet"), "stand in the file"),
    (("randomize", "lists.parquet", "-c", "drink", "-e", "1", "-o", "x.parquet"), "a column must hold text, numbers"),
    (("randomize", "nulls.arrow", "-q", "drink:multiple:tea,milk", "-e", "1", "-o", "x.parquet"), "missing"),
    (("randomize", "header.latin.csv", *RANDOMIZE[2:], "-o", "x.parquet"), "header.latin.csv: cannot be read"),
    (("estimate", "reports.parquet", "-o", "reports.parquet"), "would be written over the reports"),
    (("estimate", "reports.parquet", "./reports.parquet"), "its reports would count twice"),
    (("estimate", "reports.parquet", "-o", "left.csv", "--plot", "x.jpg"), "x.jpg: must end in"),
    (("estimate", "none.parquet"), "none.parquet: no such file"),
    (("estimate", "."), "is a directory"),
    (("estimate", "data.csv"), "not a file of sottovoce reports"),
    (("estimate", "words.parquet"), "words.parquet: "),
    (("estimate", "cut.parquet"), "cut.parquet: cannot be read"),
    (("estimate", "flipped.parquet"), "flipped.parquet: cannot be read"),
    (("estimate", "foreign.parquet"), "not a file of sottovoce reports"),
    (("estimate", "outside.parquet"), "outside.parquet: a report must be from 0 to 2, got 200"),
    (("estimate", "nulls.parquet"), "a report must not be null"),
    (("estimate", "typed.parquet"), "reports must be of type uint8, got double"),
    (("estimate", "cheaper.parquet"), "its mechanism is damaged: epsilon must be what the mechanism costs"),
    (("estimate", "huge.parquet"), "huge.parquet: "),
    (("estimate", "vast.parquet"), "vast.parquet: its mechanism is damaged"),
    (("estimate", "deep.parquet"), "deep.parquet: cannot be read"),
    (("estimate", "twice.parquet"), "'drink' is the name of more than one column"),
    (("estimate", "reports.parquet", "other.parquet"), "another mechanism"),
    (("estimate", "reports.parquet", "--level", "2"), "level must lie strictly between 0 and 1"),
    (("estimate", "reports.parquet", "-o", "x.xlsx"), "must end in .csv, .parquet, .arrow, .json"),
    (("estimate", "reports.parquet", "--plot", "x.gif"), "must end in .svg, .png, .pdf"),
    (("estimate", "mean.parquet", "--top", "2"), "are for frequencies, and there are none here"),
    (("demo", "adult", "--html", "no/such/folder/x.html"), "cannot be written"),
    (("no-such-command",), "No such command 'no-such-command'"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_input_is_one_line_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    randomize(capsys, "reports.parquet", "-m", "krr")
    randomize(capsys, "other.parquet", "-m", "unary")
    run(capsys, "randomize", "data.csv", "-q", "id:number:0:999", "-e", "1", "-o", "mean.parquet")
    write_damaged_files()
    before = sorted(folder.iterdir())
    out, err = run(capsys, *arguments, code=2)
    assert message in err
    assert err.startswith("sotto: ") and err.count("\n") == 1 and out == ""
    assert sorted(folder.iterdir()) == before


def test_a_failed_run_keeps_the_old_file(capsys: pytest.CaptureFixture[str]) -> None:
    randomize(capsys)
    before = Path("reports.parquet").read_bytes()
    run(capsys, *RANDOMIZE[:-1], "tea,coffee", "-o", "reports.parquet", code=2)
    assert Path("reports.parquet").read_bytes() == before


def test_interrupts_leave_nothing(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sv.KRR, "_perturb_into", interrupt)
    before = sorted(folder.iterdir())
    _, err = run(capsys, *RANDOMIZE, "-m", "krr", "-o", "reports.parquet", code=130)
    assert err.strip() == "sotto: interrupted"
    assert sorted(folder.iterdir()) == before


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert sv.__version__ in run(capsys, "--version")[0]
    for command in ("randomize", "estimate", "demo"):
        out, _ = run(capsys, command, "--help")
        assert "--json" in out and command in run(capsys, "--help")[0]
    assert "Usage" in run(capsys, code=2)[1]


def test_demo_adult(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "demo", "adult")
    assert "32,561 people" in out and "Armed-Forces" in out and "sottovoce-demo.html" in out
    page = Path("sottovoce-demo.html").read_text()
    assert page.count("<svg") == 3
    assert not re.search(r"(src|href)=.https?:", page), "it loads nothing from elsewhere"
    record = json.loads(run(capsys, "demo", "adult", "--json", "--seed", "1", "--html", "d.html")[0])
    assert record["n"] == 32_561
    coins, unary, best = record["answers"]
    assert coins["truth"] == [28_911, 3_650]
    assert (unary["mechanism"]["p"], unary["mechanism"]["q"]) == (0.75, 0.25)
    assert best["epsilon"] <= unary["epsilon"] and best["expected_error"] < unary["expected_error"]
    assert sum(unary["truth"]) == 32_561 and unary["truth"][-1] == 1_843
    again = json.loads(run(capsys, "demo", "adult", "--json", "--seed", "1", "--html", "d.html")[0])
    assert again == record


def test_every_command_is_there_under_its_name() -> None:
    modules = {path.stem for path in Path(cli.__file__).parent.glob("*.py")}
    assert modules - {"__init__", "options", "plan_changes", "plan_texts", "show"} == {
        home.partition(".")[0] for home, _ in cli.COMMANDS.values()
    }
    context = click.Context(cli.sotto)
    for name in cli.COMMANDS:
        command = cli.sotto.get_command(context, name)
        assert command is not None and command.name == name
    shown = cli.sotto.get_help(context)
    assert "\n  randomize  Randomize columns" in shown and len(cli.COMMANDS) == sum(map(len, cli.GROUPS.values())) == 23
    places = [shown.index(f"\n{title}:\n") for title in cli.GROUPS]
    assert places == sorted(places) and shown.index("\n  demo ") < shown.index("\n  randomize ")
    assert all(line in shown for _, line in cli.COMMANDS.values()), "each has one line, at the usual width"


def test_help_loads_no_command() -> None:
    """It takes a tenth of a second, and would take half a second with all that the commands need."""
    program = (
        "import sys; from sottovoce.cli import main; main(['--help'])\n"
        "print([name for name in sys.modules if name.startswith(('sottovoce.', 'numpy', 'pyarrow'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    loaded = "sottovoce.core sottovoce.core.errors sottovoce.core.lazy sottovoce.mechanisms sottovoce.cli"
    assert done.stdout.splitlines()[-1] == str(loaded.split())


def test_the_installed_command() -> None:
    command = Path(sys.executable).parent / "sotto"
    done = subprocess.run([command, "estimate", "none"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "sotto: none: no such file\n")


def peak(*arguments: str) -> float:
    """The most memory that a command took, in megabytes."""
    program = (
        "import re, sys; from pathlib import Path; from sottovoce.cli import main\n"
        "assert main(sys.argv[1:]) == 0\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return int(done.stdout.split()[-1]) / 1024


def check_growth(short: tuple[str, ...], long: tuple[str, ...]) -> None:
    """30 MB more are allowed.

    On a busy machine more or fewer parts are under way. So the larger of two tries counts for the short file, and the
    long one has up to three: real growth would show in all of them.
    """
    least, most = max(peak(*short), peak(*short)), peak(*long)
    for _ in range(2):
        most = most if most - least < 30 else min(most, peak(*long))
    assert most - least < 30


MEASURED = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")


@pytest.mark.slow
@MEASURED
def test_memory_does_not_grow_with_a_file_of_answers() -> None:
    """Five times the rows, the same memory, where the bare column would take 128 MB more."""
    asked = ("-c", "x", "-e", "1", "-d", "50", "-m", "krr", "-o", "r.parquet")
    for name, n in (("short.csv", 4_000_000), ("long.csv", 20_000_000)):
        pa.csv.write_csv(pa.table({"x": np.arange(n) % 50, "y": np.arange(n)}), name)
    check_growth(("randomize", "short.csv", *asked), ("randomize", "long.csv", *asked))


@pytest.mark.slow
@MEASURED
def test_memory_does_not_grow_with_a_file_of_reports() -> None:
    """Four times the rows, where the reports themselves take 154 MB more, and cannot be compressed."""
    m = sv.Unary(256, 1.0)
    for name, parts in (("short.parquet", 4), ("long.parquet", 16)):
        columns = ({"x": m.randomize_many(np.arange(400_000) % 256)} for _ in range(parts))
        files.write_reports(Path(name), {"x": m}, columns)
    check_growth(("estimate", "short.parquet"), ("estimate", "long.parquet"))


def test_a_table_looks_the_same_in_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """There it is written without the library that writes it for terminals, but for letters of other widths."""
    rows = [["tea", "1,000", "0.5"], ["[bold]coffee", "2", "-0.25"], ["a" * 60, "0", "0.125"]]
    for table in (rows, [*rows, ["日本茶", "3", "0.1"]]):
        seen = []
        for width in (None, "500"):
            monkeypatch.delenv("COLUMNS", raising=False)
            if width:
                monkeypatch.setenv("COLUMNS", width)
            print_table(["value", "counts", "frequency"], table, "n = 3; epsilon = 1", "drinks")
            seen.append([line.rstrip() for line in capsys.readouterr().out.splitlines()])
        assert seen[0] == seen[1] and seen[0][0] == "drinks"


def test_commands_on_tables_leave_pandas_out(tmp_path: Path) -> None:
    """Arrow would import it for the first value that it converts, and a command would start in twice the time."""
    (tmp_path / "answers.csv").write_text("color\nred\nblue\nred\n")
    look = "import sys; from sottovoce.cli import main; code = main(); print('pandas' in sys.modules, code)"
    line = "randomize answers.csv -c color -d red,blue -e 1 -o reports.parquet"
    command = [sys.executable, "-c", look, *line.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "False 0"
