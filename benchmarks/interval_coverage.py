"""How often the intervals for a proportion hold the truth, and how wide they are: exactly, and in seeded runs.

    .venv/bin/python benchmarks/interval_coverage.py [--runs R]

The answers of n respondents are binomial, so that the coverage of a method is a sum over the n + 1 numbers of yes: no
simulation is needed. Tables are for Warner's design at several epsilons (infinite: everybody tells the truth) and for a
95% interval. A few cells are run R times as well, from the randomizer to the interval, as a check of the sum.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from sottovoce import designs
from sottovoce.estimates.render import text_table
from sottovoce.statistics.proportions import intervals
from sottovoce.statistics.proportions.intervals import METHODS

SHARES = (0.0, 0.01, 0.05, 0.1, 0.3, 0.5)
SIZES = (50, 200, 1000)
EPSILONS = (0.5, 1.0, 2.0, 4.0, math.inf)
GRID = np.linspace(0, 1, 401)
LEVEL = 0.95
OTHERS: tuple[designs.Binary, ...] = (
    designs.Forced(0.7, 0.2, 0.1),
    designs.Unrelated(0.7, 0.25),
    designs.Kuk(0.6, 0.2),
    designs.Crosswise("1/4"),
    designs.Triangular("1/4"),
)
CELLS = ((0.0, 50, 0.5), (0.01, 50, 4.0), (0.05, 200, 1.0), (0.1, 200, 2.0), (0.5, 1000, 1.0))


def chances(epsilon: float) -> tuple[float, float]:
    p = 1.0 if math.isinf(epsilon) else float(designs.Warner.from_epsilon(epsilon).p)
    return p, 1 - p


def study(method: str, n: int, law_of: tuple[float, float], shares: NDArray[np.float64]) -> tuple[Any, Any, float]:
    """For each true share the coverage and the mean width; and how often the interval is a point if the share is 0."""
    p, q = law_of
    yes = np.arange(n + 1)
    low, high = intervals.interval(method, yes, n, p, q, LEVEL)
    law = binom.pmf(yes, n, (q + (p - q) * shares)[:, None])
    held = (low <= shares[:, None] + 1e-12) & (shares[:, None] <= high + 1e-12)
    points = float(binom.pmf(yes, n, q)[high - low < 1e-9].sum())
    return (law * held).sum(axis=1), law @ (high - low), points


def cells_table(method: str) -> str:
    """Coverage of one method in every cell."""
    rows = []
    for epsilon in EPSILONS:
        for n in SIZES:
            covered, _, _ = study(method, n, chances(epsilon), np.array(SHARES))
            rows.append([f"{epsilon:g}", f"{n:,}", *(f"{100 * share:.1f}" for share in covered)])
    return text_table(["epsilon", "n", *(f"pi = {share:g}" for share in SHARES)], rows)


def methods_table() -> str:
    """For each method and epsilon: mean and least coverage over 401 shares, single points, mean width at n = 200."""
    rows = []
    for epsilon in EPSILONS:
        for method in METHODS:
            results = {n: study(method, n, chances(epsilon), GRID) for n in SIZES}
            means = [f"{100 * results[n][0].mean():.1f}" for n in SIZES]
            least = [f"{100 * results[n][0].min():.1f}" for n in SIZES]
            points = f"{100 * max(results[n][2] for n in SIZES):.1f}"
            width = study(method, 200, chances(epsilon), np.array([0.05]))[1][0]
            rows.append([f"{epsilon:g}", method, *means, *least, points, f"{width:.3f}"])
    header = ["epsilon", "method", *(f"mean {n}" for n in SIZES), *(f"least {n}" for n in SIZES), "points", "width"]
    return text_table(header, rows)


def designs_table() -> str:
    """Mean and least coverage over 401 shares under designs that treat yes and no unlike."""
    rows = []
    for design in OTHERS:
        for method in ("unified", "wilson", "mid-p"):
            covered = [study(method, n, (float(design.p), float(design.q)), GRID)[0] for n in SIZES]
            shown = [f"{100 * values.mean():.1f}" for values in covered] + [
                f"{100 * values.min():.1f}" for values in covered
            ]
            rows.append([repr(design), method, *shown])
    return text_table(["design", "method", *(f"mean {n}" for n in SIZES), *(f"least {n}" for n in SIZES)], rows)


def simulated(share: float, n: int, epsilon: float, runs: int, seed: int = 1) -> dict[str, float]:
    """The share of runs whose interval holds the truth: truths drawn, answers randomized by the design, estimated."""
    design = designs.Warner.from_epsilon(epsilon)
    truths = np.random.default_rng(seed).random(runs * n) < share
    yes = design.simulate(truths, seed).reshape(runs, n).sum(axis=1)
    held = {}
    for method in METHODS:
        ends = {int(k): design.estimate_counts(int(k), n).interval(LEVEL, method) for k in np.unique(yes)}
        held[method] = float(np.mean([ends[int(k)].low <= share <= ends[int(k)].high for k in yes]))
    return held


def check_table(runs: int) -> str:
    """Simulated coverage beside the exact one."""
    rows = []
    for share, n, epsilon in CELLS:
        drawn = simulated(share, n, epsilon, runs)
        for method in METHODS:
            exact = study(method, n, chances(epsilon), np.array([share]))[0][0]
            rows.append(
                [f"{share:g}", f"{n:,}", f"{epsilon:g}", method, f"{100 * drawn[method]:.1f}", f"{100 * exact:.1f}"]
            )
    return text_table(["pi", "n", "epsilon", "method", "runs", "exact"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    options = parser.parse_args()
    print("Coverage of 95% intervals, in percent: mean and least over 401 shares from 0 to 1, for three n;")
    print("how often an interval is a single point if nobody holds yes (the worst of the three n);")
    print("the mean width at n = 200 and a share of 0.05.\n")
    print(methods_table())
    for method in METHODS:
        print(f"\nCoverage of {method} in percent, cell by cell\n")
        print(cells_table(method))
    print("\nOther designs: mean and least coverage over 401 shares, in percent\n")
    print(designs_table())
    print(f"\n{options.runs:,} seeded runs beside the exact coverage, in percent\n")
    print(check_table(options.runs))


if __name__ == "__main__":
    main()
