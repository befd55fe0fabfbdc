"""What a device's file tells: nothing from which an answer can be tested, and to nobody but its owner."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from stores import memory_in

from sottovoce.core import sqlite_file
from sottovoce.core.errors import ParameterError, Refusal, StoreError
from sottovoce.core.sealing import PrivateKey
from sottovoce.device import ledger
from sottovoce.device.ledger import Ledger
from sottovoce.device.personal_key import PersonalKey
from sottovoce.device.respondent import Respondent
from sottovoce.survey import Survey

TOWNS = ["Ulaanbaatar", "Antananarivo", "Ouagadougou"]
HOME = {"id": "home", "text": "Where?", "kind": "choice", "values": TOWNS, "epsilon": 1, "mechanism": "krr"}


def survey(**fields: Any) -> Survey:
    document = {"sottovoce": 1, "id": "homes", "title": "Homes", "budget": 100, "questions": [HOME]}
    return Survey.from_dict(document | fields).publish()


# Modes.


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_a_store_and_its_side_files_are_for_the_owner_alone(tmp_path: Path, journal: str) -> None:
    """With no umask at all, while a transaction is open: the database, its journal, its log and its index."""
    with umask(0):
        me = Respondent(tmp_path / "me.sqlite")
        with sqlite3.connect(tmp_path / "me.sqlite") as file:
            file.execute(f"PRAGMA journal_mode = {journal}")
        file.close()
        with me.ledger.transaction() as entries:
            entries.pin("homes", "sha256:0")
            seen = {path.name: mode(path) for path in tmp_path.iterdir()}
    assert len(seen) == (2 if journal == "DELETE" else 3)
    assert set(seen.values()) == {0o600}


@pytest.mark.parametrize("present", [False, True])
def test_a_store_behind_a_symbolic_link_is_for_the_owner_alone(tmp_path: Path, present: bool) -> None:
    """SQLite follows a link to a file that is not there yet, and would make it with the mode that the umask leaves."""
    place, link = tmp_path / "place.sqlite", tmp_path / "me.sqlite"
    link.symlink_to(place)
    with umask(0o022):
        if present:
            place.touch()
        Respondent(link)
    assert mode(place) == 0o600


def test_a_store_of_an_older_version_is_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "me.sqlite"
    Ledger(path)
    path.chmod(0o644)
    Ledger(path)
    assert mode(path) == 0o600


def test_a_key_that_others_may_read_is_closed_to_them(tmp_path: Path) -> None:
    """Key files of curators, analysts and shufflers are of this kind, made by hand or by an older program."""
    with umask(0):
        made = PrivateKey.at(tmp_path / "key")
    assert mode(tmp_path / "key") == 0o600
    (tmp_path / "key").chmod(0o644)
    assert PrivateKey.at(tmp_path / "key") == made and mode(tmp_path / "key") == 0o600


def test_what_is_deleted_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever SQLite was built with: some systems have the setting on, SQLite itself has it off."""
    connect = sqlite3.connect

    def as_built(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr(sqlite3, "connect", as_built)
    with Ledger(tmp_path / "me.sqlite").transaction() as entries:
        assert entries.connection.execute("PRAGMA secure_delete").fetchone() == (1,)
        assert entries.connection.execute("PRAGMA synchronous").fetchone() == (3,)


# Testing answers against the bytes of a store.


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def values(path: Path) -> list[bytes]:
    """Every value in every table: what may be a secret, a salt or a digest."""
    with sqlite3.connect(path) as file:
        tables = [row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        cells = [cell for table in tables for row in file.execute(f"SELECT * FROM {table}") for cell in row]  # noqa: S608
    file.close()
    return [cell if isinstance(cell, bytes) else str(cell).encode() for cell in cells if cell is not None]


def spellings(answer: str) -> list[bytes]:
    """Ways in which a program may have written an answer, or its number, before it hashed it."""
    code = TOWNS.index(answer)
    plain = [answer, str(code), [["home", answer]], {"home": answer}, [[["home", answer]], []], [["home", code]]]
    forms = [json.dumps(one, separators=form) for one in plain for form in ((", ", ": "), (",", ":"))]
    return [text.encode() for text in {*forms, answer, f"home={answer}", str(code)}]


def tells(folder: Path, path: Path, answer: str) -> bool:
    """Whether some digest of the answer, with any value of the store as its key, stands in the store's bytes."""
    content, secrets = everything(folder), [b"", *values(path)]
    for text in spellings(answer):
        for secret in secrets:
            for made in (hmac.digest(secret, text, "sha256"), hashlib.sha256(secret + text).digest()):
                if made in content or made[:16] in content or made.hex().encode() in content:
                    return True
    return answer.encode() in content


@pytest.mark.parametrize("sent", [False, True], ids=["after a preview", "after sending"])
def test_no_answer_can_be_tested_against_the_store(tmp_path: Path, sent: bool) -> None:
    path, asked = tmp_path / "me.sqlite", survey()
    me = Respondent(path)
    for town in TOWNS:
        me.preview(asked, {"home": town})
    if sent:
        me.answer(asked, {"home": TOWNS[1]})
    assert [town for town in TOWNS if tells(tmp_path, path, town)] == []


@pytest.mark.parametrize("sent", [False, True], ids=["after a preview", "after sending"])
def test_a_store_depends_on_the_report_alone(tmp_path: Path, sent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices with different answers and the same report have the same bytes, to the last."""
    monkeypatch.setattr(ledger, "_now", lambda: "2030-01-01T00:00:00+00:00")
    monkeypatch.setattr("secrets.token_hex", lambda count: "0" * 2 * count)
    asked, stores = survey(), {}
    for number in range(200):
        path, town = tmp_path / f"{number}.sqlite", TOWNS[number % 3]
        me = Respondent(path)
        shown = (me.answer if sent else me.preview)(asked, {"home": town})
        if json.loads(shown)["reports"]["home"] == 0:
            stores[town] = path.read_bytes()
        if len(stores) == 3:
            break
    assert len(stores) == 3 and len(set(stores.values())) == 1


# Stores of version 1.

VERSION_1 = """
CREATE TABLE owner (budget REAL NOT NULL, delta REAL NOT NULL, unit REAL, secret BLOB NOT NULL);
CREATE TABLE pins (survey TEXT PRIMARY KEY, digest TEXT NOT NULL);
CREATE TABLE charges (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, survey TEXT NOT NULL, digest TEXT NOT NULL, wave INTEGER NOT NULL,
    question TEXT NOT NULL, epsilon REAL NOT NULL
);
CREATE TABLE memories (
    digest TEXT NOT NULL, question TEXT NOT NULL, memory TEXT NOT NULL, PRIMARY KEY (digest, question)
);
CREATE TABLE drafts (
    digest TEXT NOT NULL, wave INTEGER NOT NULL, answers BLOB NOT NULL, body BLOB NOT NULL, costs TEXT NOT NULL,
    memories TEXT NOT NULL, PRIMARY KEY (digest, wave, answers)
);
CREATE TABLE reports (
    digest TEXT NOT NULL, wave INTEGER NOT NULL, body BLOB NOT NULL, at TEXT NOT NULL, PRIMARY KEY (digest, wave)
);
PRAGMA application_id = 0x736F7474;
PRAGMA user_version = 1;
PRAGMA secure_delete = OFF;
"""
SECRET, FINGERPRINT, DELETED = b"S" * 32, b"F" * 32, b"D" * 32


def version_1(path: Path, digest: str) -> None:
    """A store as version 1 left it: a secret, a draft, and the traces of a draft that was deleted."""
    with sqlite3.connect(path) as file:
        file.executescript(VERSION_1)
        file.execute("INSERT INTO owner VALUES (3.0, 0.0, NULL, ?)", (SECRET,))
        file.execute("INSERT INTO pins VALUES ('homes', ?)", (digest,))
        file.execute("INSERT INTO charges VALUES (1, '2029-01-01', 'homes', ?, 0, 'home', 1.0)", (digest,))
        file.execute("INSERT INTO memories VALUES (?, 'mood', '{\"answers\": {}}')", (digest,))
        file.execute("INSERT INTO reports VALUES (?, 0, ?, '2029-01-01')", (digest, b"the report"))
        for mark in (FINGERPRINT, DELETED):
            file.execute("INSERT INTO drafts VALUES (?, 1, ?, ?, '{}', '{}')", (digest, mark, b"x" * 3000))
        file.commit()
        file.execute("DELETE FROM drafts WHERE answers = ?", (DELETED,))
    file.close()
    assert all(mark in path.read_bytes() for mark in (SECRET, FINGERPRINT, DELETED))


def test_a_store_of_version_1_loses_its_secret_and_nothing_else(tmp_path: Path) -> None:
    path, asked = tmp_path / "me.sqlite", survey(schedule={"waves": 2})
    version_1(path, asked.digest)
    me = Respondent(path)
    content = everything(tmp_path)
    assert [mark for mark in (SECRET, FINGERPRINT, DELETED) if mark in content] == []
    assert (me.ledger.budget, me.ledger.spent, len(me.ledger.charges())) == (3.0, 1.0, 1)
    assert me.answer(asked, {"home": TOWNS[0]}) == b"the report"
    with me.ledger.transaction() as entries:
        assert entries.memory(asked.digest, "mood") == {"answers": {}}
    me.answer(asked, {"home": TOWNS[0]}, wave=1)
    assert me.ledger.spent == Respondent(path).ledger.spent == pytest.approx(2.0)


def cut_power(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_move_to_the_new_version_that_is_cut_short_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The power fails after the tables were changed and before the file was written anew."""
    path, asked = tmp_path / "me.sqlite", survey(schedule={"waves": 2})
    version_1(path, asked.digest)
    monkeypatch.setattr(sqlite_file, "_rewrite", cut_power)
    with pytest.raises(KeyboardInterrupt):
        Ledger(path)
    monkeypatch.undo()
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (2,)
    file.close()
    assert Ledger(path).spent == 1.0
    content = everything(tmp_path)
    assert [mark for mark in (SECRET, FINGERPRINT, DELETED) if mark in content] == []


@pytest.mark.parametrize("cut_short", [False, True])
def test_a_store_of_version_3_learns_the_key_of_a_survey(tmp_path: Path, cut_short: bool) -> None:
    """Also one in which an earlier program had added the column, and was cut short before it noted the version."""
    path, asked, key = tmp_path / "me.sqlite", survey(schedule={"waves": 3}), PersonalKey(bytes(range(32)))
    first = Respondent(path).answer(asked, {"home": TOWNS[1]})
    with sqlite3.connect(path) as file:
        if not cut_short:
            file.execute("ALTER TABLE pins DROP COLUMN key")
        file.execute("DROP TABLE curator_steps")
        file.execute("PRAGMA user_version = 3")
    file.close()
    assert Respondent(path, key=key).answer(asked, {"home": TOWNS[1]}) == first
    Respondent(path, key=key).answer(asked, {"home": TOWNS[1]}, 1)
    with pytest.raises(Refusal, match="the same personal key"):
        Respondent(path).answer(asked, {"home": TOWNS[1]}, 2)


# Memories of permanent answers.

PANEL = {"questions": [HOME | {"memoize": True}], "schedule": {"waves": 9}}
KEY = PersonalKey(bytes(range(32)))
WAYS: dict[str, dict[str, Any]] = {"personal key": {"key": KEY}, "passphrase": {"passphrase": "corect hörse"}}


class FakeKeyring(ModuleType):
    """The library `keyring` with a keyring in memory."""

    def __init__(self, priority: float = 5) -> None:
        super().__init__("keyring")
        self.priority, self.kept = priority, dict[tuple[str, str], str]()
        self.errors = SimpleNamespace(KeyringError=type("KeyringError", (Exception,), {}))

    def get_keyring(self) -> FakeKeyring:
        return self

    def set_password(self, service: str, name: str, text: str) -> None:
        self.kept[service, name] = text

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))


def install(monkeypatch: pytest.MonkeyPatch, keyring: FakeKeyring) -> None:
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", keyring.errors)


def names(me: Respondent, asked: Survey) -> list[str]:
    return list(memory_in(me.ledger, asked, "home")["answers"])


@pytest.mark.parametrize("sent", [False, True], ids=["after a preview", "after sending"])
@pytest.mark.parametrize("way", [*WAYS, "keyring"])
def test_the_values_held_cannot_be_found_in_the_store(
    tmp_path: Path, sent: bool, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every possible answer against every byte string in the file; without a secret, the file tells which it was."""
    install(monkeypatch, FakeKeyring())
    path, asked = tmp_path / "me.sqlite", survey(**PANEL)
    me = Respondent(path, budget=100, **WAYS.get(way, {}))
    for wave, town in enumerate((TOWNS[1], TOWNS[2], TOWNS[1])):
        (me.answer if sent else me.preview)(asked, {"home": town}, wave)
    assert [town for town in TOWNS if tells(tmp_path, path, town)] == []
    assert len(names(me, asked)) == 2 and all(re.fullmatch("[0-9a-f]{64}", name) for name in names(me, asked))
    if sent:
        assert len(me.ledger.charges()) == 2  # A value that comes back is recognised.
    open_store = Respondent(tmp_path / "open.sqlite", keyring=False)
    open_store.answer(asked, {"home": TOWNS[1]})
    assert names(open_store, asked) == ["1"]


@pytest.mark.parametrize("way", WAYS)
def test_another_secret_or_none_is_refused_before_anything_is_drawn(tmp_path: Path, way: str) -> None:
    path, first, asked = tmp_path / "me.sqlite", survey(**PANEL), survey(id="others", **PANEL)
    Respondent(path, budget=100, **WAYS[way]).answer(first, {"home": TOWNS[1]})
    with pytest.raises(
        StoreError, match=f"me.sqlite: home: the values in the store are hidden by a {way}, which is missing"
    ):
        Respondent(path).answer(asked, {"home": TOWNS[1]}, wave=1)
    wrong: dict[str, Any] = {"key": PersonalKey.generate(), "passphrase": "correct horse"}
    with pytest.raises(StoreError, match=f"me.sqlite: home: the values in the store are hidden by another {way}"):
        Respondent(path, **wrong).preview(asked, {"home": TOWNS[1]}, wave=1)
    right = Respondent(path, **WAYS[way])
    assert right.drawn(asked, wave=1) is None and right.answer(asked, {"home": TOWNS[1]}, wave=1)
    assert len(right.ledger.charges()) == 2


def test_a_store_that_was_open_is_hidden_when_a_secret_is_there(tmp_path: Path) -> None:
    """The permanent answers stay, and nothing is left of the names under which they stood."""
    path, asked = tmp_path / "me.sqlite", survey(**PANEL)
    me = Respondent(path, budget=100)
    for wave in range(2):
        me.answer(asked, {"home": TOWNS[wave]}, wave)
    before = memory_in(me.ledger, asked, "home")["answers"]
    me = Respondent(path, key=KEY)
    for wave in range(2, 4):
        me.answer(asked, {"home": TOWNS[wave - 2]}, wave)
    after = memory_in(me.ledger, asked, "home")["answers"]
    hide = KEY.for_survey(asked.digest).hide("home")
    assert after == {hide(name): answer for name, answer in before.items()} and len(me.ledger.charges()) == 2
    assert [town for town in TOWNS if tells(tmp_path, path, town)] == []


def test_the_last_value_that_was_paid_for_is_hidden_too(tmp_path: Path) -> None:
    """With a bound on changes a device goes on with the last answer it drew, before and after the store is hidden."""
    bounded = HOME | {"memoize": True, "changes": 1}
    path, asked = tmp_path / "me.sqlite", survey(questions=[bounded], schedule={"waves": 9})
    me = Respondent(path, budget=100, keyring=False)
    for wave in range(2):
        me.answer(asked, {"home": TOWNS[wave]}, wave)
    me = Respondent(path, key=KEY)
    for wave in range(2, 5):
        me.answer(asked, {"home": TOWNS[wave % 3]}, wave)
    memory = memory_in(me.ledger, asked, "home")
    hide = KEY.for_survey(asked.digest).hide("home")
    assert memory["last"] == hide("1") and set(memory["answers"]) == {hide("0"), hide("1")}
    assert len(me.ledger.charges()) == 2


def test_a_keyring_that_keeps_nothing_or_fails_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = survey(**PANEL)
    locked = FakeKeyring()

    def fail(*_: Any) -> None:
        raise locked.errors.KeyringError("locked")

    monkeypatch.setattr(locked, "set_password", fail, raising=False)
    for number, keyring in enumerate((FakeKeyring(priority=0), locked)):
        install(monkeypatch, keyring)
        me = Respondent(tmp_path / f"{number}.sqlite")
        me.answer(asked, {"home": TOWNS[1]})
        assert names(me, asked) == ["1"]


def test_a_keyring_that_forgot_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring, asked = FakeKeyring(), survey(**PANEL)
    install(monkeypatch, keyring)
    Respondent(tmp_path / "me.sqlite").answer(asked, {"home": TOWNS[1]})
    assert len(keyring.kept) == 1
    keyring.kept.clear()
    with pytest.raises(StoreError, match="hidden by a keyring, which is missing"):
        Respondent(tmp_path / "me.sqlite").answer(asked, {"home": TOWNS[1]}, wave=1)


@pytest.mark.parametrize("passphrase", ["", 5, b"bytes"])
def test_passphrases_that_are_none(tmp_path: Path, passphrase: Any) -> None:
    with pytest.raises(ParameterError, match="a passphrase must be text and not empty"):
        Respondent(tmp_path / "me.sqlite", passphrase=passphrase)
