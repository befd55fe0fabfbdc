"""Work on the parts of a long column side by side, on as many threads as there are cores."""

from __future__ import annotations

import os
from _thread import LockType, allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar, overload

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


@overload
def side_by_side(task: Callable[[A], T], firsts: Sequence[A], /) -> list[T]: ...
@overload
def side_by_side(task: Callable[[A, B], T], firsts: Sequence[A], seconds: Sequence[B], /) -> list[T]: ...
def side_by_side(task: Callable[..., T], *columns: Sequence[object]) -> list[T]:
    """The results of a task for each part of the work, in order; on as many threads as there are cores.

    NumPy, the cipher and the compiled loops release the interpreter's lock for most of the time. Each thread has a run
    of parts that follow one another, so that no two threads ask the system for the same piece of memory.
    """
    parts = list(zip(*columns, strict=False))
    threads = min(len(parts), cores())
    if threads < 2:
        return [task(*part) for part in parts]
    bounds = [len(parts) * own // threads for own in range(threads + 1)]
    runs = [deque(range(*run)) for run in pairwise(bounds)]
    done, failed = dict[int, T](), dict[int, BaseException]()

    def work(own: int) -> None:
        """Takes its own parts from the front, then what is left of those of others from the back.

        Once a part has failed, only those before it are of interest: one of them may be the first to fail.
        """
        for run in runs[own:] + runs[:own]:
            take = run.popleft if run is runs[own] else run.pop
            while run:
                try:
                    at = take()
                except IndexError:  # Somebody else was quicker.
                    break
                if failed and at > min(tuple(failed)):
                    continue
                try:
                    done[at] = task(*parts[at])
                except BaseException as error:
                    failed[at if isinstance(error, Exception) else -1] = error

    others: list[LockType] = []
    try:
        others.extend(_started(work, own) for own in range(1, threads))
        work(0)
        _await(others)
    except BaseException as error:  # Interrupted: the others stop after the part that they are at.
        failed[-1] = error
        _await(others)
    try:
        if failed:
            raise failed[min(failed)]
    finally:
        failed.clear()  # Errors hold on to their frames, and this one to its errors: what it worked on could go late.
    return [done[at] for at in range(len(parts))]


def _started(work: Callable[[int], None], own: int) -> LockType:
    """A thread, and the lock that it holds until it is done.

    One of `threading` would have to run before its `start` returns: a quarter of a millisecond without any work.
    """
    lock = allocate_lock()

    def run() -> None:
        try:
            work(own)
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
    """How many cores this process may use. `SOTTO_THREADS` in the environment can set another number."""
    if (given := os.environ.get("SOTTO_THREADS", "")).isdecimal():
        return max(1, int(given))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
