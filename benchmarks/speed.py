"""Clients and servers a second, beside plain NumPy and the rates of research code, and how both grow: one run, minutes.

    .venv/bin/python benchmarks/speed.py [--json FILE] [--plot FILE] [--n N] [--growth]

Ours draws from AES-256 in counter mode keyed by the operating system; NumPy from its seeded generator. The research C++
(seeded mt19937) cannot be installed here. Its rates and those of the libraries were measured once on a machine of this
class together with NumPy's, and are scaled by what NumPy does in this run. `limit` is what the machine allows: the
keystream or the memory that a row needs, at the speed that the cipher or a plain sum has in this run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce import KRR, Hadamard, LocalHash, Projective, Subset, Unary, kernels
from sottovoce.randomness import Keystream
from sottovoce.render import text_table

DOMAIN, EPSILON, REPEATS = 1024, 1.0, 5
KINDS: dict[str, Callable[..., Any]] = {
    "KRR": KRR,
    "Unary": Unary,
    "LocalHash": LocalHash,
    "Subset": Subset,
    "Hadamard": Hadamard,
    "Projective": Projective,
}
# Users a second, one core, D = 1024, epsilon = 1: client and server.
NUMPY_THEN = {"KRR": (52e6, 560e6), "Unary": (0.20e6, 2.0e6)}
CPP_THEN = {
    "KRR": (22e6, 50e6),
    "Unary": (75e3, 3e3),
    "Subset": (40e3, 1.0e6),
    "Hadamard": (6e6, 43e6),
    "Projective": (5.4e6, 47e6),
}
LIBRARIES_THEN = {"KRR": (1.4e6, 5e6), "Unary": (37e3, 0.5e6), "LocalHash": (0.2e6, 1.1e3), "Subset": (42e3, 10e3)}
DRAWN = {"KRR": 16.0, "LocalHash": 24.0, "Hadamard": 24.0, "Projective": 32.0}
"""Bytes of keystream that a report needs; those of bits need about 7.3 bits of it for each of theirs."""


@dataclass
class Row:
    """The rates of one mechanism: users a second."""

    mechanism: str
    client: float
    server: float
    client_two_cores: float
    server_two_cores: float
    client_over_numpy: float | None
    server_over_numpy: float | None
    client_over_library: float | None
    server_over_library: float | None
    client_over_cpp: float | None
    server_over_cpp: float | None
    client_limit: float
    server_limit: float


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    work()
    spent = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        spent.append(perf_counter() - start)
    return median(spent)


def threads(count: int) -> None:
    os.environ["SOTTO_THREADS"] = str(count)


def plain(name: str, answers: NDArray[np.int64], m: Any) -> tuple[float, float]:
    """What NumPy does without any care: its generator, whole arrays."""
    generator, n = np.random.default_rng(1), answers.size
    if name == "KRR":

        def client() -> NDArray[Any]:
            other = generator.integers(0, DOMAIN - 1, n)
            return np.where(generator.random(n) < float(m.p), answers, other + (other >= answers))

        reports = client()
        return n / seconds(client), n / seconds(lambda: np.bincount(reports, minlength=DOMAIN))
    few = answers[: n // 32]

    def bits() -> NDArray[Any]:
        rows = generator.random((few.size, DOMAIN), dtype=np.float32) < float(m.q)
        rows[np.arange(few.size), few] = generator.random(few.size) < 0.5
        return rows

    rows = bits()
    return few.size / seconds(bits), few.size / seconds(lambda: rows.sum(axis=0))


def machine(stream: Keystream) -> tuple[float, float]:
    """Bytes a second: of keystream, and of memory that is read."""
    big = np.ones(2**24, dtype=np.int64)
    return 2**23 / seconds(lambda: stream.words(2**20)), big.nbytes / seconds(lambda: np.add.reduce(big))


def measure(name: str, n: int, yardstick: dict[str, tuple[float, float]], speed: tuple[float, float]) -> Row:
    m = KINDS[name](DOMAIN, epsilon=EPSILON)
    wide = m.bits >= DOMAIN
    answers = np.random.default_rng(2).integers(0, DOMAIN, n if not wide else max(n // 4, 2 * kernels.PART))
    rates: list[float] = []
    for cores in (1, 2):
        threads(cores)
        reports = m.randomize_many(answers)
        rates.append(answers.size / seconds(lambda: m.randomize_many(answers)))
        rates.append(answers.size / seconds(lambda: m.tally().add_many(reports)))  # noqa: B023
    client, server, client_two, server_two = rates
    width = reports.data.nbytes / len(reports)
    drawn = 7.3 * width if wide else DRAWN.get(name, 16.0)

    def over(then: dict[str, tuple[float, float]], at: int, rate: float, scaled: bool) -> float | None:
        if name not in then:
            return None
        base = yardstick["KRR" if not wide else "Unary"][at] / NUMPY_THEN["KRR" if not wide else "Unary"][at]
        return rate / (then[name][at] * (base if scaled else 1))

    return Row(
        name, client, server, client_two, server_two,
        client / yardstick[name][0] if name in yardstick else None,
        server / yardstick[name][1] if name in yardstick else None,
        over(LIBRARIES_THEN, 0, client, True), over(LIBRARIES_THEN, 1, server, True),
        over(CPP_THEN, 0, client, True), over(CPP_THEN, 1, server, True),
        speed[0] / drawn, speed[1] / width,
    )  # fmt: skip


GROWTH = """
import resource, sys, time, numpy as np, sottovoce as sv
kind, n, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
m = getattr(sv, kind)(size, epsilon=1.0)
start, tally = time.perf_counter(), m.tally()
for at in range(0, n, 10**6):
    part = np.arange(at, min(at + 10**6, n)) % size
    tally.add_many(m.randomize_many(part))
tally.estimate()
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def growth() -> list[dict[str, float | str]]:
    """Time and peak memory in a process of its own, from answers to estimates."""
    cases = [("KRR", 10**power, 1024) for power in (5, 6, 7, 8)]
    cases += [("Projective", 10**6, 2**power) for power in (4, 8, 12, 16, 20)]
    rows: list[dict[str, float | str]] = []
    for kind, n, size in cases:
        command = [sys.executable, "-c", GROWTH, kind, str(n), str(size)]
        spent, memory = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout.split()
        rows.append({"mechanism": kind, "n": n, "D": size, "seconds": float(spent), "peak_MB": float(memory)})
    return rows


def number(value: float | None) -> str:
    if value is None:
        return ""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def plainly(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def draw(rows: list[Row], path: Path) -> None:
    """Rates as shares of what the machine allows."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
    for ax, side in zip(axes, ("client", "server"), strict=True):
        for at, row in enumerate(rows):
            rate, limit = getattr(row, side), getattr(row, f"{side}_limit")
            ax.plot([rate, limit], [at, at], color="#c8c8c8", zorder=1)
            ax.scatter([limit], [at], marker="|", s=120, color="#8a8a8a", zorder=2)
            ax.scatter([rate], [at], color="#1f6f8b", zorder=3)
            cpp = CPP_THEN.get(row.mechanism)
            if cpp:
                over = getattr(row, f"{side}_over_cpp")
                ax.scatter([rate / over], [at], marker="x", color="#b4552d", zorder=3)
        ax.set_xscale("log")
        ax.set_xlabel("users a second, one core")
        ax.set_title(side, loc="left", fontsize="medium")
        ax.set_yticks(range(len(rows)), [row.mechanism for row in rows])
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    figure.suptitle("dot: ours, secure randomness; cross: research C++; bar: what the machine allows", fontsize="small")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=2**21)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--growth", action="store_true")
    options = parser.parse_args()
    kernels.loops(kernels.WORTH + 1)
    threads(1)
    answers = np.random.default_rng(2).integers(0, DOMAIN, options.n)
    yardstick = {name: plain(name, answers, KINDS[name](DOMAIN, epsilon=EPSILON)) for name in NUMPY_THEN}
    speed = machine(Keystream())
    print(f"keystream {speed[0] / 1e9:.2f} GB/s, memory {speed[1] / 1e9:.1f} GB/s; NumPy's k-ary RR "
          f"{number(yardstick['KRR'][0])} / {number(yardstick['KRR'][1])}, unary {number(yardstick['Unary'][0])} / "
          f"{number(yardstick['Unary'][1])} users/s\n")  # fmt: skip
    rows = [measure(name, options.n, yardstick, speed) for name in KINDS]
    for side in ("client", "server"):
        header = [side, "users/s", "2 cores", "x NumPy", "x libraries", "x C++", "limit", "of limit"]
        cells = []
        for row in rows:
            rate, two, limit = (getattr(row, f"{side}{end}") for end in ("", "_two_cores", "_limit"))
            over = [getattr(row, f"{side}_over_{peer}") for peer in ("numpy", "library", "cpp")]
            cells.append([row.mechanism, number(rate), f"{two / rate:.2f} x", *map(number, over), number(limit),
                          f"{100 * rate / limit:.0f}%"])  # fmt: skip
        print(text_table(header, cells), end="\n\n")
    grown = growth() if options.growth else []
    if grown:
        print(text_table(list(grown[0]), [[plainly(value) for value in row.values()] for row in grown]), end="\n\n")
    print(f"peak memory of this run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    if options.json:
        record = {"rows": [asdict(row) for row in rows], "growth": grown, "keystream": speed[0], "memory": speed[1]}
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    main()
