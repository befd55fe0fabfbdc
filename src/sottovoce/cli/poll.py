from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sottovoce.cli.options import json_option
from sottovoce.cli.serve import FOLDER, listening
from sottovoce.cli.show import print_result
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import FileError, ParameterError

if TYPE_CHECKING:
    import socket

    from sottovoce.collector.poll import Answer
    from sottovoce.survey import Survey

EVERYBODY = "0.0.0.0"  # noqa: S104
LAST_VOTE_SECONDS = 1.0
"""Time between the last simulated vote and the end, so that a page shows it."""


def _bounds(text: str | None) -> tuple[float, float] | None:
    try:
        low, high = (float(part) for part in text.split(":")) if text is not None else (None, None)
    except ValueError:
        raise ParameterError(f"--number must be two numbers such as 0:10, got {text!r:.40}") from None
    return None if low is None or high is None else (low, high)


def _fractions(name: str, text: str | None) -> list[Fraction] | None:
    """Numbers or fractions such as 5/6, with commas in between."""
    try:
        return None if text is None else [Fraction(part) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{name} must be numbers such as 0.75 or 3/4, got {text!r:.40}") from None


def _one(name: str, text: str | None) -> Fraction | None:
    found = _fractions(name, text)
    if found is not None and len(found) != 1:
        raise ParameterError(f"{name} must be one number, got {text!r:.40}")
    return found[0] if found else None


def _list(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


@click.command()
@click.argument("question")
@click.option("--options", metavar="A,B,...", help="What to choose from; without it yes or no.")
@click.option("--number", metavar="LOW:HIGH", help="Ask for a number instead.")
@click.option("--truth", metavar="P", help="How likely a report is true, 0.75 if nothing is said.")
@click.option("--epsilon", type=float, help="The cost of an answer, instead of --truth.")
@click.option("--minimum", type=click.IntRange(min=1), default=5, show_default=True,
              help="Show no estimate from fewer reports.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), help="8000 or, if it is taken, any free one.")
@click.option("--host", default=EVERYBODY, show_default=True, help="Whom to serve; 127.0.0.1 is this machine alone.")
@click.option("--data", type=FOLDER, help="Keep the reports in this folder; the same poll goes on there.")
@click.option("--output", type=click.Path(path_type=Path), help="Where the results go, without .json and .html.")
@click.option("--simulate", type=click.IntRange(1, 100_000), metavar="N", help="Rehearse with N simulated voters.")
@click.option("--seconds", type=click.FloatRange(min=0), default=10.0, show_default=True,
              help="How long the simulated voters take.")  # fmt: skip
@click.option("--share", "shares", metavar="S,T,...",
              help="The simulated voters' shares of the options; random if nothing is said.")  # fmt: skip
@click.option("--duration", type=click.FloatRange(min=0, min_open=True), help="End after so many seconds.")
@click.option("--no-open", is_flag=True, help="Do not open the results in a browser.")
@json_option
def poll(
    question: str, options: str | None, number: str | None, truth: str | None,
    epsilon: float | None, minimum: int, port: int | None, host: str, data: Path | None, output: Path | None,
    simulate: int | None, seconds: float, shares: str | None, duration: float | None, no_open: bool, as_json: bool,
) -> None:  # fmt: skip
    """Ask a QUESTION in the room: people answer on their phones, where the answers are randomized.

    Prints a link and a QR code, and shows the estimate live until Ctrl-C. Then the results are in a file of JSON and
    one of HTML. With --json there are two lines of JSON: one when it begins and one when it has ended.
    """
    from sottovoce.collector import poll as polls
    from sottovoce.collector import poll_result

    if number is not None and options is not None:
        raise ParameterError("give either --options or --number, not both")
    if output is not None and not output.absolute().parent.is_dir():
        raise FileError(f"{output}: cannot be written: there is no such folder")
    mark = None if data is None else polls.mark_of(question, options, number, truth, epsilon, minimum)
    limits, likely = _bounds(number), _one("--truth", truth)
    survey = polls.ballot(question, _list(options) or polls.YES_NO, bounds=limits, truth=likely, epsilon=epsilon,
                          minimum=minimum, mark=mark)  # fmt: skip
    answers = polls.electorate(survey, simulate, _fractions("--share", shares)) if simulate else []
    with tempfile.TemporaryDirectory(prefix="sottovoce-poll-") as folder:
        where = data or Path(folder)
        listener = listening(host, port)
        show = _Show(survey, listener.getsockname()[1], host, as_json, no_open)
        ended = threading.Event()
        _serve(where, survey, listener, show.address, _begin(show, answers, seconds, duration, ended))
        ended.set()
        result = poll_result.outcome(where, survey)
    about = {"n": len(answers), **polls.truth_of(survey, answers)} if answers else None
    record = poll_result.record(survey, result, about)
    files = _write(output or Path(survey.id), record, poll_result.page(survey, result))
    if as_json:
        click.echo(json.dumps(record | {"files": files}))
        return
    if result is None:
        click.echo(f"fewer than {minimum} reports: nothing to show")
    else:
        print_result(None, result, {})
    if answers:
        click.echo(f"the {len(answers):,} simulated voters: {polls.truth_in_words(survey, answers)}")
    click.echo(f"results: {', '.join(files)}")


class _Show:
    """What is printed when it begins."""

    def __init__(self, survey: Survey, port: int, host: str, as_json: bool, no_open: bool) -> None:
        from sottovoce.collector.poll import lan_address

        named = f"[{host}]" if ":" in host else host
        shown, here = (lan_address(), "127.0.0.1") if host == EVERYBODY else (named, named)
        self.survey, self.as_json, self.no_open = survey, as_json, no_open
        self.address = f"http://{shown}:{port}"
        self.link = f"{self.address}/s/{survey.id}"
        self.local = f"http://{here}:{port}/s/{survey.id}"
        self.reports = f"http://{here}:{port}/v1/surveys/{survey.id}"

    def __call__(self) -> None:
        record = {"link": self.link, "local": self.local, "results": f"{self.local}/results",
                  "join": f"{self.local}/join"}  # fmt: skip
        click.echo(json.dumps(record | {"survey": self.survey.id})) if self.as_json else self._print()
        sys.stdout.flush()
        if sys.stdout.isatty() and not self.no_open:
            import webbrowser

            threading.Thread(target=webbrowser.open, args=(record["results"],), daemon=True).start()

    def _print(self) -> None:
        from sottovoce.collector.poll import heading, qr

        click.echo(f"{self.survey.title}\n{heading(self.survey)}")
        if sys.stdout.isatty():
            rows = qr(self.link).splitlines()
            click.echo("\n".join(["", *(click.style(row, fg="black", bg="bright_white") for row in rows), ""]))
        click.echo(f"answer here:  {self.link}\nresults live: {self.local}/results")
        click.echo(f"for the wall: {self.local}/join and {self.local}/results?class")
        click.echo("Ctrl-C ends the poll and writes the results.")


def _begin(
    show: _Show, answers: list[Answer], seconds: float, duration: float | None, ended: threading.Event
) -> Callable[[], None]:
    """What happens when the server has started: the news, simulated voters, and an end in time."""
    from sottovoce.collector import poll as polls

    def simulate() -> None:
        polls.vote(show.reports, answers, seconds, ended)
        if duration is None and not sys.stdout.isatty():
            stop(LAST_VOTE_SECONDS)

    def stop(after: float) -> None:
        if not ended.wait(after):
            os.kill(os.getpid(), signal.SIGINT)  # As Ctrl-C does.

    def begin() -> None:
        show()
        if answers:
            threading.Thread(target=simulate, daemon=True).start()
        if duration is not None:
            threading.Thread(target=stop, args=(duration,), daemon=True).start()

    return begin


def _serve(data: Path, survey: Survey, listener: socket.socket, address: str, started: Callable[[], None]) -> None:
    from sottovoce.collector import Collector, open_store, qr_page
    from sottovoce.web.server import run

    store = open_store(data)
    store.publish(survey)
    app = Collector(store, public_estimates=True, rate=1000.0, burst=10_000.0, streams_per_address=1_000)
    app.router.add(qr_page.routes(app, address, alone=len(store.surveys()) == 1))
    run(app, listener, started, drain_seconds=3, connections_per_address=10_000)


def _write(stem: Path, record: JsonObject, page: str) -> list[str]:
    from sottovoce import data as files

    written = []
    for suffix, text in ((".json", json.dumps(record, indent=2) + "\n"), (".html", page)):
        path = stem.with_name(stem.name + suffix)
        with files.writing(path) as part:
            part.write_text(text, encoding="utf-8")
        written.append(str(path))
    return written
