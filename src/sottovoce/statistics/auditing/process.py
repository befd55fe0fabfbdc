"""A program that is fed answers and prints reports, on time or not at all."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.estimates.render import plural

if TYPE_CHECKING:
    from subprocess import Popen

MAX_LINE_BYTES = 2**22
"""Bytes that one report may take."""

LOOK_SECONDS = 0.25
"""Seconds between two looks at whether a program is still on time."""


class Process:
    """A running program: answers are fed to it while its reports are read, and it is ended if it keeps us waiting."""

    def __init__(self, words: list[str], lines: Iterable[str], errors: IO[bytes], timeout: float) -> None:
        import subprocess

        self._program, self._errors, self._timeout = words[0], errors, timeout
        self._fed, self._late, self._over = 0, False, threading.Event()
        self._since: float | None = None
        self._problem: ValueError | None = None
        try:
            self._process: Popen[bytes] = subprocess.Popen(  # noqa: S603 (the command is the user's own)
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise ParameterError(f"{self._program}: cannot be run: {error!s:.200}") from None
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("a process with pipes has them")
        self._input, self._output = self._process.stdin, self._process.stdout
        self._threads = [threading.Thread(target=self._feed, args=(lines,), daemon=True)]
        self._threads.append(threading.Thread(target=self._watch, daemon=True))
        for thread in self._threads:
            thread.start()

    def _feed(self, lines: Iterable[str]) -> None:
        with suppress(OSError), self._input as pipe:  # If it goes away, its reports will show.
            try:
                for line in lines:
                    pipe.write(line.encode(errors="surrogateescape") + b"\n")
                    self._fed += 1
            except ValueError as error:
                self._problem = error

    def _watch(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            since = self._since
            if since is not None and time.monotonic() - since > self._timeout:
                self._late = True
                self._kill()

    def reports(self, count: int | None) -> Iterator[object]:
        """A report from each line that is printed, and an error if there are not as many as there were answers."""
        got = 0
        while line := self._read():
            got += 1
            if count is not None and got > count:
                raise ReportError(f"{self._program}: printed more than one line for an answer")
            yield read_report(line)
        self._since = time.monotonic()
        status = self._process.wait()  # The watch ends it, should it go on without a word.
        if self._late:
            raise ReportError(f"{self._program}: printed nothing for {self._timeout:g} seconds")
        self._threads[0].join(self._timeout)
        if self._problem:
            raise self._problem
        expected = self._fed if count is None else count
        if status or got < expected:
            given = f"{plural(got, 'report')} for {plural(expected, 'answer')}"
            raise ReportError(f"{self._program}: gave {given}{self._reason(status)}")

    def _read(self) -> bytes:
        self._since = time.monotonic()
        line = self._output.readline(MAX_LINE_BYTES + 1)
        self._since = None
        if len(line) > MAX_LINE_BYTES:
            raise ReportError(f"{self._program}: a report must be a line of at most 2^22 bytes")
        return line

    def _reason(self, status: int) -> str:
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 4096))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        said = f": {lines[-1]:.200}" if lines else ""
        return f" (exit status {status}{said})" if status else said

    def end(self) -> None:
        self._over.set()
        if self._process.returncode is None:
            self._kill()
        self._output.close()
        self._process.wait()
        for thread in self._threads:
            thread.join(1)

    def _kill(self) -> None:
        """End it and all that it started, where there are groups of processes."""
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()


def read_report(line: bytes) -> object:
    r"""JSON where it is JSON, otherwise text.

    >>> read_report(b"[1, 0]\n"), read_report(b"maybe\n")
    ([1, 0], 'maybe')
    """
    text = line.decode(errors="surrogateescape").strip("\r\n")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
