"""Randomizers of any sort as one thing: answers in, reports out.

A source takes answers, one for each person, and gives so many reports of each, in order. A Python function, an object
with a `randomize` method, a program (`Command`) and a web service (`Endpoint`) are sources.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Protocol, TypeAlias

from sottovoce.core.errors import ParameterError, ReportError, SottovoceError
from sottovoce.core.privacy import to_float
from sottovoce.mechanisms import Mechanism
from sottovoce.statistics.auditing.process import MAX_LINE_BYTES, Process, read_report

PLACEHOLDER = "{}"
"""Where the answer goes in a command or an address."""


class ReportSource(Protocol):
    def reports(self, answers: Iterable[object], repeats: int) -> Iterator[object]:
        """So many reports of each answer, in order."""


class Randomizing(Protocol):
    """An object with a `randomize` method from an answer to a report, as every mechanism has."""

    def randomize(self, value: Any, /) -> object: ...


Randomizer: TypeAlias = "Callable[..., object] | Randomizing | Command | Endpoint"
"""What can be audited: a function from an answer to a report (or one that makes such functions), and others like it."""


def source_of(randomizer: Randomizer, fresh: bool) -> ReportSource:
    """A randomizer as a source. If it is to be fresh, the function given makes a new randomizer for each person."""
    if isinstance(randomizer, Command):
        return replace(randomizer, fresh=fresh or randomizer.fresh)
    if isinstance(randomizer, Endpoint):
        if fresh:
            raise ParameterError("fresh is for functions and commands: a service decides for itself who asks")
        return randomizer
    if not fresh:
        return Function(_function(randomizer))
    if not callable(randomizer) or isinstance(randomizer, Mechanism):
        raise ParameterError(f"fresh needs a function that makes a randomizer, got {randomizer!r:.60}")
    return Function(randomizer, fresh=True)


def _function(randomizer: object) -> Callable[..., object]:
    function: object = getattr(randomizer, "randomize", randomizer)
    if not callable(function):
        raise ParameterError(
            f"a randomizer must be a function, have a randomize method, or be a Command, got {randomizer!r:.60}"
        )
    return function


@dataclass(frozen=True)
class Function:
    """A Python function from an answer to a report, or one that makes such a function for each person."""

    function: Callable[..., object]
    fresh: bool = False

    def reports(self, answers: Iterable[object], repeats: int) -> Iterator[object]:
        for answer in answers:
            randomize = _function(self._call()) if self.fresh else self.function
            for _ in range(repeats):
                yield self._call(answer, using=randomize)

    def _call(self, *arguments: object, using: Callable[..., object] | None = None) -> object:
        try:
            return (using or self.function)(*arguments)
        except SottovoceError:
            raise
        except Exception as error:
            asked = f" on {arguments[0]!r:.40}" if arguments else ""
            raise ReportError(f"the randomizer failed{asked}: {type(error).__name__}: {error!s:.200}") from error


@dataclass(frozen=True)
class Command:
    """A program as a randomizer.

    It reads answers from standard input, a line each, and prints a line for each: its report, as JSON or as text. One
    process serves all; with `fresh`, each person has a process of their own, which sees the same answer so many times.
    If the command has `{}` in it, the answer is put there, and every single report is a run of its own.

    >>> list(Command(["sed", "s/yes/[1, 0]/"]).reports(["yes", "no"], repeats=2))
    [[1, 0], [1, 0], 'no', 'no']
    >>> list(Command("echo 7{}").reports([1, 2], repeats=1))
    [71, 72]
    """

    program: str | Sequence[str]
    timeout: float = 60.0
    fresh: bool = False

    def __post_init__(self) -> None:
        _check_timeout(self.timeout)
        if not isinstance(self.program, str | Sequence) or not self._words or not self._words[0]:
            raise ParameterError(f"a command must name a program, got {self.program!r:.60}")

    @property
    def _words(self) -> list[str]:
        from shlex import split

        if not isinstance(self.program, str):
            return list(map(str, self.program))
        try:
            return split(self.program)
        except ValueError as error:
            raise ParameterError(f"a command must be a line for a shell ({error}), got {self.program!r:.60}") from None

    @property
    def one_by_one(self) -> bool:
        """Whether every report needs a process of its own."""
        return any(PLACEHOLDER in word for word in self._words)

    def reports(self, answers: Iterable[object], repeats: int) -> Iterator[object]:
        lines = (_line(answer) for answer in answers)
        if self.one_by_one:
            for line in lines:
                for _ in range(repeats):
                    yield from self._run([word.replace(PLACEHOLDER, line) for word in self._words], ())
        elif self.fresh:
            for line in lines:
                yield from self._run(self._words, [line] * repeats)
        else:
            yield from self._run(self._words, (line for line in lines for _ in range(repeats)))

    def _run(self, words: list[str], lines: Iterable[str]) -> Iterator[object]:
        from tempfile import TemporaryFile

        with TemporaryFile() as errors:
            process = Process(words, lines, errors, self.timeout)
            try:
                yield from process.reports(count=None if lines else 1)
            finally:
                process.end()


@dataclass(frozen=True)
class Endpoint:
    """A web service as a randomizer.

    With `{}` in the address the answer is put there and fetched by GET; without it the answer is sent by POST, as
    text. The body of the response is the report, as JSON or as text. Requests go out one after the other.
    """

    url: str
    timeout: float = 10.0

    def __post_init__(self) -> None:
        _check_timeout(self.timeout)
        if not isinstance(self.url, str) or not self.url.startswith(("http://", "https://")):
            raise ParameterError(f"an address must begin with http:// or https://, got {self.url!r:.60}")

    def reports(self, answers: Iterable[object], repeats: int) -> Iterator[object]:
        for answer in answers:
            for _ in range(repeats):
                yield self._ask(str(answer))

    def _ask(self, answer: str) -> object:
        from http.client import HTTPException
        from urllib.parse import quote
        from urllib.request import Request, urlopen

        by_get = PLACEHOLDER in self.url
        body = None if by_get else answer.encode()
        request = Request(  # noqa: S310 (the scheme has been checked)
            self.url.replace(PLACEHOLDER, quote(answer, safe="")), body, {"Content-Type": "text/plain; charset=utf-8"}
        )
        try:
            with urlopen(request, timeout=self.timeout) as response:  # noqa: S310
                found: bytes = response.read(MAX_LINE_BYTES + 1)
        except (OSError, ValueError, HTTPException) as error:
            raise ReportError(f"{self.url}: {error!s:.200}") from None
        if len(found) > MAX_LINE_BYTES:
            raise ReportError(f"{self.url}: a report must have at most 2^22 bytes")
        return read_report(found)


def _line(answer: object) -> str:
    text = str(answer)
    if "\n" in text or "\0" in text:
        raise ParameterError(f"an answer for a command must be one line, got {text!r:.60}")
    return text


def _check_timeout(timeout: object) -> None:
    if isinstance(timeout, bool) or not isinstance(timeout, Real) or not 0 < to_float(timeout) < math.inf:
        raise ParameterError(f"timeout must be a positive number of seconds, got {timeout!r:.40}")
