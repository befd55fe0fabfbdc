"""Sending: retries, refusals, batches. The other side is a real server that does what a list says."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sottovoce.core.errors import ParameterError
from sottovoce.device import http_client
from sottovoce.device.transport import Batcher, Rejected, Undelivered, fetch, send

Script = list[tuple[int, dict[str, str], bytes] | None]


class Other:
    """A server with a script. When the script is over, it takes everything but bodies that hold the word bad."""

    def __init__(self) -> None:
        self.script: Script = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        other = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                other.bodies.append(body)
                other.headers.append(dict(self.headers))
                self.answer(other.script.pop(0) if other.script else other.usual(body))

            def do_GET(self) -> None:
                self.answer(other.script.pop(0))

            def answer(self, given: tuple[int, dict[str, str], bytes] | None) -> None:
                if given is None:  # The connection breaks.
                    self.close_connection = True
                    return
                self.send_response(given[0])
                for name, value in {**given[1], "content-length": str(len(given[2]))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(given[2])

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/surveys/s"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def usual(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        lines = body.split(b"\n")
        return refusal(400) if b"bad" in body else taken(len(lines))


def taken(accepted: int, duplicates: int = 0) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, json.dumps({"accepted": accepted, "duplicates": duplicates}).encode()


def refusal(status: int) -> tuple[int, dict[str, str], bytes]:
    return status, {}, b'{"error": {"code": "malformed", "message": "no"}}'


@pytest.fixture
def other() -> Iterator[Other]:
    made = Other()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_it_is_sent_until_it_is_acknowledged(other: Other) -> None:
    waits: list[float] = []
    other.script = [None, (503, {}, b""), (429, {"retry-after": "7"}, b""), (500, {}, b"x"), taken(1)]
    assert send(other.url + "/", b"body", sleep=waits.append) == {"accepted": 1, "duplicates": 0}
    assert other.bodies == [b"body"] * 5
    assert len(waits) == 4 and waits[2] == 7.0
    assert all(0 <= wait <= http_client.FIRST_WAIT_SECONDS * 2**at for at, wait in enumerate(waits) if at != 2)


def test_waits_grow_and_are_drawn_at_random(other: Other) -> None:
    waits: list[float] = []
    other.script = [(503, {}, b"")] * 10
    with pytest.raises(Undelivered, match=r"not acknowledged after 10 attempts: status 503"):
        send(other.url, b"x", attempts=10, sleep=waits.append)
    assert len(set(waits)) == 9 and max(waits) <= http_client.LONGEST_WAIT_SECONDS


@pytest.mark.parametrize("status", [400, 403, 404, 409, 410, 413, 415])
def test_a_refusal_is_final(other: Other, status: int) -> None:
    other.script = [refusal(status)]
    with pytest.raises(Rejected, match=f"refused \\({status} malformed\\): no") as caught:
        send(other.url, b"x", sleep=lambda seconds: pytest.fail("it waits"))
    assert (caught.value.status, caught.value.code) == (status, "malformed") and len(other.bodies) == 1


@pytest.mark.parametrize(
    "answer", [(302, {"location": "http://127.0.0.1:1/"}, b""), (400, {}, b"<html>"), (404, {}, b"[]")]
)
def test_what_is_no_collector_is_a_refusal(other: Other, answer: Any) -> None:
    other.script = [answer]
    with pytest.raises(Rejected, match="not that of a collector"):
        send(other.url, b"x")
    assert len(other.bodies) == 1  # A redirect is not followed.


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"accepted": "x", "duplicates": 0}'])
def test_an_answer_that_says_nothing_is_no_acknowledgement(other: Other, body: bytes) -> None:
    other.script = [(200, {}, body)]
    with pytest.raises(Undelivered, match="not that of a collector"):
        send(other.url, b"x")


def test_nobody_there() -> None:
    with pytest.raises(Undelivered, match="after 2 attempts"):
        send("http://127.0.0.1:1/v1/surveys/s", b"x", attempts=2, sleep=lambda seconds: None)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x", "", None, 3])
def test_other_addresses_are_refused(url: Any) -> None:
    with pytest.raises(ParameterError, match="must begin with"):
        send(url, b"x")


def test_little_is_told_about_the_device(other: Other) -> None:
    send(other.url, b"x", invitation="code")
    assert set(other.headers[0]) == {
        "Accept-Encoding", "Content-Length", "Host", "User-Agent", "Content-Type", "Connection", "Sottovoce-Invitation",
    }  # fmt: skip
    assert other.headers[0]["User-Agent"] == "sottovoce"


def test_a_survey_is_fetched(other: Other) -> None:
    other.script = [(503, {}, b""), (200, {}, b"survey")]
    assert fetch(other.url, sleep=lambda seconds: None) == b"survey"


def test_it_runs_with_the_standard_library_alone() -> None:
    code = "import sys, sottovoce.device.transport; print(any(n in sys.modules for n in ('numpy', 'uvicorn', 'httpx')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# Batches.


def test_a_batcher_sends_what_it_has_gathered(other: Other) -> None:
    with Batcher(other.url, size=10, seconds=60) as batcher:
        for number in range(25):
            assert batcher.add(b"%d" % number)
        batcher.flush()
        assert batcher.accepted == 25 and batcher.left == []
    assert sorted(b"\n".join(other.bodies).split(b"\n"), key=int) == [b"%d" % number for number in range(25)]
    assert len(other.bodies) <= 5


def test_a_batcher_sends_after_a_while_by_itself(other: Other) -> None:
    batcher = Batcher(other.url, size=1000, seconds=0.05)
    batcher.add(b"1")
    for _ in range(200):
        if batcher.accepted:
            break
        threading.Event().wait(0.02)
    assert batcher.accepted == 1
    batcher.close()


def test_a_bad_report_does_not_hold_up_the_others(other: Other) -> None:
    found: list[bytes] = []
    with Batcher(other.url, size=64, seconds=60, on_reject=lambda body, error: found.append(body)) as batcher:
        for number in range(64):
            batcher.add(b"bad" if number in (5, 40) else b"good")
    assert (batcher.accepted, batcher.rejected, found) == (62, 2, [b"bad", b"bad"])


def test_a_batcher_has_room_for_so_many_and_counts_the_rest(other: Other) -> None:
    held = threading.Event()

    def slow(url: str, body: bytes, kind: str) -> dict[str, Any]:
        held.wait(10)
        return {"accepted": len(body.split(b"\n")), "duplicates": 0}

    batcher = Batcher(other.url, size=2, seconds=0, capacity=5, send=slow)
    assert [batcher.add(b"1") for _ in range(7)] == [True] * 5 + [False] * 2
    held.set()
    batcher.close()
    assert (batcher.accepted, batcher.dropped) == (5, 2)
    assert not batcher.add(b"late")


def test_what_cannot_be_delivered_is_not_lost_silently(other: Other) -> None:
    fail = [True]

    def unlucky(url: str, body: bytes, kind: str) -> dict[str, Any]:
        if fail[0]:
            raise Undelivered("no network")
        return {"accepted": len(body.split(b"\n")), "duplicates": 0}

    batcher = Batcher(other.url, size=10, seconds=0.01, send=unlucky)
    batcher.add(b"1")
    with pytest.raises(Undelivered, match="no network"):
        batcher.flush(5)
    assert batcher.left == [b"1"]
    fail[0] = False
    batcher.flush(5)
    assert batcher.accepted == 1
    fail[0] = True
    batcher.add(b"2")
    with pytest.raises(Undelivered):
        batcher.close(5)
    assert batcher.left == [b"2"]


@pytest.mark.parametrize("options", [{"size": 0}, {"capacity": 0}, {"seconds": -1}, {"seconds": float("nan")}])
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="must be at least"):
        Batcher("http://127.0.0.1:1/x", **options)


def test_a_report_is_one_line(other: Other) -> None:
    batcher = Batcher(other.url)
    with pytest.raises(ParameterError, match="one line"):
        batcher.add(b"a\nb")
    batcher.close()
