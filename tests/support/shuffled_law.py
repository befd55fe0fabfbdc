"""Shuffled batches by brute force: the law of the multiset of reports, for every pair of neighbouring data sets."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import sottovoce as sv
from sottovoce.core.privacy import exp_below

Law = dict[tuple[int, ...], float]


def channel(m: sv.Mechanism) -> list[list[float]]:
    """A row of probabilities for each value; reports that every value sends alike often are one."""
    laws = list(m.channel().values())
    columns: dict[tuple[Fraction, ...], Fraction] = defaultdict(Fraction)
    for report in dict.fromkeys(report for law in laws for report in law):
        column = [Fraction(law.get(report, 0)) for law in laws]
        total = sum(column, Fraction(0))
        columns[tuple(chance / total for chance in column)] += total
    return [[float(ratio[at] * total) for ratio, total in columns.items()] for at in range(len(laws))]


def multiset(rows: Sequence[Sequence[float]]) -> Law:
    """The law of how often each report occurs, one report from each row."""
    law: Law = {(0,) * len(rows[0]): 1.0}
    for row in rows:
        grown: Law = defaultdict(float)
        for counts, chance in law.items():
            for at, more in enumerate(row):
                grown[*counts[:at], counts[at] + 1, *counts[at + 1 :]] += chance * more
        law = grown
    return law


def neighbours(m: sv.Mechanism, n: int, symmetric: bool = False) -> Iterator[tuple[Law, Law]]:
    """The two laws of every pair of neighbours. With values that are all alike one change of answer is enough."""
    table = channel(m)
    changes = [(0, 1)] if symmetric else list(permutations(range(len(table)), 2))
    for others in combinations_with_replacement(range(len(table)), n - 1):
        rows = [table[other] for other in others]
        laws = {value: multiset([*rows, table[value]]) for value in {v for change in changes for v in change}}
        for first, second in changes:
            yield laws[first], laws[second]


def divergence(first: Law, second: Law, epsilon: float) -> float:
    return math.fsum(max(chance - math.exp(epsilon) * second[key], 0.0) for key, chance in first.items())


# The same without any rounding: counts are whole numbers over one common denominator.

ExactLaw = dict[tuple[int, ...], int]


@dataclass(frozen=True)
class ExactNeighbours:
    """The laws of every pair of neighbouring data sets, as whole numbers over `denominator`."""

    denominator: int
    pairs: list[tuple[ExactLaw, ExactLaw]]

    def divergence(self, epsilon: float, above: bool) -> Fraction:
        """The largest divergence at epsilon, rounded in its sixtieth digit: up, or down."""
        ratio = exp_below(epsilon) * (1 if above else 1 + Fraction(1, 10**50))
        worst = max(_positive_part(*pair, ratio.numerator, ratio.denominator) for pair in self.pairs)
        return Fraction(worst, ratio.denominator * self.denominator)


def exact_neighbours(m: sv.Mechanism, n: int) -> ExactNeighbours:
    table, denominator = _exact_channel(m)
    pairs: list[tuple[ExactLaw, ExactLaw]] = []
    for others in combinations_with_replacement(range(len(table)), n - 1):
        law: ExactLaw = {(0,) * len(table[0]): 1}
        for other in others:
            law = _one_more(law, table[other])
        pairs += permutations([_one_more(law, row) for row in table], 2)
    return ExactNeighbours(denominator**n, pairs)


def _exact_channel(m: sv.Mechanism) -> tuple[list[list[int]], int]:
    """A row for each value; reports whose probabilities are in proportion are one."""
    laws = list(m.channel().values())
    columns: dict[tuple[Fraction, ...], Fraction] = defaultdict(Fraction)
    for report in dict.fromkeys(report for law in laws for report in law):
        column = [Fraction(law.get(report, 0)) for law in laws]
        total = sum(column, Fraction(0))
        columns[tuple(chance / total for chance in column)] += total
    table = [[ratio[at] * total for ratio, total in columns.items()] for at in range(len(laws))]
    denominator = math.lcm(*(chance.denominator for row in table for chance in row))
    return [[int(chance * denominator) for chance in row] for row in table], denominator


def _one_more(law: ExactLaw, row: Sequence[int]) -> ExactLaw:
    grown: ExactLaw = defaultdict(int)
    for counts, chance in law.items():
        for at, more in enumerate(row):
            if more:
                grown[*counts[:at], counts[at] + 1, *counts[at + 1 :]] += chance * more
    return grown


def _positive_part(first: ExactLaw, second: ExactLaw, numerator: int, denominator: int) -> int:
    return sum(max(chance * denominator - numerator * second.get(key, 0), 0) for key, chance in first.items())


def misplaced(m: sv.Mechanism, n: int, deltas: Sequence[float], exact: ExactNeighbours | None = None) -> list[str]:
    """The bounds of `shuffle_epsilon` that are not on their side of the exact epsilon."""
    exact, found = exact or exact_neighbours(m, n), []
    for delta in deltas:
        told = sv.shuffle_epsilon(m, n, delta)
        where = f"{m!r}, {m.to_dict()!r:.150}, n = {n}, delta = {delta:g}: {told.lower!r} .. {told.upper!r}"
        if not 0 <= told.lower <= told.upper <= told.local < math.inf:
            found.append(f"out of order: {where}")
        if told.lower and exact.divergence(told.lower, above=True) < Fraction(delta):
            found.append(f"lower is above the truth: {where}")
        if exact.divergence(told.upper, above=False) > Fraction(delta):
            found.append(f"upper is below the truth: {where}")
    return found
