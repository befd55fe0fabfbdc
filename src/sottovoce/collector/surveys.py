"""Published surveys in the database. A survey never changes; what changes is whether it is open."""

from __future__ import annotations

from datetime import UTC, datetime

from sottovoce.collector.database import Database
from sottovoce.collector.records import StoredSurvey, SurveyEntry
from sottovoce.core.errors import ParameterError
from sottovoce.survey import Survey
from sottovoce.survey.checks import SURVEY_ID


class Surveys:
    """The table of surveys. Those that were looked up are remembered."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._known: dict[str, StoredSurvey] = {}

    def publish(self, survey: Survey, invited: bool = False) -> bool:
        """Keep a published survey; whether it is new. The id of a survey stands for one document for ever."""
        if invited and survey.shuffle is not None:
            raise ParameterError(f"survey {survey.id!r} is shuffled: nobody could tell whose invitation is whose")
        document = survey.canonical()
        with self.database.transaction() as connection:
            known = self.database.run(connection, "SELECT digest FROM surveys WHERE id = ?", [survey.id]).fetchone()
            if known:
                if known[0] != survey.digest:
                    raise ParameterError(
                        f"survey {survey.id!r} is published with another document, {known[0]}, and never changes"
                    )
                return False
            number = self.database.run(connection, "SELECT COALESCE(MAX(number), 0) + 1 FROM surveys").fetchone()[0]
            values = [number, survey.id, survey.digest, document, "open", today(), int(invited)]
            self.database.run(
                connection,
                "INSERT INTO surveys (number, id, digest, document, state, published_at, invited)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            )
        return True

    def close(self, name: str) -> None:
        """Take no more reports. Those that were acknowledged before stay."""
        with self.database.transaction() as connection:
            self.database.run(
                connection,
                "UPDATE surveys SET state = 'closed', closed_at = ? WHERE id = ? AND state = 'open'",
                [today(), name],
            )

    def known(self, name: str) -> StoredSurvey | None:
        """A survey by its id if it was looked up before: published surveys never change."""
        return self._known.get(name)

    def find(self, name: str) -> StoredSurvey | None:
        """A survey by its id."""
        if name not in self._known:
            if not SURVEY_ID.fullmatch(name):  # A database may fail on text that no id has, such as a zero byte.
                return None
            found = self.database.read("SELECT number, document, invited FROM surveys WHERE id = ?", [name])
            if not found:
                return None
            number, document = int(found[0][0]), bytes(found[0][1])
            survey = Survey.loads(document)
            self._known[name] = StoredSurvey(number, survey, document, invited=bool(found[0][2]))
        return self._known[name]

    def all(self) -> list[SurveyEntry]:
        """All surveys: id, digest, state and whether it is by invitation."""
        rows = self.database.read("SELECT id, digest, state, invited FROM surveys ORDER BY number")
        return [{"id": row[0], "digest": row[1], "state": row[2], "invited": bool(row[3])} for row in rows]

    def state(self, name: str) -> str:
        found = self.database.read("SELECT state FROM surveys WHERE id = ?", [name])
        return str(found[0][0]) if found else "unknown"


def today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"
