"""What every service does over ASGI: routes, limits, deadlines, metrics, errors of one shape, a start and an end.

A service with a store that many requests write to is a `Service`, which adds the writer.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, TypedDict, TypeVar

from sottovoce.core.errors import ParameterError, StoreFull, StoreUnavailable
from sottovoce.web.deadlines import Deadlines
from sottovoce.web.hosts import from_this_machine
from sottovoce.web.http import Disconnected, Problem, Receive, Reply, Request, Response, Scope, Send
from sottovoce.web.limits import ByteBudget, RateLimit
from sottovoce.web.metrics import CONTENT_TYPE, Metrics
from sottovoce.web.proxies import Proxies
from sottovoce.web.refusals import refusal
from sottovoce.web.routing import Handler, Router, nothing_here

LOG = logging.getLogger("sottovoce.web")
"""Says where the service failed, and nothing about what was sent or by whom."""

RETRY = {"retry-after": "1"}
ALLOWED_HEADERS = "content-type, sottovoce-invitation"
"""Headers that the page of another site may send. A token is not among them: such a page has no right to one."""

PARSER_THREADS = 2
"""Threads that check large bodies. They are not those that everything else needs."""

UNLIMITED_PATHS = ("/healthz",)
"""Addresses without a rate limit: whoever monitors a service must get through when there are too many requests."""

T = TypeVar("T")


class RequestLimits(TypedDict, total=False):
    """What a service allows, and the value of Access-Control-Allow-Origin for what browsers may ask for."""

    rate: float | None
    burst: float
    body_seconds: float
    origins: str
    proxies: Sequence[str]
    max_bytes_in_flight: int
    max_bytes_per_address: int | None


REQUEST_DEFAULTS: RequestLimits = {
    "rate": 100.0,
    "burst": 1000.0,
    "body_seconds": 20.0,
    "origins": "*",
    "proxies": (),
    "max_bytes_in_flight": 2**26,
    "max_bytes_per_address": None,
}


class Application:
    """Routes and what guards them, within limits that may be given; None for `rate` means no limit.

    `proxies` are the servers in front of this one that are trusted to say whom a request is from. `cheap` has the
    beginnings of addresses whose requests count as less than one in the rate limit, and what they count as.

    `router.add` takes tables of routes. Their handlers find all they need here: read a bounded `body`, `parse` it
    beside the event loop, and `ending`, which is set when the server ends.
    """

    cheap: ClassVar[Mapping[str, float]] = {}
    open_to_pages: frozenset[str] = frozenset()
    """Patterns of the addresses that pages of other sites may ask for with headers and methods of their own."""

    public_metrics: ClassVar[bool] = True
    """Whether everybody may see the counters. Timings and the state of the process are for this machine alone."""

    failure: ClassVar[str] = "the service failed, and has kept nothing of the request"
    counters: ClassVar[Mapping[str, str]] = {}
    """What this service counts besides what all services do: names and their meanings."""

    def __init__(self, given: RequestLimits) -> None:
        limits: RequestLimits = {**REQUEST_DEFAULTS, **given}
        rate, origins = limits["rate"], limits["origins"]
        self.limit = RateLimit(rate, limits["burst"]) if rate is not None else None
        self.origins = {"access-control-allow-origin": origins} | ({} if origins == "*" else {"vary": "origin"})
        self.metrics, self.ending, self.router = Metrics(self.counters), asyncio.Event(), Router()
        self.proxies, self.body_seconds = Proxies(limits["proxies"]), limits["body_seconds"]
        self.budget = ByteBudget(limits["max_bytes_in_flight"], limits["max_bytes_per_address"])
        self._deadlines, self._parsers = Deadlines(), ThreadPoolExecutor(PARSER_THREADS, "sottovoce-parser")
        self.router.add({"/healthz": {"GET": self.health}, "/metrics": {"GET": self.show_metrics}})

    def start(self) -> None:
        """Begin, in the event loop that runs now."""
        self._deadlines.start()

    def stop(self) -> None:
        """End, after the last request."""
        self._parsers.shutdown(wait=False, cancel_futures=True)

    # ASGI.

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            request = Request(scope, receive)
            request.address = self.proxies.client(request.address, request.headers)
            try:
                response = await self._answer(request)
            except Disconnected:
                self.metrics.add("rejected", "disconnected")
                return
            finally:
                request.let_go(self.budget)
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
            self.check_request(request)
            method, pattern, handler, values = self._route(request)
            begun = time.perf_counter()
            try:
                return await handler(request, *values)
            finally:
                self.metrics.observe(method, pattern, time.perf_counter() - begun)
        except Problem as problem:
            return refusal(problem, request)
        except Disconnected:
            raise
        except Exception as error:
            meaning = self.problem_for(error)
            if meaning.status >= 500:
                self.metrics.add("failed", meaning.code)
            return refusal(meaning, request)

    def _route(self, request: Request) -> tuple[str, str, Handler, list[str]]:
        """The method and pattern that a request asks for, its handler, and what that takes besides the request."""
        pattern, values = self.router.find(request.path)
        methods = self.router.table[pattern]
        method = "GET" if request.method == "HEAD" else request.method
        handler = methods.get(method)
        if handler is not None:
            return method, pattern, handler, values
        if method == "OPTIONS":
            return method, pattern, self._options, [pattern]
        raise Problem(405, "bad_method", f"this takes {', '.join(methods)}", {"allow": ", ".join(methods)})

    def problem_for(self, error: Exception) -> Problem:
        """What a client is told of an error. One that nobody foresaw is logged without what was sent."""
        if isinstance(error, StoreFull):
            return Problem(507, "storage_full", str(error), RETRY)
        if isinstance(error, StoreUnavailable):
            return Problem(503, "storage_unavailable", "the storage cannot be used now, try again", RETRY)
        if isinstance(error, ParameterError):
            return Problem(400, "bad_query", str(error))
        where = traceback.extract_tb(error.__traceback__)[-1]
        LOG.error("a request failed: %s in %s, line %s", type(error).__name__, where.filename, where.lineno)
        return Problem(500, "internal", self.failure, RETRY)

    async def _options(self, request: Request, pattern: str) -> Response:
        """Which methods an address takes, and whether pages of other sites may use them."""
        methods = ", ".join(self.router.table[pattern])
        if pattern not in self.open_to_pages:
            return Response(204, headers={"allow": methods})
        allowed = {
            "allow": methods,
            "access-control-allow-methods": methods,
            "access-control-allow-headers": ALLOWED_HEADERS,
            "access-control-max-age": "86400",
        }
        return Response(204, headers=self.origins | allowed)

    def check_request(self, request: Request) -> None:
        """Refuse a request by its head alone, before anything is looked up or read."""
        if self.limit is None or request.path in UNLIMITED_PATHS:
            return
        cost = next((cost for start, cost in self.cheap.items() if request.path.startswith(start)), 1.0)
        wait = self.limit.wait(request.address, cost)
        if wait:
            self.metrics.add("rejected", "rate")
            seconds = {"retry-after": str(math.ceil(wait))}
            raise Problem(429, "too_many_requests", "too many requests from one address", seconds | self.origins)

    # What handlers need.

    def body(self, request: Request, most: int) -> Awaitable[bytes]:
        """The body of a request, which must not be too large and come in time."""
        return request.body(most, self.body_seconds, self._deadlines, self.budget)

    def parts(self, request: Request, most: int) -> AsyncGenerator[bytes, None]:
        """The same, part by part as it comes."""
        return request.parts(most, self.body_seconds, self._deadlines, self.budget)

    def parse(self, work: Callable[..., T], *given: object) -> Awaitable[T]:
        """Do some work on a large body in a thread that is there for such work alone."""
        return asyncio.get_running_loop().run_in_executor(self._parsers, work, *given)

    # Monitoring.

    async def health(self, request: Request) -> Response:
        return Response(200, {"status": "ok"})

    async def show_metrics(self, request: Request) -> Response:
        local = from_this_machine(request)
        if not local and not self.public_metrics:
            raise nothing_here()
        return Response(200, self.metrics.text(await self.measure(), local), CONTENT_TYPE)

    async def measure(self) -> dict[str, int]:
        """The gauges, with those that take time to measure."""
        return self.gauges()

    def gauges(self) -> dict[str, int]:
        """Numbers that hold at this moment, by name."""
        return {"bytes_in_flight": self.budget.taken}
