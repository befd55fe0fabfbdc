"""What a shuffler keeps: envelopes that wait, batches that are on their way, and a code for each one that has gone.

There is no column for an address or a time, and the order of arrival is nowhere (see `slots`). The journal is emptied
by each transaction, and what is deleted is overwritten.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sottovoce.core.errors import ParameterError, StoreError
from sottovoce.core.sqlite_file import SQLiteFile
from sottovoce.device import envelope
from sottovoce.device.envelope import ShuffledBatch
from sottovoce.shuffler.slots import SYSTEM_RANDOM, TAG_BYTES, Slots
from sottovoce.survey import Survey
from sottovoce.web.block_outcome import BlockOutcome

APPLICATION_ID = 0x736F7368  # "sosh"
VERSION = 1
BUSY_SECONDS = 2.0
"""How long to wait for a process that has just ended."""

MAX_BATCH_REPORTS = 100_000

SETTINGS = (
    "locking_mode = EXCLUSIVE", "journal_mode = TRUNCATE", "synchronous = FULL", "secure_delete = ON",
    "temp_store = MEMORY",
)  # fmt: skip
SCHEMA = """
CREATE TABLE about (digest TEXT NOT NULL, secret BLOB NOT NULL);
CREATE TABLE thresholds (wave INTEGER PRIMARY KEY, least INTEGER NOT NULL);
CREATE TABLE slots (slot INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE seen (tag BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE batches (id BLOB PRIMARY KEY, wave INTEGER NOT NULL, reports BLOB NOT NULL) WITHOUT ROWID
"""

InnerEnvelope = tuple[int, bytes]
"""A wave and an inner envelope."""


class ShufflerStore:
    """The store of one survey's shuffler in a file, which one process has to itself.

    A batch is made when as many envelopes of a wave wait as its threshold says: the survey's minimum and up to `extra`
    more, drawn anew for each batch. A batch holds at most `most` reports, and no more than a collector takes at once;
    the others wait for the next.
    """

    def __init__(
        self, path: str | Path, survey: Survey, extra: int | None = None, most: int = MAX_BATCH_REPORTS
    ) -> None:
        self.path, self.survey = Path(path), survey
        self.minimum, self.width = envelope.route(survey).minimum, envelope.inner_size(survey)
        self.extra = max(1, self.minimum // 10) if extra is None else extra
        self.most = min(max(most, self.minimum), envelope.most_reports(survey))
        if self.extra < 0:
            raise ParameterError(f"extra must be at least 0, got {extra}")
        self._file = SQLiteFile(self.path, APPLICATION_ID, VERSION, SETTINGS, BUSY_SECONDS)
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._slots: Slots
        self._secret = b""
        self.check()

    # The file.

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing. After a failure the file is opened again, and what is remembered is read from it anew."""
        with self._lock:
            try:
                connection = self._connection or self._open()
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                self.close()
                meaning = self._file.meaning(error) if isinstance(error, Exception) else None
                if meaning is None:
                    raise
                raise meaning from error

    def _open(self) -> sqlite3.Connection:
        made = self._connection = self._file.connect()
        if not self._file.version_of(made):
            self._make(made)
        digest, self._secret = made.execute("SELECT digest, secret FROM about").fetchone()
        if digest != self.survey.digest:
            raise StoreError(f"{self.path}: belongs to the shuffler of another survey, {digest}")
        self._slots = Slots(made, self.width)
        return made

    def _make(self, connection: sqlite3.Connection) -> None:
        with self._file.transaction(connection):
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute("INSERT INTO about VALUES (?, ?)", (self.survey.digest, secrets.token_bytes(32)))
            self._file.set_version(connection, VERSION)

    def check(self) -> None:
        """Raise an error if the file cannot be used."""
        with self._transaction() as connection:
            connection.execute("SELECT count(*) FROM about").fetchone()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    # Envelopes come in.

    def add(self, posts: Sequence[Sequence[InnerEnvelope]]) -> list[BlockOutcome]:
        """Keep the envelopes of many requests in one transaction; on return they are durable.

        One that waits already, or ever did, is not kept again.
        """
        outcomes = []
        with self._transaction() as connection:
            self._slots.make_room(sum(map(len, posts)))
            for post in posts:
                new = sum([self._put(connection, wave, inner) for wave, inner in post])
                outcomes.append(BlockOutcome(accepted=new, duplicates=len(post) - new))
        return outcomes

    def _put(self, connection: sqlite3.Connection, wave: int, inner: bytes) -> bool:
        tag = self._tag(wave, inner)
        seen = "SELECT 1 FROM seen WHERE tag = ?"
        if tag in self._slots.taken[wave] or connection.execute(seen, (tag,)).fetchone():
            return False
        self._slots.put(wave, tag, inner)
        return True

    def _tag(self, wave: int, inner: bytes) -> bytes:
        """What is remembered of an envelope: a code under a secret of the store."""
        return hmac.digest(self._secret, wave.to_bytes(envelope.WAVE_BYTES, "big") + inner, hashlib.sha256)[:TAG_BYTES]

    def waiting(self) -> dict[int, int]:
        """How many envelopes of each wave wait."""
        with self._transaction():
            return {wave: len(tags) for wave, tags in self._slots.taken.items() if tags}

    # Batches go out.

    def mix(self, last: bool = False) -> None:
        """Make the batches that are due; with `last`, as the survey has ended, all that hold the minimum."""
        for wave, count in self.waiting().items():
            least = self.minimum if last else self._threshold(wave)
            while count >= least:
                count, least = count - self._release(wave), self.minimum if last else self._threshold(wave)

    def forget(self) -> int:
        """Forget all that waits, now that nothing can be added to it; how many envelopes that were."""
        with self._transaction():
            count = len(self._slots)
            for wave, tags in self._slots.taken.items():
                self._slots.clear(wave, list(tags))
        return count

    def _threshold(self, wave: int) -> int:
        """How many envelopes of a wave make the next batch; drawn once, and kept."""
        with self._transaction() as connection:
            found = connection.execute("SELECT least FROM thresholds WHERE wave = ?", (wave,)).fetchone()
            if found:
                return int(found[0])
            least = self.minimum + SYSTEM_RANDOM.randint(0, self.extra)
            connection.execute("INSERT INTO thresholds VALUES (?, ?)", (wave, least))
            return least

    def _release(self, wave: int) -> int:
        """Make one batch of what waits, in random order; how many reports it has."""
        with self._transaction() as connection:
            waiting = self._slots.read(wave)
            tags = list(waiting)
            SYSTEM_RANDOM.shuffle(tags)
            del tags[self.most :]
            if len(tags) < self.minimum:
                raise StoreError(f"a batch must have at least {self.minimum} reports, got {len(tags)}")
            reports = b"".join([waiting[tag] for tag in tags])
            connection.execute(
                "INSERT INTO batches VALUES (?, ?, ?)", (os.urandom(envelope.BATCH_ID_BYTES), wave, reports)
            )
            connection.executemany("INSERT INTO seen VALUES (?)", sorted((tag,) for tag in tags))
            connection.execute("DELETE FROM thresholds WHERE wave = ?", (wave,))
            self._slots.clear(wave, tags)
        return len(tags)

    def batches(self) -> list[bytes]:
        """The random ids of the batches that are not delivered yet."""
        with self._transaction() as connection:
            return [bytes(row[0]) for row in connection.execute("SELECT id FROM batches")]

    def batch(self, name: bytes) -> ShuffledBatch:
        with self._transaction() as connection:
            wave, data = connection.execute("SELECT wave, reports FROM batches WHERE id = ?", (name,)).fetchone()
        return ShuffledBatch(name, wave, [data[at : at + self.width] for at in range(0, len(data), self.width)])

    def delivered(self, name: bytes) -> None:
        """Forget a batch that the collector has."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM batches WHERE id = ?", (name,))
