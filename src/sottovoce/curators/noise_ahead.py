"""Noise that is drawn before it is asked for.

How long a draw of noise takes tells how large the noise is. So it is drawn aside when a task is agreed on, and no
answer waits for it: an answer that needs it is given after a time that was fixed before the draw began.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sottovoce.core.randomness import Keystream
from sottovoce.curators.task import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DELAY_SECONDS = 0.005
"""A draw begins after this time, when the answer to the agreement is on its way."""

DRAW_SECONDS = 0.05
DRAW_SECONDS_PER_COUNT = 5e-6
"""The time that a draw is given, in all and for each count: many times as long as it takes."""

MAX_TASKS = 64
"""Noise is kept for this many tasks. That of the oldest is forgotten, and drawn anew should it be needed."""


@dataclass(frozen=True)
class _Draw:
    thread: threading.Thread
    ready: float
    noise: list[NDArray[np.int64]] = field(default_factory=list)


class NoiseAhead:
    """The noise of the tasks that were agreed on and not yet carried out. It is in memory alone, and used once."""

    def __init__(self, stream: Keystream | None = None) -> None:
        self._stream, self._draws, self._lock = stream, OrderedDict[str, _Draw](), threading.Lock()

    def prepare(self, task: Task) -> None:
        """Begin to draw the noise of a task, unless that was done. This returns at once."""
        with self._lock:
            if task.digest not in self._draws:
                self._draws[task.digest] = self._begin(task)
            while len(self._draws) > MAX_TASKS:
                self._draws.popitem(last=False)

    def take(self, task: Task) -> NDArray[np.int64]:
        """The noise of a task, once it has had its time. After a restart it is drawn now, in as long a time."""
        self.prepare(task)
        with self._lock:
            draw = self._draws.pop(task.digest)
        time.sleep(max(0.0, draw.ready - time.monotonic()))
        draw.thread.join()
        return draw.noise[0]

    def _begin(self, task: Task) -> _Draw:
        seconds = DELAY_SECONDS + DRAW_SECONDS + DRAW_SECONDS_PER_COUNT * task.query.size
        noise: list[NDArray[np.int64]] = []

        def run() -> None:
            noise.append(task.noise.draw(task.query.size, self._stream or Keystream()))

        thread = threading.Timer(DELAY_SECONDS, run)
        thread.daemon = True
        thread.start()
        return _Draw(thread, time.monotonic() + seconds, noise)
