from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.show import ErrorOptions, print_json, print_result, progress_bar, write_figure
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.estimates import Estimate, HashedEstimate
from sottovoce.estimates.postprocess import STEPS
from sottovoce.estimates.render import label_text

if TYPE_CHECKING:
    import pyarrow as pa

    from sottovoce.core.domain import Domain, Label
    from sottovoce.estimates import Result
    from sottovoce.estimates.tally import Tally


@click.command()
@click.argument("reports", type=FILE, nargs=-1, required=True)
@click.option("--level", type=float, default=0.95, show_default=True, help="The coverage of the intervals.")
@click.option("--simultaneous", is_flag=True, help="Intervals that cover all values at once.")
@click.option("--population", is_flag=True, help="Errors about the population that the respondents were drawn from.")
@click.option("--postprocess", "steps", multiple=True, type=click.Choice(list(STEPS)),
              help="Make the estimates a distribution, at the price of bias; may be given more than once.")  # fmt: skip
@click.option("--sort", is_flag=True, help="The most frequent value first.")
@click.option("--top", type=click.IntRange(min=1), help="Only the most frequent values.")
@click.option(
    "--quantile",
    "quantiles",
    multiple=True,
    type=float,
    metavar="Q",
    help="A quantile of ordered values or a distribution: 0.5 is the median. May be given more than once.",
)
@click.option("--range", "ranges", multiple=True, metavar="FIRST:LAST",
              help="The share of a range of ordered values. May be given more than once.")  # fmt: skip
@click.option("--values", type=FILE, help="For text: a file with the values to estimate, one on each line.")
@click.option("--method", type=click.Choice(["mean", "regression"]),
              help="For text: estimate each value by itself (the default), or all of them together.")  # fmt: skip
@click.option("--engine", type=click.Choice(["here", "spark"]), default="here", show_default=True,
              help="Where to count: in this process, or on Spark.")  # fmt: skip
@click.option("--master", metavar="URL", help="For Spark: the cluster; by default all cores of this machine.")
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
    quantiles: tuple[float, ...],
    ranges: tuple[str, ...],
    values: Path | None,
    method: str | None,
    engine: str,
    master: str | None,
    output: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Estimate what lies behind one or more files of REPORTS; a pattern such as 'reports/*.parquet' names many.

    The files say by which mechanisms the reports were made. Estimates are unbiased: that of a rare value may be
    negative.
    """
    paths = report_files(reports, output, plot)
    tallies = _tallied(paths, engine, master)
    results = _estimated(tallies, values, method)
    kinds = Estimate if steps else Estimate | HashedEstimate
    if (steps or sort or top) and not any(isinstance(result, kinds) for result in results.values()):
        raise ParameterError("--postprocess, --sort and --top are for frequencies, and there are none here")
    results = {name: _arranged(result, steps, sort, top) for name, result in results.items()}
    errors: ErrorOptions = {"level": level, "simultaneous": simultaneous, "population": population}
    asked = _asked(results, quantiles, ranges, level, population)
    record = {
        "questions": [
            {
                "question": name,
                "mechanism": tallies[name].mechanism.to_dict(),
                **result.to_dict(**errors),
                **asked[name],
            }
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
            _print_asked(asked[name], level)


def report_files(reports: tuple[Path, ...], output: Path | None, plot: Path | None) -> list[Path]:
    """The files that are named. What would write over them is refused before anything is read or written."""
    from sottovoce.data import matching_files

    found = matching_files(reports)
    sources = [path.resolve() for path in found]
    for path, suffixes in ((output, (".csv", ".parquet", ".arrow", ".json")), (plot, (".svg", ".png", ".pdf"))):
        if path is not None and path.suffix not in suffixes:
            raise ParameterError(f"{path}: must end in {', '.join(suffixes)}")
        if path is not None and path.resolve() in sources:
            raise ParameterError(f"{path}: would be written over the reports")
    return found


def _tallied(paths: list[Path], engine: str, master: str | None) -> dict[str, Tally[Result]]:
    """The tally of each question, counted in this process or on Spark."""
    if engine == "spark":
        from sottovoce.data import spark

        return spark.tally_files(paths, master)
    if master is not None:
        raise ParameterError("--master goes with --engine spark")
    return tally_here(paths)


def tally_here(paths: list[Path]) -> dict[str, Tally[Result]]:
    from sottovoce.data import tally_files

    with progress_bar("counting") as show:
        return tally_files(paths, progress=show)


def _estimated(tallies: dict[str, Tally[Result]], values: Path | None, method: str | None) -> dict[str, Result]:
    """What each tally tells; about text, it tells of the values that are named."""
    from sottovoce.mechanisms.text.cohorts import Cohorts

    texts = [name for name, tally in tallies.items() if isinstance(tally.mechanism, Cohorts)]
    if texts and values is None:
        raise ParameterError(f"{texts[0]}: nobody listed its values: name those to estimate in a file, --values FILE"
                             f"{', or find them: sotto discover' if _finds(tallies[texts[0]]) else ''}")  # fmt: skip
    if not texts and (values or method):
        raise ParameterError("--values and --method are for text, and there is none here")
    options = {"values": _lines(values), "method": method or "mean"} if values else {}
    return {name: tally.estimate(**options if name in texts else {}) for name, tally in tallies.items()}


def _finds(tally: Tally[Result]) -> bool:
    from sottovoce.mechanisms import Discovery

    return isinstance(tally.mechanism, Discovery)


def _lines(path: Path) -> list[str]:
    """What stands on the lines of a file. Only a line feed ends one: a value may hold other breaks of Unicode."""
    from sottovoce.data import reading

    with reading(path):
        lines = [line.removesuffix("\r") for line in path.read_bytes().decode("utf-8-sig").split("\n")]
    return [line for line in lines if line]


def _arranged(result: Result, steps: tuple[str, ...], sort: bool, top: int | None) -> Result:
    """Post-process, sort and cut frequencies; other results are as they are."""
    if isinstance(result, Estimate):
        for step in steps:
            result = STEPS[step](result)
    if not isinstance(result, Estimate | HashedEstimate):
        return result
    return result.top(top) if top else result.sort() if sort else result


def _asked(
    results: dict[str, Result], quantiles: tuple[float, ...], ranges: tuple[str, ...], level: float, population: bool
) -> dict[str, JsonObject]:
    """The quantiles and ranges asked for, of each question that has an order."""
    from sottovoce.estimates import Distribution
    from sottovoce.estimates.range_estimate import RangeEstimate

    found: dict[str, JsonObject] = {name: {} for name in results}
    for name, result in results.items():
        if quantiles and isinstance(result, RangeEstimate | Distribution):
            found[name]["quantiles"] = [result.quantile_row(q, level, population) for q in quantiles]
        if ranges and isinstance(result, RangeEstimate):
            pairs = [_ends(text, result.domain) for text in ranges]
            found[name]["ranges"] = [asdict(row) for row in result.ranges(pairs).rows(level, population=population)]
    for option, key, asked in (("--quantile", "quantiles", quantiles), ("--range", "ranges", ranges)):
        if asked and not any(key in one for one in found.values()):
            raise ParameterError(f"{option} is for ordered values, and there are none here")
    return found


def _ends(text: str, domain: Domain) -> tuple[Label, Label]:
    """The two labels of FIRST:LAST; labels may hold a colon themselves."""
    labels = {label_text(label): label for label in domain.labels}
    for at, letter in enumerate(text):
        if letter == ":" and text[:at] in labels and text[at + 1 :] in labels:
            return labels[text[:at]], labels[text[at + 1 :]]
    raise ParameterError(f"--range must be FIRST:LAST, two of the {len(labels):,} values, got {text!r}")


def _print_asked(asked: JsonObject, level: float) -> None:
    for row in asked.get("quantiles", ()):
        low, value, high = (label_text(_rounded(row[key])) for key in ("low", "value", "high"))
        click.echo(f"quantile {row['q']:g}: {value} ({100 * level:g}% interval {low} .. {high})")
    for row in asked.get("ranges", ()):
        click.echo(f"share of {row['label']}: {row['frequency']:.4f}, std. error {row['stderr']:.4f} "
                   f"({100 * level:g}% interval {row['low']:.4f} .. {row['high']:.4f})")  # fmt: skip


def _rounded(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def _write_estimates(path: Path, results: dict[str, Result], errors: ErrorOptions, record: JsonObject) -> None:
    from sottovoce import data as files

    if path.suffix == ".json":
        with files.writing(path) as part:
            part.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        return
    single = next(iter(results.values())) if len(results) == 1 else None
    table = _joined(results, errors) if single is None else single.to_frame("arrow", **errors)
    if any(result.simulated for result in results.values()):
        table = table.append_column("simulated", [[True] * len(table)])
    files.write_table(path, table)


def _joined(results: dict[str, Result], errors: ErrorOptions) -> pa.Table:
    """The estimates of several questions in one table."""
    from sottovoce.core.lazy import pyarrow as pa

    rows = [
        {"question": name, "label": label_text(row.label), "measure": result.measure,
         "estimate": getattr(row, result.measure), "stderr": row.stderr, "low": row.low, "high": row.high}
        for name, result in results.items()
        for row in result.rows(**errors)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows)


def _write_plot(path: Path, results: dict[str, Result], errors: ErrorOptions) -> None:
    from sottovoce.estimates.render import panels

    figure, axes = panels([len(result.rows(**errors)) for result in results.values()])
    for ax, (name, result) in zip(axes, results.items(), strict=True):
        result.plot(**errors, ax=ax)
        if len(results) > 1:
            ax.set_title(f"{name}: {ax.get_title(loc='left')}", loc="left", fontsize="medium")
    write_figure(path, figure)
