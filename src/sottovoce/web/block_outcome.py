"""What a store answers for each block of reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class BlockOutcome:
    """What became of a block: how many of its reports were new, how many known, or why none was taken."""

    accepted: int = 0
    duplicates: int = 0
    refused: str | None = None
    detail: str = ""
    dropped: int = 0
    """Reports of a batch that contradict others of the same id."""
