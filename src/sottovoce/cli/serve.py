from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from sottovoce.cli.key import read_key
from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.show import print_json
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import FileError, ParameterError, StoreError

if TYPE_CHECKING:
    import socket

    from sottovoce.collector import Store
    from sottovoce.survey import Survey

FOLDER = click.Path(path_type=Path, file_okay=False)
DEFAULT_PORT = 8000

Command = TypeVar("Command", bound=Callable[..., object])


def store_options(command: Command) -> Command:
    """Where the reports are: a folder, or a database."""
    database = click.option("--database", metavar="URL", help="PostgreSQL instead: postgresql://user@host/name.")
    data = click.option("--data", type=FOLDER, default=Path("sottovoce-data"), show_default=True,
                        help="The folder in which everything is kept.")  # fmt: skip
    return data(database(command))


def opened(data: Path, database: str | None) -> Store:
    from sottovoce.collector import open_store

    return open_store(data, database)


def proxy_option(command: Command) -> Command:
    """The servers in front of this one."""
    option = click.option("--proxy", "proxies", multiple=True, metavar="ADDRESS",
                          help="Believe this server, or network such as 10.0.0.0/8, when it says in Forwarded or "
                          "X-Forwarded-For whom a request is from.")  # fmt: skip
    return option(command)


def listening(host: str, port: int | None) -> socket.socket:
    """A socket on a port; without one on 8000 or, if that is taken, on any that is free."""
    from sottovoce.web.server import listen

    try:
        return listen(host, DEFAULT_PORT if port is None else port)
    except FileError:
        if port is not None:
            raise
        return listen(host, 0)


@click.command()
@click.argument("surveys", type=FILE, nargs=-1)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0 takes any free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 lets other machines in.")
@store_options
@click.option("--public-estimates", is_flag=True, help="Show estimates to everybody.")
@click.option("--invited", is_flag=True, help="Publish the surveys for people with an invitation only.")
@click.option("--rate", type=click.FloatRange(min=0), default=100.0, show_default=True,
              help="Requests a second from one address; 0 for no limit.")  # fmt: skip
@proxy_option
@click.option("--give-up-waiting", is_flag=True,
              help="Delete the reports that wait for their group, if the key file to them is lost.")  # fmt: skip
@click.option("--key", "keys", type=FILE, multiple=True, help="The analyst's private key, for surveys with a shuffler.")
@json_option
def serve(
    surveys: tuple[Path, ...],
    port: int,
    host: str,
    data: Path,
    database: str | None,
    public_estimates: bool,
    invited: bool,
    rate: float,
    proxies: tuple[str, ...],
    give_up_waiting: bool,
    keys: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Run a collector for SURVEYS: it takes reports in, keeps them, and shows estimates.

    A survey that is not there yet is published. The first start prints two tokens, once. It ends on SIGTERM or Ctrl-C,
    after it has written and acknowledged what it had taken in. No address of a sender is kept or logged.
    """
    from sottovoce.collector import Collector
    from sottovoce.collector.layout import Layout
    from sottovoce.survey import Survey
    from sottovoce.web.proxies import Proxies
    from sottovoce.web.server import listen, run

    given = [Layout(Survey.read(path).publish()).survey for path in surveys]
    opening = [read_key(path) for path in keys]
    Proxies(proxies)  # An address that is none is an error before anything is made.
    _check_keys(given, {str(key.public) for key in opening})
    store = opened(data, database)
    _check_waiting(store, give_up_waiting)
    for survey in given:
        store.publish(survey, invited)
    app = Collector(store, public_estimates=public_estimates, rate=rate or None, proxies=proxies, keys=opening)
    listener = listen(host, port)
    made = _first_tokens(store)  # After all that may fail: they are shown once.
    name = f"[{host}]" if ":" in host else host
    base = f"http://{name}:{listener.getsockname()[1]}"
    record = {"url": base, "surveys": [f"{base}/v1/surveys/{one['id']}" for one in store.surveys()], "tokens": made}
    run(app, listener, lambda: _announce(record, as_json))


def _check_keys(surveys: list[Survey], known: set[str]) -> None:
    for survey in surveys:
        if survey.shuffle is not None and survey.shuffle.analyst not in known:
            raise ParameterError(f"survey {survey.id!r} has a shuffler: give the analyst's key with --key")


def _check_waiting(store: Store, give_up: bool) -> None:
    """Without the key to the reports that wait, none can come by invitation: somebody must decide what to do."""
    from sottovoce.collector import StoreUnavailable

    try:
        store.check_waiting()
    except StoreUnavailable:
        raise
    except StoreError as error:
        if not give_up:
            raise StoreError(f"{error}; put the file back, or lose these reports with --give-up-waiting") from None
        click.echo(f"{store.give_up_waiting()} reports that waited for their group are given up", err=True)


def _first_tokens(store: Store) -> dict[str, str]:
    """One token of each role, if there is none at all."""
    from sottovoce.collector import tokens

    return {} if store.tokens() else {role: tokens.create(store, role, role)[0] for role in tokens.ROLES}


def _announce(record: JsonObject, as_json: bool) -> None:
    if as_json:
        print_json(record)
    else:
        click.echo(f"the collector is at {record['url']}, its description at {record['url']}/docs")
        for url in record["surveys"]:
            click.echo(f"survey: {url}")
        for role, token in record["tokens"].items():
            click.echo(f"{role} token, shown only now: {token}")
    sys.stdout.flush()
