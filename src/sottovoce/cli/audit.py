from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sottovoce.cli.options import FILE, PLOTS, Asked, json_option, seed_option
from sottovoce.cli.show import print_json, write_figure
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.mechanisms import FREQUENCIES, Mechanism

if TYPE_CHECKING:
    from sottovoce.statistics.auditing import AuditResult, TimeAudit
    from sottovoce.statistics.auditing.bench import Progress
    from sottovoce.statistics.auditing.sources import Randomizer

SAMPLES, SLOW_SAMPLES = 100_000, 2_000
"""Samples of each answer: by default, and where every report takes a process or a request of its own."""

SAMPLING = ("samples", "level", "repeats", "fresh", "seed")
"""Options that an exact audit does not take."""

Values = tuple[Any, ...]
"""The two answers to tell apart, or none."""


@click.command()
@click.option("--mechanism", "-m", metavar="NAME|FILE",
              help=f"One of {', '.join(FREQUENCIES)}, or a file of JSON that describes a mechanism.")  # fmt: skip
@click.option("--domain", "-d", help="For a name: a,b,c, a file with one on each line, or N for 0..N-1.")
@click.option("--epsilon", "-e", type=float, help="For a name: what a report may cost.")
@click.option("--command", "-c", metavar="LINE",
              help="A program: a line in for each answer, a line out for each report; "
              "or with {} where one answer goes.")  # fmt: skip
@click.option("--url", metavar="URL", help="A service: {} stands for the answer, or it is sent by POST.")
@click.option("--python", metavar="MODULE:NAME", help="A function from an answer to a report, or a mechanism.")
@click.option("--values", nargs=2, metavar="X0 X1", help="The two answers to tell apart.")
@click.option("--claimed", type=float, help="The epsilon to compare with. [default: the mechanism's own]")
@click.option("--delta", type=float, default=0.0, help="The delta of the claim. [default: 0]")
@click.option("--samples", type=int,
              help="Observations of each answer. [default: 100,000; 2,000 if each takes a request or a "
              "process]")  # fmt: skip
@click.option("--level", type=float, help="How sure the bound is to hold. [default: 0.99]")
@click.option("--repeats", type=int, help="Reports of one person in an observation. [default: 1]")
@click.option("--fresh", is_flag=True, help="A new process, or a call of the function for a new client, per person.")
@click.option("--exact", is_flag=True, help="Follow every draw for the two --values; without them, for all.")
@click.option("--time", is_flag=True,
              help="Time the calls, and see whether that tells a truth from a lie or the --values apart; without "
              "them, every two of a mechanism's answers: all of up to 8, a sample of more.")  # fmt: skip
@click.option("--timeout", type=float, help="Seconds to wait for a program (60) or a service (10).")
@click.option("--plot", type=FILE, help="Draw what an attacker achieves: .svg, .png or .pdf.")
@seed_option
@json_option
def audit(plot: Path | None, as_json: bool, **asked: Any) -> int:
    """Find out what a randomizer spends at least, and compare it with what it claims.

    Name one of --mechanism, --command, --url and --python. A small mechanism is audited exactly, anything else by
    counting reports of the two --values.

    The exit code is 0 if nothing speaks against the claim, 1 if more is spent than claimed or if time tells, 2 if
    something is wrong.
    """
    from sottovoce.statistics.auditing import AuditResult

    if plot and plot.suffix not in PLOTS:
        raise ParameterError(f"{plot}: a plot must end in {', '.join(PLOTS)}")
    found = _audit(asked | {"plot": plot})
    if plot and isinstance(found, AuditResult):
        write_figure(plot, found.plot().get_figure())
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(str(found))
    return int(found.exceeds)


def _audit(asked: Asked) -> AuditResult | TimeAudit:
    """The audit that was asked for: exact where a mechanism is small and no option is about samples."""
    from sottovoce.statistics.auditing import ends
    from sottovoce.statistics.auditing.exact import TooLargeError

    randomizer, slow = _randomizer(asked)
    values = _values(randomizer, asked) if asked["values"] else ()
    if asked["time"]:
        return _timed(randomizer, values, SLOW_SAMPLES if slow else None, asked)
    sampling = {name: asked[name] for name in SAMPLING if asked[name] is not None and asked[name] is not False}
    if asked["exact"]:
        if sampling:
            raise ParameterError(f"--{next(iter(sampling))} does not go with --exact, which takes no samples")
        return _exact(randomizer, values, asked)
    if isinstance(randomizer, Mechanism) and not values:
        if not sampling:
            with suppress(TooLargeError):
                return _exact(randomizer, (), asked)
        values = ends(randomizer)
    return _sampled(randomizer, values, {"samples": SLOW_SAMPLES if slow else SAMPLES} | sampling, asked)


def _timed(randomizer: Randomizer, values: Values, calls: int | None, asked: Asked) -> TimeAudit:
    """The audit of time. Options about epsilon do not go with it."""
    from sottovoce.statistics.auditing import audit

    odd = [name for name in ("level", "repeats", "claimed", "delta", "exact", "fresh", "plot") if asked[name]]
    if odd:
        raise ParameterError(f"--{odd[0]} does not go with --time, which finds no epsilon")
    samples = calls if asked["samples"] is None else asked["samples"]
    options: Asked = {} if samples is None else {"samples": samples}
    with _watched() as progress:
        return audit(randomizer, *values, seed=asked["seed"], time=True, progress=progress, **options)


def _exact(randomizer: Randomizer, values: Values, asked: Asked) -> AuditResult:
    from sottovoce.statistics.auditing import audit

    if not isinstance(randomizer, Mechanism):
        raise ParameterError("--exact is for mechanisms: a black box can only be sampled")
    return audit(randomizer, *values, exact=True, delta=asked["delta"], claimed=asked["claimed"])


def _sampled(randomizer: Randomizer, values: Values, options: Asked, asked: Asked) -> AuditResult:
    from sottovoce.statistics.auditing import audit

    if not values:
        raise ParameterError("two answers to tell apart are needed: --values X0 X1")
    options |= {"delta": asked["delta"], "claimed": asked["claimed"]}
    with _watched() as progress:
        return audit(randomizer, values[0], values[1], time=False, progress=progress, **options)


def _randomizer(asked: Asked) -> tuple[Randomizer, bool]:
    """What is audited, and whether each of its reports takes long."""
    from sottovoce.statistics.auditing import Command, Endpoint

    named = [name for name in ("mechanism", "command", "url", "python") if asked[name]]
    if len(named) != 1:
        raise ParameterError("name what to audit by one of --mechanism, --command, --url and --python")
    for name in ("domain", "epsilon"):
        if asked[name] is not None and named != ["mechanism"]:
            raise ParameterError(f"--{name} goes with the name of a --mechanism; what is claimed is --claimed")
    limit = {} if asked["timeout"] is None else {"timeout": asked["timeout"]}
    if asked["command"]:
        command = Command(asked["command"], **limit)
        return command, command.one_by_one or asked["fresh"]
    if asked["url"]:
        return Endpoint(asked["url"], **limit), True
    if limit:
        raise ParameterError("--timeout goes with a --command or a --url")
    return (_mechanism(asked) if asked["mechanism"] else _imported(asked["python"])), False


def _mechanism(asked: Asked) -> Mechanism:
    from sottovoce.mechanisms import build
    from sottovoce.survey.short_form import read_domain, read_mechanism

    name, path = asked["mechanism"], Path(asked["mechanism"])
    if path.suffix != ".json" and not path.is_file():
        if asked["domain"] is None or asked["epsilon"] is None:
            raise ParameterError(f"{name} needs a --domain and an --epsilon; a file of JSON has its own")
        return build(name, read_domain(asked["domain"], "refuse"), asked["epsilon"])
    if asked["domain"] is not None or asked["epsilon"] is not None:
        raise ParameterError(f"{path}: has its own domain and epsilon; what is claimed is --claimed")
    return read_mechanism(path)


def _imported(name: str) -> Randomizer:
    """What a module of the working directory, or an installed one, calls by this name."""
    from importlib import import_module

    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ParameterError(f"a function must be named MODULE:NAME, got {name!r:.60}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        randomizer: Randomizer = found
    except Exception as error:
        raise ParameterError(f"{name}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.pop(0)
    return randomizer


def _values(randomizer: object, asked: Asked) -> Values:
    """The two answers: text for programs and services; for a mechanism or a function JSON, where it is JSON."""
    first, second = asked["values"]
    if asked["command"] or asked["url"]:
        return first, second
    return _value(randomizer, first), _value(randomizer, second)


def _value(randomizer: object, text: str) -> object:
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    if isinstance(randomizer, Mechanism):
        try:
            randomizer.randomize(value)
        except DomainError:  # The label "1" is text where labels are.
            return text
    return value


@contextmanager
def _watched() -> Iterator[Progress | None]:
    """A bar on standard error, where a person may be watching."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("sampling", total=1.0)
        yield lambda done, total: bar.update(task, completed=done / total)
