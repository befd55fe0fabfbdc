"""What a second core adds: one process on one thread, two such at once, and one process on two threads.

Two processes share nothing, so that together they show what the machine has to give at that moment.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import numpy as np

import sottovoce
from sottovoce.core import kernels

SECONDS, ROUNDS, PASSES, PATIENCE = 0.05, 20, 3, 120.0


@dataclass(frozen=True)
class Cores:
    """Users a second, as multiples of those of one process on one thread."""

    two_processes: float
    two_threads: float


def work(kind: str, side: str, domain: int, epsilon: float) -> tuple[Callable[[], object], int]:
    """What is to be done again and again, and for how many users at once: tens of milliseconds of one thread."""
    m: Any = getattr(sottovoce, kind)(domain, epsilon=epsilon)
    answers = np.arange((4 if m.bits >= domain else 64) * kernels.PART_ROWS) % domain
    if side == "client":
        return lambda: m.randomize_many(answers), answers.size
    reports = np.concatenate([m.randomize_many(answers).data] * 4)
    return lambda: m.tally().add_many(reports), len(reports)


def worker(orders: Connection) -> None:
    """Does what it is told, and answers by its rate. Each job is done once before the clock starts."""
    kernels.loops()
    job: Callable[[], object] = dict
    n = 0
    while (order := orders.recv()) is not None:
        if isinstance(order, tuple):
            job, n = work(*order)
            os.environ["SOTTO_THREADS"] = "1"
            job()
            orders.send(0.0)
            continue
        os.environ["SOTTO_THREADS"] = str(order)
        start, done = perf_counter(), 0
        while perf_counter() - start < SECONDS:
            job()
            done += n
        orders.send(done / (perf_counter() - start))


def asked(workers: list[Connection], order: object) -> float:
    """The rates of workers that are given an order at the same time, added up."""
    for each in workers:
        each.send(order)
    if not all(each.poll(PATIENCE) for each in workers):
        raise TimeoutError("a worker does not answer")
    return float(sum(each.recv() for each in workers))


def cores(kinds: list[str], domain: int, epsilon: float) -> dict[tuple[str, str], Cores]:
    """The best of rounds in several passes, for every mechanism and side: others disturb for seconds at a time."""
    context = get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    processes = [context.Process(target=worker, args=(theirs,), daemon=True) for _, theirs in pipes]
    for process in processes:
        process.start()
    both = [ours for ours, _ in pipes]
    jobs = [(kind, side) for kind in kinds for side in ("client", "server")]
    rounds: dict[tuple[str, str], list[tuple[float, float, float]]] = {job: [] for job in jobs}
    for kind, side in jobs * PASSES:
        asked(both, (kind, side, domain, epsilon))
        rounds[kind, side] += [(asked(both[:1], 1), asked(both, 1), asked(both[:1], 2)) for _ in range(ROUNDS)]
    found = {}
    for job, rates in rounds.items():
        one, two, threads = (max(column) for column in zip(*rates, strict=True))
        found[job] = Cores(two / one, threads / one)
    for each in both:
        each.send(None)
    for process in processes:
        process.join(PATIENCE)
    return found
