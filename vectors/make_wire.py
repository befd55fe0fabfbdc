"""Write vectors/wire.json: submissions and their exact text, and texts that a collector must refuse.

The surveys are those of vectors/surveys.json, and one with reports beyond 2^53, which are written as text. A report is
a number, {"big": decimal digits} or {"hex": bytes}. Published vectors never change.

python vectors/make_wire.py
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import sottovoce as sv
from sottovoce.core.randomness import Source
from sottovoce.core.reports import Report
from sottovoce.device import wire
from sottovoce.survey import Survey

HERE = Path(__file__).parent


class Seeded(Source):
    """Draws for vectors, never for answers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def draw(self) -> int:
        return self._random.getrandbits(53)


def surveys() -> list[Survey]:
    known = json.loads((HERE / "surveys.json").read_text(encoding="utf-8"))["surveys"]
    wide = sv.LocalHash(2**32, buckets=1621, p=0.5)
    question = {
        "id": "constructor",
        "text": "Which one?",
        "kind": "choice",
        "values": 2**32,
        "mechanism": wide.to_dict(),
    }
    big = {"sottovoce": 1, "id": "big", "title": "Long reports", "questions": [question]}
    return [*(Survey.from_dict(entry["document"]) for entry in known), Survey.from_dict(big).publish()]


def submission(survey: Survey, seed: int) -> wire.Submission:
    choose, source = random.Random(seed), Seeded(seed)
    reports: dict[str, Report | None] = {}
    for question in survey.questions:
        m = question.mechanism
        reports[question.id] = m._perturb(m._encode(answer(m, choose), source), source)
    covariates = {covariate.id: choose.choice(covariate.values) for covariate in survey.covariates}
    identity, wave = f"{choose.getrandbits(128):032x}", choose.randrange(survey.waves)
    return wire.Submission(identity, survey.digest, wave, reports, covariates)


def answer(m: sv.Mechanism, choose: random.Random) -> Any:
    return m.domain.labels[choose.randrange(m.domain.size)]


def neutral(report: Report | None) -> Any:
    if isinstance(report, bytes):
        return {"hex": report.hex()}
    return {"big": str(report)} if report is not None and report >= wire.EXACT_BELOW else report


def vector(survey: Survey, seed: int) -> dict[str, Any]:
    made = submission(survey, seed)
    return {
        "id": made.id,
        "wave": made.wave,
        "covariates": dict(made.covariates),
        "reports": {question: neutral(report) for question, report in made.reports.items()},
        "text": wire.encode(made).decode(),
    }


REPORTS: dict[str, Any] = {
    "a report is too large": 2,
    "a report is negative": -1,
    "a report is no whole number": 0.5,
    "a report is text": "1",
    "a report is a truth value": True,
    "a report is missing": None,
    "a report is a list": [1],
}
BITS: dict[str, Any] = {
    "bits are too few": "",
    "bits are too many": "AAAA",
    "bits are padded": "AA==",
    "bits are cut off": "A",
    "bits are beyond the last": "EA",
    "bits are not zero in what is left over": "AB",
    "bits are in another alphabet": "/w",
    "bits are a number": 3,
}


def invalid(survey: Survey, good: dict[str, Any]) -> list[dict[str, str]]:
    """A sound submission with one thing wrong, and what that is."""
    reports = [(why, good["reports"] | {"smokes": bad}) for why, bad in REPORTS.items()]
    reports += [(why, good["reports"] | {"child": bad}) for why, bad in BITS.items()]
    reports.append(("a report is to no question", good["reports"] | {"colour": 1}))
    reports.append(
        ("a question has no report", {name: good["reports"][name] for name in good["reports"] if name != "age"})
    )
    fields: list[tuple[str, dict[str, Any]]] = [
        ("the survey is another", {"survey": "sha256:" + 64 * "0"}),
        ("the wave is over", {"wave": survey.waves}),
        ("the wave is negative", {"wave": -1}),
        ("the wave is no whole number", {"wave": 0.5}),
        ("the id is too short", {"id": "00"}),
        ("the id is in capitals", {"id": "A" * 32}),
        ("the id is a number", {"id": 5}),
        ("a covariate is missing", {"covariates": {"q": "f"}}),
        ("a covariate has another value", {"covariates": {"q": "f", "region": "east"}}),
        ("covariates are a list", {"covariates": []}),
        ("reports are a list", {"reports": []}),
        ("there is another field", {"name": "me"}),
    ]
    fields += [(why, {"reports": bad}) for why, bad in reports]
    documents = [(why, good | change) for why, change in fields]
    documents += [(f"there is no {absent}", {name: good[name] for name in good if name != absent}) for absent in good]
    texts = [(why, json.dumps(document, ensure_ascii=False)) for why, document in documents]
    texts += [
        ("a key occurs twice", json.dumps(good)[:-1] + ', "wave": 0}'),
        ("it is no JSON", "{"),
        ("it is a list", "[]"),
    ]
    return [{"why": why, "text": text} for why, text in texts]


def content() -> dict[str, Any]:
    made: list[dict[str, Any]] = [
        {"survey": survey.to_dict(), "submissions": [vector(survey, seed) for seed in range(100 * at, 100 * at + 8)]}
        for at, survey in enumerate(surveys())
    ]
    all_kinds = surveys()[1]
    good = json.loads(made[1]["submissions"][0]["text"])
    return {"surveys": made, "invalid": {"survey": all_kinds.to_dict(), "texts": invalid(all_kinds, good)}}


def main() -> None:
    (HERE / "wire.json").write_text(json.dumps(content(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
