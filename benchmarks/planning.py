"""The figures of docs/planning.md, and how often estimates from as many people as planned keep to their margin.

`python benchmarks/planning.py` draws the figures; `--table` measures as well, in 100,000 simulated surveys a row.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import sottovoce as sv
from sottovoce.estimates.render import text_table
from sottovoce.statistics.planning import Plan
from sottovoce.statistics.planning.terms import METHODS

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
SURVEYS = 100_000
DESIGNS = ("warner:3/4", "forced:4/6,1/6,1/6", "unrelated:0.7,0.25", "crosswise:1/4")


def draw() -> None:
    plan = sv.plan("warner", epsilon=1.0, margin=0.03)
    power = sv.plan("warner", epsilon=1.0, proportion=0.2, effect=0.05, power=0.8, test="groups")
    charts = {"plan": plan.plot(), "plan-heatmap": plan.heatmap(), "plan-power": power.plot()}
    with matplotlib.rc_context({"svg.hashsalt": "planning"}):  # The same figure is the same file.
        for name, axes in charts.items():
            figure: Any = axes.get_figure()
            figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None}, dpi=150)


def kept(plan: Plan, proportion: float) -> float:
    """The share of surveys whose estimate is within the margin of the population's proportion."""
    p, q = float(plan.p or 0), float(plan.q or 0)
    yes = np.random.default_rng(1).binomial(plan.n, q + (p - q) * proportion, SURVEYS)
    return float(np.mean(np.abs((yes / plan.n - q) / (p - q) - proportion) <= plan.margin))


def table() -> str:
    rows = []
    for design in DESIGNS:
        for method in METHODS:
            plan = sv.plan(design, margin=0.05, method=method)
            rows.append([design, method, f"{plan.n:,}", *(f"{100 * kept(plan, f):.2f}" for f in (0.05, 0.2, 0.5))])
    return text_table(["design", "method", "n", "% kept at 0.05", "at 0.2", "at 0.5"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="measure, and print the table")
    draw()
    if parser.parse_args().table:
        print(table())
