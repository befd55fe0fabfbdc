"""Texts by the command line: no option without effect, every refusal in one line that names what is at fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.cli.estimate import _lines
from sottovoce.data import ReportFile

PEOPLE = ["tea"] * 1600 + ["milk"] * 900 + [f"{at:04}" for at in range(500)]
RANDOMIZE = ("randomize", "data.csv", "-e", "6", "--seed", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("drink\n" + "\n".join(PEOPLE) + "\n", encoding="utf-8")


@pytest.fixture
def reports(capsys: pytest.CaptureFixture[str]) -> str:
    run(capsys, *RANDOMIZE, "-q", "drink:text:4", "-m", "discovery", "-o", "d.parquet")
    return "d.parquet"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    before = sorted(Path().iterdir())
    assert main(list(arguments)) == 2
    out, error = capsys.readouterr()
    assert error.startswith("sotto: ") and error.count("\n") == 1 and not out
    assert sorted(Path().iterdir()) == before
    return error


# What is shown.


def test_a_limit_leaves_the_caption_alone(reports: str, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ((), ("--surely", "20")):
        whole, few = (run(capsys, "discover", reports, *options, *more) for more in ((), ("--limit", "1")))
        rows, left = ([line.split() for line in text.splitlines()] for text in (whole, few))
        assert [row[0] for row in rows[:3]] == ["value", "tea", "milk"] and left == rows[:2] + rows[3:]


def test_a_plot_of_a_few_has_the_caption_of_all(
    reports: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    monkeypatch.setattr(
        "sottovoce.cli.discover.write_figure", lambda _, figure: titles.append(figure.axes[0].get_title(loc="left"))
    )
    shown = run(capsys, "discover", reports, "--limit", "1", "--plot", "found.svg")
    assert titles[0].startswith("found 2 of") and titles[0].replace("\n", "; ") in " ".join(shown.split())


# Answers.


@pytest.mark.parametrize("mechanism", ["auto", "discovery"])
def test_only_the_empty_text_is_missing(mechanism: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("words.csv").write_text("word,age,mood\nnan,3,good\nNaN,4,bad\nNULL,5,good\n")
    ask = ("randomize", "words.csv", "-e", "9", "-q", "word:text:8", "-m", mechanism, "-o", "w.parquet")
    assert "3 rows" in run(capsys, *ask)
    Path("words.csv").write_text('word,age\nnan,3\n"",4\n')
    assert "row 2: an answer must not be missing" in refused(capsys, *ask[:-1], "x.parquet")
    assert "2 rows" in run(capsys, *ask, "--missing", "category")


@pytest.mark.parametrize("kind", ["number:0:9", "choice:3,4", "choice:9", "number:0:9:distribution:4"])
def test_elsewhere_nan_is_missing_beside_a_text(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("words.csv").write_text("word,age\nnan,3\ntea,NaN\n")
    ask = ("randomize", "words.csv", "-e", "9", "-q", "word:text:8", "-q", f"age:{kind}", "-o", "w.parquet")
    assert "age: row 2: an answer must not be missing" in refused(capsys, *ask)


def test_one_column_is_text_to_one_question_and_a_choice_to_another(capsys: pytest.CaptureFixture[str]) -> None:
    questions: list[dict[str, Any]] = [
        {"id": "said", "column": "word", "kind": "text"},
        {"id": "chosen", "column": "word", "values": ["tea", "milk"]},
    ]
    Path("words.csv").write_text("word\nnan\ntea\nmilk\n")
    Path("q.json").write_text(json.dumps([questions[0], questions[1] | {"missing": "category"}]))
    ask = ("randomize", "words.csv", "-e", "9", "--questions", "q.json", "-o", "w.parquet")
    assert "chosen: 2 bits by KRR(3 values" in run(capsys, *ask)
    Path("q.json").write_text(json.dumps(questions))
    assert "chosen: row 1: an answer must not be missing" in refused(capsys, *ask)


@pytest.mark.parametrize("question", ["word:text", "word:choice:tea,milk", "word:choice", "word:multiple:tea,milk"])
def test_a_column_that_is_not_utf8_is_named(question: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{at},tea,x" for at in range(200_000)]
    Path("latin.csv").write_bytes("\n".join(["id,word,other", *rows, "7,café,é", "8,milk,x\n"]).encode("latin-1"))
    error = refused(capsys, "randomize", "latin.csv", "-e", "1", "-q", question, "-o", "w.parquet")
    assert error == "sotto: latin.csv: cannot be read: column 'word' must be text in UTF-8, row 200001 is not\n"


def test_values_end_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    values = ["tea\u2028milk", "a\x0bb", "   ", "c\rd", "e"]
    Path("values.txt").write_bytes(("\ufeff" + "\r\n".join(values) + "\n\n\r\n").encode())
    assert _lines(Path("values.txt")) == values
    Path("data.csv").write_text('x\n"   "\n' * 50)
    run(capsys, *RANDOMIZE, "-q", "x:text", "-o", "r.parquet")
    record = json.loads(run(capsys, "estimate", "r.parquet", "--values", "values.txt", "--json"))
    assert [row["label"] for row in record["questions"][0]["estimates"]] == values


# Options.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("d.parquet --next n.json --people 9000 --plot p.svg", "--plot does not go with --next"),
        ("d.parquet --next n.json --people 9000 --limit 1", "--limit does not go with --next"),
        ("d.parquet --next n.json --people 9000 -o f.csv", "--output does not go with --next"),
        ("d.parquet --next n.json --people 9000 --surely 2", "--surely does not go with --next"),
        ("--next n.json --people 9000 -e 1 --population", "--population does not go with --next"),
        ("--next n.json --people 9000 -e 1 -q drink", "--question goes with files of REPORTS"),
        ("d.parquet --people 9000", "--people goes with --next"),
        ("d.parquet -e 6", "--epsilon goes with --next"),
        ("d.parquet --rounds 4", "--rounds goes with --next"),
        ("d.parquet --salt a", "--salt goes with --next"),
        ("d.parquet --max-bytes 64", "--max-bytes goes with --next"),
        ("d.parquet --next n.json --people 9000 --max-bytes 4", "--max-bytes is for the first round"),
        ("d.parquet --next n.json --people 9000 -e 6", "--epsilon is for the first round"),
    ],
)
def test_discover_ignores_no_option(
    options: str, message: str, reports: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, "discover", *options.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-q drink:text --max-bits 3", "subset, epsilon=6) take 34 bits, more than max_bits = 3"),
        ("-q drink:text -m discovery --max-bits 3", "bits, more than max_bits = 3"),
        ("-q drink:text -m m.json --max-bits 3", "bits, more than max_bits = 3"),
        ("-q drink:text:8 -m m.json", "m.json: has its own domain, so max_bytes must be left out, got 8"),
        ("-q drink:text -m m.json --missing refuse", "so missing must be left out, got 'refuse'"),
        ("-q drink:text -m m.json --outside clip", "so outside must be left out, got 'clip'"),
        ("-q drink:text -m krr", "mechanism must be one of auto, hashed, bloom, discovery, got 'krr'"),
        ("-q drink:text -m fragments", "bloom, discovery, got 'fragments'"),
    ],
)
def test_randomize_ignores_no_option_about_text(options: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.json").write_text(json.dumps(sv.Hashed("krr", 64, 4, 6.0).to_dict()))
    assert message in refused(capsys, *RANDOMIZE, *options.split(), "-o", "x.parquet")


def test_a_bound_that_is_kept_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.json").write_text(json.dumps(sv.Hashed("krr", 1024, 64, 6.0).to_dict()))
    asked = ("-q", "drink:text", "-m", "m.json", "--max-bits", "16", "-o", "x.parquet")
    assert "16 bits" in run(capsys, *RANDOMIZE, *asked)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-m discovery --length 5 -e 1 --n 90000 --level 0.9", "--level does not go with --mechanism discovery"),
        ("-m discovery --length 5 -e 1 --n 90000 --concentration 1", "--concentration does not go with"),
        ("-m discovery --length 5 -e 1 --n 90000 --margin 0.1", "--margin does not go with"),
        ("-m hashed --candidates 5 -e 1 --n 90000 --proportion 0.1", "--proportion does not go with"),
        ("-m hashed --candidates 5 -e 1 --n 90000 --set a=1", "--set does not go with"),
        ("--length 5 -e 1 --n 90000", "--length is for --mechanism discovery"),
        ("-m krr --domain 4 --concentration 0.1 -e 1 --n 90000", "--concentration is for --mechanism hashed"),
        ("-m discovery --length 12 -e 2 --proportion 1", "--proportion must lie from 0 to 0.5, got 1.0"),
        ("-m discovery --length 12 -e 2 --proportion 1e-7", "a proportion of 1e-07 is out of reach"),
        ("-m discovery --length 12 -e 2 --proportion 1e-300", "1,000,000,000,000 people give"),
    ],
)
def test_plans_that_cannot_be_made(options: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in refused(capsys, "plan", *options.split())


def test_the_largest_proportion_has_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("-m", "discovery", "--length", "12", "-e", "2", "--proportion", "0.5", "--json")
    made = json.loads(run(capsys, "plan", *options))
    assert made["n"] >= 100 and made["proportion"] <= 0.5


# Files.


def test_the_file_at_fault_is_named(reports: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *RANDOMIZE, "-q", "drink:text", "-o", "hashed.parquet")
    for files in (["hashed.parquet", "-q", "drink"], [reports, "hashed.parquet"], ["hashed.parquet", reports]):
        assert "sotto: hashed.parquet: has no reports of discovery: see" in refused(capsys, "discover", *files)
    error = refused(capsys, "discover", reports, "-q", "food")
    assert "d.parquet: --question must be one of drink, got 'food'" in error


@pytest.mark.parametrize(
    "planned",
    [
        ("plan", "-m", "discovery", "--length", "4", "-e", "6", "--n", "3000"),
        ("plan", "-m", "hashed", "--candidates", "50", "-e", "6", "--n", "3000"),
        ("discover", "--next", "round.json", "--people", "3000", "-e", "6"),
    ],
)
def test_what_is_planned_can_be_asked(planned: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.json").write_text(run(capsys, *planned, "--json"))
    run(capsys, *RANDOMIZE, "-q", "drink:text", "-m", "plan.json", "-o", "r.parquet")
    record: dict[str, Any] = json.loads(Path("plan.json").read_text())
    assert ReportFile(Path("r.parquet")).mechanisms["drink"].to_dict() == record["mechanism"]


def test_an_audit_reads_the_mechanism_of_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.json").write_text(json.dumps({"n": 5, "mechanism": sv.KRR(["a", "b"], 1.0).to_dict()}))
    assert "consistent with epsilon = 1" in run(capsys, "audit", "--mechanism", "m.json")
    Path("m.json").write_text(json.dumps({"mechanism": {"mechanism": {}}}))
    assert "m.json: a mechanism must be one of" in refused(capsys, "audit", "--mechanism", "m.json")


def test_the_help_names_what_text_takes(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(run(capsys, "randomize", "--help").split())
    assert "text[:MAX_BYTES]" in shown and "or a FILE.json of" in shown
