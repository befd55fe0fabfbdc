"""Shuffled batches by brute force: the law of the multiset of reports, for every pair of neighbouring data sets."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import sottovoce as sv

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
