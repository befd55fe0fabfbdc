"""Write vectors/shuffle.json: RFC 9180's own vectors, surveys with a shuffler, what to refuse, and sealed reports.

Sealing draws a fresh key each time, so that the sealed reports of another run differ; published ones open for good.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from sottovoce.core.sealing import PrivateKey
from sottovoce.device import envelope, wire
from sottovoce.survey import Survey

HERE = Path(__file__).parent
ANALYST = PrivateKey(bytes(range(32)))
SHUFFLER = PrivateKey(bytes(range(1, 33)))

RFC_9180 = {
    "info": "4f6465206f6e2061204772656369616e2055726e",
    "skEm": "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
    "skRm": "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
    "pkRm": "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
    "enc": "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
    "pt": "4265617574792069732074727574682c20747275746820626561757479",
    "aad": "436f756e742d30",
    "ct": "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
}
"""Appendix A.1.1, the first encryption: X25519, HKDF-SHA256, AES-128-GCM, base mode."""

QUESTIONS: list[dict[str, Any]] = [
    {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 1},
    {"id": "ward", "text": "Which ward?", "kind": "choice", "values": 300, "epsilon": 1, "mechanism": "krr"},
    {"id": "drink", "text": "What?", "kind": "choice", "values": ["tea", "wine"], "epsilon": 1, "mechanism": "unary"},
    {"id": "many", "text": "Which?", "kind": "choice", "values": 100, "epsilon": 0.1, "mechanism": "subset"},
]
ANSWERS: dict[str, Any] = {"smokes": "yes", "ward": 7, "drink": "tea", "many": 3}


def draft(*questions: dict[str, Any], waves: int = 1) -> dict[str, Any]:
    return {
        "sottovoce": 1, "id": "mixed", "title": "Mixed", "trust": "shuffle", "questions": list(questions),
        "schedule": {"waves": waves},
        "shuffle": {
            "analyst": str(ANALYST.public), "shuffler": str(SHUFFLER.public), "minimum": 1000, "honest": 900,
            "address": "https://shuffler.example.org/v1/surveys/mixed", "delta": 1e-6,
        },
    }  # fmt: skip


def surveys() -> list[Survey]:
    drafts = [draft(*QUESTIONS, waves=12), draft(QUESTIONS[0])]
    return [Survey.from_dict(document).publish() for document in drafts]


def _vector(survey: Survey) -> dict[str, Any]:
    return {"document": survey.to_dict(), "canonical": survey.canonical().decode(), "digest": survey.digest,
            "length": envelope.length(survey)}  # fmt: skip


def invalid() -> list[dict[str, Any]]:
    good = surveys()[1].to_dict()
    changes: dict[str, dict[str, Any]] = {
        "a key is too short": {"analyst": str(ANALYST.public)[:-1]},
        "a key has bits to spare": {"shuffler": "A" * 42 + "B"},
        "a key is no text": {"analyst": 1},
        "the address is none": {"address": "shuffler.example.org"},
        "the address has a space": {"address": "https://a b"},
        "the minimum is one": {"minimum": 1},
        "more are honest than there are": {"honest": 1001},
        "nobody is honest": {"honest": 0},
        "one key for both": {"shuffler": str(ANALYST.public)},
        "delta is zero": {"delta": 0},
        "delta is one": {"delta": 1},
        "there is an unknown field": {"colour": "red"},
    }
    bad = [(why, good | {"shuffle": good["shuffle"] | change}) for why, change in changes.items()]
    missing = copy.deepcopy(good)
    del missing["shuffle"]["delta"]
    bad += [
        ("a field is missing", missing),
        ("the trust model is another", good | {"trust": "local"}),
        ("there are covariates", good | {"covariates": [{"id": "sex", "values": ["f", "m"]}]}),
        ("it is no mapping", good | {"shuffle": []}),
    ]
    return [{"why": why, "document": document} for why, document in bad]


def sealed(survey: Survey, number: int) -> dict[str, Any]:
    reports = {item.id: item.mechanism.randomize(ANSWERS[item.id]) for item in survey.questions}
    wave = survey.waves - 1
    body = wire.encode(wire.Submission(f"{number:032x}", survey.digest, wave, reports, {}))
    outer = envelope.seal(survey, body)
    inner = envelope.take_off(survey, SHUFFLER, outer)[1]
    return {"survey": survey.digest, "wave": wave, "body": body.decode(), "inner": inner.hex(), "outer": outer.hex()}


def content() -> dict[str, Any]:
    made = surveys()
    return {
        "rfc9180": [RFC_9180],
        "analyst": ANALYST.data.hex(),
        "shuffler": SHUFFLER.data.hex(),
        "surveys": [_vector(survey) for survey in made],
        "answers": ANSWERS,
        "invalid": invalid(),
        "sealed": [sealed(survey, number) for number, survey in enumerate(made)],
    }


if __name__ == "__main__":
    (HERE / "shuffle.json").write_text(json.dumps(content(), indent=1) + "\n", encoding="utf-8")
