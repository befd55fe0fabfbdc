"""Checks of single fields: each takes the name of a field and its value, and returns it or says what is wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TypeVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import check_epsilon

T = TypeVar("T")

Check = Callable[[str, object], T]
"""Takes the name of a field and its value, and returns the value in its type."""

SURVEY_ID = re.compile(r"[a-z0-9-]{1,64}")
FIELD_ID = re.compile(r"[a-z][a-z0-9_-]{0,63}")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
HIDDEN_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters other than tab and newline, and marks that make one text look like another."""

MAX_VALUES = 10_000
MAX_LABEL_CHARACTERS = 200


@contextmanager
def about(name: str) -> Iterator[None]:
    """Put a name in front of every error raised inside, so that it says what it is about."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None


def check_fields(data: object, required: Iterable[str], optional: Iterable[str]) -> Mapping[str, object]:
    """A mapping that has all required fields and none that is unknown."""
    data = mapping(data)
    known = [*required, *optional]
    for name in data:
        if name not in known:
            raise ParameterError(f"unknown field {name!r:.40} (known are {', '.join(known)})")
    for name in required:
        if name not in data:
            raise ParameterError(f"the field {name!r} is missing")
    return data


def mapping(data: object) -> Mapping[str, object]:
    if not isinstance(data, Mapping):
        raise ParameterError(f"must be a mapping of fields, got {data!r:.40}")
    return data


def text(most: int) -> Check[str]:
    """Visible text of at most this many characters."""

    def check(name: str, value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ParameterError(f"{name} must be text, got {value!r:.40}")
        if len(value) > most:
            raise ParameterError(f"{name} must have at most {most:,} characters, got {len(value):,}")
        if HIDDEN_CHARACTERS.search(value):
            raise ParameterError(f"{name} must have no control characters, got {value!r:.40}")
        return value

    return check


def matching(pattern: re.Pattern[str]) -> Check[str]:
    """Text of a fixed form."""

    def check(name: str, value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ParameterError(f"{name} must match {pattern.pattern}, got {value!r:.80}")
        return value

    return check


def one_of(*choices: str) -> Check[str]:
    def check(name: str, value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ParameterError(f"{name} must be one of {', '.join(choices)}, got {value!r:.40}")
        return value

    return check


def whole(least: int, most: int) -> Check[int]:
    def check(name: str, value: object) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ParameterError(f"{name} must be a whole number from {least:,} to {most:,}, got {value!r:.40}")
        return value

    return check


def number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{name} must be a number, got {value!r:.40}")
    return float(value)


def positive(name: str, value: object) -> float:
    checked = number(name, value)
    if checked <= 0:
        raise ParameterError(f"{name} must be positive, got {value!r:.40}")
    return checked


def epsilon(name: str, value: object) -> float:
    try:
        return check_epsilon(number(name, value))
    except ParameterError as error:
        raise ParameterError(str(error).replace("epsilon", name, 1)) from None


def labels(name: str, value: object) -> tuple[str | float, ...]:
    """A list of at least two different texts or numbers."""
    if not isinstance(value, list) or not 2 <= len(value) <= MAX_VALUES:
        raise ParameterError(f"{name} must be a list of 2 to {MAX_VALUES:,} values, got {value!r:.40}")
    for label in value:
        if isinstance(label, bool) or not isinstance(label, str | int | float):
            raise ParameterError(f"{name} must hold text or numbers (put true and false in quotes), got {label!r:.40}")
        if isinstance(label, str):
            text(MAX_LABEL_CHARACTERS)(f"each of {name}", label)
    twice = next((label for label, count in Counter(value).items() if count > 1), None)
    if twice is not None:
        raise ParameterError(f"{name} must differ from one another, got {twice!r:.40} twice")
    return tuple(value)


def texts(name: str, value: object) -> tuple[str, ...]:
    """A list of at least two different texts."""
    checked = []
    for label in labels(name, value):
        if not isinstance(label, str):
            raise ParameterError(f"{name} must hold text, got {label!r:.40}")
        checked.append(label)
    return tuple(checked)


def values(name: str, value: object) -> int | tuple[str | float, ...]:
    """The values of an answer: a list of them, or a number D that stands for 0 to D - 1."""
    if isinstance(value, int):
        return whole(2, 2**32)(name, value)
    return labels(name, value)


def time(name: str, value: object) -> datetime:
    """A time in UTC, to the second, by RFC 3339."""
    try:
        if isinstance(value, str) and TIME.fullmatch(value):
            return datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        pass
    raise ParameterError(f"{name} must be a time in UTC such as 2027-01-31T00:00:00Z, got {value!r:.40}")
