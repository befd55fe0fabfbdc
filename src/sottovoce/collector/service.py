"""A service over ASGI: routes, limits, counters, errors of one shape, a start and an end in order."""

from __future__ import annotations

import asyncio
import logging
import math
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict, TypeVar, Unpack

from sottovoce.collector.deadlines import Deadlines
from sottovoce.collector.health import Health
from sottovoce.collector.http import Disconnected, Problem, Receive, Reply, Request, Response, Scope, Send
from sottovoce.collector.limits import ByteBudget, RateLimit
from sottovoce.collector.metrics import Metrics
from sottovoce.collector.proxies import Proxies
from sottovoce.collector.records import Full, Outcome, Unavailable
from sottovoce.collector.refusals import shown
from sottovoce.collector.routing import Methods, Router
from sottovoce.collector.writer import Busy, Keeper, Writer
from sottovoce.errors import ParameterError

LOG = logging.getLogger("sottovoce.collector")
"""Says where the service failed, and nothing about what was sent or by whom."""

RETRY = {"retry-after": "1"}
ALLOWED_HEADERS = "content-type, sottovoce-invitation"
"""What the page of another site may send along. A token is not among it: such a page has no business with one."""

PARSERS = 2
"""Threads that check large bodies. They are not those that everything else needs."""

FREE_PATHS = ("/healthz",)
"""Addresses that have no rate limit: who watches over a service must get through when others are too many."""

T = TypeVar("T")


class Limits(TypedDict, total=False):
    """What a service allows, and the value of Access-Control-Allow-Origin for what browsers may ask for."""

    rate: float | None
    burst: float
    body_seconds: float
    commit_seconds: float
    max_pending: int
    group: int
    origins: str
    proxies: Sequence[str]
    max_bytes_in_flight: int


DEFAULTS: Limits = {
    "rate": 100.0,
    "burst": 1000.0,
    "body_seconds": 20.0,
    "commit_seconds": 30.0,
    "max_pending": 200_000,
    "group": 20_000,
    "origins": "*",
    "proxies": (),
    "max_bytes_in_flight": 2**26,
}


class Service:
    """A store, and routes to it. Every limit is an argument (see `Limits`); None for `rate` means no limit.

    `proxies` are the servers in front of this one that are trusted to say whom a request is from. `cheap` are the
    beginnings of addresses, with the part of a request that one counts for in the rate limit.

    `router.add` takes tables of routes. Their handlers find all they need here: read a bounded `body`, `parse` it
    beside the event loop, wait until something is `written`, and `ending`, which is set when the server ends.
    """

    cheap: dict[str, float] = {}  # noqa: RUF012
    open_to_pages: frozenset[str] = frozenset()
    """Patterns of the addresses that pages of other sites may ask for with headers and methods of their own."""

    def __init__(self, store: Keeper, **given: Unpack[Limits]) -> None:
        limits: Limits = {**DEFAULTS, **given}
        rate, origins = limits["rate"], limits["origins"]
        self._keeper, self.body_seconds, self.commit_seconds = store, limits["body_seconds"], limits["commit_seconds"]
        self.limit = RateLimit(rate, limits["burst"]) if rate is not None else None
        self.origins = {"access-control-allow-origin": origins} | ({} if origins == "*" else {"vary": "origin"})
        self.metrics, self.ending, self.router = Metrics(), asyncio.Event(), Router()
        self._deadlines, self._health = Deadlines(), Health(store.check)
        self.proxies, self.budget = Proxies(limits["proxies"]), ByteBudget(limits["max_bytes_in_flight"])
        self._parsers = ThreadPoolExecutor(PARSERS, "sottovoce-parser")
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
        self._health.close()
        self._parsers.shutdown(wait=False, cancel_futures=True)
        self._keeper.close()

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
            return shown(problem, request)
        except Full as error:
            return self._failed(request, 507, "storage_full", str(error))
        except Unavailable:
            return self._failed(request, 503, "storage_unavailable", "the storage cannot be used now, try again")
        except Busy as error:
            return self._failed(request, 503, "busy", str(error))
        except ParameterError as error:
            return Problem(400, "bad_query", str(error)).response()
        except Disconnected:
            raise
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            LOG.error("a request failed: %s in %s, line %s", type(error).__name__, where.filename, where.lineno)
            return self._failed(request, 500, "internal", "the service failed, and has kept nothing of the request")

    def _failed(self, request: Request, status: int, code: str, message: str) -> Response:
        self.metrics.add("failed", code)
        return shown(Problem(status, code, message, RETRY), request)

    def _options(self, methods: Methods) -> Response:
        """What an address takes; and, of what pages of other sites may ask for, that they may."""
        allow = {"allow": ", ".join(methods)}
        if not any(self.router.table.get(pattern) is methods for pattern in self.open_to_pages):
            return Response(204, headers=allow)
        allowed = allow | {
            "access-control-allow-methods": ", ".join(methods),
            "access-control-allow-headers": ALLOWED_HEADERS,
            "access-control-max-age": "86400",
        }
        return Response(204, headers=self.origins | allowed)

    def _check_rate(self, request: Request, limit: RateLimit) -> None:
        if request.path in FREE_PATHS:
            return
        cost = next((cost for start, cost in self.cheap.items() if request.path.startswith(start)), 1.0)
        wait = limit.wait(request.address, cost)
        if wait:
            self.metrics.add("rejected", "rate")
            seconds = {"retry-after": str(math.ceil(wait))}
            raise Problem(429, "too_many_requests", "too many requests from one address", seconds | self.origins)

    def body(self, request: Request, most: int) -> Awaitable[bytes]:
        """The body of a request, which must not be too large and come in time."""
        return request.body(most, self.body_seconds, self._deadlines, self.budget)

    def parts(self, request: Request, most: int) -> AsyncGenerator[bytes, None]:
        """The same, part by part as it comes."""
        return request.parts(most, self.body_seconds, self._deadlines, self.budget)

    def parse(self, work: Callable[..., T], *given: object) -> Awaitable[T]:
        """Do some work on a large body in a thread that is there for such work alone."""
        return asyncio.get_running_loop().run_in_executor(self._parsers, work, *given)

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
        await self._health.confirm()
        if self._writer is None or not self._writer.is_alive():
            raise Unavailable("nothing is written")
        return Response(200, {"status": "ok"})

    async def show_metrics(self, request: Request) -> Response:
        text = self.metrics.text(**self.gauges())
        return Response(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")

    def gauges(self) -> dict[str, int]:
        """What there is of something at the moment."""
        return {"pending": self._writer.pending if self._writer else 0, "bytes_in_flight": self.budget.taken}
