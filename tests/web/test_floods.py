"""Clients that send more than they should, or take nothing of what they are sent, over sockets of the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collector_service import LINES, open_place, request, submission, survey
from service_processes import HOST, Child, Nursery, wait_until

from sottovoce.web.connections import MAX_HEADERS, PIECE_BYTES, QUEUED_REQUESTS, ConnectionLimits, Outgoing

HEAD_BYTES = ConnectionLimits().head_bytes
LIVE = b"GET /v1/surveys/habits/live HTTP/1.1\r\nhost: x\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
REPORTS = b"POST /v1/surveys/habits/reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
FLOOD_BYTES = 2**26
"""What a client tries to send that should be cut off long before, or thrown away."""

KEPT_BYTES = 2**24
"""More than a server keeps of a flood. It is a quarter of it, for memory is not measured to the byte."""


def start(nest: Nursery, folder: Path, app: dict[str, object] | None = None, **run: float) -> Child:
    place = ["--data", str(folder)]
    store = open_place(place)
    store.publish(survey())
    store.close()
    return nest.start(place, {"public_estimates": True, **(app or {})}, run)


@pytest.fixture(scope="module")
def strict(nest: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    """A collector that waits for nobody longer than a second."""
    child = start(nest, tmp_path_factory.mktemp("strict"), head_seconds=1.0, write_seconds=1.0)
    yield child
    child.kill(signal.SIGTERM)


@contextlib.contextmanager
def connected(child: Child, seconds: float = 10) -> Iterator[socket.socket]:
    with socket.create_connection((HOST, child.port), seconds) as connection:
        connection.settimeout(seconds)
        yield connection


def kept(child: Child, connection: socket.socket, piece: bytes) -> int:
    """Send the same bytes again and again until the other side hangs up; by how much that has made it larger."""
    before, sent = memory(child), 0
    with contextlib.suppress(OSError):
        while sent < FLOOD_BYTES:
            sent += connection.send(piece)
    time.sleep(0.1)
    return memory(child) - before


def ends(connection: socket.socket) -> bool:
    """Whether the other side hangs up in the time that the socket waits."""
    try:
        while connection.recv(2**16):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def memory(child: Child, field: str = "VmRSS") -> int:
    status = Path(f"/proc/{child.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(field))


HEADERS = {"one header": b"a" * 2**16, "many headers": b"x: yz\r\n" * 2**13}


# Heads.


@pytest.mark.parametrize("name", HEADERS)
def test_a_head_is_limited_while_a_stream_is_held(strict: Child, name: str) -> None:
    with connected(strict) as connection:
        connection.sendall(LIVE)
        assert connection.recv(20).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET / HTTP/1.1\r\nx: ")
        assert kept(strict, connection, HEADERS[name]) < KEPT_BYTES
        assert ends(connection)


@pytest.mark.parametrize("name", HEADERS)
def test_a_head_is_limited_behind_another_request(strict: Child, name: str) -> None:
    with connected(strict) as connection:
        connection.sendall(REPORTS + b"content-length: 2\r\n\r\n{}" + b"GET / HTTP/1.1\r\nx: ")
        assert kept(strict, connection, HEADERS[name]) < KEPT_BYTES


def test_a_head_of_the_largest_size_is_read_and_one_byte_more_is_not(strict: Child) -> None:
    fixed = b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: \r\n\r\n"
    for length, status in ((HEAD_BYTES, b"200"), (HEAD_BYTES + 1, b"431")):
        with connected(strict) as connection:
            connection.sendall(fixed.replace(b"x: \r", b"x: " + b"y" * (length - len(fixed)) + b"\r"))
            assert connection.recv(12) == b"HTTP/1.1 " + status


def test_a_request_has_no_more_headers_than_it_may(strict: Child) -> None:
    for count, status in ((MAX_HEADERS, b"200"), (MAX_HEADERS + 1, b"431")):
        with connected(strict) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + b"a:\r\n" * (count - 1) + b"\r\n")
            assert connection.recv(12) == b"HTTP/1.1 " + status
    trailers = b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n" + b"a:\r\n" * MAX_HEADERS
    with connected(strict) as connection:
        connection.sendall(REPORTS + trailers)
        assert ends(connection)


def test_many_small_headers_take_no_more_memory_than_their_bytes(strict: Child) -> None:
    """Without a limit on their number, each of these connections keeps 3 MB."""
    head = b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + b"a:\r\n" * (HEAD_BYTES // 4 - 16) + b"\r\n"
    with contextlib.ExitStack() as open_ones:
        opened = [open_ones.enter_context(connected(strict)) for _ in range(20)]
        for connection in opened:
            connection.sendall(LIVE)
            assert connection.recv(20).startswith(b"HTTP/1.1 200")
        before = memory(strict)
        for connection in opened:
            with contextlib.suppress(OSError):
                connection.sendall(head * 7)
        time.sleep(0.5)
        assert memory(strict) - before < KEPT_BYTES


def test_a_head_in_the_second_place_has_the_same_limit_but_for_one_piece(strict: Child) -> None:
    long = b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: " + b"y" * (HEAD_BYTES + PIECE_BYTES) + b"\r\n\r\n"
    with connected(strict) as connection:
        connection.sendall(LIVE + long)
        assert ends(connection)


@pytest.mark.parametrize(("end", "piece"), [(b"0\r\n", b"x: yz\r\n" * 2**13), (b"1;x=", b"a" * 2**16)])
def test_the_frame_of_a_body_counts_as_a_head_does(strict: Child, end: bytes, piece: bytes) -> None:
    with connected(strict) as connection:
        connection.sendall(REPORTS + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n" + end)
        assert kept(strict, connection, piece) < KEPT_BYTES


@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_what_is_not_http_gets_no_answer_in_the_midst_of_another(strict: Child, seconds: float) -> None:
    with connected(strict) as connection:
        connection.sendall(LIVE)
        time.sleep(seconds)
        text = b""
        with contextlib.suppress(OSError):
            connection.sendall(b"\xff\xff\r\n\r\n")
            while part := connection.recv(2**16):
                text += part
    assert b"bad_http" not in text
    with connected(strict) as connection:
        connection.sendall(REPORTS + b"transfer-encoding: chunked\r\n\r\nzz\r\n")
        assert connection.recv(12) == b"HTTP/1.1 400"


def test_what_is_written_after_a_refusal_is_dropped() -> None:
    """A transport that has sent its end raises an error, of which a server would write a page into its log."""

    class Ended(asyncio.Transport):
        def write(self, data: object) -> None:
            raise RuntimeError("Cannot call write() after write_eof()")

    unused: Any = None
    outgoing = Outgoing(Ended(), unused)
    outgoing.lingering = True
    outgoing.write(b"HTTP/1.1 200 OK\r\n\r\n")


def test_empty_lines_before_a_head_count(strict: Child) -> None:
    with connected(strict) as connection:
        connection.sendall(LIVE)
        assert kept(strict, connection, b"\r\n" * 2**15) < KEPT_BYTES
        assert ends(connection)


def test_a_head_must_come_in_time_also_while_a_stream_is_held(strict: Child) -> None:
    with connected(strict, 6) as connection:
        connection.sendall(LIVE + b"GET / HTTP/1.1\r\n")
        assert ends(connection)


def test_requests_may_be_sent_ahead_but_not_too_many(strict: Child) -> None:
    with connected(strict) as connection:
        connection.sendall(HEALTH * 10)
        text = b""
        while text.count(b'{"status": "ok"}') < 10:
            text += connection.recv(2**16)
    with connected(strict) as connection:
        connection.sendall(LIVE + HEALTH * (QUEUED_REQUESTS + 1))
        assert ends(connection)


def test_a_body_of_many_pieces_is_read_whole(strict: Child) -> None:
    """It crosses the pieces that the parser is given, and is followed by another request at once."""
    body = b"\n".join(submission(survey()) for _ in range(500))
    head = REPORTS.replace(b"json", b"x-ndjson") + b"content-length: %d\r\n\r\n" % len(body)
    assert len(body) > 4 * PIECE_BYTES and LINES == "application/x-ndjson"
    with connected(strict) as connection:
        connection.sendall(head + body + HEALTH)
        text = b""
        while b'"ok"' not in text:
            text += connection.recv(2**16)
    assert b'"accepted": 500' in text


def test_the_rest_of_an_unwanted_body_must_end(strict: Child) -> None:
    """Nobody reads the body of a request without a token: it is thrown away, but not for ever."""
    with connected(strict, 6) as connection:
        connection.sendall(b"POST /v1/surveys HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 401"
        assert ends(connection)


def test_a_refused_body_does_not_cost_the_client_the_answer(strict: Child) -> None:
    """Sixteen megabytes are sent before anything is read, as most clients do."""
    status, body = request(f"{strict.url}/v1/surveys/habits/reports", bytes(2**24 + 1))
    assert (status, json.loads(body)["error"]["code"]) == (413, "too_large")


# Answers that nobody takes.


def slow(child: Child) -> socket.socket:
    """A connection with small buffers at this end."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(10)
    made.connect((HOST, child.port))
    return made


def connections_of(child: Child) -> int:
    links = Path(f"/proc/{child.pid}/fd").iterdir()
    found = 0
    for link in links:
        with contextlib.suppress(OSError):
            found += str(link.readlink()).startswith("socket:")
    return found


def test_a_client_that_never_reads_its_answers_is_disconnected(strict: Child) -> None:
    request(f"{strict.url}/healthz", None)
    before = connections_of(strict)
    with slow(strict) as connection:
        asked = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n" * 16
        for _ in range(40):
            try:
                connection.settimeout(0.2)
                connection.sendall(asked)
            except OSError:
                break
        wait_until(lambda: connections_of(strict) <= before, 15)


def test_a_client_that_takes_an_answer_slowly_gets_all_of_it(nest: Nursery, tmp_path: Path) -> None:
    child = start(nest, tmp_path, write_seconds=2.0)
    with slow(child) as connection:
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        text = b""
        while part := connection.recv(2048):
            text += part
            time.sleep(0.02)
    child.kill(signal.SIGTERM)
    assert json.loads(text.partition(b"\r\n\r\n")[2])["openapi"] == "3.1.0"


def test_a_stream_is_told_that_its_client_has_gone_though_another_request_waits(strict: Child) -> None:
    """The server must know whose request is under way: otherwise the stream goes on for a quarter of an hour."""
    for _ in range(3):
        with connected(strict) as connection:
            connection.sendall(LIVE + HEALTH)
            assert connection.recv(12) == b"HTTP/1.1 200"
    wait_until(lambda: b"sottovoce_streams 0" in request(f"{strict.url}/metrics", None)[1], 10)


# Many at once.


def test_connections_of_one_address_are_limited(nest: Nursery, tmp_path: Path) -> None:
    child = start(nest, tmp_path, connections_per_address=3)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(connected(child))
        status, body = request(f"{child.url}/healthz", None)
        assert status == 503 and b"there are too many connections from one address" in body
        with socket.create_connection((HOST, child.port), 5, source_address=("127.0.0.2", 0)) as other:
            other.sendall(HEALTH)
            assert other.recv(12) == b"HTTP/1.1 200"
    wait_until(lambda: request(f"{child.url}/healthz", None)[0] == 200)
    child.kill(signal.SIGTERM)


def test_streams_of_one_address_are_limited(nest: Nursery, tmp_path: Path) -> None:
    child = start(nest, tmp_path, {"streams_per_address": 5})
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            connection = stack.enter_context(connected(child))
            connection.sendall(LIVE)
            assert connection.recv(12) == b"HTTP/1.1 200"
        assert request(f"{child.url}/v1/surveys/habits/live", None)[0] == 503
        with socket.create_connection((HOST, child.port), 5, source_address=("127.0.0.2", 0)) as other:
            other.sendall(LIVE)
            assert other.recv(12) == b"HTTP/1.1 200"
    wait_until(lambda: b"sottovoce_streams 0" in request(f"{child.url}/metrics", None)[1], 10)
    child.kill(signal.SIGTERM)


def test_bodies_in_flight_are_limited_over_all_connections(nest: Nursery, tmp_path: Path) -> None:
    """A body of which the last byte does not come takes its room; a small report still gets in."""
    child = start(nest, tmp_path, {"max_bytes_in_flight": 2**19})
    size = 2**18
    head = REPORTS + b"content-length: %d\r\n\r\n" % size
    with connected(child) as first, connected(child) as second:
        first.sendall(head + b" " * (size - 1))
        wait_until(lambda: b"sottovoce_bytes_in_flight 262143" in request(f"{child.url}/metrics", None)[1], 5)
        second.sendall(head + b" " * (size - 1))
        answer = second.recv(2**16)
        assert answer.startswith(b"HTTP/1.1 503") and b'"busy"' in answer and b"retry-after: 2" in answer
        assert request(f"{child.url}/v1/surveys/habits/reports", submission(survey()))[0] == 200
    wait_until(lambda: b"sottovoce_bytes_in_flight 0" in request(f"{child.url}/metrics", None)[1], 5)
    child.kill(signal.SIGTERM)


HEAVY = {
    "application/json": b'{"reports":[{}' + b",{}" * 349_000 + b"]}",
    LINES: b"\n" * 2**22,
    "application/vnd.apache.arrow.stream": bytes(2**24),
}


@pytest.mark.parametrize("kind", HEAVY)
def test_health_is_told_in_a_second_while_twelve_bodies_are_parsed(nest: Nursery, tmp_path: Path, kind: str) -> None:
    child = start(nest, tmp_path)
    request(f"{child.url}/healthz", None)
    before, latencies = memory(child), []
    bodies = [
        threading.Thread(target=lambda: request(f"{child.url}/v1/surveys/habits/reports", HEAVY[kind], kind))
        for _ in range(12)
    ]
    for body in bodies:
        body.start()
    while any(body.is_alive() for body in bodies):
        begun = time.monotonic()
        assert request(f"{child.url}/healthz", None)[0] == 200
        latencies.append(time.monotonic() - begun)
        time.sleep(0.02)
    assert memory(child, "VmHWM") - before < 300e6
    assert max(latencies) < 1
    child.kill(signal.SIGTERM)
