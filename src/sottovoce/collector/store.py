"""What a collector keeps. One schema and one logic for SQLite and PostgreSQL; what differs is in their own modules.

Reports and the tallies that count them are written in one transaction, so that the one is always the sum of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sottovoce.collector.adding import PART
from sottovoce.collector.records import Published, Row
from sottovoce.collector.releasing import Releasing
from sottovoce.errors import ParameterError
from sottovoce.lazy import numpy as np
from sottovoce.survey import Survey
from sottovoce.survey.checks import SURVEY_ID

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 10_000
"""Reports read at a time."""


class Store(Releasing):
    """Surveys, reports, tallies and tokens in a database."""

    def __init__(self) -> None:
        super().__init__()
        self._published: dict[str, Published] = {}

    # Surveys.

    def publish(self, survey: Survey, invited: bool = False) -> bool:
        """Keep a published survey; whether it is new. The id of a survey stands for one document for ever."""
        if invited and survey.shuffle is not None:
            raise ParameterError(f"survey {survey.id!r} is shuffled: nobody could tell whose invitation is whose")
        document = survey.canonical()
        with self._transaction() as connection:
            known = self._run(connection, "SELECT digest FROM surveys WHERE id = ?", [survey.id]).fetchone()
            if known:
                if known[0] != survey.digest:
                    raise ParameterError(
                        f"survey {survey.id!r} is published with another document, {known[0]}, and never changes"
                    )
                return False
            number = self._run(connection, "SELECT COALESCE(MAX(number), 0) + 1 FROM surveys").fetchone()[0]
            values = [number, survey.id, survey.digest, document, "open", _today(), int(invited)]
            self._run(
                connection,
                "INSERT INTO surveys (number, id, digest, document, state, published_at, invited)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            )
        return True

    def close_survey(self, name: str) -> None:
        """Take no more reports. Those that were acknowledged before stay, and the last groups are closed."""
        with self._transaction() as connection:
            self._run(
                connection,
                "UPDATE surveys SET state = 'closed', closed_at = ? WHERE id = ? AND state = 'open'",
                [_today(), name],
            )
        to = self.survey(name)
        if to is not None:
            self.settle(to)

    def known(self, name: str) -> Published | None:
        """A survey by its id if it was looked up before: published surveys never change."""
        return self._published.get(name)

    def survey(self, name: str) -> Published | None:
        """A survey by its id."""
        if name not in self._published:
            if not SURVEY_ID.fullmatch(name):  # A database may fail on text that no id has, such as a zero byte.
                return None
            found = self._read("SELECT number, document, invited FROM surveys WHERE id = ?", [name])
            if not found:
                return None
            number, document = int(found[0][0]), bytes(found[0][1])
            survey = Survey.loads(document)
            self._published[name] = Published(number, survey, document, invited=bool(found[0][2]))
        return self._published[name]

    def surveys(self) -> list[dict[str, Any]]:
        """All surveys: id, digest, state and whether it is by invitation."""
        rows = self._read("SELECT id, digest, state, invited FROM surveys ORDER BY number")
        return [{"id": row[0], "digest": row[1], "state": row[2], "invited": bool(row[3])} for row in rows]

    def state(self, name: str) -> str:
        found = self._read("SELECT state FROM surveys WHERE id = ?", [name])
        return str(found[0][0]) if found else "unknown"

    # Reports.

    def vectors(self, to: Published, wave: int | None = None) -> dict[tuple[int, str], NDArray[np.int64]]:
        """The counts of each wave and each combination of covariates, as they were at one moment."""
        sql = "SELECT wave, covariates, part, counts FROM tallies WHERE survey = ?"
        rows = self._read(*((sql, [to.number]) if wave is None else (sql + " AND wave = ?", [to.number, wave])))
        vectors: dict[tuple[int, str], NDArray[np.int64]] = {}
        for at, covariates, part, counts in rows:
            key = int(at), covariates
            if key not in vectors:
                vectors[key] = np.zeros(to.layout.size, dtype=np.int64)
            vectors[key][part * PART : (part + 1) * PART] = np.frombuffer(counts, dtype="<i8")
        return vectors

    def reports(self, to: Published) -> Iterator[list[Row]]:
        """All reports of a survey by their random ids, some at a time."""
        sql = "SELECT survey, id, wave, covariates, body FROM reports WHERE survey = ? AND id > ? ORDER BY id LIMIT ?"
        last = b""
        while rows := self._read(sql, [to.number, last, ROWS]):
            yield [(int(row[0]), bytes(row[1]), int(row[2]), row[3], bytes(row[4])) for row in rows]
            last = bytes(rows[-1][1])

    # Tokens and invitations, by their hashes.

    def add_token(self, digest: str, role: str, name: str) -> None:
        with self._transaction() as connection:
            if self._run(connection, "SELECT 1 FROM tokens WHERE name = ?", [name]).fetchone():
                raise ParameterError(f"a token must have a name of its own, {name!r} is taken")
            self._run(connection, "INSERT INTO tokens (hash, role, name, created) VALUES (?, ?, ?, ?)",
                      [digest, role, name, _today()])  # fmt: skip

    def tokens(self) -> list[dict[str, str]]:
        rows = self._read("SELECT hash, role, name, created FROM tokens ORDER BY created, name")
        return [dict(zip(("hash", "role", "name", "created"), row, strict=True)) for row in rows]

    def revoke(self, name: str) -> bool:
        with self._transaction() as connection:
            return bool(self._run(connection, "DELETE FROM tokens WHERE name = ?", [name]).rowcount)

    def add_invitations(self, to: Published, hashes: Sequence[bytes]) -> None:
        with self._transaction() as connection:
            for digest in hashes:
                self._run(connection, "INSERT INTO invitations (survey, hash, spent) VALUES (?, ?, 0)",
                          [to.number, digest])  # fmt: skip


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"
