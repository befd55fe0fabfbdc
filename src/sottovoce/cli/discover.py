from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sottovoce.cli.estimate import report_files, tally_here
from sottovoce.cli.options import FILE, json_option, refuse
from sottovoce.cli.show import MAX_ROWS_SHOWN, ErrorOptions, print_json, print_table, write_figure
from sottovoce.core.domain import Text
from sottovoce.core.errors import ParameterError
from sottovoce.estimates.hashed import CORRECTIONS

if TYPE_CHECKING:
    from sottovoce.estimates import HashedEstimate, Result
    from sottovoce.estimates.tally import Tally
    from sottovoce.mechanisms import Mechanism

ASKING_OPTIONS = ("people", "rounds", "epsilon", "max_bytes", "salt")
SHOWING_OPTIONS = ("limit", "surely", "correction", "level", "population", "output", "plot")


@click.command()
@click.argument("reports", type=FILE, nargs=-1)
@click.option("--question", "-q", help="Which question, if the files have several that can be searched.")
@click.option("--next", "following", type=FILE, help="In rounds: write the mechanism that asks next, as JSON.")
@click.option("--people", type=click.IntRange(min=1), help="In rounds: how many people there are in all.")
@click.option(
    "--rounds", type=click.IntRange(min=2), default=4, show_default=True, help="The most rounds there may be."
)
@click.option("--epsilon", "-e", type=float, help="The epsilon of the first round; later rounds cost the same.")
@click.option(
    "--max-bytes", type=click.IntRange(min=1), default=64, show_default=True, help="The bytes of the longest text."
)
@click.option("--salt", default="", help="In rounds: a public text that only this survey uses, for its hash functions.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the most frequent values.")
@click.option("--surely", type=click.IntRange(min=1), metavar="K",
              help="Only values that are among the K most frequent, at the level for all of them.")  # fmt: skip
@click.option("--correction", type=click.Choice(CORRECTIONS), default="bonferroni", show_default=True,
              help="With bh, the level is the share of the values shown that somebody holds.")  # fmt: skip
@click.option("--alphabet", help="The characters of all values, if known: such as 0123456789.")
@click.option("--level", type=float, default=0.95, show_default=True,
              help="How sure to be: somebody holds each value shown, an interval holds the truth.")  # fmt: skip
@click.option("--population", is_flag=True, help="Errors about the population that the respondents were drawn from.")
@click.option("--output", "-o", type=FILE, help="Write the values: .csv, .parquet or .arrow.")
@click.option("--plot", type=FILE, help="Draw them: .svg, .png or .pdf.")
@json_option
def discover(
    reports: tuple[Path, ...],
    question: str | None,
    following: Path | None,
    people: int | None,
    rounds: int,
    epsilon: float | None,
    max_bytes: int,
    salt: str,
    limit: int | None,
    surely: int | None,
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

    To ask in rounds, begin with `sotto discover --next round-1.json --people N --epsilon E`, and randomize the answers
    of some people by --mechanism round-1.json. Then name all reports so far, with another --next, until the last round.
    """
    from sottovoce import data as files
    from sottovoce.statistics.discovery import discover as find

    _check_options(following, people, epsilon, bool(reports))
    if following is None and not reports:
        raise ParameterError("name at least one file of REPORTS, or begin with --next FILE --people N --epsilon E")
    if not reports:
        _ask_next(following, [], people, rounds, alphabet, salt, as_json, epsilon=epsilon, domain=Text(max_bytes))
        return
    paths = report_files(reports, output, plot)
    if output is not None and output.suffix == ".json":
        raise ParameterError(f"{output}: must end in .csv, .parquet, .arrow; for JSON there is --json")
    name, tallies = _tallies(paths, question)
    if following is not None:
        _ask_next(following, tallies, people, rounds, alphabet, salt, as_json)
        return
    found = find(tallies, level=level, correction=correction, alphabet=alphabet)
    errors: ErrorOptions = {"level": level, "population": population}
    mechanisms = [tally.mechanism.to_dict() for tally in tallies]
    asked = {"mechanism": mechanisms[0]} if len(mechanisms) == 1 else {"rounds": mechanisms}
    record = {"question": name, **asked, **found.to_dict(**errors)}
    shown: HashedEstimate = found.surely(surely, level) if surely else found
    sure, caption = len(shown), shown.caption  # Of all of them, however few are shown.
    shown = shown.top(limit) if limit and len(shown) else shown
    if output:
        table = shown.to_frame("arrow", **errors)
        files.write_table(output, table.append_column("simulated", [[True] * len(table)]) if found.simulated else table)
    if plot:
        _draw(plot, shown, caption, errors)
    if as_json:
        places = {"surely": surely} if surely else {}
        print_json(record | places | {"estimates": shown.to_dict(**errors)["estimates"]})
        return
    header, rows = shown.table(**errors, most=MAX_ROWS_SHOWN)
    print_table(header, rows, caption)
    if surely:
        click.echo(
            f"{sure:,} of {found.candidates:,} tested: surely among the first {surely:,} of these, at {level:.4g}"
        )


def _check_options(path: Path | None, people: int | None, epsilon: float | None, begun: bool) -> None:
    """Either something is asked next or something is shown, and the options are about one of them."""
    if path is None:
        refuse(ASKING_OPTIONS, "goes with --next")
        return
    refuse(SHOWING_OPTIONS, "does not go with --next, which shows no values")
    if begun:
        refuse(("epsilon", "max_bytes"), "is for the first round, and the same in those after it")
    else:
        refuse(("question",), "goes with files of REPORTS")
    if path.suffix != ".json":
        raise ParameterError(f"{path}: must end in .json")
    if people is None:
        raise ParameterError("--next goes with --people: how many there are in all")
    if not begun and epsilon is None:
        raise ParameterError("the first round needs an --epsilon")


def _draw(path: Path, shown: HashedEstimate, caption: str, errors: ErrorOptions) -> None:
    from sottovoce.estimates.render import INK, panels

    figure, axes = panels([max(len(shown), 1)])
    shown.plot(**errors, ax=axes[0])
    axes[0].set_title(caption.replace("; n = ", "\nn = ", 1), loc="left", color=INK, fontsize="medium")
    write_figure(path, figure)


def _ask_next(
    path: Path | None,
    tallies: list[Tally[Result]],
    people: int | None,
    rounds: int,
    alphabet: str | None,
    salt: str,
    as_json: bool,
    epsilon: float | None = None,
    domain: Text | None = None,
) -> None:
    """Write what is asked next, and say of whom. Rounds after the first have the epsilon and the domain of that one."""
    from sottovoce.data import writing
    from sottovoce.mechanisms import Discovery
    from sottovoce.statistics.discovery import Rounds

    first = tallies[0].mechanism if tallies else None
    if isinstance(first, Discovery):
        epsilon, domain = first.epsilon, first.domain
    assert path is not None and people is not None and epsilon is not None  # noqa: S101
    ask = Rounds(people, epsilon, rounds, salt, domain, alphabet).ask(tallies)
    with writing(path) as part:
        part.write_text(json.dumps(ask.mechanism.to_dict(), indent=2) + "\n", "utf-8")
    if as_json:
        print_json({"round": ask.round, "people": ask.people, "last": ask.last, "mechanism": ask.mechanism.to_dict()})
        return
    told = sorted({stop for _, stop in ask.mechanism.spans[:-1]})
    asked = "the whole text" if ask.last else f"the first {', '.join(map(str, told))} bytes, or the whole text"
    number = f"round {ask.round}, the last" if ask.last else f"round {ask.round} of at most {rounds}"
    click.echo(f"{path}: {number}: ask {ask.people:,} people who have not answered for {asked}")


def _tallies(reports: list[Path], question: str | None) -> tuple[str, list[Tally[Result]]]:
    """A tally for each round: files with the same mechanisms are of one."""
    from sottovoce.data import ReportFile

    names: set[str] = set()
    rounds: dict[str, list[Path]] = {}
    for path in reports:
        mechanisms = ReportFile(path).mechanisms
        names.add(_searched(path, mechanisms, question))
        asked = {name: m.to_dict() for name, m in mechanisms.items()}
        rounds.setdefault(json.dumps(asked, sort_keys=True), []).append(path)
    if len(names) > 1:
        raise ParameterError(f"rounds must be of one question, got {', '.join(sorted(names))}")
    [name] = names
    return name, [tally_here(own)[name] for own in rounds.values()]


def _searched(path: Path, mechanisms: dict[str, Mechanism], question: str | None) -> str:
    """The one question of a file that can be searched, or the one that is named."""
    from sottovoce.mechanisms import Discovery

    names = [name for name, m in mechanisms.items() if isinstance(m, Discovery)]
    if not names:
        raise ParameterError(f"{path}: has no reports of discovery: see sotto randomize --mechanism discovery")
    if question is not None and question not in names:
        raise ParameterError(f"{path}: --question must be one of {', '.join(names)}, got {question!r}")
    if question is None and len(names) > 1:
        raise ParameterError(f"{path}: say which of the questions to search: --question {', '.join(names)}")
    return question or names[0]
