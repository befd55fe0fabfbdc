"""Heavy hitters by the three protocols of pure-ldp, run by the Python of an environment that has it.

Its local hashing counts every value of the domain for every user, which for words of ten letters never ends; its
count-mean sketch takes strings as they are, so each protocol runs over that. Words are filled up with `_`, since two of
the three protocols cannot tell where a word ends. Prints one line of JSON: what was found for each k, and the seconds
of processor time.
"""

from __future__ import annotations

import argparse
import json
import random
from importlib import import_module
from pathlib import Path
from string import ascii_lowercase
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np

BUCKETS, HASHES = 1024, 64
FRAGMENT, FILL = 2, "_"


def protocol(name: str, epsilon: float, length: int) -> tuple[Any, Any]:
    """A client and a server. The library asks for arrays of the shape None, which NumPy took for () until 2.4."""
    core: Any = import_module("pure_ldp.core._freq_oracle_server")
    core.np = SimpleNamespace(**vars(np) | {"zeros": lambda shape: np.zeros(() if shape is None else shape)})
    oracles, hitters = import_module("pure_ldp.frequency_oracles"), import_module("pure_ldp.heavy_hitters")
    server = oracles.CMSServer(epsilon, HASHES, BUCKETS)
    client = oracles.CMSClient(epsilon, server.get_hash_funcs(), BUCKETS)
    sizes = {"max_string_length": length, "fragment_length": FRAGMENT} | ({"start_length": 0} if name == "PEM" else {})
    common = sizes | {"epsilon": epsilon, "alphabet": {*ascii_lowercase, FILL}, "index_mapper": lambda text: text}
    return (
        getattr(hitters, f"{name}Client")(**common, fo_client=client),
        getattr(hitters, f"{name}Server")(**common, fo_server=server),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=["SFP", "PEM", "TreeHist"])
    parser.add_argument("words", type=Path, help="a file with a word on each line, one for each user")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--k", type=int, nargs="+", required=True)
    args = parser.parse_args()
    random.seed(1)
    np.random.seed(1)
    words = [word.ljust(args.length, FILL) for word in args.words.read_text().split()]
    start = process_time()
    client, server = protocol(args.name, args.epsilon, args.length)
    for word in words:
        server.aggregate(client.privatise(word))
    counted = process_time() - start
    found, seconds = {}, {}
    for k in args.k:
        start = process_time()
        values, counts = server.find_heavy_hitters(k=k)
        order = np.argsort(-np.asarray(counts, dtype=float))
        found[k] = [str(values[at]).rstrip(FILL) for at in order]
        seconds[k] = counted + process_time() - start
    print(json.dumps({"n": len(words), "found": found, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
