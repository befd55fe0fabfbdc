"""A curator as an ASGI application: four steps to be asked for, and nothing to be looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from typing import ClassVar

from sottovoce.core import canonical
from sottovoce.core.errors import Refusal, SottovoceError, StoreError
from sottovoce.curators import signature
from sottovoce.curators.curator import Curator
from sottovoce.curators.identity import Card
from sottovoce.curators.steps import STEPS
from sottovoce.web.application import RETRY, Application
from sottovoce.web.hosts import from_a_page, host_of, is_own_host
from sottovoce.web.http import JSON, Problem, Request, Response

MAX_BODY_BYTES = 2**26
"""The most bytes of one request, and of all requests at a time."""

MAX_VALUES = 2**20
"""Values in a request: many small ones take far more memory than the bytes that spell them."""


class CuratorApp(Application):
    """POST /v1/tasks/agree, share, confirm and sum, one at a time; GET /healthz, which tells the name and the key.

    With a `coordinator` only requests that it signed are answered. `hosts` gives the names by which this curator may be
    asked, besides addresses and localhost. No request of a web page is answered: no page needs to ask.
    """

    public_metrics: ClassVar = False
    failure: ClassVar = "the curator failed, and has given out nothing"

    def __init__(
        self,
        curator: Curator,
        *,
        coordinator: Card | None = None,
        hosts: Callable[[], Collection[str]] = tuple,
        max_body: int = MAX_BODY_BYTES,
        body_seconds: float = 60.0,
    ) -> None:
        super().__init__({
            "rate": None, "body_seconds": body_seconds, "max_bytes_in_flight": max_body,
            "max_bytes_per_address": max_body,
        })  # fmt: skip
        self.curator, self.coordinator, self.hosts, self.max_body = curator, coordinator, hosts, max_body
        self._turn = asyncio.Lock()
        self.router.add({f"/v1/tasks/{step}": {"POST": partial(self.take_step, step)} for step in STEPS})

    def check_request(self, request: Request) -> None:
        """Refuse what the page of a web site sends, under its own name or another."""
        host = host_of(request)
        if not is_own_host(host) and not is_own_host(host, self.hosts()):
            raise Problem(421, "wrong_host", f"this curator is not known as {host!r:.80}")
        if from_a_page(request):
            raise Problem(403, "foreign_page", "a curator takes no requests from web pages")
        super().check_request(request)

    def problem_for(self, error: Exception) -> Problem:
        if isinstance(error, Refusal):
            return Problem(409, "refused", str(error))
        if isinstance(error, StoreError):
            return Problem(503, "storage_unavailable", "the store cannot be used now, try again", RETRY)
        if isinstance(error, SottovoceError):
            return Problem(400, "bad_request", str(error))
        return super().problem_for(error)

    async def health(self, request: Request) -> Response:
        return Response(200, {"name": self.curator.name, "key": str(self.curator.identity.card)})

    async def take_step(self, step: str, request: Request) -> Response:
        """The answer to one step of a task."""
        if request.kind != JSON:
            raise Problem(415, "bad_type", f"the content-type must be {JSON}")
        data = await self._signed_body(request, step)
        async with self._turn:
            return Response(200, await asyncio.to_thread(_run, self.curator.step, step, data))

    async def _signed_body(self, request: Request, step: str) -> bytes:
        """The body. If there is a coordinator, nothing is read before it is known that it signed the request."""
        wanted = None
        if self.coordinator is not None:
            signed = request.header(signature.HEADER.encode())
            try:
                wanted = signature.signed_digest(signed, self.coordinator, self.curator.name, step, request.length)
            except Refusal as error:
                raise Problem(403, "not_the_coordinator", str(error)) from None
        data = await self.body(request, self.max_body)
        if wanted is not None:
            signature.check_body(data, wanted)
        return data


def _run(step: Callable[[str, object], object], name: str, data: bytes) -> bytes:
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise Problem(413, "too_large", f"a request must have at most {MAX_VALUES:,} values")
    return canonical.dumps(step(name, canonical.loads(data)))
