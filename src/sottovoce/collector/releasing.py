"""Groups: reports that came by invitation are counted, and their invitations spent, by at least the minimum at a time.

A group is of one wave. It closes when twice the survey's minimum wait. Then all but a minimum of them leave, drawn at
random; the others wait on, so that those who come last find company. At the end of a survey all leave that wait, unless
they are fewer than the minimum; so they do when a later wave has closed a group. No time limit closes a group: it
would close one that is too small.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sottovoce.collector.adding import LOOK_UP, Adding, Group
from sottovoce.collector.quick import Read
from sottovoce.collector.records import Block, Outcome, Published, Unavailable
from sottovoce.collector.waiting import Waiting


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


class Releasing(Adding):
    """The part of a store that closes groups."""

    def add(self, blocks: Sequence[Block]) -> list[Outcome]:
        """Keep the reports of many requests; what became of each. Groups that are full by that are closed."""
        outcomes = super().add(blocks)
        arrived = {block.to.number: block.to for block, outcome in zip(blocks, outcomes, strict=True)
                   if block.to.invited and outcome.accepted}  # fmt: skip
        for to in arrived.values():
            with suppress(Unavailable):  # What came is durable: the next to come tries again to close the group.
                self.release(to)
        return outcomes

    def settle(self, to: Published, expired: bool = False) -> None:
        """Close the last groups of a survey that has ended, if that was not done before."""
        waiting = self.waiting(to)
        if not due(waiting, to.survey.minimum, ended=True):
            return
        if expired or self._read("SELECT 1 FROM surveys WHERE number = ? AND state <> 'open'", [to.number]):
            self.release(to, ended=True)

    def release(self, to: Published, ended: bool = False) -> None:
        """Close the groups of a survey that are due, in one transaction, and forget who came with which report."""
        if not due(self.waiting(to), to.survey.minimum, ended):
            return
        fresh: dict[tuple[Any, ...], bytes] = {}
        with self._transaction() as connection:
            leaving, staying = _parted(self._all_waiting(connection), to, ended)
            self._spend(connection, to, leaving)
            self._keep(connection, _by_tally(leaving, to), {to.number: to.layout}, fresh, checked=True)
            self._refill(connection, staying)
        self._remember(fresh)
        self._forget()

    def _spend(self, connection: Any, to: Published, group: Sequence[Waiting]) -> None:
        """Mark the invitations of a group as spent, in the order of their hashes."""
        hashes = sorted(one.invitation for one in group)
        for at in range(0, len(hashes), LOOK_UP):
            part = hashes[at : at + LOOK_UP]
            marks = ", ".join("?" * len(part))
            sql = f"UPDATE invitations SET spent = 1 WHERE survey = ? AND hash IN ({marks})"  # noqa: S608
            self._run(connection, sql, [to.number, *part])


def _parted(shuffled: Sequence[Waiting], to: Published, ended: bool) -> tuple[list[Waiting], list[Waiting]]:
    """Those who leave and those who stay, of all that wait, which come in random order."""
    counts: defaultdict[int, int] = defaultdict(int)
    for one in shuffled:
        counts[one.wave] += one.survey == to.number
    left = due({wave: count for wave, count in counts.items() if count}, to.survey.minimum, ended)
    leaving: list[Waiting] = []
    staying: list[Waiting] = []
    for one in shuffled:
        goes = one.survey == to.number and left.get(one.wave, 0) > 0
        (leaving if goes else staying).append(one)
        if goes:
            left[one.wave] -= 1
    return leaving, staying


def _by_tally(group: Sequence[Waiting], to: Published) -> dict[Group, list[Read]]:
    groups: defaultdict[Group, list[Read]] = defaultdict(list)
    for one in group:
        read = one.read(to)
        groups[to.number, read[1], read[2]].append(read)
    return groups
