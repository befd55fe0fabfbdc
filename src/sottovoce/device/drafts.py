"""Reports that were drawn and not released: one for each wave of a survey, whatever the answers are later.

What the mechanisms of a draft remember is kept at once, so that nothing is drawn twice. What it costs is owed until the
draft is released, or a later draft that may use the same memory.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.device.ledger import Entries

if TYPE_CHECKING:
    from sottovoce.mechanisms.longitudinal.base import Memory


@dataclass(frozen=True)
class Draft:
    """One report, and what each of its questions costs."""

    body: bytes
    """What will be sent."""
    submission: bytes | None
    """What is inside, if the body is sealed: for its owner to look at."""
    costs: Mapping[str, float]


class Drafts:
    """The open drafts of one survey, inside a transaction of the ledger."""

    def __init__(self, entries: Entries, digest: str) -> None:
        self._entries, self._connection, self._digest = entries, entries.connection, digest

    def get(self, wave: int) -> Draft | None:
        row = self._connection.execute(
            "SELECT body, submission, costs FROM drafts WHERE digest = ? AND wave = ?", (self._digest, wave)
        ).fetchone()
        return row and Draft(bytes(row[0]), None if row[1] is None else bytes(row[1]), json.loads(row[2]))

    def keep(self, wave: int, draft: Draft, memories: Mapping[str, Memory], ahead: Sequence[float] = ()) -> None:
        """Keep the one draft of a wave and what its mechanisms remember, unless the budget is too small for it.

        What may still lie ahead must fit too. With what is charged or owed it comes to the same in every wave, so that
        a refusal does not depend on the answers.
        """
        owed = [cost for due in self.owed(memories).values() for cost in due.values()]
        self._entries.refuse_beyond_budget(draft.costs, [*owed, *ahead])
        self._connection.execute(
            "INSERT INTO drafts (digest, wave, body, submission, costs) VALUES (?, ?, ?, ?, ?)",
            (self._digest, wave, draft.body, draft.submission, json.dumps(dict(draft.costs))),
        )
        self._entries.remember(self._digest, memories)

    def release(
        self, survey: str, wave: int, draft: Draft, remembered: Collection[str], ahead: Sequence[float] = ()
    ) -> None:
        """Charge the draft of a wave, and keep it as a report.

        For questions that are remembered it may use what earlier drafts drew, sent or not: what is not paid yet of that
        is charged with it. What later drafts drew, and what lies ahead, must fit into the budget as well.
        """
        earlier, owed = self.owed(remembered, before=wave), self.owed(remembered)
        others = [cost for other, due in owed.items() if other != wave for cost in due.values()]
        self._entries.refuse_beyond_budget(draft.costs, [*others, *ahead])
        for other, due in earlier.items():
            self._entries.charge(survey, self._digest, other, due)
            self._forget_costs(other, due)
        self._entries.charge(survey, self._digest, wave, draft.costs)
        self._entries.keep_report(self._digest, wave, draft.body)
        self._connection.execute("DELETE FROM drafts WHERE digest = ? AND wave = ?", (self._digest, wave))

    def owed(self, questions: Collection[str], before: int | None = None) -> dict[int, dict[str, float]]:
        """What some questions cost in each open draft, in the order of drawing; with `before`, ahead of that wave's."""
        rows = self._connection.execute(
            "SELECT wave, costs FROM drafts WHERE digest = ? ORDER BY number", (self._digest,)
        )
        owed: dict[int, dict[str, float]] = {}
        for wave, costs in rows:
            if wave == before:
                break
            owed[wave] = {question: cost for question, cost in json.loads(costs).items() if question in questions}
        return owed

    def _forget_costs(self, wave: int, paid: Collection[str]) -> None:
        draft = self.get(wave)
        left = {question: cost for question, cost in (draft.costs if draft else {}).items() if question not in paid}
        self._connection.execute(
            "UPDATE drafts SET costs = ? WHERE digest = ? AND wave = ?", (json.dumps(left), self._digest, wave)
        )
