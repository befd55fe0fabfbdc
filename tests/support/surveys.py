"""Surveys that several tests use: drafts of every kind of question."""

from __future__ import annotations

from typing import Any

YES_NO: dict[str, Any] = {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no"}
CHOICE: dict[str, Any] = {
    "id": "travel",
    "text": "How do you travel?",
    "kind": "choice",
    "values": ["bus", "car", "bike"],
}
CODES: dict[str, Any] = {"id": "ward", "text": "Which ward?", "kind": "choice", "values": 300, "missing": "category"}
MULTIPLE: dict[str, Any] = {
    "id": "drinks",
    "text": "What do you drink?",
    "kind": "multiple",
    "values": ["tea", "coffee", "wine"],
}
ORDERED: dict[str, Any] = {"id": "age", "text": "How old are you?", "kind": "ordered", "values": 100}
NUMBER: dict[str, Any] = {
    "id": "income",
    "text": "What do you earn?",
    "kind": "number",
    "low": 0,
    "high": 1e5,
    "outside": "clip",
}
SHAPE: dict[str, Any] = {"id": "hours", "text": "How long do you sleep?", "kind": "number", "low": 0, "high": 24,
         "estimate": "distribution", "bins": 24}  # fmt: skip
PAGE: dict[str, Any] = {"id": "homepage", "text": "Your homepage?", "kind": "text", "max_bytes": 64}
QUESTIONS = [YES_NO, CHOICE, CODES, MULTIPLE, ORDERED, NUMBER, SHAPE]


def draft(*questions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A document; a field that is None is left out."""
    document = {
        "sottovoce": 1,
        "id": "habits",
        "title": "Habits",
        "budget": 4,
        "questions": list(questions or QUESTIONS),
    }
    return {name: value for name, value in (document | fields).items() if value is not None}


FULL = draft(
    *QUESTIONS[1:],
    YES_NO | {"epsilon": 1, "values": ["nein", "ja"], "mechanism": "krr"},
    description="Why we ask.\nAnd what becomes of it: ✓",
    contact="study@example.org",
    trust="shuffle",
    split="equal",
    minimum=20,
    expires="2027-01-31T00:00:00Z",
    schedule={"waves": 1, "every": "week"},
    covariates=[{"id": "region", "text": "Where?", "values": ["north", "south"]}, {"id": "sex", "values": ["f", "m"]}],
)

PANEL = draft(
    YES_NO | {"memoize": True},
    CHOICE | {"memoize": {"permanent": 1}, "epsilon": 0.4, "mechanism": "krr"},
    CODES | {"memoize": True, "mechanism": "local_hash", "changes": 1},
    NUMBER,
    budget=12,
    schedule={"waves": 5, "every": "day"},
)

MIXED = draft(
    YES_NO,
    CHOICE,
    trust="shuffle",
    shuffle={
        "analyst": "A" * 42 + "E",
        "shuffler": "B" * 42 + "8",
        "address": "https://shuffler.example.org/v1/surveys/habits",
        "minimum": 1000,
        "honest": 900,
        "delta": 1e-6,
    },
)

CURATED = draft(
    YES_NO | {"missing": "category"},
    CHOICE,
    ORDERED | {"values": [1, 2, 2.5]},
    NUMBER | {"epsilon": 1.5},
    trust="federated",
    federated={"curators": ["north", "east", "south", "west", "centre"], "threshold": 1, "dropouts": 2},
)

DRAFTS = {
    "curated": CURATED,
    "kinds": draft(),
    "full": FULL,
    "panel": PANEL,
    "mixed": MIXED,
    "small": draft(YES_NO, budget=1),
    "text": draft(PAGE),
}
