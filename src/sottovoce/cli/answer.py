from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.show import print_json, print_table
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import FileError, ParameterError

if TYPE_CHECKING:
    from sottovoce.device.respondent import Respondent
    from sottovoce.device.review import Review
    from sottovoce.survey import Question, Survey

store_option = click.option(
    "--store", type=FILE, required=True, help="Where the device remembers; it is made if it is not there."
)
FINAL = """\
Your answers become final now: their report is drawn and shown, and cannot be drawn again.
Please send it, whatever it says: people who look and do not send spoil the result for all.
Are these your answers?"""
budget_option = click.option("--budget", type=float, help="What the person may spend in all; set with a new store.")


@click.command()
@click.argument("survey", type=FILE)
@click.argument("answers", nargs=-1, metavar="[QUESTION=ANSWER]...")
@store_option
@budget_option
@click.option("--key", type=FILE, help="The person's key, from which every draw follows; see `sotto key personal`.")
@click.option("--passphrase", envvar="SOTTO_PASSPHRASE", help="Hides in the store which values were held; better given "
              "in the variable SOTTO_PASSPHRASE.")  # fmt: skip
@click.option("--pin", help="The digest that the survey must have.")
@click.option("--wave", type=click.IntRange(min=0), default=0, show_default=True, help="Which time it is asked.")
@click.option("--public", multiple=True, metavar="NAME=VALUE", help="A public covariate; may be given more than once.")
@click.option("--preview", is_flag=True, help="Draw and show the very bytes that would be sent; nothing is charged.")
@click.option("--yes", is_flag=True, help="The answers are final: do not ask.")
@click.option("--output", "-o", type=FILE, help="Append what is to be sent to this file, a line each.")
@json_option
def answer(
    survey: Path,
    answers: tuple[str, ...],
    store: Path,
    budget: float | None,
    key: Path | None,
    passphrase: str | None,
    pin: str | None,
    wave: int,
    public: tuple[str, ...],
    preview: bool,
    yes: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Answer a published SURVEY as a person's device does.

    Without answers it shows what the survey costs and whether it would be answered. The report is charged to the
    ledger in --store before it is printed; asked again, the same bytes are printed.

    Answers are final before their report is drawn and shown, with --preview too: nobody can choose among draws. On a
    terminal it asks first. Whoever sees a report and does not send it biases the estimate.
    """
    from sottovoce.device import envelope
    from sottovoce.device.personal_key import PersonalKey
    from sottovoce.device.respondent import Respondent

    asked = _published(survey)
    personal = PersonalKey.read(key) if key else None
    me = Respondent(store, budget, pins={asked.id: pin} if pin else None, key=personal, passphrase=passphrase)
    if not answers:
        return _review(me.review(asked, wave), as_json)
    covariates = _pairs(public)
    given = {name: _typed(asked.question(name), value) for name, value in _pairs(answers).items()}
    if not yes and not _final(me, asked, wave):
        click.echo("nothing was drawn", err=True)
        return None
    sent = (me.preview if preview else me.answer)(asked, given, wave, covariates)
    line = sent.decode() if asked.shuffle is None else envelope.to_line(sent)
    if output and not preview:
        _append(output, line)
    if as_json:
        return print_json({"sent": not preview, "bytes": len(sent), "address": sent.address,
                           "submission": sent.submission and sent.submission.decode(),
                           **({"envelope": line} if asked.shuffle else {}),
                           "spent": me.ledger.spent, "budget": me.ledger.budget})  # fmt: skip
    click.echo(sent.submission.decode() if preview and sent.submission else line)
    sealed = f" sealed for {sent.address}" if sent.address else ""
    click.echo(f"{'not sent; ' if preview else ''}{len(sent)} bytes{sealed}; epsilon spent in all: "
               f"{me.ledger.spent:.6g} of {me.ledger.budget:.6g}", err=True)  # fmt: skip
    return None


def _final(me: Respondent, survey: Survey, wave: int) -> bool:
    """Whether the answers are final: they were drawn for before, the person says so, or there is nobody to ask."""
    if me.drawn(survey, wave) is not None:
        click.echo(f"wave {wave} was answered before: this is its report, whatever the answers are now", err=True)
        return True
    return not sys.stdin.isatty() or click.confirm(FINAL, err=True)


@click.command()
@store_option
@json_option
def ledger(store: Path, as_json: bool) -> None:
    """Show what a person's device has spent, on what and when."""
    from dataclasses import asdict

    from sottovoce.device.ledger import Ledger

    book = Ledger(store, create=False)
    charges = book.charges()
    if as_json:
        return print_json({"budget": book.budget, "delta": book.delta, "spent": book.spent, "left": book.left,
                           "charges": [asdict(charge) for charge in charges]})  # fmt: skip
    rows = [[c.at, c.survey, str(c.wave), c.question, f"{c.epsilon:.6g}"] for c in charges]
    print_table(
        ["when", "survey", "wave", "question", "epsilon"],
        rows,
        f"{book.spent:.6g} spent of {book.budget:.6g}, {book.left:.6g} left"
        + (f", at delta = {book.delta:g}" if book.delta else ""),
    )
    return None


def _published(path: Path) -> Survey:
    from sottovoce.data import reading
    from sottovoce.survey import Survey

    with reading(path):
        data = path.read_bytes()
    try:
        return Survey.loads(data)
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None


def _pairs(texts: tuple[str, ...]) -> dict[str, str]:
    """The value of each name; a name may be given once."""
    given: dict[str, str] = {}
    for name, value in map(_pair, texts):
        if name in given:
            raise ParameterError(f"{name!r:.60} must be answered once, got two answers")
        given[name] = value
    return given


def _typed(question: Question, text: str) -> object:
    """An answer as its kind has it; several options have commas between them, and quotes around one with a comma."""
    if question.kind == "multiple":
        import csv

        return [_value(question, option) for option in next(csv.reader([text]), []) if option]
    return _value(question, text)


def _value(question: Question, text: str) -> object:
    """A number where numbers are asked for; what is none stays text, and is refused by its domain."""
    numeric = question.kind == "number" or isinstance(question.values, int)
    listed = () if isinstance(question.values, int) else question.values or ()
    if not numeric:
        return next((value for value in listed if str(value) == text), text)
    try:
        return float(text) if question.kind == "number" else int(text)
    except ValueError:
        return text


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ParameterError(f"an answer must be QUESTION=ANSWER, got {text!r:.60}")
    return name, value


def _review(review: Review, as_json: bool) -> None:
    if as_json:
        return print_json({"survey": review.survey.id, "digest": review.survey.digest, "costs": dict(review.costs),
                           "least": dict(review.least), "new_value_refusal": review.new_value_refusal,
                           "waves": review.survey.waves, "public": [c.id for c in review.survey.covariates],
                           "epsilon": review.epsilon, "left": review.left, "refusal": review.refusal,
                           **guarantees(review.survey)})  # fmt: skip
    click.echo(str(review))
    return None


def guarantees(survey: Survey) -> JsonObject:
    """What a survey with a shuffler promises besides, for JSON."""
    return {"guarantee": survey.guarantee.to_dict()} if survey.guarantee else {}


def _append(path: Path, line: str) -> None:
    try:
        with path.open("ab") as file:
            file.write(line.encode() + b"\n")
    except OSError as error:
        raise FileError(f"{path}: cannot be written (ask again for the same bytes): {error.strerror}") from None
