"""Who wins where: the figure of the map in the docs, and the table of measured errors against the best known bound.

`python benchmarks/mechanism_map.py` draws docs/figures/choose.svg; `--table` measures as well.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

import sottovoce as sv
from sottovoce.estimates.render import text_table
from sottovoce.mechanisms.frequency.choose import CANDIDATES, choose
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.frequency.subset import least_variance

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "choose.svg"
EPSILONS = np.linspace(0.25, 8, 63)
SIZES = np.unique(np.geomspace(2, 2**20, 77).astype(int))
NAMES = ["krr", "subset", "projective", "local_hash", "hadamard", "unary"]
COLOURS = ["#0f766e", "#2dd4bf", "#f59e0b", "#b45309", "#64748b", "#cbd5e1"]
RUNS = {2: (4000, 200), 16: (1000, 500), 1024: (20, 5000), 65536: (1, 5000)}
"""For each size of the domain: seeded runs, and reports in each."""


def chosen() -> list[list[Pure]]:
    return [[choose(int(size), float(epsilon)) for epsilon in EPSILONS] for size in SIZES]


def draw() -> None:
    grid = chosen()
    winner = np.array([[NAMES.index(m.name) for m in row] for row in grid])
    bounds = np.array([[least_variance(int(size), float(epsilon)) for epsilon in EPSILONS] for size in SIZES])
    ratio = np.array([[m.variance for m in row] for row in grid]) / bounds
    figure = Figure(figsize=(9.5, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    left.pcolormesh(EPSILONS, SIZES, winner, cmap=ListedColormap(COLOURS), vmin=-0.5, vmax=5.5, rasterized=True)
    for at in sorted(set(winner.ravel())):
        left.plot([], [], "s", color=COLOURS[at], label=NAMES[at])
    left.legend(loc="lower right", fontsize="small", framealpha=0.95)
    left.set_title("The mechanism that choose takes", loc="left", fontsize="medium")
    mesh = right.pcolormesh(EPSILONS, SIZES, ratio, cmap="viridis_r", vmin=1, vmax=1.15, rasterized=True)
    right.set_title("Its variance over the least possible", loc="left", fontsize="medium")
    figure.colorbar(mesh, ax=right)
    for ax in (left, right):
        ax.set_yscale("log", base=2)
        ax.set_xlabel("epsilon")
    left.set_ylabel("values in the domain")
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None}, dpi=150)


def measured(m: Pure, runs: int, n: int) -> float:
    """The mean squared error over seeded runs, times n. The answers are spread like 1/rank."""
    weights = 1 / np.arange(1, m.domain.size + 1)
    answers = np.random.default_rng(1).choice(m.domain.size, n, p=weights / weights.sum())
    truth = np.bincount(answers, minlength=m.domain.size) / n
    reports = m.randomize_many(np.tile(answers, runs), seed=1)
    parts = (reports[at : at + n] for at in range(0, n * runs, n))
    return float(np.mean([((m.tally().add_many(p).estimate().frequency - truth) ** 2).mean() for p in parts])) * n


def table() -> str:
    """MSE over the bound by the closed form, and in brackets as measured."""
    rows = []
    for size, (runs, n) in RUNS.items():
        for epsilon in (0.5, 1.0, 2.0, 4.0):
            bound = least_variance(size, epsilon)
            made = [make(sv.Domain(size), epsilon) for make in CANDIDATES]
            cells = [f"{m.variance / bound:.3f} ({measured(m, runs, n) / bound:.3f})" for m in made]
            rows.append([f"{size:,}", f"{epsilon:g}", *cells, choose(size, epsilon).name])
    return text_table(["D", "eps", *(make.__name__ for make in CANDIDATES), "chosen"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="measure the errors and print them")
    draw()
    if parser.parse_args().table:
        print(table())
