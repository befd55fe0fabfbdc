"""Ranges by a tree beside summing the bins of the best flat mechanism, and how often the intervals cover.

    .venv/bin/python benchmarks/ranges.py [--runs R] [--coverage R]

All runs are seeded. The first table has the root mean squared error of ranges at random places, by their length; the
second the share of 95% intervals that hold the truth about the respondents.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.estimates.render import text_table

LENGTHS = tuple(2**k for k in range(11))
PLACES = 40
QUANTILES = (0.1, 0.5, 0.9)


def incomes(domain: int, n: int, seed: int = 1) -> NDArray[np.int64]:
    """Skewed answers: a lognormal cut to the domain."""
    drawn = np.random.default_rng(seed).lognormal(np.log(domain / 4), 0.6, n)
    return drawn.clip(0, domain - 1).astype(np.int64)


def cumulative(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(frequency)])


def errors(domain: int, n: int, epsilon: float, runs: int) -> list[tuple[int, float, float, float]]:
    """For each length: the error of the flat sums, that of the tree, and the tree's mean standard error as stated."""
    flat, tree = sv.choose(domain, epsilon), sv.Ranges(domain, epsilon)
    answers = incomes(domain, n)
    truth = cumulative(np.bincount(answers, minlength=domain) / n)
    squares = {length: np.zeros(3) for length in LENGTHS if length <= domain}
    for run in range(runs):
        summed = cumulative(flat.tally().add_many(flat.randomize_many(answers, seed=run)).estimate().frequency)
        estimate = tree.tally().add_many(tree.randomize_many(answers, seed=10_000 + run)).estimate()
        consistent = cumulative(estimate.frequency)
        for length, total in squares.items():
            start = np.random.default_rng(run).integers(0, domain - length + 1, PLACES)
            actual = truth[start + length] - truth[start]
            stated = estimate.ranges([(int(a), int(a) + length - 1) for a in start[:4]]).stderr
            for at, sums in enumerate((summed, consistent)):
                total[at] += np.mean((sums[start + length] - sums[start] - actual) ** 2)
            total[2] += np.mean(stated**2)
    return [(length, *np.sqrt(total / runs).tolist()) for length, total in squares.items()]


@dataclass(frozen=True)
class Case:
    """Answers whose ranges and quantiles are covered or not."""

    name: str
    domain: int
    n: int
    epsilon: float

    @property
    def answers(self) -> NDArray[np.int64]:
        if self.name == "constant":
            return np.full(self.n, self.domain // 3)
        if self.name == "rare":  # All but a few in the first quarter, and those few close to the end.
            few = max(1, self.n // 50)
            return np.where(np.arange(self.n) < few, self.domain - 3, np.arange(self.n) % (self.domain // 4))
        return incomes(self.domain, self.n)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        D = self.domain
        return [(0, D // 2), (D // 5, D // 5 + 1), (D // 8, 3 * D // 4), (D - 4, D - 1)]


CASES = (
    Case("incomes", 64, 2000, 1.0),
    Case("constant", 64, 2000, 1.0),
    Case("rare", 64, 2000, 1.0),
    Case("incomes", 16, 50, 1.0),
    Case("rare", 16, 50, 1.0),
    Case("rare", 16, 50, 4.0),
    Case("incomes", 256, 20_000, 1.0),
)


def coverage(case: Case, runs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of 95% intervals that hold the truth: of each range, and of each quantile."""
    m, answers = sv.Ranges(case.domain, case.epsilon), case.answers
    truth = cumulative(np.bincount(answers, minlength=case.domain) / case.n)
    shares = np.array([truth[b + 1] - truth[a] for a, b in case.ranges])
    places = [int(np.argmax(truth[1:] >= q - 1e-12)) for q in QUANTILES]
    held, found = np.zeros(len(shares)), np.zeros(len(places))
    for run in range(runs):
        estimate = m.tally().add_many(m.randomize_many(answers, seed=run)).estimate()
        low, high = estimate.ranges(case.ranges).interval()
        held += (low <= shares) & (shares <= high)
        quantiles = [estimate.quantile(q) for q in QUANTILES]
        found += [quantile.low <= at <= quantile.high for quantile, at in zip(quantiles, places, strict=True)]  # type: ignore[operator]
    return held / runs, found / runs


def percent(shares: NDArray[np.float64]) -> list[str]:
    return [f"{100 * share:.1f}%" for share in shares.tolist()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="seeded runs for the first table")
    parser.add_argument("--coverage", type=int, default=0, help="seeded runs for the second table; 0 leaves it out")
    args = parser.parse_args()
    print(f"1,024 values, n = 100,000, epsilon = 1; flat is {sv.choose(1024, 1.0)!r}\n")
    rows = errors(1024, 100_000, 1.0, args.runs)
    header = ["length", "flat", "tree", "tree, as stated", "flat/tree"]
    cells = [[f"{length}", *(f"{e:.4f}" for e in e3), f"{e3[0] / e3[1]:.2f}" if e3[1] > 1e-9 else "-"]
             for length, *e3 in rows]  # fmt: skip
    print(text_table(header, cells))
    if args.coverage:
        names = ["answers", "values", "n", "epsilon", "0..1/2", "two values", "1/8..3/4", "last four"]
        print(f"\nCoverage of 95% intervals over {args.coverage} runs\n")
        table = []
        for case in CASES:
            held, found = coverage(case, args.coverage)
            table.append(
                [case.name, f"{case.domain}", f"{case.n}", f"{case.epsilon:g}", *percent(held), *percent(found)]
            )
        print(text_table([*names, *(f"quantile {q}" for q in QUANTILES)], table))


if __name__ == "__main__":
    main()
