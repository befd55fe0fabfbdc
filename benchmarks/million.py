"""A million reports over 2^20 values: randomized with secure randomness, counted and decoded for all values."""

from __future__ import annotations

import resource
from multiprocessing import get_context
from time import perf_counter

import numpy as np

import sottovoce as sv
from sottovoce.estimates.render import text_table
from sottovoce.mechanisms.frequency.subset import least_variance

DOMAIN, N, TIMEOUT = 2**20, 1_000_000, 300
HEADER = ["eps", "chosen", "bits", "randomize", "count", "decode", "seconds", "peak MB", "MSE/theory", "theory/least"]


def run(epsilon: float) -> list[str]:
    m = sv.choose(DOMAIN, epsilon)
    answers = (np.random.default_rng(1).zipf(1.3, N) - 1) % DOMAIN
    times = [perf_counter()]
    reports = m.randomize_many(answers)
    times.append(perf_counter())
    tally = m.tally().add_many(reports)
    times.append(perf_counter())
    frequency = tally.estimate().frequency
    times.append(perf_counter())
    error = float(((frequency - np.bincount(answers, minlength=DOMAIN) / N) ** 2).mean())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    parts = [f"{seconds:.2f}" for seconds in np.diff(times)]
    ratios = [f"{error * N / m.variance:.3f}", f"{m.variance / least_variance(DOMAIN, epsilon):.3f}"]
    return [f"{epsilon:g}", m.name, str(m.bits), *parts, f"{times[-1] - times[0]:.2f}", f"{peak:,.0f}", *ratios]


def main() -> None:
    rows = []
    for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0):
        with get_context("spawn").Pool(1) as pool:  # A process each, so that the peak of memory is its own.
            rows.append(pool.apply_async(run, (epsilon,)).get(TIMEOUT))
    print(text_table(HEADER, rows))


if __name__ == "__main__":
    main()
