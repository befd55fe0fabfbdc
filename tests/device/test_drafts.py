"""Drafts: answers are final once their draw was shown; nothing is drawn twice and nothing leaves unpaid."""

from __future__ import annotations

import itertools
import json
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from stores import memory_in

import sottovoce as sv
from sottovoce.core.errors import Refusal
from sottovoce.demo.crowd import MemoryDevice, MemoryLedger
from sottovoce.device.respondent import Respondent
from sottovoce.survey import Survey

MOOD = {"id": "mood", "text": "Your mood?", "kind": "choice", "values": ["low", "fair", "good"], "epsilon": 1,
        "mechanism": "krr", "memoize": True}  # fmt: skip
SMOKES = {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 0.5}


def survey(*questions: dict[str, Any], waves: int = 1, name: str = "habits") -> Survey:
    document = {"sottovoce": 1, "id": name, "title": "Habits", "budget": 100, "questions": list(questions),
                "schedule": {"waves": waves, "every": "day"}}  # fmt: skip
    return Survey.from_dict(document).publish()


def test_a_changed_answer_finds_the_first_draw(tmp_path: Path) -> None:
    """Forty changes of mind show one report: whoever toggles until it is as wished has nothing to choose from."""
    me, asked = Respondent(tmp_path / "me.sqlite"), survey(SMOKES)
    shown = {me.preview(asked, {"smokes": value}) for value in ["no", "yes"] * 20}
    assert len(shown) == 1 and me.ledger.charges() == []
    assert me.answer(asked, {"smokes": "yes"}) in shown
    assert len(me.ledger.charges()) == 1


def test_a_draft_is_asked_for_without_answers(tmp_path: Path) -> None:
    me, asked = Respondent(tmp_path / "me.sqlite"), survey(SMOKES, waves=2)
    assert me.drawn(asked) is None
    shown = me.preview(asked, {"smokes": "no"})
    assert me.drawn(asked) == shown == me.preview(asked, {}) and me.drawn(asked, wave=1) is None
    assert me.answer(asked, {}) == shown == me.drawn(asked)


def test_what_is_refused_leaves_no_draft(tmp_path: Path) -> None:
    me, asked = Respondent(tmp_path / "me.sqlite", budget=0.4), survey(SMOKES)
    with pytest.raises(Refusal, match="over the budget"):
        me.preview(asked, {"smokes": "no"})
    assert me.drawn(asked) is None


def test_a_draft_that_the_budget_no_longer_covers_waits(tmp_path: Path) -> None:
    """Two drafts fit one at a time. The second stays as it was drawn until its owner raises the budget."""
    me, asked, other = Respondent(tmp_path / "me.sqlite", budget=0.6), survey(SMOKES), survey(SMOKES, name="other")
    shown = me.preview(asked, {"smokes": "no"})
    me.answer(other, {"smokes": "no"})
    with pytest.raises(Refusal, match="over the budget"):
        me.answer(asked, {"smokes": "no"})
    me.ledger.set_budget(1.1)
    assert me.answer(asked, {"smokes": "yes"}) == shown and me.ledger.spent == pytest.approx(1.0)


# Every history of previews and answers over some waves.

VALUES = ("low", "fair")
STEPS = list(itertools.product(("preview", "answer"), (0, 1), VALUES))
PANEL = survey(MOOD, SMOKES, waves=2)
FOREVER = PANEL.question("mood").mechanism.epsilon_forever  # type: ignore[attr-defined]


def permanent(me: Respondent) -> dict[str, Any]:
    with me.ledger.transaction() as entries:
        memory = entries.memory(PANEL.digest, "mood")
    return dict(memory["answers"]) if memory else {}


class Model:
    """What a device must have done after some steps."""

    def __init__(self) -> None:
        self.drafts: dict[int, str] = {}  # The value of each wave, in the order in which they were drawn.
        self.bodies: dict[int, bytes] = {}
        self.released: list[int] = []
        self.permanent: dict[str, Any] = {}

    def step(self, me: Respondent, action: str, wave: int, value: str) -> None:
        body = getattr(me, action)(PANEL, {"mood": value, "smokes": "no"}, wave)
        self.drafts.setdefault(wave, value)
        assert self.bodies.setdefault(wave, body) == body, "another report was shown for this wave"
        if action == "answer" and wave not in self.released:
            self.released.append(wave)
        now = permanent(me)
        assert self.permanent.items() <= now.items(), "a permanent answer was drawn again"
        self.permanent = now
        self.check(me)

    def check(self, me: Respondent) -> None:
        charges = me.ledger.charges()
        paid = [charge for charge in charges if charge.question == "mood"]
        fresh = [charge.wave for charge in charges if charge.question == "smokes"]
        assert sorted(fresh) == sorted(self.released)
        order = list(self.drafts)
        last = max((order.index(wave) for wave in self.released), default=-1)
        due = {self.drafts[wave] for wave in order[: last + 1]}  # What the released reports may rest on.
        assert {self.drafts[wave] for wave in self.released} <= due
        assert sum(Fraction(one.epsilon) for one in paid) == len(due) * Fraction(FOREVER)


@pytest.mark.parametrize("action", ["preview", "answer"])
def test_every_history_draws_once_and_pays_for_what_leaves(action: str) -> None:
    """All histories of four steps; the first wave and value may stand for any."""
    first = (action, 0, "low")
    for rest in itertools.product(STEPS, repeat=3):
        with closing(MemoryLedger()) as ledger:
            ledger.set_budget(100.0)
            me, model = MemoryDevice(ledger), Model()
            for step in (first, *rest):
                model.step(me, *step)


def test_every_history_within_a_budget_for_one_permanent_answer() -> None:
    for steps in itertools.product(STEPS, repeat=3):
        with closing(MemoryLedger()) as ledger:
            ledger.set_budget(FOREVER + 2 * 0.5)
            me, held, sent = MemoryDevice(ledger), dict[int, str](), dict[int, bytes]()
            for action, wave, value in steps:
                try:
                    body = getattr(me, action)(PANEL, {"mood": value, "smokes": "no"}, wave)
                except Refusal:
                    continue
                held.setdefault(wave, value)
                if action == "answer":
                    assert sent.setdefault(wave, body) == body
            assert me.ledger.spent <= ledger.budget
            assert len({held[wave] for wave in sent}) <= 1


def test_drafts_draw_no_more_permanent_answers_than_the_survey_allows() -> None:
    """All histories of drafts and reports with three values in three waves, where one change is allowed."""
    asked = survey(MOOD | {"changes": 1}, waves=3)
    for values in itertools.product(["low", "fair", "good"], repeat=3):
        for actions in itertools.product(("preview", "answer"), repeat=3):
            with closing(MemoryLedger()) as ledger:
                ledger.set_budget(100.0)
                me = MemoryDevice(ledger)
                for wave, (action, value) in enumerate(zip(actions, values, strict=True)):
                    getattr(me, action)(asked, {"mood": value}, wave)
                assert len(memory_in(ledger, asked, "mood")["answers"]) == min(2, len(set(values)))
                assert len(ledger.charges()) == (
                    0 if "answer" not in actions else min(2, len(set(values[: 3 - actions[::-1].index("answer")])))
                )


def test_waves_that_count_themselves_pay_for_a_draft_that_stays(tmp_path: Path) -> None:
    """A draft of rare changes that is never sent: the next wave pays what all waves together cost, once."""
    made = sv.Changes(4, 2, 1.0, domain=["no", "yes"])
    question = {"id": "ill", "text": "?", "kind": "yes_no", "mechanism": made.to_dict()}
    asked, me = survey(question, waves=4), Respondent(tmp_path / "me.sqlite")
    me.preview(asked, {"ill": "yes"}, wave=1)
    me.answer(asked, {"ill": "no"}, wave=2)
    me.answer(asked, {"ill": "no"}, wave=1)
    assert [charge.epsilon for charge in me.ledger.charges()] == [made.epsilon_forever]
    assert json.loads(me.answer(asked, {"ill": "no"}, wave=3))["wave"] == 3
