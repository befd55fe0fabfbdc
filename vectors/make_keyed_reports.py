"""Write vectors/keyed_reports.json: whole submissions of devices with a personal key, the same in every client.

They also follow from the order in which mechanisms draw: run this again when that changes.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from sottovoce.device.personal_key import PersonalKey
from sottovoce.device.respondent import Respondent
from sottovoce.survey import Survey

HERE = Path(__file__).parent
KEY = PersonalKey(bytes(range(32)))
CHOICE = {"text": "?", "kind": "choice", "epsilon": 1}
QUESTIONS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"id": "smokes", "text": "?", "kind": "yes_no", "epsilon": 1}, ["no", "yes", "no"]),
    (CHOICE | {"id": "krr", "values": ["bus", "car", "bike"], "mechanism": "krr"}, ["bus", "bike", "bus"]),
    (CHOICE | {"id": "unary", "values": 20, "mechanism": "unary"}, [3, 19, 3]),
    (CHOICE | {"id": "local-hash", "values": 300, "mechanism": "local_hash"}, [7, 299, 7]),
    (CHOICE | {"id": "subset", "values": 50, "mechanism": "subset"}, [11, 49, 11]),
    (CHOICE | {"id": "hadamard", "values": 30, "mechanism": "hadamard"}, [0, 29, 0]),
    (
        {"id": "drinks", "text": "?", "kind": "multiple", "values": ["tea", "wine"], "epsilon": 1},
        [["wine", "tea"], [], ["tea"]],
    ),
    ({"id": "hours", "text": "?", "kind": "number", "low": 0, "high": 12, "epsilon": 1}, [7.25, 12, 7.25]),
    ({"id": "year", "text": "?", "kind": "ordered", "values": 16, "epsilon": 1}, [9, 15, 9]),
    ({"id": "town", "text": "?", "kind": "text", "max_bytes": 32, "epsilon": 4}, ["Rome", "été 🎲", "Rome"]),
    (CHOICE | {"id": "mood", "values": ["low", "good"], "mechanism": "krr", "memoize": True}, ["low", "good", "low"]),
    (CHOICE | {"id": "habit", "values": 20, "mechanism": "unary", "memoize": True}, [4, 4, 5]),
    ({"id": "page", "text": "?", "kind": "text", "max_bytes": 32, "epsilon": 4, "memoize": True}, ["a", "b", "a"]),
]  # fmt: skip
WAVES = 3


def _survey(question: dict[str, Any]) -> Survey:
    document = {"sottovoce": 1, "id": question["id"], "title": "Keyed", "budget": 1000, "questions": [question],
                "schedule": {"waves": WAVES, "every": "day"}}  # fmt: skip
    return Survey.from_dict(document).publish()


def _vector(question: dict[str, Any], answers: list[Any]) -> dict[str, Any]:
    """All waves on one device, so that what is remembered is used again."""
    survey, name = _survey(question), question["id"]
    with tempfile.TemporaryDirectory() as folder:
        me = Respondent(Path(folder, "me.sqlite"), budget=1000, key=KEY)
        sent = [me.answer(survey, {name: answer}, wave).decode() for wave, answer in enumerate(answers)]
    submissions = [{"answer": answer, "text": text} for answer, text in zip(answers, sent, strict=True)]
    return {"survey": survey.to_dict(), "digest": survey.digest, "submissions": submissions}


def content() -> dict[str, Any]:
    return {"key": KEY.to_text(), "surveys": [_vector(question, answers) for question, answers in QUESTIONS]}


if __name__ == "__main__":
    (HERE / "keyed_reports.json").write_text(json.dumps(content(), indent=1) + "\n", encoding="utf-8")
