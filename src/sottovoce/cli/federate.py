from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sottovoce.cli.compare import PLOTS
from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.show import SHOWN, print_json, print_table, write_figure
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.curators import Published
    from sottovoce.models.federated import Query


@click.command()
@click.argument("peers", type=FILE)
@click.option("--id", "name", required=True, help="The task's name. A task is carried out once.")
@click.option("--column", "-c", required=True, help="The column that every curator counts.")
@click.option("--domain", "-d", help="The values to count: a,b,c, or a file with one on each line.")
@click.option("--low", type=float, help="The lower end of a number, for its mean and sum.")
@click.option("--high", type=float, help="The upper end.")
@click.option("--steps", type=int, default=100, show_default=True, help="The steps that a number is rounded to.")
@click.option("--epsilon", "-e", type=float, default=1.0, show_default=True, help="What it costs everybody.")
@click.option("--threshold", "-t", type=int, help="How many curators may collude. [default: a third]")
@click.option("--dropouts", type=int, help="How many curators may drop out. [default: a third]")
@click.option("--noise", type=click.Choice(["divisible", "full"]), default="divisible", show_default=True,
              help="Shares that make up the noise together, or all of it from everybody.")  # fmt: skip
@click.option("--sharing", type=click.Choice(["shamir", "additive"]), default="shamir", show_default=True,
              help="Some of the curators can unmask the sum, or only all of them.")  # fmt: skip
@click.option("--level", type=float, default=0.95, show_default=True, help="The coverage of the intervals.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=60.0, show_default=True,
              help="Seconds to wait for an answer.")  # fmt: skip
@click.option("--attempts", type=click.IntRange(1, 20), default=4, show_default=True, help="How often to ask for it.")
@click.option("--plot", type=FILE, help="Draw it: .svg, .png or .pdf.")
@json_option
def federate(peers: Path, plot: Path | None, as_json: bool, **asked: Any) -> None:
    """Have the curators in PEERS add up a column, with noise inside the sum, and publish the estimate.

    The curators (`sotto curator`) check the task, and each charges its own ledger. Nobody sees their counts: what is
    unmasked is the noisy total. Curators that fail drop out; with too few left, nothing is published.
    """
    from sottovoce.curators import Remote, Task, federate, read_peers
    from sottovoce.models.federated import Parties

    if plot and plot.suffix not in PLOTS:
        raise ParameterError(f"{plot}: a plot must end in {', '.join(PLOTS)}")
    if not 0 < asked["level"] < 1:
        raise ParameterError(f"level must lie strictly between 0 and 1, got {asked['level']:g}")
    known = read_peers(peers)
    parties = Parties(len(known), asked["threshold"], asked["dropouts"], asked["noise"], asked["sharing"])
    cards = {name: peer.card for name, peer in known.items()}
    task = Task(asked["name"], asked["column"], _query(asked), asked["epsilon"], parties, cards)
    network = Remote({name: peer.url for name, peer in known.items()}, asked["timeout"], asked["attempts"])
    result = federate(task, network, asked["level"])
    if plot:
        write_figure(plot, result.plot().get_figure())
    if as_json:
        print_json(result.to_dict())
    else:
        _show(result)


def _query(asked: dict[str, Any]) -> Query:
    from sottovoce.models.federated import Average, Histogram
    from sottovoce.questions import read_domain

    numbers = [asked["low"], asked["high"]]
    if asked["domain"] is not None and numbers == [None, None]:
        return Histogram(tuple(map(str, read_domain(asked["domain"], "refuse").labels)))
    if asked["domain"] is not None or None in numbers:
        raise ParameterError("name the --domain of values to count, or the --low and --high ends of a number")
    return Average(asked["low"], asked["high"], asked["steps"])


def _show(result: Published) -> None:
    header, rows = result.table()
    if len(rows) > SHOWN:
        rows = [*rows[:SHOWN], [f"... and {len(rows) - SHOWN:,} more", *[""] * (len(header) - 1)]]
    print_table(header, rows, result.caption)
    click.echo()
    print_table(*result.guarantee(), "\n".join(result.notes))
