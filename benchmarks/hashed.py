"""What cohorts do for hashed values, how well intervals hold, and how long a million candidates take.

Run `python benchmarks/hashed.py`; it prints the tables of docs/mechanisms/hashed.md and draws its figure. All but the
times are seeded.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.core.hashing import Hashes
from sottovoce.core.lazy import load
from sottovoce.estimates.render import ACCENT, INK, TRUTH, text_table
from sottovoce.mechanisms import Bloom

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "hashed-cohorts.svg"
N, EPSILON = 20_000, 4.0
COHORTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
COLOURS = {16: TRUTH, 64: ACCENT, 1024: INK}
Floats = NDArray[np.float64]


def zipf(values: int, exponent: float = 1.1) -> Floats:
    weights = 1 / np.arange(1, values + 1) ** exponent
    shares: Floats = weights / weights.sum()
    return shares


def answers(n: int, values: int) -> tuple[list[str], Floats]:
    """The same answers for all, with frequencies by Zipf's law as near as whole numbers come, and their shares."""
    counts = np.floor(zipf(values) * n).astype(int)
    counts[0] += n - counts.sum()
    return [f"word {i}" for i, count in enumerate(counts) for _ in range(count)], counts / n


def rare_error(buckets: int, cohorts: int, runs: int) -> tuple[float, float]:
    """The root mean square error of values that nobody holds, measured over salts, and by the formula."""
    rows, shares = answers(N, 1000)
    squares = []
    for run in range(runs):
        m = sv.Hashed("unary", buckets, cohorts, EPSILON, salt=f"{run}")
        tally = m.tally().add_many(m.randomize_many(rows, seed=run))
        squares.append((tally.estimate(values=[f"nobody {i}" for i in range(2000)]).frequency ** 2).mean())
    return math.sqrt(np.mean(squares)), m.stderr(N, float((shares**2).sum()))


def full_collisions(buckets: int, cohorts: int, values: int = 4000) -> float:
    """The share of pairs of values that have the same buckets in all cohorts."""
    hashes = Hashes("pairs", buckets, cohorts)
    codes = hashes.fingerprints([f"{i}".encode() for i in range(values)])
    places = np.stack([hashes.all_buckets(codes, cohort) for cohort in range(cohorts)], axis=1)
    _, counts = np.unique(places, axis=0, return_counts=True)
    return float((counts * (counts - 1.0)).sum() / (values * (values - 1.0)))


def errors_table() -> dict[int, list[tuple[float, float]]]:
    found = {buckets: [rare_error(buckets, cohorts, 20) for cohorts in COHORTS] for buckets in COLOURS}
    rows = [
        [f"{cohorts}", *(f"{found[b][at][0]:.5f} ({found[b][at][1]:.5f})" for b in COLOURS)]
        for at, cohorts in enumerate(COHORTS)
    ]
    print(text_table(["cohorts", *(f"{buckets} buckets" for buckets in COLOURS)], rows), end="\n\n")
    return found


def collisions_table() -> None:
    rows = [[f"{m}", f"{k}", f"{full_collisions(m, k):.3g}", f"{m**-k:.3g}"] for m in (2, 4, 16) for k in (1, 2, 4)]
    print(text_table(["buckets", "cohorts", "measured", "m^-k"], rows), end="\n\n")


def coverage(make: Callable[[str], Any], method: str, n: int, runs: int) -> list[str]:
    """How often 95% intervals hold, for frequent values, for rare ones, and for values that nobody holds."""
    rows, shares = answers(n, 50)
    asked = [f"word {i}" for i in range(5)] + [f"word {i}" for i in range(40, 45)] + [f"nobody {i}" for i in range(5)]
    truth = np.array([*shares[:5], *shares[40:45], *[0.0] * 5])
    held = np.zeros(15)
    for run in range(runs):
        m = make(f"{run}")
        e = m.tally().add_many(m.randomize_many(rows, seed=run)).estimate(values=asked, method=method)
        low, high = e.interval()
        held += (low <= truth) & (truth <= high)
    parts = held.reshape(3, 5).mean(axis=1) / runs
    return [repr(make("")), method, f"{n:,}", *(f"{part:.3f}" for part in parts)]


def coverage_table(runs: int = 300) -> None:
    makers: list[Callable[[str], Any]] = [
        lambda salt: sv.Hashed("krr", 8, 4, 2.0, salt=salt),
        lambda salt: sv.Hashed("unary", 32, 8, 1.0, salt=salt),
        lambda salt: sv.Hashed("hadamard", 255, 16, 4.0, salt=salt),
        lambda salt: Bloom(64, 2, 16, 6.0, salt=salt),
    ]
    rows = [coverage(make, method, 3000, runs) for make in makers for method in ("mean", "regression")]
    print(text_table(["mechanism", "method", "n", "frequent", "rare", "nobody's"], rows), end="\n\n")


def decoding_table() -> None:
    """Processor time: the machine is shared."""
    values = [f"candidate {i}" for i in range(10**6)]
    rows = []
    for buckets in (1024, 1000):
        m = sv.Hashed("hadamard", buckets, 64, 2.0)
        tally = m.tally().add_many(m.randomize_many(["tea"] * 10_000, seed=1))
        data = m.domain.encode_many(values)
        stops = [time.process_time()]
        codes = m.hashing.fingerprints(data)
        stops.append(time.process_time())
        m.hashing.look_up(np.ones((64, buckets)), codes)
        stops.append(time.process_time())
        tally.estimate(values=values)
        stops.append(time.process_time())
        rows.append([f"{buckets}", *(f"{seconds:.2f}" for seconds in np.diff(stops))])
    print(text_table(["buckets", "fingerprints", "look-up", "estimate, all in all"], rows), end="\n\n")


def draw(found: dict[int, list[tuple[float, float]]]) -> None:
    figure = load("matplotlib.figure").Figure(figsize=(7, 3.2), layout="constrained")
    load("matplotlib.backends.backend_svg").FigureCanvasSVG(figure)
    left, right = figure.subplots(1, 2)
    for buckets, colour in COLOURS.items():
        measured, formula = zip(*found[buckets], strict=True)
        left.plot(COHORTS, formula, color=colour, label=f"{buckets:,} buckets")
        left.plot(COHORTS, measured, "o", color=colour, markersize=4)
    left.set(xscale="log", yscale="log", xlabel="cohorts", ylabel="error of a rare value")
    left.set_xticks((1, 4, 16, 64, 256), ("1", "4", "16", "64", "256"))
    left.set_yticks((0.002, 0.005, 0.01, 0.02, 0.05), ("0.002", "0.005", "0.01", "0.02", "0.05"))
    left.minorticks_off()
    left.set_title(f"n = {N:,}, epsilon = {EPSILON:g}", loc="left", fontsize="medium", color=INK)
    left.legend(frameon=False, fontsize="small")
    few = (1, 2, 3, 4, 5, 6)
    for buckets, colour in {2: TRUTH, 4: ACCENT, 16: INK}.items():
        shown = [k for k in few if buckets**k < 2e5]
        right.plot(shown, [float(buckets) ** -k for k in shown], color=colour, label=f"{buckets} buckets")
        right.plot(shown, [full_collisions(buckets, k) for k in shown], "o", color=colour, markersize=4)
    right.set(yscale="log", xlabel="cohorts", ylabel="pairs with all buckets alike")
    right.set_title("formula (lines) and measured (dots)", loc="left", fontsize="medium", color=INK)
    right.legend(frameon=False, fontsize="small")
    for ax in (left, right):
        ax.grid(color="#e2e8f0", linewidth=0.8)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    found = errors_table()
    collisions_table()
    coverage_table()
    decoding_table()
    draw(found)


if __name__ == "__main__":
    main()
