"""What is done while the power is cut: each work acknowledges what it promises to have kept."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import collector_service
import shuffler_service
from power_loss import Ack, Work

import sottovoce as sv
from sottovoce import data as files
from sottovoce.collector import open_store
from sottovoce.core import durable
from sottovoce.core.sealing import PrivateKey
from sottovoce.data import spark
from sottovoce.device.respondent import Respondent
from sottovoce.shuffler import open_store as open_shuffler
from sottovoce.survey import Survey

BUDGET = 9.0
KRR = sv.KRR(["a", "b", "c"], epsilon=1.0)
BATCHES = ([0, 1, 2], [1, 1], [2, 2, 2, 2])
"""Reports of each batch of a stream."""


@cache
def asked() -> Survey:
    question = {"id": "mood", "text": "How are you?", "kind": "yes_no", "epsilon": 1}
    document = {"sottovoce": 1, "id": "mood", "title": "Mood", "questions": [question], "schedule": {"waves": 3}}
    return Survey.from_dict(document).publish()


def device(root: Path, ack: Ack) -> None:
    """A person answers three waves."""
    me = Respondent(root / "me.sqlite", BUDGET)
    for wave in range(3):
        ack(str(wave), me.answer(asked(), {"mood": "yes"}, wave).hex())


def collector(root: Path, ack: Ack) -> None:
    """Reports come in over HTTP; the collector is closed and opened once in between."""
    for _ in range(2):
        store = open_store(root / "data")
        store.publish(collector_service.survey())
        inside = collector_service.Inside(store, rate=None)
        for _ in range(3):
            name = os.urandom(16).hex()
            if inside.send(collector_service.submission(collector_service.survey(), name=name)).status == 200:
                ack("report", name)
        inside.close()
        store.close()


def shuffler(root: Path, ack: Ack) -> None:
    """Envelopes come in, and are made into batches."""
    store = open_shuffler(root / "data", shuffler_service.survey(), extra=0)
    for _ in range(3):
        letters = shuffler_service.noise(shuffler_service.survey(), 6)
        store.add([letters])
        for _, inner in letters:
            ack("envelope", inner.hex())
        store.mix()


def _as_given(frame: Any, questions: Any, by: Any = ()) -> Any:
    """A frame of Spark is, here, the tallies that it would give."""
    return {(): frame}


def running(root: Path, ack: Ack) -> None:
    """A stream of reports is added to a running tally; Spark itself is not needed for that."""
    spark.tallies = _as_given
    total = spark.Running(root / "tally.json", {"answer": KRR})
    for number, reports in enumerate(BATCHES):
        total.add({"answer": KRR.tally().add_many(reports)}, number)  # type: ignore[arg-type]
        ack("batch", str(number))


def key(root: Path, ack: Ack) -> None:
    ack("key", PrivateKey.at(root / "key").to_text())


def sealed(root: Path, ack: Ack) -> None:
    """A person answers two waves of a survey with a shuffler: what is handed out is sealed."""
    me = Respondent(root / "me.sqlite", BUDGET)
    for wave in range(2):
        ack(str(wave), me.answer(shuffler_service.survey(), {"smokes": "yes", "ward": 7}, wave).hex())


def published(root: Path, ack: Ack) -> None:
    """A file is written, and written again."""
    for text in ("first", "second"):
        with files.writing(root / "page.html") as part:
            part.write_text(text)
        ack("written", text)


def careless(root: Path, ack: Ack) -> None:
    """Nothing here lasts: a file that is not synced, and one whose name is not."""
    (root / "unsynced").write_text("text")
    durable.sync_folder(root)
    (root / "unnamed").write_text("text")
    durable.sync_file(root / "unnamed")
    ack("done", "")


def careful(root: Path, ack: Ack) -> None:
    durable.make_folder(root / "a" / "b")
    durable.create(root / "a" / "b" / "file", b"text")
    ack("done", "")


WORK: dict[str, Work] = {
    work.__name__: work
    for work in (device, collector, shuffler, running, key, sealed, published, careless, careful)
}  # fmt: skip
