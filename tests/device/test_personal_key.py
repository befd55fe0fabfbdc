"""The personal key: its derivation, its files, and devices that send the same report because they have one key."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import secrets
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import shuffler_service

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.errors import DomainError, FileError, ParameterError, Refusal
from sottovoce.core.randomness import SYSTEM
from sottovoce.device.personal_key import PersonalKey, answer_text
from sottovoce.device.respondent import Respondent
from sottovoce.survey import Survey

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "personal_key.json").read_text(encoding="utf-8")
)


def spelled(*fields: object) -> bytes:
    """The documented encoding, written a second time."""
    texts = [("" if field is None else str(field)).encode("utf-8") for field in fields]
    return b"".join(len(text).to_bytes(4, "big") + text for text in texts)


def mac(key: bytes, *fields: object) -> bytes:
    return hmac.new(key, spelled(*fields), hashlib.sha256).digest()


@pytest.mark.parametrize("vector", VECTORS["keys"], ids=lambda vector: vector["hex"][:8])
def test_vectors_follow_from_the_documented_derivation(vector: dict[str, Any]) -> None:
    key = bytes.fromhex(vector["hex"])
    assert PersonalKey.from_text(vector["text"]) == PersonalKey(key)
    for survey in vector["surveys"]:
        digest = survey["digest"]
        of_survey = mac(key, "sottovoce survey key 1", digest)
        assert of_survey.hex() == survey["survey_key"]
        for draw in survey["draws"]:
            wave = None if draw["role"] in ("cohort", "permanent") else draw["wave"]
            fields = (digest, draw["question"], draw["role"], draw["code"], wave, draw["number"])
            expected = mac(of_survey, "sottovoce draw 1", *fields)
            assert expected.hex() == draw["mac"]
            assert int.from_bytes(expected[:7], "little") >> 3 == int(draw["draw"])
        for report in survey["report_ids"]:
            expected = mac(of_survey, "sottovoce draw 1", digest, "", "report", "", report["wave"], 0)
            assert expected[:16].hex() == report["id"]
        for entry in survey["memory_keys"]:
            expected = mac(of_survey, "sottovoce memory 1", digest, entry["question"], entry["key"])
            assert expected.hex() == entry["hidden"]


@pytest.mark.parametrize("vector", VECTORS["keys"], ids=lambda vector: vector["hex"][:8])
def test_a_device_draws_what_the_vectors_say(vector: dict[str, Any]) -> None:
    key = PersonalKey.from_text(vector["text"])
    for survey in vector["surveys"]:
        own = key.for_survey(survey["digest"])
        assert survey["fragment"] == f"#key={own.to_text()}"
        for entry in survey["draws"]:
            source = own.source(entry["question"], entry["wave"], None).role(entry["role"], entry["code"])
            assert [source.draw() for _ in range(entry["number"] + 1)][-1] == int(entry["draw"])
        assert all(own.report_id(report["wave"]) == report["id"] for report in survey["report_ids"])
        assert all(own.hide(entry["question"])(entry["key"]) == entry["hidden"] for entry in survey["memory_keys"])


def test_answers_have_one_spelling() -> None:
    for entry in VECTORS["answer_texts"]:
        assert answer_text(entry["answer"]) == entry["text"]
    assert answer_text({"b", "a"}) == answer_text(("b", "a", "a")) == '["a","b"]'
    assert answer_text(float("nan")) == "null"
    for odd in (b"no", 2**60, object()):
        with pytest.raises(DomainError, match="with a personal key an answer must have a form in JSON"):
            answer_text(odd)


@pytest.mark.parametrize("vector", VECTORS["bad_texts"], ids=lambda vector: vector["why"])
def test_texts_that_are_no_key_are_refused(vector: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a personal key must"):
        PersonalKey.from_text(vector["text"])
    (tmp_path / "key").write_text(vector["text"])
    with pytest.raises(FileError, match="key: a personal key must"):
        PersonalKey.read(tmp_path / "key")


def test_roles_share_no_draw() -> None:
    """Roles, codes and repeated requests for one role: each has its own count, and none repeats a draw."""
    root = PersonalKey(bytes(32)).for_survey("sha256:0").source("q", 3, "no")
    twice = [root.role("permanent", 1).draw(), root.role("permanent", 1).draw()]
    rest = [root.draw(), root.role("fresh").draw(), root.role("permanent", 2).draw(), root.role("cohort").draw(),
            root.role("instantaneous", 1).draw()]  # fmt: skip
    assert len({*twice, *rest}) == 7
    with pytest.raises(ParameterError, match="a role must be one of"):
        root.role("other")


def test_a_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        key = PersonalKey.generate()
        key.write(tmp_path / "me.key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "me.key").stat().st_mode) == 0o600
    assert PersonalKey.read(tmp_path / "me.key") == key != PersonalKey.generate()
    with pytest.raises(FileError, match="exists already"):
        PersonalKey.generate().write(tmp_path / "me.key")
    with pytest.raises(FileError, match="cannot be read"):
        PersonalKey.read(tmp_path / "none")
    with pytest.raises(FileError, match="cannot be written"):
        key.write(tmp_path / "no" / "me.key")
    assert key.to_text() not in repr(key) and key.for_survey("sha256:0").to_text() not in repr(key.for_survey("x"))


# Devices with a key.

KEY = PersonalKey(bytes(range(32)))
QUESTIONS: list[dict[str, Any]] = [
    {"id": "smokes", "text": "?", "kind": "yes_no", "epsilon": 1},
    {"id": "ward", "text": "?", "kind": "choice", "values": 300, "epsilon": 1, "mechanism": "local_hash"},
    {"id": "page", "text": "?", "kind": "choice", "values": 20, "epsilon": 1, "mechanism": "unary"},
    {"id": "shop", "text": "?", "kind": "choice", "values": 50, "epsilon": 1, "mechanism": "subset"},
    {"id": "drinks", "text": "?", "kind": "multiple", "values": ["tea", "milk", "wine"], "epsilon": 1},
    {"id": "hours", "text": "?", "kind": "number", "low": 0, "high": 12, "epsilon": 1},
    {"id": "year", "text": "?", "kind": "ordered", "values": 16, "epsilon": 1},
    {"id": "town", "text": "?", "kind": "text", "max_bytes": 32, "epsilon": 4},
]
MOOD = {"id": "mood", "text": "?", "kind": "choice", "values": ["low", "fair", "good"], "epsilon": 1,
        "mechanism": "krr", "memoize": True}  # fmt: skip
HABIT = {"id": "habit", "text": "?", "kind": "choice", "values": 20, "epsilon": 1, "mechanism": "unary",
         "memoize": True}  # fmt: skip
ANSWERS: dict[str, Any] = {
    "smokes": "no", "ward": 7, "page": 3, "shop": 11, "drinks": ["tea", "wine"], "hours": 7.25, "year": 9,
    "town": "Rome", "mood": "low", "habit": 4,
}  # fmt: skip


def survey(*questions: dict[str, Any], **fields: Any) -> Survey:
    document = {"sottovoce": 1, "id": "habits", "title": "Habits", "budget": 1000, "questions": list(questions)}
    return Survey.from_dict(document | fields).publish()


def answers(asked: Survey) -> dict[str, Any]:
    return {question.id: ANSWERS[question.id] for question in asked.questions}


def device(folder: Path, key: PersonalKey | None = KEY) -> Respondent:
    """A device with an empty store."""
    return Respondent(folder / f"{secrets.token_hex(4)}.sqlite", budget=1000, key=key)


def test_two_devices_with_one_key_send_one_report(tmp_path: Path) -> None:
    asked = survey(*QUESTIONS, MOOD, HABIT, schedule={"waves": 3})
    for wave in range(3):
        sent = [device(tmp_path).answer(asked, answers(asked), wave) for _ in range(2)]
        assert sent[0] == sent[1]
    others = {device(tmp_path, PersonalKey.generate()).answer(asked, answers(asked)) for _ in range(2)}
    assert len({*others, device(tmp_path, None).answer(asked, answers(asked)), sent[0]}) == 4


REPORTS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "keyed_reports.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("vector", REPORTS["surveys"], ids=lambda vector: vector["survey"]["id"])
def test_whole_submissions_are_those_of_the_vectors(vector: dict[str, Any], tmp_path: Path) -> None:
    """On a device that keeps its store, and on one that loses it before each wave."""
    asked, key = Survey.from_dict(vector["survey"]), PersonalKey.from_text(REPORTS["key"])
    assert asked.digest == vector["digest"]
    (question,), kept = asked.questions, device(tmp_path, key)
    for wave, entry in enumerate(vector["submissions"]):
        for me in (kept, device(tmp_path, key)):
            assert me.answer(asked, {question.id: entry["answer"]}, wave) == entry["text"].encode()


def test_one_answer_in_another_order_is_one_answer(tmp_path: Path) -> None:
    asked = survey(QUESTIONS[4])
    assert (
        len({device(tmp_path).answer(asked, {"drinks": drinks}) for drinks in (["tea", "wine"], {"wine", "tea"})}) == 1
    )


def test_a_sealed_report_is_the_same_inside(tmp_path: Path) -> None:
    asked = shuffler_service.survey()
    shown = [device(tmp_path).preview(asked, {"smokes": "yes", "ward": 7}) for _ in range(2)]
    assert shown[0] != shown[1] and shown[0].submission == shown[1].submission


def test_another_survey_wave_question_or_answer_has_other_draws() -> None:
    """Two hundred draws of each; two that agree anywhere would be a miracle (below 1e-11)."""
    digests = [survey(QUESTIONS[0], title=title).digest for title in ("A", "B")]
    seen = [
        KEY.for_survey(digest).source(question, wave, answer)
        for digest in digests for question in ("q", "r") for wave in (0, 1) for answer in ("no", "yes")
    ]  # fmt: skip
    draws = [source.draw() for source in seen for _ in range(200)]
    assert len(set(draws)) == len(draws)


def test_draws_have_the_law_of_the_mechanism() -> None:
    """Over 20,000 keys the reports have the mechanism's law: errors within six deviations, false alarms below 1e-8."""
    m, people = sv.KRR(4, epsilon=1.0), 20_000
    keys = (PersonalKey(number.to_bytes(32, "big")).for_survey("sha256:0") for number in range(people))
    counts: Counter[Any] = Counter(m._perturb(2, key.source("q", 0, 2)) for key in keys)
    for report, p in m.channel()[2].items():
        assert abs(counts[report] / people - float(p)) < 6 * math.sqrt(float(p * (1 - p)) / people)


def test_a_purge_between_waves_leaves_permanent_answers(tmp_path: Path) -> None:
    """Twenty waves, each on a device that lost its store, and once on a device that kept it: the same reports."""
    asked = survey(MOOD, HABIT, schedule={"waves": 20})
    kept, permanent = device(tmp_path), set()
    for wave in range(20):
        purged = device(tmp_path)
        assert purged.answer(asked, answers(asked), wave) == kept.answer(asked, answers(asked), wave)
        with purged.ledger.transaction() as entries:
            memories = [entries.memory(asked.digest, question) for question in ("mood", "habit")]
        permanent.add(json.dumps(memories, sort_keys=True))
    assert len(permanent) == 1


@pytest.mark.parametrize("keyed", [True, False], ids=["with a key", "without"])
def test_lost_storage_stays_within_the_permanent_epsilon(keyed: bool) -> None:
    """An audit of twenty waves with a purge before each. Without a key averaging works, and the audit finds it."""
    m = sv.Memoized.of(["no", "yes"], "krr", permanent=0.7, first=0.6)

    class Person:
        def __init__(self) -> None:
            self.key, self.wave = PersonalKey.generate().for_survey("sha256:0"), 0

        def randomize(self, value: str) -> Any:
            source = self.key.source("q", self.wave, value) if keyed else SYSTEM
            self.wave += 1
            return m.step(value, m.begin(source), source, self.wave - 1).report

    found = sv.audit(Person, "no", "yes", samples=2000, repeats=20, fresh=True, claimed=m.epsilon_forever, seed=1)
    assert (found.epsilon_lower <= m.epsilon_forever) is keyed
    assert keyed or found.epsilon_lower > 2 * m.epsilon_forever


def test_what_is_no_key(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a personal key must be a PersonalKey, got str"):
        Respondent(tmp_path / "me.sqlite", key=KEY.to_text())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="must have 32 bytes"):
        PersonalKey(b"short")
    with pytest.raises(DomainError, match="smokes: with a personal key an answer must have a form in JSON"):
        device(tmp_path).answer(survey(QUESTIONS[0]), {"smokes": b"no"})


# The command line.


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(list(words)) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_the_command_line_makes_uses_and_shows_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = survey(QUESTIONS[0])
    Path("s.json").write_bytes(asked.canonical())
    assert "Who has it and your reports can read your answers" in run(capsys, "key", "personal", "me.key")
    assert stat.S_IMODE(Path("me.key").stat().st_mode) == 0o600
    assert "exists already" in run(capsys, "key", "personal", "me.key", code=2)
    one, other = (run(capsys, "answer", "s.json", "smokes=no", "--store", name, "--key", "me.key") for name in "ab")
    assert one == other
    key = PersonalKey.read("me.key")
    assert run(capsys, "key", "link", "me.key").strip() == key.to_text()
    link = run(capsys, "key", "link", "me.key", "--survey", "s.json", "--page", "https://host/s/habits", "--qr")
    text, *code = link.splitlines()
    assert text == f"https://host/s/habits#key={key.for_survey(asked.digest).to_text()}"
    assert len(code) > 15 and key.to_text().removeprefix("sottovoce-key:1:") not in link
    record = json.loads(run(capsys, "key", "link", "me.key", "--json"))
    assert record == {"text": key.to_text()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("key link none", "none: the personal key cannot be read"),
        ("key link me.key --page https://host/s/habits", "--survey and --page go together"),
        ("key link me.key --survey s.json --page host", "--page must begin with https:// or http://"),
        ("key link me.key --survey s.json --page https://host/#a", "and have no #"),
        ("key link me.key --survey draft.yaml --page https://host/s", "is a draft: publish it first"),
        ("answer s.json smokes=no --store a --key none", "none: the personal key cannot be read"),
    ],
)
def test_mistakes_get_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    KEY.write("me.key")
    Path("s.json").write_bytes(survey(QUESTIONS[0]).canonical())
    Path("draft.yaml").write_text(
        "sottovoce: 1\nid: d\ntitle: D\nbudget: 1\nquestions: [{id: a, text: '?', kind: yes_no}]\n"
    )
    error = run(capsys, *words.split(), code=2)
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize("other", [None, PersonalKey(bytes(32))])
def test_a_survey_goes_on_with_the_key_it_was_begun_with(tmp_path: Path, other: PersonalKey | None) -> None:
    """Also where nothing is remembered: under another key, or none, two devices would send two reports of one wave."""
    question = {"id": "pills", "text": "?", "kind": "yes_no", "epsilon": 1}
    document = {"sottovoce": 1, "id": "sleep", "title": "Sleep", "budget": 9, "schedule": {"waves": 3}}
    asked = Survey.from_dict(document | {"questions": [question]}).publish()
    own, path = PersonalKey(bytes(range(32))), tmp_path / "me.sqlite"
    first = Respondent(path, key=own).answer(asked, {"pills": "no"})
    with pytest.raises(Refusal, match=r"must have the same personal key as before, got (another|none)"):
        Respondent(path, key=other).answer(asked, {"pills": "no"}, 1)
    assert Respondent(path, key=other).answer(asked, {"pills": "no"}) == first
    second = Respondent(path, key=own).answer(asked, {"pills": "no"}, 1)
    assert second == Respondent(tmp_path / "other.sqlite", key=own).answer(asked, {"pills": "no"}, 1)


def test_the_name_of_a_key_in_a_store_does_not_follow_from_another_survey() -> None:
    own = PersonalKey(bytes(range(32)))
    names = {own.for_survey("sha256:0").name, own.for_survey("sha256:1").name}
    assert len(names) == 2 and all(len(name) == 16 for name in names)
