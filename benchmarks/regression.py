"""How well regression recovers coefficients behind randomized answers: bias, errors, coverage and time, in seeded runs.

    .venv/bin/python benchmarks/regression.py [--runs R]

The model is y ~ a + b with a public number b, a yes-or-no `a` that depends on it, and coefficients -0.5, 1 and 0.7. The
rows tell of the coefficient of `a`; runs without a finite estimate are counted, and left out of the rest. "as told"
takes the answers for the truth. The second table is of linear regression on a randomized `a` that one in ten has, with
an effect of 0.5 and errors of standard deviation 1, at n = 5,000.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy.special import expit

import sottovoce as sv
from sottovoce.estimates.render import text_table
from sottovoce.statistics.regression.compare import profile

BETA = (-0.5, 1.0, 0.7)
CASES = {"outcome": ("y",), "predictor": ("a",), "both": ("y", "a")}
SIZES = (300, 1000, 4000)
SEED = 1
HEIGHT = 1.959964**2 / 2


def told(truth: Any, design: Any, rng: np.random.Generator) -> Any:
    if design is None:
        return truth.astype(int)
    return (rng.random(truth.size) < np.where(truth, float(design.p), float(design.q))).astype(int)


def people(n: int, designs: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    b = rng.normal(size=n)
    a = rng.random(n) < expit(0.5 * b)
    y = rng.random(n) < expit(BETA[0] + BETA[1] * a + BETA[2] * b)
    return {"b": b, "a": told(a, designs.get("a"), rng), "y": told(y, designs.get("y"), rng)}


def study(case: str, n: int, design: Any, runs: int) -> list[str]:
    designs, rng = dict.fromkeys(CASES[case], design), np.random.default_rng(SEED)
    found, inside, profiled, plain, seconds, lost = [], [], [], [], 0.0, 0
    for _ in range(runs):
        frame = people(n, designs, rng)
        start = time.process_time()
        result = sv.logistic("y ~ a + b", frame, designs)
        seconds += time.process_time() - start
        plain.append(sv.logistic("y ~ a + b", frame).params["a"])
        if not result.converged:
            lost += 1
            continue
        found.append((result.params["a"], result.stderr["a"]))
        low, high = (end.iloc[1] for end in result.interval())
        inside.append(low <= BETA[1] <= high)
        low, high = profile(result.model, result.fit, 1, result.stderr["a"], HEIGHT)
        profiled.append(low <= BETA[1] <= high)
    estimates, errors = np.array(found).T
    return [
        case, f"{n:,}", f"{lost}", f"{np.median(estimates):.3f}", f"{estimates.std():.3f}", f"{np.median(errors):.3f}",
        f"{np.mean(inside):.3f}", f"{np.mean(profiled):.3f}", f"{np.mean(plain):.3f}", f"{1000 * seconds / runs:.1f}",
    ]  # fmt: skip


def linear(law: str, errors: str | None, design: Any, runs: int) -> list[str]:
    rng, n = np.random.default_rng(SEED), 5000
    found = []
    for _ in range(runs):
        a = rng.random(n) < 0.1
        noise = rng.normal(size=n) if law == "normal" else rng.exponential(size=n)
        frame = {"a": told(a, design, rng), "y": 0.5 * a + noise}
        result = sv.linear("y ~ a", frame, {"a": design}, errors=errors) if errors else sv.linear("y ~ a", frame)
        found.append((result.params["a"], result.stderr["a"]))
    estimates, stderr = np.array(found).T
    held = np.mean(np.abs(estimates - 0.5) <= 1.959964 * stderr)
    name = f'errors="{errors}"' if errors else "as told"
    return [
        f"{law}, {name}",
        f"{estimates.mean():.3f}",
        f"{estimates.std():.3f}",
        f"{stderr.mean():.3f}",
        f"{held:.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    design = sv.designs.Warner("4/5")
    print(f"{design!r}, epsilon {design.epsilon:.4f} for each randomized variable; {runs} runs a row\n")
    header = [
        "randomized",
        "n",
        "lost",
        "median",
        "std. dev.",
        "median err.",
        "Wald 95%",
        "LR 95%",
        "as told",
        "ms",
    ]
    rows = [study(case, n, design, runs) for case in CASES for n in SIZES]
    print(text_table(header, rows) + "\n")
    kinds = [(law, errors) for law in ("normal", "skewed") for errors in ("any", "normal", None)]
    rows = [linear(law, errors, design, runs // 4) for law, errors in kinds]
    print(text_table(["linear", "mean", "std. dev.", "mean err.", "Wald 95%"], rows))


if __name__ == "__main__":
    main()
