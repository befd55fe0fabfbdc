"""A notebook of 60 calls, each timed, in a process that nothing has warmed up: which one makes its reader wait?

    python benchmarks/cold.py                                # this version, with compiled loops and with NumPy alone
    python benchmarks/cold.py --beside /another/checkout     # and another one, with an empty cache for its compiler

Each checkout runs in processes of its own, in turns: three with empty caches (cold) and one after another with what the
one before has left (warm). The longest call of each is shown, and the call that is slower than NumPy's by the most.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sottovoce.estimates.render import text_table

ROOT = Path(__file__).parent.parent
RUNS, TIMEOUT_SECONDS = 3, 600

NOTEBOOK = """
import json, time
started = time.perf_counter()
import numpy as np
numpy_loaded = time.perf_counter()
import sottovoce as sv
calls = [("import sottovoce", time.perf_counter() - numpy_loaded)]

def timed(name, job):
    begun = time.perf_counter()
    done = job()
    calls.append((name, time.perf_counter() - begun))
    return done

values = np.random.default_rng(1).integers(0, 100, 200_000)
small = values[:2_000]
makers = [
    ("rr", lambda: sv.RandomizedResponse(1.0, domain=[0, 1]), values % 2), ("krr", lambda: sv.KRR(100, 1.0), values),
    ("unary", lambda: sv.Unary(100, 1.0), values), ("subset", lambda: sv.Subset(100, 1.0), values),
    ("local hash", lambda: sv.LocalHash(100, 1.0), values), ("hadamard", lambda: sv.Hadamard(100, 1.0), values),
    ("projective", lambda: sv.Projective(100, 1.0), values), ("wide unary", lambda: sv.Unary(1024, 1.0), values),
    ("ranges", lambda: sv.Ranges(100, 1.0), values), ("mean", lambda: sv.Mean(0, 100, 1.0), values.astype(float)),
    ("wide hash", lambda: sv.LocalHash(100_000, 2.0), values), ("hashed", lambda: sv.Hashed("krr", epsilon=2.0),
                                                                [str(v) for v in small]),
]
for name, make, column in makers:
    m = timed(f"{name}: mechanism", make)
    reports = timed(f"{name}: randomize_many", lambda: m.randomize_many(column))
    timed(f"{name}: a few more", lambda: m.randomize_many(column[:2_000]))
    tally = timed(f"{name}: tally", lambda: m.tally().add_many(reports))
    asked = {"values": [str(v) for v in range(100)]} if name == "hashed" else {}
    timed(f"{name}: estimate", lambda: tally.estimate(**asked))
print(json.dumps({"calls": calls[:60]}))
"""


def run(checkout: Path, cache: Path, compiled: bool) -> dict[str, float]:
    """Seconds of each call, by name."""
    settings = os.environ | {"PYTHONPATH": str(checkout / "src"), "NUMBA_CACHE_DIR": str(cache)}
    settings |= {"PYTHONPYCACHEPREFIX": str(cache / "python")}
    settings.pop("SOTTO_COMPILED", None)
    settings |= {} if compiled else {"SOTTO_COMPILED": "0"}
    command = [sys.executable, "-c", NOTEBOOK]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True, timeout=TIMEOUT_SECONDS)
    return dict(json.loads(done.stdout)["calls"])


def least(runs: list[dict[str, float]]) -> dict[str, float]:
    """Each call's best run: what is left is its own, not the machine's."""
    return {name: min(run[name] for run in runs) for name in runs[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, help="another checkout of sottovoce")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--json", type=Path, help="a file for the figures")
    given = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for title, checkout in (("this version", ROOT), *([("beside", given.beside)] if given.beside else [])):
        cold, warm, plain = [], [], []
        for _ in range(given.runs):
            with tempfile.TemporaryDirectory() as place:
                cold.append(run(checkout, Path(place), True))
                warm.append(run(checkout, Path(place), True))
                plain.append(run(checkout, Path(place), False))
        found |= {f"{title}, cold": least(cold), f"{title}, warm": least(warm), f"{title}, NumPy": least(plain)}
    rows = []
    for name, calls in found.items():
        longest = max(calls, key=calls.__getitem__)
        plain_calls = found[name.rpartition(",")[0] + ", NumPy"]
        behind = max(calls, key=lambda call: calls[call] - plain_calls[call])
        rows.append([name, f"{sum(calls.values()):.2f}", f"{calls[longest]:.2f}", longest,
                     f"{calls[behind] - plain_calls[behind]:+.2f}", behind])  # fmt: skip
    print(text_table(["version", "60 calls, s", "longest, s", "call", "behind NumPy, s", "call"], rows))
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
