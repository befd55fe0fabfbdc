"""Results that come by themselves: who may see them, when they come, what they say, and how streams end."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
import urllib.request
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collector_service import ANSWERS, LINES, Inside, Outside, submission, survey

from sottovoce import Mean
from sottovoce.collector import live
from sottovoce.collector.overview import Overview
from sottovoce.collector.sqlite import sqlite_store
from sottovoce.device import wire
from sottovoce.statistics import chart
from sottovoce.statistics.sequences.bounded_mean import anytime_mean, reach
from sottovoce.survey import Survey
from sottovoce.survey import overview as survey_overview
from sottovoce.survey.overview import question_numbers

WRONG = "sotto_wrong"
QUICK = {"pause": 0.02, "poll": 0.2, "beat": 0.1}


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Inside]:
    store = sqlite_store(tmp_path / "live.sqlite")
    store.publish(survey())
    made = Inside(store, rate=None)
    for name, value in QUICK.items():
        setattr(made.app.live, name, value)
    yield made
    made.close()


def send(inside: Inside, count: int, region: str = "north", wave: int = 0) -> None:
    lines = b"\n".join(submission(survey(), wave, region) for _ in range(count))
    assert inside.send(lines, LINES).status == 200


class Listener:
    """Reads the events of a survey, from the event loop of a collector."""

    def __init__(self, inside: Inside, name: str = "habits", wave: int | None = None) -> None:
        to = inside.store.survey(name)
        assert to is not None
        self.inside = inside
        self.stream: AsyncGenerator[bytes, None] = inside.app.live.events(to, wave)

    def next(self) -> bytes:
        async def take() -> bytes:
            return await asyncio.wait_for(anext(self.stream), 20)

        return self.inside._do(take())  # type: ignore[no-any-return]

    def event(self) -> tuple[str, Any]:
        """The next that is not a comment."""
        while (text := self.next()).startswith(b":"):
            pass
        return parse(text)

    def until(self, count: int) -> Any:
        """The first state with so many reports."""
        while (found := self.event()[1]).get("reports", -1) < count:
            pass
        return found

    def close(self) -> None:
        self.inside._do(self.stream.aclose())


def parse(text: bytes) -> tuple[str, Any]:
    fields = dict(line.split(": ", 1) for line in text.decode().strip().split("\n"))
    return fields["event"], json.loads(fields["data"])


# What comes.


def test_first_what_the_survey_is_and_then_how_it_stands(inside: Inside) -> None:
    listener = Listener(inside)
    name, described = listener.event()
    assert (name, described["id"], described["minimum"]) == ("survey", "habits", 5)
    assert [one["mechanism"] for one in described["questions"]] == ["rr", "unary", "mean"]
    name, state = listener.event()
    assert (name, state["state"], state["reports"], state["waves"]) == ("state", "open", 0, [])
    assert all(one["withheld"] == "minimum" for one in state["questions"])
    listener.close()


def test_an_event_for_what_changes_and_none_otherwise(inside: Inside) -> None:
    listener = Listener(inside)
    listener.event(), listener.event()
    assert listener.next().startswith(b":")  # A heartbeat, though the store was asked again.
    send(inside, 60)
    state = listener.until(60)
    assert state["questions"][0]["n"] == 60 and state["health"]["accepted"] == 60
    inside.send(b"{")
    assert listener.event()[1]["health"]["rejected"] == {"malformed": 1}
    listener.close()


def test_estimates_are_those_of_the_tallies(inside: Inside) -> None:
    send(inside, 200)
    listener = Listener(inside)
    state = listener.until(200)
    shown = {one["id"]: one for one in state["questions"]}
    asked = inside("GET", "/v1/surveys/habits/estimates?population=true", token=inside.analyst).json
    for expected in asked["results"]:
        rows = shown[expected["question"]]["rows"]
        for at, row in enumerate(expected["estimates"]):
            measure = shown[expected["question"]]["measure"]
            assert rows["estimate"][at] == pytest.approx(row[measure], rel=1e-5, abs=1e-6)
            assert rows["population"][0][at] == pytest.approx(row["low"], rel=1e-5, abs=1e-6)
            assert rows["anytime"][0][at] < rows["population"][0][at] < rows["anytime"][1][at]
    raw = shown["smokes"]["rows"]["raw"]
    assert sum(raw) == pytest.approx(1) and raw[1] * 200 == pytest.approx(round(raw[1] * 200))
    listener.close()


def test_fewer_reports_than_the_minimum_are_never_shown(inside: Inside) -> None:
    send(inside, 4)
    listener = Listener(inside)
    state = listener.until(4)
    assert all(set(one) == {"id", "n", "withheld"} for one in state["questions"])
    listener.close()


def test_the_last_wave_is_shown_or_the_one_that_is_asked_for(inside: Inside) -> None:
    send(inside, 10)
    send(inside, 20, wave=1)
    for wave, count in ((None, 20), (0, 10), (1, 20)):
        listener = Listener(inside, wave=wave)
        assert listener.event()[0] == "survey"
        state = listener.event()[1]
        assert (state["reports"], state["waves"]) == (count, [[0, 10], [1, 20]])
        listener.close()


def test_a_closed_and_an_expired_survey_say_so(tmp_path: Path) -> None:
    store = sqlite_store(tmp_path / "live.sqlite")
    for name, expires in (("old", "2020-01-01T00:00:00Z"), ("done", None)):
        store.publish(survey(name, expires=expires))
    store.close_survey("done")
    inside = Inside(store, rate=None)
    for name, state in (("old", "expired"), ("done", "closed")):
        listener = Listener(inside, name)
        listener.event()
        assert listener.event()[1]["state"] == state
        listener.close()
    inside.close()


def test_a_store_that_is_away_is_news_and_so_is_its_return(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Listener(inside)
    listener.event(), listener.event()
    with monkeypatch.context() as patch:
        patch.setattr(inside.store, "vectors", lambda to: 1 / 0)
        assert listener.event() == ("trouble", {"code": "storage_unavailable"})
    assert listener.event()[0] == "state"
    listener.close()


# When, and for how many.


def counting(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[int]:
    """A list that grows with every call."""
    calls: list[int] = []
    plain = getattr(owner, name)

    def counted(*given: Any) -> Any:
        calls.append(1)
        return plain(*given)

    monkeypatch.setattr(owner, name, counted)
    return calls


def test_all_listeners_share_one_computation(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counting(monkeypatch, Overview, "state")
    inside.app.live.poll = 100.0
    listeners = [Listener(inside) for _ in range(20)]
    for listener in listeners:
        listener.event(), listener.event()
    assert len(calls) == 1 and inside.app.live.listeners == 20
    send(inside, 10)
    assert all(listener.until(10)["reports"] == 10 for listener in listeners)
    assert len(calls) == 2
    for listener in listeners:
        listener.close()
    assert inside.app.live.listeners == 0 and inside.app.live.feeds == {}


def test_many_reports_make_few_events(inside: Inside) -> None:
    """With a pause of half a second, sixty reports one after the other are a handful of events."""
    inside.app.live.pause = 0.5
    listener = Listener(inside)
    listener.event()
    began = time.monotonic()
    for _ in range(60):
        send(inside, 1)
    events = 0
    while listener.event()[1]["reports"] < 60:
        events += 1
    assert events <= (time.monotonic() - began) / 0.5 + 2
    listener.close()


def test_a_question_whose_counts_stay_is_not_estimated_again(monkeypatch: pytest.MonkeyPatch, inside: Inside) -> None:
    to = inside.store.survey("habits")
    assert to is not None
    send(inside, 10)
    calls = counting(monkeypatch, survey_overview, "chart_numbers")
    overview = Overview(to)
    assert overview.state(inside.store.vectors(to)) == overview.state(inside.store.vectors(to))
    assert len(calls) == 3


def test_there_is_an_end_to_listeners(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside.app.streams, "most", 1)
    assert inside.app.streams.take("192.0.2.1")
    refused = inside("GET", "/v1/surveys/habits/live", token=inside.analyst)
    assert (refused.status, refused.code) == (503, "busy")
    inside.app.streams.give("192.0.2.1")
    for method in ("HEAD", "GET", "GET"):  # Each gives its place back, also one that never begins.
        assert inside(method, "/v1/surveys/habits/live?events=1", token=inside.analyst).status == 200


def test_a_stream_has_a_lifetime(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LIFETIME_SECONDS", 0.2)
    answer = inside("GET", "/v1/surveys/habits/live", token=inside.analyst)
    assert answer.status == 200 and answer.body.count(b"event: ") >= 2


# Who may, and how it ends.


@pytest.mark.parametrize("path", ["live", "differences?question=smokes&by=region"])
def test_the_same_people_as_for_estimates_may_see_it(inside: Inside, path: str) -> None:
    place = f"/v1/surveys/habits/{path}"
    assert inside("GET", place).code == "no_token"
    assert inside("GET", place, token=WRONG).code == "bad_token"
    assert inside("GET", "/v1/surveys/none/live", token=inside.analyst).code == "no_survey"
    inside.app.public_estimates = True
    assert inside("GET", place + ("?events=1" if path == "live" else "")).status == 200


@pytest.mark.parametrize("query", ["wave=2", "wave=-1", "wave=x", "events=0", "events=10000", "events=x", "colour=red"])
def test_bad_queries(inside: Inside, query: str) -> None:
    assert inside("GET", f"/v1/surveys/habits/live?{query}", token=inside.analyst).code == "bad_query"


def call(inside: Inside, receive: Any) -> list[dict[str, Any]]:
    """What a stream sends to somebody who behaves like this."""
    scope = {"type": "http", "method": "GET", "path": "/v1/surveys/habits/live", "query_string": b"", "client": None,
             "headers": [(b"authorization", f"Bearer {inside.analyst}".encode())]}  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def keep(message: dict[str, Any]) -> None:
        sent.append(message)

    async def run() -> None:
        await asyncio.wait_for(inside.app(scope, receive, keep), 20)

    inside._do(run())
    return sent


def test_who_leaves_is_forgotten(inside: Inside) -> None:
    async def leave() -> dict[str, Any]:
        await asyncio.sleep(0.1)
        return {"type": "http.disconnect"}

    assert len(call(inside, leave)) >= 3
    assert inside.app.live.listeners == 0 and inside.app.live.feeds == {}


def test_who_takes_nothing_is_forgotten_too(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PATIENCE_SECONDS", 0.2)
    scope = {"type": "http", "method": "GET", "path": "/v1/surveys/habits/live", "query_string": b"", "client": None,
             "headers": [(b"authorization", f"Bearer {inside.analyst}".encode())]}  # fmt: skip

    async def never(*_: Any) -> dict[str, Any]:
        await asyncio.sleep(60)
        raise AssertionError

    async def stall(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await never()

    async def run() -> None:
        await asyncio.wait_for(inside.app(scope, never, stall), 20)

    inside._do(run())
    assert inside.app.live.listeners == 0 and inside.app.live.feeds == {}


def test_streams_end_when_the_server_does(inside: Inside) -> None:
    async def stay() -> dict[str, Any]:
        asyncio.get_running_loop().call_later(0.1, inside.app.ending.set)
        await asyncio.sleep(60)
        raise AssertionError

    sent = call(inside, stay)
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    assert inside.app.live.listeners == 0


# Groups.


def test_differences_between_groups(inside: Inside) -> None:
    send(inside, 150)
    send(inside, 100, region="south")
    place = "/v1/surveys/habits/differences?by=region&question="
    for name, rows in (("smokes", 1), ("travel", 3), ("hours", 1)):
        found = inside("GET", place + name, token=inside.analyst).json
        assert [(one["group"], one["n"]) for one in found["groups"]] == [("north", 150), ("south", 100)]
        assert len(found["differences"]) == rows and (found["test"] is None) == (name == "hours")
        first, second = (one["rows"]["estimate"] for one in found["groups"])
        for at, one in enumerate(found["differences"], len(first) - rows):
            assert (one["group"], one["other"]) == ("south", "north")
            assert one["estimate"] == pytest.approx(second[at] - first[at], abs=1e-5)
            assert one["low"] < one["estimate"] < one["high"] and one["p_value"] <= one["adjusted"]


def test_small_groups_are_withheld(inside: Inside) -> None:
    send(inside, 40)
    send(inside, 4, region="south")
    found = inside("GET", "/v1/surveys/habits/differences?by=region&question=smokes", token=inside.analyst).json
    assert found["withheld"] == ["south"] and found["differences"] == [] and len(found["groups"]) == 1
    assert "south" not in json.dumps(found["groups"])


BAD = [
    *("", "question=smokes", "by=region", "by=region&question=none", "by=no&question=smokes"),
    *("by=region&question=smokes&question=travel", "by=region&question=smokes&level=2"),
]


@pytest.mark.parametrize("query", BAD)
def test_bad_queries_for_differences(inside: Inside, query: str) -> None:
    assert inside("GET", f"/v1/surveys/habits/differences?{query}", token=inside.analyst).code == "bad_query"


# The figures of every kind of question.

KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "yes_no": ({}, ["yes", "no"]),
    "choice": ({"values": ["a", "b", "c"]}, ["a", "b"]),
    "choice of many": ({"kind": "choice", "values": 1000}, [3, 7]),
    "multiple": ({"values": ["a", "b", "c"]}, [["a"], ["a", "c"]]),
    "ordered": ({"values": 20}, [3, 9]),
    "number": ({"low": 0, "high": 24}, [6.0, 8.0]),
    "rounding": ({"kind": "number", "low": 0, "high": 24, "mechanism": "rounding"}, [6.0, 8.0]),
    "distribution": ({"kind": "number", "low": 0, "high": 24, "estimate": "distribution", "bins": 8}, [6.0, 8.0]),
    "text": ({"max_bytes": 10}, ["tea", "milk"]),
}


def asked(name: str, count: int = 500) -> tuple[Any, Any]:
    fields, answers = KINDS[name]
    record = {"id": "q", "text": "?", "kind": name, "epsilon": 2, **fields}
    item = Survey.from_dict({"sottovoce": 1, "id": "kinds", "title": "Kinds", "questions": [record]}).publish()
    m = item.questions[0].mechanism
    tally = m.tally().add_many(m.randomize_many(answers * count, seed=1))
    return item.questions[0], tally


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_figures(name: str) -> None:
    item, tally = asked(name)
    shown = question_numbers(item, tally, 50)
    if name == "text":
        assert shown == {"id": "q", "n": 1000, "withheld": "values"}
        return
    rows, json_text = shown["rows"], json.dumps(shown)
    assert "NaN" not in json_text and "Infinity" not in json_text
    count = len(rows["labels"])
    assert count + shown["more"] == (1000 if name == "choice of many" else count) and count <= chart.MAX_ROWS
    for kind in ("respondents", "population", "anytime"):
        if rows[kind] is not None:
            low, high = rows[kind]
            assert all(a <= b <= c for a, b, c in zip(low, rows["estimate"], high, strict=True))
        assert (shown["curve"][kind] is None) == (rows[kind] is None)
    assert (rows["anytime"] is None) == (name in ("ordered", "distribution"))
    assert (rows["raw"] is None) == (name in ("ordered", "number"))
    assert ("quantiles" in shown) == (name in ("ordered", "distribution"))
    assert len(json_text) < 50_000


@pytest.mark.parametrize("name", ["yes_no", "choice", "multiple", "number"])
def test_the_curve_goes_through_the_interval_there_is(name: str) -> None:
    item, tally = asked(name)
    shown = question_numbers(item, tally, 50)
    at = shown["curve"]["n"].index(tally.n)
    for kind in ("respondents", "population", "anytime"):
        low, high = shown["rows"][kind]
        widest = max(b - a for a, b in zip(low, high, strict=True)) / 2
        assert shown["curve"][kind][at] == pytest.approx(widest, rel=0.05)


def test_what_no_chance_explains_is_called_impossible() -> None:
    """Reports that no answers lead to: everybody sends the first of three, or the largest number."""
    record = {"id": "q", "text": "?", "kind": "choice", "values": ["a", "b", "c"], "epsilon": 1, "mechanism": "krr"}
    number = {"id": "m", "text": "?", "kind": "number", "low": 0, "high": 1, "epsilon": 1, "mechanism": "rounding"}
    document = {"sottovoce": 1, "id": "odd", "title": "Odd", "questions": [record, number]}
    first, second = Survey.from_dict(document).publish().questions
    odd = first.mechanism.tally().add_many([0] * 1000)
    assert question_numbers(first, odd, 50)["impossible"] == ["a", "b", "c"]
    assert question_numbers(second, second.mechanism.tally().add_many([1] * 1000), 50)["impossible"] == ["mean"]
    for name in KINDS:
        assert question_numbers(*asked(name), 50).get("impossible", []) == []


# The interval for means that holds at every peek.


def escapes(mechanism: Mean, shrink: float = 1.0) -> float:
    """In how many of 400 seeded series of 2,000 reports the interval misses the mean at some n from 10 on."""
    rng = np.random.default_rng(7)
    law = np.array(
        [[float(chance) for chance in mechanism._law(code).values()] for code in (0, mechanism.domain.steps)]
    )
    counts = np.arange(1, 2001)
    half = shrink * reach(mechanism, counts)
    missed = 0
    for _ in range(400):
        codes = rng.integers(0, 2, counts.size)
        draws = np.array([rng.choice(law.shape[1], counts.size, p=row / row.sum()) for row in law])
        values = mechanism._values[draws[codes, counts - 1]]
        away = np.abs(np.cumsum(values) / counts - (mechanism.domain.low + mechanism.domain.high) / 2)
        missed += bool((away > half)[9:].any())
    return missed / 400


@pytest.mark.parametrize("kind", ["rounding", "hybrid"])
def test_an_interval_for_a_mean_holds_at_every_peek(kind: str) -> None:
    """The bound is 5%; with a true rate of 5% more than 9% of 400 would be seen less often than once in 3,000 runs.

    An interval as narrow as that for one peek is found out.
    """
    mechanism = Mean(0, 1, epsilon=1.0, kind=kind)
    assert escapes(mechanism) <= 0.09
    assert escapes(mechanism, shrink=0.5) > 0.15


def test_an_interval_for_a_mean_surrounds_it() -> None:
    m = Mean(0, 10, epsilon=1.0)
    e = m.tally().add_many(m.randomize_many([2.0] * 500, seed=1)).estimate()
    low, high = anytime_mean(m, e)
    assert low + high == pytest.approx(2 * e.mean) and high - low > e.interval(population=True).high - e.interval().low
    assert np.diff(reach(m, np.arange(10, 1000))).max() < 0


def test_reports_over_the_wire_are_those_of_the_page(inside: Inside) -> None:
    """A submission as a browser makes it, by its own fields, is counted and shown."""
    reports = {item.id: item.mechanism.randomize(ANSWERS[item.id]) for item in survey().questions}
    for _ in range(5):
        body = wire.encode(wire.Submission(secrets.token_hex(16), survey().digest, 0, reports, {"region": "north"}))
        assert inside.send(body).status == 200
    listener = Listener(inside)
    shown = listener.until(5)["questions"][0]
    assert shown["rows"]["raw"][reports["smokes"]] == 1.0
    listener.close()


def test_a_server_that_ends_ends_its_streams_in_order(tmp_path: Path) -> None:
    """The last chunk comes, and the process exits with 0, though somebody listens."""
    path = tmp_path / "habits.json"
    path.write_bytes(survey().canonical())
    server = Outside(str(path), "--data", str(tmp_path / "data"), "--public-estimates")
    with urllib.request.urlopen(f"{server.url}/v1/surveys/habits/live", timeout=30) as stream:  # noqa: S310
        assert stream.headers["content-type"] == "text/event-stream"
        assert stream.readline() == b"retry: 1000\n"
        server.process.terminate()
        assert b"event: survey" in stream.read()  # To the end: a cut would be an error.
    assert server.stop() == 0 and server.errors == ""
