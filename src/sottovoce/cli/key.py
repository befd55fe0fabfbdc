from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.show import print_json
from sottovoce.core.errors import FileError, ParameterError

if TYPE_CHECKING:
    from sottovoce.core.sealing import PrivateKey


def read_key(path: Path) -> PrivateKey:
    """The private key in a file that must be there: a service does not make up a key that no survey names."""
    from sottovoce.core.sealing import PrivateKey

    if not path.exists():
        raise FileError(f"{path}: no such file (make a key with: sotto key new {path})")
    return PrivateKey.at(path)


@click.group()
def key() -> None:
    """Make and show keys: those that reports are sealed to, and the personal key of a person who answers."""


signing_option = click.option("--signing", is_flag=True, help="Print what `sotto curator --coordinator` takes.")


@key.command()
@click.argument("file", type=FILE)
@signing_option
@json_option
def new(file: Path, signing: bool, as_json: bool) -> None:
    """Make a private key in FILE, for its owner alone to read, and print its public half for the survey."""
    from sottovoce.core.sealing import PrivateKey

    if file.exists():
        raise FileError(f"{file}: exists already")
    _show(file, PrivateKey.at(file), signing, as_json)


@key.command()
@click.argument("file", type=FILE)
@signing_option
@json_option
def show(file: Path, signing: bool, as_json: bool) -> None:
    """Print the public half of the private key in FILE."""
    _show(file, read_key(file), signing, as_json)


@key.command()
@click.argument("file", type=FILE)
@json_option
def personal(file: Path, as_json: bool) -> None:
    """Make a personal key in FILE, for its owner alone to read.

    A device that has it draws the same for the same answers, also after its store was lost, and so does another device.
    Whoever has the key and the reports can take the noise off: keep it as you would keep the answers themselves.
    """
    from sottovoce.device.personal_key import PersonalKey

    PersonalKey.generate().write(file)
    if as_json:
        print_json({"file": str(file)})
    else:
        click.echo(f"{file}: a personal key. Who has it and your reports can read your answers.")


@key.command()
@click.argument("file", type=FILE)
@click.option("--survey", type=FILE, help="The published survey for whose page the link is.")
@click.option("--page", help="The address of that page, such as https://host/s/sleep.")
@click.option("--qr", is_flag=True, help="Show it as a QR code, too.")
@json_option
def link(file: Path, survey: Path | None, page: str | None, qr: bool, as_json: bool) -> None:
    """Print the personal key in FILE for another device, or a link to a survey's page with a key for it alone.

    A link holds a key that was derived for this survey: it tells nothing about the personal key or other surveys.
    """
    from sottovoce.device.personal_key import PersonalKey
    from sottovoce.survey import Survey

    personal_key = PersonalKey.read(file)
    if (survey is None) != (page is None):
        raise ParameterError("--survey and --page go together: the link is to the page of a survey")
    text = personal_key.to_text()
    if survey is not None and page is not None:
        asked = Survey.read(survey)
        if not asked.published:
            raise ParameterError(f"{survey}: survey {asked.id} is a draft: publish it first, its key follows from it")
        if not page.startswith(("https://", "http://")) or "#" in page:
            raise ParameterError(f"--page must begin with https:// or http:// and have no #, got {page!r:.80}")
        text = f"{page}#key={personal_key.for_survey(asked.digest).to_text()}"
    _print_secret(text, qr, as_json)


def _print_secret(text: str, qr: bool, as_json: bool) -> None:
    from sottovoce.collector import poll

    code = poll.qr(text) if qr else None
    if as_json:
        print_json({"text": text} | ({"qr": code} if code else {}))
        return
    click.echo(text)
    if code:
        click.echo(code)


def _show(file: Path, private: PrivateKey, signing: bool, as_json: bool) -> None:
    from sottovoce.curators.identity import Identity

    public = str(Identity(private).card if signing else private.public)
    if as_json:
        print_json({"file": str(file), "public": public})
    else:
        click.echo(public)
