"""Options that more than one command takes."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(path_type=Path, dir_okay=False)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Simulate with this seed. Such reports say so, and protect nobody."
)
