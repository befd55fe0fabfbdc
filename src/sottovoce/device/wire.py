"""The bytes that leave a device, and the only parser of such bytes.

A submission is one person's reports to the questions of one wave of a published survey, as canonical JSON:
{"covariates": {...}, "id": "32 hexadecimal digits", "reports": {question: report}, "survey": digest, "wave": 0}.
A report that is a number stands as a number (as text from 2^53 on), a report of bits as base64url without padding.
The id is random and new for each submission, so that a repeated one is counted once and no two can be linked.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Self

from sottovoce.core import canonical
from sottovoce.core.errors import ReportError, SottovoceError
from sottovoce.core.reports import Bits, Report

if TYPE_CHECKING:
    from sottovoce.mechanisms import Mechanism
    from sottovoce.survey import Survey

JSON = "application/json"
"""The content type of a submission."""

MAX_SUBMISSION_BYTES = 2**20
EXACT_BELOW = 2**53
"""Whole numbers below this are exact in JSON; larger ones are written as text."""

FIELDS = ("covariates", "id", "reports", "survey", "wave")
ID_PATTERN = re.compile(r"[0-9a-f]{32}")
LONG_NUMBER_PATTERN = re.compile(r"[1-9][0-9]{15,400}")


class Sendable(bytes):
    """What may leave a device: bytes that know what they are and where they go.

    >>> body = Sendable(b"{}")
    >>> body == b"{}", body.content_type, body.submission
    (True, 'application/json', b'{}')
    """

    content_type: str
    address: str | None
    """Where the survey says that reports go; None if they go to where the survey came from."""
    submission: bytes | None
    """What is inside, for the owner to look at; None if that is sealed and was not kept."""

    def __new__(
        cls, data: bytes, content_type: str = JSON, address: str | None = None, submission: bytes | None = None
    ) -> Self:
        made = super().__new__(cls, data)
        made.content_type, made.address = content_type, address
        made.submission = bytes(data) if content_type == JSON else submission
        return made


@dataclass(frozen=True)
class Submission:
    """What one device sends in one wave. `reports` has each question's report, or None where it has none to give."""

    id: str
    survey: str
    wave: int
    reports: Mapping[str, Report | None]
    covariates: Mapping[str, str]


def encode(submission: Submission) -> bytes:
    """The bytes of a submission: always the same for the same submission."""
    reports = {question: _written(report) for question, report in submission.reports.items()}
    return canonical.dumps(
        {
            "covariates": dict(submission.covariates),
            "id": submission.id,
            "reports": reports,
            "survey": submission.survey,
            "wave": submission.wave,
        }
    )


def decode(data: bytes, survey: Survey) -> Submission:
    """The submission in untrusted bytes. Whatever the survey does not allow is refused as a whole."""
    if not isinstance(data, bytes | bytearray):
        raise ReportError(f"a submission must be bytes, got {type(data).__name__}")
    if len(data) > MAX_SUBMISSION_BYTES:
        raise ReportError(f"a submission must have at most {MAX_SUBMISSION_BYTES:,} bytes, got {len(data):,}")
    return check(parse(data), survey)


def parse(data: bytes) -> object:
    """The JSON in untrusted bytes. Bytes that are just as `encode` writes them need no second parser."""
    try:
        document: object = _DECODER.decode(data.decode())
        if _ENCODER.encode(document).encode() == data:
            return document
    except (ValueError, RecursionError):
        pass
    try:
        return canonical.loads(data)
    except SottovoceError as error:
        raise ReportError(f"a submission must be JSON: {error}") from None


def _refuse_literal(literal: str) -> NoReturn:
    """Submissions have no fractions and no NaN: bytes that have one go to the stricter parser."""
    raise ValueError(literal)


_DECODER = json.JSONDecoder(parse_float=_refuse_literal, parse_constant=_refuse_literal)
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def check(document: object, survey: Survey) -> Submission:
    """The submission in JSON that is parsed already."""
    if not isinstance(document, dict) or set(document) != set(FIELDS):
        raise ReportError(f"a submission must have just the fields {', '.join(FIELDS)}")
    identity, wave = document["id"], document["wave"]
    if not isinstance(identity, str) or not ID_PATTERN.fullmatch(identity):
        raise ReportError(f"an id must be 32 hexadecimal digits, got {identity!r:.60}")
    if document["survey"] != survey.digest:
        raise ReportError(f"the submission is for survey {document['survey']!r:.80}, not for {survey.digest}")
    if type(wave) is not int or not 0 <= wave < survey.waves:
        raise ReportError(f"a wave must be from 0 to {survey.waves - 1}, got {wave!r:.40}")
    reports = _reports(document["reports"], survey)
    return Submission(identity, survey.digest, wave, reports, check_covariates(document["covariates"], survey))


def check_covariates(given: object, survey: Survey) -> dict[str, str]:
    """Public answers, each one of its listed values."""
    if not isinstance(given, Mapping) or set(given) != {covariate.id for covariate in survey.covariates}:
        names = ", ".join(covariate.id for covariate in survey.covariates) or "none"
        raise ReportError(f"the covariates must be just those of the survey: {names}")
    for covariate in survey.covariates:
        if type(given[covariate.id]) is not str or given[covariate.id] not in covariate.values:
            raise ReportError(f"{covariate.id}: must be one of its values, got {given[covariate.id]!r:.60}")
    return dict(given)


def _reports(given: object, survey: Survey) -> dict[str, Report | None]:
    if not isinstance(given, dict) or set(given) != {question.id for question in survey.questions}:
        raise ReportError("a submission must have a report for each question of the survey, and no other")
    return {question.id: _read(question.id, question.mechanism, given[question.id]) for question in survey.questions}


def _written(report: Report | None) -> str | int | None:
    if isinstance(report, bytes):
        return base64.urlsafe_b64encode(report).rstrip(b"=").decode("ascii")
    return str(report) if report is not None and report >= EXACT_BELOW else report


def _read(question: str, mechanism: Mechanism, written: object) -> Report | None:
    """A report as the mechanism takes it; it must be written the one way that `encode` writes it."""
    try:
        report = mechanism.shape.check(_parsed(written, mechanism))
    except ReportError as error:
        raise ReportError(f"{question}: {error}") from None
    if _written(report) != written or type(_written(report)) is not type(written):
        raise ReportError(f"{question}: a report must be written in its one form, got {written!r:.60}")
    return report


def _parsed(written: object, mechanism: Mechanism) -> object:
    if not isinstance(written, str):
        return written
    if not isinstance(mechanism.shape, Bits):
        if not LONG_NUMBER_PATTERN.fullmatch(written):
            raise ReportError(f"a report must be a whole number, got {written!r:.60}")
        return int(written)
    try:
        return base64.b64decode(written.encode("ascii") + b"=" * (-len(written) % 4), b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError, ValueError):
        raise ReportError(f"a report must be base64url, got {written!r:.60}") from None
