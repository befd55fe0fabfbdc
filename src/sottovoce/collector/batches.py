"""What a shuffler passes on: batches of sealed reports, opened here, checked and counted.

The head of a request must show that the shuffler sends it, before any of its body is read. A batch is read and opened
part by part, one batch at a time. It is taken once, by its random id, however often it comes; its id and its reports
are written in one transaction. A report inside that does not open, or is none, is counted and left out: whoever sent it
cannot be asked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sottovoce.collector import intake
from sottovoce.collector.canonical_parser import ReportRow
from sottovoce.collector.records import Block, StoredSurvey
from sottovoce.core.errors import ReportError, SealError
from sottovoce.core.sealing import PrivateKey
from sottovoce.device import envelope
from sottovoce.web.http import Problem, Request, Response
from sottovoce.web.routing import Table

if TYPE_CHECKING:
    from sottovoce.collector.app import Collector


class Batches:
    """Handlers over a collector, with the keys of the analyst."""

    def __init__(
        self, app: Collector, keys: Sequence[PrivateKey] = (), max_body: int = envelope.MAX_BATCH_BYTES
    ) -> None:
        self.app, self.max_body = app, max_body
        self.keys = {str(key.public): key for key in keys}
        self._one = asyncio.Semaphore(1)

    def routes(self) -> Table:
        return {"/v1/surveys/{id}/batches": {"POST": self.take_batch}}

    async def take_batch(self, request: Request, name: str) -> Response:
        """Open a batch, wait until it is durable, and say so; nothing is said of what was inside."""
        try:
            to = await self.app.find(name)
            reader = self._announced(request, to)
            block = await self._read(request, to, reader)
            outcome = await self.app.add(block)
            if outcome.refused:
                raise Problem(410, outcome.refused, outcome.detail)
        except Problem as problem:
            self.app.metrics.add("rejected", problem.code)
            raise
        self.app.count_taken(to, outcome)
        self.app.metrics.add("dropped", "malformed", reader.count - len(block))
        self.app.metrics.add("dropped", "conflict", outcome.dropped)
        return Response(200, {"reports": reader.count})

    def _announced(self, request: Request, to: StoredSurvey) -> envelope.BatchReader:
        """What the head must say: nothing of a batch is read unless the shuffler announced it."""
        key, length = self._key(to), request.length
        if request.kind != envelope.SEALED:
            raise Problem(415, "bad_type", f"the content-type must be {envelope.SEALED}")
        if length is None:
            raise Problem(411, "no_length", "the head must tell the length of a batch")
        try:
            envelope.check_pass(to.survey, key, request.header(envelope.BATCH_HEADER.encode()), length)
        except ReportError as error:
            raise Problem(403, "not_the_shuffler", str(error)) from None
        try:
            reader = envelope.BatchReader(to.survey, key, length)
        except ReportError as error:
            raise Problem(400, "malformed", str(error)) from None
        least = envelope.route(to.survey).minimum
        if reader.count < least:
            raise Problem(400, "too_few", f"a batch must have at least {least:,} reports, got {reader.count:,}")
        return reader

    async def _read(self, request: Request, to: StoredSurvey, reader: envelope.BatchReader) -> Block:
        """The reports of a batch that are reports, in the order of their random ids. They are opened as they come."""
        found: list[ReportRow] = []
        async with self._one, contextlib.aclosing(self.app.parts(request, self.max_body)) as parts:
            async for part in parts:
                found += await self.app.parse(_opened, reader, part, to, self._key(to))
                request.let_go(self.app.budget, len(part))
        try:
            reader.finish()
        except ReportError as error:
            raise Problem(400, "malformed", str(error)) from None
        return Block(to, sorted(found), batch=reader.id)

    def _key(self, to: StoredSurvey) -> PrivateKey:
        if to.survey.shuffle is None:
            raise Problem(403, "not_shuffled", "reports to this survey come without a shuffler")
        try:
            return self.keys[to.survey.shuffle.analyst]
        except KeyError:
            raise Problem(503, "no_key", "the collector has not been given the key of this survey") from None


def _opened(reader: envelope.BatchReader, part: bytes, to: StoredSurvey, key: PrivateKey) -> list[ReportRow]:
    """The reports that are complete with a part of a batch, but for those that are none."""
    opened = [_report(sealed, reader.wave, to, key) for sealed in reader.feed(part)]
    return [read for read in opened if read is not None]


def _report(sealed: bytes, wave: int, to: StoredSurvey, key: PrivateKey) -> ReportRow | None:
    try:
        read = intake.one(envelope.unseal(to.survey, key, wave, sealed), to)
    except (SealError, ReportError):
        return None
    return read if read[1] == wave else None
