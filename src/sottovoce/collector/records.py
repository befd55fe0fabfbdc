"""What travels between the parts of a collector: published surveys, blocks of reports, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sottovoce.collector.layout import Layout
from sottovoce.collector.quick import Quick, Read
from sottovoce.errors import StoreError
from sottovoce.survey import Survey

Row = tuple[int, bytes, int, str, bytes]
"""Survey, id, wave, covariates, body."""


class Unavailable(StoreError):  # noqa: N818
    """The database cannot be reached or written now; the same may work later."""


class Full(Unavailable):
    """There is no room left on the disk."""


@dataclass(frozen=True)
class Published:
    """A survey as the store has it."""

    number: int
    survey: Survey
    document: bytes
    invited: bool = False
    """Whether it takes reports by invitation alone."""

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.survey)

    @cached_property
    def quick(self) -> Quick:
        return Quick(self.layout)


@dataclass(slots=True)
class Block:
    """The reports of one request, checked against their survey. They are taken all together or not at all."""

    to: Published
    reads: Sequence[Read]
    invitation: bytes | None = None
    expired: bool = False
    batch: bytes | None = None
    """The id of the batch that a shuffler sent; such reports are taken one by one, and the batch once."""

    def __len__(self) -> int:
        return len(self.reads)

    def marked(self, invitation: bytes | None, expired: bool) -> Block:
        """The same with an invitation, or too late."""
        return replace(self, invitation=invitation, expired=expired)


@dataclass(slots=True)
class Outcome:
    """What became of a block: how many of its reports were new, how many known, or why none was taken."""

    accepted: int = 0
    duplicates: int = 0
    refused: str | None = None
    detail: str = ""
    dropped: int = 0
    """Reports of a batch that contradict others of the same id."""
