from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from sottovoce.cli.options import FILE, PLOTS, json_option
from sottovoce.cli.show import print_json, progress, write_figure
from sottovoce.core.errors import FileError, ParameterError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from sottovoce.statistics.regression import RegressionResult


class RegressOptions(TypedDict):
    """What is fitted."""

    formula: str
    written: tuple[str, ...]
    linear: bool
    errors: str
    latent: str | None
    weights: str | None


@click.command()
@click.argument("data", type=FILE)
@click.option("--formula", "-f", required=True, help="Outcome and predictors: 'y ~ a + b', 'y ~ a*b + C(region)'.")
@click.option("--design", "-d", "written", multiple=True, metavar="COLUMN=NAME:...",
              help="How a column was randomized, such as y=warner:0.7; may be given more than once. "
              "A column without a design is public.")  # fmt: skip
@click.option("--linear", is_flag=True, help="Linear regression of a public number, instead of logistic.")
@click.option("--errors", type=click.Choice(["any", "normal"]), default="any", show_default=True,
              help="For --linear: the law of the errors.")  # fmt: skip
@click.option("--latent", metavar="FORMULA", help="What hidden predictors depend on: '~ b'. [default: all public ones]")
@click.option("--weights", metavar="COLUMN", help="Survey weights.")
@click.option("--test", "tests", multiple=True, metavar="TERM", help="Test a term; may be given more than once.")
@click.option("--level", type=float, default=0.95, show_default=True, help="The coverage of the intervals.")
@click.option("--method", type=click.Choice(["wald", "likelihood"]), default="wald", show_default=True,
              help="Which intervals.")  # fmt: skip
@click.option("--plot", type=FILE, help="Draw the coefficients: .svg, .png or .pdf.")
@json_option
def regress(data: Path, level: float, method: str, tests: tuple[str, ...], plot: Path | None, as_json: bool,
            **asked: Unpack[RegressOptions]) -> None:  # fmt: skip
    """Regression on the columns of DATA (CSV, Parquet or Arrow), of which some hold randomized answers.

    Coefficients are about the truth behind the answers, and their errors about the population sampled.
    """
    if plot and (plot.suffix not in PLOTS or plot.resolve() == data.resolve()):
        raise ParameterError(f"{plot}: a plot must end in {', '.join(PLOTS)}, and not be the data")
    result = _fitted(data, asked)
    found = {term: result.test(term) for term in tests}
    if plot:
        write_figure(plot, result.plot(level, method).get_figure())
    if as_json:
        record = result.to_dict(level, method)
        print_json(record | ({"tests": {term: test.to_dict() for term, test in found.items()}} if found else {}))
        return
    click.echo(str(result.summary(level, method)))
    for test in found.values():
        click.echo(str(test))


def _fitted(data: Path, asked: RegressOptions) -> RegressionResult:
    from sottovoce.statistics.regression import linear, logistic

    designs = dict(_design(text) for text in asked["written"])
    if len(designs) < len(asked["written"]):
        raise ParameterError("--design must be given once for a column")
    try:
        frame, weights = _frame(data, asked)
        formula, latent = asked["formula"], asked["latent"]
        if asked["linear"]:
            return linear(formula, frame, designs, errors=asked["errors"], latent=latent, weights=weights)
        return logistic(formula, frame, designs, latent=latent, weights=weights)
    except ParameterError as error:  # Other errors name the file already.
        raise ParameterError(f"{data}: {error}") from None


def _design(text: str) -> tuple[str, Any]:
    """A column and its design. Whether that is one of yes and no is checked by the regression."""
    from sottovoce.statistics import designs

    column, sign, written = text.partition("=")
    if not sign or not column.strip():
        raise ParameterError(f"--design must be COLUMN=NAME:..., such as y=warner:0.7, got {text!r:.60}")
    return column.strip(), designs.parse(written)


def _frame(data: Path, asked: RegressOptions) -> tuple[dict[str, pd.Series], pd.Series | None]:
    """The columns that are needed; the text of a CSV file is taken for numbers where all of a column are."""
    from sottovoce import data as files
    from sottovoce.core.lazy import pyarrow as pa
    from sottovoce.statistics.regression.data import variables

    names = variables(asked["formula"], asked["latent"], list(files.Table(data, []).schema.names))
    table = files.Table(data, list(dict.fromkeys([*names, *([asked["weights"]] if asked["weights"] else [])])))
    batches = list(progress(table.batches(), table.progress, "reading"))
    if not batches:
        raise FileError(f"{data}: has no rows")
    whole = pa.Table.from_batches(batches)
    columns = {name: _numbers(whole.column(name)).to_pandas() for name in table.columns}
    weights = columns[asked["weights"]] if asked["weights"] else None
    return {name: columns[name] for name in names}, weights


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    from sottovoce.core.lazy import pyarrow as pa

    if not pa.types.is_string(column.type):
        return column
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        return column
