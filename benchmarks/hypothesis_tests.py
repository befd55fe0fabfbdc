"""How often tests on randomized data reject, and intervals that are watched miss: the tables of docs/tests.md.

`python benchmarks/hypothesis_tests.py` takes about two minutes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

import sottovoce as sv
from sottovoce.estimates.render import text_table
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics import independence_test, log_evidence
from sottovoce.statistics.histograms.covariance import covariance, precision
from sottovoce.statistics.proportions.difference import YesCounts, distance

Floats = NDArray[np.float64]
RUNS, N, PEEKS = 10_000, 400, 10_000
COIN = (0.75, 0.25)
PAIRS = [(COIN, COIN), (COIN, (0.9, 0.4)), ((0.2, 0.8), (0.6, 0.4)), ((1.0, 0.0), (0.8, 0.2))]
"""Two designs, each by its p and q."""


def surveys(m: Pure, f: Floats, seed: int) -> Floats:
    """Unbiased estimates of RUNS surveys of N people each."""
    values = np.random.default_rng(seed).choice(m.domain.size, size=N * RUNS, p=f)
    data = m.randomize_many(values, seed=seed).data
    support = np.array([m._support(m._count(data[at : at + N])) for at in range(0, N * RUNS, N)])
    unbiased: Floats = (support / N - float(m.q)) / float(m.p - m.q)
    return unbiased


def fits(m: Pure) -> list[str]:
    """Rejections at 5% of a true histogram and of a false one; and of the true one by two wrong tests."""
    size = m.domain.size
    true = np.array([0.5] + [0.5 / (size - 1)] * (size - 1))
    false = np.array([0.3] + [0.7 / (size - 1)] * (size - 1))
    shares = []
    for f, seed in ((true, 1), (false, 2)):
        away = surveys(m, f, seed) - true
        statistic = N * np.einsum("ij,jk,ik->i", away, precision(covariance(m, true)), away)
        shares.append((chdtrc(size - 1, statistic) <= 0.05).mean())
        if f is true:
            alone = N * (away**2 / np.diag(covariance(m, true))).sum(axis=1)
            naive = N * (away**2 / true).sum(axis=1)
            wrong = [(chdtrc(size, alone) <= 0.05).mean(), (chdtrc(size - 1, naive) <= 0.05).mean()]
    return [repr(m).split(",")[0] + ")", f"{m.epsilon:g}", *(f"{100 * share:.1f}%" for share in (*shares, *wrong))]


def columns(first: Pure | None, second: Pure) -> list[str]:
    """Rejections at 5% of independent questions to 300 people; no mechanism stands for a public answer."""
    rng, found, f = np.random.default_rng(4), [], [0.5, 0.3, 0.2]
    for seed in range(RUNS):
        x, y = (rng.choice(3, 300, p=f) for _ in range(2))
        reports = second.randomize_many(y, seed=2 * seed)
        found.append(independence_test(x if first is None else first.randomize_many(x, seed=2 * seed + 1), reports))
    return [repr(first or "public"), repr(second), f"{100 * np.mean([test.rejects() for test in found]):.1f}%"]


def groups(first: tuple[float, float], second: tuple[float, float], share: float) -> list[str]:
    """Rejections at 5% of equal proportions in groups of 300 and 500."""
    rng = np.random.default_rng(8)
    a, b = (
        YesCounts(rng.binomial(n, q + (p - q) * share, RUNS), n, p, q) for (p, q), n in ((first, 300), (second, 500))
    )
    rejected = (np.abs(distance(a, b, 0.0)) >= 1.959964).mean()
    return [*(f"{x:g}" for x in (*first, *second, share)), f"{100 * rejected:.1f}%"]


def likelihoods(m: Pure, runs: int = 4000) -> list[str]:
    """Rejections at 5% of a true histogram and of one true frequency, by the likelihood ratio; n = 400."""
    rng, f, found = np.random.default_rng(3), np.array([0.4, 0.3, 0.2, 0.1]), []
    for seed in range(runs):
        fit = sv.likelihood(m, m.randomize_many(rng.choice(4, N, p=f), seed=seed))
        found.append([fit.deviance(f) > 7.814728, fit.profile(0, [0.4])[0] > 3.841459])
    return [repr(m), *(f"{100 * share:.1f}%" for share in np.mean(found, axis=0))]


def peeks(p: float, q: float, share: float, runs: int = 2000) -> list[str]:
    """Runs in which an interval misses the truth at any of 10,000 peeks, and at the last one."""
    rate, n, ever = q + (p - q) * share, np.arange(1, PEEKS + 1), []
    for seed in range(runs // 100):
        yes = np.cumsum(np.random.default_rng(seed).random((100, PEEKS)) < rate, axis=1)
        sequence = log_evidence(yes, n, rate, p, q) >= math.log(20)
        once = np.abs(yes / n - rate) > 1.959964 * np.sqrt(rate * (1 - rate) / n)
        ever.append([sequence.any(axis=1).mean(), once.any(axis=1).mean(), once[:, -1].mean()])
    return [f"{p:g}", f"{q:g}", f"{share:g}", *(f"{100 * part:.1f}%" for part in np.mean(ever, axis=0))]


def main() -> None:
    mechanisms: list[Pure] = [
        sv.KRR(8, 1.0),
        sv.Unary(8, 1.0),
        sv.Subset(8, 1.0),
        sv.LocalHash(16, 2.0),
        sv.Hadamard(16, 2.0),
        sv.Projective(30, 2.0),
    ]
    header = ["mechanism", "epsilon", "true", "false", "covariance forgotten", "noise forgotten"]
    print(text_table(header, [fits(m) for m in mechanisms]), end="\n\n")
    rows = [groups(first, second, share) for first, second in PAIRS for share in (0.03, 0.3)]
    print(text_table(["p", "q", "p", "q", "proportion", "rejected"], rows), end="\n\n")
    questions: list[tuple[Pure | None, Pure]] = [
        (sv.KRR(3, 2.0), sv.KRR(3, 1.0)),
        (None, sv.Unary(3, 1.0)),
        (sv.Unary(3, 2.0), sv.LocalHash(3, 2.0)),
    ]
    print(text_table(["first", "second", "rejected"], [columns(*pair) for pair in questions]), end="\n\n")
    rows = [likelihoods(m) for m in (sv.KRR(4, 2.0), sv.Subset(4, 2.0), sv.LocalHash(4, 2.0))]
    print(text_table(["mechanism", "histogram", "one value"], rows), end="\n\n")
    header = ["p", "q", "proportion", "sequence, any peek", "fixed n, any peek", "fixed n, last peek"]
    designs = [(0.75, 0.25, 0.3), (0.75, 0.25, 0.0), (0.55, 0.45, 0.5), (0.5, 0.12, 0.02), (1.0, 0.0, 0.3)]
    print(text_table(header, [peeks(*design) for design in designs]))


if __name__ == "__main__":
    main()
