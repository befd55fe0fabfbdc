from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sottovoce.cli.key import read_key
from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.serve import FOLDER, proxy_option
from sottovoce.cli.show import print_json
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.survey import Survey


@click.command()
@click.argument("survey", type=FILE)
@click.option("--key", type=FILE, required=True, help="The shuffler's private key (see `sotto key new`).")
@click.option("--collector", metavar="URL", default="http://127.0.0.1:8000", show_default=True,
              help="Where batches go.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="0 takes any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 lets other machines in.")
@click.option("--data", type=FOLDER, default=Path("shuffler-data"), show_default=True,
              help="The folder in which envelopes wait.")  # fmt: skip
@click.option("--extra", type=click.IntRange(min=0), metavar="N",
              help="A batch waits for up to N reports beyond its minimum, drawn at random.  [a tenth]")  # fmt: skip
@click.option("--rate", type=click.FloatRange(min=0), default=100.0, show_default=True,
              help="Requests a second from one address; 0 for no limit.")  # fmt: skip
@proxy_option
@json_option
def shuffler(
    survey: Path,
    key: Path,
    collector: str,
    port: int,
    host: str,
    data: Path,
    extra: int | None,
    rate: float,
    proxies: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run the shuffler of a published SURVEY: it mixes sealed reports that it cannot read.

    It keeps what comes until a batch holds the survey's minimum, and passes it on to the collector in random order.
    Nothing smaller ever leaves it. It ends on SIGTERM or Ctrl-C; what waits goes on waiting until the next start.
    """
    from sottovoce.shuffler import Shuffler, open_store
    from sottovoce.web.server import listen, run

    asked = _shuffled(survey)
    if not collector.startswith(("http://", "https://")):
        raise ParameterError(f"the address of the collector must begin with https:// or http://, got {collector!r:.80}")
    target, opening = f"{collector.rstrip('/')}/v1/surveys/{asked.id}", read_key(key)
    with closing(open_store(data, asked, extra)) as store:
        app = Shuffler(store, opening, target, rate=rate or None, proxies=proxies)
        listener = listen(host, port)
        name = f"[{host}]" if ":" in host else host
        url = f"http://{name}:{listener.getsockname()[1]}/v1/surveys/{asked.id}"
        run(app, listener, lambda: _announce({"survey": url, "digest": asked.digest, "collector": target}, as_json))


def _shuffled(path: Path) -> Survey:
    from sottovoce.device import envelope
    from sottovoce.survey import Survey

    asked = Survey.read(path)
    if not asked.published:
        raise ParameterError(f"{path}: is a draft: publish it first")
    try:
        envelope.route(asked)
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None
    return asked


def _announce(record: JsonObject, as_json: bool) -> None:
    if as_json:
        print_json(record)
    else:
        click.echo(f"the shuffler takes envelopes at {record['survey']} and sends batches to {record['collector']}")
    sys.stdout.flush()
