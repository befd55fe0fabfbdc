"""What a device's store holds, for tests that look inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.device.ledger import Ledger
from sottovoce.survey import Survey

if TYPE_CHECKING:
    from sottovoce.mechanisms.longitudinal.base import Memory


def memory_in(ledger: Ledger, survey: Survey, question: str) -> Memory:
    """What the mechanism of a question remembers after the first wave."""
    with ledger.transaction() as entries:
        memory = entries.memory(survey.digest, question)
    assert memory is not None
    return memory
