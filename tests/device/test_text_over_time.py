"""A text that is asked for again and again, from the device to the collector's estimate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from collector_service import Inside
from stores import memory_in

import sottovoce as sv
from sottovoce.collector.sqlite import sqlite_store
from sottovoce.core.reports import CohortBits
from sottovoce.device import wire
from sottovoce.device.respondent import Respondent
from sottovoce.mechanisms.longitudinal.memoized_kinds import MemoizedTexts
from sottovoce.survey import Survey

DEVICES, WAVES = 40, 2
PAGE: dict[str, Any] = {"id": "page", "text": "Your homepage?", "kind": "text", "max_bytes": 32, "epsilon": 4}
QUESTIONS: list[dict[str, Any]] = [
    PAGE | {"memoize": True},
    PAGE | {"id": "drink", "memoize": {"permanent": 12}, "mechanism": "bloom"},
]


def panel(*questions: dict[str, Any], **fields: Any) -> Survey:
    document = {"sottovoce": 1, "id": "panel", "title": "Panel", "minimum": 10,
                "schedule": {"waves": WAVES, "every": "day"}, "questions": list(questions)}  # fmt: skip
    return Survey.from_dict(document | fields).publish()


def test_from_the_device_to_the_estimate(tmp_path: Path) -> None:
    """40 devices over two waves, 30 with one value; errors within 6 standard errors: false alarms below 1e-7."""
    asked = panel(*QUESTIONS)
    store = sqlite_store(tmp_path / "collector.sqlite")
    store.publish(asked)
    inside = Inside(store, rate=None)
    try:
        for device in range(DEVICES):
            me = Respondent(tmp_path / f"{device}.sqlite", budget=1000)
            value = "tea" if device < 30 else f"value {device}"
            for wave in range(WAVES):
                body = me.answer(asked, {"page": value, "drink": value}, wave)
                assert inside.send(body, name="panel").json["accepted"] == 1
            assert len(me.ledger.charges()) == 2  # Each answer was charged once, in the first wave.
        path = "/v1/surveys/panel/estimates?value=tea&value=milk"
        found = inside("GET", path, token=inside.analyst).json
    finally:
        inside.close()
    assert not found["withheld"] and len(found["results"]) == 2 * WAVES
    for result in found["results"]:
        rows = {row["label"]: row for row in result["estimates"]}
        for label, truth in (("tea", 30 / DEVICES), ("milk", 0.0)):
            assert abs(rows[label]["frequency"] - truth) < 6 * rows[label]["stderr"]
            assert rows[label]["stderr"] < 0.3


def test_a_device_stays_in_its_cohort_and_pays_for_new_answers(tmp_path: Path) -> None:
    asked, me = panel(*QUESTIONS, schedule={"waves": 3}), Respondent(tmp_path / "me.sqlite", budget=1000)
    reports: list[Any] = [wire.decode(me.answer(asked, {"page": value, "drink": value}, wave), asked).reports
                          for wave, value in enumerate(["tea", "milk", "tea"])]  # fmt: skip
    page, drink = (question.mechanism for question in asked.questions)
    assert isinstance(page, sv.Memoized) and isinstance(drink, sv.Memoized) and isinstance(drink.shape, CohortBits)
    assert len({one["page"] // page._chain.size for one in reports}) == 1
    assert len({drink.shape.split(one["drink"])[0] for one in reports}) == 1
    paid = [charge.epsilon for charge in me.ledger.charges() if charge.question == "drink"]
    assert paid == [drink.epsilon_forever] * 2  # A third wave with an old value is free.
    memory = memory_in(me.ledger, asked, "drink")
    assert len(memory["answers"]) == 2 and all(len(name) == 64 for name in memory["answers"])


def test_the_budget_holds_even_if_the_text_changes_in_every_wave(tmp_path: Path) -> None:
    """However few the buckets are: every new text is paid for, up to the changes that the question allows."""
    open_question = {name: value for name, value in PAGE.items() if name != "epsilon"}
    for bound, answers in (({}, 40), ({"changes": 2}, 3), ({"changes": 0}, 1)):
        asked = panel(open_question | {"memoize": True} | bound, budget=3, schedule={"waves": 40, "every": "day"})
        (question,) = asked.questions
        assert isinstance(question.mechanism, MemoizedTexts) and question.mechanism.permanent.buckets < 40
        assert 3 - 1e-9 < asked.epsilon <= 3
        assert question.mechanism.epsilon_forever == pytest.approx(3 / answers)
        me = Respondent(tmp_path / f"{answers}.sqlite", budget=3)
        for wave in range(40):
            me.answer(asked, {"page": f"page {wave}"}, wave)
        assert len(me.ledger.charges()) == answers and me.ledger.spent == asked.epsilon


def test_rappor_may_be_written_out() -> None:
    text = sv.Text(32)
    m = sv.Memoized.rappor(text, f=0.5, p=0.5, q=0.75, bits=128, hashes=2, cohorts=8, salt="panel/page")
    question = {name: value for name, value in PAGE.items() if name != "epsilon"} | {"mechanism": m.to_dict()}
    asked = panel(question)
    assert asked.questions[0].mechanism == m
    assert asked.costs == {"page": m.epsilon_after(WAVES - 1)}
    assert Survey.loads(asked.canonical()).digest == asked.digest
    other = json.loads(json.dumps(question))
    other["max_bytes"] = 31
    with pytest.raises(sv.ParameterError, match="mechanism must be one for this question"):
        panel(other)


def test_a_text_may_be_asked_once_by_a_filter() -> None:
    asked = panel(PAGE | {"mechanism": "bloom"}, schedule={"waves": 1})
    assert asked.questions[0].mechanism == sv.mechanisms.Bloom(epsilon=4, salt="panel/page", domain=sv.Text(32))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"memoize": {"permanent": 4}}, "below permanent = 4"),
        ({"memoize": {"permanent": 8}, "mechanism": "krr"}, "mechanism must be one of auto, hashed"),
        ({"memoize": "yes"}, "memoize must be true, false"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(sv.ParameterError, match=says):
        panel(PAGE | change)
