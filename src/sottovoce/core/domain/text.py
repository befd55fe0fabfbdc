"""Answers that are text: any string of up to so many bytes, with no list of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.columns import Column, to_list
from sottovoce.core.domain.values import POLICIES, is_missing
from sottovoce.core.errors import DomainError, ParameterError

MAX_BYTES = 2**12
LONGER = ("refuse", "cut")
FORMS = ("none", "NFC")
WIDE, WIDE_BYTES = "\U00010000", 4
"""Behind this character all others are as wide in memory, and are encoded one by one."""
INNER_BYTES = tuple(int(byte >> 6 == 0b10) for byte in range(256))
"""Of each byte in UTF-8, whether it stands behind the first of its character."""
CHARACTERS = (128, 1920, 61440, 1048576)
"""How many characters take one, two, three and four bytes."""

END_MARK = b"\xff"
"""Follows a text where its end must be told. No text in UTF-8 has this byte."""


@dataclass(frozen=True)
class Text:
    """All texts of 1 to `max_bytes` bytes in UTF-8. The code of an answer is its bytes.

    Every policy is explicit and travels with the domain. A longer text is refused, or cut after the last character that
    fits. A missing answer, which the empty text is too, is refused or is a category of its own (None, whose code is
    empty). Spellings that look alike ("é" as one character or as two) are different texts, unless `normalise` is "NFC".

    >>> Text(max_bytes=6).encode("crème").hex(" ")
    '63 72 c3 a8 6d 65'
    >>> Text(max_bytes=5, longer="cut").encode("crème").decode()
    'crèm'
    >>> Text(max_bytes=5).encode("crème")
    Traceback (most recent call last):
    sottovoce.core.errors.DomainError: an answer must take at most 5 bytes in UTF-8 (the policy is 'refuse'), got 6
    """

    max_bytes: int = 64
    missing: str = "refuse"
    longer: str = "refuse"
    normalise: str = "none"

    def __post_init__(self) -> None:
        for name, allowed in (("missing", POLICIES), ("longer", LONGER), ("normalise", FORMS)):
            if getattr(self, name) not in allowed:
                raise ParameterError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r:.40}")
        least = 4 if self.longer == "cut" else 1  # A cut must leave at least one character.
        if type(self.max_bytes) is not int or not least <= self.max_bytes <= MAX_BYTES:
            raise ParameterError(
                f"max_bytes must be a whole number from {least} to {MAX_BYTES:,}, got {self.max_bytes!r:.40}"
            )

    @cached_property
    def size(self) -> int:
        """How many texts there are, in all spellings: a large number, but a number."""
        counts = [1]
        for length in range(1, self.max_bytes + 1):
            widths = enumerate(CHARACTERS[:length], 1)
            counts.append(sum(many * counts[length - width] for width, many in widths))
        return sum(counts[1:]) + (self.missing == "category")

    @cached_property
    def labels(self) -> list[str | None]:
        """Every text, shorter ones first. Only texts of one or two bytes can be listed."""
        if self.max_bytes > 2:
            raise ParameterError(f"texts can be listed up to 2 bytes, not up to {self.max_bytes}: name those you mean")
        one, two = [chr(point) for point in range(0x80)], [chr(point) for point in range(0x80, 0x800)]
        pairs = [*two, *(a + b for a in one for b in one)] if self.max_bytes == 2 else []
        return [*one, *pairs, *([None] if self.missing == "category" else [])]

    def encode(self, value: object) -> bytes:
        """The bytes of one answer; of a missing one, where that is allowed, none."""
        text = (value, "")[value is None]  # A missing one goes the same way: time does not tell.
        if not isinstance(text, str):
            text = self._missing(value)
        if (not text) & (self.missing == "refuse"):
            raise DomainError(f"an answer must not be missing (the policy is 'refuse'), got {value!r}")
        filler = self._filler[len(text) :]
        try:
            data = self._form(text + filler + WIDE).encode()
        except UnicodeEncodeError:
            raise DomainError(f"an answer must be valid Unicode without lone surrogates, got {value!a:.40}") from None
        own = len(data) - len(filler) - WIDE_BYTES
        if (own > self.max_bytes) & (self.longer == "refuse"):
            limit = f"{self.max_bytes} bytes in UTF-8 (the policy is 'refuse')"
            raise DomainError(f"an answer must take at most {limit}, got {own:,}")
        return data[: min(own, self._cut(data))]

    def _missing(self, value: object) -> str:
        if not is_missing(value):
            raise DomainError(f"an answer must be text, got {value!r:.40}")
        return ""

    @cached_property
    def _filler(self) -> str:
        """What is put behind a text, so that all have as many characters."""
        return " " * self.max_bytes

    def _cut(self, data: bytes) -> int:
        """Where the last character ends that fits: a byte in the middle of a character is not where one begins."""
        first, second, third = (INNER_BYTES[data[self.max_bytes - at]] for at in range(3))
        return self.max_bytes - first - (first & second) - (first & second & third)

    def _form(self, value: str) -> str:
        return unicodedata.normalize("NFC", value) if self.normalise == "NFC" else value

    def encode_many(self, values: Column, first_row: int = 1) -> list[bytes]:
        """The bytes of a column: a list, a NumPy array, a pandas or Polars series, an Arrow array."""
        rows = to_list(values)
        if set(map(type, rows)) <= {str}:  # A column of nothing but sound texts needs no second look.
            try:
                codes = [row.encode() for row in (map(self._form, rows) if self.normalise == "NFC" else rows)]
            except UnicodeEncodeError:
                codes = [b""]
            if all(codes) and max(map(len, codes), default=0) <= self.max_bytes:
                return codes
        return self._encode_each(rows, first_row)

    def _encode_each(self, rows: list[object], first_row: int) -> list[bytes]:
        codes = []
        for row, value in enumerate(rows, first_row):
            try:
                codes.append(self.encode(value))
            except DomainError as error:
                raise DomainError(f"row {row}: {error}") from None
        return codes

    def to_dict(self) -> JsonObject:
        """The form that travels in JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: object) -> Text:
        names = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping) or set(data) != names:
            raise ParameterError(f"a domain of text must have the fields {', '.join(sorted(names))}, got {data!r:.80}")
        return cls(**data)
