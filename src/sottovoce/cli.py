"""The command `sotto`: thin commands over the library. Rich tables for people, --json for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sottovoce import __version__
from sottovoce.domain import Domain
from sottovoce.errors import FileError, ParameterError, SottovoceError
from sottovoce.mechanisms import REGISTRY, Mechanism, build
from sottovoce.postprocess import STEPS
from sottovoce.privacy import check_epsilon
from sottovoce.render import plural

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.estimate import Estimate
    from sottovoce.files import Column, ReportFile
    from sottovoce.reports import Reports
    from sottovoce.tally import Tally

FILE = click.Path(path_type=Path, dir_okay=False)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Simulate with this seed. Such reports say so, and protect nobody."
)


def main(arguments: list[str] | None = None) -> int:
    """Run `sotto` and return its exit code: 0, or 2 with one line on standard error."""
    try:
        code = sotto.main(arguments, prog_name="sotto", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        return _fail(error.format_message())
    except SottovoceError as error:
        return _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return code if isinstance(code, int) else 0


def _fail(message: str, code: int = 2) -> int:
    click.echo("sotto: " + " ".join(message.split()), err=True)
    return code


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="sotto")
def sotto() -> None:
    """Learn from answers you should not see: local differential privacy, exactly."""


@sotto.command()
@click.argument("data", type=FILE)
@click.option("--column", "-c", required=True, help="The column with the answers.")
@click.option("--epsilon", "-e", required=True, type=float, help="What one report may cost its owner.")
@click.option("--output", "-o", required=True, type=FILE, help="The file of reports: .parquet or .arrow.")
@click.option("--domain", "-d", help="Labels a,b,c, a file with one on each line, or a number N for 0..N-1.")
@click.option("--missing", type=click.Choice(["refuse", "category"]), default="refuse", show_default=True,
              help="Refuse missing answers, or count them as a value of their own.")  # fmt: skip
@click.option("--mechanism", "-m", "name", type=click.Choice(["auto", *REGISTRY]), default="auto", show_default=True,
              help="How to randomize; auto takes the least variance.")  # fmt: skip
@click.option("--max-bits", type=click.IntRange(min=1), help="The longest report that auto may choose.")
@seed_option
@json_option
def randomize(
    data: Path,
    column: str,
    epsilon: float,
    output: Path,
    domain: str | None,
    missing: str,
    name: str,
    max_bits: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Randomize a column of DATA (CSV, Parquet or Arrow) into a file of reports.

    Each row's answer becomes one report; the file holds nothing else. It is read and written in parts, so that its
    size does not matter.
    """
    from sottovoce import files
    from sottovoce.randomness import Keystream

    check_epsilon(epsilon)
    answers = files.Column(data, column)
    values = Domain(answers.labels(), missing) if domain is None else files.read_domain(domain, missing)
    if domain is None:
        click.echo("sotto: warning: the domain was read off the column, which itself reveals which values occur; "
                   "give a public one with --domain", err=True)  # fmt: skip
    m = build(name, values, epsilon, max_bits)
    reports = _randomized(answers, m, Keystream(seed))
    n = files.write_reports(output, m, _progress(reports, answers.progress, "randomizing"))
    if as_json:
        _print_json({"output": str(output), "n": n, "bits": m.bits, "simulated": seed is not None, **m.to_dict()})
    else:
        note = " (SIMULATED with a seed: not private)" if seed is not None else ""
        what = f"{plural(n, 'report')} of {plural(m.bits, 'bit')} by {m.name} over {m.domain.size:,} values"
        click.echo(f"{output}: {what}, epsilon = {m.epsilon:.6g} each{note}")


def _randomized(answers: Column, m: Mechanism, stream: Any) -> Iterator[Reports]:
    row = 1
    for values in answers.values(m.domain):
        yield m.randomize_many(values, seed=stream, first_row=row)
        row += len(values)


@sotto.command()
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
    """Estimate the frequencies behind one or more files of REPORTS.

    The mechanism travels in the files. Estimates are unbiased, so that one of a rare value may be negative.
    """
    from sottovoce import files

    tally = _tally([files.ReportFile(path) for path in reports])
    result = tally.estimate()
    for step in steps:
        result = STEPS[step](result)
    result = result.top(top) if top else result.sort() if sort else result
    errors: dict[str, Any] = {"level": level, "simultaneous": simultaneous, "population": population}
    record = {"mechanism": tally.mechanism.to_dict(), **result.to_dict(**errors)}
    if output:
        _write_estimate(output, result, errors, record)
    if plot:
        _write_plot(plot, result, errors)
    if as_json:
        _print_json(record)
    else:
        _print_estimate(result, errors)


def _tally(sources: list[ReportFile]) -> Tally[Any]:
    total = sources[0].mechanism.tally()
    for source in sources:
        if source.mechanism != total.mechanism:
            raise FileError(f"{source.path}: its reports are of {source.mechanism!r}, another mechanism "
                            f"than those of {sources[0].path}, {total.mechanism!r}")  # fmt: skip
        for part in _progress(source, source.column.progress, "counting"):
            try:
                total.add_many(part)
            except SottovoceError as error:
                raise FileError(f"{source.path}: {error}") from None
    return total


def _write_estimate(path: Path, result: Estimate, errors: dict[str, Any], record: dict[str, Any]) -> None:
    from sottovoce import files

    if path.suffix == ".json":
        with files.writing(path) as part:
            part.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    else:
        files.write_table(path, result.to_frame("arrow", **errors))


def _write_plot(path: Path, result: Estimate, errors: dict[str, Any]) -> None:
    from sottovoce import files

    if path.suffix not in (".svg", ".png", ".pdf"):
        raise ParameterError(f"{path}: a plot must end in .svg, .png or .pdf")
    figure: Any = result.plot(**errors).get_figure()
    with files.writing(path) as part:
        figure.savefig(part, format=path.suffix[1:])


@sotto.command()
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
        _print_json({"html": str(html), **adult.record(result)})
    else:
        adult.show(result, _console())
        click.echo(f"The page with the chart: {html}")


def _progress(parts: Iterable[Any], done: Callable[[], float], title: str) -> Iterator[Any]:
    """Pass parts on, with a bar on standard error where a person may be watching."""
    if not sys.stderr.isatty():
        yield from parts
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=1.0)
        for part in parts:
            yield part
            progress.update(task, completed=done())


def _print_json(record: dict[str, Any]) -> None:
    click.echo(json.dumps(record, indent=2))


def _print_estimate(result: Estimate, errors: dict[str, Any]) -> None:
    from rich.table import Table

    header, rows = result.table(**errors)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for at, name in enumerate(header):
        table.add_column(name, justify="right" if at else "left", no_wrap=bool(at))
    for row in rows:
        table.add_row(*row)
    console = _console()
    console.print(table)
    console.print(f"[dim]{result.caption}[/dim]", highlight=False)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)
