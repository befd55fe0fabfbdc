from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.serve import FOLDER
from sottovoce.cli.show import print_json
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import FileError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sottovoce.curators import Card, CuratorData
    from sottovoce.curators.app import CuratorApp
    from sottovoce.survey import Survey


@click.command()
@click.argument("data", type=FILE, required=False)
@click.option("--name", required=True, help="What the others call this curator.")
@click.option("--home", type=FOLDER, default=Path("curator"), show_default=True, help="Where its key and ledger are.")
@click.option("--peers", type=FILE, help="The curators it works with: JSON with the url and the key of each by name.")
@click.option("--columns", metavar="A,B=HEADING,...",
              help="The columns that may be asked for, and their headings if these differ. [default: all]")  # fmt: skip
@click.option("--survey", "surveys", type=FILE, multiple=True,
              help="Take part in the questions of this published survey alone, asked as it says.")  # fmt: skip
@click.option("--budget", type=float, help="The epsilon that its people spend in all; set once. [default: 10]")
@click.option("--threshold", "-t", type=click.IntRange(min=1), default=1, show_default=True,
              help="Refuse tasks in which fewer of the others may collude.")  # fmt: skip
@click.option("--coordinator", metavar="KEY",
              help="Answer nobody but the coordinator with this key (see `sotto key new --signing`).")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=8100, show_default=True, help="0 takes any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 lets other machines in.")
@json_option
def curator(
    data: Path | None,
    name: str,
    home: Path,
    peers: Path | None,
    columns: str | None,
    surveys: tuple[Path, ...],
    budget: float | None,
    threshold: int,
    coordinator: str | None,
    port: int,
    host: str,
    as_json: bool,
) -> None:
    """Hold the answers in DATA for tasks that `sotto federate` coordinates: counts leave only in sealed shares.

    Without DATA it prints its name and key, for the --peers of the others, and ends. The file of peers is read whenever
    a task is proposed; a task that names anybody else is refused. Name the --coordinator, and nobody else can propose
    one. Every task is charged to a ledger of its own, whose budget only its owner sets. With a --survey whatever is not
    one of its questions is refused; the answers to a question are in the column of its id.
    """
    from sottovoce.core import durable
    from sottovoce.curators import Card, Curator, CuratorData, Identity
    from sottovoce.curators.task import check_name
    from sottovoce.device.ledger import Ledger

    check_name(name)
    try:
        durable.make_folder(home)
    except OSError as error:
        raise FileError(f"{home}: cannot be made: {error.strerror}") from None
    identity, asking = Identity.at(home / "key"), None if coordinator is None else Card.from_text(coordinator)
    record: JsonObject = {"name": name, "key": str(identity.card)}
    if data is None:
        _announce(record, as_json)
        return
    if peers is None:
        raise ParameterError("DATA goes with --peers: a curator must know the others' keys")
    known = [_survey(path, name) for path in surveys]
    offered = CuratorData(data, _headings(columns, known))
    offered.open()
    for survey in known:
        _warn(offered, survey)
    ledger = Ledger(home / "ledger.sqlite", budget=budget)
    made = Curator(name, identity, offered, ledger, _known(peers), threshold=threshold, surveys=known)
    from sottovoce.curators.app import CuratorApp

    app = CuratorApp(made, coordinator=asking, hosts=_names(name, host, peers))
    _serve(app, host, port, record, as_json)


def _survey(path: Path, name: str) -> Survey:
    """A published survey in which this curator has a part."""
    from sottovoce.curators.survey_task import check_federated
    from sottovoce.survey import Survey
    from sottovoce.survey.checks import about

    asked = Survey.read(path)
    with about(str(path)):
        check_federated(asked)
        if asked.federated and name not in asked.federated.curators:
            raise ParameterError(
                f"survey {asked.id} names the curators {_listed(asked.federated.curators)}, not {name}"
            )
    return asked


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")


def _headings(columns: str | None, surveys: Sequence[Survey]) -> dict[str, str]:
    """The heading in the file for each column that may be asked for: those that are named, or those of the surveys."""
    pairs = [part.partition("=") for part in columns.split(",")] if columns else []
    named = {column.strip(): (heading or column).strip() for column, _, heading in pairs}
    if not all(named) or not all(named.values()) or len(named) < len(pairs):
        raise ParameterError(f"--columns must be A,B=HEADING,... with every column once, got {columns!r:.60}")
    asked = [item.id for survey in surveys for item in survey.questions]
    if surveys and (strange := next((column for column in named if column not in asked), None)) is not None:
        raise ParameterError(f"--columns names {strange!r:.60}, which is no question of the survey: {_listed(asked)}")
    return named or {column: column for column in asked}


def _warn(data: CuratorData, survey: Survey) -> None:
    """Tell the owner, and nobody else, of a column with no answer in it: its values may be spelled in another way."""
    for item in survey.questions:
        if item.id in data.columns and not data.count(item.id, item.query())[0].any():
            click.echo(f"warning: {item.id}: no row of {data.path} holds an answer that the survey knows", err=True)


def _known(peers: Path) -> Callable[[], dict[str, Card]]:
    from sottovoce.curators import read_peers

    return lambda: {who: peer.card for who, peer in read_peers(peers).items()}


def _names(name: str, host: str, peers: Path) -> Callable[[], list[str]]:
    """The names by which this curator is asked: the machine's, and those that the others know it by."""

    def names() -> list[str]:
        from sottovoce.curators import read_peers

        known = read_peers(peers).get(name)
        return [host, socket.gethostname(), (urlsplit(known.url).hostname or "") if known else host]

    return names


def _serve(app: CuratorApp, host: str, port: int, record: JsonObject, as_json: bool) -> None:
    from sottovoce.web.server import listen, run

    listener = listen(host, port)
    address = f"[{host}]" if ":" in host else host
    record["url"] = f"http://{address}:{listener.getsockname()[1]}"
    run(app, listener, lambda: _announce(record, as_json))


def _announce(record: JsonObject, as_json: bool) -> None:
    if as_json:
        print_json(record)
    else:
        click.echo(f"curator {record['name']}" + (f" at {record['url']}" if "url" in record else ""))
        click.echo(f"key: {record['key']}")
    sys.stdout.flush()
