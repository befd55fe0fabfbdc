"""What travels between the parts of a collector: published surveys, and blocks of reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypedDict

from sottovoce.collector.canonical_parser import CanonicalParser, ReportRow
from sottovoce.collector.layout import Layout
from sottovoce.survey import Survey

StoredReport = tuple[int, bytes, int, str, bytes]
"""The survey's number, then id, wave, covariates and body."""


class SurveyEntry(TypedDict):
    """A survey in the list of all."""

    id: str
    digest: str
    state: str
    invited: bool


@dataclass(frozen=True)
class StoredSurvey:
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
    def parser(self) -> CanonicalParser:
        return CanonicalParser(self.layout)


@dataclass(slots=True)
class Block:
    """The reports of one request, checked against their survey. They are taken all together or not at all."""

    to: StoredSurvey
    rows: Sequence[ReportRow]
    invitation: bytes | None = None
    expired: bool = False
    batch: bytes | None = None
    """The id of the batch that a shuffler sent; such reports are taken one by one, and the batch once."""

    def __len__(self) -> int:
        return len(self.rows)

    def marked(self, invitation: bytes | None, expired: bool) -> Block:
        """The same block with an invitation, or marked as too late."""
        return replace(self, invitation=invitation, expired=expired)
