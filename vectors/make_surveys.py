"""Write vectors/surveys.json: canonical JSON, published surveys with their bytes and digests, and what to refuse.

Python and JavaScript must agree on all of it. Published vectors never change.
"""

from __future__ import annotations

import copy
import json
import struct
from pathlib import Path
from typing import Any

from sottovoce.core import canonical
from sottovoce.survey import Survey

HERE = Path(__file__).parent

NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 4.5, 1e21, 1e20, 123456789012345680000.0, 1e-6, 1e-7, 9.999999999999997e-7, 5e-324, 2.0**53,
    -(2.0**53), 2.0**53 + 2, 1.7976931348623157e308, 2.2250738585072014e-308, 0.1, 1 / 3, 100.0, 1e16, 1.5e300,
    0.7310585786300048, 333333333.33333325, 1424953923781206.2, -0.0000033333333333333333, 1e23,
]  # fmt: skip

VALUES = [
    '{"b":1,"a":2,"A":3,"":4}',
    '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}',
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"x":[null,true,false]}',
    '"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/\\u007f\\u2028"',
    '[ 4.0 , 4e0, 40e-1, -0, -0.0, 9007199254740991, 9007199254740992 ]',
    '{"nested":[[],{},[{"z":0,"y":[]}]]}',
    '"\\b\\t\\n\\f\\r\\u0000\\u001f"',
]  # fmt: skip

INVALID_TEXTS = [
    "", "{", "[1,]", "01", "1.", "NaN", "Infinity", "1e400", "9007199254740993", '{"a":1,"a":1}', '"\\ud800"',
    '{"\\udc00":1}', "1 2", "[" * 33 + "]" * 33,
]  # fmt: skip

QUESTIONS: list[dict[str, Any]] = [
    {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 1},
    {"id": "travel", "text": "Wie fährst du? 🚲", "kind": "choice", "values": ["bus", "car", "bike"], "epsilon": 0.5,
     "missing": "category", "mechanism": "krr"},
    {"id": "ward", "text": "Which ward?", "kind": "choice", "values": 300, "epsilon": 1.25, "mechanism": "local_hash"},
    {"id": "child", "text": "How many children?", "kind": "choice", "values": [0, 1, 2, 2.5], "epsilon": 0.75,
     "mechanism": "unary"},
    {"id": "drinks", "text": "What do you drink?", "kind": "multiple", "values": ["tea", "coffee"], "epsilon": 0.25},
    {"id": "age", "text": "How old are you?", "kind": "ordered", "values": 100, "epsilon": 1},
    {"id": "income", "text": "What do you earn?", "kind": "number", "low": 0, "high": 1e5, "outside": "clip",
     "epsilon": 2, "mechanism": "hybrid"},
    {"id": "hours", "text": "How long do you sleep?", "kind": "number", "low": -0.5, "high": 24.5, "epsilon": 1,
     "estimate": "distribution", "bins": 25},
]  # fmt: skip

DRAFTS: list[dict[str, Any]] = [
    {"sottovoce": 1, "id": "small", "title": "One question", "budget": 1, "questions": [QUESTIONS[0]]},
    {
        "sottovoce": 1,
        "id": "all-kinds",
        "title": "All kinds — of questions",
        "description": "Why we ask.\nWhat becomes of it: \"nothing\" \\ 'bad' \u2028",
        "contact": "study@example.org",
        "trust": "shuffle",
        "budget": 8.125,
        "minimum": 20,
        "expires": "2030-01-31T00:00:00Z",
        "covariates": [
            {"id": "region", "text": "Where?", "values": ["north", "söuth"]},
            {"id": "q", "values": ["f", "m"]},
        ],
        "questions": QUESTIONS,
    },
    {
        "sottovoce": 1,
        "id": "panel",
        "title": "Several waves",
        "schedule": {"waves": 6, "every": "week"},
        "questions": [
            QUESTIONS[0] | {"memoize": {"permanent": 1.5}},
            QUESTIONS[1] | {"memoize": True},
            QUESTIONS[2] | {"memoize": True, "changes": 2},
            QUESTIONS[3] | {"memoize": {"permanent": 2}},
            QUESTIONS[4],
        ],
    },
]


def surveys() -> list[dict[str, Any]]:
    return [_vector(Survey.from_dict(draft).publish()) for draft in DRAFTS]


def _vector(survey: Survey) -> dict[str, Any]:
    return {
        "document": survey.to_dict(),
        "canonical": survey.canonical().decode(),
        "digest": survey.digest,
        "epsilon": survey.epsilon,
        "costs": survey.costs,
    }


def invalid_surveys() -> list[dict[str, Any]]:
    """A sound published survey with one thing wrong, and what that is."""
    good = Survey.from_dict(DRAFTS[1]).publish().to_dict()
    first: dict[str, Any] = good["questions"][0]
    questions: dict[str, dict[str, Any]] = {
        "a question claims less than it costs": {"epsilon": 0.5},
        "a question claims more than it costs": {"epsilon": 1.5},
        "a mechanism claims less than it costs": {"mechanism": first["mechanism"] | {"epsilon": 0.5}},
        "a probability is not what epsilon says": {"mechanism": first["mechanism"] | {"p": 0.75}},
        "a mechanism has an unknown field": {"mechanism": first["mechanism"] | {"x": 1}},
        "a mechanism is for other values": {"values": ["yes", "no"]},
        "a question has an unknown field": {"colour": "red"},
        "a question has a field of another kind": {"low": 0},
        "a question has an unknown kind": {"kind": "maybe"},
        "a question's id is not one": {"id": "Smokes"},
        "two ids are the same": {"id": "age"},
        "a question's text is empty": {"text": " "},
    }
    fields: dict[str, dict[str, Any]] = {
        "the budget is below the cost": {"budget": 7},
        "the waves cost more than the budget": {"schedule": {"waves": 2}},
        "there is an unknown field": {"colour": "red"},
        "the format is newer": {"sottovoce": 2},
        "the time is not in UTC": {"expires": "2030-01-31T00:00:00+01:00"},
        "the time does not exist": {"expires": "2030-02-30T00:00:00Z"},
        "the trust model is unknown": {"trust": "me"},
        "the minimum is no whole number": {"minimum": 0.5},
        "there are no questions": {"questions": []},
    }
    bad = [(why, good | change) for why, change in fields.items()]
    for why, change in questions.items():
        document = copy.deepcopy(good)
        document["questions"][0] |= change
        bad.append((why, document))
    return [{"why": why, "document": document} for why, document in bad]


def content() -> dict[str, Any]:
    return {
        "numbers": [{"bits": struct.pack(">d", value).hex(), "text": canonical.number(value)} for value in NUMBERS],
        "values": [{"json": text, "canonical": canonical.dumps(canonical.loads(text)).decode()} for text in VALUES],
        "invalid_texts": INVALID_TEXTS,
        "surveys": surveys(),
        "invalid_surveys": invalid_surveys(),
    }


def main() -> None:
    (HERE / "surveys.json").write_text(json.dumps(content(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
