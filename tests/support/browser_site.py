"""What the tests of the pages share: a collector with surveys, a browser, and a record of what was sent."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import service_processes

from sottovoce.collector import open_store
from sottovoce.survey import Survey

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
WAIT = 20_000
"""Milliseconds until a page that does not do what it should is given up."""

OFTEN = """
const late = setTimeout;
window.setTimeout = (run, wait, ...more) => late(run, Math.min(wait ?? 0, 300), ...more);
"""
"""A page in which no wait is long."""

KINDS: list[dict[str, Any]] = [
    {"id": "pills", "text": "Do you take sleeping pills?", "kind": "yes_no", "epsilon": 1},
    {"id": "travel", "text": "How do you travel to work?", "kind": "choice", "epsilon": 1,
     "values": ["bus", "car", "bike", "on foot"], "missing": "category"},
    {"id": "drinks", "text": "Which of these did you drink yesterday?", "kind": "multiple", "epsilon": 1,
     "values": ["tea", "coffee", "beer", "wine"]},
    {"id": "sleep", "text": "How many hours do you sleep?", "kind": "number", "low": 0, "high": 24, "epsilon": 1},
    {"id": "age", "text": "How old are you?", "kind": "ordered", "values": 100, "epsilon": 2},
    {"id": "town", "text": "Where were you born?", "kind": "text", "max_bytes": 40, "epsilon": 2},
]  # fmt: skip


def survey(name: str, kinds: tuple[int, ...] = (), **fields: Any) -> Survey:
    """A published survey with some of the questions above, or others."""
    document = {"sottovoce": 1, "id": name, "title": name.capitalize(), "minimum": 1, "contact": "study@example.org"}
    return Survey.from_dict(document | {"questions": [KINDS[at] for at in kinds]} | fields).publish()


def require_browser() -> None:
    """Skip without Chromium, unless everything is required."""
    if CHROMIUM is None and "SOTTO_REQUIRE_ALL" not in os.environ:
        pytest.skip("there is no Chromium")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


class Site:
    """A collector in a process of its own, that can be killed and started again at the same address."""

    def __init__(self, nursery: service_processes.Nursery, folder: Path, *surveys: Survey, **app: Any) -> None:
        self.nursery, self.place, self.app = nursery, ["--data", str(folder / "data")], app
        store = open_store(folder / "data")
        for one in surveys:
            store.publish(one)
        store.close()
        self.child = nursery.start(self.place, app)
        self.port, self.url = self.child.port, self.child.url

    def kill(self) -> None:
        self.child.kill()

    def restart(self) -> None:
        self.child = self.nursery.start(self.place, self.app, port=self.port)

    def reports(self, name: str) -> list[Any]:
        store = open_store(self.place[1])
        try:
            to = store.survey(name)
            assert to is not None
            return [row for rows in store.reports(to) for row in rows]
        finally:
            store.close()

    def close_survey(self, name: str) -> None:
        store = open_store(self.place[1])
        store.close_survey(name)
        store.close()


@dataclass
class Log:
    """Everything that left a page, and everything that it complained about."""

    requests: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """All that an onlooker sees of each request: address, headers, body."""
        return [
            "\n".join([one.method, one.url, *(f"{k}: {v}" for k, v in one.headers.items()), one.post_data or ""])
            for one in self.requests
        ]

    @property
    def bodies(self) -> list[str]:
        return [one.post_data for one in self.requests if one.post_data]


@contextlib.contextmanager
def visitor(browser: Browser, **options: Any) -> Iterator[tuple[BrowserContext, Page, Log]]:
    """A browser of somebody else, with a page and a log of what leaves it."""
    context = browser.new_context(**{"viewport": PHONE, "locale": "en-US", **options})
    context.set_default_timeout(WAIT)
    context.add_init_script(OFTEN)
    log = Log()
    context.on("request", lambda request: log.requests.append(request))
    page = context.new_page()
    page.on("console", lambda message: log.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: log.complaints.append(str(error)))
    try:
        yield context, page, log
    finally:
        context.close()
