"""Tallies in the database: a vector of counts for each survey, wave and combination of covariates, kept in parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sottovoce.collector.database import Connection, Database
from sottovoce.collector.records import StoredSurvey
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = Mapping[tuple[int, str], NDArray[np.int64]]
    """Counts by wave and covariates."""

PART_COUNTS = 1024
"""Counts in one part of a tally. A report that changes few counts writes few parts."""

REMEMBERED_PARTS = 1024
"""The counts of at most this many parts are remembered."""

TallyKey = tuple[int, int, str]
"""The survey's number, wave and covariates."""

PartKey = tuple[int, int, str, int]
"""The key of a tally, and the number of one of its parts."""

TallyParts = dict[PartKey, bytes]
"""Counts of parts as the database has them: little-endian words of 8 bytes."""

WHERE = "survey = ? AND wave = ? AND covariates = ? AND part = ?"
SWAP = f"UPDATE tallies SET counts = ? WHERE {WHERE} AND counts = ?"  # noqa: S608
COUNTS = f"SELECT counts FROM tallies WHERE {WHERE}"  # noqa: S608
FIRST = "INSERT INTO tallies (counts, survey, wave, covariates, part) VALUES (?, ?, ?, ?, ?)"


class Tallies:
    """The table of tallies. What was written last is remembered, to save reading it again."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._last: TallyParts = {}

    def add(self, connection: Connection, key: TallyKey, vector: NDArray[np.int64], written: TallyParts) -> None:
        """Add a vector to a tally within a transaction.

        The new counts are put into `written`, for `remember` once they are committed.
        """
        for part in sorted(set((np.nonzero(vector)[0] // PART_COUNTS).tolist())):
            self.add_part(connection, (*key, part), vector[part * PART_COUNTS : (part + 1) * PART_COUNTS], written)

    def add_part(self, connection: Connection, key: PartKey, added: NDArray[np.int64], written: TallyParts) -> None:
        """Add to a part of a tally: by one statement if it is as it was last time, otherwise it is read first."""
        run, last = self.database.run, self._last.get(key)
        if last is not None:
            written[key] = _sum(last, added)
            if run(connection, SWAP, [written[key], *key, last]).rowcount == 1:
                return
        found = run(connection, COUNTS, key).fetchone()
        if found is None:
            written[key] = _sum(bytes(8 * len(added)), added)
            run(connection, FIRST, [written[key], *key])
        else:
            written[key] = _sum(found[0], added)
            run(connection, SWAP, [written[key], *key, found[0]])

    def remember(self, written: TallyParts) -> None:
        """Remember counts that are committed."""
        if len(self._last) + len(written) > REMEMBERED_PARTS:
            self._last.clear()
        self._last |= dict(list(written.items())[:REMEMBERED_PARTS])

    def vectors(self, to: StoredSurvey, wave: int | None = None) -> dict[tuple[int, str], NDArray[np.int64]]:
        """The counts of each wave and each combination of covariates, as they were at one moment."""
        sql = "SELECT wave, covariates, part, counts FROM tallies WHERE survey = ?"
        values = [to.number] if wave is None else [to.number, wave]
        rows = self.database.read(sql if wave is None else sql + " AND wave = ?", values)
        vectors: dict[tuple[int, str], NDArray[np.int64]] = {}
        for at, covariates, part, counts in rows:
            key = int(at), covariates
            if key not in vectors:
                vectors[key] = np.zeros(to.layout.size, dtype=np.int64)
            vectors[key][part * PART_COUNTS : (part + 1) * PART_COUNTS] = np.frombuffer(counts, dtype="<i8")
        return vectors


def _sum(counts: bytes, added: NDArray[np.int64]) -> bytes:
    return (np.frombuffer(counts, dtype="<i8") + added).astype("<i8").tobytes()
