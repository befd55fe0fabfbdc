from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from sottovoce.cli.options import FILE, PLOTS, json_option
from sottovoce.cli.show import ErrorOptions, print_json, print_result, progress, write_figure
from sottovoce.core.errors import FileError, ParameterError, SottovoceError
from sottovoce.statistics.proportions.intervals import METHODS
from sottovoce.statistics.proportions.one_proportion import ALTERNATIVES

if TYPE_CHECKING:
    from sottovoce.estimates import Result
    from sottovoce.statistics.designs import Design, Greenberg
    from sottovoce.statistics.hypothesis_result import TestResult

SAMPLES = ("1", "2")
"""What --by says of the two samples of greenberg."""


class AnalyzeOptions(TypedDict):
    """What is asked of the column."""

    design: str
    weights: str | None
    by: str | None
    anchor: str | None
    anchor_p: str | None
    missing: str
    level: float
    method: str | None
    simultaneous: bool
    respondents: bool
    null: float | None
    alternative: str
    explain: bool


@click.command()
@click.argument("data", type=FILE)
@click.option("--column", "-c", required=True, help="The column with the answers, as the respondents gave them.")
@click.option("--design", "-d", required=True, metavar="NAME:...",
              help="How it was asked: warner:0.7, forced:4/6,1/6,1/6, unrelated:0.7,0.25, greenberg:0.8,0.3, "
              "kuk:0.8,0.2, crosswise:1/4, triangular:1/4, mangat:0.7, custom:ROW;ROW.")  # fmt: skip
@click.option("--weights", metavar="COLUMN", help="Survey weights.")
@click.option("--by", metavar="COLUMN", help="One row for each group; for greenberg, whose sample it was: 1 or 2.")
@click.option("--anchor", metavar="COLUMN", help="For crosswise: answers to an anchor, to correct for random answers.")
@click.option("--anchor-p", metavar="P", help="For --anchor: its innocuous probability, unless that of the design.")
@click.option("--missing", type=click.Choice(["refuse", "drop"]), default="refuse", show_default=True,
              help="Refuse missing answers, or leave them out.")  # fmt: skip
@click.option("--level", type=float, default=0.95, show_default=True, help="The coverage of the intervals.")
@click.option("--method", type=click.Choice(METHODS), help="Which interval. [default: unified]")
@click.option("--simultaneous", is_flag=True, help="Intervals that cover all rows at once.")
@click.option("--respondents", is_flag=True, help="Errors about the respondents alone, not the population sampled.")
@click.option("--test", "null", type=float, metavar="PI0", help="Test whether the proportion is this.")
@click.option("--alternative", type=click.Choice(ALTERNATIVES), default="two-sided", show_default=True,
              help="Against which proportions to test.")  # fmt: skip
@click.option("--plot", type=FILE, help="Draw the likelihood, or the intervals of several rows: .svg, .png or .pdf.")
@click.option("--explain", is_flag=True, help="Say in plain words what the design does and promises.")
@json_option
def analyze(data: Path, column: str, plot: Path | None, as_json: bool, **asked: Unpack[AnalyzeOptions]) -> None:
    """Analyse the answers to a sensitive question in a column of DATA (CSV, Parquet or Arrow).

    The answers are yes and no as they were given, randomized by a survey design. Errors are about the population that
    the respondents were drawn from.
    """
    from sottovoce.statistics import designs

    if plot and (plot.suffix not in PLOTS or plot.resolve() == data.resolve()):
        raise ParameterError(f"{plot}: a plot must end in {', '.join(PLOTS)}, and not be the data")
    design = designs.parse(asked["design"])
    result = _result(design, data, column, asked)
    errors: ErrorOptions = {
        "level": asked["level"], "simultaneous": asked["simultaneous"], "population": not asked["respondents"],
    }  # fmt: skip
    tests = _tests(result, asked["null"], asked["alternative"], asked["method"])
    if plot:
        _draw(plot, result, errors)
    if as_json:
        record = {"design": design.to_dict(), **result.to_dict(**errors)}
        print_json(record | ({"tests": {label: test.to_dict() for label, test in tests.items()}} if tests else {}))
        return
    if asked["explain"]:
        click.echo(f"{design.explain()}\n")
    print_result(None, result, errors)
    for label, test in tests.items():
        click.echo(f"{label}: {test}" if len(tests) > 1 else str(test))


def _result(design: Design, data: Path, column: str, asked: AnalyzeOptions) -> Result:
    from sottovoce.statistics import designs

    others = {"weights": asked["weights"], "by": asked["by"], "anchor": asked["anchor"]}
    columns = _columns(data, {"answers": column, **{role: name for role, name in others.items() if name}})
    if "weights" in columns:
        columns["weights"] = [_number(weight, row) for row, weight in enumerate(columns["weights"], 1)]
    try:
        if "anchor" in columns:
            return _corrected(design, columns, asked)
        if isinstance(design, designs.Greenberg):
            return _two_samples(design, columns, asked["missing"])
        if isinstance(design, designs.Custom):
            if "by" in columns or asked["method"]:
                raise ParameterError("--by and --method are for designs with one proportion of yes, not custom")
            return design.estimate(columns["answers"], columns.get("weights"), missing=asked["missing"])
        yes_or_no: Any = design  # All other designs have one proportion of yes.
        result = yes_or_no.estimate(columns["answers"], columns.get("weights"), columns.get("by"), asked["missing"])
        return result.using(asked["method"]) if asked["method"] else result  # type: ignore[no-any-return]
    except SottovoceError as error:
        raise type(error)(f"{data}: {error}") from None


def _columns(data: Path, roles: dict[str, str]) -> dict[str, list[object]]:
    from sottovoce import data as files

    table = files.Table(data, list(dict.fromkeys(roles.values())))
    columns: dict[str, list[object]] = {role: [] for role in roles}
    for batch in progress(table.batches(), table.progress, "reading"):
        for role, name in roles.items():
            columns[role] += batch.column(name).to_pylist()
    return columns


def _number(weight: Any, row: int) -> float:
    """A weight, which is text in a CSV file, and may be anything in others."""
    try:
        return float(weight)
    except (TypeError, ValueError):
        raise FileError(f"row {row}: a weight must be a number, got {weight!r:.40}") from None


def _corrected(design: Design, columns: dict[str, list[object]], asked: AnalyzeOptions) -> Result:
    from sottovoce.statistics.designs import Crosswise

    if not isinstance(design, Crosswise) or asked["by"] or asked["method"]:
        raise ParameterError("--anchor is for crosswise, without --by and --method")
    answers, anchor, weights = columns["answers"], columns["anchor"], columns.get("weights")
    return design.corrected(answers, anchor, asked["anchor_p"], weights, asked["missing"])


def _two_samples(design: Greenberg, columns: dict[str, list[object]], missing: str) -> Result:
    samples = [str(sample).strip() for sample in columns.get("by", [])]
    if set(samples) != set(SAMPLES):
        found = ", ".join(sorted(set(samples))) or "none"
        raise ParameterError(f"greenberg must have --by, a column that says 1 or 2 for the sample, got {found:.60}")
    parts = {
        role: [[value for value, sample in zip(columns[role], samples, strict=True) if sample == wanted]
               for wanted in SAMPLES]
        for role in ("answers", "weights") if role in columns
    }  # fmt: skip
    (first, second), (weights, other_weights) = parts["answers"], parts.get("weights", (None, None))
    return design.estimate(first, second, weights, other_weights, missing=missing)


def _tests(result: Result, null: float | None, alternative: str, method: str | None) -> dict[str, TestResult]:
    if null is None:
        return {}
    groups: Any = getattr(result, "groups", (result,))
    if not all(hasattr(group, "test") for group in groups):
        raise ParameterError("--test is for designs with one proportion of yes")
    return {group.label: group.test(null, alternative, method or "likelihood") for group in groups}


def _draw(path: Path, result: Result, errors: ErrorOptions) -> None:
    axes = result.plot_likelihood(errors["level"]) if hasattr(result, "plot_likelihood") else result.plot(**errors)
    write_figure(path, axes.get_figure())
