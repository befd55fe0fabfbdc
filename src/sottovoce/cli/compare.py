from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sottovoce.cli.options import FILE, PLOTS, Asked, json_option, seed_option
from sottovoce.cli.show import MAX_ROWS_SHOWN, print_json, print_table, progress, write_figure
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.mechanisms import FREQUENCIES

if TYPE_CHECKING:
    from sottovoce.survey import Question, Survey
    from sottovoce.trust import Comparison, CuratorCurve, ErrorCurve, TrustModel

HISTOGRAMS = ("yes_no", "choice", "ordered")
NOT_WITH = {
    "--curve": ("data", "column", "n", "probabilities", "zipf", "level"),
    "DATA": ("n", "probabilities", "zipf", "mean", "ns"),
    "--n": ("column", "mean", "ns"),
    "--curve over --curators": ("data", "column", "probabilities", "zipf", "level", "mean", "ns"),
}
"""Options that do not go with a curve, with a file, with answers that are drawn, and with a curve over curators."""

Step = TypeVar("Step")


@click.command()
@click.argument("data", type=FILE, required=False)
@click.option("--survey", type=FILE, help="Ask a --question of this survey: its values, epsilon and curators.")
@click.option("--question", "-q", help="With --survey: its id. [default: the only one]")
@click.option("--column", "-c", help="The column of DATA with the answers.")
@click.option("--domain", "-d", help="The values: a,b,c, a file with one on each line, or N for 0..N-1.")
@click.option("--missing", type=click.Choice(["refuse", "category"]),
              help="Refuse missing answers, or count them as a value of their own. [default: refuse]")  # fmt: skip
@click.option("--n", type=int, help="Draw this many answers instead of reading DATA.")
@click.option("--probabilities", metavar="P,P,...", help="The probability of each value drawn; all alike if left out.")
@click.option("--zipf", type=float, metavar="S", help="Probabilities that fall like 1/rank^S.")
@click.option("--epsilon", "-e", type=float, help="The same for every trust model. [default: 1]")
@click.option("--models", metavar="NAME,...",
              help="Whom the respondents trust: any of central, shuffle, federated, secure, local. "
                   "[default: central,local; all but federated with --survey]")  # fmt: skip
@click.option("--delta", type=float, default=1e-6, show_default=True, help="What is left to chance with a shuffler.")
@click.option("--curators", metavar="K[,K,...]",
              help="Curators with the answers (federated, secure); several with --curve. [default: 10]")  # fmt: skip
@click.option("--engine", type=click.Choice(["opendp", "sottovoce"]),
              help="Whose noise the curator adds: OpenDP's if installed, but sottovoce's with a seed.")  # fmt: skip
@click.option("--mechanism", "-m", default="auto", show_default=True, metavar="NAME",
              help=f"How the local model asks ({', '.join(FREQUENCIES)}); auto takes the least variance.")  # fmt: skip
@click.option("--runs", type=int, help="Releases by each model to measure its error. [default: 1; 50 with --curve]")
@click.option("--level", type=float, help="The coverage of the intervals. [default: 0.95]")
@click.option("--curve", is_flag=True, help="The error over n and its slopes, on drawn answers.")
@click.option("--mean", is_flag=True, help="With --curve: the error of the mean of +-1 data.")
@click.option("--ns", metavar="N,N,...", help="With --curve: the numbers of people.")
@click.option("--plot", type=FILE, help="Draw it: .svg, .png or .pdf.")
@seed_option
@json_option
def compare(plot: Path | None, as_json: bool, **asked: Any) -> None:
    """Publish one histogram under the central, the shuffle or the local model, beside the exact one.

    The answers are a --column of DATA, or --n of them drawn from a --domain. Whoever runs this holds the answers: it
    simulates what each model would give, shows the exact counts too, and so its output is not private.
    """
    asked |= _of_survey(asked)
    data = asked["data"]
    if plot and (plot.suffix not in PLOTS or (data and plot.resolve() == data.resolve())):
        raise ParameterError(f"{plot}: a plot must end in {', '.join(PLOTS)}, and not be the data")
    over = "--curve over --curators" if asked["curators"] else "--curve"
    mode = over if asked["curve"] else "DATA" if data else "--n"
    for name in NOT_WITH[mode]:
        if asked[name] is not None and asked[name] is not False:
            raise ParameterError(f"{'DATA' if name == 'data' else f'--{name}'} does not go with {mode}")
    options = {"epsilon": 1.0} | {
        name: asked[name] for name in ("epsilon", "seed", "runs", "level") if asked[name] is not None
    }
    options |= {"track": _track, "models": _models(asked)}
    make: dict[str, Callable[[Asked, Asked], Comparison | ErrorCurve | CuratorCurve]] = {
        "--curve": _curve,
        "DATA": _column,
        "--n": _drawn,
        "--curve over --curators": _over_curators,
    }
    result = make[mode](asked, options)
    if plot:
        write_figure(plot, result.plot().get_figure())
    if as_json:
        print_json(result.to_dict())
    else:
        _show(result)


def _of_survey(asked: Asked) -> Asked:
    """What a question of a survey says of itself; nothing without a survey."""
    if asked["survey"] is None:
        if asked["question"] is not None:
            raise ParameterError("--question goes with a --survey")
        return {"models": asked["models"] or "central,local"}
    for name in ("domain", "missing", "epsilon", "curve"):
        if asked[name] not in (None, False):
            raise ParameterError(f"--{name} does not go with --survey")
    survey, item = _question(asked)
    said = {"domain": item.mechanism.domain, "epsilon": item.mechanism.epsilon}
    said |= {"models": asked["models"] or "central,shuffle,secure,local"}
    if asked["data"]:
        said["column"] = asked["column"] or item.id
    if survey.federated and not asked["curators"]:
        said |= {"curators": str(len(survey.federated.curators)), "parties": survey.federated.parties}
    return said


def _question(asked: Asked) -> tuple[Survey, Question]:
    """A survey as if it were published now, and the question of it that is asked."""
    from sottovoce.survey import Survey

    survey = Survey.read(asked["survey"]).publish()
    if asked["question"] is None and len(survey.questions) > 1:
        raise ParameterError(f"name the --question: {', '.join(item.id for item in survey.questions)}")
    item = survey.question(asked["question"] or survey.questions[0].id)
    if item.kind not in HISTOGRAMS:
        raise ParameterError(f"a question to compare must be one of {', '.join(HISTOGRAMS)}, got {item.kind}")
    return survey, item


def _curve(asked: Asked, options: Asked) -> ErrorCurve:
    """The error over n."""
    from sottovoce.trust import error_curve

    options |= {"ns": _numbers("--ns", asked["ns"])} if asked["ns"] else {}
    return error_curve(domain=_domain(asked), measure="mean" if asked["mean"] else "frequency", **options)


def _over_curators(asked: Asked, options: Asked) -> CuratorCurve:
    """The error over the number of curators, with noise of each and in a secure sum."""
    from sottovoce.trust import curator_curve

    del options["models"]
    options |= {name: value for name, value in (("n", asked["n"]), ("domain", _domain(asked))) if value is not None}
    return curator_curve(ks=_numbers("--curators", asked["curators"]), **options)


def _column(asked: Asked, options: Asked) -> Comparison:
    """The answers of a file, counted in parts."""
    from sottovoce import data as files
    from sottovoce.core.lazy import numpy as np
    from sottovoce.trust import compare

    if asked["column"] is None:
        raise ParameterError("DATA goes with a --column")
    table = files.Table(asked["data"], [asked["column"]])
    domain = _domain(asked) or Domain(table.labels(asked["column"]), asked["missing"] or "refuse")
    counts, row = np.zeros(domain.size, dtype=np.int64), 1
    for batch in progress(table.batches(), table.progress, "reading"):
        codes = domain.encode_many(files.answers(batch.column(0), domain, table.csv, row), first_row=row)
        counts += np.bincount(codes, minlength=domain.size)
        row += len(batch)
    return compare(dict(zip(domain.labels, counts.tolist(), strict=True)), **options)


def _drawn(asked: Asked, options: Asked) -> Comparison:
    """Answers that are drawn. Probabilities alone are those of as many values, numbered from 0."""
    from sottovoce.trust import compare, zipf

    domain, chances = _domain(asked), _numbers("--probabilities", asked["probabilities"])
    if asked["n"] is None or not (domain or chances):
        raise ParameterError("name DATA and its --column, or --n answers to draw and a --domain to draw them from")
    if asked["zipf"] is not None:
        if chances or not domain:
            raise ParameterError("--zipf goes with a --domain, and without --probabilities")
        chances = zipf(domain.size, asked["zipf"])
    return compare(domain or len(chances), n=asked["n"], probabilities=chances or None, **options)


def _domain(asked: Asked) -> Domain | None:
    from sottovoce.survey.short_form import read_domain

    domain = asked["domain"]  # That of a survey's question is one already.
    if domain is not None:
        return domain if isinstance(domain, Domain) else read_domain(domain, asked["missing"] or "refuse")
    if asked["missing"] and not asked["data"]:
        raise ParameterError("--missing goes with DATA or a --domain")
    return None


def _models(asked: Asked) -> tuple[TrustModel, ...]:
    from sottovoce.trust import Central, Federated, Local, Parties, SecureSum, Shuffle

    curators = (_numbers("--curators", asked["curators"]) or [10])[0]
    known: dict[str, Callable[[], TrustModel]] = {
        "central": lambda: Central(asked["engine"]),
        "shuffle": lambda: Shuffle(delta=asked["delta"]),
        "federated": lambda: Federated(curators),
        "secure": lambda: SecureSum(asked.get("parties") or Parties(curators)),
        "local": lambda: Local(asked["mechanism"]),
    }
    names = asked["models"].split(",")
    for name in names:
        if name not in known:
            raise ParameterError(f"--models must be some of {', '.join(known)}, got {name!r:.40}")
    return tuple(known[name]() for name in names)


def _track(steps: Sequence[Step]) -> Iterator[Step]:
    """Pass steps on, with a bar that shows how many are done."""
    done = 0

    def counted() -> Iterator[Step]:
        nonlocal done
        for step in steps:
            done += 1
            yield step

    return progress(counted(), lambda: done / len(steps), "measuring")


def _numbers(name: str, text: str | None) -> list[Any]:  # Whole or not: who asks for them checks.
    """Numbers with commas between them, fractions among them; whole ones as such."""
    if text is None:
        return []
    try:
        return [_number(part) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{name} must be numbers with commas between them, got {text!r:.60}") from None


def _number(text: str) -> int | float | Fraction:
    over, _, under = text.partition("/")
    if under:
        return Fraction(int(over), int(under))
    return int(text) if text.strip().isdecimal() else float(text)


def _show(result: Comparison | ErrorCurve | CuratorCurve) -> None:
    header, rows = result.table()
    hidden = len(rows) - MAX_ROWS_SHOWN
    if hidden > 0:
        rows = [*rows[:MAX_ROWS_SHOWN], [f"... and {hidden:,} more", *[""] * (len(header) - 1)]]
    print_table(header, rows, result.caption)
    click.echo()
    print_table(*result.summary(), "\n".join(result.notes))
