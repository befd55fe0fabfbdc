"""The client in a real browser: its IndexedDB, its randomness, and a page without HTTPS."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sottovoce.device import wire
from sottovoce.survey import Survey

ROOT = Path(__file__).parents[2]
TIMEOUT = 60
BROWSER = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


class Handler(SimpleHTTPRequestHandler):
    """Serves the repository, and passes on what a page posts."""

    def __init__(self, *arguments: Any, receive: Callable[[str], None], **options: Any) -> None:
        self.receive = receive
        super().__init__(*arguments, **options)

    def do_POST(self) -> None:
        self.receive(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def visit(folder: Path) -> dict[str, Any]:
    """What clients/js/test/page.html says in a browser that keeps its data in a folder.

    What a browser keeps belongs to an origin, so that the name and the port which it is told are the same each time.
    """
    results: list[str] = []
    done = threading.Event()

    def receive(text: str) -> None:
        results.append(text)
        done.set()

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, receive=receive, directory=str(ROOT)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rules = f"--host-resolver-rules=MAP classroom.test 127.0.0.1:{server.server_port}"
    process = subprocess.Popen(
        [str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", rules,
         f"--user-data-dir={folder}", "http://classroom.test:8080/clients/js/test/page.html"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert done.wait(TIMEOUT), "the page did not answer"
    finally:
        process.terminate()
        process.wait(TIMEOUT)
        server.shutdown()
        server.server_close()
    answer: dict[str, Any] = json.loads(results[0])
    return answer


@pytest.mark.skipif(BROWSER is None and "SOTTO_REQUIRE_ALL" not in os.environ, reason="there is no Chromium")
def test_a_browser_keeps_one_answer_for_good(tmp_path: Path) -> None:
    """On a page without HTTPS, as in a classroom, and after the browser was closed."""
    first, second = visit(tmp_path), visit(tmp_path)
    assert first["secure"] is False
    assert first["bodies"] == second["bodies"] and len(set(first["bodies"])) == 8
    assert (first["charges"], first["spent"]) == (second["charges"], second["spent"])
    file = json.loads((ROOT / "vectors" / "surveys.json").read_text(encoding="utf-8"))
    small, _, panel = (Survey.from_dict(entry["document"]) for entry in file["surveys"])
    wire.decode(first["bodies"][0].encode(), small)
    assert [wire.decode(body.encode(), panel).wave for body in first["bodies"][2:]] == list(range(6))
