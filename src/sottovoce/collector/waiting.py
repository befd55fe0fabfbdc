"""Where reports wait that came by invitation, each with its invitation, until they are enough to be mixed.

A report and its invitation must be kept by one transaction: one invitation lets one report in. A transaction of one
report would link the two for whoever reads a log. So both wait here in one row, locked by a key (see `group_key`), and
leave in groups (see `groups`): the report to the other reports, the invitation to be marked as spent.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sottovoce.collector.canonical_parser import ReportRow
from sottovoce.collector.database import Connection, Database
from sottovoce.collector.group_key import KEY_BYTES, KEY_NAME_BYTES, GroupKey
from sottovoce.collector.records import Block, StoredSurvey
from sottovoce.core import canonical
from sottovoce.survey import Survey

HASH_BYTES, ID_BYTES = 32, 16

SYSTEM_RANDOM = secrets.SystemRandom()
"""The random bits of the operating system."""

INSERT = "INSERT INTO waiting (invitation, report, survey, wave, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"


@dataclass(frozen=True, slots=True)
class WaitingReport:
    """A report that waits, and the hash of its invitation, packed into a row whose width tells nothing."""

    survey: int
    wave: int
    row: bytes

    @classmethod
    def pack(cls, to: StoredSurvey, invitation: bytes, read: ReportRow) -> WaitingReport:
        name, wave, covariates, body = read
        padded = covariates.encode().ljust(_covariates_width(to.survey))
        return cls(to.number, wave, invitation + name + body + padded)

    @property
    def invitation(self) -> bytes:
        return self.row[:HASH_BYTES]

    @property
    def id(self) -> bytes:
        return self.row[HASH_BYTES : HASH_BYTES + ID_BYTES]

    def unpack(self, to: StoredSurvey) -> ReportRow:
        """The report as it came."""
        rest = self.row[HASH_BYTES + ID_BYTES :]
        body, covariates = rest[: to.layout.width], rest[to.layout.width :]
        return self.id, self.wave, covariates.decode().rstrip(" "), body


def _covariates_width(survey: Survey) -> int:
    """Bytes that the longest covariates of a survey take."""
    longest = {one.id: max(one.values, key=lambda value: len(canonical.dumps(value))) for one in survey.covariates}
    return len(canonical.dumps(longest))


class WaitingRoom:
    """The tables of what waits, of its key, and of invitations."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._group_key: GroupKey | None = None

    def add_invitations(self, to: StoredSurvey, hashes: Sequence[bytes]) -> None:
        """Let the holders of these invitations in, one report each."""
        with self.database.transaction() as connection:
            for digest in hashes:
                self.database.run(connection, "INSERT INTO invitations (survey, hash, spent) VALUES (?, ?, 0)",
                                  [to.number, digest])  # fmt: skip

    # Keys.

    def _key(self, connection: Connection) -> GroupKey | None:
        """The key of what waits now, if anything does. Another process may have changed it."""
        row = self.database.run(connection, "SELECT name, secret FROM waiting_key").fetchone()
        if row is None:
            return None
        name = bytes(row[0])
        if self._group_key is None or self._group_key.name != name:
            self._group_key = GroupKey(name, self.database.dialect.find_secret(name, bytes(row[1])))
        return self._group_key

    def _new_key(self, connection: Connection) -> GroupKey:
        name, secret = os.urandom(KEY_NAME_BYTES), os.urandom(KEY_BYTES)
        kept = self.database.dialect.keep_secret(name, secret)
        self.database.run(connection, "INSERT INTO waiting_key (name, secret) VALUES (?, ?)", [name, kept])
        self._group_key = GroupKey(name, secret)
        return self._group_key

    def check(self) -> None:
        """Raise `StoreError` if the key to what waits is lost."""
        with self.database.transaction() as connection:
            self._key(connection)

    def give_up(self) -> int:
        """Delete all that waits, whose key is lost; how many reports that were. Their invitations are not spent."""
        with self.database.transaction() as connection:
            count = int(self.database.run(connection, "SELECT COUNT(*) FROM waiting").fetchone()[0])
            self.refill(connection, ())
        self.database.erase_deleted()
        return count

    # Rows.

    def enter(self, connection: Connection, block: Block, invitation: bytes) -> bool:
        """Let the one report of a block wait, unless its invitation is unknown, or spent, or waits already."""
        unspent = "SELECT 1 FROM invitations WHERE survey = ? AND hash = ? AND spent = 0"
        if not self.database.run(connection, unspent, [block.to.number, invitation]).fetchone():
            return False
        key = self._key(connection) or self._new_key(connection)
        return self._insert(connection, key, WaitingReport.pack(block.to, invitation, block.rows[0])) == 1

    def _insert(self, connection: Connection, key: GroupKey, one: WaitingReport) -> int:
        tags = [key.tag("invitation", one.survey, one.invitation), key.tag("report", one.survey, one.id)]
        values = [*tags, one.survey, one.wave, key.lock(one.row, _about(one.survey, one.wave))]
        return int(self.database.run(connection, INSERT, values).rowcount)

    def find(self, connection: Connection, block: Block) -> dict[bytes, ReportRow]:
        """The report of a block, by its id, if one of this id waits. Only requests of one report can have it."""
        key, name = self._key(connection), block.rows[0][0]
        if key is None or len(block) != 1:
            return {}
        tag = key.tag("report", block.to.number, name)
        row = self.database.run(connection, "SELECT wave, data FROM waiting WHERE report = ?", [tag]).fetchone()
        return {} if row is None else {name: _opened(key, block.to.number, *row).unpack(block.to)}

    def all(self, connection: Connection) -> list[WaitingReport]:
        """All that waits, for all surveys, in random order."""
        key = self._key(connection)
        rows = self.database.run(connection, "SELECT survey, wave, data FROM waiting").fetchall() if key else []
        found = [_opened(key, *row) for row in rows if key]
        SYSTEM_RANDOM.shuffle(found)
        return found

    def refill(self, connection: Connection, staying: Sequence[WaitingReport]) -> None:
        """Put what still waits under a new key. The old rows go, and nothing in the new ones tells which they were."""
        for table in ("waiting", "waiting_key"):
            self.database.dialect.empty(connection, table)
        if staying:
            key = self._new_key(connection)
            for one in staying:
                self._insert(connection, key, one)

    def counts(self, to: StoredSurvey) -> dict[int, int]:
        """How many reports of each wave wait."""
        if not to.invited:
            return {}
        sql = "SELECT wave, COUNT(*) FROM waiting WHERE survey = ? GROUP BY wave"
        return {int(wave): int(count) for wave, count in self.database.read(sql, [to.number])}


def _opened(key: GroupKey, survey: int, wave: int, data: bytes) -> WaitingReport:
    return WaitingReport(int(survey), int(wave), key.open(bytes(data), _about(survey, wave)))


def _about(survey: int, wave: int) -> bytes:
    return f"{survey} {wave}".encode()
