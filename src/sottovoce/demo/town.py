"""A town that does not exist: six harmless questions, one of each kind, and the true answers of its people.

Truths come from a seed, so that they can be held against the estimates. Reports never do: devices draw them from the
operating system.

>>> person(1, 0) == person(1, 0), sorted(person(1, 0)) == sorted(item["id"] for item in QUESTIONS)
(True, True)
"""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Iterable
from typing import TypedDict

from sottovoce.core.canonical import JsonObject
from sottovoce.survey import Survey


class Answers(TypedDict):
    """What one person answers, by question."""

    light: str
    travel: str
    fruit: list[str]
    sleep: float
    cups: int
    cat: str


BUDGET = 6
MINIMUM = 50

TRAVEL = {"on foot": 0.18, "bike": 0.14, "bus": 0.21, "train": 0.09, "car": 0.38}
FRUIT = {"apples": 0.46, "bananas": 0.52, "grapes": 0.21, "oranges": 0.27, "pears": 0.12}
CUPS = (0.28, 0.23, 0.22, 0.14, 0.07, 0.03, 0.02, 0.01)
CATS = {"Luna": 0.24, "Milo": 0.18, "Bella": 0.12, "Oscar": 0.10, "Nina": 0.06}
CANDIDATES = (*CATS, "Felix")
"""The names that are asked about in the end. The device knew none of them; nobody in town says the last one."""

SYLLABLES = ("ba", "do", "ki", "lo", "mu", "ra", "si", "te")
"""What all other names are made of."""

QUESTIONS: tuple[JsonObject, ...] = (
    {"id": "light", "text": "Have you ever crossed at a red light?", "kind": "yes_no"},
    {"id": "travel", "text": "How did you get to work or school?", "kind": "choice", "values": list(TRAVEL)},
    {"id": "fruit", "text": "Which of these did you eat this week?", "kind": "multiple", "values": list(FRUIT)},
    {"id": "sleep", "text": "How many hours did you sleep?", "kind": "number", "low": 0, "high": 12},
    {"id": "cups", "text": "How many cups of coffee yesterday?", "kind": "ordered", "values": len(CUPS)},
    {"id": "cat", "text": "What would you call a cat?", "kind": "text", "max_bytes": 16},
)


def survey(mark: str | None = None) -> Survey:
    """The survey, published. The mark ends its id; a new one each time, since phones answer a survey once."""
    name = f"town-{mark or secrets.token_hex(3)}"
    document = {"sottovoce": 1, "id": name, "title": "A town that does not exist", "budget": BUDGET,
                "minimum": MINIMUM, "questions": list(QUESTIONS)}  # fmt: skip
    return Survey.from_dict(document).publish()


def person(seed: int, number: int) -> Answers:
    """The true answers of one person of the town that has this seed."""
    draw = random.Random(f"{seed}/{number}")
    return {
        "light": "yes" if draw.random() < 0.83 else "no",
        "travel": draw.choices(list(TRAVEL), list(TRAVEL.values()))[0],
        "fruit": [fruit for fruit, share in FRUIT.items() if draw.random() < share],
        "sleep": min(12.0, max(0.0, round(4 * draw.gauss(7.1, 1.1)) / 4)),
        "cups": draw.choices(range(len(CUPS)), CUPS)[0],
        "cat": _name(draw),
    }


def _name(draw: random.Random) -> str:
    known = draw.choices([*CATS, ""], [*CATS.values(), 1 - sum(CATS.values())])[0]
    return known or "".join(draw.choices(SYLLABLES, k=3)).title()


def truths(people: Iterable[Answers]) -> dict[str, dict[str, float]]:
    """What is true of these people: a share for each value of a question, and the mean of a number.

    >>> found = truths(person(1, number) for number in range(1000))
    >>> round(found["light"]["yes"] + found["light"]["no"], 9), 0 <= found["sleep"]["mean"] <= 12
    (1.0, True)
    """
    everybody = list(people)
    counts = {item["id"]: Counter[str]() for item in QUESTIONS}
    for answers in everybody:
        for question, answer in answers.items():
            counts[question].update(map(str, answer if isinstance(answer, list) else [answer]))
    shares = {question: {value: count / len(everybody) for value, count in found.items()}
              for question, found in counts.items()}  # fmt: skip
    return shares | {"sleep": {"mean": sum(answers["sleep"] for answers in everybody) / len(everybody)}}
