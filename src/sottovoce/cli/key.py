from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.show import print_json
from sottovoce.errors import FileError

if TYPE_CHECKING:
    from sottovoce.sealing import PrivateKey


def read_key(path: Path) -> PrivateKey:
    """The private key in a file that must be there: a service does not make up a key that no survey names."""
    from sottovoce.sealing import PrivateKey

    if not path.exists():
        raise FileError(f"{path}: no such file (make a key with: sotto key new {path})")
    return PrivateKey.at(path)


@click.group()
def key() -> None:
    """Make and show the keys that reports are sealed to."""


signing_option = click.option("--signing", is_flag=True, help="Print what `sotto curator --coordinator` takes.")


@key.command()
@click.argument("file", type=FILE)
@signing_option
@json_option
def new(file: Path, signing: bool, as_json: bool) -> None:
    """Make a private key in FILE, for its owner alone to read, and print its public half for the survey."""
    from sottovoce.sealing import PrivateKey

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


def _show(file: Path, private: PrivateKey, signing: bool, as_json: bool) -> None:
    from sottovoce.curators.identity import Identity

    public = str(Identity(private).card if signing else private.public)
    if as_json:
        print_json({"file": str(file), "public": public})
    else:
        click.echo(public)
