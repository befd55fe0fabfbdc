"""Clients and servers a second beside the field's libraries, plain NumPy and the machine's limits: one run, minutes.

    .venv/bin/python benchmarks/speed.py [--json FILE] [--plot FILE] [--growth] [--no-peers] [--no-cores]

Ours draws from AES-256 in counter mode keyed by the operating system; the others from seeded generators. Everything is
measured in this run, but for the research C++ (seeded mt19937), which cannot be installed: its rates were measured once
on a machine of this class together with NumPy's, and are scaled by what NumPy does now. Rates are those of one core,
in time of the processor, the best of a few runs. `limit` is what the machine allows: the keystream that a report
draws at the speed of the cipher, or the bytes of a report at the speed of memory.
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
from typing import Any

import frequencies
import numpy as np
import speed_cores
import speed_kernels
from numpy.typing import NDArray
from speed_peers import best
from speed_start import start_up

from sottovoce import KRR, Hadamard, LocalHash, Projective, Subset, Unary
from sottovoce.core import kernels
from sottovoce.core.randomness import COIN_BLOCK_WORDS, Keystream
from sottovoce.estimates.render import text_table

DOMAIN, EPSILON, ROUNDS, TIMEOUT = 1024, 1.0, 8, 600
SIDES = ("client", "server")
KINDS: dict[str, Callable[..., Any]] = {
    "KRR": KRR,
    "Unary": Unary,
    "LocalHash": LocalHash,
    "Subset": Subset,
    "Hadamard": Hadamard,
    "Projective": Projective,
}
Pair = tuple[float, float]
# Users a second then, one core, D = 1024, epsilon = 1: client and server.
NUMPY_THEN: dict[str, Pair] = {"KRR": (52e6, 560e6), "Unary": (0.20e6, 2.0e6)}
CPP_THEN: dict[str, Pair] = {
    "KRR": (22e6, 50e6),
    "Unary": (75e3, 3e3),
    "Subset": (40e3, 1.0e6),
    "Hadamard": (6e6, 43e6),
    "Projective": (5.4e6, 47e6),
}


@dataclass
class Row:
    """One side of one mechanism: users a second, and as multiples of what others do."""

    mechanism: str
    side: str
    ours: float
    bytes: float
    limit: float = 0.0
    numpy: float | None = None
    library: float | None = None
    library_name: str = ""
    cpp: float | None = None
    two_threads: float | None = None
    two_processes: float | None = None

    def cells(self) -> list[str]:
        others = [value for peer in (self.numpy, self.library, self.cpp) for value in (number(peer), self.over(peer))]
        cores = [f"{value:.2f}" if value else "" for value in (self.two_threads, self.two_processes)]
        share = f"{100 * self.ours / self.limit:.0f}%"
        return [self.mechanism, self.side, number(self.ours), *others, *cores, number(self.limit), share]

    def over(self, peer: float | None) -> str:
        return (
            f"{self.ours / peer:,.3g} x"
            if peer and self.ours / peer < 1000
            else f"{self.ours / peer:,.0f} x"
            if peer
            else ""
        )


HEADER = ["mechanism", "side", "ours", "NumPy", "", "library", "", "C++", "", "2 threads", "2 procs", "limit", "of it"]


def seconds(work: Callable[[], object]) -> float:
    """The least of a few, once what is loaded or compiled on first use is there."""
    work()
    return best(work)


def plain_response(n: int) -> Pair:
    """K-ary randomized response in NumPy without any care: its generator, whole arrays."""
    generator, p = np.random.default_rng(1), float(KRR(DOMAIN, EPSILON).p)
    answers = generator.integers(0, DOMAIN, n)

    def client() -> NDArray[Any]:
        other = generator.integers(0, DOMAIN - 1, n)
        return np.where(generator.random(n) < p, answers, other + (other >= answers))

    reports = client()
    return n / seconds(client), n / seconds(lambda: np.bincount(reports, minlength=DOMAIN))


def plain_unary(n: int, dtype: type) -> Pair:
    """Unary encoding in the same way. Numbers of 32 bits are quicker to draw, but know 2^24 probabilities only."""
    generator, q = np.random.default_rng(1), float(Unary(DOMAIN, EPSILON).q)
    answers = generator.integers(0, DOMAIN, n)

    def client() -> NDArray[Any]:
        rows = generator.random((n, DOMAIN), dtype=dtype) < q
        rows[np.arange(n), answers] = generator.random(n) < 0.5
        return rows

    rows = client()
    return n / seconds(client), n / seconds(lambda: rows.sum(axis=0))


def machine() -> Pair:
    """Bytes a second: of keystream as it is used, and of memory that is read."""
    stream, big = Keystream(), np.ones(2**24, dtype=np.int64)
    with stream.settled():
        keystream = seconds(lambda: [stream.lent(4 * COIN_BLOCK_WORDS) for _ in range(8)])
    return 32 * 8 * COIN_BLOCK_WORDS / keystream, big.nbytes / seconds(lambda: np.add.reduce(big))


def ours(name: str, n: int) -> list[Row]:
    """Both sides of a mechanism on one core, and the bytes that a report draws or has."""
    os.environ["SOTTO_THREADS"] = "1"
    m, stream = KINDS[name](DOMAIN, epsilon=EPSILON), speed_kernels.Counted()
    answers = np.random.default_rng(2).integers(0, DOMAIN, n // 4 if m.bits >= DOMAIN else n)
    reports, few = m.randomize_many(answers), answers[: 2**16]
    m.randomize_many(few, stream)
    width = reports.data.nbytes / len(reports)
    return [
        Row(name, "client", answers.size / seconds(lambda: m.randomize_many(answers)), stream.drawn / few.size),
        Row(name, "server", answers.size / seconds(lambda: m.tally().add_many(reports)), width),
    ]


def peers() -> list[dict[str, Any]]:
    """What the libraries do: pure-ldp and multi-freq-ldpy in their own environment, OpenDP in ours."""
    found = []
    for library in (*frequencies.REQUIREMENTS, "opendp"):
        own = library in frequencies.REQUIREMENTS
        python = frequencies.PYTHON if own else sys.executable
        failure = frequencies.install(library) if own else ""
        command = [python, frequencies.HERE / "speed_peers.py", library, str(DOMAIN), str(EPSILON)]
        lines, failure = ("", failure) if failure else frequencies.run(command, TIMEOUT)
        found += [json.loads(line) for line in lines.splitlines()]
        if failure:
            found.append({"library": library, "mechanism": "", "failure": failure})
    return found


def measured(n: int) -> tuple[Pair, dict[str, Pair], Pair, list[Row]]:
    """NumPy and ours in turns, the best of each: other work on the machine slows down now one, now the other."""
    yardstick: dict[str, Pair] = {}
    speed, single, rows = (0.0, 0.0), (0.0, 0.0), [Row(name, side, 0.0, 0.0) for name in KINDS for side in SIDES]
    for _ in range(ROUNDS):
        speed = better(speed, machine())
        found = {"KRR": plain_response(n), "Unary": plain_unary(2**13, np.float64)}
        yardstick = {name: better(pair, yardstick.get(name, pair)) for name, pair in found.items()}
        single = better(single, plain_unary(2**13, np.float32))
        again = [row for name in KINDS for row in ours(name, n)]
        rows = [max(pair, key=lambda row: row.ours) for pair in zip(rows, again, strict=True)]
    return speed, yardstick, single, rows


def better(a: Pair, b: Pair) -> Pair:
    return max(a[0], b[0]), max(a[1], b[1])


def compare(row: Row, yardstick: dict[str, Pair], libraries: list[dict[str, Any]]) -> None:
    """Put what others do beside a row: NumPy, the best of the libraries, and the C++ at the pace of this machine."""
    at = SIDES.index(row.side)
    if row.mechanism in yardstick:
        row.numpy = yardstick[row.mechanism][at]
    if row.mechanism in CPP_THEN:
        pace = "Unary" if row.mechanism in ("Unary", "Subset") else "KRR"
        row.cpp = CPP_THEN[row.mechanism][at] * yardstick[pace][at] / NUMPY_THEN[pace][at]
    rates = [
        (each[row.side], each["library"])
        for each in libraries
        if each["mechanism"] == row.mechanism and each.get(row.side)
    ]
    if rates:
        row.library, row.library_name = max(rates)


GROWTH = """
import sys, time, numpy as np, sottovoce as sv
kind, n, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
m = getattr(sv, kind)(size, epsilon=1.0)
m.tally().add_many(m.randomize_many(np.arange(1000) % size)).estimate()
start, tally = time.process_time(), m.tally()
for at in range(0, n, 10**6):
    part = np.arange(at, min(at + 10**6, n)) % size
    tally.add_many(m.randomize_many(part))
tally.estimate()
spent = time.process_time() - start
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(spent, int(peak.split()[1]) / 1024)
"""


def growth() -> list[dict[str, float | str]]:
    """Time of one core and peak memory in a process of its own, from answers to estimates, on Linux."""
    cases = [("KRR", 10**power, 1024) for power in (5, 6, 7, 8)]
    cases += [("Projective", 10**7, 2**power) for power in (4, 8, 12, 16, 20)]
    rows: list[dict[str, float | str]] = []
    for kind, n, size in cases:
        command = [sys.executable, "-c", GROWTH, kind, str(n), str(size)]
        settings = os.environ | {"SOTTO_THREADS": "1", "SOTTO_COMPILED": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT, env=settings)
        spent, memory = done.stdout.split()
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
    """Rates beside those of others, and what the machine allows."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    marks = {"library": ("s", "#b4552d"), "cpp": ("x", "#7a4fa3"), "numpy": ("^", "#6b7a2a"), "ours": ("o", "#1f6f8b")}
    words = {"library": "best library", "cpp": "research C++, scaled", "numpy": "plain NumPy", "ours": "sottovoce"}
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    for ax, side in zip(axes, SIDES, strict=True):
        chosen = [row for row in rows if row.side == side]
        ax.hlines(range(len(chosen)), 5e2, [row.limit for row in chosen], color="#dddddd", zorder=1)
        ax.scatter([row.limit for row in chosen], range(len(chosen)), marker="|", s=160, color="#555555", label="limit")
        for peer, (mark, colour) in marks.items():
            places = [(rate, at) for at, row in enumerate(chosen) if (rate := getattr(row, peer))]
            ax.scatter(*zip(*places, strict=True), marker=mark, color=colour, label=words[peer], zorder=3)
        ax.set(xscale="log", xlim=(5e2, 2e10), xlabel="users a second, one core")
        ax.set_title(side, loc="left", fontsize="medium")
        ax.set_yticks(range(len(chosen)), [row.mechanism for row in chosen])
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=2**20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--cores", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    kernels.loops()
    speed, yardstick, single, rows = measured(options.n)
    libraries = peers() if options.peers else []
    cores = speed_cores.cores(list(KINDS), DOMAIN, EPSILON) if options.cores else {}
    for row in rows:
        row.limit = speed[SIDES.index(row.side)] / row.bytes
        compare(row, yardstick, libraries)
        if found := cores.get((row.mechanism, row.side)):
            row.two_threads, row.two_processes = found.two_threads, found.two_processes
    print(f"D = {DOMAIN}, epsilon = {EPSILON:g}; users a second on one core. Keystream {speed[0] / 1e9:.1f} GB/s, "
          f"memory {speed[1] / 1e9:.1f} GB/s. NumPy's unary with numbers of 32 bits: {number(single[0])} / "
          f"{number(single[1])}.\n")  # fmt: skip
    print(text_table(HEADER, [row.cells() for row in rows]), end="\n\n")
    loops = speed_kernels.measured({"keystream": speed[0], "memory": speed[1]})
    print(speed_kernels.shown(loops, number), end="\n\n")
    rates = [[each["library"], each["mechanism"], *(number(each.get(side)) for side in SIDES), each.get("failure", "")]
             for each in libraries]  # fmt: skip
    print(text_table(["library", "mechanism", *SIDES, "failure"], rates), end="\n\n")
    grown = growth() if options.growth else []
    if grown:
        print(text_table(list(grown[0]), [[plainly(value) for value in row.values()] for row in grown]), end="\n\n")
    waits = start_up()
    print("start-up: " + ", ".join(f"{name} {each:.2f} s" for name, each in waits.items()))
    print(f"peak memory of this run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    if options.json:
        record = {"keystream": speed[0], "memory": speed[1], "numpy_unary_32_bits": single,
                  "rows": [asdict(row) for row in rows], "kernels": [each.record() for each in loops],
                  "libraries": libraries, "growth": grown, "start_up": waits}  # fmt: skip
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    main()
