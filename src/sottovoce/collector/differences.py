"""The route that shows how groups differ in one question, by a public covariate."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sottovoce.collector.overview import covariate_values
from sottovoce.collector.records import StoredSurvey
from sottovoce.collector.results import EstimateQuery
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.statistics.group_comparison import compare_groups
from sottovoce.survey.minimum import TooFewReports, released
from sottovoce.web.http import Request, Response
from sottovoce.web.routing import Table

if TYPE_CHECKING:
    from sottovoce.collector.app import Collector
    from sottovoce.estimates import Result
    from sottovoce.estimates.tally import Tally


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
        query = EstimateQuery.read(request.query("question", "by", "wave", "level"))
        query.check(to)
        if len(query.questions) != 1 or len(query.by) != 1:
            raise ParameterError("differences are of one question by one covariate: give question and by")
        async with self._one:
            return Response(200, await asyncio.to_thread(self._find, to, query))

    def _find(self, to: StoredSurvey, query: EstimateQuery) -> JsonObject:
        vectors = self.app.vectors(to)
        wave = max((wave for wave, _ in vectors), default=0) if query.wave is None else query.wave
        groups = covariate_values({key: vector for key, vector in vectors.items() if key[0] == wave}, query.by[0])
        shown: dict[str, Tally[Result]] = {}
        withheld: list[str] = []
        for name in sorted(groups):
            try:
                shown[name] = released(to.layout.tally(query.questions[0], groups[name]), to.survey.minimum)
            except TooFewReports:
                withheld.append(name)
        return {
            "survey": to.survey.id,
            "question": query.questions[0],
            "by": query.by[0],
            "wave": wave,
            "level": query.level,
            "withheld": withheld,
            **compare_groups(shown, query.level),
        }
