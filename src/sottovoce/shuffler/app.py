"""The shuffler as an ASGI application: it takes envelopes in, and says so when they are durable."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Unpack

from sottovoce.core.errors import ParameterError, ReportError, StoreUnavailable
from sottovoce.core.sealing import PrivateKey
from sottovoce.device import envelope
from sottovoce.shuffler.forwarder import Forwarder, Forwarding
from sottovoce.shuffler.store import InnerEnvelope, ShufflerStore
from sottovoce.web.http import Problem, Request, Response
from sottovoce.web.service import Limits, Service

OPENED_AT_ONCE = 8
"""Up to this many envelopes of a request are opened in the event loop; more are opened in a thread."""


class Shuffler(Service[Sequence[InnerEnvelope]]):
    """The shuffler of one survey, over one store. Every limit is an argument; None for `rate` means no limit.

    `url` is the address of the survey at its collector, such as https://host/v1/surveys/sleep. The metrics are
    for this machine alone: who knows how many reports wait could choose when to send one.
    """

    public_metrics: ClassVar = False
    counters: ClassVar = {
        "batches": "Batches delivered.",
        "forwarded": "Reports delivered in batches.",
        "undelivered": "Attempts to deliver a batch that failed, by reason.",
    }

    def __init__(
        self,
        store: ShufflerStore,
        key: PrivateKey,
        url: str,
        *,
        max_body: int = 2**22,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        forwarding: Forwarding | None = None,
        **limits: Unpack[Limits],
    ) -> None:
        super().__init__(store, **limits)
        self.store, self.survey, self.key, self.max_body, self.clock = store, store.survey, key, max_body, clock
        if str(key.public) != envelope.route(self.survey).shuffler:
            raise ParameterError(f"the key must be that of the survey's shuffler, got the one of {key.public}")
        times: Forwarding = forwarding or {}
        self.forwarder = Forwarder(store, key, url, self.metrics, clock=clock, **times)
        self.size = envelope.outer_size(self.survey)
        place = f"/v1/surveys/{self.survey.id}"
        self.router.add({place: {"GET": self.show_survey}, f"{place}/reports": {"POST": self.take}})
        self.open_to_pages = frozenset([place, f"{place}/reports"])

    def start(self) -> None:
        super().start()
        self.forwarder.start()

    def stop(self) -> None:
        """Write what was taken in and acknowledge it. What waits goes on waiting in the store."""
        if self._writer is not None:
            self._writer.close()
        self.forwarder.close()
        super().stop()

    async def show_survey(self, request: Request) -> Response:
        headers = self.origins | {"etag": f'"{self.survey.digest}"', "cache-control": "no-cache"}
        return Response(200, self.survey.canonical(), headers=headers)

    async def take(self, request: Request) -> Response:
        """Take off the outer envelopes and wait until the inner ones are durable."""
        try:
            envelopes = await self._inner_envelopes(request)
        except Problem as problem:
            self.metrics.add("rejected", problem.code)
            problem.headers |= self.origins
            raise
        outcome = await self.add(envelopes)
        self.forwarder.wake()
        self.metrics.add("accepted", count=outcome.accepted)
        self.metrics.add("duplicates", count=outcome.duplicates)
        body = {"accepted": outcome.accepted, "duplicates": outcome.duplicates}
        return Response(200, body, headers=self.origins)

    async def _inner_envelopes(self, request: Request) -> list[InnerEnvelope]:
        if request.kind != envelope.SEALED:
            raise Problem(415, "bad_type", f"the content-type must be {envelope.SEALED}")
        expires = self.survey.expires
        if expires is not None and self.clock() >= expires:
            raise Problem(410, "expired", f"survey {self.survey.id} has expired")
        data = await self.body(request, self.max_body)
        if not data or len(data) % self.size:
            raise Problem(400, "malformed", f"the body must be envelopes of {self.size:,} bytes, got {len(data):,}")
        opened = functools.partial(self._opened, data)
        return opened() if len(data) <= OPENED_AT_ONCE * self.size else await self.parse(opened)

    def _opened(self, data: bytes) -> list[InnerEnvelope]:
        parts = [data[at : at + self.size] for at in range(0, len(data), self.size)]
        try:
            return [envelope.take_off(self.survey, self.key, part) for part in parts]
        except ReportError as error:
            raise Problem(400, "malformed", str(error)) from None

    async def health(self, request: Request) -> Response:
        if not self.forwarder.is_alive():
            raise StoreUnavailable("nothing is forwarded")
        return await super().health(request)

    async def measure(self) -> dict[str, int]:
        waiting = sum((await asyncio.to_thread(self.store.waiting)).values())
        batches = len(await asyncio.to_thread(self.store.batches))
        return {**self.gauges(), "waiting": waiting, "undelivered_batches": batches}
