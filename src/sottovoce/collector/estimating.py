"""Estimates beside the taking in of reports, which they must not hold up.

Those of many counts take long, and would keep the event loop waiting for its turn. So another process works them out,
with a lower priority, while this one takes reports in. The last answers are remembered, for as long as the counts that
they were made from stay the same.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from sottovoce.collector import results
from sottovoce.collector.records import Published, Unavailable
from sottovoce.errors import SottovoceError
from sottovoce.survey import Survey

if TYPE_CHECKING:
    from numpy.typing import NDArray

Vectors = Mapping[tuple[int, str], "NDArray[Any]"]
Answer = tuple[str, bytes]

FEW = 1024
"""Counts of a survey whose estimates take so little time that they are worked out on the spot."""

REMEMBERED = 32
"""Answers remembered."""

COMMAND = [sys.executable, "-c", "from sottovoce.collector.estimating import main; main()"]
ATTEMPTS = 2
NICE = 5
LENGTH = struct.Struct("<Q")


class Estimator:
    """Answers queries, one at a time."""

    def __init__(self, few: int = FEW) -> None:
        self.few = few
        self._worker: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._answers: OrderedDict[tuple[Any, ...], tuple[bytes, Answer]] = OrderedDict()

    def answer(self, to: Published, vectors: Vectors, query: results.Query, form: str) -> Answer:
        """What is asked for, from these counts."""
        key, mark = (to.survey.digest, query, form), _mark(vectors)
        with self._lock:
            known = self._answers.get(key)
            if known is None or known[0] != mark:
                known = mark, self._work(to, vectors, query, form)
                self._answers[key] = known
            self._answers.move_to_end(key)
            if len(self._answers) > REMEMBERED:
                self._answers.popitem(last=False)
        return known[1]

    def _work(self, to: Published, vectors: Vectors, query: results.Query, form: str) -> Answer:
        if to.layout.size <= self.few:
            return results.answer(to, vectors, query, form)
        for _ in range(ATTEMPTS):
            try:
                return self._ask((to.document, dict(vectors), query, form))
            except (OSError, EOFError):
                self._end()
        raise Unavailable("the estimates could not be worked out")

    def _ask(self, question: Any) -> Answer:
        if self._worker is None:
            self._worker = subprocess.Popen(  # noqa: S603
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        _send(self._worker.stdin, question)
        found = _receive(self._worker.stdout)
        if isinstance(found, SottovoceError):
            raise found
        return found  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the other process. What it was working on is left."""
        worker = self._worker
        if worker is not None:
            worker.kill()
            with self._lock:
                self._end()

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()


def _mark(vectors: Vectors) -> bytes:
    """Stands for the counts: the same for the same."""
    digest = hashlib.blake2b(digest_size=16)
    for key, vector in sorted(vectors.items(), key=lambda entry: entry[0]):
        digest.update(repr(key).encode() + vector.tobytes())
    return digest.digest()


def _send(stream: Any, value: Any) -> None:
    data = pickle.dumps(value)
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def _receive(stream: Any) -> Any:
    """What was sent by the other of the two processes, which trust each other."""
    (size,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return pickle.loads(_exactly(stream, size))  # noqa: S301


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def main() -> None:
    """Answer what is asked on the standard input, until it ends."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    if hasattr(os, "nice"):
        os.nice(NICE)
    while True:
        try:
            document, vectors, query, form = _receive(stdin)
        except EOFError:
            return
        try:
            to = Published(0, Survey.loads(document), document)
            _send(stdout, results.answer(to, vectors, query, form))
        except SottovoceError as error:
            _send(stdout, error)
