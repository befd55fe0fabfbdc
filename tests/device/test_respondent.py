"""The device: one draw for one answer, nothing sent that was not charged, refusals, crashes, bad input."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import tempfile
import threading
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import loaded_modules
import numpy as np
import pytest
import sqlite_crash
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from stores import memory_in

import sottovoce as sv
from sottovoce.core.errors import DomainError, ParameterError, Refusal, ReportError, StoreError
from sottovoce.device import wire
from sottovoce.device.accounting import spent
from sottovoce.device.ledger import Ledger
from sottovoce.device.respondent import Respondent
from sottovoce.survey import Survey


def survey(name: str = "habits", **fields: Any) -> Survey:
    questions = [
        {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 0.5},
        {"id": "travel", "text": "How?", "kind": "choice", "values": ["bus", "car", "bike"], "epsilon": 0.5},
    ]
    document = {"sottovoce": 1, "id": name, "title": "Habits", "budget": 4, "questions": questions}
    return Survey.from_dict(document | fields).publish()


def panel(name: str = "panel", waves: int = 6) -> Survey:
    question = {"id": "mood", "text": "Your mood?", "kind": "choice", "values": ["low", "fair", "good"], "epsilon": 1,
                "mechanism": "krr", "memoize": True}  # fmt: skip
    return survey(name, questions=[question], budget=100, schedule={"waves": waves, "every": "day"})


ANSWERS = {"smokes": "no", "travel": "car"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def test_a_submission_is_what_the_survey_says(store: Path) -> None:
    asked = survey(covariates=[{"id": "region", "values": ["north", "south"]}])
    body = Respondent(store).answer(asked, ANSWERS, covariates={"region": "north"})
    submission = wire.decode(body, asked)
    assert wire.encode(submission) == body
    assert (submission.survey, submission.wave, submission.covariates) == (asked.digest, 0, {"region": "north"})
    assert set(submission.reports) == {"smokes", "travel"}


def test_one_answer_one_draw(store: Path) -> None:
    asked = survey()
    first = Respondent(store).answer(asked, ANSWERS)
    assert all(Respondent(store).answer(asked, ANSWERS) == first for _ in range(20))
    assert Respondent(store).answer(asked, {"smokes": "yes", "travel": "bus"}) == first
    assert Respondent(store).answer(asked.canonical(), ANSWERS) == first
    assert Ledger(store).spent == spent(question.mechanism.epsilon for question in asked.questions)


def test_a_preview_is_byte_exact_and_free(store: Path) -> None:
    me, asked = Respondent(store), survey()
    previews = [me.preview(asked, {"smokes": value, "travel": "car"}) for value in ("no", "yes", "no")]
    assert previews[0] == previews[1] == previews[2] and me.ledger.charges() == []
    assert me.answer(asked, ANSWERS) == previews[0]
    assert me.preview(asked, {"smokes": "yes", "travel": "car"}) == previews[0]


def test_answers_are_not_in_the_store(store: Path) -> None:
    question = {
        "id": "home",
        "text": "Where?",
        "kind": "choice",
        "values": ["Ulaanbaatar", "Antananarivo"],
        "epsilon": 1,
    }
    me, asked = Respondent(store), survey(questions=[question])
    me.preview(asked, {"home": "Antananarivo"})
    me.answer(asked, {"home": "Antananarivo"})
    assert b"Antananarivo" not in store.read_bytes()


# What is refused.


def test_what_is_refused_is_not_charged(store: Path) -> None:
    me = Respondent(store, budget=1.2, pins={"pinned": "sha256:" + 64 * "0"})
    late = survey("late", expires="2020-01-01T00:00:00Z")
    for asked, message in (
        (survey("pinned"), "must have the pinned digest"),
        (late, "expired at 2020-01-01"),
        (survey("dear", questions=[{"id": "smokes", "text": "?", "kind": "yes_no", "epsilon": 2}]), "over the budget"),
    ):
        for action in (me.preview, me.answer):
            with pytest.raises(Refusal, match=message):
                action(asked, {"smokes": "no"} if asked.id == "dear" else ANSWERS)
        review = me.review(asked)
        assert review.refusal is not None and message in review.refusal and "REFUSED" in str(review)
    assert me.ledger.charges() == []
    assert me.review(survey()).refusal is None
    me.answer(survey(), ANSWERS)
    with pytest.raises(Refusal, match=r"bring the total to epsilon = 2, over the budget of 1\.2"):
        me.answer(survey("another"), ANSWERS)


def test_a_survey_that_changes_is_refused(store: Path) -> None:
    me = Respondent(store)
    me.answer(survey(), ANSWERS)
    with pytest.raises(Refusal, match="survey habits has changed"):
        me.answer(survey(title="Habits, again"), ANSWERS)


def test_a_draft_and_a_claim_below_cost_are_refused(store: Path) -> None:
    draft = Survey.from_dict({"sottovoce": 1, "id": "x", "title": "X", "budget": 1,
                              "questions": [{"id": "smokes", "text": "?", "kind": "yes_no"}]})  # fmt: skip
    with pytest.raises(Refusal, match="is a draft"):
        Respondent(store).answer(draft, {"smokes": "no"})
    document = json.loads(survey().canonical())
    document["questions"][0]["mechanism"]["epsilon"] = 0.25
    with pytest.raises(sv.SottovoceError, match="what the mechanism costs"):
        Respondent(store).answer(json.dumps(document).encode(), ANSWERS)
    document = json.loads(survey().canonical())
    document["questions"][0]["epsilon"] = 0.25
    with pytest.raises(sv.SottovoceError, match="epsilon"):
        Respondent(store).answer(json.dumps(document).encode(), ANSWERS)
    assert Ledger(store).charges() == []


BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"smokes": "perhaps", "travel": "car"}, {}, "smokes: an answer must be one of the 2 values"),
    ({"smokes": 1.5, "travel": "car"}, {}, "smokes: an answer must be one of"),
    ({"smokes": ["no"], "travel": "car"}, {}, "smokes: an answer must be one of"),
    ({"smokes": "no"}, {}, "travel: an answer must not be missing"),
    ({"smokes": "no", "travel": "car", "age": 5}, {}, "has no question 'age'"),
    ({"smokes": "no", "travel": "x" * 70_000}, {}, "at most 65,536 characters"),
    ({"smokes": "no", "travel": "\udcff"}, {}, "travel: an answer must be one of"),
    ({"smokes": "no", "travel": b"\xff\xfe"}, {}, "travel: an answer must be one of"),
    (ANSWERS, {"wave": 1}, "must be from 0 to 0, got 1"),
    (ANSWERS, {"wave": "0"}, "must be from 0 to 0, got '0'"),
    (ANSWERS, {"covariates": {"region": "north"}}, "just those of the survey"),
]


@pytest.mark.parametrize(("answers", "options", "message"), BAD, ids=[message for _, _, message in BAD])
def test_bad_answers_cost_nothing(store: Path, answers: Any, options: dict[str, Any], message: str) -> None:
    me = Respondent(store)
    with pytest.raises(sv.SottovoceError, match=message):
        me.answer(survey(), answers, **options)
    assert me.ledger.charges() == []
    me.answer(survey(), ANSWERS)


def test_answers_that_are_no_mapping(store: Path) -> None:
    with pytest.raises(ParameterError, match="must be a mapping"):
        Respondent(store).answer(survey(), ["no", "car"])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="Survey or the bytes"):
        Respondent(store).answer({"id": 1}, ANSWERS)  # type: ignore[arg-type]


# The store.


def test_stores_that_cannot_be_used(tmp_path: Path, store: Path) -> None:
    (tmp_path / "text").write_text("not a database " * 100)
    with pytest.raises(StoreError, match="not a database"):
        Respondent(tmp_path / "text")
    with pytest.raises(StoreError, match="unable to open"):
        Respondent(tmp_path / "no" / "folder" / "store")
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE cats (name)")
    with pytest.raises(StoreError, match="another program"):
        Respondent(tmp_path / "other")
    Respondent(store)
    with sqlite3.connect(store) as file:
        file.execute("PRAGMA user_version = 6")
    with pytest.raises(StoreError, match="version 6, newer than this program's 5"):
        Respondent(store)


def test_a_disk_that_cannot_be_written(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me, connect = Respondent(store), sqlite3.connect
    before = store.read_bytes()
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: connect(f"file:{path}?mode=ro", uri=True, **options)
    )
    for _ in range(2):
        with pytest.raises(StoreError, match="readonly"):
            me.answer(survey(), ANSWERS)
    monkeypatch.undo()
    assert store.read_bytes() == before and me.ledger.charges() == []


def test_a_full_disk_charges_and_releases_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me, connect = Respondent(store), sqlite3.connect
    pages = os.path.getsize(store) // 4096

    def full(path: str, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(path, **options)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    big = {"id": "page", "text": "?", "kind": "choice", "values": 200_000, "epsilon": 0.5, "mechanism": "unary"}
    asked = survey(questions=[big])
    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(StoreError, match="full"):
        me.answer(asked, {"page": 5})
    monkeypatch.undo()
    assert me.ledger.charges() == []


def test_the_budget_is_the_owners(store: Path) -> None:
    Respondent(store, budget=3.0)
    assert Respondent(store).ledger.budget == 3.0
    with pytest.raises(ParameterError, match=r"the store's budget is 3\.0, got 9\.0"):
        Respondent(store, budget=9.0)
    ledger = Ledger(store)
    ledger.set_budget(9.0)
    assert Ledger(store, budget=9.0).left == 9.0
    for bad in (0, -1, float("nan"), float("inf"), True, "5"):
        with pytest.raises(ParameterError, match="a budget must be a positive number"):
            ledger.set_budget(bad)  # type: ignore[arg-type]
    wrong: dict[str, dict[str, Any]] = {"delta must lie": {"delta": 1.0}, "a unit needs a delta": {"unit": 1.0}}
    for message, options in wrong.items():
        with pytest.raises(ParameterError, match=message):
            Ledger(store.with_name("new"), **options)


def test_threads_and_processes_share_a_store(store: Path) -> None:
    """Sixteen askers of eight surveys at once, with room for five: five are charged, each once."""
    me, surveys = Respondent(store, budget=5.0), [survey(f"s{i}") for i in range(8)]
    bodies: dict[str, set[bytes]] = {asked.id: set() for asked in surveys}

    def ask(asked: Survey) -> None:
        with contextlib.suppress(Refusal):
            bodies[asked.id].add(me.answer(asked, ANSWERS))

    threads = [threading.Thread(target=ask, args=[asked]) for asked in surveys * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(map(len, bodies.values())) == [0, 0, 0, 1, 1, 1, 1, 1]
    assert len(me.ledger.charges()) == 10 and me.ledger.spent <= 5.0


def test_advanced_composition(store: Path) -> None:
    """A hundred rounds of epsilon 0.1 at delta 1e-6 cost less than their sum; units allow more than the filter."""
    costs = [0.1] * 100
    assert spent(costs, 1e-6, unit=0.1) < spent(costs, 1e-6) < spent(costs)
    assert spent([0.1, 0.2], 1e-6, unit=0.1) == float("inf")
    assert spent([1.0] * 100, 1e-6, unit=1.0) == pytest.approx(83.53, abs=0.05)
    me = Respondent(store, budget=2.0, delta=1e-6, unit=0.1)
    asked = [
        survey(f"r{i}", questions=[{"id": "smokes", "text": "?", "kind": "yes_no", "epsilon": 0.1}]) for i in range(40)
    ]
    answered = 0
    for one in asked:
        try:
            me.answer(one, {"smokes": "no"})
            answered += 1
        except Refusal:
            break
    assert 20 < answered < 40 and me.ledger.spent <= 2.0


# Crashes.


def test_a_crash_at_every_step(tmp_path: Path) -> None:
    """However far it came: what was sent was charged, and the next start gives the same bytes or begins anew."""
    asked, steps, lived = panel(), 0, False
    while not lived:
        store, sent = tmp_path / f"{steps}.sqlite", tmp_path / f"{steps}.sent"
        Ledger(store, budget=2.5)
        lived = sqlite_crash.run(steps, lambda: Respondent(store).answer(asked, {"mood": "low"}), sent)  # noqa: B023
        ledger, body = Ledger(store), Respondent(store).answer(asked, {"mood": "low"})
        assert not sent.exists() or sent.read_bytes() == body
        assert len(ledger.charges()) == 1 and ledger.spent <= 2.0
        steps += 1
        assert steps < 200
    assert steps > 15 and sent.read_bytes() == body


class Life(RuleBasedStateMachine):
    """Any sequence of surveys, answers, changes, previews, crashes and restarts, beside a model of what must hold."""

    @initialize(budget=st.sampled_from([0.7, 1.0, 2.3, 4.0]))
    def begin(self, budget: float) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store, self.sent = Path(self.folder.name) / "store", Path(self.folder.name) / "sent"
        self.budget = budget
        self.me = Respondent(self.store, budget)
        self.released: dict[tuple[str, int], bytes] = {}
        self.shown: dict[int, bytes] = {}
        self.memories: dict[str, Any] = {}

    @rule(which=st.integers(0, 3), smokes=st.booleans(), steps=st.none() | st.integers(0, 60))
    def answer_once(self, which: int, smokes: bool, steps: int | None) -> None:
        asked = SURVEYS[which]
        self._answer(asked, {"smokes": "yes" if smokes else "no", "travel": "bike"}, 0, steps)

    @rule(wave=st.integers(0, 5), mood=st.sampled_from(["low", "fair", "good"]), steps=st.none() | st.integers(0, 60))
    def answer_wave(self, wave: int, mood: str, steps: int | None) -> None:
        self._answer(PANEL, {"mood": mood}, wave, steps)

    @rule(wave=st.integers(0, 5), mood=st.sampled_from(["low", "fair", "good"]))
    def preview(self, wave: int, mood: str) -> None:
        try:
            body = self.me.preview(PANEL, {"mood": mood}, wave)
        except Refusal:
            return
        assert self.shown.setdefault(wave, body) == body, "another draw was shown"

    @rule()
    def restart(self) -> None:
        self.me = Respondent(self.store)

    def _answer(self, asked: Survey, answers: dict[str, str], wave: int, steps: int | None) -> None:
        self.sent.unlink(missing_ok=True)
        if steps is not None:
            sqlite_crash.run(steps, lambda: self.me.answer(asked, answers, wave), self.sent)
        else:
            try:
                self.sent.write_bytes(self.me.answer(asked, answers, wave))
            except Refusal:
                return
        if self.sent.exists():
            body = self.sent.read_bytes()
            assert self.released.setdefault((asked.digest, wave), body) == body
            assert asked is not PANEL or self.shown.setdefault(wave, body) == body, "what was shown was not sent"

    @invariant()
    def the_budget_holds(self) -> None:
        with self.me.ledger.transaction() as entries:
            assert sum(Fraction(charge.epsilon) for charge in entries.charges()) <= Fraction(self.budget)
            for (digest, wave), body in self.released.items():
                assert entries.report(digest, wave) == body, "sent and not kept"
            charged = {(charge.survey, charge.wave) for charge in entries.charges()}
            assert all((one.id, 0) in charged for one in SURVEYS if (one.digest, 0) in self.released)
            waves = [wave for digest, wave in self.released if digest == PANEL.digest]
            assert not waves or any(survey == PANEL.id for survey, _ in charged)
            self._permanent_answers_stay(entries.memory(PANEL.digest, "mood"))

    def _permanent_answers_stay(self, memory: Any) -> None:
        lasting = {name: value for name, value in (memory or {}).items() if name != "last"}
        for name, value in _leaves(lasting):
            assert self.memories.setdefault(name, value) == value, "a permanent answer was drawn again"

    def teardown(self) -> None:
        self.folder.cleanup()


def _leaves(memory: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(memory, dict):
        return [leaf for key, value in memory.items() for leaf in _leaves(value, f"{name}/{key}")]
    return [] if memory is None else [(name, memory)]


SURVEYS, PANEL = [survey(f"survey-{i}") for i in range(4)], panel()
TestLife = Life.TestCase
TestLife.settings = settings(max_examples=30, stateful_step_count=15, suppress_health_check=list(HealthCheck))


def test_ten_thousand_reports_average_to_the_permanent_answer(store: Path) -> None:
    """The reports of 10,000 waves, over restarts, have the law of the permanent answer and not that of the value.

    A share of 10,000 is known to 0.5%; 3% off are beyond six deviations, false alarms below 1e-8. The laws of the two
    differ by more, whatever the permanent answer is.
    """
    asked = panel(waves=10_000)
    m: Any = asked.questions[0].mechanism
    me = Respondent(store, budget=2.5)
    me.answer(asked, {"mood": "low"})
    memory = memory_in(me.ledger, asked, "mood")
    counts = np.zeros(3)
    for _ in range(10_000):
        step = m.step("low", memory)
        memory = json.loads(json.dumps(step.memory))
        counts[step.report] += 1
    (permanent,) = memory["answers"].values()
    law = np.where(np.arange(3) == permanent, float(m.instantaneous.p), float(m.instantaneous.q))
    fresh = np.where(np.arange(3) == 0, float(m.p), float(m.q))
    assert abs(counts / 10_000 - law).max() < 0.03 < abs(counts / 10_000 - fresh).max()
    for wave in range(1, 40):
        me = Respondent(store) if wave % 10 == 0 else me
        me.answer(asked, {"mood": "low"}, wave)
    with me.ledger.transaction() as entries:
        assert entries.memory(asked.digest, "mood") == memory
    assert len(me.ledger.charges()) == 1


# What a device needs.


def test_a_device_needs_the_standard_library_alone_and_little_time(tmp_path: Path) -> None:
    (tmp_path / "survey.json").write_bytes(survey().canonical())
    program = f"""
import sottovoce.device.respondent
me = sottovoce.device.respondent.Respondent({str(tmp_path / "store")!r})
asked = open({str(tmp_path / "survey.json")!r}, "rb").read()
me.review(asked), me.answer(asked, {ANSWERS!r})
"""
    assert loaded_modules.run(program) == "[]\n"


# The parser of untrusted bytes.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "x"}, "32 hexadecimal digits"),
        ({"id": "A" * 32}, "32 hexadecimal digits"),
        ({"survey": "sha256:0"}, "is for survey"),
        ({"wave": 1}, "a wave must be from 0 to 0"),
        ({"wave": True}, "a wave must be"),
        ({"wave": 0.5}, "a wave must be"),
        ({"extra": 1}, "just the fields"),
        ({"reports": {}}, "a report for each question"),
        ({"reports": {"smokes": 2, "travel": 0}}, "smokes: a report must be from 0 to 1"),
        ({"reports": {"smokes": "1", "travel": 0}}, "smokes: a report must be a whole number"),
        ({"reports": {"smokes": None, "travel": 0}}, "smokes: a report must be a whole number"),
        ({"reports": {"smokes": True, "travel": 0}}, "smokes: a report must be a whole number"),
        ({"reports": {"smokes": 0.5, "travel": 0}}, "smokes: a report must be a whole number"),
        ({"covariates": {"region": "north"}}, "just those of the survey"),
    ],
)
def test_submissions_that_are_refused(store: Path, change: dict[str, Any], message: str) -> None:
    body = json.loads(Respondent(store).answer(survey(), ANSWERS))
    with pytest.raises(ReportError, match=message):
        wire.decode(json.dumps(body | change).encode(), survey())


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"id":1,"id":1}', b"[" * 100_000, b"0" * (2**20 + 1)])
def test_bytes_that_are_no_submission(data: bytes) -> None:
    with pytest.raises(ReportError, match="a submission must"):
        wire.decode(data, survey())


def test_reports_have_one_form(store: Path) -> None:
    page = {"id": "page", "text": "?", "kind": "choice", "values": 20, "epsilon": 1, "mechanism": "unary"}
    shop = {"id": "shop", "text": "?", "kind": "choice", "values": 300, "epsilon": 1, "mechanism": "subset"}
    asked = survey(questions=[page, shop])
    assert asked.questions[1].mechanism.bits > 53
    body = json.loads(Respondent(store).answer(asked, {"page": 3, "shop": 4}))
    wire.decode(json.dumps(body).encode(), asked)
    bits, number = body["reports"]["page"], body["reports"]["shop"]
    assert isinstance(number, str) and len(bits) == 4
    for wrong in (bits + "=", bits + "AAAA", "a+b/", "é", 5, None):
        with pytest.raises(ReportError, match="page: a report must"):
            wire.check(body | {"reports": {"page": wrong, "shop": number}}, asked)
    for wrong in ("0" + number, number + " ", "\u0663" * 20, "9" * 400, "9" * 5000, 5.5, None):
        with pytest.raises(ReportError, match="shop: a report must"):
            wire.check(body | {"reports": {"page": bits, "shop": wrong}}, asked)


def test_expiry_is_by_the_devices_clock(store: Path) -> None:
    asked = survey(expires="2030-01-01T00:00:00Z")
    early = Respondent(store, clock=lambda: datetime(2029, 12, 31, tzinfo=UTC))
    late = Respondent(store, clock=lambda: datetime(2030, 1, 1, tzinfo=UTC))
    with pytest.raises(Refusal, match="expired"):
        late.answer(asked, ANSWERS)
    body = early.answer(asked, ANSWERS)
    assert late.answer(asked, ANSWERS) == body


@pytest.mark.parametrize("now", [datetime(2029, 1, 1), 1.5e9, "2029-01-01", None])
def test_a_clock_must_know_its_time_zone(store: Path, now: Any) -> None:
    me = Respondent(store, clock=lambda: now)
    with pytest.raises(ParameterError, match="clock must give a datetime with a time zone, got"):
        me.answer(survey(expires="2030-01-01T00:00:00Z"), ANSWERS)
    assert me.ledger.charges() == []
    me.answer(survey("other"), ANSWERS)  # What does not expire needs no clock.


def test_a_ledger_is_looked_at_without_making_one(store: Path) -> None:
    with pytest.raises(StoreError, match=r"store\.sqlite: no such store"):
        Ledger(store, create=False)
    assert not store.exists()
    store.touch()
    with pytest.raises(StoreError, match=r"store\.sqlite: the file is empty: there is no store in it"):
        Ledger(store, create=False)
    assert store.read_bytes() == b""
    Ledger(store, budget=3.0)
    assert Ledger(store, create=False).budget == 3.0


def waves_of_changes(waves: int = 8) -> Survey:
    made = sv.Changes(waves, 2, 1.0, domain=["no", "yes"])
    question = {"id": "ill", "text": "?", "kind": "yes_no", "mechanism": made.to_dict()}
    return survey("course", questions=[question], schedule={"waves": waves, "every": "day"})


def test_skipped_waves_are_caught_up(store: Path) -> None:
    """The device counts the survey's waves, not its answers; it is charged once; an earlier wave comes too late."""
    me, asked = Respondent(store), waves_of_changes()
    for wave in (2, 3, 6):
        me.answer(asked, {"ill": "yes"}, wave)
        assert memory_in(me.ledger, asked, "ill")["wave"] == wave + 1
    assert len(me.ledger.charges()) == 1
    kept = me.answer(asked, {"ill": "no"}, 3)
    with pytest.raises(ParameterError, match="ill: waves must come in their order: 7 are over, got wave 5"):
        me.answer(asked, {"ill": "no"}, 5)
    assert me.answer(asked, {"ill": "yes"}, 3) == kept


def test_errors_name_their_kind() -> None:
    assert issubclass(Refusal, sv.SottovoceError) and issubclass(StoreError, sv.SottovoceError)
    assert issubclass(DomainError, sv.SottovoceError)
