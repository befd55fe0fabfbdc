"""What mechanisms cost over time, and how they err: the tables of docs/over-time.md.

`python benchmarks/over_time.py` prints them in a few seconds. All of them may cost 2 for any number of reports of one
unchanged value; fresh noise cannot, and stands beside them with 1 a report, and with 2 for a hundred. The error is the
standard error of a frequency in one wave from 10,000 people, averaged over the values (and waves); it is declared, and
beside it measured in seeded surveys of one wave (all waves for `Changes`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.core.privacy import exp_below
from sottovoce.estimates.render import text_table
from sottovoce.mechanisms.longitudinal.base import Longitudinal

N, WAVES, D, RUNS = 10_000, 128, 16, 150
F = 2 / (1 + exp_below(1.0))
"""RAPPOR's f for which the permanent answer costs 2."""
TWO: dict[str, Any] = {"permanent": 2.0, "first": 1.0}

CHOICES: dict[str, Any] = {
    "fresh subset, 1 each": sv.Subset(D, 1.0),
    "fresh subset, 0.02 each": sv.Subset(D, 0.02),
    "memoized krr": sv.Memoized.of(D, "krr", **TWO),
    "memoized unary": sv.Memoized.of(D, "unary", **TWO),
    "RAPPOR, p 1/2, q 3/4": sv.Memoized.rappor(D, f=F, p=Fraction(1, 2), q=Fraction(3, 4)),
    "LOLOHA, 4 buckets": sv.Memoized.loloha(D, **TWO),
    "LOLOHA, 2 buckets": sv.Memoized.loloha(D, **TWO, kind="binary"),
    "1-bit flip": sv.DBitFlip(D, 2.0, sampled=1),
    "4-bit flip": sv.DBitFlip(D, 2.0, sampled=4),
    "16-bit flip": sv.DBitFlip(D, 2.0, sampled=16),
}
ANSWERS: dict[str, Any] = {
    "fresh rr, 1 each": sv.RandomizedResponse(1.0),
    "fresh rr, 0.02 each": sv.RandomizedResponse(0.02),
    "memoized rr, first 1": sv.Memoized.of([False, True], "rr", **TWO),
    "memoized rr, first 0.2": sv.Memoized.of([False, True], "rr", permanent=2.0, first=0.2),
    "Changes, at most 1": sv.Changes(WAVES, 1, 2.0),
    "Changes, at most 5": sv.Changes(WAVES, 5, 2.0),
    "Changes, at most 20": sv.Changes(WAVES, 20, 2.0),
}


def costs(m: Any) -> list[float]:
    """After 1, 10 and 100 reports without a change; after 100 with 1, 5 and 20 changes; for any two histories."""
    if not isinstance(m, Longitudinal):
        return [k * m.epsilon for k in (1, 10, 100, 100, 100, 100, 100)]
    still = [m.epsilon_over(k) for k in (1, 10, 100)]
    return [*still, *(m.epsilon_over(100, c) for c in (1, 5, 20)), m.epsilon_pattern(100)]


def declared(m: Any) -> float:
    if isinstance(m, sv.Changes):
        runs = np.mean([wave.bit_count() for wave in range(1, WAVES + 1)])
        return math.sqrt(float(runs) * m.orders / N) / m._shrinkage
    return math.sqrt(m.variance / N)


def measured(m: Any) -> float:
    """The root of the mean squared error about the respondents, all values as frequent."""
    if isinstance(m, sv.Changes):
        return measured_over_time(m)
    codes = np.arange(N) % m.domain.size
    values = codes if m.domain.size > 2 else codes.astype(bool)
    truth = np.bincount(codes, minlength=m.domain.size) / N
    tallies = (m.tally().add_many(m.randomize_many(values, seed=seed)) for seed in range(RUNS))
    return math.sqrt(np.mean([(tally.estimate().frequency - truth) ** 2 for tally in tallies]))


def measured_over_time(m: sv.Changes) -> float:
    """Everybody changes at most once: half of all people at some wave, each wave as likely."""
    changed = np.arange(WAVES) >= (np.arange(N) % (2 * WAVES))[:, None]
    errors = []
    for seed in range(12):
        waves = m.randomize_waves(list(changed.T), seed=seed)
        estimate = m.over_time([m.tally().add_many(wave) for wave in waves])
        errors.append(estimate.frequency - changed.mean(axis=0))
    return math.sqrt(np.mean(np.square(errors)))


def table(cases: dict[str, Any]) -> str:
    header = ["", "1", "10", "100", "1 change", "5", "20", "any", "error", "measured", "bits"]
    rows = [
        [name, *(f"{cost:.4g}" for cost in costs(m)), f"{declared(m):.4f}", f"{measured(m):.4f}", f"{m.bits}"]
        for name, m in cases.items()
    ]
    return text_table(header, rows)


def main() -> None:
    print(f"one of {D} values\n{table(CHOICES)}\n")
    print(f"yes or no, {WAVES} waves\n{table(ANSWERS)}")


if __name__ == "__main__":
    main()
