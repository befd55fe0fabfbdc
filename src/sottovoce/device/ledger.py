"""What a person has spent, on what and when: a durable file on their own device, which nobody else may read.

Everything that one answer changes (the charge, the report, what a mechanism remembers) is written in one transaction,
and a report is handed out only after it: a crash loses an answer, never a charge. Several processes may share a file.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike, fspath
from os.path import exists
from typing import TYPE_CHECKING, NamedTuple

from sottovoce.core.errors import ParameterError, Refusal, StoreError
from sottovoce.core.privacy import check_epsilon, to_float
from sottovoce.core.sqlite_file import SQLiteFile
from sottovoce.device import ledger_schema
from sottovoce.device.accounting import check_delta, spent

if TYPE_CHECKING:
    from sottovoce.mechanisms.longitudinal.base import Memory

DEFAULT_BUDGET = 10.0
SETTINGS = ("synchronous = EXTRA", "secure_delete = ON")
"""EXTRA: if a power cut undid the deletion of the journal, SQLite would take back what was charged."""


class Owner(NamedTuple):
    """What the owner of a ledger set."""

    budget: float
    delta: float
    unit: float | None


@dataclass(frozen=True)
class Charge:
    """One entry: what one question of one wave cost."""

    at: str
    survey: str
    wave: int
    question: str
    epsilon: float


class Ledger:
    """The ledger in a file. The budget is set when the file is made; only `set_budget` changes it.

    Unless `create` is false, a file that is missing or empty becomes a new store.

    With a delta, the total is bounded by advanced composition; with a unit as well, every answer counts as one of that
    epsilon, and more of them fit (see `sottovoce.device.accounting`).

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(folder.name + "/ledger.sqlite", budget=2.0)
    >>> ledger.budget, ledger.spent, ledger.left
    (2.0, 0.0, 2.0)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | PathLike[str],
        budget: float | None = None,
        delta: float | None = None,
        unit: float | None = None,
        create: bool = True,
    ) -> None:
        self.path = _file(path)
        if not create and not exists(self.path):
            raise StoreError(f"{self.path}: no such store")
        self._file = SQLiteFile(self.path, ledger_schema.APPLICATION_ID, ledger_schema.VERSION, SETTINGS)
        wanted = {"budget": budget, "delta": delta, "unit": unit}
        with self._connection() as connection:
            self._file.upgrade(connection, ledger_schema.UPGRADES)
            with self._file.transaction(connection):
                is_new = not self._file.version_of(connection)
                if is_new and not create:
                    raise StoreError("the file is empty: there is no store in it")
                given = {name: value for name, value in wanted.items() if value is not None}
                if is_new:
                    Entries(connection).make(given)
                    self._file.set_version(connection, ledger_schema.VERSION)
                else:
                    Entries(connection).check(given)

    @property
    def budget(self) -> float:
        return self._owner.budget

    @property
    def delta(self) -> float:
        return self._owner.delta

    @property
    def spent(self) -> float:
        """What all charges come to, at the ledger's delta."""
        with self.transaction() as entries:
            return entries.spent()

    @property
    def left(self) -> float:
        """What is left of the budget."""
        with self.transaction() as entries:
            return entries.left()

    def charges(self) -> list[Charge]:
        """Every entry, in the order of time."""
        with self.transaction() as entries:
            return entries.charges()

    def set_budget(self, budget: float) -> None:
        """The owner's decision, never a survey's. What is spent stays spent."""
        checked = _budget(budget)
        with self.transaction() as entries:
            entries.connection.execute("UPDATE owner SET budget = ?", (checked,))

    @property
    def _owner(self) -> Owner:
        with self.transaction() as entries:
            return entries.owner

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with _one_line(self._file), closing(self._file.connect()) as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[Entries]:
        """All or nothing: what is written inside lasts once the block ends, and never happened if it fails."""
        with self._connection() as connection, self._file.transaction(connection):
            yield Entries(connection)

    def __repr__(self) -> str:
        return f"<Ledger {self.path}: {self.spent:.6g} spent of {self.budget:.6g}>"


class Entries:
    """A ledger inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def make(self, wanted: Mapping[str, float]) -> None:
        """Make the tables of a new file, with the settings that its owner wants."""
        budget, delta = _budget(wanted.get("budget", DEFAULT_BUDGET)), wanted.get("delta", 0.0)
        unit = wanted.get("unit")
        if unit is not None and not delta:
            raise ParameterError(f"a unit needs a delta, got unit = {unit!r} without one")
        ledger_schema.make(self.connection)
        row = (budget, check_delta(delta), unit if unit is None else check_epsilon(unit))
        self.connection.execute("INSERT INTO owner VALUES (?, ?, ?)", row)

    def check(self, wanted: Mapping[str, float]) -> None:
        """Refuse settings other than those with which the file was made."""
        owner = self.owner._asdict()
        for name, value in wanted.items():
            if value != owner[name]:
                raise ParameterError(f"the store's {name} is {owner[name]}, got {value!r:.40} (see Ledger.set_budget)")

    @property
    def owner(self) -> Owner:
        row = self.connection.execute("SELECT budget, delta, unit FROM owner").fetchone()
        if row is None or [*map(type, row[:2])] != [float, float]:
            raise StoreError("the store is damaged: it does not say whose it is")
        return Owner(*row)

    # Charges.

    def charges(self) -> list[Charge]:
        rows = self.connection.execute("SELECT at, survey, wave, question, epsilon FROM charges ORDER BY number")
        return [Charge(*row) for row in rows]

    def spent(self, more: Sequence[float] = ()) -> float:
        """What all charges come to, with some more."""
        owner = self.owner
        costs = [row[0] for row in self.connection.execute("SELECT epsilon FROM charges")]
        if not all(isinstance(cost, float) and 0 < cost < math.inf for cost in costs):
            raise StoreError("the store is damaged: a charge must be a positive number")
        return spent([*costs, *more], owner.delta, owner.unit)

    def left(self) -> float:
        return max(0.0, self.owner.budget - self.spent())

    def refuse_beyond_budget(self, costs: Mapping[str, float], owed: Sequence[float] = ()) -> None:
        """Refuse what the questions cost, with what is owed besides, if the budget is too small for it."""
        budget, _, unit = self.owner
        after = self.spent([*costs.values(), *owed])
        for question, cost in costs.items():
            if unit is not None and cost > unit:
                raise Refusal(f"{question} costs epsilon = {cost:.6g}, more than the ledger's unit of {unit:.6g}")
        if after > budget:
            raise Refusal(
                f"the answers would bring the total to epsilon = {after:.6g}, over the budget of {budget:.6g}"
            )

    def charge(self, survey: str, digest: str, wave: int, costs: Mapping[str, float]) -> None:
        """Enter what each question costs; what costs nothing more is no entry."""
        self.refuse_beyond_budget(costs)
        self.connection.executemany(
            "INSERT INTO charges (at, survey, digest, wave, question, epsilon) VALUES (?, ?, ?, ?, ?, ?)",
            [(_now(), survey, digest, wave, question, cost) for question, cost in costs.items() if cost],
        )

    # What else is remembered.

    def refuse_changed(self, survey: str, digest: str) -> None:
        pinned = self.connection.execute("SELECT digest FROM pins WHERE survey = ?", (survey,)).fetchone()
        if pinned is not None and pinned[0] != digest:
            raise Refusal(f"survey {survey} has changed: its digest is {digest}, and {pinned[0]} was pinned")

    def pin(self, survey: str, digest: str) -> None:
        """The first digest seen of a survey is the only one ever accepted."""
        self.refuse_changed(survey, digest)
        self.connection.execute("INSERT OR IGNORE INTO pins (survey, digest) VALUES (?, ?)", (survey, digest))

    def bind_key(self, survey: str, key: str | None) -> None:
        """Go on with the personal key by which a survey was begun: another would draw again what others have seen."""
        (begun,) = self.connection.execute("SELECT key FROM pins WHERE survey = ?", (survey,)).fetchone()
        if begun is not None and begun != key:
            given = "another" if key else "none"
            raise Refusal(f"survey {survey} must have the same personal key as before, got {given}")
        self.connection.execute("UPDATE pins SET key = ? WHERE survey = ?", (key, survey))

    def memory(self, digest: str, question: str) -> Memory | None:
        """What the mechanism of a question remembers; None before its first wave."""
        row = self.connection.execute(
            "SELECT memory FROM memories WHERE digest = ? AND question = ?", (digest, question)
        ).fetchone()
        memory: Memory | None = row and json.loads(row[0])
        return memory

    def remember(self, digest: str, memories: Mapping[str, Memory]) -> None:
        rows = [(digest, question, json.dumps(memory)) for question, memory in memories.items()]
        self.connection.executemany("INSERT OR REPLACE INTO memories VALUES (?, ?, ?)", rows)

    def report(self, digest: str, wave: int) -> bytes | None:
        """The report that was given in this wave."""
        row = self.connection.execute(
            "SELECT body FROM reports WHERE digest = ? AND wave = ?", (digest, wave)
        ).fetchone()
        return row and bytes(row[0])

    def keep_report(self, digest: str, wave: int, body: bytes) -> None:
        """Keep what is released."""
        self.connection.execute("INSERT INTO reports VALUES (?, ?, ?, ?)", (digest, wave, body, _now()))

    def replace_report(self, digest: str, wave: int, body: bytes) -> None:
        """Keep a released report in another form."""
        self.connection.execute("UPDATE reports SET body = ? WHERE digest = ? AND wave = ?", (body, digest, wave))


@contextmanager
def _one_line(file: SQLiteFile) -> Iterator[None]:
    """Turn what goes wrong with the store into one error that names the file."""
    try:
        yield
    except StoreError as error:
        named = str(error).startswith(f"{file.path}: ")
        raise error if named else type(error)(f"{file.path}: {error}") from None
    except sqlite3.Error as error:
        raise file.meaning(error) or error from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise StoreError(f"{file.path}: the store is damaged: it cannot be read") from None


def _file(path: object) -> str:
    """The path of a file. Some names mean to SQLite a database in memory, which is gone when it is closed."""
    name = fspath(path) if isinstance(path, str | PathLike) else None
    if not isinstance(name, str) or not name or name == ":memory:" or "\0" in name:
        raise ParameterError(f"a store must be the path of a file, got {path!r:.60}")
    return name


def _budget(budget: object) -> float:
    number = to_float(budget) if isinstance(budget, int | float) and not isinstance(budget, bool) else math.nan
    if not 0 < number < math.inf:
        raise ParameterError(f"a budget must be a positive number, got {budget!r:.40}")
    return number


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
