"""How close the bounds of audits come to the truth: the mean of seeded audits of every mechanism at epsilon 1.

With `--figure FILE` it draws the picture of the docs instead: an audit of the unary client that lets a bit stand.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from statistics import mean
from typing import Any

import sottovoce as sv
from sottovoce.estimates.render import text_table

SAMPLES = (10_000, 100_000, 1_000_000)
CASES: list[tuple[sv.Mechanism, Any, Any]] = [
    (sv.RandomizedResponse(1.0), False, True),
    (sv.KRR(3, 1.0), 0, 1),
    (sv.KRR(16, 1.0), 0, 1),
    (sv.KRR(1024, 1.0), 0, 1),
    (sv.Unary(16, 1.0), 0, 1),
    (sv.Unary(1024, 1.0), 0, 1),
    (sv.LocalHash(1024, 1.0), 0, 1),
    (sv.Subset(100, 1.0), 0, 1),
    (sv.Hadamard(1024, 1.0), 0, 1),
    (sv.Projective(1024, 1.0), 0, 1),
    (sv.Mean(0, 1, 1.0), 0.0, 1.0),
    (sv.SquareWave(0, 1, epsilon=1.0), 0.0, 1.0),
    (sv.Ranges(100, 1.0), 0, 99),
    (sv.Sets(10, 1.0), [], list(range(10))),
    (sv.KeyValue(4, 0, 1, epsilon=1.0), {}, {0: 1, 1: 1, 2: 1, 3: 1}),
    (sv.Several({"a": 3, "b": 4}, 1.0), (0, 0), (2, 3)),
]


def row(m: sv.Mechanism, x0: Any, x1: Any, runs: int) -> list[str]:
    bounds = [mean(sv.audit(m, x0, x1, n, seed=seed).epsilon_lower for seed in range(runs)) for n in SAMPLES]
    return [repr(m), *(f"{bound:.3f}" for bound in bounds)]


def leaky(answer: int, p: float = 0.5, q: float = 0.2689) -> list[int]:
    """Optimal unary encoding of three values that does not clear the true bit before it is drawn."""
    bits = [int(random.random() < q) for _ in range(3)]
    bits[answer] |= random.random() < p
    return bits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="seeded audits for each number")
    parser.add_argument("--figure", type=Path, metavar="FILE")
    args = parser.parse_args()
    if args.figure:
        random.seed(1)
        figure: Any = sv.audit(leaky, 0, 1, samples=20_000, seed=1, claimed=1.0).plot().get_figure()
        figure.savefig(args.figure, metadata={"Date": None})
        return
    print(f"The mean bound of {args.runs} audits at 99% confidence, by samples of each answer; the truth is 1\n")
    print(text_table(["mechanism", *(f"{n:,}" for n in SAMPLES)], [row(*case, args.runs) for case in CASES]))


if __name__ == "__main__":
    main()
