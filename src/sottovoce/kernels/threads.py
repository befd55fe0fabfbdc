"""The parts of a long column side by side, on as many threads as there are cores."""

from __future__ import annotations

import os
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def side_by_side(task: Callable[..., T], *columns: Sequence[Any]) -> list[T]:
    """The results of a task for each part of the work, in order; on as many threads as there are cores.

    NumPy, the cipher and the compiled loops let go of the interpreter's lock for most of the time.
    """
    threads = min(len(columns[0]), cores())
    if threads < 2:
        return list(map(task, *columns))
    todo, done = enumerate(zip(*columns, strict=False)), dict[int, T]()
    failed: dict[int, BaseException] = {}

    def work() -> None:
        """Takes the next part as long as there is one. Nobody waits for anybody before the end."""
        for at, part in todo:
            try:
                done[at] = task(*part)
            except BaseException as error:
                failed[at] = error
            if failed:
                return

    others: list[LockType] = []
    try:
        others.extend(_started(work) for _ in range(threads - 1))
        work()
        _await(others)
    except BaseException as error:  # Interrupted: the others stop after the part that they are at.
        failed[-1] = error
        _await(others)
    try:
        if failed:  # Parts are taken in order, so that the first one to fail is among those that did.
            raise failed[min(failed)]
    finally:
        failed.clear()  # Errors hold on to their frames, and this one to its errors: what it worked on could go late.
    return [done[at] for at in range(len(done))]


def _started(work: Callable[[], None]) -> LockType:
    """A thread, and the lock that it holds until it is done.

    One of `threading` would have to run before its `start` returns: a quarter of a millisecond without any work.
    """
    lock = allocate_lock()

    def run() -> None:
        try:
            work()
        finally:
            lock.release()

    lock.acquire()
    try:
        start_new_thread(run, ())
    except RuntimeError:  # The system has no thread to give: those that there are do all the work.
        lock.release()
    return lock


def _await(locks: list[LockType]) -> None:
    for lock in locks:
        with lock:
            pass


def cores() -> int:
    """How many this process may use; the environment's `SOTTO_THREADS` can make it fewer."""
    if (given := os.environ.get("SOTTO_THREADS", "")).isdecimal():
        return max(1, int(given))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
