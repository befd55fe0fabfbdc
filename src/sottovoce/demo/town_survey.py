"""The whole path: a survey is published, a crowd of devices answers by HTTP, and a collector estimates.

Everything on the way is what a survey of real people would use. Only the people are simulated, and so the truth is
known.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from socket import socket

from sottovoce.collector import Collector, open_store
from sottovoce.core.canonical import JsonObject
from sottovoce.demo import town
from sottovoce.device import transport
from sottovoce.survey import Question, Survey
from sottovoce.web.server import run

LEVEL = 0.95
DRAIN_SECONDS = 3
JOIN_SECONDS = 30.0
"""What runs beside the server has this much time to end after it."""


def serve(
    data: Path,
    survey: Survey,
    listener: socket,
    meanwhile: Callable[[], None],
    halt: Callable[[], None],
    stay: bool,
) -> bool:
    """Run a collector for a survey, and something else meanwhile; whether that was finished.

    The collector ends by Ctrl-C, which halts the rest; by itself if the rest fails, and when it is done unless it
    should stay.
    """
    store = open_store(data)
    store.publish(survey)
    app = Collector(store, public_estimates=True)
    finished, failures = threading.Event(), list[BaseException]()

    def work() -> None:
        try:
            meanwhile()
            finished.set()
        except BaseException as error:
            failures.extend([] if app.ending.is_set() else [error])  # Without a collector it cannot but fail.
        if not app.ending.is_set() and not (stay and finished.is_set()):
            os.kill(os.getpid(), signal.SIGINT)  # As Ctrl-C does.

    beside = threading.Thread(target=work, daemon=True)
    try:
        run(app, listener, beside.start, drain_seconds=DRAIN_SECONDS)
    finally:
        halt()
        if beside.is_alive():
            beside.join(JOIN_SECONDS)
    for failure in failures:
        raise failure
    return finished.is_set()


@dataclass(frozen=True)
class EstimateBesideTruth:
    """One estimate beside the truth."""

    label: str
    truth: float
    estimate: float
    stderr: float
    low: float
    high: float

    @property
    def covers(self) -> bool:
        return self.low <= self.truth <= self.high

    def cells(self) -> list[str]:
        miss = "" if self.covers else "missed"
        return [self.label, f"{self.truth:.4f}", f"{self.estimate:.4f}", f"{self.low:.4f} .. {self.high:.4f}", miss]


@dataclass(frozen=True)
class QuestionResult:
    """One question, and what the collector says about it."""

    item: Question
    n: int
    rows: Sequence[EstimateBesideTruth]

    def record(self) -> JsonObject:
        item = self.item
        about = {"id": item.id, "text": item.text, "kind": item.kind, "mechanism": item.mechanism.name}
        rows = [asdict(row) | {"covers": row.covers} for row in self.rows]
        return about | {"epsilon": item.mechanism.epsilon, "n": self.n, "rows": rows}


def answers(url: str, survey: Survey, people: int, seed: int) -> list[QuestionResult]:
    """What the collector at `url` says, for everybody to see, beside the truth about so many people."""
    truths = town.truths(town.person(seed, number) for number in range(people))
    return [_answer(url, item, truths[item.id]) for item in survey.questions]


def _answer(url: str, item: Question, truth: Mapping[str, float]) -> QuestionResult:
    """Text has no list of values: some are named now that the reports are in."""
    named = [("value", value) for value in town.CANDIDATES] if item.kind == "text" else []
    query = urllib.parse.urlencode([("question", item.id), ("level", LEVEL), *named])
    (found,) = json.loads(transport.fetch(f"{url}/estimates?{query}", timeout=60.0))["results"]
    measure = "mean" if item.kind == "number" else "frequency"
    rows = [
        EstimateBesideTruth(
            str(row["label"]), truth.get(str(row["label"]), 0.0), row[measure], row["stderr"], row["low"], row["high"]
        )
        for row in found["estimates"]
    ]
    return QuestionResult(item, found["n"], rows)


def covering(found: Sequence[QuestionResult]) -> tuple[int, int]:
    """How many intervals hold the truth, and how many there are."""
    rows = [row for answer in found for row in answer.rows]
    return sum(row.covers for row in rows), len(rows)


def record(survey: Survey, found: Sequence[QuestionResult]) -> JsonObject:
    """What was found, for JSON."""
    held, intervals = covering(found)
    return {
        "survey": survey.id,
        "digest": survey.digest,
        "epsilon": survey.epsilon,
        "level": LEVEL,
        "questions": [answer.record() for answer in found],
        "intervals": intervals,
        "covering": held,
    }
