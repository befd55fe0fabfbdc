"""A curator as an ASGI application: four steps to be asked for, and nothing to be looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

from sottovoce import canonical
from sottovoce.collector.deadlines import Deadlines
from sottovoce.collector.hosts import from_a_page, host_of, is_own_host
from sottovoce.collector.http import JSON, Disconnected, Problem, Receive, Request, Response, Scope, Send
from sottovoce.collector.limits import ByteBudget
from sottovoce.curators import signature
from sottovoce.curators.curator import STEPS, Curator
from sottovoce.curators.identity import Card
from sottovoce.errors import Refusal, SottovoceError, StoreError

MAX_BODY = 2**26
"""Bytes of a request, and of all requests at a time."""

MAX_VALUES = 2**20
"""Values in a request: many small ones take far more memory than the bytes that spell them."""

PREFIX = "/v1/tasks/"


class CuratorApp:
    """POST /v1/tasks/agree, share, confirm and sum, one at a time; GET /healthz, which tells the name and the key.

    With a `coordinator` only requests that it signed are answered. `hosts` gives the names by which this curator may be
    asked, besides addresses and localhost. No request of a web page is answered: there is none that has to ask.
    """

    def __init__(
        self,
        curator: Curator,
        *,
        coordinator: Card | None = None,
        hosts: Callable[[], Collection[str]] = tuple,
        max_body: int = MAX_BODY,
        body_seconds: float = 60.0,
    ) -> None:
        self.curator, self.coordinator, self.hosts = curator, coordinator, hosts
        self.max_body, self.body_seconds = max_body, body_seconds
        self._deadlines, self._turn, self._ending = Deadlines(), asyncio.Lock(), asyncio.Event()
        self._budget = ByteBudget(max_body, each=max_body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            request = Request(scope, receive)
            try:
                response = await self._answer(request)
            except Disconnected:
                return
            finally:
                request.let_go(self._budget)
            await response.send(send, request, self._ending)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._deadlines.start()
                await send({"type": "lifespan.startup.complete"})
            else:
                await self._deadlines.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, request: Request) -> Response:
        try:
            return await self._route(request)
        except Problem as problem:
            return problem.response()
        except Refusal as error:
            return Problem(409, "refused", str(error)).response()
        except StoreError:
            return Problem(503, "storage_unavailable", "the store cannot be used now, try again").response()
        except SottovoceError as error:
            return Problem(400, "bad_request", str(error)).response()
        except Disconnected:
            raise
        except Exception:
            return Problem(500, "internal", "the curator failed, and has given out nothing").response()

    async def _route(self, request: Request) -> Response:
        self._check_sender(request)
        if request.path == "/healthz" and request.method in ("GET", "HEAD"):
            return Response(200, {"name": self.curator.name, "key": str(self.curator.identity.card)})
        step = request.path.removeprefix(PREFIX)
        if not request.path.startswith(PREFIX) or step not in STEPS:
            raise Problem(404, "not_found", "there is nothing at this address")
        if request.method != "POST":
            raise Problem(405, "bad_method", "this takes POST", {"allow": "POST"})
        if request.kind != JSON:
            raise Problem(415, "bad_type", f"the content-type must be {JSON}")
        data = await self._body(request, step)
        async with self._turn:
            return Response(200, await asyncio.to_thread(_run, self.curator.step, step, data))

    def _check_sender(self, request: Request) -> None:
        """Refuse what the page of a web site sends, under its own name or another."""
        host = host_of(request)
        if not is_own_host(host) and not is_own_host(host, self.hosts()):
            raise Problem(421, "wrong_host", f"this curator is not known as {host!r:.80}")
        if from_a_page(request):
            raise Problem(403, "foreign_page", "a curator takes no requests from web pages")

    async def _body(self, request: Request, step: str) -> bytes:
        """The body; if there is a coordinator, of what it signed, and before that is known nothing is read."""
        wanted = None
        if self.coordinator is not None:
            signed = request.header(signature.HEADER.encode())
            try:
                wanted = signature.signed_digest(signed, self.coordinator, self.curator.name, step, request.length)
            except Refusal as error:
                raise Problem(403, "not_the_coordinator", str(error)) from None
        data = await request.body(self.max_body, self.body_seconds, self._deadlines, self._budget)
        if wanted is not None:
            signature.check_body(data, wanted)
        return data


def _run(step: Callable[[str, Any], Any], name: str, data: bytes) -> bytes:
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise Problem(413, "too_large", f"a request must have at most {MAX_VALUES:,} values")
    return canonical.dumps(step(name, canonical.loads(data)))
