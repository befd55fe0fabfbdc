"""What a device says about a wave before it draws: what it costs at least and at most, and whether it is answered."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.errors import Refusal
from sottovoce.demo.crowd import MemoryDevice, MemoryLedger
from sottovoce.device.respondent import Respondent
from sottovoce.mechanisms.longitudinal.base import Longitudinal
from sottovoce.survey import Survey

VALUES = ["low", "fair", "good"]
MOOD = {"id": "mood", "text": "Your mood?", "kind": "choice", "values": VALUES, "epsilon": 1, "mechanism": "krr",
        "memoize": True}  # fmt: skip
SMOKES = {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 0.5}
ROUNDING = Fraction(1, 2**45)
"""Sums are shown rounded up."""


def survey(*questions: dict[str, Any], waves: int = 4) -> Survey:
    document = {"sottovoce": 1, "id": "panel", "title": "Panel", "budget": 100, "questions": [*questions],
                "schedule": {"waves": waves, "every": "day"}}  # fmt: skip
    return Survey.from_dict(document).publish()


def forever(asked: Survey) -> float:
    mechanism = asked.question("mood").mechanism
    assert isinstance(mechanism, Longitudinal)
    return mechanism.epsilon_forever


def test_a_later_wave_that_may_cost_nothing_is_not_refused(tmp_path: Path) -> None:
    asked = survey(MOOD)
    cost = forever(asked)
    me = Respondent(tmp_path / "me.sqlite", budget=1.5 * cost, keyring=False)
    assert me.review(asked).costs == me.review(asked).least == {"mood": cost}
    me.answer(asked, {"mood": "low"}, 0)
    later = me.review(asked, 1)
    assert (later.refusal, later.least, later.costs) == (None, {"mood": 0.0}, {"mood": cost})
    assert later.new_value_refusal is not None and "over the budget" in later.new_value_refusal
    assert "would be answered with values held before; new ones would be REFUSED" in str(later)
    with pytest.raises(Refusal):
        me.answer(asked, {"mood": "good"}, 1)
    me.answer(asked, {"mood": "low"}, 1)
    assert me.ledger.spent == cost
    answered = me.review(asked, 1)
    assert answered.answered and answered.costs == {"mood": 0.0} and "was answered" in str(answered)


def test_a_permanent_answer_that_was_drawn_and_not_sent_is_in_the_price(tmp_path: Path) -> None:
    asked = survey(MOOD)
    cost = forever(asked)
    me = Respondent(tmp_path / "me.sqlite", budget=1.5 * cost, keyring=False)
    me.preview(asked, {"mood": "low"}, 0)
    assert me.review(asked, 1).least == {"mood": cost}
    me.ledger.set_budget(cost / 2)
    assert me.review(asked, 1).refusal is not None


def test_when_all_answers_are_drawn_no_value_is_new(tmp_path: Path) -> None:
    asked = survey(MOOD | {"changes": 1})
    me = Respondent(tmp_path / "me.sqlite", budget=2 * forever(asked), keyring=False)
    for wave, value in enumerate(VALUES):
        most = me.review(asked, wave).costs["mood"]
        assert most == (forever(asked) if wave < 2 else 0.0)
        me.answer(asked, {"mood": value}, wave)


STEPS = list(itertools.product(("preview", "answer"), (0, 1), ("low", "good")))


def lived(
    ledger: MemoryLedger, asked: Survey, history: Iterable[tuple[str, int, str]]
) -> tuple[MemoryDevice, set[str]]:
    """A device after some steps, and the values that it held."""
    me, held = MemoryDevice(ledger), set[str]()
    for action, wave, value in history:
        new = me.drawn(asked, wave) is None
        with suppress(Refusal):
            getattr(me, action)(asked, {"mood": value, "smokes": "no"}, wave)
            held |= {value} if new else set()
    return me, held


@pytest.mark.parametrize("budget", [1.0, 1.7, 2.6, 9.0])
def test_a_review_tells_the_truth_in_every_history(budget: float) -> None:
    """All histories of two steps: what is charged lies within the review, and is refused just where it says so."""
    asked = survey(MOOD, SMOKES, waves=3)
    for *history, wave, value in itertools.product(STEPS, STEPS, (0, 1, 2), VALUES):
        with closing(MemoryLedger()) as ledger:
            ledger.set_budget(budget * forever(asked))
            me, held = lived(ledger, asked, history)
            known = value in held or me.drawn(asked, wave) is not None
            review, before = me.review(asked, wave), Fraction(ledger.spent)
            refused = review.refusal is not None or (review.new_value_refusal is not None and not known)
            try:
                me.answer(asked, {"mood": value, "smokes": "no"}, wave)
                assert not refused
            except Refusal:
                assert refused
                continue
            least, most = (sum(map(Fraction, costs.values())) for costs in (review.least, review.costs))
            assert least - ROUNDING <= Fraction(ledger.spent) - before <= most + ROUNDING


@pytest.mark.parametrize(
    "mechanism",
    [
        sv.Memoized.of(4, "krr", permanent=2.0, first=1.0),
        sv.Memoized.of(4, "unary", permanent=2.0, first=1.0, changes=1),
        sv.Memoized.loloha(4, permanent=2.0, first=1.0),
        sv.DBitFlip(4, 1.0, sampled=2),
        sv.Changes(8, 2, epsilon=1.0),
    ],
)
def test_each_step_costs_what_was_announced(mechanism: Any) -> None:
    values = [0, 1, 0, 1, 1] if isinstance(mechanism, sv.Changes) else [2, 2, 0, 1, 0, 3, 2]
    memory, seen = None, set[int]()
    for value in values:
        least, most = mechanism.next_costs(memory)
        step = mechanism.step(value, mechanism.begin() if memory is None else memory)
        assert step.epsilon == (least if value in seen else most)
        memory, seen = step.memory, seen | {value}
