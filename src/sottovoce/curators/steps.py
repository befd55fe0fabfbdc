"""What a curator gave out in each step of a task, kept in the file of its ledger.

A step and the charge for it are written in one transaction. So a step that is asked for again, after a crash too, has
the same answer and costs nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sottovoce.core import canonical
from sottovoce.core.canonical import JsonObject
from sottovoce.device.ledger import Entries

Message = JsonObject
"""What a curator gives out: a task, a step, a sender, a body and a signature."""

STEPS = ("agree", "share", "confirm", "sum")
AGREE, SHARE, CONFIRM, SUM = STEPS


class KeptSteps:
    """The steps in a ledger, inside one of its transactions. A task goes by its digest."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries

    def find(self, task: str, step: str) -> JsonObject | None:
        """What was given out in a step, and what the next one needs of it; None if it was not taken yet."""
        row = self.entries.connection.execute(
            "SELECT answer FROM curator_steps WHERE task = ? AND step = ?", (task, step)
        ).fetchone()
        return None if row is None else dict(canonical.loads(bytes(row[0])))

    def keep(self, task: str, step: str, answer: JsonObject) -> Message:
        """Keep what is about to be given out, and return its message. A step is taken once."""
        row = (task, step, canonical.dumps(answer), datetime.now(UTC).isoformat(timespec="seconds"))
        self.entries.connection.execute("INSERT INTO curator_steps VALUES (?, ?, ?, ?)", row)
        return dict(answer["message"])
