"""The collector on both stores: what it takes, what it refuses, what it shows; the tallies are always the sum."""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest
from collector_service import (
    ANSWERS,
    ARROW,
    JSON,
    LINES,
    Inside,
    Outside,
    Postgres,
    arrow,
    check_sums,
    open_place,
    request,
    submission,
    survey,
)
from surveys import CURATED

from sottovoce.cli import main
from sottovoce.collector import Store, estimate_worker, intake, schema, tokens, transfer
from sottovoce.collector.columns import encode
from sottovoce.collector.layout import Layout
from sottovoce.collector.records import StoredSurvey
from sottovoce.collector.results import EstimateQuery
from sottovoce.collector.sqlite import SQLite, sqlite_store
from sottovoce.collector.tallies import PART_COUNTS
from sottovoce.core import canonical
from sottovoce.core.errors import FileError, ParameterError, StoreError, StoreUnavailable
from sottovoce.device import wire
from sottovoce.survey import Survey
from sottovoce.web.limits import RateLimit


def counts(inside: Inside) -> tuple[int, int]:
    return inside.app.metrics["accepted"], inside.app.metrics["duplicates"]


# Taking reports in.


def test_reports_of_every_form_are_kept_and_counted(inside: Inside) -> None:
    asked = survey()
    assert inside.send(submission(asked)).json == {"accepted": 1, "duplicates": 0}
    batch = b'{"reports":[' + b",".join(submission(asked, wave=1) for _ in range(3)) + b"]}"
    assert inside.send(batch).json == {"accepted": 3, "duplicates": 0}
    lines = b"\n".join(submission(asked, region="south") for _ in range(4))
    assert inside.send(lines + b"\n", LINES).json["accepted"] == 4
    assert inside.send(arrow(asked, 1000), ARROW).json["accepted"] == 1000
    assert check_sums(inside.store) == 1008
    assert counts(inside) == (1008, 0)


def test_what_is_kept_is_what_was_sent(inside: Inside) -> None:
    bodies = [submission(survey(), wave=i % 2) for i in range(20)]
    inside.send(b"\n".join(bodies), LINES)
    to = inside.store.survey("habits")
    assert to is not None
    kept = [row for rows in inside.store.reports(to) for row in rows]
    made = [
        wire.Submission(name.hex(), survey().digest, wave, to.layout.unpack(body), json.loads(covariates))
        for _, name, wave, covariates, body in kept
    ]
    assert set(map(wire.encode, made)) == set(bodies)


def test_a_repeated_report_is_acknowledged_again_and_counted_once(inside: Inside) -> None:
    bodies = [submission(survey()) for _ in range(10)]
    whole = b"\n".join(bodies)
    assert inside.send(whole, LINES).json == {"accepted": 10, "duplicates": 0}
    assert inside.send(whole, LINES).json == {"accepted": 0, "duplicates": 10}
    assert inside.send(bodies[3]).json == {"accepted": 0, "duplicates": 1}
    mixed = b"\n".join([*bodies[:5], submission(survey())])
    assert inside.send(mixed, LINES).json == {"accepted": 1, "duplicates": 5}
    assert check_sums(inside.store) == 11


@pytest.mark.parametrize("change", ["wave", "region", "reports"])
def test_a_known_id_with_another_report_is_refused_whole(inside: Inside, change: str) -> None:
    name = secrets.token_hex(16)
    document = json.loads(submission(survey(), name=name))
    inside.send(canonical.dumps(document))
    other = document | {"wave": 1} if change == "wave" else document | {"covariates": {"region": "south"}}
    if change == "reports":
        other = document | {"reports": document["reports"] | {"smokes": 1 - document["reports"]["smokes"]}}
    for body in (canonical.dumps(other), submission(survey()) + b"\n" + canonical.dumps(other)):
        answer = inside.send(body, JSON if b"\n" not in body else LINES)
        assert (answer.status, answer.code) == (409, "conflict")
    assert check_sums(inside.store) == 1


def test_an_id_twice_in_one_batch_is_refused(inside: Inside) -> None:
    body = submission(survey())
    assert inside.send(body + b"\n" + body, LINES).status == 409
    assert check_sums(inside.store) == 0


def test_many_senders_at_once(inside: Inside) -> None:
    """Some of them send the same: each report is accepted once, whoever comes first."""
    bodies = [submission(survey()) for _ in range(60)]
    answers: list[dict[str, int]] = []

    def run(part: list[bytes]) -> None:
        answers.extend(inside.send(body).json for body in part)

    threads = [threading.Thread(target=run, args=(bodies[at : at + 40],)) for at in (0, 10, 20, 20, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(answer["accepted"] for answer in answers) == 60
    assert sum(answer["duplicates"] for answer in answers) == 5 * 40 - 60
    assert check_sums(inside.store) == 60


def test_two_collectors_share_a_database(server: Postgres) -> None:
    """Both write the same tallies, and half of what they get is the same: nothing is lost, nothing counted twice."""
    place = ["--database", server.fresh()]
    both = [Inside(open_place(place), rate=None, group=50) for _ in range(2)]
    both[0].store.publish(survey())
    bodies = [submission(survey(), region=("north", "south")[i % 2]) for i in range(300)]
    taken: list[int] = []

    def run(inside: Inside, part: list[bytes]) -> None:
        for at in range(0, len(part), 7):
            answer = inside.send(b"\n".join(part[at : at + 7]), LINES)
            assert answer.status == 200
            taken.append(answer.json["accepted"])

    parts = [(both[0], bodies[:200]), (both[1], bodies[100:]), (both[0], bodies[250:]), (both[1], bodies[:100])]
    threads = [threading.Thread(target=run, args=part) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == 300 and check_sums(both[0].store) == 300
    assert both[1]("POST", "/v1/surveys/habits/close", token=both[1].admin).status == 200
    assert both[0].send(submission(survey())).code == "closed"
    for inside in both:
        inside.close()


# Refusals.


def test_a_closed_survey_takes_nothing_new_but_still_acknowledges(inside: Inside) -> None:
    body = submission(survey())
    inside.send(body)
    assert inside("POST", "/v1/surveys/habits/close", token=inside.admin).json == {"id": "habits", "state": "closed"}
    answer = inside.send(submission(survey()))
    assert (answer.status, answer.code) == (410, "closed")
    assert inside.send(body).json == {"accepted": 0, "duplicates": 1}
    assert check_sums(inside.store) == 1


def test_an_expired_survey_takes_nothing_new_but_still_acknowledges(tmp_path: Path) -> None:
    asked, now = survey("soon", expires="2030-01-01T00:00:00Z"), [datetime(2029, 12, 31, tzinfo=UTC)]
    opened = sqlite_store(tmp_path / "x.sqlite")
    opened.publish(asked)
    inside = Inside(opened, clock=lambda: now[0])
    body = submission(asked)
    assert inside.send(body, name="soon").status == 200
    now[0] += timedelta(days=1)
    answer = inside.send(submission(asked), name="soon")
    assert (answer.status, answer.code) == (410, "expired")
    assert inside.send(body, name="soon").json["duplicates"] == 1
    inside.close()


def broken(**changes: Any) -> bytes:
    return canonical.dumps(json.loads(submission(survey())) | changes)


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"", JSON, 400, "malformed"),
        (b"{", JSON, 400, "malformed"),
        (b"\xff\xfe", JSON, 400, "malformed"),
        (b"[" * 100_000, JSON, 400, "malformed"),
        (b'{"reports":[]}', JSON, 400, "malformed"),
        (b"null", JSON, 400, "malformed"),
        (b"\n", LINES, 400, "malformed"),
        (broken(id="x"), JSON, 400, "malformed"),
        (broken(wave=2), JSON, 400, "malformed"),
        (broken(covariates={"region": "west"}), JSON, 400, "malformed"),
        (broken(reports={"smokes": 1}), JSON, 400, "malformed"),
        (broken(survey="sha256:" + "0" * 64), JSON, 400, "mismatched"),
        (submission(survey()), "text/plain", 415, "bad_type"),
        (b"ARROW1", ARROW, 400, "malformed"),
        (b"", ARROW, 400, "malformed"),
    ],
)
def test_bad_reports_are_refused_and_counted(small: Inside, body: bytes, kind: str, status: int, code: str) -> None:
    answer = small.send(body, kind)
    assert (answer.status, answer.code) == (status, code)
    assert len(answer.json["error"]["message"]) < 300
    assert small.app.metrics.counts["rejected", code] == 1
    assert check_sums(small.store) == 0


def test_one_bad_report_refuses_its_batch_and_says_which(small: Inside) -> None:
    lines = [submission(survey()), submission(survey()), broken(wave=9)]
    answer = small.send(b"\n".join(lines), LINES)
    assert answer.status == 400 and answer.json["error"]["message"].startswith("report 2: a wave must be")
    assert check_sums(small.store) == 0


def test_reports_as_columns_may_be_plain_arrays() -> None:
    """Reports of bits are rows of bytes: an array with two dimensions."""
    asked, ids = survey(), [bytes([at]) * 16 for at in range(4)]
    reports = {item.id: item.mechanism.randomize_many([ANSWERS[item.id]] * 4) for item in asked.questions}
    plain = {name: column.data for name, column in reports.items()}
    regions = {"region": ["north", "south"] * 2}
    assert encode(asked, plain, ids, covariates=regions) == encode(asked, reports, ids, covariates=regions)


def arrow_with(change: Callable[[Any], Any], **options: Any) -> bytes:
    table = pa.ipc.open_stream(arrow(survey(), 10)).read_all()
    table = change(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def replaced(name: str, values: Any) -> Callable[[Any], Any]:
    def change(table: Any) -> Any:
        at = table.schema.get_field_index(name)
        return table.set_column(at, name, values)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replaced("_wave", pa.array([7] * 10, pa.int64())), "a wave must be"),
        (replaced("_wave", pa.array([None] * 10, pa.int64())), "_wave: must not be null"),
        (replaced("_wave", pa.array([0] * 10, pa.int32())), "must be of type int64"),
        (replaced("region", pa.array(["west"] * 10)), "region: must be one of"),
        (replaced("smokes", pa.array([9] * 10, pa.uint8())), "smokes: a report must be from 0 to 1"),
        (replaced("travel", pa.array([b"\xff"] * 10, pa.binary(1))), "travel: reports must be zero beyond"),
        (replaced("smokes", pa.array([None] * 10, pa.uint8())), "smokes: a report must be a whole number"),
        (replaced("region", pa.array(["north"] * 10).dictionary_encode()), "got a dictionary"),
        (lambda table: table.drop_columns(["hours"]), "the columns must be"),
        (lambda table: table.replace_schema_metadata({}), "the metadata"),
    ],
)
def test_bad_columns_are_refused(small: Inside, change: Callable[[Any], Any], message: str) -> None:
    answer = small.send(arrow_with(change), ARROW)
    assert answer.status == 400 and message in answer.json["error"]["message"]
    assert check_sums(small.store) == 0


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compressed_columns_are_refused_before_they_are_read(small: Inside, compression: str) -> None:
    answer = small.send(arrow_with(lambda table: table, compression=compression), ARROW)
    assert answer.status == 400 and "must not be compressed" in answer.json["error"]["message"]


@pytest.mark.parametrize("name", ["a\0b", "\0", "HABITS", "ù", "x" * 5000])
def test_what_is_no_id_is_not_asked_of_the_database(inside: Inside, name: str) -> None:
    assert inside("GET", f"/v1/surveys/{name}").code == "no_survey"
    assert inside.send(submission(survey()), name=name).code == "no_survey"
    assert inside.app.metrics["failed"] == 0


def overlapping(count: int, columns: int, width: int) -> tuple[Survey, bytes]:
    """A wide survey, and a stream of reports to it in which all questions have their reports in the same bytes."""
    question = {"text": "?", "kind": "choice", "values": [f"v{i}" for i in range(8 * width)], "mechanism": "unary",
                "epsilon": 0.1}  # fmt: skip
    names = [f"q{i}" for i in range(columns)]
    asked = Survey.from_dict({"sottovoce": 1, "id": "wide", "title": "Wide", "minimum": 1,
                              "questions": [{"id": name, **question} for name in names]}).publish()  # fmt: skip
    data = encode(asked, dict.fromkeys(names, [bytes(width)] * count))
    messages = list(pa.ipc.MessageReader.open_stream(data))
    metadata, body = messages[1].metadata.to_pybytes(), messages[1].body.to_pybytes()
    head = data[: data.index(metadata)]
    size = count * width
    places = [struct.pack("<qq", len(body) - size * left, size) for left in range(columns, 0, -1)]
    assert size % 64 == 0 and all(metadata.count(place) == 1 for place in places)
    for place in places[1:]:
        metadata = metadata.replace(place, places[0])
    kept = len(body) - size * (columns - 1)
    assert metadata.count(struct.pack("<q", len(body))) == 1
    metadata = metadata.replace(struct.pack("<q", len(body)), struct.pack("<q", kept))
    return asked, head + metadata + body[:kept] + data[-8:]


def test_columns_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """Fifteen megabytes could otherwise become 100,000 reports of five kilobytes each."""
    asked, body = overlapping(640, columns=30, width=10)
    assert pa.ipc.open_stream(body).read_all().num_rows == 640 and len(body) < 640 * 300 / 4
    store = sqlite_store(tmp_path / "x.sqlite")
    store.publish(asked)
    inside = Inside(store, rate=None)
    answer = inside.send(body, ARROW, "wide")
    assert answer.status == 400 and "640 reports take 192,000 bytes or more" in answer.json["error"]["message"]
    honest = encode(asked, {item.id: [bytes(10)] * 640 for item in asked.questions})
    assert inside.send(honest, ARROW, "wide").json["accepted"] == 640
    inside.close()


def test_limits_on_size_and_number(tmp_path: Path) -> None:
    opened = sqlite_store(tmp_path / "x.sqlite")
    opened.publish(survey())
    inside = Inside(opened, rate=None, max_body=2000, max_reports=3)
    lines = [submission(survey()) for _ in range(4)]
    assert inside.send(b"\n".join(lines), LINES).code == "too_large"
    assert inside.send(b" " * 2001).status == 413
    assert inside.send(submission(survey()), content_length="2001").status == 413
    assert inside.send(b"\n".join(lines[:3]), LINES).status == 200
    assert inside.send(submission(survey()), content_encoding="gzip").status == 415
    inside.close()


def test_one_address_may_ask_only_so_often(tmp_path: Path) -> None:
    opened = sqlite_store(tmp_path / "x.sqlite")
    opened.publish(survey())
    inside = Inside(opened, rate=0.001, burst=3)
    statuses = [inside.send(submission(survey())).status for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    assert inside.app.metrics.counts["rejected", "rate"] == 2
    inside.close()


def test_a_bucket_fills_again_and_few_are_kept() -> None:
    now = [0.0]
    limit = RateLimit(rate=2.0, burst=1, clock=lambda: now[0])
    assert [limit.wait("1.1.1.1"), limit.wait("1.1.1.1")] == [0.0, 0.5]
    now[0] = 0.5
    assert limit.wait("1.1.1.1") == 0.0
    assert limit.wait("2001:db8::1") == 0.0 and limit.wait("2001:db8::2") == 0.5  # One network, one bucket.
    for number in range(70_000):
        limit.wait(str(number))
    assert len(limit._buckets) <= 2**16


def test_a_full_queue_says_so(small: Inside) -> None:
    """While the store is stuck, what does not fit in the queue is turned away; nothing that was taken in is lost."""
    assert small.app._writer is not None
    small.app._writer.room = 2
    bodies, statuses = [submission(survey()) for _ in range(6)], []

    def run(body: bytes) -> None:
        statuses.append(small.send(body).status)

    with small.store.database._locks["write"]:
        threads = [threading.Thread(target=run, args=(body,)) for body in bodies]
        for thread in threads:
            thread.start()
        while len(statuses) < 3:  # Those that are turned away answer at once.
            threads[0].join(0.01)
    for thread in threads:
        thread.join()
    assert 503 in statuses and check_sums(small.store) == statuses.count(200) > 0


# Surveys and tokens.


def test_surveys_are_published_once_and_never_change(inside: Inside) -> None:
    draft = {"sottovoce": 1, "id": "new", "title": "New", "budget": 1, "questions": [
        {"id": "a", "text": "A?", "kind": "yes_no"}]}  # fmt: skip
    body = json.dumps(draft).encode()
    answer = inside("POST", "/v1/surveys", body, token=inside.admin)
    published = Survey.from_dict(draft).publish()
    assert (answer.status, answer.json) == (201, {"id": "new", "digest": published.digest})
    assert inside("PUT", "/v1/surveys", published.canonical(), token=inside.admin).status == 200
    changed = json.dumps(draft | {"title": "Newer"}).encode()
    assert inside("POST", "/v1/surveys", changed, token=inside.admin).code == "survey_differs"
    assert inside("POST", "/v1/surveys", b"{}", token=inside.admin).code == "bad_survey"
    shown = inside("GET", "/v1/surveys/new")
    assert shown.body == published.canonical() and shown.headers["etag"] == f'"{published.digest}"'
    assert "sha256:" + hashlib.sha256(shown.body).hexdigest() == published.digest
    again = inside("GET", "/v1/surveys/new", if_none_match=shown.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    listed = inside("GET", "/v1/surveys", token=inside.analyst).json["surveys"]
    assert [one["id"] for one in listed] == ["habits", "new"]


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("POST", "/v1/surveys", "admin"),
        ("POST", "/v1/surveys/habits/close", "admin"),
        ("GET", "/v1/surveys", "analyst"),
        ("GET", "/v1/surveys/habits/estimates", "analyst"),
    ],
)
def test_nobody_gets_in_without_a_token(small: Inside, method: str, path: str, role: str) -> None:
    assert small(method, path).status == 401
    assert small(method, path, token="sotto_" + "x" * 43).status == 401
    assert small(method, path, authorization="Basic abc").status == 401
    assert small(method, path, token=small.analyst).status == (403 if role == "admin" else 200)
    assert small(method, path, token=small.admin).status in (200, 201, 400)


def test_tokens_are_kept_as_hashes_and_can_be_revoked(inside: Inside, place: list[str]) -> None:
    token, name = tokens.create(inside.store, "analyst", "me")
    assert inside("GET", "/v1/surveys", token=token).status == 200
    assert all(token not in json.dumps(one) for one in inside.store.tokens())
    with pytest.raises(ParameterError, match="name of its own"):
        tokens.create(inside.store, "analyst", "me")
    assert inside.store.revoke(name) and not inside.store.revoke(name)
    assert inside("GET", "/v1/surveys", token=token).status == 401


def test_invitations_let_one_report_in_each(inside: Inside) -> None:
    asked = survey("invited")
    inside.store.publish(asked, invited=True)
    to = inside.store.survey("invited")
    assert to is not None
    first, second = tokens.invite(inside.store, to, 2)
    body = submission(asked)
    assert inside.send(body, name="invited").code == "invitation"
    assert inside.send(body, name="invited", sottovoce_invitation="x").code == "invitation"
    assert inside.send(body, name="invited", sottovoce_invitation=first).json["accepted"] == 1
    assert inside.send(body, name="invited", sottovoce_invitation=first).json["duplicates"] == 1
    assert inside.send(submission(asked), name="invited", sottovoce_invitation=first).status == 403
    assert inside.send(submission(asked), name="invited", sottovoce_invitation=second).status == 200
    two = submission(asked) + b"\n" + submission(asked)
    assert inside.send(two, LINES, name="invited", sottovoce_invitation=second).status == 403
    assert inside.store.waiting(to) == {0: 2}  # Until there are enough: see test_invitations.


# Estimates.


def filled(inside: Inside) -> None:
    asked = survey()
    bodies = [submission(asked, wave, region) for wave in (0, 1) for region in ("north", "south") for _ in range(6)]
    bodies += [submission(asked, 1, "north") for _ in range(10)]
    assert inside.send(b"\n".join(bodies), LINES).status == 200


def test_estimates_are_those_of_the_reports(inside: Inside) -> None:
    filled(inside)
    to = inside.store.survey("habits")
    assert to is not None
    found = inside("GET", "/v1/surveys/habits/estimates?question=smokes&wave=1&level=0.9", token=inside.analyst).json
    tally = survey().question("smokes").mechanism.tally()
    for rows in inside.store.reports(to):
        for row in rows:
            if row[2] == 1:
                tally.add(to.layout.unpack(row[4])["smokes"] or 0)
    assert len(found["results"]) == 1 and found["withheld"] == []
    expected = json.loads(json.dumps(tally.estimate().to_dict(level=0.9)))
    assert {key: found["results"][0][key] for key in expected} == expected
    assert found["results"][0]["n"] == 22


def test_estimates_by_wave_and_covariate_withhold_small_groups(small: Inside) -> None:
    asked = survey()
    bodies = [submission(asked, 0, "north") for _ in range(5)] + [submission(asked, 0, "south") for _ in range(4)]
    small.send(b"\n".join(bodies), LINES)
    found = small("GET", "/v1/surveys/habits/estimates?by=region", token=small.analyst).json
    assert {(one["question"], one["group"]["region"], one["n"]) for one in found["results"]} == {
        (question, "north", 5) for question in ("smokes", "travel", "hours")
    }
    assert {one["group"]["region"] for one in found["withheld"]} == {"south"}
    assert all("n" not in one and "fewer than 5" in one["reason"] for one in found["withheld"])
    whole = small("GET", "/v1/surveys/habits/estimates", token=small.analyst).json
    assert {one["n"] for one in whole["results"]} == {9}


def test_estimates_as_tables(small: Inside) -> None:
    filled(small)
    path = "/v1/surveys/habits/estimates?by=region&format="
    read = {
        "csv": lambda data: pyarrow.csv.read_csv(io.BytesIO(data)),
        "parquet": lambda data: pyarrow.parquet.read_table(io.BytesIO(data)),
        "arrow": lambda data: pyarrow.ipc.open_stream(data).read_all(),
    }
    tables = {kind: read[kind](small("GET", path + kind, token=small.analyst).body) for kind in read}
    assert tables["parquet"].to_pylist() == tables["arrow"].to_pylist()
    assert tables["csv"].num_rows == tables["arrow"].num_rows == 2 * 2 * (2 + 3 + 1)
    assert set(tables["csv"].column("region").to_pylist()) == {"north", "south"}
    empty = small("GET", "/v1/surveys/habits/estimates?wave=0&format=csv", token=small.analyst)
    assert empty.status == 200


@pytest.mark.parametrize(
    "query",
    ["question=x", "wave=2", "wave=-1", "wave=a", "by=age", "level=1", "level=nan", "level=x", "format=xml", "x=1",
     "%ff", "population=maybe", "wave=" + "9" * 5000],
)  # fmt: skip
def test_bad_queries_are_refused(small: Inside, query: str) -> None:
    answer = small("GET", f"/v1/surveys/habits/estimates?{query}", token=small.analyst)
    assert answer.status == 400


def test_another_process_gives_the_same_estimates(small: Inside) -> None:
    """Whatever is long to work out is, and its process may die in between; the counts stand for what is remembered."""
    filled(small)
    paths = ["estimates", "estimates?by=region&format=csv", "estimates?question=travel&level=0.5"]
    paths = [f"/v1/surveys/habits/{path}" for path in paths]
    here = [small("GET", path, token=small.analyst).body for path in paths]
    far = small.app.estimator
    far.inline_max_counts = 0
    far._bodies.clear()
    assert [small("GET", path, token=small.analyst).body for path in paths] == here
    assert far._worker is not None
    far._worker.kill()
    far._worker.wait()
    assert [small("GET", path, token=small.analyst).body for path in paths] == here and far._worker.poll() is not None
    small.send(submission(survey()))
    assert small("GET", paths[0], token=small.analyst).body != here[0] and far._worker.poll() is None


def test_an_estimate_that_is_being_made_can_be_killed(small: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the server ends, it does not wait for an estimate, nor for a second attempt at it."""
    monkeypatch.setattr(estimate_worker, "COMMAND", [sys.executable, "-c", "import time; time.sleep(600)"])
    to = small.store.survey("habits")
    assert to is not None
    estimator, vectors, errors = estimate_worker.Estimator(inline_max_counts=0), small.store.vectors(to), list[str]()

    def ask() -> None:
        try:
            estimator.body(to, vectors, EstimateQuery(), "json")
        except StoreUnavailable as error:
            errors.append(str(error))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    while estimator._worker is None:
        time.sleep(0.01)
    worker = estimator._worker
    estimator.close()
    asking.join(60)
    assert errors == ["the estimates could not be worked out"] and worker.poll() is not None
    assert estimator._worker is None


def test_public_estimates_keep_the_minimum(tmp_path: Path) -> None:
    opened = sqlite_store(tmp_path / "x.sqlite")
    opened.publish(survey())
    inside = Inside(opened, public_estimates=True)
    inside.send(submission(survey()))
    assert inside("GET", "/v1/surveys/habits/estimates").json["results"] == []
    inside.close()


def test_a_survey_among_curators_is_refused(small: Inside) -> None:
    answer = small("POST", "/v1/surveys", json.dumps(CURATED).encode(), token=small.admin)
    assert answer.status == 400 and answer.code == "bad_survey" and "is for curators" in answer.json["error"]["message"]


def test_a_survey_with_too_many_counts_is_refused(small: Inside) -> None:
    question = {"id": "a", "text": "A?", "kind": "ordered", "values": 2**23, "epsilon": 1}
    body = json.dumps({"sottovoce": 1, "id": "big", "title": "B", "questions": [question]}).encode()
    answer = small("POST", "/v1/surveys", body, token=small.admin)
    assert answer.code == "bad_survey" and "counts" in answer.json["error"]["message"]


# The rest of the service.


def test_other_addresses_and_methods(small: Inside) -> None:
    assert small("GET", "/v1").status == 404
    assert small("GET", "/v1/surveys//reports").status == 404
    assert small("GET", "/v1/surveys/none").code == "no_survey"
    assert small.send(submission(survey()), name="none").status == 404
    assert small("GET", "/v1/surveys/habits/reports").headers["allow"] == "POST"  # Reports go in, never out.
    assert small("DELETE", "/v1/surveys/habits").status == 405
    options = small("OPTIONS", "/v1/surveys/habits/reports")
    assert options.status == 204 and options.headers["access-control-allow-origin"] == "*"
    head = small("HEAD", "/v1/surveys/habits")
    assert (head.status, head.body) == (200, b"") and int(head.headers["content-length"]) > 100


def test_health_metrics_and_description(small: Inside) -> None:
    assert small("GET", "/healthz").json == {"status": "ok"}
    small.send(submission(survey()))
    small.send(b"{")
    text = small("GET", "/metrics").body.decode()
    assert "sottovoce_accepted_total 1.0\n" in text and 'sottovoce_rejected_total{reason="malformed"} 1.0\n' in text
    described = small("GET", "/openapi.json").json
    for path, methods in described["paths"].items():
        assert {name.upper() for name in methods if name != "parameters"} == set(small.app.router.table[path])
    page = small("GET", "/docs").body.decode()
    assert "http://" not in page and "https://" not in page  # Nothing comes from elsewhere.


# The store.


def test_a_second_start_on_the_same_data(place: list[str]) -> None:
    for round_ in range(3):
        inside = Inside(open_place(place), rate=None)
        assert inside.store.publish(survey()) == (round_ == 0)
        inside.send(submission(survey()))
        assert check_sums(inside.store) == round_ + 1
        inside.close()


@pytest.mark.parametrize("version", range(1, schema.VERSION))
def test_an_older_store_is_brought_up_to_date(place: list[str], version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an older version kept is all there after the upgrade, and the new version takes more."""
    body, newest = submission(survey()), schema.VERSION
    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", version)
        patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:version])
        patch.setattr(SQLite, "erase_deleted", lambda self, database: None)
        old = open_place(place)
        old_report(old, body)
        old.close()
    inside = Inside(open_place(place), rate=None)
    assert [one["id"] for one in inside.store.surveys()] == ["habits"]
    assert inside.send(body).json == {"accepted": 0, "duplicates": 1}
    assert inside.send(submission(survey())).json == {"accepted": 1, "duplicates": 0}
    assert check_sums(inside.store) == 2
    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", version)
        with pytest.raises(StoreError, match=f"has version {newest}"):
            open_place(place)
    inside.close()


def old_report(store: Store, body: bytes) -> None:
    """A survey and a report to it as the first version kept them, without a word about what came later."""
    asked = survey()
    name, wave, covariates, row = intake.one(body, StoredSurvey(1, asked, asked.canonical()))
    counts = Layout(asked).count(row).astype("<i8")
    rows: list[tuple[str, list[Any]]] = [
        ("surveys (number, id, digest, document, state, published_at)",
         [1, asked.id, asked.digest, asked.canonical(), "open", "2026-01-01"]),
        ("reports (survey, id, wave, covariates, body)", [1, name, wave, covariates, row]),
        *(("tallies (survey, wave, covariates, part, counts)",
           [1, wave, covariates, part, counts[part * PART_COUNTS : (part + 1) * PART_COUNTS].tobytes()])
          for part in range(-(-len(counts) // PART_COUNTS))),
    ]  # fmt: skip
    with store.database.transaction() as connection:
        for table, values in rows:
            marks = ", ".join("?" * len(values))
            store.database.run(connection, f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608


def test_a_file_that_is_not_a_store(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other"
    text.write_text("not a database, but long enough to be looked at" * 10)
    with pytest.raises(StoreError, match="is not a store"):
        sqlite_store(text)
    with sqlite3.connect(other) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(StoreError, match="another program"):
        sqlite_store(other)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        sqlite_store(tmp_path / "no" / "folder")


def test_the_store_is_for_its_owner_only(tmp_path: Path) -> None:
    sqlite_store(tmp_path / "x.sqlite").close()
    assert (tmp_path / "x.sqlite").stat().st_mode & 0o077 == 0


def test_nothing_tells_who_sent_a_report(small: Inside, tmp_path: Path) -> None:
    small.send(submission(survey()), user_agent="Mozilla/5.0 telltale", x_forwarded_for="203.0.113.77")
    small.send(b"{", user_agent="Mozilla/5.0 telltale")
    small.store.close()
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        assert b"telltale" not in data and b"127.0.0.1" not in data and b"203.0.113.77" not in data
    assert "127.0.0.1" not in small("GET", "/metrics").body.decode()


def test_reports_of_many_kinds_survive_packing() -> None:
    """Numbers beyond a word, long bits, and a question without a report."""
    values = [f"v{i}" for i in range(100)]
    questions = [
        {"id": "big", "text": "?", "kind": "choice", "values": values, "mechanism": "subset", "epsilon": 1},
        {"id": "age", "text": "?", "kind": "ordered", "values": 120, "epsilon": 1},
        {"id": "many", "text": "?", "kind": "multiple", "values": [f"v{i}" for i in range(30)], "epsilon": 2},
    ]  # fmt: skip
    asked = Survey.from_dict({"sottovoce": 1, "id": "k", "title": "K", "questions": questions}).publish()
    answers: dict[str, Any] = {"big": "v7", "age": 33, "many": ["v1", "v2"]}
    layout, totals = Layout(asked), {item.id: item.mechanism.tally() for item in asked.questions}
    rows = []
    for number in range(50):
        reports: dict[str, Any] = {item.id: item.mechanism.randomize(answers[item.id]) for item in asked.questions}
        if number % 5 == 0:
            reports["age"] = None
        rows.append(layout.pack(reports))
        assert layout.unpack(rows[-1]) == reports
        for name, report in reports.items():
            if report is not None:
                totals[name].add(report)
    vector = layout.count(b"".join(rows))
    assert all(layout.tally(name, vector) == total for name, total in totals.items())


# Files.


def test_exports_come_back(inside: Inside, tmp_path: Path) -> None:
    filled(inside)
    to = inside.store.survey("habits")
    assert to is not None
    path = tmp_path / "all.parquet"
    assert transfer.export(inside.store, to, path) == 34
    other = sqlite_store(tmp_path / "other.sqlite")
    other.publish(survey())
    there = other.survey("habits")
    assert there is not None
    first, again = (transfer.load_file(other, there, path) for _ in range(2))
    assert (first.accepted, again.accepted, again.duplicates) == (34, 0, 34)
    assert check_sums(other) == 34 and list(other.reports(there)) == list(inside.store.reports(to))
    assert main(["estimate", str(path), "--json"]) == 0
    other.close()


def test_a_file_of_another_survey_is_not_taken(small: Inside, tmp_path: Path) -> None:
    filled(small)
    to = small.store.survey("habits")
    assert to is not None
    transfer.export(small.store, to, tmp_path / "all.parquet")
    question = {"id": "smokes", "text": "?", "kind": "yes_no", "epsilon": 2}
    other = Survey.from_dict({"sottovoce": 1, "id": "o", "title": "O", "questions": [question]}).publish()
    with pytest.raises(FileError, match="the survey asks by"):
        list(transfer.batches(tmp_path / "all.parquet", other))
    with pytest.raises(FileError, match=r"must end in \.parquet"):
        transfer.export(small.store, to, tmp_path / "all.csv")


# The command.


def test_serve_send_token_and_end(tmp_path: Path) -> None:
    """A whole life: start, send, look, start again; it ends in order with exit code 0 and logs nothing."""
    path, lines = tmp_path / "habits.json", tmp_path / "reports.ndjson"
    path.write_bytes(survey().canonical())
    lines.write_bytes(b"\n".join(submission(survey()) for _ in range(30)) + b"\n")
    place = ["--data", str(tmp_path / "data")]
    first = Outside(str(path), *place)
    try:
        assert set(first.record["tokens"]) == {"admin", "analyst"}
        url = first.record["surveys"][0]
        for expected in ({"accepted": 30, "duplicates": 0}, {"accepted": 0, "duplicates": 30}):
            done = sotto("send", str(lines), url, "--json")
            assert expected.items() <= json.loads(done.stdout).items()
        made = sotto("token", "create", "--role", "analyst", *place).stdout.strip()
        status, body = first.get("/v1/surveys/habits/estimates", made)
        assert status == 200 and json.loads(body)["results"][0]["n"] == 30
        assert "analyst" in sotto("token", "list", *place).stdout
        assert request(url + "/reports", b"{")[0] == 400
    finally:
        code = first.stop()
    assert (code, first.errors) == (0, "")
    second = Outside(*place)
    try:
        assert second.record["tokens"] == {} and second.get("/v1/surveys/habits/estimates", made)[0] == 200
    finally:
        assert second.stop() == 0


def sotto(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from sottovoce.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "missing.yaml"],
        ["token", "revoke", "nobody"],
        ["token", "invite", "none", "--count", "3"],
        ["send", "missing.ndjson", "http://127.0.0.1:1/v1/surveys/x"],
        ["export", "none", "x.parquet"],
        ["import", "none", "x.parquet"],
        ["token", "list", "--database", "postgresql://127.0.0.1:1/none"],
    ],
)
def test_bad_commands_are_one_line(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("sotto: ") and captured.err.count("\n") == 1 and captured.out == ""
