"""Options that more than one command takes."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.core import ParameterSource

from sottovoce.core.errors import ParameterError

FILE = click.Path(path_type=Path, dir_okay=False)
PLOTS = (".svg", ".png", ".pdf")
"""What the name of a plot may end in."""

Asked: TypeAlias = dict[str, Any]
"""The options of a command by the names of its parameters. Click has checked each by its own type."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Simulate with this seed. Such reports say so, and protect nobody."
)


def given() -> dict[str, str]:
    """The options that stand on the command line: the name of each parameter, and how the option is written."""
    context = click.get_current_context()
    return {
        str(option.name): max(option.opts, key=len)
        for option in context.command.params
        if isinstance(option, click.Option)
        and context.get_parameter_source(str(option.name)) is not ParameterSource.DEFAULT
    }


def refuse(names: Container[str], why: str) -> None:
    """Refuse options that would have no effect here: whoever gives one expects it to have an effect."""
    for name, written in given().items():
        if name in names:
            raise ParameterError(f"{written} {why}")
