"""Taking reports in: all that is new of many requests in one transaction, together with the tallies that count it.

Almost always all reports are new. Then one statement inserts those of each tally, and one counts them: few steps, since
at each of them the thread that writes may have to wait for its turn. If a report is there already, or its survey is not
open to all, the transaction is rolled back, and each request is looked at by itself in another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from sottovoce.collector.canonical_parser import ReportRow
from sottovoce.collector.database import Connection, Database
from sottovoce.collector.groups import Groups
from sottovoce.collector.layout import Layout
from sottovoce.collector.records import Block
from sottovoce.collector.reports import NotAllNew, ReportTable, by_tally
from sottovoce.collector.tallies import TallyParts
from sottovoce.collector.waiting import WaitingRoom
from sottovoce.core.errors import StoreUnavailable
from sottovoce.web.block_outcome import BlockOutcome

NewRows = dict[bytes, ReportRow]
"""Reports to one survey that this transaction is to write, by their ids."""

State = tuple[str, bool]
"""Whether a survey is open or closed, and whether it takes reports by invitation alone."""


class Ingest:
    """Takes blocks of reports in. Those that come by invitation go to the waiting room, all others to the reports."""

    def __init__(self, database: Database, reports: ReportTable, waiting: WaitingRoom, groups: Groups) -> None:
        self.database, self.reports, self.waiting, self.groups = database, reports, waiting, groups

    def add(self, blocks: Sequence[Block]) -> list[BlockOutcome]:
        """Take in the reports of many requests; what became of each. On return all of it is durable.

        Groups of reports by invitation that are full by that are closed.
        """
        outcomes = self._add(blocks)
        arrived = {block.to.number: block.to for block, outcome in zip(blocks, outcomes, strict=True)
                   if block.to.invited and outcome.accepted}  # fmt: skip
        for to in arrived.values():
            with suppress(StoreUnavailable):  # What came is durable: the next to come tries again to close the group.
                self.groups.release(to)
        return outcomes

    def _add(self, blocks: Sequence[Block]) -> list[BlockOutcome]:
        layouts = {block.to.number: block.to.layout for block in blocks}
        try:
            if any(block.expired or block.batch for block in blocks):
                raise NotAllNew
            self._add_all(blocks, layouts)
            return [BlockOutcome(len(block.rows)) for block in blocks]
        except NotAllNew:
            return self._add_each(blocks, layouts)

    def _add_all(self, blocks: Sequence[Block], layouts: Mapping[int, Layout]) -> None:
        """Write all reports, which must be new, and to surveys open to all."""
        written: TallyParts = {}
        groups = by_tally((block.to.number, block.rows) for block in blocks)
        with self.database.transaction() as connection:
            self.reports.write(connection, groups, layouts, written, checked=False)
        self.reports.tallies.remember(written)

    def _add_each(self, blocks: Sequence[Block], layouts: Mapping[int, Layout]) -> list[BlockOutcome]:
        """Look at each request by itself, and write what is new."""
        written: TallyParts = {}
        new: dict[int, NewRows] = {number: {} for number in layouts}
        with self.database.transaction() as connection:
            states = self._states(connection)
            outcomes = [self._sift(connection, block, new[block.to.number], states.get(block.to.number))
                        for block in blocks]  # fmt: skip
            groups = by_tally((number, rows.values()) for number, rows in new.items())
            self.reports.write(connection, groups, layouts, written, checked=True)
        self.reports.tallies.remember(written)
        return outcomes

    def _states(self, connection: Connection) -> dict[int, State]:
        rows = self.database.run(connection, "SELECT number, state, invited FROM surveys").fetchall()
        return {int(row[0]): (row[1], bool(row[2])) for row in rows}

    def _sift(self, connection: Connection, block: Block, new: NewRows, state: State | None) -> BlockOutcome:
        """Put those of a block that are new to the new rows; none if one of them contradicts what is there."""
        if block.batch is not None:
            return self._sift_batch(connection, block, new, state)
        rows = {row[0]: row for row in block.rows}
        if len(rows) < len(block):
            return BlockOutcome(refused="conflict", detail="an id occurs twice in the batch")
        known = self.reports.with_ids_of(connection, block) | {name: new[name] for name in rows if name in new}
        by_invitation = state is not None and state[1]
        if by_invitation and not known:
            known = self.waiting.find(connection, block)
        for name, row in known.items():
            if row != rows[name]:
                return BlockOutcome(refused="conflict", detail=f"id {name.hex()} is that of another report")
        others = {name: row for name, row in rows.items() if name not in known}
        refused = self._refusal(connection, block, state) if others else None
        if refused is None and not by_invitation:
            new |= others
        return refused or BlockOutcome(accepted=len(others), duplicates=len(known))

    def _sift_batch(self, connection: Connection, block: Block, new: NewRows, state: State | None) -> BlockOutcome:
        """Take those of a shuffler's batch that are new, unless the batch was there before.

        A report that contradicts another one is dropped alone: nobody can correct the others.
        """
        run, key = self.database.run, [block.to.number, block.batch]
        if run(connection, "SELECT 1 FROM batches WHERE survey = ? AND id = ?", key).fetchone():
            return BlockOutcome(duplicates=len(block))
        if state is None or state[0] != "open":
            return _closed(block)
        run(connection, "INSERT INTO batches (survey, id) VALUES (?, ?)", key)
        known = {**self.reports.with_ids_of(connection, block), **new}
        accepted = dropped = 0
        for row in block.rows:
            first = known.setdefault(row[0], row)
            if first is row:
                new[row[0]] = row
            accepted += first is row
            dropped += first != row
        return BlockOutcome(accepted, len(block) - accepted - dropped, dropped=dropped)

    def _refusal(self, connection: Connection, block: Block, state: State | None) -> BlockOutcome | None:
        """Why new reports are not taken. One that comes by a good invitation waits with it from now on."""
        if state is None or state[0] != "open":
            return _closed(block)
        if block.expired:
            return BlockOutcome(refused="expired", detail=f"survey {block.to.survey.id} has expired")
        if not state[1]:
            return None
        if block.invitation is None or len(block) != 1:
            return BlockOutcome(refused="invitation", detail="the survey takes one report for each invitation")
        if self.waiting.enter(connection, block, block.invitation):
            return None
        return BlockOutcome(refused="invitation", detail="the invitation is not valid")


def _closed(block: Block) -> BlockOutcome:
    return BlockOutcome(refused="closed", detail=f"survey {block.to.survey.id} is closed")
