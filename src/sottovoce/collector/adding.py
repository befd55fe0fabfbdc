"""Taking reports in: all that is new of many requests in one transaction, together with the tallies that count it.

Almost always all reports are new. Then one statement inserts those of each group, and one counts them: few steps, since
at each of them the thread that writes may have to wait for its turn. If a report is there already, or its survey is not
open to all, nothing is kept of that, and each request is looked at by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sottovoce.collector.layout import Layout
from sottovoce.collector.quick import Read
from sottovoce.collector.records import Block, Outcome
from sottovoce.collector.waiting import WaitingRoom
from sottovoce.errors import SottovoceError
from sottovoce.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PART = 1024
"""Counts in one part of a tally."""

LOOK_UP = 500
"""Ids looked up by one statement."""

REMEMBERED = 1024
"""Parts of tallies whose last counts are remembered."""

Group = tuple[int, int, str]
"""Survey, wave and covariates."""

Taken = dict[bytes, Read]
"""Reports of one survey by their ids."""

INSERT = """
    INSERT INTO reports (survey, id, wave, covariates, body)
    SELECT number, substr(CAST(? AS {blob}), i * 16 + 1, 16), CAST(? AS {whole}), CAST(? AS TEXT),
           substr(CAST(? AS {blob}), i * CAST(? AS {int}) + 1, CAST(? AS {int}))
    FROM surveys, {numbers} WHERE number = ? AND (state = 'open' AND invited = 0 OR ? = 1)
    ON CONFLICT DO NOTHING
"""
WHERE = "survey = ? AND wave = ? AND covariates = ? AND part = ?"
SWAP = f"UPDATE tallies SET counts = ? WHERE {WHERE} AND counts = ?"  # noqa: S608
COUNTS = f"SELECT counts FROM tallies WHERE {WHERE}"  # noqa: S608
FIRST = "INSERT INTO tallies (counts, survey, wave, covariates, part) VALUES (?, ?, ?, ?, ?)"


class _NotAllNew(SottovoceError):  # noqa: N818
    """Some reports need a closer look."""


class Adding(WaitingRoom):
    """The part of a store that takes reports in."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[tuple[Any, ...], bytes] = {}
        self._insert_sql = INSERT.format(**self.types)

    def add(self, blocks: Sequence[Block]) -> list[Outcome]:
        """Keep the reports of many requests in one transaction; what became of each. On return all of it is durable."""
        layouts = {block.to.number: block.to.layout for block in blocks}
        try:
            if any(block.expired or block.batch for block in blocks):
                raise _NotAllNew
            self._commit(_grouped((block.to.number, block.reads) for block in blocks), layouts)
            return [Outcome(len(block.reads)) for block in blocks]
        except _NotAllNew:
            return self._add_each(blocks, layouts)

    def _commit(self, groups: Mapping[Group, list[Read]], layouts: Mapping[int, Layout]) -> None:
        fresh: dict[tuple[Any, ...], bytes] = {}
        with self._transaction() as connection:
            self._keep(connection, groups, layouts, fresh, checked=False)
        self._remember(fresh)

    def _add_each(self, blocks: Sequence[Block], layouts: Mapping[int, Layout]) -> list[Outcome]:
        fresh: dict[tuple[Any, ...], bytes] = {}
        taken: dict[int, Taken] = {number: {} for number in layouts}
        with self._transaction() as connection:
            states = self._states(connection)
            outcomes = [
                self._sift(connection, block, taken[block.to.number], states.get(block.to.number)) for block in blocks
            ]
            groups = _grouped((number, reads.values()) for number, reads in taken.items())
            self._keep(connection, groups, layouts, fresh, checked=True)
        self._remember(fresh)
        return outcomes

    def _keep(
        self,
        connection: Any,
        groups: Mapping[Group, list[Read]],
        layouts: Mapping[int, Layout],
        fresh: dict[tuple[Any, ...], bytes],
        checked: bool,
    ) -> None:
        """Insert and count reports. Unless they are checked already, all must be new, their surveys open to all."""
        for key, reads in groups.items():
            reads.sort()
            layout, bodies = layouts[key[0]], b"".join([read[3] for read in reads])
            if self._insert(connection, key, reads, bodies, layout.width, checked) < len(reads):
                raise _NotAllNew
            vector = layout.count(bodies)
            for part in sorted(set((np.nonzero(vector)[0] // PART).tolist())):
                self._add_part(connection, (*key, part), vector[part * PART : (part + 1) * PART], fresh)

    def _insert(
        self, connection: Any, key: Group, reads: Sequence[Read], bodies: bytes, width: int, checked: bool
    ) -> int:
        """Insert reports of one group, but for those whose id is there already; how many were new."""
        survey, wave, covariates = key
        ids = b"".join([read[0] for read in reads])
        values = [ids, wave, covariates, bodies, width, width, len(reads), survey, int(checked)]
        return int(self._run(connection, self._insert_sql, values).rowcount)

    # Tallies.

    def _add_part(self, connection: Any, key: tuple[Any, ...], add: NDArray[np.int64], fresh: dict[Any, bytes]) -> None:
        """Add to a part of a tally: by one statement if it is as it was last time, otherwise it is read first."""
        last = self._counts.get(key)
        if last is not None:
            fresh[key] = _sum(last, add)
            if self._run(connection, SWAP, [fresh[key], *key, last]).rowcount == 1:
                return
        found = self._run(connection, COUNTS, key).fetchone()
        if found is None:
            fresh[key] = _sum(bytes(8 * len(add)), add)
            self._run(connection, FIRST, [fresh[key], *key])
        else:
            fresh[key] = _sum(found[0], add)
            self._run(connection, SWAP, [fresh[key], *key, found[0]])

    def _remember(self, fresh: Mapping[tuple[Any, ...], bytes]) -> None:
        if len(self._counts) + len(fresh) > REMEMBERED:
            self._counts.clear()
        self._counts |= dict(list(fresh.items())[:REMEMBERED])

    # A closer look.

    def _states(self, connection: Any) -> dict[int, tuple[str, bool]]:
        rows = self._run(connection, "SELECT number, state, invited FROM surveys").fetchall()
        return {int(row[0]): (row[1], bool(row[2])) for row in rows}

    def _sift(self, connection: Any, block: Block, taken: Taken, state: tuple[str, bool] | None) -> Outcome:
        """Take those of a block that are new; none if one of them contradicts what is there."""
        if block.batch is not None:
            return self._sift_batch(connection, block, taken, state)
        reads = {read[0]: read for read in block.reads}
        if len(reads) < len(block):
            return Outcome(refused="conflict", detail="an id occurs twice in the batch")
        known = self._known(connection, block) | {name: taken[name] for name in reads if name in taken}
        by_invitation = state is not None and state[1]
        if by_invitation and not known:
            known = self._found_waiting(connection, block)
        for name, read in known.items():
            if read != reads[name]:
                return Outcome(refused="conflict", detail=f"id {name.hex()} is that of another report")
        new = {name: read for name, read in reads.items() if name not in known}
        refused = self._refusal(connection, block, state) if new else None
        if refused is None and not by_invitation:
            taken |= new
        return refused or Outcome(accepted=len(new), duplicates=len(known))

    def _sift_batch(self, connection: Any, block: Block, taken: Taken, state: tuple[str, bool] | None) -> Outcome:
        """Take those of a batch that are new, unless the batch was there before. Nobody can correct the others."""
        key = [block.to.number, block.batch]
        if self._run(connection, "SELECT 1 FROM batches WHERE survey = ? AND id = ?", key).fetchone():
            return Outcome(duplicates=len(block))
        if state is None or state[0] != "open":
            return _closed(block)
        self._run(connection, "INSERT INTO batches (survey, id) VALUES (?, ?)", key)
        known = {**self._known(connection, block), **taken}
        accepted = dropped = 0
        for read in block.reads:
            first = known.setdefault(read[0], read)
            if first is read:
                taken[read[0]] = read
            accepted += first is read
            dropped += first != read
        return Outcome(accepted, len(block) - accepted - dropped, dropped=dropped)

    def _refusal(self, connection: Any, block: Block, state: tuple[str, bool] | None) -> Outcome | None:
        """Why new reports are not taken. One that comes by a good invitation waits with it from now on."""
        if state is None or state[0] != "open":
            return _closed(block)
        if block.expired:
            return Outcome(refused="expired", detail=f"survey {block.to.survey.id} has expired")
        if not state[1]:
            return None
        if block.invitation is None or len(block) != 1:
            return Outcome(refused="invitation", detail="the survey takes one report for each invitation")
        if self._wait(connection, block, block.invitation):
            return None
        return Outcome(refused="invitation", detail="the invitation is not valid")

    def _known(self, connection: Any, block: Block) -> Taken:
        """Those reports in the store that have an id of the block."""
        found: Taken = {}
        for at in range(0, len(block), LOOK_UP):
            ids = [read[0] for read in block.reads[at : at + LOOK_UP]]
            marks = ", ".join("?" * len(ids))
            sql = f"SELECT id, wave, covariates, body FROM reports WHERE survey = ? AND id IN ({marks})"  # noqa: S608
            for name, wave, covariates, body in self._run(connection, sql, [block.to.number, *ids]).fetchall():
                found[bytes(name)] = (bytes(name), int(wave), covariates, bytes(body))
        return found


def _closed(block: Block) -> Outcome:
    return Outcome(refused="closed", detail=f"survey {block.to.survey.id} is closed")


def _grouped(parts: Iterable[tuple[int, Iterable[Read]]]) -> dict[Group, list[Read]]:
    """Reports to surveys, given by their numbers, by the tally that counts them."""
    groups: defaultdict[Group, list[Read]] = defaultdict(list)
    for number, reads in parts:
        for read in reads:
            groups[number, read[1], read[2]].append(read)
    return groups


def _sum(counts: bytes, add: NDArray[np.int64]) -> bytes:
    return (np.frombuffer(counts, dtype="<i8") + add).astype("<i8").tobytes()
