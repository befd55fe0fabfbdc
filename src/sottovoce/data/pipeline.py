"""A long column in parts: one thread reads and writes them, the others do the work in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from sottovoce.core.kernels.threads import cores

if TYPE_CHECKING:
    from concurrent.futures import Future

MAX_THREADS = 8
"""More threads would wait for the one that reads and writes, and each of them holds parts in memory."""
PARTS_PER_THREAD = 2
"""Parts under way for each thread: the one that it works on, and the next."""

Progress = Callable[[float], None]
"""A function that is told the share of a file that is done, from 0 to 1."""

T = TypeVar("T")
R = TypeVar("R")


def workers() -> int:
    """How many threads work on parts."""
    return min(cores(), MAX_THREADS)


def in_order(task: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
    """The result of a task for each part, in order, whatever the number of threads. Few parts are under way at a time.

    The first part that fails is the first in order, not in time: parts before one that cannot be read are finished.
    """
    if workers() < 2:
        yield from map(task, parts)
        return
    from concurrent.futures import ThreadPoolExecutor

    failure: list[Exception] = []
    under_way: deque[Future[R]] = deque()
    with ThreadPoolExecutor(workers()) as pool:
        try:
            for part in _until_failure(parts, failure):
                under_way.append(pool.submit(task, part))
                if len(under_way) == PARTS_PER_THREAD * workers():
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for rest in under_way:
                rest.cancel()
    if failure:
        raise failure[0]


def _until_failure(parts: Iterable[T], failure: list[Exception]) -> Iterator[T]:
    try:
        yield from parts
    except Exception as error:
        failure.append(error)
