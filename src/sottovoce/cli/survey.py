from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sottovoce.cli.answer import guarantees
from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.plan_changes import show_changes
from sottovoce.cli.show import print_json, print_table
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import FileError

if TYPE_CHECKING:
    from sottovoce.statistics.planning import Finding
    from sottovoce.survey import Survey


@click.group()
def survey() -> None:
    """Write, check and publish surveys: what is asked, by which mechanisms, and what it costs."""


@survey.command()
@click.argument("file", type=FILE)
@json_option
def check(file: Path, as_json: bool) -> None:
    """Check a survey, and show what its questions cost and give away.

    A draft is checked as if it were published now.
    """
    from sottovoce.survey import Survey
    from sottovoce.survey.checks import about
    from sottovoce.survey.findings import findings

    given = Survey.read(file)
    with about(str(file)):
        published = given.publish()
    found = findings(published)
    if as_json:
        print_json(_record(given, published, found))
    else:
        _show(given, published, found)


def _record(given: Survey, published: Survey, found: list[Finding]) -> JsonObject:
    from sottovoce.survey.words import in_words

    rows: list[JsonObject] = [
        {"id": item.id, "kind": item.kind, "epsilon": item.epsilon, "cost": published.costs[item.id]}
        for item in published.questions
    ]
    for item, row in zip(published.questions, rows, strict=True):
        if published.federated is None:
            row |= {"mechanism": item.mechanism.name, "bits": item.mechanism.bits, "words": in_words(item)}
        else:
            row |= {"query": item.query().to_dict()}
    return {
        "id": published.id,
        "published": given.published,
        "waves": published.waves,
        "budget": published.budget,
        "epsilon": published.epsilon,
        "digest": published.digest if given.published else None,
        "questions": rows,
        "findings": [finding.to_dict() for finding in found],
        **guarantees(published),
    }


def _show(given: Survey, published: Survey, found: list[Finding]) -> None:
    waves = f" in {published.waves:,} waves" if published.waves > 1 else ""
    caption = f"all together: epsilon = {published.epsilon:.6g}{waves}, of a budget of {published.budget:.6g}"
    if published.federated is None:
        _show_devices(published, caption)
    else:
        rows = [[item.id, item.kind, str(item.query()), f"{item.epsilon:.6g}"] for item in published.questions]
        print_table(["question", "kind", "curators add up", "epsilon"], rows, caption)
    for line in published.guarantee.lines() if published.guarantee else ():
        click.echo(line)
    click.echo(published.digest if given.published else "a draft: publish it, and it has a digest")
    _show_changes(given, published)
    for finding in found:
        click.echo(str(finding))


PEOPLE_SHOWN = 10_000
"""The errors of following changes are shown for this many people."""


def _show_changes(given: Survey, published: Survey) -> None:
    """For remembered questions that share the budget: the error of one wave, if more or fewer changes are followed."""
    for item in given.questions:
        if item.epsilon is not None:
            continue
        if rows := item.price_of_changes(published.costs[item.id], given.waves, PEOPLE_SHOWN):
            show_changes(rows, f"{item.id}: {given.waves:,} waves of {PEOPLE_SHOWN:,} people for the same epsilon")


def _show_devices(published: Survey, caption: str) -> None:
    """What each device sends, and what that gives away."""
    from sottovoce.survey.words import in_words

    rows = [
        [item.id, item.kind, item.mechanism.name, f"{item.epsilon:.6g}", f"{item.mechanism.bits:,}"]
        for item in published.questions
    ]
    print_table(["question", "kind", "mechanism", "epsilon", "bits"], rows, caption)
    for item in published.questions:
        click.echo(f"{item.id}: {in_words(item)}")


@survey.command()
@click.argument("file", type=FILE, required=False)
@json_option
def new(file: Path | None, as_json: bool) -> None:
    """Write a survey to begin with.

    It has a comment on each line, and goes to FILE or to standard output.
    """
    text = resources.files("sottovoce.survey").joinpath("template.yaml").read_text("utf-8")
    if file is None:
        print_json({"template": text}) if as_json else click.echo(text, nl=False)
        return
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise FileError(f"{file}: exists already") from None
    except OSError as error:
        raise FileError(f"{file}: cannot be written: {error.strerror}") from None
    if as_json:
        print_json({"file": str(file)})
    else:
        click.echo(f"{file}: a survey to begin with; check it with: sotto survey check {file}")


@survey.command()
@click.argument("file", type=FILE)
@click.option("--output", "-o", type=FILE, required=True, help="The published survey, ending in .json.")
@json_option
def publish(file: Path, output: Path, as_json: bool) -> None:
    """Publish a survey: fix every mechanism and every epsilon.

    The output is the document that devices load and pin. A file that is there already is left alone unless it is the
    same: a published survey never changes.
    """
    from sottovoce import data as files
    from sottovoce.survey import Survey
    from sottovoce.survey.checks import about

    if output.suffix != ".json":
        raise FileError(f"{output}: a published survey must end in .json")
    given = Survey.read(file)
    with about(str(file)):
        published = given.publish()
    with files.reading(output):
        if output.exists() and output.read_bytes() != published.canonical():
            raise FileError(f"{output}: a published survey never changes, and this is another: choose another name")
    with files.writing(output) as part:
        part.write_bytes(published.canonical())
    if as_json:
        print_json({"id": published.id, "digest": published.digest, "epsilon": published.epsilon})
    else:
        whom = "" if published.federated is None else ", against all but one's own curator"
        click.echo(f"{output}: {published.id}, epsilon = {published.epsilon:.6g} a person{whom}\n{published.digest}")


@survey.command()
@click.argument("file", type=FILE)
@json_option
def digest(file: Path, as_json: bool) -> None:
    """Print the digest of a published survey, for devices to pin."""
    from sottovoce.survey import Survey
    from sottovoce.survey.checks import about

    given = Survey.read(file)
    with about(str(file)):
        record = {"id": given.id, "digest": given.digest}
    if as_json:
        print_json(record)
    else:
        click.echo(record["digest"])
