from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sottovoce.cli.options import FILE, json_option
from sottovoce.cli.serve import opened, store_options
from sottovoce.cli.show import print_json
from sottovoce.core.errors import FileError, ParameterError
from sottovoce.estimates.render import plural

if TYPE_CHECKING:
    from sottovoce.collector.records import StoredSurvey
    from sottovoce.collector.store import Store
    from sottovoce.survey import Survey

simulated_option = click.option("--simulated", is_flag=True, help="Take reports that were made with a seed, too.")
wave_option = click.option("--wave", type=click.IntRange(min=0), default=0, show_default=True,
                           help="The wave of a file that names none.")  # fmt: skip


MAX_REQUEST_BYTES = 2**20
"""Bytes of envelopes that are sent at a time; an envelope that is longer is sent alone."""


@click.command()
@click.argument("file", type=FILE)
@click.argument("url")
@wave_option
@click.option("--attempts", type=click.IntRange(min=1), default=8, show_default=True, help="Tries for each batch.")
@simulated_option
@json_option
def send(file: Path, url: str, wave: int, attempts: int, simulated: bool, as_json: bool) -> None:
    """Send a FILE of reports to the survey at URL, such as http://127.0.0.1:8000/v1/surveys/sleep.

    The file has a submission on each line, as a client makes them, or is one of reports in Parquet or Arrow, as `sotto
    randomize` and `sotto export` write them. Sent again, the same file changes nothing. For a survey with a shuffler,
    each line is an envelope, as `sotto answer --output` writes it, and URL is that of the survey at its shuffler.
    """
    from sottovoce.collector import intake, transfer
    from sottovoce.device import envelope, transport
    from sottovoce.survey import Survey

    bodies: Iterable[bytes]
    survey = Survey.loads(transport.fetch(url, attempts=attempts))
    if survey.shuffle is not None:
        bodies, kind = _envelopes(file, survey), envelope.SEALED
    elif transfer.is_table(file):
        batches = transfer.batches(file, survey, wave, simulated)
        bodies, kind = (transfer.stream(batch) for batch in batches), intake.ARROW
    else:
        bodies, kind = transfer.lines(file), intake.LINES
    accepted = duplicates = 0
    for body in bodies:
        taken = transport.send(url, body, kind, attempts=attempts)
        accepted, duplicates = accepted + taken["accepted"], duplicates + taken["duplicates"]
    _show(url, accepted, duplicates, as_json)


@click.command("export")
@click.argument("survey")
@click.argument("file", type=FILE)
@store_options
@json_option
def export_reports(survey: str, file: Path, data: Path, database: str | None, as_json: bool) -> None:
    """Write all reports to a SURVEY to a Parquet FILE, for Spark, `sotto estimate` or another collector."""
    from sottovoce.collector import transfer

    store = opened(data, database)
    to = _found(store, survey)
    count = transfer.export(store, to, file)
    waiting = sum(store.waiting(to).values())
    if as_json:
        print_json({"file": str(file), "n": count, **({"waiting": waiting} if to.invited else {})})
    else:
        more = (
            f"; {plural(waiting, 'more report')} of this survey by invitation wait for their group" if waiting else ""
        )
        click.echo(f"{file}: {plural(count, 'report')}{more}")


@click.command("import")
@click.argument("survey")
@click.argument("file", type=FILE)
@wave_option
@simulated_option
@store_options
@json_option
def import_reports(
    survey: str, file: Path, wave: int, simulated: bool, data: Path, database: str | None, as_json: bool
) -> None:
    """Add the reports in a Parquet or Arrow FILE to a SURVEY. Those that are there already are not added again."""
    from sottovoce.collector import transfer

    store = opened(data, database)
    done = transfer.load_file(store, _found(store, survey), file, wave, simulated)
    _show(str(file), done.accepted, done.duplicates, as_json)


def _envelopes(file: Path, survey: Survey) -> Iterator[bytes]:
    """The envelopes in a file. None is given out before all of them were looked at: plain text is not sent."""
    from sottovoce.device import envelope

    for _ in _read_envelopes(file, survey):
        pass
    some, most = list[bytes](), max(1, MAX_REQUEST_BYTES // envelope.outer_size(survey))
    for sealed in _read_envelopes(file, survey):
        some.append(sealed)
        if len(some) == most:
            yield b"".join(some)
            some.clear()
    if some:
        yield b"".join(some)


def _read_envelopes(file: Path, survey: Survey) -> Iterator[bytes]:
    from sottovoce.collector import transfer
    from sottovoce.device import envelope

    lines = (line for some in transfer.lines(file) for line in some.split(b"\n"))
    for number, line in enumerate(lines, 1):
        try:
            yield envelope.from_line(survey, line)
        except FileError as error:
            between = " " if str(error).startswith("is ") else ": "
            raise FileError(f"{file}: line {number}{between}{error}") from None


def _found(store: Store, name: str) -> StoredSurvey:
    to = store.survey(name)
    if to is None:
        raise ParameterError(f"there is no survey {name!r}")
    return to


def _show(place: str, accepted: int, duplicates: int, as_json: bool) -> None:
    if as_json:
        print_json({"place": place, "accepted": accepted, "duplicates": duplicates})
    else:
        click.echo(f"{plural(accepted, 'report')} accepted, {duplicates:,} were there already")
