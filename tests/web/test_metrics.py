"""What a service shows to Prometheus: right counts, a text that promtool takes, and nothing about one person."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from itertools import pairwise
from typing import Any

import pytest
from collector_service import Inside, submission, survey

from sottovoce import __version__
from sottovoce.web.application import Application
from sottovoce.web.http import Request, Response
from sottovoce.web.metrics import BUCKET_SECONDS, COUNTERS, GAUGES, Metrics

PROMTOOL = shutil.which("promtool")


class Slow(Application):
    """A service with one route, which takes as long as its path says."""

    def __init__(self) -> None:
        super().__init__({"rate": None})
        self.router.add({"/wait/{seconds}": {"GET": self.wait}})

    async def wait(self, request: Request, seconds: str) -> Response:
        await asyncio.sleep(float(seconds))
        return Response(200, {})


class Private(Slow):
    public_metrics = False


def get(app: Application, path: str, address: str = "127.0.0.1", **headers: str) -> tuple[int, str]:
    sent: list[dict[str, Any]] = []
    known = {"host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "client": (address, 1),
             "headers": [(name.encode(), value.encode()) for name, value in known.items()]}  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], sent[1]["body"].decode()


def samples(text: str) -> dict[str, float]:
    pairs = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in pairs}


def test_a_request_is_timed_by_its_route_and_not_by_its_path() -> None:
    app, series = Slow(), 'sottovoce_request_seconds_%s{method="GET",route="/wait/{seconds}"}'
    for path in ("/wait/0.07", "/wait/0.07", "/wait/0"):
        assert get(app, path)[0] == 200
    found = samples(get(app, "/metrics")[1])
    assert found[series % "count"] == 3.0 and found[series % "sum"] >= 0.14
    assert not any("0.07" in name or "127.0.0.1" in name for name in found)


def test_times_are_counted_in_buckets() -> None:
    metrics, series = Metrics(), 'sottovoce_request_seconds_bucket{le="%s",method="GET",route="/"}'
    for seconds in (0.002, 0.03, 0.2, 100.0):
        metrics.observe("GET", "/", seconds)
    found = samples(metrics.text(local=True).decode())
    assert [found[series % bound] for bound in ("0.01", "0.05", "0.25", "30.0", "+Inf")] == [1.0, 2.0, 3.0, 3.0, 4.0]


def test_what_has_no_route_has_no_time() -> None:
    """Otherwise whoever makes up addresses would fill the memory."""
    app = Slow()
    for at in range(20):
        assert get(app, f"/made-up/{at}")[0] == 404
    text = get(app, "/metrics")[1]
    assert "made-up" not in text and 'sottovoce_requests_total{status="404"} 20.0\n' in text
    assert "route=" not in text


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("10.0.0.1", {}),
        ("127.0.0.1", {"x_forwarded_for": "10.0.0.1"}),
        ("127.0.0.1", {"forwarded": "for=10.0.0.1"}),
        ("127.0.0.1", {"host": "collector.example"}),
        ("127.0.0.1", {"origin": "https://evil.example"}),
    ],
)
def test_timings_and_the_process_are_for_this_machine_alone(address: str, headers: dict[str, str]) -> None:
    app = Slow()
    get(app, "/wait/0")
    here = samples(get(app, "/metrics")[1])
    assert here["sottovoce_request_seconds_count" + '{method="GET",route="/wait/{seconds}"}'] == 1.0
    assert here["process_resident_memory_bytes"] > 2**20
    status, text = get(app, "/metrics", address, **headers)
    names = {name.partition("{")[0] for name in samples(text)}
    shown = {f"sottovoce_{name}_total" for name in COUNTERS} | {f"sottovoce_{name}" for name in GAUGES}
    assert status == 200 and names <= shown | {"sottovoce_build_info"}
    assert get(Private(), "/metrics", address, **headers)[0] == 404
    assert get(Private(), "/metrics")[0] == 200


def test_no_series_says_when_it_began() -> None:
    app = Slow()
    get(app, "/nothing")
    get(app, "/wait/0")
    text = get(app, "/metrics")[1]
    assert "_created" not in text


def test_buckets_are_coarse() -> None:
    """Each is at least four times the one before: a bucket does not tell one device or network from another."""
    assert BUCKET_SECONDS[0] >= 0.01
    assert all(late / early >= 4 for early, late in pairwise(BUCKET_SECONDS))


def test_services_do_not_share_what_they_count() -> None:
    first, second = Metrics(), Metrics({"batches": "Batches delivered."})
    first.add("accepted", count=3)
    second.add("rejected", "rate")
    assert (first["accepted"], second["accepted"], second.counts["rejected", "rate"]) == (3, 0, 1)
    assert b"sottovoce_batches_total" in second.text() and b"sottovoce_batches_total" not in first.text()
    with pytest.raises(KeyError):
        first.add("batches")


def test_everything_has_help_and_a_version(small: Inside) -> None:
    small.send(submission(survey()))
    text = small("GET", "/metrics").body.decode()
    assert f'sottovoce_build_info{{version="{__version__}"}} 1.0\n' in text
    typed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert typed and typed == {line.split()[2] for line in text.splitlines() if line.startswith("# HELP")}
    assert 'route="/v1/surveys/{id}/reports"' in text and "habits" not in text


@pytest.mark.skipif(PROMTOOL is None and "SOTTO_REQUIRE_ALL" not in os.environ, reason="there is no promtool")
def test_promtool_finds_nothing_to_say(small: Inside) -> None:
    small.send(submission(survey()))
    small.send(b"{")
    checked = [small("GET", "/metrics").body]
    more = Metrics({"batches": "Batches delivered."})
    more.add("batches")
    checked.append(more.text(dict.fromkeys(GAUGES, 7), local=True))
    for text in checked:
        done = subprocess.run([PROMTOOL or "promtool", "check", "metrics"], input=text, capture_output=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    bad = subprocess.run([PROMTOOL or "promtool", "check", "metrics"], input=b"# TYPE a counter\na 1\n",
                         capture_output=True, timeout=60)  # fmt: skip
    assert bad.returncode != 0  # It can find something.
