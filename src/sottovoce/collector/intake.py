"""From the bytes of a request to a block of checked reports, or one line that says what is wrong with them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from sottovoce.collector import columns
from sottovoce.collector.canonical_parser import ReportRow
from sottovoce.collector.records import Block, StoredSurvey
from sottovoce.core import canonical
from sottovoce.core.errors import ReportError, SottovoceError
from sottovoce.device import wire

JSON = "application/json"
LINES = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"

BATCH_START = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*"reports"[ \t\r\n]*:[ \t\r\n]*\[[ \t\r\n]*')
BATCH_START_TEXT = re.compile(BATCH_START.pattern.decode())
SPACE = re.compile(r"[ \t\r\n]*")
BATCH_END = re.compile(r"[ \t\r\n]*\}[ \t\r\n]*")
JSON_SCANNER = json.JSONDecoder()

MAX_BRACKETS = 4096
"""Brackets in one submission. It needs three, and those in the values of its covariates."""


class Mismatch(ReportError):  # noqa: N818
    """A report for another survey, or another version of it."""


class TooMany(ReportError):  # noqa: N818
    """More reports than one request may have."""


def read(data: bytes, kind: str, to: StoredSurvey, most: int) -> Block:
    """The reports in the body of a request, of one of `KINDS`."""
    try:
        return KINDS[kind](data, to, most)
    except TooMany:
        raise
    except ReportError as error:
        if kind != ARROW and _other_survey(data, kind, to):
            raise Mismatch(str(error)) from None
        raise


def _json(data: bytes, to: StoredSurvey, most: int) -> Block:
    """One submission, or {"reports": [...]} with many."""
    if not BATCH_START.match(data):
        return Block(to, (one(data, to),))
    found: list[ReportRow] = []
    try:
        for part in _elements(data):
            found.append(one(part, to))
            if len(found) > most:
                raise TooMany(f"a batch must have at most {most:,} reports")
    except TooMany:
        raise
    except ReportError as error:
        raise ReportError(f"report {len(found)}: {error}") from None
    _check_count(len(found), most)
    return Block(to, found)


def _elements(data: bytes) -> Iterator[bytes]:
    """The bytes of each element of {"reports": [...]}, one after the other: the first bad one is the last one read."""
    try:
        text = data.decode()
        at = BATCH_START_TEXT.match(text).end()  # type: ignore[union-attr]
        if text[at : at + 1] == "]":
            at += 1
        else:
            mark = ","
            while mark == ",":
                end = JSON_SCANNER.raw_decode(text, at)[1]
                yield text[at:end].encode()
                at = SPACE.match(text, end).end()  # type: ignore[union-attr]
                mark, at = text[at : at + 1], SPACE.match(text, at + 1).end()  # type: ignore[union-attr]
            if mark != "]":
                raise ReportError("must be followed by another or by the end of the list")
    except (ValueError, RecursionError) as error:
        if isinstance(error, SottovoceError):
            raise
        raise ReportError("must be JSON") from None
    if not BATCH_END.fullmatch(text, at):
        raise ReportError("a batch must have just the field reports")


def _lines(data: bytes, to: StoredSurvey, most: int) -> Block:
    """A submission on each line."""
    whole = data.removesuffix(b"\n")
    _check_count(whole.count(b"\n") + 1, most)  # Before they are cut apart: four million empty lines take 160 MB.
    lines = whole.split(b"\n")
    return Block(to, _numbered(lambda line: one(line, to), lines))


def one(data: bytes, to: StoredSurvey) -> ReportRow:
    """One submission."""
    return to.parser.read(data) or _read(wire.decode(_flat(data), to.survey), to)


def _flat(data: bytes) -> bytes:
    """Refuse, before it is parsed, what is full of small values: they take far more memory than their bytes."""
    if data.count(b"[") + data.count(b"{") > MAX_BRACKETS:
        raise ReportError("a submission must have no lists, and no objects but its reports and covariates")
    return data


def _arrow(data: bytes, to: StoredSurvey, most: int) -> Block:
    block = columns.decode(data, to, most)
    _check_count(len(block), most)
    return block


KINDS: dict[str, Callable[[bytes, StoredSurvey, int], Block]] = {JSON: _json, LINES: _lines, ARROW: _arrow}


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise TooMany(f"a batch must have at most {most:,} reports, got {count:,}")
    if not count:
        raise ReportError("a batch must have at least one report, got none")


def _numbered(check: Callable[[bytes], ReportRow], parts: list[bytes]) -> list[ReportRow]:
    """Submissions, checked; an error says which one of the batch it is about."""
    found: list[ReportRow] = []
    try:
        found.extend(map(check, parts))
    except ReportError as error:
        raise ReportError(f"report {len(found)}: {error}") from None
    return found


def _read(submission: wire.Submission, to: StoredSurvey) -> ReportRow:
    """What is kept of a submission. Its covariates are written in one way, under which their tallies are kept."""
    covariates = canonical.dumps(submission.covariates).decode()
    to.parser.learn(covariates)
    return bytes.fromhex(submission.id), submission.wave, covariates, to.layout.pack(submission.reports)


def _other_survey(data: bytes, kind: str, to: StoredSurvey) -> bool:
    """Whether the first report names another survey. Asked only about a body that is refused anyway."""
    try:
        many = kind == JSON and BATCH_START.match(data)
        first = next(_elements(data), b"") if many else data.split(b"\n", 1)[0] if kind == LINES else data
        document = wire.parse(_flat(first))
    except SottovoceError:
        return False
    named = document.get("survey") if isinstance(document, dict) else None
    return isinstance(named, str) and named != to.survey.digest
