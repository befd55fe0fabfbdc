"""A client of another library as a program to audit, run by the Python of an environment that has that library.

Answers 0 .. domain - 1 come in on standard input, a line each; their reports go out as JSON, a line each. A report of
local hashing is a bucket and the seed of a hash function: what an attacker makes of it is printed instead, whether the
bucket is that of answer 0 and that of answer 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

DOMAIN = 8
BLOOM = 32
LATER = 2.0
"""What a longitudinal client says that any number of its reports costs, as a multiple of what one does."""

Client = Callable[[int], Any]


def pure_krr(epsilon: float) -> Client:
    return _pure("DEClient", epsilon, DOMAIN)


def pure_sue(epsilon: float) -> Client:
    return _pure("UEClient", epsilon, DOMAIN)


def pure_oue(epsilon: float) -> Client:
    return _pure("UEClient", epsilon, DOMAIN, use_oue=True)


def pure_histogram(epsilon: float) -> Client:
    return _pure("HEClient", epsilon, DOMAIN)


def pure_hadamard(epsilon: float) -> Client:
    return _pure("HadamardResponseClient", epsilon, DOMAIN, None)


def pure_olh(epsilon: float) -> Client:
    client = _oracles().LHClient(epsilon, DOMAIN, use_olh=True)
    return lambda answer: _hashed(client.privatise(answer + 1), client.g)


def pure_rappor(epsilon: float) -> Client:
    """One cohort and one hash function. The library rounds f to two decimals, which costs a little more or less."""
    library = _oracles()
    hashes = [[import_module("pure_ldp.core").generate_hash(BLOOM, 7)]]
    f = library.RAPPORClient.convert_eps_to_f(None, epsilon)
    client = library.RAPPORClient(f, BLOOM, hashes, num_of_cohorts=1)
    return lambda answer: client.privatise(answer + 1)


def _pure(name: str, *arguments: Any, **options: Any) -> Client:
    """Answers count from 1 in this library."""
    client = getattr(_oracles(), name)(*arguments, **options)
    return lambda answer: client.privatise(answer + 1)


def _oracles() -> Any:
    return import_module("pure_ldp.frequency_oracles")


def multi_krr(epsilon: float) -> Client:
    return lambda answer: _multi("GRR").GRR_Client(answer, DOMAIN, epsilon)


def multi_sue(epsilon: float) -> Client:
    return lambda answer: _multi("UE").UE_Client(answer, DOMAIN, epsilon, False)


def multi_oue(epsilon: float) -> Client:
    return lambda answer: _multi("UE").UE_Client(answer, DOMAIN, epsilon, True)


def multi_subset(epsilon: float) -> Client:
    return lambda answer: _multi("SS").SS_Client(answer, DOMAIN, epsilon)


def multi_histogram(epsilon: float) -> Client:
    return lambda answer: _multi("HE").HE_Client(answer, DOMAIN, epsilon)


def multi_olh(epsilon: float) -> Client:
    buckets = round(2.718281828459045**epsilon) + 1
    return lambda answer: _hashed(_multi("LH").LH_Client(answer, DOMAIN, epsilon, True), buckets)


def multi_l_krr(epsilon: float) -> Client:
    return lambda answer: _multi("L_GRR", "long_freq_est").L_GRR_Client(answer, DOMAIN, LATER * epsilon, epsilon)


def multi_l_sue(epsilon: float) -> Client:
    return lambda answer: _multi("L_SUE", "long_freq_est").L_SUE_Client(answer, DOMAIN, LATER * epsilon, epsilon)


def _multi(module: str, package: str = "pure_frequency_oracles") -> Any:
    return import_module(f"multi_freq_ldpy.{package}.{module}")


def _hashed(report: tuple[int, int], buckets: int) -> list[bool]:
    """Which of the first two answers a bucket speaks for."""
    (bucket, seed), xxhash = report, import_module("xxhash")
    return [bool(bucket == xxhash.xxh32(str(answer), seed=seed).intdigest() % buckets) for answer in (0, 1)]


CLIENTS: dict[tuple[str, str], Callable[[float], Client]] = {
    ("pure-ldp", "KRR"): pure_krr,
    ("pure-ldp", "SUE"): pure_sue,
    ("pure-ldp", "OUE"): pure_oue,
    ("pure-ldp", "OLH"): pure_olh,
    ("pure-ldp", "histogram"): pure_histogram,
    ("pure-ldp", "Hadamard"): pure_hadamard,
    ("pure-ldp", "RAPPOR"): pure_rappor,
    ("multi-freq-ldpy", "KRR"): multi_krr,
    ("multi-freq-ldpy", "SUE"): multi_sue,
    ("multi-freq-ldpy", "OUE"): multi_oue,
    ("multi-freq-ldpy", "OLH"): multi_olh,
    ("multi-freq-ldpy", "histogram"): multi_histogram,
    ("multi-freq-ldpy", "subset"): multi_subset,
    ("multi-freq-ldpy", "L-KRR"): multi_l_krr,
    ("multi-freq-ldpy", "L-SUE"): multi_l_sue,
}


def _plain(report: Any) -> Any:
    """NumPy's numbers and arrays as Python's."""
    if hasattr(report, "tolist"):
        return report.tolist()
    return list(map(_plain, report)) if isinstance(report, list | tuple) else report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("client")
    parser.add_argument("--epsilon", type=float, required=True)
    args = parser.parse_args()
    client = CLIENTS[args.library, args.client](args.epsilon)
    for line in sys.stdin:
        print(json.dumps(_plain(client(int(line)))))


if __name__ == "__main__":
    main()
