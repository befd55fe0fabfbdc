"""The speed of one protocol of another library, run by the Python of an environment that has that library.

Each run prints one line of JSON. The number of users grows from run to run until the next would take too long, so that
the last line is the one to quote and the lines before it show how the cost grows.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np

FIRST = 1_000
HASHES = 1_024
"""Hash functions of the fast variant of local hashing, as many as a `LocalHash` over 1,024 values has cohorts."""

HELD = 2**17
"""The aggregator of multi-freq-ldpy wants all reports in one list: at 8 kB for a report, this many are 1 GB."""

Protocol = Callable[[list[int], int, float], Any]
"""From answers 0 .. domain - 1, the size of the domain and epsilon to the estimated frequencies."""


def pure_oue(answers: list[int], domain: int, epsilon: float) -> Any:
    library = import_module("pure_ldp.frequency_oracles")
    client = library.UEClient(epsilon, domain, use_oue=True)
    return _pure(client, library.UEServer(epsilon, domain, use_oue=True), answers, domain)


def pure_olh(answers: list[int], domain: int, epsilon: float) -> Any:
    library = import_module("pure_ldp.frequency_oracles")
    client = library.LHClient(epsilon, domain, use_olh=True)
    return _pure(client, library.LHServer(epsilon, domain, use_olh=True), answers, domain)


def pure_flh(answers: list[int], domain: int, epsilon: float) -> Any:
    library = import_module("pure_ldp.frequency_oracles")
    client = library.FastLHClient(epsilon, domain, HASHES, use_olh=True)
    return _pure(client, library.FastLHServer(epsilon, domain, HASHES, use_olh=True), answers, domain)


def _pure(client: Any, server: Any, answers: list[int], domain: int) -> Any:
    """Values count from 1 in this library, and estimates are counts."""
    for answer in answers:
        server.aggregate(client.privatise(answer + 1))
    return server.estimate_all(range(1, domain + 1), suppress_warnings=True) / len(answers)


def multi_oue(answers: list[int], domain: int, epsilon: float) -> Any:
    library = import_module("multi_freq_ldpy.pure_frequency_oracles.UE")
    reports = [library.UE_Client(answer, domain, epsilon, True) for answer in answers]
    return library.UE_Aggregator_MI(reports, epsilon, True)


def multi_olh(answers: list[int], domain: int, epsilon: float) -> Any:
    library = import_module("multi_freq_ldpy.pure_frequency_oracles.LH")
    reports = [library.LH_Client(answer, domain, epsilon, True) for answer in answers]
    return library.LH_Aggregator_MI(reports, domain, epsilon, True)


PROTOCOLS: dict[tuple[str, str], Protocol] = {
    ("pure-ldp", "OUE"): pure_oue,
    ("pure-ldp", "OLH"): pure_olh,
    ("pure-ldp", "FLH"): pure_flh,
    ("multi-freq-ldpy", "OUE"): multi_oue,
    ("multi-freq-ldpy", "OLH"): multi_olh,
}


def runs(protocol: Protocol, answers: list[int], domain: int, epsilon: float, limit: float) -> Iterator[dict[str, Any]]:
    protocol(answers[:2], domain, epsilon)  # Imports and just-in-time compilation are not part of the cost per user.
    before, n = _peak(), min(FIRST, len(answers))
    while True:
        seconds, frequency = _timed(protocol, answers[:n], domain, epsilon)
        truth = np.bincount(answers[:n], minlength=domain) / n
        error = float(np.mean((frequency - truth) ** 2))
        yield {"n": n, "seconds": seconds, "megabytes": _peak() - before, "mse": error}
        following = min(4 * n, len(answers))
        if following == n or seconds * following / n > limit:
            return
        n = following


def _timed(protocol: Protocol, answers: list[int], domain: int, epsilon: float) -> tuple[float, Any]:
    start = perf_counter()
    frequency = protocol(answers, domain, epsilon)
    return perf_counter() - start, frequency


def _peak() -> float:
    """The most memory this process has held, in MB where the system counts in kB, as Linux does."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("protocol")
    parser.add_argument("answers", help="a .npy file of answers from 0 to domain - 1")
    parser.add_argument("--domain", type=int, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True, help="how long one run may take")
    args = parser.parse_args()
    answers = np.load(args.answers).tolist()
    if args.library == "multi-freq-ldpy":
        answers = answers[:HELD]
    installed = version(args.library)
    protocol = PROTOCOLS[args.library, args.protocol]
    for run in runs(protocol, answers, args.domain, args.epsilon, args.seconds):
        print(json.dumps({"version": installed, **run}), flush=True)


if __name__ == "__main__":
    main()
