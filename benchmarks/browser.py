"""How long a browser takes to answer a long survey: 100 questions with 1,000 options each, on a slow processor.

    python benchmarks/browser.py                                # this version, Chromium slowed down four times
    python benchmarks/browser.py --beside /another/checkout     # and another one, in turns

Each visit is a new page, as a person's is, so that nothing is compiled yet. It times, in the page: reading and checking
the survey, answering all questions (draws, ledger and IndexedDB included), and both. Needs Playwright and Chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from sottovoce.core.lazy import load
from sottovoce.estimates.render import text_table
from sottovoce.survey import Survey

ROOT = Path(__file__).parent.parent
QUESTIONS, OPTIONS, SLOWDOWN, VISITS = 100, 1000, 4, 7
PARTS = ("read", "answer", "both")
MECHANISMS = ("auto", "krr", "unary", "subset", "local_hash", "hadamard", "projective")

PAGE = """async ({survey, answers}) => {
  const { Respondent, Survey } = await import("/clients/js/sottovoce.js");
  const me = new Respondent({ budget: 1000 });
  await me.ledger(); // The database is open, as it is after a page has shown what a survey costs.
  const begun = performance.now();
  const read = new Survey(survey);
  const checked = performance.now();
  const body = await me.answer(read, answers);
  const done = performance.now();
  return { read: checked - begun, answer: done - checked, both: done - begun, bytes: body.length };
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def survey(mechanism: str, questions: int, options: int) -> tuple[str, dict[str, int]]:
    """A published survey, and answers to it. Its options are numbers: a survey of texts so many would be too long."""
    how = {} if mechanism == "auto" else {"mechanism": mechanism}
    asked = [{"id": f"q{at}", "text": "Which?", "kind": "choice", "values": options, **how} for at in range(questions)]
    head = {"sottovoce": 1, "id": "long", "title": "Long", "trust": "local", "budget": float(questions)}
    done = Survey.from_dict({**head, "questions": asked}).publish()
    return done.canonical().decode(), {f"q{at}": at % options for at in range(questions)}


def visit(checkout: Path, document: str, answers: dict[str, int], slowdown: int) -> dict[str, float]:
    """What one page of a checkout took, in milliseconds."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(checkout)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    playwright = load("playwright.sync_api").sync_playwright
    try:
        with playwright() as started, tempfile.TemporaryDirectory() as folder:
            arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            options = {"headless": True, "args": arguments, "executable_path": shutil.which("chromium")}
            browser = started.chromium.launch_persistent_context(folder, **options)
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/clients/js/package.json")
            session = browser.new_cdp_session(page)
            session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
            took: dict[str, float] = page.evaluate(PAGE, {"survey": document, "answers": answers})
            browser.close()
            return took
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, help="another checkout of sottovoce")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--options", type=int, default=OPTIONS)
    parser.add_argument("--slowdown", type=int, default=SLOWDOWN)
    parser.add_argument("--visits", type=int, default=VISITS)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    checkouts = {"this version": ROOT, **({"beside": asked.beside} if asked.beside else {})}
    rows = []
    for mechanism in MECHANISMS:
        document, answers = survey(mechanism, asked.questions, asked.options)
        visits = [
            {version: visit(checkout, document, answers, asked.slowdown) for version, checkout in checkouts.items()}
            for _ in range(asked.visits)
        ]
        for version in checkouts:
            took = {part: statistics.median(each[version][part] for each in visits) for part in PARTS}
            rows.append({"mechanism": mechanism, "version": version, **took})
    if asked.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{asked.questions} questions, {asked.options:,} options, slowed down {asked.slowdown} times, milliseconds\n")
    cells = [[str(cell) if isinstance(cell, str) else f"{cell:.1f}" for cell in row.values()] for row in rows]
    print(text_table(["mechanism", "version", *PARTS], cells))


if __name__ == "__main__":
    main()
