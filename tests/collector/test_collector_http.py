"""Routes and streams of the collector: what further pages are mounted by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from browser_site import PHONE, chromium, require_browser
from collector_service import Inside
from service_processes import Nursery

from sottovoce.collector import openapi
from sottovoce.web.http import Problem, Request, Response, Stream
from sottovoce.web.routing import Router


async def handler(request: Request, *values: str) -> Response:
    return Response(200, {"values": values})


def test_parts_in_braces_stand_for_anything_but_nothing() -> None:
    router = Router()
    patterns = ["/", "/s/{id}", "/s/{id}/results", "/s/about", "/assets/{name}", "/v1/surveys/{id}/waves/{wave}"]
    router.add({pattern: {"GET": handler} for pattern in patterns})
    found = {path: router.find(path)[1] for path in ("/", "/s/x", "/s/x/results", "/s/about", "/assets/a.css")}
    assert found == {"/": [], "/s/x": ["x"], "/s/x/results": ["x"], "/s/about": [], "/assets/a.css": ["a.css"]}
    assert router.find("/v1/surveys/x/waves/3")[1] == ["x", "3"]


@pytest.mark.parametrize("path", ["", "/s", "/s/", "/s//results", "/s/x/", "/s/x/y", "/{}", "/assets/a/b", "/s/{}/no"])
def test_other_addresses_are_not_found(path: str) -> None:
    router = Router()
    router.add({"/s/{id}": {"GET": handler}, "/s/{id}/results": {"GET": handler}, "/assets/{name}": {"GET": handler}})
    with pytest.raises(Problem, match="nothing at this address"):
        router.find(path)


def test_tables_are_added_to_what_is_there(small: Inside) -> None:
    small.app.router.add({"/s/{id}": {"GET": handler}, "/healthz": {"POST": handler}})
    assert small("GET", "/s/habits").json == {"values": ["habits"]}
    assert small("POST", "/healthz").json == {"values": []}
    assert small("GET", "/healthz").json == {"status": "ok"}
    assert small("PUT", "/s/habits").headers["allow"] == "GET"


# Streams.


class Source:
    """Chunks without end, one whenever it is asked to give one more; and whether it was closed."""

    def __init__(self) -> None:
        self.given, self.closed = 0, False

    async def chunks(self, most: int | None = None, fail: bool = False) -> AsyncGenerator[bytes, None]:
        try:
            while most is None or self.given < most:
                self.given += 1
                yield b"%d\n" % self.given
                await asyncio.sleep(0)
            if fail:
                raise RuntimeError("the source broke")
        finally:
            self.closed = True


async def send_stream(source: Source, leave_after: int | None, end_after: int | None, **options: Any) -> list[Any]:
    """What a client gets that leaves, or whose server ends, after so many messages."""
    sent: list[dict[str, Any]] = []
    gone, ending = asyncio.Event(), asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        if leave_after is not None and len(sent) > leave_after:
            gone.set()
        if end_after is not None and len(sent) > end_after:
            ending.set()

    scope = {"type": "http", "method": options.pop("method", "GET"), "path": "/", "headers": [], "query_string": b""}
    stream = Stream(source.chunks(**options), "text/event-stream")
    await asyncio.wait_for(stream.send(send, Request(scope, receive), ending), 10)
    return sent


def test_a_stream_sends_all_its_parts_then_ends() -> None:
    source = Source()
    sent = asyncio.run(send_stream(source, None, None, most=3))
    assert [part["body"] for part in sent[1:]] == [b"1\n", b"2\n", b"3\n", b""]
    assert [part["more_body"] for part in sent[1:]] == [True, True, True, False]
    assert (b"content-type", b"text/event-stream") in sent[0]["headers"] and source.closed


@pytest.mark.parametrize(("leave", "end"), [(5, None), (None, 5)])
def test_a_stream_without_end_is_closed_when_nobody_listens_or_the_server_ends(
    leave: int | None, end: int | None
) -> None:
    source = Source()
    sent = asyncio.run(send_stream(source, leave, end))
    assert source.closed and 5 <= len(sent) < 50 and not sent[-1]["more_body"]


def test_a_stream_that_breaks_is_an_error_and_closed() -> None:
    source = Source()
    with pytest.raises(RuntimeError, match="broke"):
        asyncio.run(send_stream(source, None, None, most=2, fail=True))
    assert source.closed


def test_head_of_a_stream_has_no_parts() -> None:
    source = Source()
    sent = asyncio.run(send_stream(source, None, None, method="HEAD"))
    assert len(sent) == 2 and source.given == 0


def test_a_mounted_stream(small: Inside) -> None:
    source = Source()

    async def live(request: Request, name: str) -> Stream:
        return Stream(source.chunks(most=4), "text/event-stream")

    small.app.router.add({"/s/{id}/live": {"GET": live}})
    assert small("GET", "/s/habits/live").body == b"1\n2\n3\n4\n"


# The reference, which a browser makes from the description.


def test_the_reference_shows_every_request(nest: Nursery, tmp_path: Path) -> None:
    require_browser()
    child = nest.start(["--data", str(tmp_path)])
    operations = sum(len(set(methods) - {"parameters"}) for methods in openapi.document()["paths"].values())
    with chromium() as browser:
        page = browser.new_page(viewport={"width": PHONE["width"], "height": PHONE["height"]})
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(f"{child.url}/docs")
        page.wait_for_selector("details")
        assert page.locator("summary .method").count() == operations
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.close()
    assert not wrong and all(url.startswith(child.url) for url in asked)
    child.kill()
