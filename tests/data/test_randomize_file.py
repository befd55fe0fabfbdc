"""What the command line does with files, from Python: surveys, mechanisms, short forms, progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shuffler_service

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.errors import DomainError, FileError, ParameterError
from sottovoce.data import ReportFile, answers, randomize_file, tally_files
from sottovoce.estimates import Estimate, Shares
from sottovoce.survey import Survey

QUESTIONS: list[dict[str, Any]] = [
    {"id": "smokes", "text": "?", "kind": "yes_no", "values": ["no", "yes"]},
    {"id": "rooms", "text": "?", "kind": "choice", "values": [1, 2, 3.5, "more"]},
    {"id": "drinks", "text": "?", "kind": "multiple", "values": ["tea", "milk"]},
    {"id": "floors", "text": "?", "kind": "multiple", "values": 3},
    {"id": "age", "text": "?", "kind": "number", "low": 0, "high": 120},
]
DRAFT: dict[str, Any] = {"sottovoce": 1, "id": "town", "title": "Town", "budget": 5, "questions": QUESTIONS}
ROWS = ["no,1,tea;milk,0;2,33,7", "yes,3.5,,1,34,8", "no,more,tea,,35,9"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("town.csv").write_text("smokes,rooms,drinks,floors,age,id\n" + "".join(f"{row}\n" for row in ROWS * 400))


def document() -> str:
    lines = [f"{name}: {DRAFT[name]}" for name in ("sottovoce", "id", "title", "budget")]
    return "\n".join([*lines, "questions:", *(f"  - {question}" for question in QUESTIONS)]).replace("'?'", "'What?'")


def test_a_survey_is_asked_of_a_table_by_its_own_mechanisms() -> None:
    published, shares = Survey.from_dict(DRAFT).publish(), list[float]()
    made = randomize_file("town.csv", "r.parquet", Survey.from_dict(DRAFT), seed=1, progress=shares.append)
    assert made.mechanisms == {question.id: question.mechanism for question in published.questions}
    assert made.rows == 1200 and made.epsilon <= 5 and made.simulated and shares[-1] == 1.0
    assert pq.read_schema("r.parquet").names == [question["id"] for question in QUESTIONS]
    counted = tally_files("r.parquet", progress=shares.append)
    assert shares[-1] == 1.0 and {tally.n for tally in counted.values()} == {1200}
    truth = {
        "smokes": [2 / 3, 1 / 3],
        "rooms": [1 / 3, 0, 1 / 3, 1 / 3],
        "drinks": [2 / 3, 1 / 3],
        "floors": [1 / 3] * 3,
    }
    for name, shares_of in truth.items():  # Within 5 standard errors: false alarms 6e-7 each, seeded.
        result = counted[name].estimate()
        assert isinstance(result, Estimate | Shares)
        assert (abs(result.frequency - np.array(shares_of)) < 5 * result.stderr).all(), name


def test_the_command_takes_a_survey(capsys: pytest.CaptureFixture[str]) -> None:
    Path("town.yaml").write_text(document())
    assert main(["randomize", "town.csv", "--survey", "town.yaml", "-o", "draft.parquet"]) == 0
    out, err = capsys.readouterr()
    published = Survey.read("town.yaml").publish()
    assert err == f"sotto: town.yaml is a draft, and was published for this run: {published.digest}\n"
    assert out.startswith("draft.parquet: 1,200 rows of reports, epsilon = 5 a row\n")
    assert main(["survey", "publish", "town.yaml", "-o", "town.json"]) == 0
    assert main(["randomize", "town.csv", "--survey", "town.json", "-o", "r.parquet"]) == 0
    assert capsys.readouterr().err == ""
    assert ReportFile(Path("r.parquet")).mechanisms == ReportFile(Path("draft.parquet")).mechanisms
    assert main(["estimate", "draft.parquet", "r.parquet"]) == 0
    assert "n = 2,400" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--survey", "town.yaml", "-e", "1"), "--epsilon does not go with --survey"),
        (("--survey", "town.yaml", "-m", "krr"), "--mechanism does not go with --survey"),
        (("--survey", "town.yaml", "-q", "age:number:0:9"), "one of --column, --question, --questions or --survey"),
        (("--survey", "none.yaml"), "none.yaml: no such file"),
        (("--survey", "town.csv"), "town.csv: a survey must be a mapping of fields"),
        (("--survey", "poor.yaml"), "poor.yaml: question 'smokes': give it an epsilon, or the survey a budget"),
        (("--survey", "other.yaml"), "town.csv: no column 'lives', the columns are smokes, rooms"),
        (("--survey", "narrow.yaml"), "age: row 1: an answer must lie from 0 to 9"),
        (("--survey", "panel.yaml"), "needs a device that remembers its permanent answer"),
    ],
)
def test_what_a_survey_cannot_ask_is_one_line(
    options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = document()
    Path("town.yaml").write_text(text)
    Path("poor.yaml").write_text(text.replace("budget: 5\n", ""))
    Path("other.yaml").write_text(text.replace("'id': 'age'", "'id': 'lives'"))
    Path("narrow.yaml").write_text(text.replace("'high': 120", "'high': 9"))
    Path("panel.yaml").write_text(text.replace("'kind': 'yes_no'", "'kind': 'yes_no', 'memoize': true"))
    capsys.readouterr()
    assert main(["randomize", "town.csv", *options, "-o", "x.parquet"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert message in lines[-1] and not Path("x.parquet").exists()
    assert all(line.startswith("sotto: ") for line in lines) and len(lines) <= 2


def test_reports_that_must_be_sealed_or_summed_are_not_written_to_a_file() -> None:
    with pytest.raises(ParameterError, match="sends sealed reports through a shuffler"):
        randomize_file("town.csv", "x.parquet", shuffler_service.survey())
    summed = DRAFT | {"trust": "federated", "federated": {"curators": ["a", "b", "c"]}, "questions": QUESTIONS[:1]}
    with pytest.raises(ParameterError, match="has curators, who add up answers"):
        randomize_file("town.csv", "x.parquet", Survey.from_dict(summed))
    assert not Path("x.parquet").exists()


def test_short_forms_and_mechanisms() -> None:
    made = randomize_file("town.csv", "a.parquet", ["smokes:choice", "age:number:0:120"], 2.0, seed=3)
    assert made.domains_from_data == ("smokes",) and made.epsilon <= 2
    again = randomize_file("town.csv", "b.parquet", dict(made.mechanisms), seed=3)
    assert again.domains_from_data == () and pq.read_table("a.parquet") == pq.read_table("b.parquet")
    assert tally_files(["a.parquet", "b.parquet"])["age"].n == 2400 == tally_files("?.parquet")["age"].n
    memoized = sv.Memoized.of(["no", "yes"], "krr", permanent=2.0, first=1.0)
    for questions, epsilon, message in (
        (made.mechanisms, 1.0, "epsilon goes with questions in short form"),
        ([], 1.0, "ask at least one question"),
        ({"smokes": memoized}, None, "needs a device that remembers"),
        (["smokes:yes_no"], None, "an epsilon is needed"),
        (["smokes:yes_no"], -1.0, "epsilon must be positive"),
    ):
        with pytest.raises(ParameterError, match=message):
            randomize_file("town.csv", "x.parquet", questions, epsilon)
    with pytest.raises(ParameterError, match="would count twice"):
        tally_files(["a.parquet", "a.*"])
    with pytest.raises(ParameterError, match="at least one file"):
        tally_files([])
    with pytest.raises(FileError, match="no file matches"):
        tally_files("c*.parquet")


def test_labels_that_are_numbers_are_matched_as_json_writes_them() -> None:
    domain = sv.Domain([1, 2.5, "1.0", "more"], missing="category")
    text = pa.array(["1", "2.5", "1.0", "more", "", None])
    assert domain.encode_many(answers(text, domain, csv=True)).tolist() == [0, 1, 2, 3, 4, 4]
    assert domain.encode_many(answers(text.dictionary_encode(), domain, csv=True)).tolist() == [0, 1, 2, 3, 4, 4]
    assert domain.encode_many(answers(pa.array([1.0, 2.5, None]), domain)).tolist() == [0, 1, 4]
    assert domain.encode_many(answers(pa.array([1, 1]), domain)).tolist() == [0, 0]
    with pytest.raises(DomainError, match=r"row 12: .*got '01'"):
        domain.encode_many(answers(pa.array(["1", "01"]), domain, csv=True), first_row=11)
    truths = sv.Domain([False, True])
    assert truths.encode_many(answers(pa.array([True, False]), truths)).tolist() == [1, 0]
