"""The collector as an ASGI application: it takes reports in, keeps them, and shows estimates to those who may see them.

It answers ASGI itself: a dozen routes need no framework, and the fastest one would halve the reports it takes in.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from sottovoce.collector import intake, openapi, results, tokens
from sottovoce.collector.deadlines import Deadlines
from sottovoce.collector.http import Disconnected, Problem, Receive, Request, Response, Scope, Send
from sottovoce.collector.layout import Layout
from sottovoce.collector.limits import RateLimit
from sottovoce.collector.metrics import Metrics
from sottovoce.collector.records import Block, Full, Outcome, Published, Unavailable
from sottovoce.collector.store import Store
from sottovoce.collector.writer import Busy, Writer
from sottovoce.errors import ParameterError, ReportError, SottovoceError
from sottovoce.survey import Survey
from sottovoce.survey.document import MAX_BYTES as SURVEY_BYTES

Handler = Callable[[Request, str], Awaitable[Response]]

REFUSALS = {"conflict": 409, "closed": 410, "expired": 410, "invitation": 403}
RETRY = {"retry-after": "1"}
PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self' 'unsafe-inline'; connect-src 'self'"


class Collector:
    """The service over one store. Every limit is an argument; None for `rate` means no limit.

    `public_estimates` shows estimates to everybody, still none from fewer reports than the survey's minimum. `origins`
    is the value of Access-Control-Allow-Origin for what browsers may ask for: to fetch surveys and to send reports.
    """

    def __init__(
        self,
        store: Store,
        *,
        public_estimates: bool = False,
        max_body: int = 2**24,
        max_reports: int = 100_000,
        rate: float | None = 100.0,
        burst: float = 1000.0,
        body_seconds: float = 20.0,
        commit_seconds: float = 30.0,
        max_pending: int = 200_000,
        group: int = 20_000,
        origins: str = "*",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store, self.public_estimates, self.clock = store, public_estimates, clock
        self.max_body, self.max_reports = max_body, max_reports
        self.body_seconds, self.commit_seconds = body_seconds, commit_seconds
        self.limit = RateLimit(rate, burst) if rate is not None else None
        self.origins = {"access-control-allow-origin": origins} | ({} if origins == "*" else {"vary": "origin"})
        self.metrics, self._deadlines = Metrics(), Deadlines()
        self._group, self._max_pending = group, max_pending
        self._writer: Writer | None = None
        self._analysis = asyncio.Semaphore(1)
        self.routes: dict[tuple[str, ...], dict[str, Handler]] = {
            ("healthz",): {"GET": self.health},
            ("metrics",): {"GET": self.show_metrics},
            ("openapi.json",): {"GET": self.describe},
            ("docs",): {"GET": self.reference},
            ("v1", "surveys"): {"GET": self.list_surveys, "POST": self.publish, "PUT": self.publish},
            ("v1", "surveys", "*"): {"GET": self.show_survey},
            ("v1", "surveys", "*", "close"): {"POST": self.close_survey},
            ("v1", "surveys", "*", "reports"): {"POST": self.take_reports},
            ("v1", "surveys", "*", "estimates"): {"GET": self.estimates},
        }

    # ASGI.

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            request = Request(scope, receive)
            try:
                response = await self._answer(request)
            except Disconnected:
                self.metrics.add("rejected", "disconnected")
                return
            self.metrics.add("requests", str(response.status))
            await response.send(send, bare=request.method == "HEAD")

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.start()
                await send({"type": "lifespan.startup.complete"})
            else:
                await self._deadlines.stop()
                await asyncio.to_thread(self.stop)
                await send({"type": "lifespan.shutdown.complete"})
                return

    def start(self) -> None:
        """Start to write, for the event loop that runs now."""
        loop = asyncio.get_running_loop()

        def done(answers: Sequence[tuple[object, Outcome | Exception]]) -> None:
            loop.call_soon_threadsafe(_resolve, answers)

        self._writer = Writer(self.store, done, self._group, self._max_pending)
        self._writer.start()
        self._deadlines.start()

    def stop(self) -> None:
        """Write all that was taken in, and close the store."""
        if self._writer is not None:
            self._writer.close()
        self.store.close()

    async def _answer(self, request: Request) -> Response:
        try:
            self._check_rate(request)
            parts = request.path.removeprefix("/").split("/")
            name = parts[2] if len(parts) > 2 else ""
            methods = self.routes.get((*parts[:2], *(["*", *parts[3:]] if name else parts[2:])))
            if methods is None:
                raise Problem(404, "not_found", "there is nothing at this address")
            if request.method == "OPTIONS":
                return self._options(methods)
            handler = methods.get("GET" if request.method == "HEAD" else request.method)
            if handler is None:
                raise Problem(405, "bad_method", f"this takes {', '.join(methods)}", {"allow": ", ".join(methods)})
            return await handler(request, name)
        except Problem as problem:
            return problem.response()
        except Full as error:
            return self._failed(507, "storage_full", str(error))
        except Unavailable:
            return self._failed(503, "storage_unavailable", "the storage cannot be used now, try again")
        except Busy as error:
            return self._failed(503, "busy", str(error))
        except ParameterError as error:
            return Problem(400, "bad_request", str(error)).response()
        except Disconnected:
            raise
        except Exception:
            return self._failed(500, "internal", "the collector failed, and has kept nothing of the request")

    def _failed(self, status: int, code: str, message: str) -> Response:
        self.metrics.add("failed", code)
        return Problem(status, code, message, RETRY).response()

    def _options(self, methods: dict[str, Handler]) -> Response:
        allowed = {
            "allow": ", ".join(methods),
            "access-control-allow-methods": ", ".join(methods),
            "access-control-allow-headers": "content-type, authorization, sottovoce-invitation",
            "access-control-max-age": "86400",
        }
        return Response(204, headers=self.origins | allowed)

    def _check_rate(self, request: Request) -> None:
        wait = self.limit.wait(request.address) if self.limit else 0.0
        if wait:
            self.metrics.add("rejected", "rate")
            seconds = {"retry-after": str(math.ceil(wait))}
            raise Problem(429, "too_many_requests", "too many requests from one address", seconds | self.origins)

    # Who may.

    async def _require(self, request: Request, *roles: str) -> None:
        scheme, _, token = request.header(b"authorization").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Problem(401, "no_token", "this needs a token", {"www-authenticate": "Bearer"})
        role = await asyncio.to_thread(tokens.role_of, self.store, token.strip())
        if role is None:
            raise Problem(401, "bad_token", "the token is not valid", {"www-authenticate": "Bearer"})
        if role not in roles:
            raise Problem(403, "wrong_role", f"this needs a token of the role {roles[-1]}")

    async def _find(self, name: str) -> Published:
        found = await asyncio.to_thread(self.store.survey, name)
        if found is None:
            raise Problem(404, "no_survey", f"there is no survey {name!r:.70}", self.origins)
        return found

    # Surveys.

    async def list_surveys(self, request: Request, _: str) -> Response:
        await self._require(request, "analyst", "admin")
        return Response(200, {"surveys": await asyncio.to_thread(self.store.surveys)})

    async def publish(self, request: Request, _: str) -> Response:
        """Keep a survey for good; a draft is published as it comes."""
        await self._require(request, "admin")
        invited = request.query("invited").get("invited", ["false"])[-1]
        if invited not in ("true", "false"):
            raise Problem(400, "bad_query", "invited must be true or false")
        data = await request.body(SURVEY_BYTES, self.body_seconds, self._deadlines)
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
        found = await self._find(name)
        tag = f'"{found.survey.digest}"'
        headers = self.origins | {"etag": tag, "cache-control": "no-cache", "access-control-expose-headers": "etag"}
        if tag in request.header(b"if-none-match"):
            return Response(304, headers=headers)
        return Response(200, found.document, headers=headers)

    async def close_survey(self, request: Request, name: str) -> Response:
        await self._require(request, "admin")
        await self._find(name)
        await asyncio.to_thread(self.store.close_survey, name)
        return Response(200, {"id": name, "state": "closed"})

    # Reports.

    async def take_reports(self, request: Request, name: str) -> Response:
        """Check the reports, wait until they are durable, and say so."""
        try:
            block = await self._block(request, self.store.known(name) or await self._find(name))
            outcome = await self._keep(block)
            if outcome.refused:
                raise Problem(REFUSALS[outcome.refused], outcome.refused, outcome.detail)
        except Problem as problem:
            self.metrics.add("rejected", problem.code)
            problem.headers |= self.origins
            raise
        self.metrics.add("accepted", count=outcome.accepted)
        self.metrics.add("duplicates", count=outcome.duplicates)
        body = b'{"accepted": %d, "duplicates": %d}' % (outcome.accepted, outcome.duplicates)
        return Response(200, body, headers=self.origins)

    async def _block(self, request: Request, to: Published) -> Block:
        kind = request.kind
        if kind not in intake.KINDS:
            raise Problem(415, "bad_type", f"the content-type must be one of {', '.join(intake.KINDS)}")
        if request.header(b"content-encoding") not in ("", "identity"):
            raise Problem(415, "bad_encoding", "the body must not be compressed")
        data = await request.body(self.max_body, self.body_seconds, self._deadlines)
        small = len(data) <= SMALL
        try:
            read = intake.read(data, kind, to, self.max_reports) if small else await asyncio.to_thread(
                intake.read, data, kind, to, self.max_reports)  # fmt: skip
        except intake.TooMany as error:
            raise Problem(413, "too_large", str(error)) from None
        except intake.Mismatch as error:
            raise Problem(400, "mismatched", str(error)) from None
        except ReportError as error:
            raise Problem(400, "malformed", str(error)) from None
        return self._marked(read, request.header(b"sottovoce-invitation"))

    def _marked(self, block: Block, code: str) -> Block:
        """With what the store must know besides: an invitation, and whether the time is over."""
        expires = block.to.survey.expires
        expired = expires is not None and self.clock() >= expires
        return block.marked(tokens.invitation_hash(code) if code else None, expired) if code or expired else block

    async def _keep(self, block: Block) -> Outcome:
        if self._writer is None:
            raise Busy("the collector has not started")
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._writer.submit(block, future)
        self._deadlines.set(future, self.commit_seconds)
        try:
            return await future
        except TimeoutError:
            raise Unavailable("the storage takes too long") from None
        finally:
            self._deadlines.clear(future)

    # Estimates.

    async def estimates(self, request: Request, name: str) -> Response:
        if not self.public_estimates:
            await self._require(request, "analyst", "admin")
        to = await self._find(name)
        asked = request.query("question", "wave", "by", "level", "population", "value", "format")
        query, kind = _query(asked), asked.get("format", ["json"])[-1]
        if kind != "json" and kind not in results.FORMATS:
            raise Problem(400, "bad_query", f"format must be one of json, {', '.join(results.FORMATS)}")
        query.check(to)
        async with self._analysis:
            return await asyncio.to_thread(self._estimates, to, query, kind)

    def _estimates(self, to: Published, query: results.Query, kind: str) -> Response:
        findings = results.find(to, self.store.vectors(to, query.wave), query)
        if kind == "json":
            return Response(200, results.to_json(to, findings, query))
        media, write = results.FORMATS[kind]
        return Response(200, write(results.to_table(findings, query)), media)

    # About the collector itself.

    async def health(self, request: Request, _: str) -> Response:
        await asyncio.to_thread(self.store.check)
        if self._writer is None or not self._writer.is_alive():
            raise Unavailable("nothing is written")
        return Response(200, {"status": "ok"})

    async def show_metrics(self, request: Request, _: str) -> Response:
        pending = self._writer.pending if self._writer else 0
        return Response(200, self.metrics.text(pending=pending).encode(), "text/plain; version=0.0.4; charset=utf-8")

    async def describe(self, request: Request, _: str) -> Response:
        return Response(200, openapi.document(), headers=self.origins)

    async def reference(self, request: Request, _: str) -> Response:
        page = resources.files("sottovoce.collector").joinpath("reference.html").read_bytes()
        return Response(200, page, "text/html; charset=utf-8", {"content-security-policy": PAGE_POLICY})


SMALL = 2**15
"""Bytes of a body that are checked on the spot; a larger one in a thread, so that others need not wait for it."""


def _resolve(answers: Sequence[tuple[Any, Outcome | Exception]]) -> None:
    """Wake those who wait, but for those who have gone."""
    for future, answer in answers:
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)


def _query(asked: dict[str, list[str]]) -> results.Query:
    try:
        wave = asked["wave"][-1] if "wave" in asked else None
        if wave is not None and not (wave.isascii() and wave.isdecimal() and len(wave) < 10):
            raise ValueError
        level = float(asked.get("level", ["0.95"])[-1])
        population = {"true": True, "false": False}[asked.get("population", ["false"])[-1]]
    except (ValueError, KeyError):
        message = "wave must be a whole number, level a number, population true or false"
        raise Problem(400, "bad_query", message) from None
    return results.Query(
        tuple(asked.get("question", ())),
        None if wave is None else int(wave),
        tuple(dict.fromkeys(asked.get("by", ()))),
        level,
        population,
        tuple(asked.get("value", ())),
    )
