"""All that a browser sends and stores: a proxy that writes every request down, and a dump of a page's storage.

The proxy sees what leaves the machine, whichever way the page sent it: every request with its headers, its body, its
time and the phase of the visit in which it came. It forwards to this machine alone. It can edit the scripts that it
passes on: a test that plants a mistake in the page shows that the comparison notices.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from browser_site import PHONE, WAIT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

TIMEOUT_SECONDS = 20
HOP_HEADERS = {"connection", "proxy-connection", "keep-alive", "transfer-encoding"}
"""Headers about one connection; they are not passed on."""

CHROMIUM_OWN = "content-autofill.googleapis.com:443"
"""Where Chromium itself asks what kinds of fields a form has. It is not the page that does; here it gets no answer."""

Edit = Callable[[str], str]

DUMP_STORAGE = """async () => {
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const databases = {};
  for (const { name, version } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name));
    const tables = {};
    for (const table of database.objectStoreNames) {
      const rows = database.transaction(table).objectStore(table);
      tables[table] = [await done(rows.getAllKeys()), await done(rows.getAll())];
    }
    database.close();
    databases[name] = { version, tables };
  }
  const cached = {};
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    cached[name] = [];
    for (const request of await cache.keys()) {
      cached[name].push([request.url, [...request.headers], await (await cache.match(request)).text()]);
    }
  }
  const files = [];
  for await (const name of (await navigator.storage.getDirectory()).keys()) files.push(name);
  const workers = (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => scope);
  return {
    localStorage: { ...localStorage }, sessionStorage: { ...sessionStorage }, databases, cached, files, workers,
    name: window.name, title: document.title, address: location.href, state: history.state, entries: history.length,
  };
}"""
"""Everything that the browser keeps for an origin, and what a tab keeps with its history."""


@dataclass(frozen=True)
class Sent:
    """One request as it left the browser."""

    phase: str
    seconds: float
    """Since the phase began."""
    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def content(self) -> tuple[Any, ...]:
        """All of it but the moment."""
        return (self.phase, self.method, self.url, self.headers, self.body)


@dataclass
class Visit:
    """What one visit sent and stored: requests in their order, and the storage at the end of some phases."""

    requests: list[Sent] = field(default_factory=list)
    storage: dict[str, Any] = field(default_factory=dict)
    shown: str = ""
    """The bytes that the page showed before they were sent."""


class Proxy(ThreadingHTTPServer):
    """An HTTP proxy for one browser at a time."""

    daemon_threads = True

    def __init__(self, edits: dict[str, Edit]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.edits, self.lock = edits, threading.Lock()
        self.requests: list[Sent] = []
        self.begin("load")

    def begin(self, phase: str) -> None:
        """What is sent from now on belongs to a phase."""
        with self.lock:
            self.phase, self.began = phase, time.monotonic()

    def record(self, method: str, url: str, headers: list[tuple[str, str]], body: bytes) -> None:
        with self.lock:
            seconds = time.monotonic() - self.began
            self.requests.append(Sent(self.phase, seconds, method, url, tuple(headers), body))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle is no error."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT_SECONDS
    server: Proxy

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path != CHROMIUM_OWN:
            self.server.record(self.command, self.path, self.headers.items(), body)
        place = urlsplit(self.path)
        if place.hostname != "127.0.0.1":  # Also CONNECT, the way to HTTPS and to web sockets.
            self.reply(502, [], b"")
            return
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_HEADERS | {"if-none-match"}}
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=TIMEOUT_SECONDS)
        with contextlib.closing(connection):
            connection.request(self.command, place.path + f"?{place.query}" * bool(place.query), body or None, headers)
            answer = connection.getresponse()
            data = answer.read()
        if place.path in self.server.edits:
            data = self.server.edits[place.path](data.decode()).encode()
        kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in HOP_HEADERS | {"content-length", "etag"}]
        self.reply(answer.status, kept, data)

    def __getattr__(self, name: str) -> Any:
        """Whatever the method is, it is written down and passed on."""
        if not name.startswith("do_"):
            raise AttributeError(name)
        return self.forward

    def reply(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def proxy(edits: dict[str, Edit] | None = None) -> Iterator[Proxy]:
    made = Proxy(edits or {})
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
        thread.join(TIMEOUT_SECONDS)


@contextlib.contextmanager
def recorded(browser: Browser, through: Proxy, script: str) -> Iterator[tuple[BrowserContext, Page]]:
    """A page of a new person all of whose requests go through the proxy; `script` runs before those of the page."""
    server = f"http://127.0.0.1:{through.server_port}"
    options: dict[str, Any] = {"viewport": PHONE, "locale": "en-US", "proxy": {"server": server}}
    context = browser.new_context(**options)
    context.set_default_timeout(WAIT)
    context.add_init_script(script)
    try:
        yield context, context.new_page()
    finally:
        context.close()


def storage(context: BrowserContext, page: Page) -> Any:
    """All that is stored, as one text that can be compared."""
    found = page.evaluate(DUMP_STORAGE) | {"cookies": context.cookies()}
    return json.dumps(found, sort_keys=True, indent=1, default=str)
