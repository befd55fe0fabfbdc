"""Live results: a stream of server-sent events for each page that watches, from one computation for all of them.

An event holds all there is to show. So a page that missed some events, or had to connect again, misses nothing.
A survey that nobody watches costs nothing.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING

from sottovoce.collector.overview import Overview
from sottovoce.collector.records import StoredSurvey
from sottovoce.collector.results import EstimateQuery
from sottovoce.core.errors import ParameterError
from sottovoce.survey.overview import describe
from sottovoce.web.http import Problem, Request, Stream, finite
from sottovoce.web.routing import Table

if TYPE_CHECKING:
    from sottovoce.collector.app import Collector

EVENTS = "text/event-stream"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}

PAUSE_SECONDS = 0.5
"""Time between two looks at the store: no more than two events a second."""

MAX_BUSY_SHARE = 0.25
"""The part of the time that may go into estimates: after a long computation there is a longer pause."""

POLL_SECONDS = 5.0
"""The store is asked after this time anyway: another collector may share it."""

HEARTBEAT_SECONDS = 15.0
"""Something is sent after this time anyway, so that no proxy closes a quiet connection."""

LIFETIME_SECONDS = 900.0
"""A page must connect again after this time, and show its token again."""

PATIENCE_SECONDS = 30.0
"""A page that takes nothing for this long counts as gone."""

MAX_EVENTS = 1000


class Feed:
    """One survey in one wave, watched for all who look at it."""

    def __init__(self, live: Live, to: StoredSurvey, wave: int | None) -> None:
        self.live, self.to = live, to
        self.overview = Overview(to, wave)
        self.listeners = self.number = 0
        self.event = b""
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def enter(self) -> None:
        self.listeners += 1
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def leave(self) -> bool:
        """Count one listener less; whether nobody looks any more."""
        self.listeners -= 1
        if not self.listeners and self._task is not None:
            self._task.cancel()
            self._task = None
        return not self.listeners

    async def later(self, seen: int, seconds: float) -> bool:
        """Wait for an event after the one that was seen; False if none comes in time."""
        if self.number == seen:
            try:
                async with asyncio.timeout(seconds):  # `wait_for` loses a cancellation that comes at its end.
                    await self._news.wait()
            except TimeoutError:
                return False
        return True

    async def _run(self) -> None:
        version, asked = -1, 0.0
        while True:
            began, now = time.monotonic(), self.live.app.traffic.version(self.to.survey.id)
            if now != version or began - asked >= self.live.poll:
                version, asked = now, began
                await self._look()
            took = time.monotonic() - began
            await asyncio.sleep(max(self.live.pause, took / MAX_BUSY_SHARE - took))

    async def _look(self) -> None:
        """Work out how the survey stands, and tell everybody if that has changed. An error is news too."""
        try:
            async with self.live.one:
                event = await asyncio.to_thread(self._state)
        except Exception:
            event = _event("trouble", {"code": "storage_unavailable"})
        if event != self.event:
            self.event, self.number = event, self.number + 1
            self._news.set()
            self._news = asyncio.Event()

    def _state(self) -> bytes:
        app, survey = self.live.app, self.to.survey
        state = app.store.state(survey.id)
        if state == "open" and app.expired(self.to):
            state = "expired"
        overview = self.overview.state(app.vectors(self.to))
        waiting = sum(app.store.waiting(self.to).values())
        return _event("state", {"state": state, "waiting": waiting, **overview, "health": app.traffic.of(survey.id)})


class Live:
    """The streams of a collector."""

    def __init__(
        self, app: Collector, pause: float = PAUSE_SECONDS, poll: float = POLL_SECONDS, beat: float = HEARTBEAT_SECONDS
    ) -> None:
        self.app, self.pause, self.poll, self.beat = app, pause, poll, beat
        self.one = asyncio.Semaphore(1)
        self.feeds: dict[tuple[str, int | None], Feed] = {}

    def routes(self) -> Table:
        return {"/v1/surveys/{id}/live": {"GET": self.watch}}

    @property
    def listeners(self) -> int:
        return sum(feed.listeners for feed in self.feeds.values())

    async def watch(self, request: Request, name: str) -> Stream:
        await self.app.admit(request)
        to = await self.app.find(name)
        asked = request.query("wave", "events")
        query, count = EstimateQuery.read(asked), _count(asked["events"][-1]) if "events" in asked else None
        query.check(to)
        if not self.app.streams.take(request.address):
            raise Problem(503, "busy", "too many look at results at the moment", {"retry-after": "5"})
        given_back = partial(self.app.streams.give, request.address)
        return Stream(self.events(to, query.wave, count), EVENTS, HEADERS, patience=PATIENCE_SECONDS, ended=given_back)

    async def events(
        self, to: StoredSurvey, wave: int | None = None, count: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """What the survey is, then how it stands, again and again; a comment when there is nothing new for long."""
        feed = self.feeds.setdefault((to.survey.id, wave), Feed(self, to, wave))
        feed.enter()
        try:
            seen, end = 0, time.monotonic() + LIFETIME_SECONDS
            described = await asyncio.to_thread(describe, to.survey)  # What a shuffler adds takes long to work out.
            yield b"retry: 1000\n" + _event("survey", described)
            while time.monotonic() < end and count != 0:
                if await feed.later(seen, self.beat):
                    seen, count = feed.number, None if count is None else count - 1
                    yield feed.event
                else:
                    yield b": still here\n\n"
        finally:
            if feed.leave():
                self.feeds.pop((to.survey.id, wave), None)


def _count(text: str) -> int:
    """After how many events to end."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 4 and 1 <= int(text) <= MAX_EVENTS):
        raise ParameterError(f"events must be a whole number from 1 to {MAX_EVENTS:,}, got {text!r:.20}")
    return int(text)


def _event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(finite(data), separators=(',', ':'))}\n\n".encode()
