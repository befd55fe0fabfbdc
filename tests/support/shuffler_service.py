"""What the tests of the shuffler share: keys, a survey with a shuffler, envelopes, batches, services to talk to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import secrets
import signal
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

from collector_service import Inside
from service_processes import HOST, Child, Forking

from sottovoce.collector import Store
from sottovoce.collector.sqlite import sqlite_store
from sottovoce.core.sealing import PrivateKey
from sottovoce.device import envelope, wire
from sottovoce.shuffler import Shuffler, ShufflerStore
from sottovoce.shuffler.forwarder import Forwarding
from sottovoce.survey import Survey

ANALYST = PrivateKey(bytes(range(32)))
SHUFFLER = PrivateKey(bytes(range(1, 33)))
QUESTIONS = [
    {"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 1},
    {"id": "ward", "text": "Which ward?", "kind": "choice", "values": 300, "mechanism": "krr", "epsilon": 1},
]


def document(minimum: int = 10, waves: int = 2, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "sottovoce": 1, "id": "habits", "title": "Habits", "trust": "shuffle", "minimum": 5, "questions": QUESTIONS,
        "schedule": {"waves": waves},
        "shuffle": {
            "analyst": str(ANALYST.public), "shuffler": str(SHUFFLER.public), "minimum": minimum, "honest": minimum,
            "address": "http://127.0.0.1:8001/v1/surveys/habits", "delta": 1e-6,
        },
    }  # fmt: skip
    return made | fields


@cache
def survey(minimum: int = 10, waves: int = 2, expires: str | None = None) -> Survey:
    return Survey.from_dict(document(minimum, waves, **({"expires": expires} if expires else {}))).publish()


def submission(asked: Survey, wave: int = 0, name: str | None = None, ward: int = 7) -> bytes:
    answers: dict[str, Any] = {"smokes": "yes", "ward": ward}
    reports = {item.id: item.mechanism.randomize(answers[item.id]) for item in asked.questions}
    return wire.encode(wire.Submission(name or secrets.token_hex(16), asked.digest, wave, reports, {}))


def sealed(asked: Survey, wave: int = 0, name: str | None = None) -> bytes:
    return envelope.seal(asked, submission(asked, wave, name))


def batch_headers(asked: Survey, body: bytes, key: PrivateKey = SHUFFLER) -> dict[str, str]:
    """The headers of a batch by which a collector knows the shuffler."""
    return {"sottovoce_batch": envelope.batch_pass(asked, key, len(body)), "content_length": str(len(body))}


def letter(asked: Survey, wave: int = 0, name: str | None = None) -> tuple[int, bytes]:
    """What the shuffler has of an envelope."""
    return envelope.take_off(asked, SHUFFLER, sealed(asked, wave, name))


def noise(asked: Survey, count: int, wave: int = 0) -> list[tuple[int, bytes]]:
    """Inner envelopes that nobody can open, of the right size: quick to make, and all the same to a shuffler."""
    return [(wave, secrets.token_bytes(envelope.inner_size(asked))) for _ in range(count)]


def shuffler_store(folder: Path, asked: Survey, **options: Any) -> ShufflerStore:
    return ShufflerStore(folder / "shuffler.sqlite", asked, **options)


def collector_store(folder: Path, asked: Survey) -> Store:
    store = sqlite_store(folder / "collector.sqlite")
    store.publish(asked)
    return store


def identities(store: Store) -> list[str]:
    """The ids of all reports in a collector."""
    to = store.survey("habits")
    assert to is not None
    return [row[1].hex() for rows in store.reports(to) for row in rows]


# Processes: a nursery that forks one of each kind for a line that it reads.


class RunningShuffler(Inside):
    """A shuffler in this process."""

    def __init__(self, app: Shuffler) -> None:
        self.app: Any = app
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self._do(self._start())


class Nursery(Forking):
    """Starts collectors, shufflers and devices."""

    def __init__(self) -> None:
        super().__init__(__file__)

    def start(self, **order: Any) -> Child:
        return self.fork(order)


def _collector(folder: Path, asked: Survey, order: dict[str, Any]) -> None:
    from sottovoce.collector import Collector
    from sottovoce.web.server import listen, run

    listener = listen(HOST, 0)
    app = Collector(sqlite_store(folder / "collector.sqlite"), rate=None, keys=[ANALYST])
    run(app, listener, lambda: _say(listener.getsockname()[1]))


def _shuffler(folder: Path, asked: Survey, order: dict[str, Any]) -> None:
    from sottovoce.shuffler import Shuffler
    from sottovoce.web.server import listen, run

    listener = listen(HOST, 0)
    timing: Forwarding = {"seconds": 0.05, "refused_seconds": 0.2, "timeout": 5.0}
    app = Shuffler(shuffler_store(folder, asked), SHUFFLER, order["url"], rate=None, forwarding=timing)
    run(app, listener, lambda: _say(listener.getsockname()[1]))


def _device(folder: Path, asked: Survey, order: dict[str, Any]) -> None:
    """Seals and sends until it is killed. It notes what it sends before, and that it was acknowledged after."""
    from sottovoce.device import transport

    choice, notes = random.Random(), folder / f"device-{order['number']}"
    _say(0)
    with notes.open("a", buffering=1) as out:
        while True:
            names = [secrets.token_hex(16) for _ in range(choice.choice([1, 1, 3]))]
            post = b"".join(sealed(asked, choice.randrange(asked.waves), name) for name in names)
            out.write(f"sent {post.hex()} {' '.join(names)}\n")
            with contextlib.suppress(transport.Undelivered):
                transport.send(order["url"], post, envelope.SEALED, attempts=2, timeout=5, sleep=_nap)
                out.write(f"kept {post.hex()}\n")


def _nap(seconds: float) -> None:
    time.sleep(min(seconds, 0.05))


def _say(port: int) -> None:
    sys.stdout.write(json.dumps({"port": port, "pid": os.getpid()}) + "\n")
    sys.stdout.flush()


KINDS = {"collector": _collector, "shuffler": _shuffler, "device": _device}


def main() -> None:
    import httptools  # noqa: F401
    import numpy  # noqa: F401
    import uvicorn  # noqa: F401

    import sottovoce.web.server  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Nobody waits for the children.
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            order = json.loads(line)
            code = 1
            try:
                KINDS[order["kind"]](Path(order["folder"]), survey(order["minimum"]), order)
                code = 0
            finally:
                os._exit(code)


if __name__ == "__main__":
    main()
