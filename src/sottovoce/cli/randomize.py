from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sottovoce.cli.options import FILE, given, json_option, seed_option
from sottovoce.cli.show import print_json, progress
from sottovoce.errors import ParameterError, SottovoceError
from sottovoce.mechanisms import FREQUENCIES, Mechanism
from sottovoce.mechanisms.mean import KINDS as MEANS
from sottovoce.privacy import check_epsilon, compose
from sottovoce.render import plural

if TYPE_CHECKING:
    from sottovoce.files import Table
    from sottovoce.questions import Question
    from sottovoce.randomness import Keystream
    from sottovoce.reports import Reports


@click.command()
@click.argument("data", type=FILE)
@click.option("--column", "-c", help="The column with the answers to a question of choice.")
@click.option("--question", "-q", "lines", multiple=True, metavar="NAME:KIND[:...]",
              help="A column and what it holds: choice[:VALUES], yes_no, ordered:VALUES, number:LOW:HIGH, "
              "distribution:LOW:HIGH[:BINS], set:VALUES, text[:MAX_BYTES]. May be given more than once.")  # fmt: skip
@click.option("--questions", "plan", type=FILE, help="A YAML or JSON file with a list of questions.")
@click.option("--epsilon", "-e", type=float, help="What all reports of one row may cost together.")
@click.option("--output", "-o", required=True, type=FILE, help="The file of reports: .parquet or .arrow.")
@click.option("--domain", "-d", help="Values for --column: a,b,c, a file with one on each line, or N for 0..N-1.")
@click.option("--missing", type=click.Choice(["refuse", "category"]), default="refuse", show_default=True,
              help="Refuse missing answers, or count them as a value of their own.")  # fmt: skip
@click.option("--outside", type=click.Choice(["refuse", "clip"]), default="refuse", show_default=True,
              help="Refuse numbers beyond their ends, or move them there.")  # fmt: skip
@click.option("--mechanism", "-m", default="auto", show_default=True, metavar="NAME",
              help=f"How to ask a choice ({', '.join(FREQUENCIES)}), a number ({', '.join(MEANS)}) or text "
              "(discovery, or a FILE.json of plan or discover --next); auto takes the least variance.")  # fmt: skip
@click.option("--max-bits", type=click.IntRange(min=1), help="Refuse longer reports; of a choice, auto avoids them.")
@seed_option
@json_option
def randomize(
    data: Path,
    column: str | None,
    lines: tuple[str, ...],
    plan: Path | None,
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
    does not matter. Name one --column, or as many questions as you like, which share the epsilon.
    """
    from sottovoce import files, questions
    from sottovoce.randomness import Keystream

    if sum(map(bool, (column, lines, plan))) != 1:
        raise ParameterError("name the answers by one of --column, --question or --questions")
    options: dict[str, Any] = {"missing": missing, "outside": outside, "mechanism": mechanism, "max_bits": max_bits}
    options = {name: value for name, value in options.items() if name in given()}
    if plan and options:
        raise ParameterError("with --questions, these options stand in the file: missing, outside, mechanism, max_bits")
    if domain and not column:
        raise ParameterError("--domain goes with --column; a question names its own values")
    asked = questions.read(plan) if plan else [questions.parse(line, **options) for line in lines]
    asked = [questions.Question(column, values=domain, **options)] if column else asked
    mechanisms, table = _mechanisms(data, asked, None if epsilon is None else check_epsilon(epsilon))
    parts = _randomized(table, {q.name: q.source for q in asked}, mechanisms, Keystream(seed))
    rows = files.write_reports(output, mechanisms, progress(parts, table.progress, "randomizing"))
    total = compose(m.epsilon for m in mechanisms.values())
    if as_json:
        record = {name: {"bits": m.bits, **m.to_dict()} for name, m in mechanisms.items()}
        print_json(
            {"output": str(output), "n": rows, "epsilon": total, "simulated": seed is not None, "questions": record}
        )
        return
    note = " (SIMULATED with a seed: not private)" if seed is not None else ""
    click.echo(f"{output}: {plural(rows, 'row')} of reports, epsilon = {total:.6g} a row{note}")
    for name, m in mechanisms.items():
        click.echo(f"  {name}: {plural(m.bits, 'bit')} by {m!r}")


def _mechanisms(data: Path, asked: list[Question], epsilon: float | None) -> tuple[dict[str, Mechanism], Table]:
    from sottovoce import files, questions

    names = [question.name for question in asked]
    if len(set(names)) < len(names):
        raise ParameterError(f"questions must have different names, got {', '.join(names)}")
    table = files.Table(data, list(dict.fromkeys(question.source for question in asked)), missing=[""])
    read = [question.name for question in asked if question.reads_the_data]
    shares = questions.shares(asked, epsilon)
    built = {}
    for question, share in zip(asked, shares, strict=True):
        with _naming(question.name, len(asked)):
            built[question.name] = question.build(share, partial(table.labels, question.source))
    if read:
        click.echo(f"sotto: warning: the domain of {', '.join(read)} was read off the data, which itself reveals which "
                   "values occur; give a public one", err=True)  # fmt: skip
    return built, table


def _randomized(
    table: Table, sources: dict[str, str], mechanisms: dict[str, Mechanism], stream: Keystream
) -> Iterator[dict[str, Reports]]:
    """Reports, batch by batch. Each batch draws from a stream of its own, so that threads do not change a seed's."""
    from sottovoce import files

    def batches() -> Iterator[tuple[Any, int, Keystream]]:
        row = 1
        for batch in table.batches(_listed(sources, mechanisms), files.batch_rows(mechanisms)):
            yield batch, row, stream.split()
            row += len(batch)

    def reports(part: tuple[Any, int, Keystream]) -> dict[str, Reports]:
        batch, row, own = part
        made = {}
        for name, m in mechanisms.items():
            with _naming(name, len(mechanisms)):
                values = files.answers(batch.column(sources[name]), m.domain, table.csv, row)
                made[name] = m.randomize_many(values, seed=own, first_row=row)
        return made

    return files.in_order(reports, batches())


def _listed(sources: dict[str, str], mechanisms: dict[str, Mechanism]) -> set[str]:
    """The columns of which every question wants labels of a list."""
    from sottovoce.files import is_listed

    others = {sources[name] for name, m in mechanisms.items() if not is_listed(m.domain)}
    return set(sources.values()) - others


@contextmanager
def _naming(question: str, questions: int) -> Iterator[None]:
    """Say which of several questions an error is about."""
    try:
        yield
    except SottovoceError as error:
        raise (type(error)(f"{question}: {error}") if questions > 1 else error) from None
