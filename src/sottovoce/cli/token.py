from __future__ import annotations

from pathlib import Path

import click

from sottovoce.cli.options import json_option
from sottovoce.cli.serve import opened, store_options
from sottovoce.cli.show import print_json, print_table
from sottovoce.core.errors import ParameterError


@click.group()
def token() -> None:
    """Make, list and revoke the tokens that open a collector, and invitations to a survey."""


@token.command()
@click.option("--role", type=click.Choice(["analyst", "admin"]), required=True,
              help="An analyst sees estimates, an admin also publishes and closes surveys.")  # fmt: skip
@click.option("--name", help="To tell it from others; one is made up if there is none.")
@store_options
@json_option
def create(role: str, name: str | None, data: Path, database: str | None, as_json: bool) -> None:
    """Make a token. It is printed this once; the collector keeps only a hash of it."""
    from sottovoce.collector import tokens

    made, name = tokens.create(opened(data, database), role, name)
    if as_json:
        print_json({"name": name, "role": role, "token": made})
    else:
        click.echo(made)


@token.command("list")
@store_options
@json_option
def list_tokens(data: Path, database: str | None, as_json: bool) -> None:
    """List the tokens by name, role and day of their making."""
    found = opened(data, database).tokens()
    if as_json:
        print_json({"tokens": [{key: one[key] for key in ("name", "role", "created")} for one in found]})
    else:
        rows = [[one["name"], one["role"], one["created"]] for one in found]
        print_table(["name", "role", "created"], rows, f"{len(found)} in all")


@token.command()
@click.argument("name")
@store_options
@json_option
def revoke(name: str, data: Path, database: str | None, as_json: bool) -> None:
    """Revoke the token with this NAME, at once."""
    if not name.isprintable() or not opened(data, database).revoke(name):
        raise ParameterError(f"there is no token {name!r}")
    if as_json:
        print_json({"revoked": name})
    else:
        click.echo(f"revoked: {name}")


@token.command()
@click.argument("survey")
@click.option("--count", type=click.IntRange(1, 1_000_000), required=True, help="How many.")
@store_options
@json_option
def invite(survey: str, count: int, data: Path, database: str | None, as_json: bool) -> None:
    """Make invitations to a SURVEY that was published for invited people, one on each line."""
    from sottovoce.collector import tokens

    store = opened(data, database)
    to = store.survey(survey)
    if to is None:
        raise ParameterError(f"there is no survey {survey!r}")
    if not any(one["id"] == survey and one["invited"] for one in store.surveys()):
        raise ParameterError(f"survey {survey!r} takes reports without an invitation")
    made = tokens.invite(store, to, count)
    if as_json:
        print_json({"survey": survey, "invitations": made})
    else:
        click.echo("\n".join(made))
