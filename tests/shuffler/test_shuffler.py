"""The shuffler: what is sealed and how long, what waits and what goes, what the analyst gets, and what is refused.

Order and positions are random bits of the operating system, which cannot be seeded: each test of them raises a false
alarm less often than once in 10^6 runs, by the level that it states.
"""

from __future__ import annotations

import json
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import loaded_modules
import pytest
from collector_service import Answer, Inside, check_sums
from scipy import stats
from shuffler_service import (
    ANALYST,
    QUESTIONS,
    SHUFFLER,
    RunningShuffler,
    batch_headers,
    collector_store,
    document,
    identities,
    letter,
    noise,
    sealed,
    shuffler_store,
    submission,
    survey,
)
from surveys import QUESTIONS as ALL_KINDS
from surveys import draft

from sottovoce import Survey
from sottovoce.cli import main
from sottovoce.core import canonical
from sottovoce.core.errors import ParameterError, ReportError, StoreError
from sottovoce.core.sealing import SEALING_BYTES, PrivateKey
from sottovoce.device import envelope, transport, wire
from sottovoce.device.envelope import SEALED, BatchReader, ShuffledBatch
from sottovoce.device.respondent import Respondent
from sottovoce.shuffler import Shuffler, ShufflerStore
from sottovoce.shuffler import store as store_module
from sottovoce.shuffler.forwarder import Forwarder
from sottovoce.shuffler.slots import Slots
from sottovoce.survey.findings import findings
from sottovoce.web.metrics import Metrics

RARE = 1e-7
"""The false-alarm rate of one statistical test."""

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "shuffle.json").read_text(encoding="utf-8"))


# Envelopes.


def test_envelopes_open_for_those_they_are_sealed_to() -> None:
    asked = survey()
    body = submission(asked, wave=1)
    sent = envelope.seal(asked, body)
    wave, inner = envelope.take_off(asked, SHUFFLER, sent)
    assert wave == 1 and envelope.unseal(asked, ANALYST, 1, inner) == body
    assert body not in sent and body not in inner
    for which, opener, data in ((asked, ANALYST, sent), (survey(11), SHUFFLER, sent), (asked, SHUFFLER, sent[:-1])):
        with pytest.raises(ReportError):
            envelope.take_off(which, opener, data)
    for key, number in ((SHUFFLER, 1), (ANALYST, 0)):  # The shuffler cannot read, and a wave is not for another.
        with pytest.raises(ValueError, match="does not open"):
            envelope.unseal(asked, key, number, inner)
    with pytest.raises(ParameterError, match="has no shuffler"):
        envelope.seal(Survey.from_dict(draft(QUESTIONS[0])).publish(), body)


def test_a_wave_beyond_the_survey_is_refused() -> None:
    asked = survey()
    inner = noise(asked, 1)[0][1]
    sent = SHUFFLER.public.seal((2).to_bytes(4, "big") + inner, info=envelope._outer(asked))
    with pytest.raises(ReportError, match="from 0 to 1, got 2"):
        envelope.take_off(asked, SHUFFLER, sent)


def test_all_submissions_to_a_survey_are_equally_long_and_none_is_longer() -> None:
    """Also with the largest report there is, and in the last of many waves."""
    asked = Survey.from_dict(draft(*ALL_KINDS, budget=400, trust="shuffle", shuffle=document()["shuffle"],
                                   schedule={"waves": 100})).publish()  # fmt: skip
    largest: dict[str, Any] = {}
    for item in asked.questions:
        shape = item.mechanism.shape
        largest[item.id] = shape.outcomes - 1 if hasattr(shape, "outcomes") else bytes(shape.width)  # type: ignore[attr-defined]
    for wave, reports in (
        (99, largest),
        (0, {name: 0 if type(report) is int else report for name, report in largest.items()}),
    ):
        body = wire.encode(wire.Submission(secrets.token_hex(16), asked.digest, wave, reports, {}))
        assert len(body) <= envelope.length(asked) <= len(body) + 40
        whole = envelope.length(asked) + 4 + 2 * SEALING_BYTES
        assert len(envelope.seal(asked, body)) == envelope.outer_size(asked) == whole


def test_the_device_needs_the_standard_library_until_it_seals() -> None:
    program = """
from sottovoce.device import respondent as client, envelope, transport
from sottovoce.survey import Survey
sys.modules["numpy"] = sys.modules["scipy"] = None
survey = Survey.loads(sys.stdin.buffer.read())
print(envelope.length(survey), survey.guarantee.local, survey.guarantee.central)
del sys.modules["numpy"], sys.modules["scipy"]
"""
    asked = survey()
    assert loaded_modules.run(program, asked.canonical()).splitlines() == [
        f"{envelope.length(asked)} {asked.epsilon} None", "[]"]  # fmt: skip


@pytest.mark.parametrize("vector", VECTORS["surveys"])
def test_vectors_of_surveys(vector: dict[str, Any]) -> None:
    asked = Survey.from_dict(vector["document"])
    assert asked.published and asked.canonical() == vector["canonical"].encode()
    assert (asked.digest, envelope.length(asked)) == (vector["digest"], vector["length"])
    assert Survey.from_dict(asked.to_dict()) == asked


@pytest.mark.parametrize("vector", VECTORS["invalid"], ids=lambda vector: vector["why"])
def test_vectors_of_surveys_to_refuse(vector: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Survey.from_dict(vector["document"])


def test_vectors_of_envelopes() -> None:
    by_digest = {vector["digest"]: Survey.from_dict(vector["document"]) for vector in VECTORS["surveys"]}
    for vector in VECTORS["sealed"]:
        asked = by_digest[vector["survey"]]
        wave, inner = envelope.take_off(
            asked, PrivateKey(bytes.fromhex(VECTORS["shuffler"])), bytes.fromhex(vector["outer"])
        )
        assert (wave, inner.hex()) == (vector["wave"], vector["inner"])
        key = PrivateKey(bytes.fromhex(VECTORS["analyst"]))
        assert envelope.unseal(asked, key, wave, inner) == vector["body"].encode()


# What waits, and what goes.


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here crashes, so that nothing needs to reach the disk."""
    settings = [setting.replace("= FULL", "= OFF") for setting in store_module.SETTINGS]
    monkeypatch.setattr(store_module, "SETTINGS", settings)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ShufflerStore]:
    made = shuffler_store(tmp_path, survey())
    yield made
    made.close()


def test_nothing_goes_below_the_minimum(tmp_path: Path) -> None:
    """Not while it waits, not after a new start, not at the end of the survey; by waves, each for itself."""
    asked = survey(10)
    for count in range(9):
        store = shuffler_store(tmp_path, asked, extra=0)
        store.add([noise(asked, 1, wave) for wave in (0, 1)])
        store.mix()
        store.mix(last=True)
        assert store.batches() == [] and store.waiting() == {0: count + 1, 1: count + 1}
        store.close()
    store = shuffler_store(tmp_path, asked, extra=0)
    store.add([noise(asked, 1, 1)])
    store.mix()
    (name,) = store.batches()
    assert (store.batch(name).wave, len(store.batch(name).reports)) == (1, 10) and store.waiting() == {0: 9}
    assert store.forget() == 9 and store.waiting() == {} and store.batches() == [name]


@pytest.mark.usefixtures("unsynced")
def test_the_threshold_is_random_and_kept(tmp_path: Path) -> None:
    asked, seen = survey(10), Counter[int]()
    store = shuffler_store(tmp_path, asked, extra=1)
    for _ in range(40):
        size = 0
        while not store.batches():
            least = store._threshold(0)
            store.close()  # A new start draws no new one.
            assert store._threshold(0) == least
            store.add([noise(asked, 1)])
            store.mix()
            size += 1
        (name,) = store.batches()
        assert len(store.batch(name).reports) == size == least
        seen[size] += 1
        store.delivered(name)
    assert set(seen) == {10, 11}  # Both, but for once in 5 * 10^11 runs.
    store.close()


def test_a_batch_holds_what_came_and_is_forgotten_when_it_is_there(tmp_path: Path) -> None:
    asked = survey()
    store = shuffler_store(tmp_path, asked)
    letters = noise(asked, 30)
    assert [outcome.accepted for outcome in store.add([letters[:10], letters[10:]])] == [10, 20]
    store.mix()
    (name,) = store.batches()
    assert sorted(store.batch(name).reports) == sorted(inner for _, inner in letters) and store.waiting() == {}
    assert holds(tmp_path, letters) == 30
    store.delivered(name)
    store.close()
    assert holds(tmp_path, letters) == 0


def holds(folder: Path, letters: list[tuple[int, bytes]]) -> int:
    """How many envelopes can be found in the files of a store."""
    data = b"".join(path.read_bytes() for path in folder.iterdir())
    return sum(data.count(inner[:24]) for _, inner in letters)


def test_a_batch_has_a_largest_size(tmp_path: Path) -> None:
    asked = survey(10)
    store = shuffler_store(tmp_path, asked, extra=0, most=25)
    store.add([noise(asked, 70)])
    store.mix()
    assert sorted(len(store.batch(name).reports) for name in store.batches()) == [20, 25, 25]
    store.close()


def test_a_batch_is_no_larger_than_what_a_collector_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = survey(10)
    monkeypatch.setattr(envelope, "MAX_BATCH_BYTES", 15 * envelope.inner_size(asked) + 100)
    store = shuffler_store(tmp_path, asked, extra=0)
    store.add([noise(asked, 30)])
    store.mix()
    made = [store.batch(name) for name in store.batches()]
    assert [len(batch.reports) for batch in made] == [15, 15]
    assert all(len(batch.to_bytes(asked, SHUFFLER)) <= envelope.MAX_BATCH_BYTES for batch in made)
    store.close()
    with pytest.raises(ParameterError, match="at most 15 of them, less than the minimum of 16"):
        shuffler_store(tmp_path, survey(16))


def test_replays_are_dropped_while_they_wait_and_after_they_went(store: ShufflerStore) -> None:
    asked = survey()
    letters = noise(asked, 20)
    first, again = store.add([[*letters, letters[3]], letters[:5]])
    assert (first.accepted, first.duplicates, again.accepted, again.duplicates) == (20, 1, 0, 5)
    store.mix()
    store.delivered(store.batches()[0])
    store.close()
    (late,) = store.add([letters])
    assert (late.accepted, late.duplicates) == (0, 20) and store.waiting() == {}


def test_there_is_no_column_for_an_address_or_a_time(store: ShufflerStore) -> None:
    with store._transaction() as connection:
        names = [
            row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        ]
        columns = {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in names}
    assert columns == {"about": ["digest", "secret"], "batches": ["id", "wave", "reports"], "seen": ["tag"],
                       "slots": ["slot", "data"], "thresholds": ["wave", "least"]}  # fmt: skip


def order_in_file(folder: Path, asked: Survey, count: int) -> float:
    """The p-value of a rank correlation between the order of arrival and the places in the file."""
    store = shuffler_store(folder, asked)
    letters = noise(asked, count)
    for one in letters:
        store.add([[one]])
    store.close()
    data = (folder / "shuffler.sqlite").read_bytes()
    places = [data.index(inner) for _, inner in letters]
    return float(stats.kendalltau(range(count), places).pvalue)


@pytest.mark.usefixtures("unsynced")
def test_the_file_does_not_tell_the_order_of_arrival(tmp_path: Path) -> None:
    """Through two growths of the table; a false alarm once in 10^7 runs."""
    assert order_in_file(tmp_path, survey(1000), 400) > RARE


@pytest.mark.usefixtures("unsynced")
def test_slots_in_order_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class First(random.Random):
        def randrange(self, *_: Any) -> int:
            return 0

    monkeypatch.setattr("sottovoce.shuffler.slots.SYSTEM_RANDOM", First())
    assert order_in_file(tmp_path, survey(1000), 400) < RARE


def test_a_store_is_for_one_survey(tmp_path: Path) -> None:
    shuffler_store(tmp_path, survey()).close()
    with pytest.raises(StoreError, match="another survey, sha256:"):
        shuffler_store(tmp_path, survey(11))
    (tmp_path / "other").mkdir()
    collector_store(tmp_path / "other", survey()).close()
    (tmp_path / "other" / "collector.sqlite").rename(tmp_path / "other" / "shuffler.sqlite")
    with pytest.raises(StoreError, match="another program"):
        shuffler_store(tmp_path / "other", survey())
    with pytest.raises(ParameterError, match="extra"):
        shuffler_store(tmp_path, survey(), extra=-1)


# The permutation.


def positions(folder: Path, batches: int) -> float:
    """The p-value of a chi-square test: the place in its batch of each of ten that came in order, over many batches."""
    asked = survey(10)
    store = shuffler_store(folder, asked, extra=0)
    counts = [[0] * 10 for _ in range(10)]
    for _ in range(batches):
        letters = noise(asked, 10)
        store.add([letters])
        store.mix()
        (name,) = store.batches()
        reports = store.batch(name).reports
        for came, (_, inner) in enumerate(letters):
            counts[came][reports.index(inner)] += 1
        store.delivered(name)
    store.close()
    # Rows and columns of each permutation matrix add up to one: 81 degrees of freedom, and cells scaled by 9 / 10.
    expected = batches / 10
    statistic = 0.9 * sum((count - expected) ** 2 / expected for row in counts for count in row)
    return float(stats.chi2.sf(statistic, 81))


@pytest.mark.usefixtures("unsynced")
def test_positions_in_batches_are_uniform(tmp_path: Path) -> None:
    """Chi-square with 81 degrees of freedom over 300 batches of ten; a false alarm once in 10^7 runs."""
    assert positions(tmp_path, 300) > RARE


@pytest.mark.usefixtures("unsynced")
def test_a_shuffler_that_does_not_shuffle_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots are still random: it takes the order in which they are read for one of its own."""

    class Lazy(random.Random):
        def shuffle(self, x: Any) -> None:
            x.sort(key=lambda tag: arrival.index(tag))

    arrival: list[bytes] = []
    put = Slots.put

    def noted(self: Slots, wave: int, tag: bytes, inner: bytes) -> None:
        arrival.append(tag)
        put(self, wave, tag, inner)

    monkeypatch.setattr(Slots, "put", noted)
    monkeypatch.setattr("sottovoce.shuffler.store.SYSTEM_RANDOM", Lazy())
    assert positions(tmp_path, 30) < RARE


# The collector's side.


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Inside]:
    made = Inside(collector_store(tmp_path, survey()), rate=None, keys=[ANALYST])
    yield made
    made.close()


PLACE = "/v1/surveys/habits/batches"


def batch_of(asked: Survey, letters: list[tuple[int, bytes]], name: bytes | None = None) -> bytes:
    reports = [inner for _, inner in letters]
    return ShuffledBatch(name or secrets.token_bytes(16), letters[0][0], reports).to_bytes(asked, SHUFFLER)


def post(inside: Inside, body: bytes, kind: str = SEALED) -> Answer:
    to = inside.store.survey("habits")
    assert to is not None
    return inside("POST", PLACE, body, kind, **batch_headers(to.survey, body))


def test_a_batch_is_taken_once(inside: Inside) -> None:
    asked = survey()
    body = batch_of(asked, [letter(asked) for _ in range(12)])
    for _ in range(3):
        assert (post(inside, body).status, check_sums(inside.store)) == (200, 12)
    assert inside.app.metrics["accepted"] == 12
    assert post(inside, batch_of(asked, [letter(asked, 1) for _ in range(10)])).json == {"reports": 10}
    assert check_sums(inside.store) == 22


def test_the_same_reports_in_another_batch_are_not_counted_again(inside: Inside) -> None:
    asked = survey()
    letters = [letter(asked) for _ in range(12)]
    post(inside, batch_of(asked, letters))
    assert post(inside, batch_of(asked, letters[:6] + [letter(asked) for _ in range(6)])).status == 200
    assert check_sums(inside.store) == 18


def test_bad_reports_are_counted_and_left_out(inside: Inside) -> None:
    """Noise, a report sealed for another wave, one that is none, an id that occurs twice with other reports."""
    asked = survey()
    name = secrets.token_hex(16)
    good = [letter(asked) for _ in range(8)]
    other_wave = (0, letter(asked, 1)[1])
    junk = ANALYST.public.seal(b"{}".ljust(envelope.length(asked)), info=envelope._inner(asked, 0))
    lying = submission(asked, 1)  # Sealed for wave 0, and says 1.
    liar = ANALYST.public.seal(lying.ljust(envelope.length(asked)), info=envelope._inner(asked, 0))
    twice = [letter(asked, 0, name) for _ in range(40)]
    letters = [*good, *noise(asked, 2), other_wave, (0, junk), (0, liar), *twice]
    assert post(inside, batch_of(asked, letters)).status == 200
    assert check_sums(inside.store) == 9 and identities(inside.store).count(name) == 1
    counts = inside.app.metrics.counts
    assert counts["dropped", "malformed"] == 5
    assert counts["dropped", "conflict"] + counts["duplicates", ""] == 39 and counts["dropped", "conflict"] > 0
    assert post(inside, batch_of(asked, [*noise(asked, 9), letter(asked, 0, name)])).status == 200
    assert check_sums(inside.store) == 9


def test_a_batch_of_nothing_but_noise_is_acknowledged(inside: Inside) -> None:
    asked = survey()
    body = batch_of(asked, noise(asked, 10))
    assert post(inside, body).status == post(inside, body).status == 200
    assert check_sums(inside.store) == 0


def test_batches_that_the_shuffler_did_not_make_are_refused(inside: Inside) -> None:
    asked = survey()
    letters = [letter(asked) for _ in range(10)]
    body = batch_of(asked, letters)
    changed = bytearray(body)
    changed[100] ^= 1
    reports = [inner for _, inner in letters]
    forged = ShuffledBatch(secrets.token_bytes(16), 0, reports).to_bytes(asked, PrivateKey.generate())
    for bad in (b"", body[:-1], body[:60], bytes(changed), forged):
        assert (post(inside, bad).status, post(inside, bad).code) == (400, "malformed")
    small = envelope.length(asked) + 100
    cut = inside("POST", PLACE, body[:small], SEALED, **batch_headers(asked, body))  # Less than was announced.
    assert (cut.status, cut.code) == (400, "malformed")
    assert post(inside, batch_of(asked, letters[:9])).code == "too_few"
    assert post(inside, body, "application/json").status == 415
    assert check_sums(inside.store) == 0


def test_nothing_of_a_batch_is_read_unless_the_shuffler_announced_it(inside: Inside) -> None:
    asked = survey()
    body = batch_of(asked, [letter(asked) for _ in range(10)])
    length = {"content_length": str(len(body))}
    strangers = [
        batch_headers(asked, body, PrivateKey.generate()), batch_headers(asked, body + b"x"),
        batch_headers(survey(11), body), {"sottovoce_batch": "\u00e9"}, {},
    ]  # fmt: skip
    for headers in [one | length for one in strangers]:
        answer = inside("POST", PLACE, Unread(), SEALED, **headers)
        assert (answer.status, answer.code) == (403, "not_the_shuffler")
    known = batch_headers(asked, body)
    without = inside("POST", PLACE, Unread(), SEALED, sottovoce_batch=known["sottovoce_batch"])
    assert (without.status, without.code) == (411, "no_length")
    assert inside("POST", PLACE, body, SEALED, **known).status == 200


class Unread(bytes):
    """A body that must not be asked for."""

    def __len__(self) -> int:
        raise AssertionError("the body was read")


def test_a_batch_may_come_in_parts_of_any_size(inside: Inside) -> None:
    asked = survey()
    body = batch_of(asked, [letter(asked) for _ in range(10)])
    for step in (1, 7, 19, 20, 21, 500, len(body) - 32, len(body) - 1, len(body)):
        reader = BatchReader(asked, ANALYST, len(body))
        found = [report for at in range(0, len(body), step) for report in reader.feed(body[at : at + step])]
        reader.finish()
        read = ShuffledBatch.read(body, asked, ANALYST)
        assert (reader.id, reader.wave, found) == (read.id, read.wave, read.reports) and reader.count == 10
        with pytest.raises(ReportError, match="whole"):
            BatchReader(asked, ANALYST, len(body)).finish()


def test_direct_reports_and_batches_go_each_their_own_way(tmp_path: Path) -> None:
    asked = survey()
    plain = Survey.from_dict(draft(QUESTIONS[0], id="plain", budget=1)).publish()
    store = collector_store(tmp_path, asked)
    store.publish(plain)
    inside = Inside(store, rate=None)
    answer = inside.send(submission(asked))
    assert (answer.status, answer.code) == (403, "shuffled") and "http://127.0.0.1:8001" in answer.json["error"][
        "message"
    ]
    body = batch_of(asked, [letter(asked) for _ in range(10)])
    assert post(inside, body).code == "no_key"
    assert inside("POST", "/v1/surveys/plain/batches", body, SEALED).code == "not_shuffled"
    assert inside("POST", "/v1/surveys/none/batches", body, SEALED).status == 404
    with pytest.raises(ParameterError, match="invitation"):
        store.publish(Survey.from_dict(document(id="invited")).publish(), invited=True)
    inside.close()


def test_a_closed_survey_acknowledges_what_it_has_and_takes_no_more(inside: Inside) -> None:
    asked = survey()
    body = batch_of(asked, [letter(asked) for _ in range(10)])
    post(inside, body)
    inside.store.close_survey("habits")
    assert post(inside, body).status == 200
    assert (post(inside, batch_of(asked, noise(asked, 10))).status, check_sums(inside.store)) == (410, 10)


def test_batches_are_taken_after_the_expiry(tmp_path: Path) -> None:
    """What came in time may be mixed later; nobody knows when it came."""
    asked = survey(10, expires="2020-01-01T00:00:00Z")
    inside = Inside(collector_store(tmp_path, asked), rate=None, keys=[ANALYST])
    assert post(inside, batch_of(asked, [letter(asked) for _ in range(10)])).status == 200
    assert check_sums(inside.store) == 10
    inside.close()


def test_a_delta_that_allows_to_show_somebody_is_pointed_out() -> None:
    asked = document()
    loose = asked | {"shuffle": asked["shuffle"] | {"delta": 0.1}}
    rules = [[one.rule for one in findings(Survey.from_dict(each).publish())] for each in (asked, loose)]
    assert ["delta" in found for found in rules] == [False, True]


def test_estimates_say_what_is_guaranteed(inside: Inside) -> None:
    asked = survey()
    post(inside, batch_of(asked, [letter(asked) for _ in range(12)]))
    shown = inside("GET", "/v1/surveys/habits/estimates", token=inside.analyst).json
    assert asked.guarantee is not None and shown["guarantee"] == asked.guarantee.to_dict()
    assert shown["guarantee"]["local"] == {"epsilon": asked.epsilon}
    assert len(shown["results"]) == 2


# The service, and what leaves it.


class Wire:
    """A collector of which all that arrives is kept byte for byte; it refuses as often as it is told."""

    def __init__(self, *statuses: int) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.statuses = list(statuses)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(outer.statuses.pop(0) if outer.statuses else 200)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/surveys/habits"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def wires() -> Iterator[Wire]:
    made = Wire()
    yield made
    made.close()


def test_what_the_analyst_receives(tmp_path: Path, wires: Wire) -> None:
    """Byte for byte: an id, a wave, envelopes of one length, a code. No address, no time, no order."""
    asked = survey(10)
    store = shuffler_store(tmp_path, asked, extra=0)
    letters = [letter(asked) for _ in range(10)]
    store.add([[one] for one in letters])
    Forwarder(store, SHUFFLER, wires.url, Metrics(Shuffler.counters)).step()
    ((path, headers, body),) = wires.requests
    assert path == "/v1/surveys/habits/batches"
    assert headers == {
        "accept-encoding": "identity", "content-length": str(len(body)), "content-type": SEALED,
        "user-agent": "sottovoce", "connection": "close", "host": wires.url.split("/")[2],
        "sottovoce-batch": envelope.batch_pass(asked, SHUFFLER, len(body)),
    }  # fmt: skip
    size = envelope.inner_size(asked)
    assert len(body) == 16 + 4 + 10 * size + 32 and body[16:20] == bytes(4)
    reports = [body[at : at + size] for at in range(20, 20 + 10 * size, size)]
    assert sorted(reports) == sorted(inner for _, inner in letters)
    opened = [ANALYST.open(report, info=envelope._inner(asked, 0)) for report in reports]
    assert {len(one) for one in opened} == {envelope.length(asked)}
    assert {frozenset(canonical.loads(one)) for one in opened} == {frozenset(wire.FIELDS)}
    assert store.batches() == [] and holds(tmp_path, letters) == 0
    store.close()


def test_a_batch_is_sent_until_it_is_acknowledged(tmp_path: Path) -> None:
    asked = survey(10)
    collector = Wire(503, 500, 400)
    store, metrics = shuffler_store(tmp_path, asked, extra=0), Metrics(Shuffler.counters)
    carrier = Forwarder(store, SHUFFLER, collector.url, metrics, seconds=0.0, refused_seconds=0.0)
    store.add([noise(asked, 10)])
    for _ in range(6):
        carrier.step()
    assert len(collector.requests) == 4 and len({body for _, _, body in collector.requests}) == 1
    assert (metrics["batches"], metrics["forwarded"], metrics["undelivered"]) == (1, 10, 3)
    collector.close()
    store.add([noise(asked, 10)])
    carrier.step()
    assert metrics["undelivered"] == 4 and len(store.batches()) == 1
    store.close()


def test_a_refused_batch_does_not_hold_up_others_nor_itself_for_ever(tmp_path: Path) -> None:
    asked = survey(10)
    collector = Wire(400)
    store, metrics = shuffler_store(tmp_path, asked, extra=0), Metrics(Shuffler.counters)
    carrier = Forwarder(store, SHUFFLER, collector.url, metrics, refused_seconds=1000.0)
    store.add([noise(asked, 10)])
    carrier.step()
    store.add([noise(asked, 10)])
    carrier.step()
    carrier.step()
    assert len(collector.requests) == 2 and len(store.batches()) == 1
    again = Forwarder(store, SHUFFLER, collector.url, metrics)
    again.step()
    assert store.batches() == [] and collector.requests[0][2] == collector.requests[2][2]
    collector.close()
    store.close()


def test_at_the_end_of_a_survey_what_holds_the_minimum_goes_and_the_rest_is_forgotten(
    tmp_path: Path, wires: Wire
) -> None:
    asked = survey(10, expires="2030-01-01T00:00:00Z")
    store, metrics = shuffler_store(tmp_path, asked, extra=10**6), Metrics(Shuffler.counters)
    few, enough = noise(asked, 9, 0), noise(asked, 10, 1)
    store.add([few, enough])
    now = [datetime(2029, 12, 31, tzinfo=UTC)]
    carrier = Forwarder(store, SHUFFLER, wires.url, metrics, clock=lambda: now[0])
    carrier.step()
    assert wires.requests == [] and store.waiting() == {0: 9, 1: 10}
    now[0] = datetime(2030, 1, 1, tzinfo=UTC)
    carrier.step()
    (request,) = wires.requests
    assert ShuffledBatch.read(request[2], asked, ANALYST).wave == 1 and store.waiting() == {}
    assert metrics.counts["dropped", "expired"] == 9
    store.close()
    assert holds(tmp_path, few) == 0


def test_the_service_takes_envelopes_and_nothing_else(tmp_path: Path, wires: Wire) -> None:
    asked = survey(10)
    store = shuffler_store(tmp_path, asked, extra=0)
    running = RunningShuffler(Shuffler(store, SHUFFLER, wires.url, rate=None, max_body=2**14))
    sent = sealed(asked)
    assert running.send(sent, SEALED).json == {"accepted": 1, "duplicates": 0}
    answer = running.send(sent + sealed(asked), SEALED)
    assert answer.json == {"accepted": 1, "duplicates": 1} and answer.headers["access-control-allow-origin"] == "*"
    for bad in (b"", sent[:-1], bytes(len(sent)), sent + bytes(len(sent)), b"".join([sent] * 9) + bytes(len(sent))):
        assert (running.send(bad, SEALED).status, running.send(bad, SEALED).code) == (400, "malformed")
    assert running.send(sent).status == 415 and running.send(bytes(2**15), SEALED).status == 413
    assert running("GET", "/v1/surveys/habits").body == asked.canonical()
    assert (
        running("GET", "/v1/surveys/other").status == 404
        and running("OPTIONS", "/v1/surveys/habits/reports").status == 204
    )
    assert running("GET", "/healthz").json == {"status": "ok"}
    running.app.forwarder.close()
    assert running("GET", "/healthz").status == 503
    assert b"sottovoce_waiting 2.0\n" in running("GET", "/metrics").body
    assert running("GET", "/metrics", x_forwarded_for="1.2.3.4").status == 404
    assert store.waiting() == {0: 2}
    running.close()


def test_an_expired_survey_takes_no_envelopes(tmp_path: Path, wires: Wire) -> None:
    asked = survey(10, expires="2020-01-01T00:00:00Z")
    running = RunningShuffler(Shuffler(shuffler_store(tmp_path, asked), SHUFFLER, wires.url))
    assert running.send(sealed(asked), SEALED).code == "expired"
    running.close()


def test_the_key_must_be_that_of_the_survey(tmp_path: Path) -> None:
    store = shuffler_store(tmp_path, survey())
    with pytest.raises(ParameterError, match="the key must be that of the survey's shuffler"):
        Shuffler(store, ANALYST, "http://127.0.0.1:1")
    store.close()


# The command line, and all of it together.


def sotto(*arguments: str) -> subprocess.Popen[str]:
    code = "import sys; from sottovoce.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)


def announced(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")


def test_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "key")
    assert main(["key", "new", file]) == 0
    public = capsys.readouterr().out.strip()
    assert main(["key", "show", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": file, "public": public}
    for wrong in (["key", "new", file], ["key", "show", file + "x"], ["key", "new", str(tmp_path / "no" / "key")]):
        assert main(wrong) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "draft.json").write_text(json.dumps(document()))
    (tmp_path / "survey.json").write_bytes(survey().canonical())
    (tmp_path / "plain.json").write_bytes(Survey.from_dict(draft(QUESTIONS[0])).publish().canonical())
    (tmp_path / "analyst").write_text(ANALYST.to_text())
    (tmp_path / "shuffler").write_text(SHUFFLER.to_text())
    (tmp_path / "bad").write_text("x")

    def fails(command: str) -> str:
        words = [
            str(tmp_path / word[1:]) if word.startswith("@") else word for word in f"{command} --data @data".split()
        ]
        assert main(words) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    assert "draft" in fails("shuffler @draft.json --key @shuffler")
    assert "has no shuffler" in fails("shuffler @plain.json --key @shuffler")
    assert "no such file" in fails("shuffler @survey.json --key @none")
    assert "base64url" in fails("shuffler @survey.json --key @bad")
    assert "must be that of" in fails("shuffler @survey.json --key @analyst")
    assert "must begin with https" in fails("shuffler @survey.json --key @shuffler --collector ftp://x")
    assert "--key" in fails("serve @survey.json")


def test_from_answers_to_estimates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`sotto serve`, `sotto shuffler`, devices, `sotto send`; both end in order."""
    asked = survey(10, waves=1)
    paths = {name: tmp_path / name for name in ("survey.json", "analyst", "shuffler", "lines")}
    paths["survey.json"].write_bytes(asked.canonical())
    paths["analyst"].write_text(ANALYST.to_text())
    paths["shuffler"].write_text(SHUFFLER.to_text())
    collector = sotto("serve", str(paths["survey.json"]), "--port", "0", "--key", str(paths["analyst"]),
                      "--data", str(tmp_path / "collector"), "--public-estimates", "--json")  # fmt: skip
    base = announced(collector)["url"]
    mixer = sotto("shuffler", str(paths["survey.json"]), "--port", "0", "--key", str(paths["shuffler"]), "--extra", "0",
                  "--collector", base, "--data", str(tmp_path / "shuffler-data"), "--json")  # fmt: skip
    url = announced(mixer)["survey"]
    try:
        device = Respondent(tmp_path / "me.sqlite", budget=5)
        assert "should the shuffler tell" in str(device.review(asked))
        sent = [device.answer(asked, {"smokes": "yes", "ward": 7}), *(sealed(asked) for _ in range(9))]
        paths["lines"].write_text("".join(f"{envelope.to_line(one)}\n" for one in sent))
        assert main(["send", str(paths["lines"]), url, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["accepted"] == 10
        assert main(["send", str(paths["lines"]), url, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["duplicates"] == 10
        with pytest.raises(transport.Rejected, match="shuffled"):
            transport.send(f"{base}/v1/surveys/habits", submission(asked))
        results = wait_for_results(f"{base}/v1/surveys/habits/estimates")
        assert [one["n"] for one in results] == [10, 10]
    finally:
        for process in (mixer, collector):
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
    assert (mixer.returncode, collector.returncode) == (0, 0)


def wait_for_results(url: str) -> Any:
    for _ in range(200):
        found = json.loads(transport.fetch(url))["results"]
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("nothing came")
