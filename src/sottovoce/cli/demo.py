from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from sottovoce.cli.options import FILE, json_option, seed_option
from sottovoce.cli.serve import FOLDER, listening
from sottovoce.cli.show import console, print_json, print_table, progress

if TYPE_CHECKING:
    from sottovoce.demo.crowd import Crowd
    from sottovoce.demo.town_survey import QuestionResult
    from sottovoce.survey import Survey

HOST = "127.0.0.1"
HEADER = ["", "truth", "estimate", "95% interval", ""]


@click.group(invoke_without_command=True)
@click.option("--people", type=click.IntRange(100, 1_000_000), default=20_000, show_default=True,
              help="How many simulated respondents.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True,
              help="Which town: its true answers come from this seed. Reports never do.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), help="8000 or, if it is taken, any free one.")
@click.option("--data", type=FOLDER, help="Keep the reports in this folder.")
@click.option("--no-serve", is_flag=True, help="End when all is shown, also in a terminal.")
@json_option
@click.pass_context
def demo(
    context: click.Context, people: int, seed: int, port: int | None, data: Path | None, no_serve: bool, as_json: bool
) -> None:
    """The whole path: a town of simulated people, a device each, a collector, estimates beside the truth.

    A survey with questions of all kinds is published by a collector, every person's device randomizes the answers and
    sends them by HTTP, and the collector estimates. In a terminal its pages are served until Ctrl-C.
    """
    if context.invoked_subcommand is not None:
        given = [name for name in context.params if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
        if given:
            raise click.UsageError(f"options go after {context.invoked_subcommand}, not before it")
        return
    from sottovoce.demo import crowd, town, town_survey

    survey = town.survey()
    with tempfile.TemporaryDirectory(prefix="sottovoce-demo-") as folder, listening(HOST, port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}"
        stay = sys.stdout.isatty() and not no_serve
        with crowd.Crowd(f"{address}/v1/surveys/{survey.id}", seed, people) as respondents:
            tour = _Tour(survey, address, people, seed, as_json, stay)
            done = town_survey.serve(
                data or Path(folder), survey, listener, lambda: tour(respondents), respondents.stop, stay
            )
    if not done:
        raise KeyboardInterrupt
    if data is not None and not as_json:
        click.echo(f"the reports are kept: sotto serve --data {data} --public-estimates")


@dataclass
class _Tour:
    """What is shown while the collector runs."""

    survey: Survey
    address: str
    people: int
    seed: int
    as_json: bool
    stay: bool
    accepted: int = field(default=0, init=False)

    def __call__(self, respondents: Crowd) -> None:
        from sottovoce.demo import town_survey

        links = {
            "answer": f"{self.address}/s/{self.survey.id}",
            "results": f"{self.address}/s/{self.survey.id}/results",
        }
        self._say(f"{self.people:,} simulated people answer {len(self.survey.questions)} questions, on a device each.")
        self._say(f"the results, live: {links['results']}\nanswer yourself:   {links['answer']}")
        began = time.monotonic()
        for count in progress(respondents.acknowledged(), lambda: self.accepted / self.people, "people answer"):
            self.accepted += count
        seconds = time.monotonic() - began
        found = town_survey.answers(f"{self.address}/v1/surveys/{self.survey.id}", self.survey, self.people, self.seed)
        if self.as_json:
            about = {"people": self.people, "seed": self.seed, "accepted": self.accepted, "seconds": round(seconds, 3)}
            print_json(about | links | town_survey.record(self.survey, found))
        else:
            self._say(f"{self.accepted:,} reports were acknowledged in {seconds:.1f} s.\n")
            _print(found, self.survey)
        self._say("Ctrl-C ends it." if self.stay else "In a terminal the pages are served until Ctrl-C.")

    def _say(self, text: str) -> None:
        if not self.as_json:
            console().print(text, markup=False, soft_wrap=True)


def _print(found: Sequence[QuestionResult], survey: Survey) -> None:
    from sottovoce.demo import town_survey

    rows = []
    for answer in found:
        rows.append([answer.item.text, "", "", "", ""])
        rows += [[f"  {label}", *cells] for label, *cells in (row.cells() for row in answer.rows)]
    held, intervals = town_survey.covering(found)
    coverage = f"{held} of {intervals} intervals hold the truth; of 100 such intervals 95 are meant to"
    print_table(HEADER, rows, f"{coverage}.\nepsilon = {survey.epsilon:.6g} a person, for all questions together.")


@demo.command()
@click.option("--html", type=FILE, default=Path("sottovoce-demo.html"), show_default=True, help="Where the page goes.")
@seed_option
@json_option
def adult(html: Path, seed: int | None, as_json: bool) -> None:
    """Ask 32,561 people for their occupation, in a quiet voice.

    The occupations of the Adult census extract through randomized response, unary encoding and the best mechanism at
    the same epsilon, beside the answer of a trusted curator.
    """
    from sottovoce import data as files
    from sottovoce.demo import adult as census

    result = census.run(seed)
    with files.writing(html) as part:
        part.write_text(census.page(result), encoding="utf-8")
    if as_json:
        print_json({"html": str(html), **census.record(result)})
    else:
        census.show(result, console())
        click.echo(f"The page with the chart: {html}")
