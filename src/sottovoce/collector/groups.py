"""Groups of reports by invitation. A group is counted, and its invitations are spent, all at once.

A group has at least as many reports as the survey's minimum, all of one wave. It closes when twice the minimum wait.
Then reports are drawn at random to leave, and a minimum of them waits on, so that those who come last are not alone.
When the survey ends, or a later wave has closed a group, all reports of a wave leave that wait, unless they are fewer
than the minimum. No time limit closes a group, since it would close one that is too small.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sottovoce.collector.database import Connection, Database
from sottovoce.collector.records import StoredSurvey
from sottovoce.collector.reports import IDS_PER_STATEMENT, ReportTable, by_tally
from sottovoce.collector.tallies import TallyParts
from sottovoce.collector.waiting import WaitingReport, WaitingRoom


def due(waiting: Mapping[int, int], minimum: int, ended: bool) -> dict[int, int]:
    """How many reports of each wave are to leave, if as many wait as given.

    >>> due({0: 9}, minimum=5, ended=False), due({0: 11}, minimum=5, ended=False)
    ({}, {0: 6})
    >>> due({0: 9, 1: 4}, minimum=5, ended=True), due({0: 9, 1: 10}, minimum=5, ended=False)
    ({0: 9}, {1: 5, 0: 9})
    """
    leaving: dict[int, int] = {}
    for wave in sorted(waiting, reverse=True):
        count = waiting[wave]
        if (ended or leaving) and count >= minimum:
            leaving[wave] = count
        elif count >= 2 * minimum:
            leaving[wave] = count - minimum
    return leaving


class Groups:
    """Closes groups of the reports that wait."""

    def __init__(self, database: Database, reports: ReportTable, waiting: WaitingRoom) -> None:
        self.database, self.reports, self.waiting = database, reports, waiting

    def settle(self, to: StoredSurvey, expired: bool = False) -> None:
        """Close the last groups of a survey that has ended, if that was not done before."""
        if not due(self.waiting.counts(to), to.survey.minimum, ended=True):
            return
        if expired or self.database.read("SELECT 1 FROM surveys WHERE number = ? AND state <> 'open'", [to.number]):
            self.release(to, ended=True)

    def release(self, to: StoredSurvey, ended: bool = False) -> None:
        """Close the groups of a survey that are due, in one transaction, and forget who came with which report."""
        if not due(self.waiting.counts(to), to.survey.minimum, ended):
            return
        written: TallyParts = {}
        with self.database.transaction() as connection:
            leaving, staying = _parted(self.waiting.all(connection), to, ended)
            self._spend(connection, to, leaving)
            groups = by_tally([(to.number, [one.unpack(to) for one in leaving])])
            self.reports.write(connection, groups, {to.number: to.layout}, written, checked=True)
            self.waiting.refill(connection, staying)
        self.reports.tallies.remember(written)
        self.database.erase_deleted()

    def _spend(self, connection: Connection, to: StoredSurvey, group: Sequence[WaitingReport]) -> None:
        """Mark the invitations of a group as spent, in the order of their hashes."""
        hashes = sorted(one.invitation for one in group)
        for at in range(0, len(hashes), IDS_PER_STATEMENT):
            part = hashes[at : at + IDS_PER_STATEMENT]
            marks = ", ".join("?" * len(part))
            sql = f"UPDATE invitations SET spent = 1 WHERE survey = ? AND hash IN ({marks})"  # noqa: S608
            self.database.run(connection, sql, [to.number, *part])


def _parted(
    shuffled: Sequence[WaitingReport], to: StoredSurvey, ended: bool
) -> tuple[list[WaitingReport], list[WaitingReport]]:
    """Those who leave and those who stay, of all that wait, which come in random order."""
    counts: defaultdict[int, int] = defaultdict(int)
    for one in shuffled:
        counts[one.wave] += one.survey == to.number
    left = due({wave: count for wave, count in counts.items() if count}, to.survey.minimum, ended)
    leaving: list[WaitingReport] = []
    staying: list[WaitingReport] = []
    for one in shuffled:
        goes = one.survey == to.number and left.get(one.wave, 0) > 0
        (leaving if goes else staying).append(one)
        if goes:
            left[one.wave] -= 1
    return leaving, staying
