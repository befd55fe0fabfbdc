from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sottovoce.cli.counting import counted, expanded
from sottovoce.cli.estimate import check_paths
from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.show import print_json, print_result, write_figure
from sottovoce.errors import ParameterError
from sottovoce.estimate.hashed import CORRECTIONS

if TYPE_CHECKING:
    from sottovoce.discovery import Found
    from sottovoce.tally import Tally


@click.command()
@click.argument("reports", type=FILE, nargs=-1, required=True)
@click.option("--question", "-q", help="Which question, if the files have several that can be searched.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the most frequent values.")
@click.option("--error-rate", type=float, default=0.05, show_default=True,
              help="How likely it may be that a value is shown which nobody holds.")  # fmt: skip
@click.option("--correction", type=click.Choice(CORRECTIONS), default="bonferroni", show_default=True,
              help="With bh, the error rate is the share of such values among those shown.")  # fmt: skip
@click.option("--alphabet", help="The characters of all values, if known: such as 0123456789.")
@click.option("--level", type=float, default=0.95, show_default=True, help="The coverage of the intervals.")
@click.option("--population", is_flag=True, help="Errors about the population sampled, not the respondents alone.")
@click.option("--output", "-o", type=FILE, help="Write the values: .csv, .parquet or .arrow.")
@click.option("--plot", type=FILE, help="Draw them: .svg, .png or .pdf.")
@json_option
def discover(
    reports: tuple[Path, ...],
    question: str | None,
    limit: int | None,
    error_rate: float,
    correction: str,
    alphabet: str | None,
    level: float,
    population: bool,
    output: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Find the frequent texts behind one or more files of REPORTS, with their frequencies.

    The reports are those of `sotto randomize --question NAME:text:BYTES --mechanism discovery`.
    """
    from sottovoce import files
    from sottovoce.discovery import discover as find

    reports = expanded(reports)
    check_paths(reports, output, plot)
    if output is not None and output.suffix == ".json":
        raise ParameterError(f"{output}: must end in .csv, .parquet, .arrow; for JSON there is --json")
    name, tally = _searched(counted(reports), question)
    found: Found = find(tally, level=error_rate, correction=correction, alphabet=alphabet)
    errors: dict[str, Any] = {"level": level, "population": population}
    record = {"question": name, "mechanism": tally.mechanism.to_dict(), **found.to_dict(**errors)}
    shown: Any = found.top(limit) if limit and len(found) else found
    if output:
        table = shown.to_frame("arrow", **errors)
        files.write_table(output, table.append_column("simulated", [[True] * len(table)]) if tally.simulated else table)
    if plot:
        from sottovoce.render import panels

        figure, axes = panels([max(len(shown), 1)])
        shown.plot(**errors, ax=axes[0])
        write_figure(plot, figure)
    if as_json:
        print_json(record | {"estimates": record["estimates"][:limit]})
    else:
        print_result(None, shown, errors)


def _searched(tallies: dict[str, Tally[Any]], question: str | None) -> tuple[str, Tally[Any]]:
    """The one question that can be searched, or the one that is named."""
    from sottovoce.mechanisms import Discovery

    names = [name for name, tally in tallies.items() if isinstance(tally.mechanism, Discovery)]
    if question is not None and question not in names:
        raise ParameterError(f"--question must be one of {', '.join(names) or 'none'}, got {question!r}")
    if not names:
        raise ParameterError("there are no reports of discovery here: see sotto randomize --mechanism discovery")
    if question is None and len(names) > 1:
        raise ParameterError(f"say which of the questions to search: --question {', '.join(names)}")
    name = question or names[0]
    return name, tallies[name]
