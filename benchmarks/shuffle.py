"""The accounting of shuffled batches: known points, the bounds from both sides, and how long each takes.

`python benchmarks/shuffle.py` prints the tables of docs/shuffle.md and draws docs/figures/shuffle.svg. Times are those
of the processor, for the upper bound and for both; published code takes 5 to 60 seconds for each such point.
"""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import matplotlib as mpl

import sottovoce as sv
from sottovoce.estimates.render import text_table
from sottovoce.trust import BinarySum, DiscreteLaplace, RealSum, ShuffledHistogram
from sottovoce.trust.shuffle.bounds import AccountedBatch, Bound
from sottovoce.trust.shuffle.pairs import two_level

DELTA = 1e-6
FIGURES = Path(__file__).parents[1] / "docs" / "figures"
POINTS = {
    (1.0, 10**4): (0.0530, 0.0432, 0.03566, 0.0186),
    (1.0, 10**6): (0.004335, 0.003514, 0.002849, 0.001471),
    (4.0, 10**4): (0.6009, 0.4108, 0.3146, 0.3617),
}


def accounting() -> None:
    rows = []
    for (epsilon, n), known in POINTS.items():
        binary, many = sv.KRR(2, epsilon=epsilon), sv.KRR(16, epsilon=epsilon)
        targets = [
            ("any mechanism, clones", epsilon),
            ("2-RR, blanket", None),
            ("2-RR, exact", binary),
            ("16-RR", many),
        ]
        for (name, target), value in zip(targets, known, strict=True):
            if target is None:
                rows.append([f"{epsilon:g}", f"{n:,}", name, f"{value:g}", *_blanket(binary, n, epsilon)])
                continue
            start, batch = process_time(), AccountedBatch(target, n, DELTA)
            upper, _ = batch.upper()
            middle = process_time()
            lower = batch.lower(upper)
            times = [f"{middle - start:.2f} s", f"{process_time() - start:.2f} s"]
            rows.append([f"{epsilon:g}", f"{n:,}", name, f"{value:g}", f"{upper:.5g}", f"{lower:.5g}", *times])
    print(text_table(["epsilon0", "n", "bound", "known", "upper", "lower", "time", "both"], rows), end="\n\n")


def _blanket(m: sv.KRR, n: int, epsilon: float) -> list[str]:
    structure = two_level(m)
    assert structure
    pair, start = structure.blanket(), process_time()

    def curve(at: float) -> float:
        return pair.upper(n, at)

    upper = Bound("blanket", curve, curve, pair.shift(n)).epsilon(DELTA, epsilon)
    return [f"{upper:.5g}", "", f"{process_time() - start:.2f} s", ""]


def mechanisms() -> None:
    rows = []
    for kind in (sv.KRR, sv.Subset, sv.Projective, sv.LocalHash, sv.Unary, sv.Hadamard):
        start = process_time()
        found = sv.shuffle_epsilon(kind(16, epsilon=1.0), 10**4, DELTA)
        rows.append([kind.__name__, f"{found.upper:.5f}", f"{found.lower:.5f}", f"{process_time() - start:.2f} s"])
    print(text_table(["16 values, epsilon0 = 1, n = 10,000", "upper", "lower", "time"], rows), end="\n\n")


def protocols() -> None:
    rows = []
    for n in (10**3, 10**4, 10**5):
        start = process_time()
        yes, real, histogram = BinarySum(1.0, n=n), RealSum(0, 1, 1.0, n=n), ShuffledHistogram(10, 1.0, n)
        local = (sv.KRR(2, epsilon=1.0).variance * n) ** 0.5
        errors = [
            yes.estimate(0, n).stderr,
            real.estimate(0, n).stderr,
            histogram.stderr * n,
            DiscreteLaplace(1.0).stderr,
        ]
        told = [f"{yes.p:.5f}", f"{real.messages}", *(f"{error:.1f}" for error in [*errors, local])]
        rows.append([f"{n:,}", *told, f"{process_time() - start:.1f} s"])
    header = ["n", "p", "messages", "yes", "number", "histogram", "curator's yes", "local yes", "time"]
    print(text_table(header, rows), end="\n\n")


def figure() -> None:
    curve = sv.error_curve(10, 1.0, models=["central", "shuffle", "local"], runs=200, seed=1)
    print(curve)
    drawn: Any = curve.plot().get_figure()
    with mpl.rc_context({"svg.hashsalt": "sottovoce"}):
        drawn.savefig(FIGURES / "shuffle.svg", metadata={"Date": None})


if __name__ == "__main__":
    sv.shuffle_epsilon(sv.KRR(3, epsilon=1.0), 10, DELTA)  # Loads what is loaded on first use.
    accounting()
    mechanisms()
    protocols()
    figure()
