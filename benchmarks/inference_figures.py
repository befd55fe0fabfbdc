"""The figures of docs/likelihood.md and docs/tests.md.

`python benchmarks/inference_figures.py` draws docs/figures/profile.svg, surface.svg and sequence.svg.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.statistics import ConfidenceSequence

FIGURES = Path(__file__).parents[1] / "docs" / "figures"


def watched() -> ConfidenceSequence:
    """A survey of 6,000 answers with a true proportion of 0.3, looked at after every 20."""
    rng, watch = np.random.default_rng(3), ConfidenceSequence(0.75, 0.25)
    for yes in rng.binomial(20, 0.25 + 0.5 * 0.3, 300):
        watch.update(int(yes), 20)
    return watch


def main() -> None:
    fit = sv.likelihood(sv.KRR(["bus", "car", "bike"], p=0.6), [520, 260, 220])
    axes: dict[str, Any] = {
        "profile": fit.plot("bike"),
        "surface": fit.surface(),
        "sequence": watched().plot(truth=0.3),
    }
    for name, ax in axes.items():
        ax.figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
