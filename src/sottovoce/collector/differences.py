"""How groups differ: a question by a public covariate, each group with its estimates, and tests of differences."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from sottovoce.collector.figures import columns
from sottovoce.collector.http import Request, Response
from sottovoce.collector.overview import covariate_values
from sottovoce.collector.records import Published
from sottovoce.collector.results import Query
from sottovoce.collector.routing import Table
from sottovoce.errors import ParameterError, SottovoceError
from sottovoce.inference.groups import differences
from sottovoce.inference.tests import homogeneity_test
from sottovoce.mechanisms.pure import Pure
from sottovoce.render import label_text
from sottovoce.tally import Tally

if TYPE_CHECKING:
    from sottovoce.collector.app import Collector

OTHERS = "*"
"""Stands for all groups but one."""

MOST_VALUES = 200
MOST_GROUPS = 20


class Differences:
    """One handler over a collector."""

    def __init__(self, app: Collector) -> None:
        self.app = app
        self._one = asyncio.Semaphore(1)

    def routes(self) -> Table:
        return {"/v1/surveys/{id}/differences": {"GET": self.show}}

    async def show(self, request: Request, name: str) -> Response:
        await self.app.admit(request)
        to = await self.app.find(name)
        query = Query.read(request.query("question", "by", "wave", "level"))
        query.check(to)
        if len(query.questions) != 1 or len(query.by) != 1:
            raise ParameterError("differences are of one question by one covariate: give question and by")
        async with self._one:
            return Response(200, await asyncio.to_thread(self._find, to, query))

    def _find(self, to: Published, query: Query) -> dict[str, Any]:
        vectors = self.app.vectors(to)
        wave = max((wave for wave, _ in vectors), default=0) if query.wave is None else query.wave
        groups = covariate_values({key: vector for key, vector in vectors.items() if key[0] == wave}, query.by[0])
        tallies = {name: to.layout.tally(query.questions[0], groups[name]) for name in sorted(groups)}
        shown = {name: tally for name, tally in tallies.items() if tally.n >= to.survey.minimum}
        return {
            "survey": to.survey.id,
            "question": query.questions[0],
            "by": query.by[0],
            "wave": wave,
            "level": query.level,
            "withheld": sorted(set(tallies) - set(shown)),
            **compared(shown, query.level),
        }


def compared(tallies: dict[str, Tally[Any]], level: float) -> dict[str, Any]:
    """Each group, whether they may all be alike, and how each differs: two from one another, more from all others."""
    try:
        groups = [{"group": name, "n": tally.n, "rows": columns(tally, tally.estimate(), level).to_dict()}
                  for name, tally in tallies.items()]  # fmt: skip
    except SottovoceError as error:
        return {"groups": [], "test": None, "differences": [], "reason": str(error)}
    found: dict[str, Any] = {"groups": groups, "test": None, "differences": [], "reason": None}
    if not 2 <= len(tallies) <= MOST_GROUPS or _values(tallies) > MOST_VALUES:
        return found
    if all(isinstance(tally.mechanism, Pure) for tally in tallies.values()):
        found["test"] = homogeneity_test(list(tallies.values())).to_dict()
    pairs = {names: (first.estimate(), second.estimate()) for names, (first, second) in _pairs(tallies).items()}
    rows = [one.to_dict() for one in differences(pairs, level)]
    return found | {"differences": [row | {"label": label_text(row["label"])} for row in rows]}


def _values(tallies: dict[str, Tally[Any]]) -> int:
    mechanism: Any = next(iter(tallies.values())).mechanism
    return mechanism.domain.size if isinstance(mechanism, Pure) else 1


def _pairs(tallies: dict[str, Tally[Any]]) -> dict[tuple[str, str], tuple[Tally[Any], Tally[Any]]]:
    names = list(tallies)
    if len(names) == 2:
        return {(names[1], names[0]): (tallies[names[1]], tallies[names[0]])}
    return {(name, OTHERS): (tallies[name], _merged([tallies[other] for other in names if other != name]))
            for name in names}  # fmt: skip


def _merged(tallies: list[Tally[Any]]) -> Tally[Any]:
    total = tallies[0].mechanism.tally()  # type: ignore[attr-defined]
    for tally in tallies:
        total.merge(tally)
    return total  # type: ignore[no-any-return]
