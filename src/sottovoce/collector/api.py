"""The interface for programs, under /v1: surveys, reports to them, and estimates."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING

from sottovoce.collector import intake, results, tokens
from sottovoce.collector.layout import Layout
from sottovoce.collector.records import Block, StoredSurvey
from sottovoce.core.errors import ParameterError, ReportError, SottovoceError
from sottovoce.survey import Survey, planner
from sottovoce.survey.document import MAX_BYTES as SURVEY_BYTES
from sottovoce.web.http import Problem, Request, Response
from sottovoce.web.routing import Table

if TYPE_CHECKING:
    from sottovoce.collector.app import Collector

REFUSALS = {"conflict": 409, "closed": 410, "expired": 410, "invitation": 403}
THREAD_ABOVE_BYTES = 2**15
"""A larger body is checked in a thread, so that others need not wait for it."""


class Api:
    """Handlers over a collector."""

    def __init__(self, app: Collector) -> None:
        self.app, self.store = app, app.store
        self._analysis = asyncio.Semaphore(1)
        self._taken = lru_cache(64)(self._acknowledgement)

    def routes(self) -> Table:
        return {
            "/v1/surveys": {"GET": self.list_surveys, "POST": self.publish, "PUT": self.publish},
            "/v1/surveys/{id}": {"GET": self.show_survey},
            "/v1/surveys/{id}/guarantee": {"GET": self.guarantee},
            "/v1/surveys/{id}/close": {"POST": self.close_survey},
            "/v1/surveys/{id}/reports": {"POST": self.take_reports},
            "/v1/surveys/{id}/estimates": {"GET": self.estimates},
            "/v1/plan": {"GET": self.plan},
        }

    # Surveys.

    async def list_surveys(self, request: Request) -> Response:
        await self.app.access.require(request, "analyst", "admin")
        return Response(200, {"surveys": await asyncio.to_thread(self.store.surveys)})

    async def publish(self, request: Request) -> Response:
        """Keep a survey for good; a draft is published as it comes."""
        await self.app.access.require(request, "admin")
        invited = request.query("invited").get("invited", ["false"])[-1]
        if invited not in ("true", "false"):
            raise Problem(400, "bad_query", "invited must be true or false")
        data = await self.app.body(request, SURVEY_BYTES)
        try:
            survey = await asyncio.to_thread(lambda: Layout(Survey.loads(data).publish()).survey)
        except SottovoceError as error:
            raise Problem(400, "bad_survey", str(error)) from None
        try:
            new = await asyncio.to_thread(self.store.publish, survey, invited == "true")
        except ParameterError as error:
            raise Problem(409, "survey_differs", str(error)) from None
        place = {"location": f"/v1/surveys/{survey.id}", "etag": f'"{survey.digest}"'}
        return Response(201 if new else 200, {"id": survey.id, "digest": survey.digest}, headers=place)

    async def show_survey(self, request: Request, name: str) -> Response:
        """The canonical bytes that devices pin."""
        found = await self.app.find(name)
        tag = f'"{found.survey.digest}"'
        headers = self.app.origins | {"etag": tag, "cache-control": "no-cache", "access-control-expose-headers": "etag"}
        if tag in request.header(b"if-none-match"):
            return Response(304, headers=headers)
        return Response(200, found.document, headers=headers)

    async def guarantee(self, request: Request, name: str) -> Response:
        """What the survey costs a person: for devices that cannot work out what a shuffler adds."""
        survey = (await self.app.find(name)).survey
        found = await asyncio.to_thread(lambda: survey.guarantee)
        shown = found.to_dict() if found else {"local": {"epsilon": survey.epsilon}, "central": None}
        return Response(200, shown, headers=self.app.origins | {"cache-control": "max-age=3600"})

    async def close_survey(self, request: Request, name: str) -> Response:
        await self.app.access.require(request, "admin")
        await self.app.find(name)
        await asyncio.to_thread(self.store.close_survey, name)
        return Response(200, {"id": name, "state": "closed"})

    # Reports.

    async def take_reports(self, request: Request, name: str) -> Response:
        """Check the reports, wait until they are durable, and say so."""
        try:
            to = self.store.known(name) or await self.app.find(name)
            if to.survey.shuffle is not None:
                raise Problem(403, "shuffled", f"reports go to the shuffler, {to.survey.shuffle.address}")
            block = await self._block(request, to)
            outcome = await self.app.add(block)
            if outcome.refused:
                raise Problem(REFUSALS[outcome.refused], outcome.refused, outcome.detail)
        except Problem as problem:
            self.app.metrics.add("rejected", problem.code)
            if self.store.known(name):
                self.app.traffic.refused(name, problem.code)
            problem.headers |= self.app.origins
            raise
        self.app.count_taken(to, outcome)
        return self._taken(outcome.accepted, outcome.duplicates)

    def _acknowledgement(self, accepted: int, duplicates: int) -> Response:
        return Response(200, {"accepted": accepted, "duplicates": duplicates}, headers=self.app.origins)

    async def _block(self, request: Request, to: StoredSurvey) -> Block:
        kind = request.kind
        if kind not in intake.KINDS:
            raise Problem(415, "bad_type", f"the content-type must be one of {', '.join(intake.KINDS)}")
        if request.header(b"content-encoding") not in ("", "identity"):
            raise Problem(415, "bad_encoding", "the body must not be compressed")
        data = await self.app.body(request, self.app.max_body[kind])
        most, small = self.app.max_reports, len(data) <= THREAD_ABOVE_BYTES
        try:
            read = intake.read(data, kind, to, most) if small else await self.app.parse(
                intake.read, data, kind, to, most)  # fmt: skip
        except intake.TooMany as error:
            raise Problem(413, "too_large", str(error)) from None
        except intake.Mismatch as error:
            raise Problem(400, "mismatched", str(error)) from None
        except ReportError as error:
            raise Problem(400, "malformed", str(error)) from None
        return self._marked(read, request.header(b"sottovoce-invitation"))

    def _marked(self, block: Block, code: str) -> Block:
        """The block with what else the store must know: its invitation, and whether the survey has expired."""
        expired = self.app.expired(block.to)
        return block.marked(tokens.invitation_hash(code) if code else None, expired) if code or expired else block

    # Estimates.

    async def estimates(self, request: Request, name: str) -> Response:
        await self.app.admit(request)
        to = await self.app.find(name)
        asked = request.query("question", "wave", "by", "level", "population", "value", "format")
        query, form = results.EstimateQuery.read(asked), asked.get("format", ["json"])[-1]
        if form != "json" and form not in results.FORMATS:
            raise ParameterError(f"format must be one of json, {', '.join(results.FORMATS)}")
        query.check(to)
        async with self._analysis:
            kind, body = await asyncio.to_thread(self._estimates, to, query, form)
        waiting = sum((await asyncio.to_thread(self.store.waiting, to)).values())
        return Response(200, body, kind, {"sottovoce-waiting": str(waiting)} if to.invited else {})

    def _estimates(self, to: StoredSurvey, query: results.EstimateQuery, form: str) -> tuple[str, bytes]:
        return self.app.estimator.body(to, self.app.vectors(to, query.wave), query, form)

    # Planning.

    async def plan(self, request: Request) -> Response:
        """What a question would tell and give away. Open to everybody: it is arithmetic, with nobody's data."""
        asked = planner.read(request.query(*planner.PARAMETERS))
        found = await asyncio.to_thread(planner.study, asked)
        return Response(200, found, headers={"cache-control": "max-age=3600"})
