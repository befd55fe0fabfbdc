"""Reports in the database, each under its random id, written in one transaction with the tallies that count them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sottovoce.collector.canonical_parser import ReportRow
from sottovoce.collector.database import Connection, Database
from sottovoce.collector.layout import Layout
from sottovoce.collector.records import Block, StoredReport, StoredSurvey
from sottovoce.collector.tallies import Tallies, TallyKey, TallyParts
from sottovoce.core.errors import SottovoceError

IDS_PER_STATEMENT = 500
"""Ids looked up by one statement."""

ROWS_PER_READ = 10_000
"""Reports read at a time."""

INSERT = """
    INSERT INTO reports (survey, id, wave, covariates, body)
    SELECT number, substr(CAST(? AS {blob}), i * 16 + 1, 16), CAST(? AS {whole}), CAST(? AS TEXT),
           substr(CAST(? AS {blob}), i * CAST(? AS {int}) + 1, CAST(? AS {int}))
    FROM surveys, {numbers} WHERE number = ? AND (state = 'open' AND invited = 0 OR ? = 1)
    ON CONFLICT DO NOTHING
"""


class NotAllNew(SottovoceError):  # noqa: N818
    """Some reports are there already, or their survey is not open to all: each request is to be looked at by itself."""


class ReportTable:
    """The table of reports, and the tallies that count them."""

    def __init__(self, database: Database, tallies: Tallies) -> None:
        self.database, self.tallies = database, tallies
        self._insert_sql = INSERT.format(**database.dialect.types)

    def write(
        self,
        connection: Connection,
        groups: Mapping[TallyKey, list[ReportRow]],
        layouts: Mapping[int, Layout],
        written: TallyParts,
        checked: bool,
    ) -> None:
        """Insert and count reports. Unless they are checked already, all must be new, their surveys open to all."""
        for key, rows in groups.items():
            rows.sort()
            layout, bodies = layouts[key[0]], b"".join([row[3] for row in rows])
            if self._insert(connection, key, rows, bodies, layout.width, checked) < len(rows):
                raise NotAllNew
            self.tallies.add(connection, key, layout.count(bodies), written)

    def _insert(
        self, connection: Connection, key: TallyKey, rows: Sequence[ReportRow], bodies: bytes, width: int, checked: bool
    ) -> int:
        """Insert the reports of one tally whose ids are new; how many these were."""
        survey, wave, covariates = key
        ids = b"".join([row[0] for row in rows])
        values = [ids, wave, covariates, bodies, width, width, len(rows), survey, int(checked)]
        return int(self.database.run(connection, self._insert_sql, values).rowcount)

    def with_ids_of(self, connection: Connection, block: Block) -> dict[bytes, ReportRow]:
        """Those reports in the database, by id, that have an id of the block."""
        found: dict[bytes, ReportRow] = {}
        for at in range(0, len(block), IDS_PER_STATEMENT):
            ids = [row[0] for row in block.rows[at : at + IDS_PER_STATEMENT]]
            marks = ", ".join("?" * len(ids))
            sql = f"SELECT id, wave, covariates, body FROM reports WHERE survey = ? AND id IN ({marks})"  # noqa: S608
            rows = self.database.run(connection, sql, [block.to.number, *ids]).fetchall()
            for name, wave, covariates, body in rows:
                found[bytes(name)] = (bytes(name), int(wave), covariates, bytes(body))
        return found

    def all(self, to: StoredSurvey) -> Iterator[list[StoredReport]]:
        """All reports of a survey by their random ids, some at a time."""
        sql = "SELECT survey, id, wave, covariates, body FROM reports WHERE survey = ? AND id > ? ORDER BY id LIMIT ?"
        last = b""
        while rows := self.database.read(sql, [to.number, last, ROWS_PER_READ]):
            yield [(int(row[0]), bytes(row[1]), int(row[2]), row[3], bytes(row[4])) for row in rows]
            last = bytes(rows[-1][1])


def by_tally(parts: Iterable[tuple[int, Iterable[ReportRow]]]) -> dict[TallyKey, list[ReportRow]]:
    """Reports to surveys, given by their numbers, by the tally that counts them."""
    groups: defaultdict[TallyKey, list[ReportRow]] = defaultdict(list)
    for number, rows in parts:
        for row in rows:
            groups[number, row[1], row[2]].append(row)
    return groups
