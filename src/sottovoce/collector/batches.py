"""What a shuffler passes on: batches of sealed reports, opened here, checked and counted.

A batch is taken once, by its random id, however often it comes; its id and its reports are written in one transaction.
A report inside that does not open, or is none, is counted and left out: whoever sent it cannot be asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sottovoce import envelope
from sottovoce.collector import intake
from sottovoce.collector.http import Problem, Request, Response
from sottovoce.collector.quick import Read
from sottovoce.collector.records import Block, Published
from sottovoce.collector.routing import Table
from sottovoce.errors import ReportError, SealError
from sottovoce.sealing import PrivateKey

if TYPE_CHECKING:
    from sottovoce.collector.app import Collector


class Batches:
    """Handlers over a collector, with the keys of the analyst."""

    def __init__(self, app: Collector, keys: Sequence[PrivateKey] = (), max_body: int = envelope.MAX_BATCH) -> None:
        self.app, self.max_body = app, max_body
        self.keys = {str(key.public): key for key in keys}

    def routes(self) -> Table:
        return {"/v1/surveys/{id}/batches": {"POST": self.take_batch}}

    async def take_batch(self, request: Request, name: str) -> Response:
        """Open a batch, wait until it is durable, and say so; nothing is said of what was inside."""
        try:
            to = await self.app.find(name)
            key = self._key(to)
            if request.kind != envelope.SEALED:
                raise Problem(415, "bad_type", f"the content-type must be {envelope.SEALED}")
            data = await self.app.body(request, self.max_body)
            batch = await asyncio.to_thread(_read, data, to, key)
            block = await asyncio.to_thread(_opened, batch, to, key)
            outcome = await self.app.keep(block)
            if outcome.refused:
                raise Problem(410, outcome.refused, outcome.detail)
        except Problem as problem:
            self.app.metrics.add("rejected", problem.code)
            raise
        metrics = self.app.metrics
        metrics.add("accepted", count=outcome.accepted)
        metrics.add("duplicates", count=outcome.duplicates)
        metrics.add("dropped", "malformed", len(batch.reports) - len(block))
        metrics.add("dropped", "conflict", outcome.dropped)
        return Response(200, {"reports": len(batch.reports)})

    def _key(self, to: Published) -> PrivateKey:
        if to.survey.shuffle is None:
            raise Problem(403, "not_shuffled", "reports to this survey come without a shuffler")
        try:
            return self.keys[to.survey.shuffle.analyst]
        except KeyError:
            raise Problem(503, "no_key", "the collector has not been given the key of this survey") from None


def _read(data: bytes, to: Published, key: PrivateKey) -> envelope.Batch:
    try:
        batch = envelope.Batch.read(data, to.survey, key)
    except ReportError as error:
        raise Problem(400, "malformed", str(error)) from None
    least = envelope.route(to.survey).minimum
    if len(batch.reports) < least:
        raise Problem(400, "too_few", f"a batch must have at least {least:,} reports, got {len(batch.reports):,}")
    return batch


def _opened(batch: envelope.Batch, to: Published, key: PrivateKey) -> Block:
    """The reports of a batch that are reports, in the order of their random ids."""
    found = [read for sealed in batch.reports if (read := _report(sealed, batch.wave, to, key)) is not None]
    return Block(to, sorted(found), batch=batch.id)


def _report(sealed: bytes, wave: int, to: Published, key: PrivateKey) -> Read | None:
    try:
        read = intake.one(envelope.unseal(to.survey, key, wave, sealed), to)
    except (SealError, ReportError):
        return None
    return read if read[1] == wave else None
