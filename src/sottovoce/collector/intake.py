"""From the bytes of a request to a block of checked reports, or one line that says what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sottovoce import canonical, wire
from sottovoce.collector import columns
from sottovoce.collector.quick import Read
from sottovoce.collector.records import Block, Published
from sottovoce.errors import ReportError, SottovoceError

JSON = "application/json"
LINES = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"


class Mismatch(ReportError):  # noqa: N818
    """A report for another survey, or another version of it."""


class TooMany(ReportError):  # noqa: N818
    """More reports than one request may have."""


def read(data: bytes, kind: str, to: Published, most: int) -> Block:
    """The reports in the body of a request, of one of `KINDS`."""
    try:
        return KINDS[kind](data, to, most)
    except TooMany:
        raise
    except ReportError as error:
        if kind != ARROW and _other_survey(data, to):
            raise Mismatch(str(error)) from None
        raise


def _json(data: bytes, to: Published, most: int) -> Block:
    """One submission, or {"reports": [...]} with many."""
    quick = to.quick.read(data)
    if quick:
        return Block(to, (quick,))
    document = wire.parse(data)
    if isinstance(document, dict) and set(document) == {"reports"} and isinstance(document["reports"], list):
        documents = document["reports"]
        _check_count(len(documents), most)
        return Block(to, _numbered(lambda one: _read(wire.check(one, to.survey), to), documents))
    return Block(to, [_read(wire.check(document, to.survey), to)])


def _lines(data: bytes, to: Published, most: int) -> Block:
    """A submission on each line."""
    lines = data.removesuffix(b"\n").split(b"\n")
    _check_count(len(lines), most)
    return Block(to, _numbered(lambda line: one(line, to), lines))


def one(data: bytes, to: Published) -> Read:
    """One submission."""
    return to.quick.read(data) or _read(wire.decode(data, to.survey), to)


def _arrow(data: bytes, to: Published, most: int) -> Block:
    block = columns.decode(data, to, most)
    _check_count(len(block), most)
    return block


KINDS: dict[str, Callable[[bytes, Published, int], Block]] = {JSON: _json, LINES: _lines, ARROW: _arrow}


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise TooMany(f"a batch must have at most {most:,} reports, got {count:,}")
    if not count:
        raise ReportError("a batch must have at least one report, got none")


def _numbered(check: Callable[[Any], Read], parts: list[Any]) -> list[Read]:
    """Submissions, checked; an error says which one of the batch it is about."""
    found: list[Read] = []
    try:
        found.extend(map(check, parts))
    except ReportError as error:
        raise ReportError(f"report {len(found)}: {error}") from None
    return found


def _read(submission: wire.Submission, to: Published) -> Read:
    """What is kept of a submission. Its covariates are written in one way, under which their tallies are kept."""
    covariates = canonical.dumps(submission.covariates).decode()
    to.quick.learn(covariates)
    return bytes.fromhex(submission.id), submission.wave, covariates, to.layout.pack(submission.reports)


def _other_survey(data: bytes, to: Published) -> bool:
    """Whether the first report names another survey. Asked only about a body that is refused anyway."""
    try:
        document = wire.parse(data.split(b"\n", 1)[0])
    except SottovoceError:
        return False
    if isinstance(document, dict) and isinstance(document.get("reports"), list):
        document = next(iter(document["reports"]), None)
    named = document.get("survey") if isinstance(document, dict) else None
    return isinstance(named, str) and named != to.survey.digest
