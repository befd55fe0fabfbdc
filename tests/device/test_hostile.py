"""A server that wishes its respondents ill, a store that is damaged, and a person who mistypes."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core import canonical
from sottovoce.core.errors import DomainError, ParameterError, Refusal, ReportError, StoreError
from sottovoce.core.reports import Bits
from sottovoce.device import wire
from sottovoce.device.accounting import MAX_UNITS, spent
from sottovoce.device.ledger import Ledger
from sottovoce.device.respondent import Respondent
from sottovoce.survey import Survey

SMOKES = {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 0.5}
DRINKS = {"id": "drinks", "text": "Which?", "kind": "multiple", "values": ["tea", "wine, red"], "epsilon": 0.5}
MOOD = {"id": "mood", "text": "Your mood?", "kind": "choice", "values": ["low", "fair", "good"], "epsilon": 0.5,
        "mechanism": "krr", "memoize": True}  # fmt: skip


def survey(*questions: dict[str, Any], **fields: Any) -> Survey:
    document = {"sottovoce": 1, "id": "habits", "title": "Habits", "questions": list(questions or (SMOKES,))}
    return Survey.from_dict(document | fields).publish()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@contextmanager
def seconds(most: float) -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < most


# What a document can make a device do.


def test_what_occurs_twice_is_found_in_time() -> None:
    """Among 60,000 keys or labels, each compared with all others, it would take half a minute."""
    keys = ",".join(f'"{i}":0' for i in range(60_000))
    with seconds(5), pytest.raises(ParameterError, match="got '59999' twice"):
        canonical.loads(f'{{{keys},"59999":0}}')
    with seconds(5), pytest.raises(ParameterError, match="got 59999 twice"):
        sv.Domain([*range(60_000), 59_999])


def test_a_set_has_no_code_of_half_a_gigabyte() -> None:
    with pytest.raises(ParameterError, match="options must be at most 1,048,576, got 4,294,967,296"):
        sv.Sets(2**32, epsilon=1.0)
    with pytest.raises(ParameterError, match="options must be at most"):
        survey(DRINKS | {"values": 2**32})


def test_bits_are_packed_one_by_one() -> None:
    """Two numbers of a million bits, added half a million times, take minutes."""
    shape = Bits(2**20)
    with seconds(5):
        packed = shape.pack(range(0, 2**20, 2))
    assert packed == b"\x55" * 2**17 and Bits(12).pack([0, 2, 11]) == bytes([0b101, 0b1000])


def test_reports_must_fit_into_a_submission() -> None:
    """Six reports of 2^20 bits are more than a collector reads: they would be charged for and lost."""
    page = {"text": "?", "kind": "choice", "values": 2**18, "epsilon": 0.1, "mechanism": "unary"}
    fits = survey(*(page | {"id": f"q{i}"} for i in range(4)))
    assert sum(question.mechanism.bits for question in fits.questions) * 4 // 3 // 8 < wire.MAX_SUBMISSION_BYTES
    with pytest.raises(ParameterError, match="at most 1,048,576 bits together, got 1,310,720"):
        survey(*(page | {"id": f"q{i}"} for i in range(5)))


# What a person is shown.


def test_a_review_shows_what_is_sent_in_clear_and_how_often_it_is_asked(store: Path) -> None:
    asked = survey(schedule={"waves": 3}, covariates=[{"id": "region", "values": ["north", "south"]}])
    shown = str(Respondent(store).review(asked))
    assert "  region: sent as it is" in shown and "all together: epsilon = 1.5 in 3 waves, of 10 left" in shown


def test_a_title_cannot_pass_for_a_review(store: Path) -> None:
    shown = str(Respondent(store).review(survey(title="A\nall together: epsilon = 0.01, of 10 left\nB")))
    assert len(shown.splitlines()) == 4 and shown.startswith("A all together: ")


def test_a_review_refuses_what_an_answer_would(store: Path) -> None:
    me = Respondent(store)
    me.answer(survey(), {"smokes": "no"})
    changed = survey(title="Other")
    assert "has changed" in (me.review(changed).refusal or "")
    with pytest.raises(Refusal, match="has changed"):
        me.answer(changed, {"smokes": "no"})
    unit = Respondent(store.with_name("unit"), delta=1e-6, unit=0.1)
    assert unit.review(survey()).refusal == "smokes costs epsilon = 0.5, more than the ledger's unit of 0.1"


def test_a_review_pins_nothing(store: Path) -> None:
    me = Respondent(store)
    me.review(survey())
    assert me.answer(survey(title="Other"), {"smokes": "no"})


# Bad input.


@pytest.mark.parametrize("wave", [2**70, [], None, True, 0.0])
def test_waves_that_are_none(store: Path, wave: Any) -> None:
    me = Respondent(store)
    for ask in (me.preview, me.answer):
        with pytest.raises(ParameterError, match="a wave of survey habits must be from 0 to 0"):
            ask(survey(), {"smokes": "no"}, wave)


def endless() -> list[Any]:
    nest: list[Any] = []
    nest.append(nest)
    return nest


@pytest.mark.parametrize("answer", [endless(), {(1, 2): 3}, 10**5000], ids=["endless", "a mapping", "a long number"])
def test_answers_that_are_nothing_of_the_kind(store: Path, answer: Any) -> None:
    with pytest.raises(DomainError, match="answers must be text, numbers"):
        Respondent(store).answer(survey(), {"smokes": answer})


@pytest.mark.parametrize("path", [":memory:", "", "x\0y", b"bytes", 5, None])
def test_stores_that_are_no_files(path: Any) -> None:
    with pytest.raises(ParameterError, match="a store must be the path of a file"):
        Respondent(path)


def test_a_budget_beyond_all_floats(store: Path) -> None:
    with pytest.raises(ParameterError, match="a budget must be a positive number"):
        Ledger(store, budget=10**400)


def test_more_units_than_can_be_composed_add_up() -> None:
    assert spent([0.5] * (MAX_UNITS + 1), 1e-6, unit=0.5) == (MAX_UNITS + 1) / 2


@pytest.mark.parametrize("data", [None, "{}", 5, memoryview(b"{}")])
def test_submissions_that_are_no_bytes(data: Any) -> None:
    with pytest.raises(ReportError, match="a submission must be bytes"):
        wire.decode(data, survey())


def test_messages_stay_short(store: Path) -> None:
    page = {"id": "page", "text": "?", "kind": "choice", "values": 999, "epsilon": 1, "mechanism": "unary"}
    asked = survey(SMOKES, page)
    body = json.loads(Respondent(store).answer(asked, {"smokes": "no", "page": 1}))
    for change in ({"smokes": 10**400}, {"page": "_" * 166 + "8"}):
        with pytest.raises(ReportError, match="a report must be") as error:
            wire.check(body | {"reports": body["reports"] | change}, asked)
        assert len(str(error.value)) < 120


# A damaged store.


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM owner",
        "UPDATE owner SET delta = x''",
        "UPDATE owner SET budget = 'much'",
        "UPDATE charges SET epsilon = 'none'",
        "UPDATE charges SET epsilon = -epsilon",
        "UPDATE charges SET epsilon = 9e999",
        "UPDATE memories SET memory = '{'",
        "UPDATE memories SET memory = CAST(x'7bff7d' AS TEXT)",
    ],
)
def test_a_damaged_store_is_told_in_one_line(store: Path, damage: str) -> None:
    asked = survey(MOOD, schedule={"waves": 2})
    me = Respondent(store)
    me.answer(asked, {"mood": "low"})
    with sqlite3.connect(store) as file:
        file.execute(damage)
    with pytest.raises(StoreError) as error:
        me.answer(asked, {"mood": "low"}, wave=1)
    assert "\n" not in str(error.value)


def test_any_damage_is_an_error_on_purpose_or_none(store: Path) -> None:
    asked = survey(MOOD, schedule={"waves": 9})
    me = Respondent(store)
    me.answer(asked, {"mood": "low"})
    me.preview(asked, {"mood": "low"}, wave=3)
    sound, other, draw = store.read_bytes(), store.with_name("other"), random.Random(5)
    written = [at for at, byte in enumerate(sound) if byte]
    for _ in range(200):
        damaged = bytearray(sound)
        for at in draw.sample(written, draw.randint(1, 20)):
            damaged[at] = draw.randrange(256)
        other.write_bytes(damaged)
        try:
            device = Respondent(other)
            device.answer(asked, {"mood": "low"}, wave=1 + draw.randrange(5))
            device.ledger.charges()
        except sv.SottovoceError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017


# The command line.


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["answer", *arguments]) == code
    captured = capsys.readouterr()
    assert not code or captured.err.count("\n") == 1
    return captured.err if code else captured.out


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    asked = survey(SMOKES, DRINKS, covariates=[{"id": "region", "values": ["north", "south"]}])
    (tmp_path / "s.json").write_bytes(asked.canonical())
    return "s.json"


GIVEN = ("smokes=no", 'drinks=tea,"wine, red"', "--public", "region=north", "--store", "me")


def test_options_with_a_comma_are_quoted(capsys: pytest.CaptureFixture[str], published: str) -> None:
    assert json.loads(run(capsys, published, *GIVEN))["covariates"] == {"region": "north"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["smokes=yes"], "'smokes' must be answered once"),
        (["--public", "region=south"], "'region' must be answered once"),
        (["--wave", "9" * 30], "a wave of survey habits must be from 0 to 0"),
        (["--output", "no/folder"], "no/folder: cannot be written (ask again for the same bytes)"),
    ],
)
def test_what_is_said_twice_or_never(
    capsys: pytest.CaptureFixture[str], published: str, more: list[str], message: str
) -> None:
    assert message in run(capsys, published, *GIVEN, *more, code=2)


def test_errors_name_the_survey_file(capsys: pytest.CaptureFixture[str], published: str) -> None:
    Path("draft.yaml").write_text("sottovoce: 1\n")
    Path("bytes.json").write_bytes(b"\xff")
    assert run(capsys, "draft.yaml", "--store", "me", code=2).startswith("sotto: draft.yaml: not JSON")
    assert run(capsys, "bytes.json", "--store", "me", code=2) == "sotto: bytes.json: JSON must be valid UTF-8\n"
    record = json.loads(run(capsys, published, "--store", "me", "--json"))
    assert record["public"] == ["region"] and record["waves"] == 1


# Final answers.


def on_terminal(monkeypatch: pytest.MonkeyPatch, *said: bool) -> list[str]:
    """Somebody sits at the terminal and says these things in turn; what they were asked."""
    asked, answers = list[str](), iter(said)

    def confirm(text: str, err: bool) -> bool:
        asked.append(text)
        return next(answers)

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(click, "confirm", confirm)
    return asked


def test_answers_are_confirmed_before_their_draw_is_shown(
    capsys: pytest.CaptureFixture[str], published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = on_terminal(monkeypatch, False, True)
    assert run(capsys, published, *GIVEN, "--preview") == "" and len(questions) == 1
    assert "become final" in questions[0] and "spoil the result" in questions[0]
    shown = run(capsys, published, *GIVEN, "--preview")
    assert len(questions) == 2
    other = tuple(word.replace("smokes=no", "smokes=yes") for word in GIVEN)
    assert {run(capsys, published, *given, *more) for given in (GIVEN, other) for more in (["--preview"], [])} == {
        shown
    }
    assert len(questions) == 2  # What was drawn is not asked about again.


def test_a_program_that_says_yes_is_not_asked(
    capsys: pytest.CaptureFixture[str], published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = on_terminal(monkeypatch)
    assert run(capsys, published, *GIVEN, "--yes") and questions == []
    assert main(["answer", published, *GIVEN]) == 0
    assert "wave 0 was answered before" in capsys.readouterr().err
