"""Limits are where the docs say they are: what just fits is taken, one more is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shuffler_service
from collector_service import ARROW, JSON, LINES, Inside, arrow, submission, survey

from sottovoce.collector import Store, tokens
from sottovoce.collector.sqlite import sqlite_store
from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.curators.task import check_name
from sottovoce.device import wire
from sottovoce.device.envelope import SEALED
from sottovoce.shuffler import Shuffler
from sottovoce.survey import Survey
from sottovoce.survey.document import MAX_BYTES as SURVEY_BYTES


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = sqlite_store(tmp_path / "limits.sqlite")
    opened.publish(survey())
    return opened


@pytest.fixture
def inside(store: Store) -> Iterator[Inside]:
    made = Inside(store, rate=None)
    yield made
    made.close()


def padded(body: bytes, size: int) -> bytes:
    return body.ljust(size)


# The sizes of bodies.


@pytest.mark.parametrize(
    ("kind", "limit"), [(JSON, 2**20), (LINES, 2**22), (ARROW, 2**24)], ids=["JSON", "lines", "columns"]
)
def test_bodies_of_reports(inside: Inside, kind: str, limit: int) -> None:
    body = {JSON: submission(survey()), LINES: submission(survey()), ARROW: arrow(survey(), 2)}[kind]
    fits = padded(body, limit) if kind != LINES else body + b"\n" + _line(limit - len(body) - 1)
    answer = inside.send(fits, kind)
    assert answer.status == 200 or (kind == LINES and answer.code == "malformed"), answer.body
    assert (inside.send(fits + b" ", kind).status, inside.send(fits + b" ", kind).code) == (413, "too_large")
    announced = inside.send(body, kind, content_length=str(limit + 1))
    assert (announced.status, announced.code) == (413, "too_large")


def _line(size: int) -> bytes:
    return submission(survey()).ljust(size)


@pytest.mark.parametrize("kind", [JSON, LINES, ARROW])
def test_a_smaller_limit_holds_for_all_kinds(store: Store, tmp_path: Path, kind: str) -> None:
    body = arrow(survey(), 2) if kind == ARROW else submission(survey())
    for limit, status in ((len(body), 200), (len(body) - 1, 413)):
        made = Inside(sqlite_store(tmp_path / f"{limit}.sqlite"), rate=None, max_body=limit)
        made.store.publish(survey())
        assert made.send(body, kind).status == status
        made.close()
    store.close()


def test_one_submission(inside: Inside) -> None:
    assert wire.decode(padded(submission(survey()), wire.MAX_SUBMISSION_BYTES), survey()).wave == 0
    with pytest.raises(ReportError, match="at most 1,048,576 bytes, got 1,048,577"):
        wire.decode(padded(submission(survey()), wire.MAX_SUBMISSION_BYTES + 1), survey())


@pytest.mark.parametrize("kind", [JSON, LINES, ARROW])
def test_the_number_of_reports(store: Store, kind: str) -> None:
    made = Inside(store, rate=None, max_reports=4)
    for count, status in ((4, 200), (6, 413), (5, 413)):
        if kind == ARROW and count % 2:
            continue
        many = [submission(survey()) for _ in range(count)]
        body = {JSON: b'{"reports": [' + b" , ".join(many) + b"]}", LINES: b"\n".join(many), ARROW: b""}[kind]
        answer = made.send(body or arrow(survey(), count), kind)
        assert answer.status == status or (kind == ARROW and answer.status == 400 and count > 4), (count, answer.body)
    made.close()


@pytest.mark.parametrize(
    "body",
    [b'{"reports":[%s}', b'{"reports":[%s,]}', b'{"reports":[,%s]}', b'{"reports":[%s]', b'{"reports":[%s]} x',
     b'{"reports":[%s],"reports":[%s]}', b'{"reports":[%s] "more":1}', b'{"reports":[]}', b'{"reports":[%s %s]}',
     b'{"reports":[\xff]}', b'{"reports":[[]]}', b'{"reports":{}}', b'{"reports":' + b"[" * 100_000,
     b'{"reports":[' + b"[" * 100_000, b'{"reports":["' + b"a" * 100_000],
)  # fmt: skip
def test_lists_of_reports_that_are_none(inside: Inside, body: bytes) -> None:
    answer = inside.send(body.replace(b"%s", submission(survey())))
    assert (answer.status, answer.code) == (400, "malformed"), answer.body


def test_lists_of_reports_may_have_spaces(inside: Inside) -> None:
    first, second = submission(survey()), json.dumps(json.loads(submission(survey())), indent=1).encode()
    assert inside.send(b' { "reports" :\n[\t' + first + b" ,\r\n" + second + b" ] } ").json["accepted"] == 2


def test_a_submission_full_of_brackets_is_refused_before_it_is_parsed(inside: Inside, monkeypatch: Any) -> None:
    def parse(data: bytes) -> Any:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(wire, "parse", parse)
    for body in (b"[" + b"{}," * 5000 + b"{}]", b'{"reports":[' + b"[" * 5000 + b"]" * 5000 + b"]}"):
        for kind in (JSON, LINES):
            assert inside.send(body, kind).code == "malformed"


def test_published_surveys(inside: Inside) -> None:
    document = json.dumps(survey("other").to_dict()).encode()
    for size, status in ((SURVEY_BYTES, 201), (SURVEY_BYTES + 1, 413)):
        assert inside("POST", "/v1/surveys", padded(document, size), token=inside.admin).status == status
    assert SURVEY_BYTES == 2**20


def test_envelopes(tmp_path: Path) -> None:
    asked = shuffler_service.survey()
    sent = shuffler_service.sealed(asked)
    for limit, status in ((len(sent), 200), (len(sent) - 1, 413)):
        folder = tmp_path / str(limit)
        folder.mkdir()
        store = shuffler_service.shuffler_store(folder, asked)
        running = shuffler_service.RunningShuffler(
            Shuffler(store, shuffler_service.SHUFFLER, "http://127.0.0.1:9", rate=None, max_body=limit)
        )
        assert running.send(sent, SEALED).status == status
        assert running.app.budget.taken == 0
        running.close()


def test_batches(tmp_path: Path) -> None:
    asked = shuffler_service.survey()
    reports = [inner for _, inner in shuffler_service.noise(asked, 10)]
    from sottovoce.collector.batches import Batches
    from sottovoce.device.envelope import MAX_BATCH_BYTES, ShuffledBatch

    body = ShuffledBatch(bytes(16), 0, reports).to_bytes(asked, shuffler_service.SHUFFLER)
    for limit, status in ((len(body), 200), (len(body) - 1, 413)):
        folder = tmp_path / str(limit)
        folder.mkdir()
        made = Inside(shuffler_service.collector_store(folder, asked), rate=None, keys=[shuffler_service.ANALYST])
        made.app.router.add(Batches(made.app, [shuffler_service.ANALYST], limit).routes())
        headers = shuffler_service.batch_headers(asked, body)
        assert made("POST", "/v1/surveys/habits/batches", body, SEALED, **headers).status == status
        assert made.app.budget.taken == 0
        made.close()
    assert MAX_BATCH_BYTES == 2**28


# Names.


def test_names_of_tokens(store: Store) -> None:
    assert tokens.create(store, "analyst", "n" * 64)[1] == "n" * 64
    assert tokens.create(store, "analyst", "n")[1] == "n"
    for name in ("n" * 65, ""):
        with pytest.raises(ParameterError, match="1 to 64 printable characters"):
            tokens.create(store, "analyst", name)
    store.close()


def test_names_of_surveys_questions_and_covariates() -> None:
    def named(survey_id: str = "s", question: str = "q", covariate: str = "c") -> Survey:
        asked = {"id": question, "text": "?", "kind": "yes_no", "epsilon": 1}
        document = {"sottovoce": 1, "id": survey_id, "title": "T", "questions": [asked],
                    "covariates": [{"id": covariate, "values": ["a", "b"]}]}  # fmt: skip
        return Survey.from_dict(document)

    for field in ("survey_id", "question", "covariate"):
        assert named(**{field: "n" * 64})
        with pytest.raises(ParameterError, match=r"64|id"):
            named(**{field: "n" * 65})
        with pytest.raises(ParameterError, match=r"64|id"):
            named(**{field: ""})


def test_names_of_curators() -> None:
    assert check_name("n" * 64) == "n" * 64
    for name in ("n" * 65, ""):
        with pytest.raises(ParameterError, match="up to 64"):
            check_name(name)


def test_an_address_of_a_survey_has_at_most_64_characters_too(inside: Inside) -> None:
    long = "n" * 64
    inside.store.publish(survey(long))
    assert inside("GET", f"/v1/surveys/{long}").status == 200
    assert inside("GET", f"/v1/surveys/{long}n").status == 404
