from __future__ import annotations

from pathlib import Path

import click

from sottovoce.cli.options import FILE, json_option, seed_option
from sottovoce.cli.show import console, print_json


@click.command()
@click.option("--html", type=FILE, default=Path("sottovoce-demo.html"), show_default=True, help="Where the page goes.")
@seed_option
@json_option
def demo(html: Path, seed: int | None, as_json: bool) -> None:
    """Ask 32,561 people for their occupation, in a quiet voice.

    The occupations of the Adult census extract through randomized response, unary encoding and the best mechanism at
    the same epsilon, beside the answer of a trusted curator.
    """
    from sottovoce import demo as adult
    from sottovoce import files

    result = adult.run(seed)
    with files.writing(html) as part:
        part.write_text(adult.page(result), encoding="utf-8")
    if as_json:
        print_json({"html": str(html), **adult.record(result)})
    else:
        adult.show(result, console())
        click.echo(f"The page with the chart: {html}")
