"""A device hands out only what may leave: reports of a shuffled survey are sealed, addressed and kept as such."""

from __future__ import annotations

import base64
import json
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path

import loaded_modules
import pytest
from shuffler_service import ANALYST, SHUFFLER, submission, survey

from sottovoce.cli import main
from sottovoce.core.errors import ParameterError, Refusal
from sottovoce.device import envelope, transport, wire
from sottovoce.device.http_client import HTTPClient
from sottovoce.device.ledger import Ledger
from sottovoce.device.respondent import Respondent
from sottovoce.survey import Survey

ANSWERS = {"smokes": "yes", "ward": 7}


def opened(asked: Survey, sealed: bytes) -> bytes:
    """The submission, as the shuffler and then the analyst open it."""
    wave, inner = envelope.take_off(asked, SHUFFLER, sealed)
    return envelope.unseal(asked, ANALYST, wave, inner)


def test_what_leaves_is_sealed_and_addressed(tmp_path: Path) -> None:
    asked, me = survey(), Respondent(tmp_path / "me.sqlite")
    sent = me.answer(asked, ANSWERS, wave=1)
    assert len(sent) == envelope.outer_size(asked)
    assert wire.decode(opened(asked, sent), asked).wave == 1
    assert (sent.content_type, sent.address) == (envelope.SEALED, asked.shuffle and asked.shuffle.address)
    assert all(me.answer(asked, ANSWERS, wave=1) == sent for _ in range(3))
    assert Respondent(tmp_path / "me.sqlite").preview(asked, {}, wave=1) == sent


def test_the_owner_sees_what_is_inside_before_it_is_sent(tmp_path: Path) -> None:
    asked, me = survey(), Respondent(tmp_path / "me.sqlite")
    shown = me.preview(asked, ANSWERS)
    assert shown.submission == opened(asked, shown) and me.ledger.charges() == []
    again = Respondent(tmp_path / "me.sqlite").drawn(asked)
    assert again is not None and (again, again.submission) == (shown, shown.submission)
    sent = me.answer(asked, ANSWERS)
    assert sent == shown and sent.content_type == envelope.SEALED and sent.submission is None


def test_the_store_keeps_the_envelope_and_not_what_is_inside(tmp_path: Path) -> None:
    asked, me = survey(), Respondent(tmp_path / "me.sqlite")
    inside = me.preview(asked, ANSWERS).submission
    assert inside is not None
    sent = me.answer(asked, ANSWERS)
    content = (tmp_path / "me.sqlite").read_bytes()
    assert json.loads(inside)["id"].encode() not in content
    with me.ledger.transaction() as entries:
        assert entries.report(asked.digest, 0) == sent


def test_a_report_that_an_older_version_kept_unsealed_is_sealed_once(tmp_path: Path) -> None:
    asked, path, plain = survey(), tmp_path / "me.sqlite", submission(survey())
    with Ledger(path).transaction() as entries:
        entries.keep_report(asked.digest, 0, plain)
    for ask in ("drawn", "preview", "answer"):
        sent = getattr(Respondent(path), ask)(asked, *([] if ask == "drawn" else [ANSWERS]))
        assert opened(asked, sent) == plain and sent == Respondent(path).answer(asked, ANSWERS)
    assert plain not in path.read_bytes() and Ledger(path).charges() == []


def test_reports_that_are_not_sealed_say_so_too(tmp_path: Path) -> None:
    plain = {"sottovoce": 1, "id": "plain", "title": "Plain",
             "questions": [{"id": "smokes", "text": "?", "kind": "yes_no", "epsilon": 1}]}  # fmt: skip
    sent = Respondent(tmp_path / "me.sqlite").answer(Survey.from_dict(plain).publish(), {"smokes": "no"})
    assert (sent.content_type, sent.address, sent.submission) == ("application/json", None, sent)
    copied = pickle.loads(pickle.dumps(sent))  # noqa: S301
    assert copied == sent and copied.content_type == sent.content_type


WITHOUT_CRYPTOGRAPHY = """
import sys
sys.modules["cryptography"] = None
from sottovoce.device.respondent import Respondent
from sottovoce.core.errors import Refusal
asked, me = sys.stdin.buffer.read(), Respondent({store!r})
print(me.review(asked).refusal)
for ask in (me.preview, me.answer):
    try:
        ask(asked, {{"smokes": "yes", "ward": 7}})
    except Refusal as error:
        print(error)
print(me.drawn(asked), me.ledger.charges())
"""


def test_a_device_that_cannot_seal_refuses_before_it_draws(tmp_path: Path) -> None:
    program = WITHOUT_CRYPTOGRAPHY.format(store=str(tmp_path / "me.sqlite"))
    *said, nothing, _ = loaded_modules.run(program, survey().canonical()).splitlines()
    assert len(said) == 3 and len(set(said)) == 1
    assert "survey habits has a shuffler" in said[0] and "pip install 'sottovoce[sealing]'" in said[0]
    assert nothing == "None []"


def test_an_older_library_cannot_seal_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)
    monkeypatch.delattr("cryptography.hazmat.primitives.hpke", raising=False)
    with pytest.raises(Refusal, match=r"sottovoce\[sealing\]"):
        Respondent(tmp_path / "me.sqlite").answer(survey(), ANSWERS)


# On the way.


def test_what_is_sent_says_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[str] = []

    def request(client: HTTPClient, url: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        kinds.append(headers["content-type"])
        return b'{"accepted": 1, "duplicates": 0}'

    monkeypatch.setattr(transport, "_request", request)
    sent = Respondent(tmp_path / "me.sqlite").answer(survey(), ANSWERS)
    transport.send("http://127.0.0.1:1/v1/surveys/habits", sent)
    transport.send("http://127.0.0.1:1/v1/surveys/habits", b"{}")
    assert kinds == [envelope.SEALED, wire.JSON]


def test_a_batcher_sends_envelopes_as_they_are(tmp_path: Path) -> None:
    asked = survey()
    sent = [Respondent(tmp_path / f"{number}.sqlite").answer(asked, ANSWERS) for number in range(3)]
    posts: list[tuple[bytes, str]] = []

    def take(url: str, body: bytes, kind: str) -> dict[str, int]:
        posts.append((body, kind))
        return {"accepted": len(body) // envelope.outer_size(asked), "duplicates": 0}

    with transport.Batcher("http://127.0.0.1:1/x", seconds=60, send=take) as batcher:
        assert all(batcher.add(body) for body in sent)
        with pytest.raises(ParameterError, match="all of one kind"):
            batcher.add(b"{}")
    assert batcher.accepted == 3 and posts == [(b"".join(sent), envelope.SEALED)]


# The command line.


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    assert main(["answer", "survey.json", "smokes=yes", "ward=7", "--store", "me", "--yes", *words]) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_the_command_shows_what_is_inside_and_gives_out_envelopes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = survey()
    monkeypatch.chdir(tmp_path)
    Path("survey.json").write_bytes(asked.canonical())
    shown, about = run(capsys, "--preview")
    assert wire.decode(shown.strip().encode(), asked) and "sealed for http://127.0.0.1:8001/" in about
    out, _ = run(capsys, "--output", "lines")
    assert opened(asked, base64.b64decode(out)) == shown.strip().encode()
    assert Path("lines").read_text() == out
    record = json.loads(run(capsys, "--json")[0])
    assert record["envelope"] == out.strip() and record["address"] == "http://127.0.0.1:8001/v1/surveys/habits"
    assert record["submission"] is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id":"0"}', "line 2 is not sealed: a device seals what it answers"),
        ("AAAA", "line 2: an envelope must have"),
        ("a b", "line 2: an envelope must be in base64"),
    ],
)
def test_nothing_is_sent_that_is_not_sealed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    asked, sent = survey(), list[bytes]()
    good = base64.b64encode(Respondent(tmp_path / "me.sqlite").answer(asked, ANSWERS)).decode()
    (tmp_path / "lines").write_text(f"{good}\n{line}\n")
    monkeypatch.setattr(transport, "fetch", lambda url, attempts: asked.canonical())
    monkeypatch.setattr(transport, "send", lambda url, body, kind, attempts: sent.append(body))
    assert main(["send", str(tmp_path / "lines"), "http://127.0.0.1:1/v1/surveys/habits"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and sent == []
