"""What a collector keeps: surveys, reports, tallies, tokens and invitations, in SQLite or PostgreSQL.

Reports and the tallies that count them are written in one transaction, so that the one is always the sum of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sottovoce.collector.database import Database, Dialect
from sottovoce.collector.groups import Groups
from sottovoce.collector.ingest import Ingest
from sottovoce.collector.records import Block, StoredReport, StoredSurvey, SurveyEntry
from sottovoce.collector.reports import ReportTable
from sottovoce.collector.surveys import Surveys
from sottovoce.collector.tallies import Tallies
from sottovoce.collector.tokens import Tokens
from sottovoce.collector.waiting import WaitingRoom
from sottovoce.survey import Survey
from sottovoce.web.block_outcome import BlockOutcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Store:
    """One database, and the parts that each look after some of its tables. What others may ask of them is here."""

    def __init__(self, dialect: Dialect) -> None:
        self.database = Database(dialect)
        self._surveys = Surveys(self.database)
        self._tallies = Tallies(self.database)
        self._reports = ReportTable(self.database, self._tallies)
        self._waiting = WaitingRoom(self.database)
        self._groups = Groups(self.database, self._reports, self._waiting)
        self._ingest = Ingest(self.database, self._reports, self._waiting, self._groups)
        self._tokens = Tokens(self.database)

    # The database.

    def check(self) -> None:
        """Raise `StoreUnavailable` if the database does not answer."""
        self.database.check()

    def close(self) -> None:
        self.database.close()

    # Surveys.

    def publish(self, survey: Survey, invited: bool = False) -> bool:
        """Keep a published survey; whether it is new. The id of a survey stands for one document for ever."""
        return self._surveys.publish(survey, invited)

    def survey(self, name: str) -> StoredSurvey | None:
        """A survey by its id."""
        return self._surveys.find(name)

    def known(self, name: str) -> StoredSurvey | None:
        """A survey by its id if it was looked up before: no statement is run."""
        return self._surveys.known(name)

    def surveys(self) -> list[SurveyEntry]:
        """All surveys: id, digest, state and whether it is by invitation."""
        return self._surveys.all()

    def state(self, name: str) -> str:
        """Whether a survey is open, closed or unknown."""
        return self._surveys.state(name)

    def close_survey(self, name: str) -> None:
        """Take no more reports. Those that were acknowledged before stay, and the last groups are closed."""
        self._surveys.close(name)
        to = self.survey(name)
        if to is not None:
            self.settle(to)

    # Reports.

    def add(self, blocks: Sequence[Block]) -> list[BlockOutcome]:
        """Take in the reports of many requests; what became of each. On return all of it is durable."""
        return self._ingest.add(blocks)

    def reports(self, to: StoredSurvey) -> Iterator[list[StoredReport]]:
        """All reports of a survey by their random ids, some at a time."""
        return self._reports.all(to)

    def vectors(self, to: StoredSurvey, wave: int | None = None) -> dict[tuple[int, str], NDArray[np.int64]]:
        """The counts of each wave and each combination of covariates, as they were at one moment."""
        return self._tallies.vectors(to, wave)

    # Reports by invitation, which wait for their group.

    def add_invitations(self, to: StoredSurvey, hashes: Sequence[bytes]) -> None:
        """Let the holders of these invitations in, one report each."""
        self._waiting.add_invitations(to, hashes)

    def waiting(self, to: StoredSurvey) -> dict[int, int]:
        """How many reports of each wave wait."""
        return self._waiting.counts(to)

    def settle(self, to: StoredSurvey, expired: bool = False) -> None:
        """Close the last groups of a survey that has ended, if that was not done before."""
        self._groups.settle(to, expired)

    def check_waiting(self) -> None:
        """Raise `StoreError` if the key to what waits is lost."""
        self._waiting.check()

    def give_up_waiting(self) -> int:
        """Delete all that waits, whose key is lost; how many reports that were. Their invitations are not spent."""
        return self._waiting.give_up()

    # Tokens, by their hashes.

    def add_token(self, digest: str, role: str, name: str) -> None:
        self._tokens.add(digest, role, name)

    def tokens(self) -> list[dict[str, str]]:
        """All tokens: hash, role, name and the day when it was made."""
        return self._tokens.all()

    def revoke(self, name: str) -> bool:
        """Delete a token; whether there was one of this name."""
        return self._tokens.revoke(name)
