"""Devices, shuffler and collector, each killed at random: nothing lost, nothing twice, no batch below the minimum."""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlite_crash
from collector_service import Inside, check_sums, open_place, postgres, request
from service_processes import HOST, FaultyProxy, wait_until
from shuffler_service import (
    ANALYST,
    SHUFFLER,
    Nursery,
    batch_headers,
    collector_store,
    identities,
    letter,
    noise,
    shuffler_store,
    survey,
)

from sottovoce.collector.sqlite import sqlite_store
from sottovoce.device import envelope, transport, wire
from sottovoce.device.envelope import ShuffledBatch
from sottovoce.shuffler import ShufflerStore
from sottovoce.survey import Survey

MINIMUM = 12


# Kills under load.


class Recorder(FaultyProxy):
    """Keeps what passes it."""

    def __init__(self, seed: int) -> None:
        self.requests: list[bytes] = []
        super().__init__(seed)

    def _serve(self, client: socket.socket, fate: str) -> None:
        super()._serve(Tapped(client, self.requests), fate)  # type: ignore[arg-type]

    @property
    def bodies(self) -> list[bytes]:
        """Those of all requests that came whole: a sender may have been killed in the midst of one."""
        parts = [request.partition(b"\r\n\r\n") for request in self.requests if request.startswith(b"POST")]
        return [body for head, _, body in parts if f"content-length: {len(body)}\r\n" in head.decode().lower() + "\r\n"]


class Tapped:
    """A socket of which all that comes is kept."""

    def __init__(self, client: socket.socket, requests: list[bytes]) -> None:
        self.client, self.requests, self.at = client, requests, len(requests)
        requests.append(b"")

    def recv(self, size: int) -> bytes:
        part = self.client.recv(size)
        self.requests[self.at] += part
        return part

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def __enter__(self) -> Tapped:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()


class World:
    """Devices, a shuffler and a collector, each behind a proxy that loses requests and answers."""

    def __init__(self, folder: Path, devices: int, seed: int) -> None:
        self.folder, self.moment, self.nest = folder, random.Random(seed), Nursery()
        self.front, self.back = Recorder(seed), Recorder(seed + 1)
        collector_store(folder, survey(MINIMUM)).close()
        self.names = ["collector", "shuffler", *(f"device {number}" for number in range(devices))]
        self.running = {name: self.start(name) for name in self.names}

    def start(self, name: str) -> Any:
        kind, _, number = name.partition(" ")
        proxy = self.back if kind == "shuffler" else self.front
        url = f"http://{HOST}:{proxy.port}/v1/surveys/habits"
        made = self.nest.start(kind=kind, folder=str(self.folder), minimum=MINIMUM, url=url, number=number)
        if kind == "shuffler":
            self.front.target = made.port
        if kind == "collector":
            self.back.target = made.port
        return made

    def kill(self, name: str) -> None:
        self.running[name].kill()
        wait_until(lambda: not self.running[name].running)
        self.running[name] = self.start(name)

    def close(self) -> None:
        for child in self.running.values():
            if child.running:
                child.kill()
        self.nest.close()
        self.front.close()
        self.back.close()

    def notes(self) -> tuple[dict[str, list[str]], set[str]]:
        """What devices sent, each with the ids in it, and what was acknowledged to them."""
        sent: dict[str, list[str]] = {}
        kept: set[str] = set()
        for path in self.folder.glob("device-*"):
            for line in path.read_text().split("\n")[:-1]:  # The last one may have been cut by a kill.
                word, post, *names = line.split(" ")
                sent |= {post: names} if word == "sent" else {}
                kept |= {post} if word == "kept" else set()
        return sent, kept


def gone(world: World, name: str) -> bool:
    return not world.running[name].running


def ids_inside(asked: Survey, letters: list[tuple[int, bytes]]) -> list[str]:
    opened = [envelope.unseal(asked, ANALYST, wave, inner) for wave, inner in letters]
    return [wire.decode(body, asked).id for body in opened]


def kept_by_shuffler(folder: Path, asked: Survey) -> tuple[list[str], list[str]]:
    """The ids of the reports that wait, and of those in batches that are on their way."""
    store = shuffler_store(folder, asked)
    slots = store._slots
    waiting = [(wave, inner) for wave in slots.taken for inner in slots.read(wave).values()]
    batches = [store.batch(name) for name in store.batches()]
    assert all(len(batch.reports) >= MINIMUM for batch in batches)
    sent = [(batch.wave, report) for batch in batches for report in batch.reports]
    store.close()
    return ids_inside(asked, waiting), ids_inside(asked, sent)


def run_with_kills(folder: Path, kills: int, devices: int, seed: int) -> World:
    world = World(folder, devices, seed)
    try:
        for _ in range(kills):
            time.sleep(world.moment.uniform(0.02, 0.4))
            device = world.moment.choice(world.names[2:])
            world.kill(world.moment.choice(["collector", "shuffler", device]))
        time.sleep(0.3)
        for name in world.names[2:]:
            world.running[name].kill()
            wait_until(partial(gone, world, name))
        resend(world)
        wait_until(lambda: not undelivered(world))
    finally:
        world.close()
    return world


def resend(world: World) -> None:
    """What was not acknowledged is sent again, the same bytes, until it is."""
    sent, kept = world.notes()
    for post in set(sent) - kept:
        address = f"http://{HOST}:{world.front.target}/v1/surveys/habits"
        transport.send(address, bytes.fromhex(post), envelope.SEALED, attempts=5)


def undelivered(world: World) -> bool:
    _, text = request(f"http://{HOST}:{world.front.target}/metrics", None)
    return b"sottovoce_undelivered_batches 0.0\n" not in text


def check(world: World, folder: Path) -> None:
    asked = survey(MINIMUM)
    sent, _ = world.notes()
    every = [name for names in sent.values() for name in names]
    waiting, on_their_way = kept_by_shuffler(folder, asked)
    store = sqlite_store(folder / "collector.sqlite")
    counted = identities(store)
    assert len(counted) == len(set(counted)) == check_sums(store)
    store.close()
    left = [name for name in on_their_way if name not in counted]  # A batch may be there and not be forgotten yet.
    assert sorted(counted + waiting + left) == sorted(every) and len(every) == len(set(every))
    passed = names_in_batches(world.back.bodies, asked)
    assert set(counted) <= passed <= {*counted, *on_their_way} and len(counted) >= 2 * MINIMUM


def names_in_batches(bodies: list[bytes], asked: Survey) -> set[str]:
    """The ids in all batches that passed, each of the minimum at least, and the same bytes each time it passed."""
    passed: dict[bytes, bytes] = {}
    names: list[str] = []
    for body in bodies:
        batch = ShuffledBatch.read(body, asked, ANALYST)
        assert len(batch.reports) >= MINIMUM
        if passed.setdefault(batch.id, body) != body:
            raise AssertionError("a batch changed")
    for body in passed.values():
        batch = ShuffledBatch.read(body, asked, ANALYST)
        names += ids_inside(asked, [(batch.wave, report) for report in batch.reports])
    assert len(names) == len(set(names))
    return set(names)


def test_kills_of_all_three_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    check(run_with_kills(tmp_path, kills=6, devices=1, seed=1), tmp_path)


@pytest.mark.slow
def test_many_kills_of_all_three_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    world = run_with_kills(tmp_path, kills=60, devices=3, seed=3)
    check(world, tmp_path)
    assert len(world.front.fates) == len(world.back.fates) == 4


@pytest.mark.slow
def test_a_batch_is_taken_once_by_postgres() -> None:
    asked = survey(MINIMUM)
    with postgres() as server:
        store = open_place(["--database", server.fresh()])
        store.publish(asked)
        inside = Inside(store, rate=None, keys=[ANALYST])
        letters = [letter(asked) for _ in range(MINIMUM)]
        reports = [inner for _, inner in [*letters, *noise(asked, 1)]]
        body = ShuffledBatch(os.urandom(16), 0, reports).to_bytes(asked, SHUFFLER)
        again = ShuffledBatch(os.urandom(16), 0, reports).to_bytes(asked, SHUFFLER)
        for one in (body, body, again):
            place = "/v1/surveys/habits/batches"
            assert inside("POST", place, one, envelope.SEALED, **batch_headers(asked, one)).status == 200
        assert check_sums(store) == MINIMUM == inside.app.metrics["accepted"]
        inside.close()


# A crash at every statement.


def pass_through(path: Path, asked: Survey, letters: list[tuple[int, bytes]], out: Path) -> bytes:
    """Take envelopes in, make batches, and deliver them to a file, which stands for the collector."""
    store = ShufflerStore(path, asked, extra=0)
    store.add([letters])
    with path.with_suffix(".acknowledged").open("a") as file:
        file.writelines(f"{inner.hex()}\n" for _, inner in letters)
    store.mix()
    for name in store.batches():
        deliver(store, name, out)
    return b""


def deliver(store: ShufflerStore, name: bytes, out: Path) -> None:
    write(name, store.batch(name).reports, out)
    store.delivered(name)


def write(name: bytes, reports: Iterable[bytes], out: Path) -> None:
    with out.open("a") as file:
        file.write(" ".join([name.hex(), *(report.hex() for report in reports)]) + "\n")


def crash_everywhere(folder: Path) -> None:
    """Die before each statement in turn; after each death, look for what was acknowledged, and where."""
    asked, path, out = survey(4), folder / "shuffler.sqlite", folder / "delivered"
    lived = 0
    for steps in range(80):
        letters = noise(asked, 2)
        lived += sqlite_crash.run(steps, partial(pass_through, path, asked, letters, out), folder / "released")
        check_places(path, asked, out)
        if lived == 2:
            return
    raise AssertionError("it never lived")


def check_places(path: Path, asked: Survey, out: Path) -> None:
    """What was acknowledged is in one place, or in a batch that is on its way and delivered already."""
    store = ShufflerStore(path, asked, extra=0)
    waiting = [inner.hex() for wave in store._slots.taken for inner in store._slots.read(wave).values()]
    ready = {name.hex(): [report.hex() for report in store.batch(name).reports] for name in store.batches()}
    store.close()
    lines = [line.split(" ") for line in out.read_text().splitlines()] if out.exists() else []
    batches = ready | {name: reports for name, *reports in lines}
    assert all(ready.get(name, reports) == reports for name, *reports in lines)
    assert all(len(reports) >= 4 for reports in batches.values())
    found = waiting + [report for reports in batches.values() for report in reports]
    acknowledged = path.with_suffix(".acknowledged")
    kept = set(acknowledged.read_text().splitlines()) if acknowledged.exists() else set()
    assert len(found) == len(set(found)) and kept <= set(found)


def test_a_crash_at_any_statement_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    crash_everywhere(tmp_path)


def broken_release(self: Any, wave: int) -> int:
    """The batch in one transaction, the slots in another."""
    tags = list(self._slots.taken[wave])
    with self._transaction() as connection:
        reports = b"".join(self._slots.read(wave).values())
        connection.execute("INSERT INTO batches VALUES (?, ?, ?)", (os.urandom(16), wave, reports))
    with self._transaction():
        self._slots.clear(wave, tags)
    return len(tags)


def broken_delivery(store: ShufflerStore, name: bytes, out: Path) -> None:
    """Forgotten before it is delivered."""
    reports = store.batch(name).reports
    store.delivered(name)
    store.check()
    write(name, reports, out)


def test_the_crash_test_catches_two_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShufflerStore, "_release", broken_release)
    with pytest.raises(AssertionError, match="assert"):
        crash_everywhere(tmp_path)


def test_the_crash_test_catches_what_is_forgotten_too_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "deliver", broken_delivery)
    with pytest.raises(AssertionError, match="assert"):
        crash_everywhere(tmp_path)


# Disks.


def test_a_full_disk_is_said_so_and_passes(tmp_path: Path) -> None:
    from sottovoce.core.errors import StoreFull

    asked = survey(10)
    store = shuffler_store(tmp_path, asked)
    store.add([[letter(asked)]])
    assert store._connection is not None
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    many = noise(asked, 2000)
    with pytest.raises(StoreFull):
        store.add([many])
    assert store.waiting() == {0: 1}
    store.add([many])
    assert store.waiting() == {0: 2001}


def test_one_process_has_the_store_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sottovoce.core.errors import StoreUnavailable

    monkeypatch.setattr("sottovoce.shuffler.store.BUSY_SECONDS", 0.05)
    store = shuffler_store(tmp_path, survey())
    with pytest.raises(StoreUnavailable, match="locked"):
        shuffler_store(tmp_path, survey())
    store.close()
    shuffler_store(tmp_path, survey()).close()
