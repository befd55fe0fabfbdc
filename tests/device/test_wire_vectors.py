"""The published vectors of the wire hold: submissions have one text, and what is invalid is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sottovoce.core.errors import ReportError
from sottovoce.core.reports import Report
from sottovoce.device import wire
from sottovoce.survey import Survey

PATH = Path(__file__).parents[2] / "vectors" / "wire.json"
FILE: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))


def from_json(report: Any) -> Report:
    if isinstance(report, dict):
        return bytes.fromhex(report["hex"]) if "hex" in report else int(report["big"])
    return int(report)


@pytest.mark.parametrize("vector", FILE["surveys"], ids=lambda vector: vector["survey"]["id"])
def test_a_submission_has_one_text(vector: dict[str, Any]) -> None:
    survey = Survey.from_dict(vector["survey"])
    for entry in vector["submissions"]:
        reports = {question: from_json(report) for question, report in entry["reports"].items()}
        submission = wire.Submission(entry["id"], survey.digest, entry["wave"], reports, entry["covariates"])
        assert wire.encode(submission) == entry["text"].encode()
        assert wire.decode(entry["text"].encode(), survey) == submission


def test_some_reports_are_beyond_doubles_and_some_are_bits() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert '"big"' in text and '"hex"' in text


@pytest.mark.parametrize("vector", FILE["invalid"]["texts"], ids=lambda vector: vector["why"])
def test_invalid_submissions_are_refused(vector: dict[str, str]) -> None:
    with pytest.raises(ReportError):
        wire.decode(vector["text"].encode(), Survey.from_dict(FILE["invalid"]["survey"]))
