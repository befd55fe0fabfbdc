"""The power is cut at every sync: what was acknowledged is still there, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import collector_service
import pytest
import shuffler_service
from power_loss import MIXTURES, Cut, Machine, machine
from power_work import BATCHES, BUDGET, KRR, asked

from sottovoce.collector import Store, open_store
from sottovoce.core.errors import SottovoceError
from sottovoce.core.sealing import PrivateKey
from sottovoce.data import spark
from sottovoce.device.ledger import Ledger
from sottovoce.device.respondent import Respondent
from sottovoce.shuffler import open_store as open_shuffler

Check = Callable[[Path, Cut], None]


@pytest.fixture(scope="module")
def power(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine(tmp_path_factory.mktemp("power")) as made:
        yield made


def check_device(left: Path, cut: Cut) -> None:
    """Every report that was handed out is kept and charged for, once."""
    me = Respondent(left / "me.sqlite", BUDGET)
    for wave, body in cut.acks:
        assert me.answer(asked(), {"mood": "no"}, int(wave)).hex() == body
    charges = Counter(charge.wave for charge in me.ledger.charges())
    assert all(charges[int(wave)] == 1 for wave, _ in cut.acks)
    assert set(charges.values()) <= {1}


def check_collector(left: Path, cut: Cut) -> None:
    """Every report that was acknowledged is stored once, and the counts are those of the stored reports."""
    store = open_store(left / "data")
    try:
        if cut.acks:
            found = Counter(shuffler_service.identities(store))
            assert all(found[name] == 1 for _, name in cut.acks)
            assert collector_service.check_sums(store) == found.total() == len(found)
    finally:
        store.close()


def check_shuffler(left: Path, cut: Cut) -> None:
    """Every envelope that was acknowledged waits or is in a batch, once."""
    store = open_shuffler(left / "data", shuffler_service.survey(), extra=0)
    try:
        found = Counter(inner for name in store.batches() for inner in store.batch(name).reports)
        with store._transaction():
            found.update(store._slots.read(0).values())
        assert all(found[bytes.fromhex(inner)] == 1 for _, inner in cut.acks)
        assert found.total() == len(found)
    finally:
        store.close()


def check_running(left: Path, cut: Cut) -> None:
    """Every batch that was added stays added; after all are repeated each is counted once."""
    total = spark.Running(left / "tally.json", {"answer": KRR})
    assert total.read()["answer"].n >= sum(len(BATCHES[int(number)]) for _, number in cut.acks)
    for number, reports in enumerate(BATCHES):
        total.add({"answer": KRR.tally().add_many(reports)}, number)  # type: ignore[arg-type]
    assert total.read()["answer"] == KRR.tally().add_many([report for reports in BATCHES for report in reports])


def check_key(left: Path, cut: Cut) -> None:
    """A key that was used is still the same, and there is never half a key."""
    key = PrivateKey.at(left / "key").to_text()
    assert [key for _ in cut.acks] == [text for _, text in cut.acks]


def check_sealed(left: Path, cut: Cut) -> None:
    """What may have been sent is sent again as it was: sealed anew, it would count twice."""
    me = Respondent(left / "me.sqlite", BUDGET)
    for wave, body in cut.acks:
        assert me.answer(shuffler_service.survey(), {"smokes": "no", "ward": 8}, int(wave)).hex() == body


def check_published(left: Path, cut: Cut) -> None:
    """The last file that was written, or the next one, whole."""
    written = (left / "page.html").read_text() if (left / "page.html").exists() else None
    assert written in (None, "first", "second")[len(cut.acks) :]


CHECKS: dict[str, Check] = {
    "device": check_device, "collector": check_collector, "shuffler": check_shuffler, "running": check_running,
    "key": check_key, "sealed": check_sealed, "published": check_published,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _counted_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame of Spark is, here, the tallies that it would give."""
    monkeypatch.setattr(spark, "tallies", lambda frame, questions: {(): frame})


def check_every_cut(power: Machine, folder: Path, work: str, unsynced: bool = False) -> None:
    acks = 0
    for cut in power.cuts(folder, work, unsynced):
        for mixture in MIXTURES:
            CHECKS[work](cut.left(mixture), cut)
        acks = len(cut.acks)
    assert acks


@pytest.mark.parametrize("work", CHECKS)
def test_what_was_acknowledged_outlives_a_power_cut(power: Machine, tmp_path: Path, work: str) -> None:
    check_every_cut(power, tmp_path, work)


@pytest.mark.parametrize("work", ["device", "collector", "shuffler"])
def test_a_store_that_does_not_sync_is_found_out(power: Machine, tmp_path: Path, work: str) -> None:
    """With `synchronous` off, what was acknowledged is gone or damaged: this is how a test like the above fails."""
    with pytest.raises((AssertionError, SottovoceError)):
        check_every_cut(power, tmp_path, work, unsynced=True)


def test_the_machine_forgets_what_was_not_synced(power: Machine, tmp_path: Path) -> None:
    cut = power.run(tmp_path, "careless", cut=0)
    assert cut.survived
    assert {path.name: path.read_text() for path in cut.left(None).iterdir()} == {"unsynced": ""}
    some = [{path.name: path.read_text() for path in cut.left(seed).iterdir()} for seed in range(20)]
    assert {"unsynced": "text", "unnamed": "text"} in some and {"unsynced": ""} in some


@pytest.mark.slow
def test_folders_and_new_files_last(power: Machine, tmp_path: Path) -> None:
    for cut in power.cuts(tmp_path, "careful"):
        file = cut.left(None) / "a" / "b" / "file"
        assert file.read_bytes() == b"text" if cut.acks else not file.exists() or file.read_bytes() == b"text"


# The settings of the live connections.

FULL, EXTRA = 2, 3


def test_the_ledger_syncs_its_folder_too(tmp_path: Path) -> None:
    """EXTRA: a journal whose deletion is forgotten would take back what was charged."""
    with Ledger(tmp_path / "me.sqlite").transaction() as entries:
        assert entries.connection.execute("PRAGMA synchronous").fetchone() == (EXTRA,)
        assert entries.connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_the_collector_waits_for_the_disk(store: Store) -> None:
    """Both connections of both stores: the one that writes, and the one that reads."""
    question = "SHOW synchronous_commit" if hasattr(store.database.dialect, "url") else "PRAGMA synchronous"
    answer = "on" if hasattr(store.database.dialect, "url") else FULL
    with store.database.transaction() as connection:
        assert connection.execute(question).fetchone() == (answer,)
    assert [tuple(row) for row in store.database.read(question)] == [(answer,)]


def test_the_shuffler_waits_for_the_disk(tmp_path: Path) -> None:
    with shuffler_service.shuffler_store(tmp_path, shuffler_service.survey())._transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (FULL,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("truncate",)
