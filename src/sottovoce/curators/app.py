"""A curator as an ASGI application: four steps to be asked for, and nothing to be looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sottovoce import canonical
from sottovoce.collector.deadlines import Deadlines
from sottovoce.collector.http import Disconnected, Problem, Receive, Request, Response, Scope, Send
from sottovoce.curators.curator import STEPS, Curator
from sottovoce.errors import Refusal, SottovoceError, StoreError

MAX_BODY = 2**27
PREFIX = "/v1/tasks/"


class CuratorApp:
    """POST /v1/tasks/agree, share, confirm and sum, one at a time; GET /healthz, which tells the name and the key."""

    def __init__(self, curator: Curator, *, max_body: int = MAX_BODY, body_seconds: float = 60.0) -> None:
        self.curator, self.max_body, self.body_seconds = curator, max_body, body_seconds
        self._deadlines, self._turn, self._ending = Deadlines(), asyncio.Lock(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            request = Request(scope, receive)
            try:
                await (await self._answer(request)).send(send, request, self._ending)
            except Disconnected:
                return

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
        if request.path == "/healthz" and request.method in ("GET", "HEAD"):
            return Response(200, {"name": self.curator.name, "key": str(self.curator.identity.card)})
        step = request.path.removeprefix(PREFIX)
        if not request.path.startswith(PREFIX) or step not in STEPS:
            raise Problem(404, "not_found", "there is nothing at this address")
        if request.method != "POST":
            raise Problem(405, "bad_method", "this takes POST", {"allow": "POST"})
        data = await request.body(self.max_body, self.body_seconds, self._deadlines)
        async with self._turn:
            return Response(200, await asyncio.to_thread(_run, self.curator.step, step, data))


def _run(step: Callable[[str, Any], Any], name: str, data: bytes) -> bytes:
    return canonical.dumps(step(name, canonical.loads(data)))
