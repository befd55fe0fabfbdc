"""Sealing in JavaScript: Python opens what Node and a browser seal, and they open what Python seals.

The vectors of RFC 9180 and what is refused are in clients/js/test/seal.test.js, which test_js.py runs.
"""

from __future__ import annotations

import json
import random
import secrets
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from browser_site import chromium, require_browser
from javascript import answer_to, needs_node, node
from shuffler_service import ANALYST, SHUFFLER, document
from surveys import QUESTIONS, draft

from sottovoce import Survey
from sottovoce.core.sealing import PrivateKey
from sottovoce.device import envelope, wire

CLIENT = Path(__file__).parents[2] / "clients" / "js"


def ask(tasks: list[dict[str, Any]]) -> list[Any]:
    lines = node("test/envelopes.js", given="".join(json.dumps(task) + "\n" for task in tasks)).splitlines()
    return [json.loads(line) for line in lines]


@needs_node
def test_messages_of_all_lengths_pass_both_ways() -> None:
    seed, tasks, expected = random.Random(1), [], []
    key = PrivateKey.generate()
    for size in [0, 1, 15, 16, 17, 100, 5000]:
        message, info = secrets.token_bytes(size), secrets.token_bytes(seed.randrange(40))
        sealed = key.public.seal(message, info=info)
        tasks.append({"task": "open", "key": key.data.hex(), "sealed": sealed.hex(), "info": info.hex()})
        tasks.append({"task": "seal", "key": key.public.data.hex(), "message": message.hex(), "info": info.hex()})
        expected.append((message, info))
    got = ask(tasks)
    assert got[::2] == [message.hex() for message, _ in expected]
    for (message, info), sealed_there in zip(expected, got[1::2], strict=True):
        assert key.open(bytes.fromhex(sealed_there), info=info) == message


def mixed(**fields: Any) -> Survey:
    """A survey of all kinds of questions, with a shuffler."""
    made = draft(*QUESTIONS, budget=40, trust="shuffle", shuffle=document()["shuffle"], **fields)
    return Survey.from_dict(made).publish()


def check(asked: Survey, wave: int, body: str, sealed: str) -> None:
    found, inner = envelope.take_off(asked, SHUFFLER, bytes.fromhex(sealed))
    assert found == wave and envelope.unseal(asked, ANALYST, wave, inner) == body.encode()
    assert wire.decode(body.encode(), asked).wave == wave


@needs_node
def test_python_opens_what_node_seals() -> None:
    surveys = [mixed(), mixed(schedule={"waves": 12}), mixed(questions=QUESTIONS[:1])]
    tasks = [
        {"task": "answer", "survey": json.loads(asked.canonical()), "wave": asked.waves - 1,
         "answers": {item.id: answer_to(item, 0) for item in asked.questions}}
        for asked in surveys
    ]  # fmt: skip
    for asked, got in zip(surveys, ask(tasks), strict=True):
        check(asked, asked.waves - 1, got["body"], got["sealed"])
        assert got["length"] == envelope.length(asked)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


IN_PAGE = """async ([survey, answers]) => {
  const { seal } = await import("/seal.js");
  const { MemoryStore, Respondent } = await import("/sottovoce.js");
  const body = await new Respondent({ store: new MemoryStore(), budget: 50 }).answer(survey, answers);
  const sealed = await seal(survey, body);
  return { body, sealed: Array.from(sealed, (byte) => byte.toString(16).padStart(2, "0")).join("") };
}"""


def test_python_opens_what_a_browser_seals() -> None:
    require_browser()
    asked = mixed()
    answers = {item.id: answer_to(item, 0) for item in asked.questions}
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(CLIENT)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with chromium() as browser:
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/package.json")
            got = page.evaluate(IN_PAGE, [json.loads(asked.canonical()), answers])
    finally:
        server.shutdown()
        server.server_close()
    check(asked, 0, got["body"], got["sealed"])
