from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.show import print_json, print_result, progress
from sottovoce.errors import FileError, ParameterError, SottovoceError
from sottovoce.estimate import Estimate
from sottovoce.postprocess import STEPS
from sottovoce.render import label_text

if TYPE_CHECKING:
    from sottovoce.estimate import Result
    from sottovoce.files import ReportFile
    from sottovoce.tally import Tally


@click.command()
@click.argument("reports", type=FILE, nargs=-1, required=True)
@click.option("--level", type=float, default=0.95, show_default=True, help="The coverage of the intervals.")
@click.option("--simultaneous", is_flag=True, help="Intervals that cover all values at once.")
@click.option("--population", is_flag=True, help="Errors about the population sampled, not the respondents alone.")
@click.option("--postprocess", "steps", multiple=True, type=click.Choice(list(STEPS)),
              help="Trade unbiasedness for a distribution; may be given more than once.")  # fmt: skip
@click.option("--sort", is_flag=True, help="The most frequent value first.")
@click.option("--top", type=click.IntRange(min=1), help="Only the most frequent values.")
@click.option("--output", "-o", type=FILE, help="Write the estimates: .csv, .parquet, .arrow or .json.")
@click.option("--plot", type=FILE, help="Draw them: .svg, .png or .pdf.")
@json_option
def estimate(
    reports: tuple[Path, ...],
    level: float,
    simultaneous: bool,
    population: bool,
    steps: tuple[str, ...],
    sort: bool,
    top: int | None,
    output: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Estimate what lies behind one or more files of REPORTS.

    The mechanisms travel in the files. Estimates are unbiased, so that one of a rare value may be negative.
    """
    from sottovoce import files

    _check_paths(reports, output, plot)
    tallies = _tallies([files.ReportFile(path) for path in reports])
    results = {name: tally.estimate() for name, tally in tallies.items()}
    if (steps or sort or top) and not any(isinstance(result, Estimate) for result in results.values()):
        raise ParameterError("--postprocess, --sort and --top are for frequencies, and there are none here")
    results = {name: _arranged(result, steps, sort, top) for name, result in results.items()}
    errors: dict[str, Any] = {"level": level, "simultaneous": simultaneous, "population": population}
    record = {
        "questions": [
            {"question": name, "mechanism": tallies[name].mechanism.to_dict(), **result.to_dict(**errors)}
            for name, result in results.items()
        ]
    }
    if output:
        _write_estimates(output, results, errors, record)
    if plot:
        _write_plot(plot, results, errors)
    if as_json:
        print_json(record)
    else:
        for name, result in results.items():
            print_result(name if len(results) > 1 else None, result, errors)


def _check_paths(reports: tuple[Path, ...], output: Path | None, plot: Path | None) -> None:
    """Refuse, before anything is read or written, what would count reports twice or write over them."""
    sources = [path.resolve() for path in reports]
    if len(set(sources)) < len(sources):
        raise ParameterError("a file of reports must be named once, or its reports would count twice")
    for path, suffixes in ((output, (".csv", ".parquet", ".arrow", ".json")), (plot, (".svg", ".png", ".pdf"))):
        if path is not None and path.suffix not in suffixes:
            raise ParameterError(f"{path}: must end in {', '.join(suffixes)}")
        if path is not None and path.resolve() in sources:
            raise ParameterError(f"{path}: would be written over the reports")


def _arranged(result: Result, steps: tuple[str, ...], sort: bool, top: int | None) -> Result:
    """Post-process, sort and cut frequencies; other results are as they are."""
    if not isinstance(result, Estimate):
        return result
    for step in steps:
        result = STEPS[step](result)
    return result.top(top) if top else result.sort() if sort else result


def _tallies(sources: list[ReportFile]) -> dict[str, Tally[Any]]:
    totals = {name: m.tally() for name, m in sources[0].mechanisms.items()}
    for source in sources:
        if source.mechanisms != sources[0].mechanisms:
            raise FileError(f"{source.path}: its reports are of {source.mechanisms}, another mechanism "
                            f"than those of {sources[0].path}, {sources[0].mechanisms}")  # fmt: skip
        for part in progress(source, source.table.progress, "counting"):
            try:
                for name, column in part.items():
                    totals[name].add_many(column)
            except SottovoceError as error:
                raise FileError(f"{source.path}: {error}") from None
    return totals


def _write_estimates(path: Path, results: dict[str, Result], errors: dict[str, Any], record: dict[str, Any]) -> None:
    from sottovoce import files

    if path.suffix == ".json":
        with files.writing(path) as part:
            part.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    elif len(results) == 1:
        files.write_table(path, next(iter(results.values())).to_frame("arrow", **errors))
    else:
        files.write_table(path, _joined(results, errors))


def _joined(results: dict[str, Result], errors: dict[str, Any]) -> Any:
    """The estimates of several questions in one table."""
    from sottovoce.lazy import pyarrow as pa

    rows = [
        {"question": name, "label": label_text(row.label), "measure": result.measure,
         "estimate": getattr(row, result.measure), "stderr": row.stderr, "low": row.low, "high": row.high}
        for name, result in results.items()
        for row in result.rows(**errors)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows)


def _write_plot(path: Path, results: dict[str, Result], errors: dict[str, Any]) -> None:
    from sottovoce import files
    from sottovoce.render import panels

    figure, axes = panels([len(result.rows(**errors)) for result in results.values()])
    for ax, (name, result) in zip(axes, results.items(), strict=True):
        result.plot(**errors, ax=ax)
        if len(results) > 1:
            ax.set_title(f"{name}: {ax.get_title(loc='left')}", loc="left", fontsize="medium")
    with files.writing(path) as part, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A glyph that the font lacks is drawn as a box; nothing is lost.
        figure.savefig(part, format=path.suffix[1:])
