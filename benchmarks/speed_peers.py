"""Clients and servers a second of one other library, run by the Python of an environment that has it: lines of JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from time import process_time
from typing import Any

SECONDS, REPEATS = 0.4, 3
FIRST, MOST = 16, 2**17
"""Reports to begin with, and to hold at most: some are lists of 1,024 numbers."""

Sides = tuple[Callable[[int], Any], Callable[[list[Any]], object] | None]
"""One report for one answer, and the estimates of all values from a list of reports, if there are any."""


def pure(client: str, server: str, *extra: Any, **options: Any) -> Callable[[int, float], Sides]:
    """The classes of pure-ldp by their names. Values count from 1 there."""

    def make(domain: int, epsilon: float) -> Sides:
        library = import_module("pure_ldp.frequency_oracles")
        end = getattr(library, server)(epsilon, domain, *extra, **options)
        given = {**options, "hash_funcs": end.get_hash_funcs()} if server == "HadamardResponseServer" else options
        start = getattr(library, client)(epsilon, domain, *extra, **given)

        def count(reports: list[Any]) -> object:
            end.reset()
            for report in reports:
                end.aggregate(report)
            return end.estimate_all(range(1, domain + 1), suppress_warnings=True)

        return lambda answer: start.privatise(answer + 1), count

    return make


def multi(kind: str, *options: Any) -> Callable[[int, float], Sides]:
    """The functions of multi-freq-ldpy by the protocol's name."""

    def make(domain: int, epsilon: float) -> Sides:
        library = import_module(f"multi_freq_ldpy.pure_frequency_oracles.{kind}")
        client, server = getattr(library, f"{kind}_Client"), getattr(library, f"{kind}_Aggregator_MI")
        sized = () if kind == "UE" else (domain,)
        return lambda answer: client(answer, domain, epsilon, *options), lambda reports: server(
            reports, *sized, epsilon, *options
        )

    return make


def opendp_response(domain: int, epsilon: float) -> Sides:
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    p = math.exp(epsilon) / (math.exp(epsilon) + domain - 1)
    return dp.m.make_randomized_response(list(range(domain)), p), None


PROTOCOLS: dict[str, dict[str, Callable[[int, float], Sides]]] = {
    "pure-ldp": {
        "KRR": pure("DEClient", "DEServer"),
        "Unary": pure("UEClient", "UEServer", use_oue=True),
        "LocalHash": pure("LHClient", "LHServer", use_olh=True),
        "Hadamard": pure("HadamardResponseClient", "HadamardResponseServer"),
    },
    "multi-freq-ldpy": {
        "KRR": multi("GRR"),
        "Unary": multi("UE", True),
        "LocalHash": multi("LH", True),
        "Subset": multi("SS"),
    },
    "opendp": {"KRR": opendp_response},
}


def best(work: Callable[[], object]) -> float:
    """The least time of a few: others who use the machine can only make it longer."""
    spent = []
    for _ in range(REPEATS):
        start = process_time()
        work()
        spent.append(process_time() - start)
    return min(spent)


def rates(sides: Sides, domain: int) -> tuple[float, float | None]:
    client, server = sides
    reports, n = [client(1), client(2)], FIRST

    def ask() -> None:
        reports[:] = [client(answer % domain) for answer in range(n)]

    ask()
    while (spent := best(ask)) < SECONDS and n < MOST:
        n = min(2 * n, MOST)
    asked = n / spent
    if server is None:
        return asked, None
    few = reports[:FIRST]
    server(few)  # What is compiled or imported on first use is not part of the cost.
    while (spent := best(partial(server, few))) < SECONDS and len(few) < n:
        few = reports[: 2 * len(few)]
    return asked, len(few) / spent


def main() -> None:
    library, domain, epsilon = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    for protocol, make in PROTOCOLS[library].items():
        try:
            client, server = rates(make(domain, epsilon), domain)
        except Exception as error:  # A protocol that does not run is told, and the others are measured.
            print(
                json.dumps({"library": library, "mechanism": protocol, "failure": f"{type(error).__name__}: {error}"})
            )
            continue
        print(json.dumps({"library": library, "mechanism": protocol, "client": client, "server": server}), flush=True)


if __name__ == "__main__":
    main()
