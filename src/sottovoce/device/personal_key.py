"""A personal key: 256 secret bits from which a person's draws follow, on any device and after lost storage.

A device with a key derives each draw by HMAC-SHA256 instead of asking the operating system. The same person, survey,
wave and answer then give the same report, wherever they are asked. Every survey has a key of its own, derived from the
personal one by the survey's digest: one coin under two mechanisms would reveal an answer.

>>> key = PersonalKey(bytes(range(32)))
>>> key.to_text()
'sottovoce-key:1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'
>>> source = key.for_survey("sha256:00").source("pills", wave=0, answer="no")
>>> source.draw() == key.for_survey("sha256:00").source("pills", wave=0, answer="no").draw()
True
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sottovoce.core import canonical, durable, private_files
from sottovoce.core.domain.values import is_missing
from sottovoce.core.errors import DomainError, FileError, ParameterError
from sottovoce.core.randomness import Source

KEY_BYTES = 32
REPORT_ID_BYTES = 16
TEXT_PREFIX = "sottovoce-key:1:"
SURVEY_LABEL = "sottovoce survey key 1"
DRAW_LABEL = "sottovoce draw 1"
MEMORY_LABEL = "sottovoce memory 1"
NAME_LABEL = "sottovoce key name 1"
NAME_BYTES = 8
ROLES = ("cohort", "permanent", "instantaneous", "fresh", "report")
ROLES_WITHOUT_WAVE = ("cohort", "permanent")
"""Drawn once for all waves."""


def field(value: int | str | None) -> bytes:
    """One field of what is hashed: the length of its UTF-8 in four bytes, then that. No two lists of fields agree."""
    text = ("" if value is None else str(value)).encode()
    return len(text).to_bytes(4, "big") + text


def answer_text(answer: object) -> str:
    """The one spelling of an answer for deriving draws: canonical JSON, and `null` for a missing answer.

    The members of a list or a set are written once each, sorted by the UTF-16 code units of their own texts.

    >>> answer_text("no"), answer_text(7.0), answer_text(["b", "a", "b"]), answer_text(None)
    ('"no"', '7', '["a","b"]', 'null')
    """
    try:
        if isinstance(answer, list | tuple | set | frozenset):
            members = {canonical.dumps(member).decode() for member in answer}
            return "[" + ",".join(sorted(members, key=lambda text: text.encode("utf-16-be"))) + "]"
        return canonical.dumps(None if is_missing(answer) else answer).decode()
    except ParameterError as error:
        raise DomainError(f"with a personal key an answer must have a form in JSON: {error}") from None


@dataclass(frozen=True)
class PersonalKey:
    """The secret of one person. Who has it and the reports can take the noise off."""

    data: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.data, bytes) or len(self.data) != KEY_BYTES:
            raise ParameterError(f"a personal key must have {KEY_BYTES} bytes")

    def __repr__(self) -> str:
        return "<PersonalKey>"

    @classmethod
    def generate(cls) -> Self:
        return cls(os.urandom(KEY_BYTES))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The key in a text such as `sottovoce-key:1:` and 43 characters of base64url."""
        if not text.startswith(TEXT_PREFIX):
            raise ParameterError(f"a personal key must begin with {TEXT_PREFIX}")
        return cls(_from_base64(text.removeprefix(TEXT_PREFIX)))

    def to_text(self) -> str:
        """The secret itself, for a file, a link or a QR code that only its owner sees."""
        return TEXT_PREFIX + _to_base64(self.data)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """The key in a file, which is closed to everybody but its owner."""
        private_files.close_to_others(path)
        try:
            text = Path(path).read_text("ascii").strip()
        except OSError as error:
            raise FileError(f"{path}: the personal key cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise FileError(f"{path}: holds no personal key") from None
        try:
            return cls.from_text(text)
        except ParameterError as error:
            raise FileError(f"{path}: {error}") from None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the key into a new file that only its owner may read. No file is ever overwritten."""
        try:
            durable.create(Path(path), f"{self.to_text()}\n".encode())
        except FileExistsError:
            raise FileError(f"{path}: exists already") from None
        except OSError as error:
            raise FileError(f"{path}: the personal key cannot be written: {error.strerror}") from None

    def for_survey(self, digest: str) -> SurveyKey:
        """The key for one survey. It tells nothing about the personal key or about other surveys' keys."""
        return SurveyKey(_mac(self.data, SURVEY_LABEL, digest), digest)


@dataclass(frozen=True)
class SurveyKey:
    """A person's key for one published survey: all that a page of that survey is given."""

    data: bytes
    digest: str

    def __repr__(self) -> str:
        return f"<SurveyKey of {self.digest}>"

    def to_text(self) -> str:
        """The secret itself, for the fragment `#key=...` of the address of the survey's page."""
        return _to_base64(self.data)

    def source(self, question: str, wave: int, answer: object) -> Source:
        """The draws of one question in one wave. Those for which nobody names a role are fresh ones."""
        return KeyedSource(self, question, wave, Counter(), "fresh", answer_text(answer))

    def report_id(self, wave: int) -> str:
        """The id of the submission: the same on every device, so that it is counted once."""
        return self.mac("", "report", None, wave, 0)[:REPORT_ID_BYTES].hex()

    @property
    def name(self) -> str:
        """A name by which a store knows the key again. The key does not follow from it."""
        return _mac(self.data, NAME_LABEL, self.digest)[:NAME_BYTES].hex()

    def hide(self, question: str) -> Callable[[str], str]:
        """What the keys of a memory are written as, so that the store does not show which values were held."""
        return lambda key: _mac(self.data, MEMORY_LABEL, self.digest, question, key).hex()

    def mac(self, question: str, role: str, code: int | str | None, wave: int | None, number: int) -> bytes:
        """The bytes from which a draw is taken."""
        if role in ROLES_WITHOUT_WAVE:
            wave = None
        return _mac(self.data, DRAW_LABEL, self.digest, question, role, code, wave, number)


class KeyedSource(Source):
    """Draws that follow from a survey key. Each role and code counts its draws from 0."""

    def __init__(
        self, key: SurveyKey, question: str, wave: int, drawn: Counter[tuple[str, str]], name: str, code: str
    ) -> None:
        self._key, self._question, self._wave = key, question, wave
        self._drawn, self._name, self._code = drawn, name, code

    def role(self, name: str, code: int | str | None = None) -> Source:
        if name not in ROLES:
            raise ParameterError(f"a role must be one of {', '.join(ROLES)}, got {name!r:.40}")
        text = "" if code is None else str(code)
        return KeyedSource(self._key, self._question, self._wave, self._drawn, name, text)

    def draw(self) -> int:
        number = self._drawn[self._name, self._code]
        self._drawn[self._name, self._code] += 1
        mac = self._key.mac(self._question, self._name, self._code, self._wave, number)
        return int.from_bytes(mac[:7], "little") >> 3


def _mac(key: bytes, *fields: int | str | None) -> bytes:
    return hmac.digest(key, b"".join(map(field, fields)), hashlib.sha256)


def _to_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_base64(text: str) -> bytes:
    """Bytes in base64url without padding, written in their one form."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data or _to_base64(data) != text:
        raise ParameterError(f"a personal key must be 43 characters of base64url after {TEXT_PREFIX}")
    return data
