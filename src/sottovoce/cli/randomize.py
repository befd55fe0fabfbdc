from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from sottovoce.cli.options import FILE, given, json_option, refuse, seed_option
from sottovoce.cli.show import print_json, progress_bar
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.estimates.render import plural

if TYPE_CHECKING:
    from sottovoce.data import RandomizedFile
    from sottovoce.survey import Survey
    from sottovoce.survey.short_form import ColumnOptions, ColumnQuestion

ANSWER_OPTIONS = ("column", "lines", "plan", "survey")
QUESTION_OPTIONS: tuple[Literal["missing", "outside", "mechanism", "max_bits"], ...] = (
    "missing",
    "outside",
    "mechanism",
    "max_bits",
)


@click.command()
@click.argument("data", type=FILE)
@click.option("--column", "-c", help="A column with answers to a question of choice.")
@click.option("--question", "-q", "lines", multiple=True, metavar="NAME:KIND[:...]",
              help="A column and the kind of survey question that it answers: choice[:VALUES], yes_no[:NO,YES], "
              "ordered:VALUES, multiple:VALUES, number:LOW:HIGH[:distribution[:BINS]], text[:MAX_BYTES]. "
              "May be given more than once.")  # fmt: skip
@click.option("--questions", "plan", type=FILE, help="A YAML or JSON file with a list of questions.")
@click.option("--survey", type=FILE, help="A survey: DATA has a column for each of its questions, named by the id.")
@click.option("--epsilon", "-e", type=float, help="What all reports of one row may cost together.")
@click.option("--output", "-o", required=True, type=FILE, help="The file of reports: .parquet or .arrow.")
@click.option("--domain", "-d", help="Values for --column: a,b,c, a file with one on each line, or N for 0..N-1.")
@click.option("--missing", type=click.Choice(["refuse", "category"]), default="refuse", show_default=True,
              help="Refuse missing answers, or count them as a value of their own.")  # fmt: skip
@click.option("--outside", type=click.Choice(["refuse", "clip"]), default="refuse", show_default=True,
              help="Refuse numbers beyond their ends and texts that are too long, or clip them.")  # fmt: skip
@click.option("--mechanism", "-m", default="auto", show_default=True, metavar="NAME",
              help="How to ask: the name of a mechanism that a survey question of this kind may have, or a FILE.json "
              "of plan or discover --next; auto takes the one with the least variance.")  # fmt: skip
@click.option("--max-bits", type=click.IntRange(min=1), help="Refuse longer reports; of a choice, auto avoids them.")
@seed_option
@json_option
def randomize(
    data: Path,
    column: str | None,
    lines: tuple[str, ...],
    plan: Path | None,
    survey: Path | None,
    epsilon: float | None,
    output: Path,
    domain: str | None,
    missing: str,
    outside: str,
    mechanism: str,
    max_bits: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Randomize columns of DATA (CSV, Parquet or Arrow) into a file of reports.

    Each row becomes one row of reports; the file holds nothing else. It is read and written in parts, so that its size
    does not matter. Name one --column, or as many questions as you like, which share the epsilon; or a --survey, which
    has mechanisms and a budget of its own.
    """
    from sottovoce.data import randomize_file

    if len(set(ANSWER_OPTIONS) & set(given())) != 1:
        raise ParameterError("name the answers by one of --column, --question, --questions or --survey")
    if domain and not column:
        raise ParameterError("--domain goes with --column; a question names its own values")
    options: ColumnOptions = {"missing": missing, "outside": outside, "mechanism": mechanism, "max_bits": max_bits}
    for option in QUESTION_OPTIONS:
        if option not in given():
            del options[option]
    questions = _survey(survey) if survey else _questions(column, domain, lines, plan, options)
    with progress_bar("randomizing") as show:
        made = randomize_file(data, output, questions, epsilon, seed=seed, progress=show)
    if made.domains_from_data:
        click.echo(f"sotto: warning: the domain of {', '.join(made.domains_from_data)} was read off the data, which "
                   "itself reveals which values occur; give a public one", err=True)  # fmt: skip
    if as_json:
        print_json(_record(made))
        return
    note = " (SIMULATED with a seed: not private)" if made.simulated else ""
    click.echo(f"{output}: {plural(made.rows, 'row')} of reports, epsilon = {made.epsilon:.6g} a row{note}")
    for name, m in made.mechanisms.items():
        click.echo(f"  {name}: {plural(m.bits, 'bit')} by {m!r}")


def _survey(path: Path) -> Survey:
    """The survey in a file. A draft is published for this run."""
    from sottovoce.survey import Survey
    from sottovoce.survey.checks import about

    refuse(("epsilon", *QUESTION_OPTIONS), "does not go with --survey, which says it itself")
    asked = Survey.read(path)
    if asked.published:
        return asked
    with about(str(path)):
        published = asked.publish()
    click.echo(f"sotto: {path} is a draft, and was published for this run: {published.digest}", err=True)
    return published


def _questions(
    column: str | None, domain: str | None, lines: tuple[str, ...], plan: Path | None, options: ColumnOptions
) -> list[ColumnQuestion]:
    from sottovoce.survey import short_form

    if column:
        return [short_form.of_column(column, domain, **options)]
    if plan is None:
        return short_form.parse_all(lines, **options)
    if options:
        raise ParameterError(f"with --questions, these options stand in the file: {', '.join(QUESTION_OPTIONS)}")
    return short_form.read(plan)


def _record(made: RandomizedFile) -> JsonObject:
    questions = {name: {"bits": m.bits, **m.to_dict()} for name, m in made.mechanisms.items()}
    about = {"output": str(made.path), "n": made.rows, "epsilon": made.epsilon, "simulated": made.simulated}
    return about | {"questions": questions}
