"""The central and the local model side by side: the figures of the docs, and the table of errors over n.

`python benchmarks/trust_models.py` draws docs/figures/compare.svg and error-curve.svg, and prints the errors measured
beside the closed forms. Seeded; about half a minute.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

import sottovoce as sv
from sottovoce.trust import zipf

FIGURES = Path(__file__).parents[1] / "docs" / "figures"


def save(name: str, axes: Any) -> None:
    """Write a figure that is the same byte for byte each time."""
    with mpl.rc_context({"svg.hashsalt": "sottovoce"}):
        axes.get_figure().savefig(FIGURES / name, metadata={"Date": None})


def main() -> None:
    comparison = sv.compare(10, epsilon=1.0, n=2000, probabilities=zipf(10), runs=200, seed=1)
    print(comparison, end="\n\n")
    save("compare.svg", comparison.plot())
    for measure in ("frequency", "mean"):
        curve = sv.error_curve(epsilon=0.5, measure=measure, runs=1000 if measure == "mean" else 200, seed=1)
        print(curve, end="\n\n")
        if measure == "mean":
            save("error-curve.svg", curve.plot())


if __name__ == "__main__":
    main()
