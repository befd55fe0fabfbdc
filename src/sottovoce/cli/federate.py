from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from sottovoce.cli.key import read_key
from sottovoce.cli.options import FILE, PLOTS, json_option, refuse
from sottovoce.cli.show import MAX_ROWS_SHOWN, print_json, print_table, write_figure
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError, Refusal, SottovoceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sottovoce.curators import Card, FederatedResult, Task
    from sottovoce.survey import Survey
    from sottovoce.trust.federated import Query

TASK_OPTIONS = (
    "name", "column", "domain", "low", "high", "steps", "epsilon", "threshold", "dropouts", "noise", "sharing",
)  # fmt: skip
"""Options about a task, which a survey says itself."""


class FederateOptions(TypedDict):
    """What is asked of the curators, and how."""

    questions: tuple[str, ...]
    wave: int | None
    name: str | None
    column: str | None
    domain: str | None
    low: float | None
    high: float | None
    steps: int | None
    epsilon: float | None
    threshold: int | None
    dropouts: int | None
    noise: str | None
    sharing: str | None
    level: float
    key: Path | None
    timeout: float
    attempts: int


@click.command()
@click.argument("peers", type=FILE)
@click.option("--survey", type=FILE, help="Ask the questions of this published survey, as it says.")
@click.option("--question", "-q", "questions", multiple=True, help="Of the survey, this one. [default: all]")
@click.option("--wave", type=click.IntRange(min=0), help="Of the survey, this wave, from 0 on. [default: 0]")
@click.option("--id", "name", help="Without a survey: the task's name. A task is carried out once.")
@click.option("--column", "-c", help="The column that every curator counts.")
@click.option("--domain", "-d", help="The values to count: a,b,c, or a file with one on each line.")
@click.option("--low", type=float, help="The lower end of a number, for its mean and sum.")
@click.option("--high", type=float, help="The upper end.")
@click.option("--steps", type=int, help="The steps that a number is rounded to. [default: 100]")
@click.option("--epsilon", "-e", type=float, help="What it costs everybody. [default: 1]")
@click.option("--threshold", "-t", type=int, help="How many curators may collude. [default: a third]")
@click.option("--dropouts", type=int, help="How many curators may drop out. [default: a third]")
@click.option("--noise", type=click.Choice(["divisible", "full"]),
              help="Shares that make up the noise, or all of it from everybody. [default: divisible]")  # fmt: skip
@click.option("--sharing", type=click.Choice(["shamir", "additive"]),
              help="Some of the curators can unmask the sum, or only all of them. [default: shamir]")  # fmt: skip
@click.option("--level", type=float, default=0.95, show_default=True, help="The coverage of the intervals.")
@click.option("--key", type=FILE, help="Sign what is asked with this private key: for curators with a --coordinator.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=60.0, show_default=True,
              help="Seconds to wait for an answer.")  # fmt: skip
@click.option("--attempts", type=click.IntRange(1, 20), default=4, show_default=True, help="How often to ask for it.")
@click.option("--plot", type=FILE, help="Draw it: .svg, .png or .pdf.")
@json_option
def federate(
    peers: Path, survey: Path | None, plot: Path | None, as_json: bool, **asked: Unpack[FederateOptions]
) -> None:
    """Have the curators in PEERS add up answers, with noise inside the sum, and publish the estimate.

    What is asked are the questions of a --survey, or one --column. The curators (`sotto curator`) check the task, and
    each charges its own ledger. Nobody sees their counts: what is unmasked is the noisy total. Curators that fail drop
    out; with too few left, nothing is published.
    """
    from sottovoce.curators import Identity, Remote, federate, read_peers

    if plot and plot.suffix not in PLOTS:
        raise ParameterError(f"{plot}: a plot must end in {', '.join(PLOTS)}")
    if not 0 < asked["level"] < 1:
        raise ParameterError(f"level must lie strictly between 0 and 1, got {asked['level']:g}")
    known = read_peers(peers)
    cards = {name: peer.card for name, peer in known.items()}
    signing = Identity(read_key(asked["key"])) if asked["key"] else None
    network = Remote({name: peer.url for name, peer in known.items()}, asked["timeout"], asked["attempts"], signing)
    if survey is None:
        result = federate(_task(asked, cards), network, asked["level"])
        _publish([result], plot, result.to_dict() if as_json else None)
    else:
        document, tasks = _survey_tasks(survey, asked, cards)
        runs = {task.column: partial(federate, task, network, asked["level"]) for task in tasks}
        _ask_all(document, runs, plot, as_json)


def _ask_all(
    survey: Survey, tasks: Mapping[str, Callable[[], FederatedResult]], plot: Path | None, as_json: bool
) -> None:
    """Publish what can be had; then say which questions have no result, and why."""
    from sottovoce.curators.coordinator import by_reason

    results, refused = [], {}
    for question, run in tasks.items():
        try:
            results.append(run())
        except SottovoceError as error:
            refused[question] = str(error)
    record = {"survey": survey.id, "digest": survey.digest, "results": [result.to_dict() for result in results],
              "refused": refused}  # fmt: skip
    _publish(results, plot, record if as_json else None)
    if refused:
        raise Refusal(f"{len(refused)} of {len(tasks)} questions have no result: {by_reason(refused)}")


def _task(asked: FederateOptions, cards: Mapping[str, Card]) -> Task:
    """The task about a column."""
    from sottovoce.curators import Task
    from sottovoce.trust.federated import Parties

    refuse(("questions", "wave"), "goes with a --survey")
    if asked["name"] is None or asked["column"] is None:
        raise ParameterError("name a --survey, or the --id of a task and its --column")
    parties = Parties(len(cards), asked["threshold"], asked["dropouts"], asked["noise"] or "divisible",
                      asked["sharing"] or "shamir")  # fmt: skip
    epsilon = 1.0 if asked["epsilon"] is None else asked["epsilon"]
    return Task(asked["name"], asked["column"], _query(asked), epsilon, parties, cards)


def _survey_tasks(path: Path, asked: FederateOptions, cards: Mapping[str, Card]) -> tuple[Survey, list[Task]]:
    """The survey, and a task for each question of it that is asked."""
    from sottovoce.curators.survey_task import check_federated, check_open, survey_task
    from sottovoce.survey import Survey

    refuse(TASK_OPTIONS, "does not go with a survey, which says it all")
    survey = Survey.read(path)
    try:
        check_federated(survey)
        check_open(survey)
        questions = asked["questions"] or [item.id for item in survey.questions]
        return survey, [survey_task(survey, one, cards, asked["wave"] or 0) for one in dict.fromkeys(questions)]
    except SottovoceError as error:
        raise type(error)(f"{path}: {error}") from None


def _query(asked: FederateOptions) -> Query:
    from sottovoce.survey.short_form import read_domain
    from sottovoce.trust.federated import Average, Histogram

    domain, low, high = asked["domain"], asked["low"], asked["high"]
    if domain is not None and low is None and high is None:
        return Histogram(tuple(map(str, read_domain(domain, "refuse").labels)))
    if domain is not None or low is None or high is None:
        raise ParameterError("name the --domain of values to count, or the --low and --high ends of a number")
    return Average(low, high, 100 if asked["steps"] is None else asked["steps"])


def _publish(results: Sequence[FederatedResult], plot: Path | None, record: JsonObject | None) -> None:
    """Draw the results if asked to, and print them: for programs if there is a record, otherwise for people."""
    if plot and results:
        from sottovoce.estimates.render import panels

        figure, axes = panels([result.bars for result in results])
        for result, ax in zip(results, axes, strict=True):
            result.plot(ax)
        write_figure(plot, figure)
    if record is not None:
        print_json(record)
        return
    for result in results:
        _show(result)


def _show(result: FederatedResult) -> None:
    header, rows = result.table()
    if len(rows) > MAX_ROWS_SHOWN:
        rows = [*rows[:MAX_ROWS_SHOWN], [f"... and {len(rows) - MAX_ROWS_SHOWN:,} more", *[""] * (len(header) - 1)]]
    asked = result.task.asked
    print_table(header, rows, result.caption, asked.question if asked else None)
    click.echo()
    print_table(*result.guarantee(), "\n".join(result.notes))
    if asked:
        click.echo()
