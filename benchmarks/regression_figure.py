"""The figure of docs/regression.md: `python benchmarks/regression_figure.py` draws docs/figures/regression.svg."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import statsmodels.api as sm

import sottovoce as sv

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
FORMULA = "affair ~ rate_marriage + religious + yrs_married + age"


def main() -> None:
    people = sm.datasets.fair.load_pandas().data.assign(affair=lambda frame: frame["affairs"] > 0)
    die = sv.designs.Forced("4/6", "1/6", "1/6")
    told = people.assign(affair=die.simulate(people["affair"], seed=1))
    truth = sv.logistic(FORMULA, people).params
    ax: Any = sv.logistic(FORMULA, told, die).plot(truth=truth)
    ax.plot(sv.logistic(FORMULA, told).params[1:], range(4), "x", color="#94a3b8", label="answers taken for the truth")
    ax.legend(loc="lower left", frameon=False, fontsize="small")
    ax.figure.savefig(FIGURES / "regression.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
