"""Estimates in a process of their own, so that they do not hold up the taking in of reports.

Estimates from many counts take long, and would keep the event loop waiting for its turn. So a worker process makes
them, with a lower priority. It can be killed at any time: the next estimate starts another one. The last bodies are
remembered for as long as the counts that they were made from stay the same.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from sottovoce.collector import results
from sottovoce.collector.records import StoredSurvey
from sottovoce.core.errors import SottovoceError, StoreUnavailable
from sottovoce.survey import Survey

if TYPE_CHECKING:
    from sottovoce.collector.tallies import Vectors

EstimateBody = tuple[str, bytes]
"""The content type and the bytes of estimates."""

Task = tuple[bytes, "Vectors", results.EstimateQuery, str]
"""The document of a survey, its counts, what is asked for, and in which form."""

INLINE_MAX_COUNTS = 1024
"""Estimates of a survey with no more counts than this take so little time that they need no worker."""

REMEMBERED_BODIES = 32
ATTEMPTS = 2
NICENESS = 5
"""How much lower than the server's the priority of the worker is."""

CLOSE_SECONDS = 0.05
"""While the server ends, a busy worker is killed again after this time: a new one may just have been started."""

CUT_OFF = (OSError, EOFError, pickle.UnpicklingError)
"""What reading or writing raises if the process at the other end was killed."""

COMMAND = [sys.executable, "-c", "from sottovoce.collector.estimate_worker import main; main()"]


class Estimator:
    """Makes estimates, one query at a time."""

    def __init__(self, inline_max_counts: int = INLINE_MAX_COUNTS) -> None:
        self.inline_max_counts = inline_max_counts
        self._worker: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._bodies: OrderedDict[tuple[str, results.EstimateQuery, str], tuple[bytes, EstimateBody]] = OrderedDict()

    def body(self, to: StoredSurvey, vectors: Vectors, query: results.EstimateQuery, form: str) -> EstimateBody:
        """What a query asks for, from these counts, in a form such as JSON."""
        key, digest = (to.survey.digest, query, form), _digest(vectors)
        with self._lock:
            known = self._bodies.get(key)
            if known is None or known[0] != digest:
                known = digest, self._estimate(to, vectors, query, form)
                self._bodies[key] = known
            self._bodies.move_to_end(key)
            if len(self._bodies) > REMEMBERED_BODIES:
                self._bodies.popitem(last=False)
        return known[1]

    def _estimate(self, to: StoredSurvey, vectors: Vectors, query: results.EstimateQuery, form: str) -> EstimateBody:
        if to.layout.size <= self.inline_max_counts:
            return results.body(to, vectors, query, form)
        for _ in range(ATTEMPTS):
            if self._closed:
                break
            try:
                return self._ask((to.document, dict(vectors), query, form))
            except CUT_OFF:
                self._end()
        raise StoreUnavailable("the estimates could not be worked out")

    def _ask(self, task: Task) -> EstimateBody:
        if self._worker is None:
            self._worker = subprocess.Popen(  # noqa: S603
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        _send(self._worker.stdin, task)
        found: EstimateBody | SottovoceError = _receive(self._worker.stdout)
        if isinstance(found, SottovoceError):
            raise found
        return found

    def close(self) -> None:
        """Kill the worker, whatever it is working on."""
        self._closed = True
        while not self._lock.acquire(timeout=CLOSE_SECONDS):  # An estimate is being made.
            if self._worker is not None:
                self._worker.kill()
        self._end()
        self._lock.release()

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()


def _digest(vectors: Vectors) -> bytes:
    """A digest of the counts, by which it is seen whether they have changed."""
    digest = hashlib.blake2b(digest_size=16)
    for key, vector in sorted(vectors.items(), key=lambda entry: entry[0]):
        digest.update(repr(key).encode() + vector.tobytes())
    return digest.digest()


def _send(stream: Any, value: object) -> None:
    pickle.dump(value, stream)
    stream.flush()


def _receive(stream: Any) -> Any:
    """What the other process sent. The two trust each other: nobody else can write to these pipes."""
    return pickle.load(stream)  # noqa: S301


def main() -> None:
    """The worker: reads queries from the standard input until it ends, and writes bodies to the standard output."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    while True:
        try:
            document, vectors, query, form = _receive(stdin)
        except CUT_OFF:
            return
        try:
            to = StoredSurvey(0, Survey.loads(document), document)
            _send(stdout, results.body(to, vectors, query, form))
        except SottovoceError as error:
            _send(stdout, error)
