"""A service over ASGI: routes, limits, counters, errors of one shape, a start and an end in order."""

from __future__ import annotations

import asyncio
import logging
import math
import traceback
from collections.abc import Awaitable, Sized
from typing import TypedDict, Unpack

from sottovoce.collector.deadlines import Deadlines
from sottovoce.collector.http import Disconnected, Problem, Receive, Reply, Request, Response, Scope, Send
from sottovoce.collector.limits import RateLimit
from sottovoce.collector.metrics import Metrics
from sottovoce.collector.records import Full, Outcome, Unavailable
from sottovoce.collector.routing import Methods, Router
from sottovoce.collector.writer import Busy, Keeper, Writer
from sottovoce.errors import ParameterError

LOG = logging.getLogger("sottovoce.collector")
"""Says where the service failed, and nothing about what was sent or by whom."""

RETRY = {"retry-after": "1"}
ALLOWED_HEADERS = "content-type, authorization, sottovoce-invitation"


class Limits(TypedDict, total=False):
    """What a service allows, and the value of Access-Control-Allow-Origin for what browsers may ask for."""

    rate: float | None
    burst: float
    body_seconds: float
    commit_seconds: float
    max_pending: int
    group: int
    origins: str


DEFAULTS: Limits = {
    "rate": 100.0,
    "burst": 1000.0,
    "body_seconds": 20.0,
    "commit_seconds": 30.0,
    "max_pending": 200_000,
    "group": 20_000,
    "origins": "*",
}


class Service:
    """A store, and routes to it. Every limit is an argument (see `Limits`); None for `rate` means no limit.

    `router.add` takes tables of routes. Their handlers find all they need here: read a bounded `body`, wait until
    something is `written`, and `ending`, which is set when the server ends.
    """

    def __init__(self, store: Keeper, **given: Unpack[Limits]) -> None:
        limits: Limits = {**DEFAULTS, **given}
        rate, origins = limits["rate"], limits["origins"]
        self._keeper, self.body_seconds, self.commit_seconds = store, limits["body_seconds"], limits["commit_seconds"]
        self.limit = RateLimit(rate, limits["burst"]) if rate is not None else None
        self.origins = {"access-control-allow-origin": origins} | ({} if origins == "*" else {"vary": "origin"})
        self.metrics, self.ending, self.router = Metrics(), asyncio.Event(), Router()
        self._deadlines = Deadlines()
        self._group, self._max_pending = limits["group"], limits["max_pending"]
        self._writer: Writer | None = None
        self.router.add({"/healthz": {"GET": self.health}, "/metrics": {"GET": self.show_metrics}})

    def start(self) -> None:
        """Start to write, for the event loop that runs now."""
        self._writer = Writer(self._keeper, asyncio.get_running_loop(), self._group, self._max_pending)
        self._writer.start()
        self._deadlines.start()

    def stop(self) -> None:
        """Write all that was taken in, and close the store."""
        if self._writer is not None:
            self._writer.close()
        self._keeper.close()

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
            await response.send(send, request, self.ending)

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

    async def _answer(self, request: Request) -> Reply:
        try:
            if self.limit is not None:
                self._check_rate(request, self.limit)
            methods, values = self.router.find(request.path)
            if request.method == "OPTIONS":
                return self._options(methods)
            handler = methods.get("GET" if request.method == "HEAD" else request.method)
            if handler is None:
                raise Problem(405, "bad_method", f"this takes {', '.join(methods)}", {"allow": ", ".join(methods)})
            return await handler(request, *values)
        except Problem as problem:
            return problem.response()
        except Full as error:
            return self._failed(507, "storage_full", str(error))
        except Unavailable:
            return self._failed(503, "storage_unavailable", "the storage cannot be used now, try again")
        except Busy as error:
            return self._failed(503, "busy", str(error))
        except ParameterError as error:
            return Problem(400, "bad_query", str(error)).response()
        except Disconnected:
            raise
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            LOG.error("a request failed: %s in %s, line %s", type(error).__name__, where.filename, where.lineno)
            return self._failed(500, "internal", "the service failed, and has kept nothing of the request")

    def _failed(self, status: int, code: str, message: str) -> Response:
        self.metrics.add("failed", code)
        return Problem(status, code, message, RETRY).response()

    def _options(self, methods: Methods) -> Response:
        allowed = {
            "allow": ", ".join(methods),
            "access-control-allow-methods": ", ".join(methods),
            "access-control-allow-headers": ALLOWED_HEADERS,
            "access-control-max-age": "86400",
        }
        return Response(204, headers=self.origins | allowed)

    def _check_rate(self, request: Request, limit: RateLimit) -> None:
        wait = limit.wait(request.address)
        if wait:
            self.metrics.add("rejected", "rate")
            seconds = {"retry-after": str(math.ceil(wait))}
            raise Problem(429, "too_many_requests", "too many requests from one address", seconds | self.origins)

    def body(self, request: Request, most: int) -> Awaitable[bytes]:
        """The body of a request, which must not be too large and come in time."""
        return request.body(most, self.body_seconds, self._deadlines)

    async def written(self, block: Sized) -> Outcome:
        """Wait until something is durable; what became of it."""
        if self._writer is None:
            raise Busy("the service has not started")
        future = self._writer.submit(block)
        self._deadlines.set(future, self.commit_seconds)
        try:
            return await future
        except TimeoutError:
            raise Unavailable("the storage takes too long") from None
        finally:
            self._deadlines.clear(future)

    async def health(self, request: Request) -> Response:
        await asyncio.to_thread(self._keeper.check)
        if self._writer is None or not self._writer.is_alive():
            raise Unavailable("nothing is written")
        return Response(200, {"status": "ok"})

    async def show_metrics(self, request: Request) -> Response:
        pending = self._writer.pending if self._writer else 0
        return Response(200, self.metrics.text(pending=pending).encode(), "text/plain; version=0.0.4; charset=utf-8")
