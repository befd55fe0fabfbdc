"""The largest error in a histogram, told and measured: the table and the figure of docs/tests.md.

`python benchmarks/max_error.py` prints the table and draws docs/figures/max-error.svg, in about a minute.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sottovoce as sv
from sottovoce.estimates.frequencies import quantile
from sottovoce.estimates.render import text_table
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics import max_error

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "max-error.svg"
N, EPSILON = 10_000, 1.0
SIZES = {2: 400, 4: 400, 16: 400, 64: 200, 256: 100, 1024: 40, 4096: 20}
"""For each size of the domain: seeded surveys of N people."""
GROWTH = [(64, 10**4, 1.0), (64, 10**6, 1.0), (4096, 10**6, 1.0), (4096, 10**6, 0.25), (2**20, 10**8, 0.5)]
TOLD = [2, 3, 4, 6, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576]


def measured(m: Pure, runs: int) -> float:
    """The mean of the largest error about the respondents, all values as frequent as can be."""
    values = np.arange(N) % m.domain.size
    truth = np.bincount(values, minlength=m.domain.size) / N
    tallies = (m.tally().add_many(m.randomize_many(values, seed=seed)) for seed in range(runs))
    return float(np.mean([np.abs(tally.estimate().unbiased - truth).max() for tally in tallies]))


def row(size: int, runs: int) -> list[str]:
    m = sv.choose(size, EPSILON, max_bits=64)
    told, mean = max_error(m, N), measured(m, runs)
    return [
        f"{size:,}",
        m.name,
        f"{mean:.4f}",
        f"{told.expected:.4f}",
        f"{told.rule:.4f}",
        f"{told.bound:.4f}",
        f"{quantile(0.95 ** (1 / size)):.3f}",
        f"{quantile(0.95, size):.3f}",
    ]


def draw() -> None:
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    ax = figure.subplots()
    colours = {0.5: "#b45309", 1.0: "#0f766e", 2.0: "#334155"}
    for epsilon, colour in colours.items():
        told = [max_error(sv.choose(size, epsilon, max_bits=64), N).expected for size in TOLD]
        ax.plot(TOLD, told, color=colour, label=f"epsilon = {epsilon:g}")
        sizes = [size for size in SIZES if size <= 256]
        found = [measured(sv.choose(size, epsilon, max_bits=64), 60) for size in sizes]
        ax.plot(sizes, found, "o", color=colour, markersize=4)
    ax.set_xscale("log", base=2)
    ax.set_ylim(0)
    ax.set_xlabel("values in the domain, D")
    ax.set_ylabel("largest error of a frequency")
    ax.set_title(f"expected (lines) and measured (dots), n = {N:,}", loc="left", fontsize="medium", color="#334155")
    ax.legend(frameon=False)
    ax.grid(color="#e2e8f0", linewidth=0.8)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    figure.savefig(FIGURE, metadata={"Date": None})


def growth() -> None:
    """In counts, the largest error over sqrt(n ln D) / epsilon: nearly constant, as theory says."""
    rows = []
    for size, n, epsilon in GROWTH:
        people = n * max_error(sv.choose(size, epsilon, max_bits=64), n).expected
        ratio = people * epsilon / math.sqrt(n * math.log(size))
        rows.append([f"{size:,}", f"{n:,}", f"{epsilon:g}", f"{people:,.0f}", f"{ratio:.2f}"])
    print(text_table(["D", "n", "epsilon", "people", "people epsilon / sqrt(n ln D)"], rows))


def main() -> None:
    header = ["D", "mechanism", "measured", "expected", "rule", "95% bound", "Sidak z", "Bonferroni z"]
    print(text_table(header, [row(size, runs) for size, runs in SIZES.items()]))
    print()
    growth()
    draw()


if __name__ == "__main__":
    main()
