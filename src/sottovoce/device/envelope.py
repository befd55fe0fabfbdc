"""Reports in two envelopes: the inner one for the analyst, the outer one for the shuffler.

A device seals its submission to the analyst's key, padded so that all of a survey are equally long, and seals that
again to the shuffler's key. The shuffler opens the outer envelope alone: it sees the wave, and bytes that it cannot
read. What it passes on are batches: the inner envelopes in random order, with a code that only it could have made.

Nothing here is loaded from outside the standard library until something is sealed or opened.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core import canonical
from sottovoce.core.errors import FileError, ParameterError, Refusal, ReportError, SealError
from sottovoce.core.reports import Bits
from sottovoce.core.sealing import SEALING_BYTES, PrivateKey, PublicKey
from sottovoce.device.wire import EXACT_BELOW, Sendable

if TYPE_CHECKING:
    from sottovoce.mechanisms import Mechanism
    from sottovoce.survey import Survey
    from sottovoce.survey.shuffle_settings import ShuffleSettings

SEALED = "application/octet-stream"
"""The content type of envelopes and batches."""

WAVE_BYTES = 4
"""Bytes of the number of a wave."""

BATCH_ID_BYTES = 16
"""Bytes of the random id of a batch."""

HEAD_BYTES = BATCH_ID_BYTES + WAVE_BYTES
"""Bytes of a batch before its reports."""

CODE_BYTES = 32
"""Bytes of the code (HMAC-SHA-256) by which an analyst knows that the shuffler made a batch."""

BATCH_HEADER = "sottovoce-batch"
"""The header by which a collector knows the shuffler."""

MAX_BATCH_BYTES = 2**28
"""Bytes of the largest batch that is sent and taken."""


def route(survey: Survey) -> ShuffleSettings:
    """How reports to a survey are mixed; an error if they are not."""
    if survey.shuffle is None:
        raise ParameterError(f"survey {survey.id!r} has no shuffler: its reports are sent as they are")
    return survey.shuffle


# Sizes.


def length(survey: Survey) -> int:
    """Bytes of the longest submission to a survey, to which all are padded."""
    reports = {question.id: "x" * (_longest(question.mechanism) - 2) for question in survey.questions}
    document = {"covariates": {}, "id": "0" * 32, "reports": reports, "survey": survey.digest, "wave": survey.waves - 1}
    return len(canonical.dumps(document))


def _longest(mechanism: Mechanism) -> int:
    """Characters of the longest report in JSON: bits in base64url, a number in digits, null."""
    if isinstance(mechanism.shape, Bits):
        return max(4, (8 * mechanism.shape.width + 5) // 6 + 2)
    most = 2**mechanism.bits
    return max(4, len(str(most - 1)) + (2 if most > EXACT_BELOW else 0))


def inner_size(survey: Survey) -> int:
    """Bytes of an inner envelope."""
    return length(survey) + SEALING_BYTES


def most_reports(survey: Survey) -> int:
    """How many reports the largest batch holds; an error if that is less than the survey's minimum."""
    most = (MAX_BATCH_BYTES - HEAD_BYTES - CODE_BYTES) // inner_size(survey)
    if most < route(survey).minimum:
        raise ParameterError(
            f"a batch of reports of {inner_size(survey):,} bytes has at most {most:,} of them, less than the "
            f"minimum of {route(survey).minimum:,}"
        )
    return most


def outer_size(survey: Survey) -> int:
    """Bytes of what a device sends."""
    return WAVE_BYTES + inner_size(survey) + SEALING_BYTES


# What a device does.


def refuse_unless_sealing_works(survey: Survey) -> None:
    """Refuse a survey whose reports this device cannot seal, before anything is drawn for it."""
    try:
        from cryptography.hazmat.primitives import hpke  # noqa: F401
    except ImportError:
        raise Refusal(
            f"survey {survey.id} has a shuffler: its reports must be sealed, which needs the library cryptography "
            "(pip install 'sottovoce[sealing]')"
        ) from None


def sendable(survey: Survey, body: bytes, submission: bytes | None = None) -> Sendable:
    """What was made for a survey, as the thing to send: an envelope for its shuffler, or a submission as it is."""
    if survey.shuffle is None:
        return Sendable(body)
    return Sendable(body, SEALED, survey.shuffle.address, submission)


def to_line(sealed: bytes) -> str:
    """An envelope as a line of a file."""
    return base64.b64encode(sealed).decode("ascii")


def from_line(survey: Survey, line: bytes) -> bytes:
    """The envelope in a line of a file. A submission that nobody sealed is refused."""
    if line.startswith(b"{"):
        raise FileError("is not sealed: a device seals what it answers to a survey with a shuffler")
    try:
        sealed = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        raise FileError("an envelope must be in base64") from None
    if len(sealed) != outer_size(survey):
        raise FileError(f"an envelope must have {outer_size(survey):,} bytes, got {len(sealed):,}")
    return sealed


def seal(survey: Survey, body: bytes) -> bytes:
    """The two envelopes around a submission. Keep the bytes: sent again, they are counted once."""
    from sottovoce.device import wire

    to, wave = route(survey), wire.decode(body, survey).wave
    inner = PublicKey.from_text(to.analyst).seal(body.ljust(length(survey)), info=_inner(survey, wave))
    return PublicKey.from_text(to.shuffler).seal(_wave(wave) + inner, info=_outer(survey))


# What the shuffler and the analyst do.


def take_off(survey: Survey, key: PrivateKey, sealed: bytes) -> tuple[int, bytes]:
    """The wave and the inner envelope in what a device sent."""
    if len(sealed) != outer_size(survey):
        raise ReportError(f"an envelope must have {outer_size(survey):,} bytes, got {len(sealed):,}")
    try:
        opened = key.open(sealed, info=_outer(survey))
    except SealError:
        raise ReportError("an envelope must be sealed to the shuffler, for this survey") from None
    wave = int.from_bytes(opened[:WAVE_BYTES], "big")
    if wave >= survey.waves:
        raise ReportError(f"a wave must be from 0 to {survey.waves - 1}, got {wave}")
    return wave, opened[WAVE_BYTES:]


def unseal(survey: Survey, key: PrivateKey, wave: int, inner: bytes) -> bytes:
    """The submission in an inner envelope."""
    return key.open(inner, info=_inner(survey, wave)).rstrip(b" ")


def _inner(survey: Survey, wave: int) -> bytes:
    return f"sottovoce report {survey.digest} {wave}".encode()


def _outer(survey: Survey) -> bytes:
    return f"sottovoce envelope {survey.digest}".encode()


def _wave(wave: int) -> bytes:
    return wave.to_bytes(WAVE_BYTES, "big")


@dataclass(frozen=True)
class ShuffledBatch:
    """Reports of one wave in random order, under a random id: all that the analyst gets."""

    id: bytes
    wave: int
    reports: Sequence[bytes]

    def to_bytes(self, survey: Survey, key: PrivateKey) -> bytes:
        """The batch with the code that the shuffler's key and the analyst's make."""
        data = self.id + _wave(self.wave) + b"".join(self.reports)
        return data + _code(survey, key, route(survey).analyst, data)

    @classmethod
    def read(cls, data: bytes, survey: Survey, key: PrivateKey) -> ShuffledBatch:
        """The batch in untrusted bytes. One that the shuffler did not make is refused."""
        reader = BatchReader(survey, key, len(data))
        reports = reader.feed(data)
        reader.finish()
        return cls(reader.id, reader.wave, reports)


class BatchReader:
    """A batch in untrusted bytes, read as they come. What it holds may be used after `finish` found the code right."""

    def __init__(self, survey: Survey, key: PrivateKey, length: int) -> None:
        self._size, self._rest = inner_size(survey), bytearray()
        self.count, odd = divmod(length - HEAD_BYTES - CODE_BYTES, self._size)
        if self.count < 1 or odd:
            raise ReportError(f"a batch must be a head and reports of {self._size:,} bytes, got {length:,} bytes")
        self._code = hmac.new(_secret(survey, key, route(survey).shuffler, "batch"), digestmod=hashlib.sha256)
        self._left = length - CODE_BYTES
        self.id, self.wave = b"", -1

    def feed(self, data: bytes) -> list[bytes]:
        """The reports that are complete with these bytes."""
        content = data[: self._left]
        self._left -= len(content)
        self._code.update(content)
        self._rest += data
        if self.wave < 0:
            if len(self._rest) < HEAD_BYTES:
                return []
            self.id = bytes(self._rest[:BATCH_ID_BYTES])
            self.wave = int.from_bytes(self._rest[BATCH_ID_BYTES:HEAD_BYTES], "big")
            del self._rest[:HEAD_BYTES]
        end = (len(self._rest) - max(0, len(data) - len(content))) // self._size * self._size
        found = [bytes(self._rest[at : at + self._size]) for at in range(0, end, self._size)]
        del self._rest[:end]
        return found

    def finish(self) -> None:
        """Refuse a batch that the shuffler did not make, or that is not whole."""
        if self._left or not hmac.compare_digest(bytes(self._rest), self._code.digest()):
            raise ReportError("a batch must come whole from the shuffler that the survey names")


def batch_pass(survey: Survey, key: PrivateKey, length: int) -> str:
    """The header by which a collector knows the shuffler, before it reads a batch of `length` bytes."""
    return _pass(survey, key, route(survey).analyst, length)


def check_pass(survey: Survey, key: PrivateKey, given: str, length: int) -> None:
    """Refuse a batch of `length` bytes that the shuffler did not announce."""
    if not hmac.compare_digest(given.encode(), _pass(survey, key, route(survey).shuffler, length).encode()):
        raise ReportError("a batch must be announced by the shuffler that the survey names")


def _pass(survey: Survey, key: PrivateKey, other: str, length: int) -> str:
    secret = _secret(survey, key, other, "batch head")
    return hmac.digest(secret, str(length).encode(), hashlib.sha256).hex()


def _code(survey: Survey, key: PrivateKey, other: str, data: bytes) -> bytes:
    return hmac.digest(_secret(survey, key, other, "batch"), data, hashlib.sha256)


def _secret(survey: Survey, key: PrivateKey, other: str, purpose: str) -> bytes:
    """A key for HMAC that follows from one private key and the other's public one: the two alone have it."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    try:
        theirs = X25519PublicKey.from_public_bytes(PublicKey.from_text(other).data)
        shared = X25519PrivateKey.from_private_bytes(key.data).exchange(theirs)
    except ValueError:
        raise SealError("the public key is not a point that a secret can be shared with") from None
    return hmac.digest(shared, f"sottovoce {purpose} {survey.digest}".encode(), hashlib.sha256)
