"""How long a user waits at the start, in elapsed time: for the command's help, and for the first column of reports.

The first column is one of half a million reports of unary encoding, which loads the compiled loops.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter

RUNS, TIMEOUT = 5, 120

COLUMN = """
import time, numpy as np, sottovoce as sv
m, answers = sv.Unary(1024, epsilon=1.0), np.arange(2**19) % 1024
for _ in range(2):
    start = time.perf_counter()
    m.randomize_many(answers)
    print(time.perf_counter() - start)
"""


def start_up() -> dict[str, float]:
    """Seconds, the best of a few processes."""
    waits: dict[str, list[float]] = {"help": [], "first column": [], "second column": []}
    for _ in range(RUNS):
        start = perf_counter()
        sotto = Path(sys.executable).with_name("sotto")
        subprocess.run([sotto, "--help"], capture_output=True, check=True, timeout=TIMEOUT)
        waits["help"].append(perf_counter() - start)
        command = [sys.executable, "-c", COLUMN]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT)
        first, second = map(float, done.stdout.split())
        waits["first column"].append(first)
        waits["second column"].append(second)
    return {name: min(each) for name, each in waits.items()}
