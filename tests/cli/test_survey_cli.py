"""`sotto survey`: new, check, publish, digest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from surveys import PANEL, draft

from sottovoce.cli import main
from sottovoce.survey import Survey


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["survey", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    out, err = run(capsys, *arguments, code=2)
    assert out == "" and err.startswith("sotto: ") and err.count("\n") == 1
    return err.removeprefix("sotto: ").strip()


def test_from_a_template_to_a_digest(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "new", "s.yaml")
    out, _ = run(capsys, "check", "s.yaml")
    assert "pills: of 100 people who answer no, 27 send yes" in out
    assert "all together: epsilon = 3, of a budget of 3" in out
    assert "a draft" in out and "warning" not in out
    out, _ = run(capsys, "publish", "s.yaml", "-o", "s.json")
    digest = out.splitlines()[-1]
    assert digest == "sha256:" + hashlib.sha256(Path("s.json").read_bytes()).hexdigest()
    assert run(capsys, "digest", "s.json")[0] == digest + "\n"
    assert digest in run(capsys, "check", "s.json")[0]


def test_new_prints_without_a_file_and_never_overwrites(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "new")
    Path("mine.yaml").write_text("precious")
    assert failure(capsys, "new", "mine.yaml") == "mine.yaml: exists already"
    assert Path("mine.yaml").read_text() == "precious"
    assert "cannot be written" in failure(capsys, "new", "no/such/folder.yaml")
    assert json.loads(run(capsys, "new", "--json")[0]) == {"template": out}
    assert json.loads(run(capsys, "new", "other.yaml", "--json")[0]) == {"file": "other.yaml"}
    Path("out.yaml").write_text(out)
    run(capsys, "check", "out.yaml")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(json.dumps(PANEL))
    record = json.loads(run(capsys, "check", "s.yaml", "--json")[0])
    survey = Survey.from_dict(PANEL).publish()
    assert (record["published"], record["digest"], record["waves"]) == (False, None, 5)
    assert record["epsilon"] == survey.epsilon and record["budget"] == 12
    assert {row["id"]: row["cost"] for row in record["questions"]} == survey.costs
    assert [finding["rule"] for finding in record["findings"]][:2] == ["contact", "expires"]
    published = json.loads(run(capsys, "publish", "s.yaml", "-o", "s.json", "--json")[0])
    assert published == {"id": "habits", "digest": survey.digest, "epsilon": survey.epsilon}
    assert json.loads(run(capsys, "digest", "s.json", "--json")[0])["digest"] == survey.digest
    assert json.loads(run(capsys, "check", "s.json", "--json")[0])["digest"] == survey.digest


def test_a_published_survey_is_never_changed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(json.dumps(draft()))
    run(capsys, "publish", "s.yaml", "-o", "s.json")
    before = Path("s.json").read_bytes()
    run(capsys, "publish", "s.yaml", "-o", "s.json")
    run(capsys, "publish", "s.json", "-o", "copy.json")
    assert Path("copy.json").read_bytes() == before
    Path("s.yaml").write_text(json.dumps(draft(title="Other")))
    assert "a published survey never changes" in failure(capsys, "publish", "s.yaml", "-o", "s.json")
    assert Path("s.json").read_bytes() == before


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"colour": "red"}, "s.yaml: unknown field 'colour'"),
        ({"sottovoce": 9}, "s.yaml: sottovoce: 9 is a newer format"),
        ({"budget": None}, "s.yaml: question 'smokes': give it an epsilon, or the survey a budget"),
        ({"budget": 0.001}, "s.yaml: question 'hours': epsilon must be at least 0.05"),
    ],
)
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], fields: dict[str, Any], message: str) -> None:
    Path("s.yaml").write_text(json.dumps(draft(**fields)))
    for command in (("check",), ("publish", "-o", "s.json")):
        assert failure(capsys, command[0], "s.yaml", *command[1:]).startswith(message)
    assert not Path("s.json").exists()


def test_files_are_errors_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert failure(capsys, "check", "none.yaml") == "none.yaml: no such file"
    assert "is a directory" in failure(capsys, "digest", ".")
    Path("s.yaml").write_text(json.dumps(draft()))
    assert failure(capsys, "digest", "s.yaml") == "s.yaml: survey 'habits' is a draft: publish it first"
    assert failure(capsys, "publish", "s.yaml", "-o", "s.yml").endswith("a published survey must end in .json")
    assert "cannot be written" in failure(capsys, "publish", "s.yaml", "-o", "no/such/s.json")
