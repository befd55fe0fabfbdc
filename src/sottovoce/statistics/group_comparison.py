"""How groups of respondents differ in one question: estimates of each, a test whether they are alike, differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard, TypeVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import SottovoceError
from sottovoce.estimates import Estimate, Result
from sottovoce.estimates.render import label_text
from sottovoce.estimates.tally import Tally
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.chart import chart_columns
from sottovoce.statistics.histograms.group_differences import differences
from sottovoce.statistics.histograms.hypothesis_tests import homogeneity_test

R = TypeVar("R", bound=Result)

ALL_OTHERS = "*"
"""Stands for all groups but one."""

MAX_VALUES = 200
MAX_GROUPS = 20
"""Beyond these, groups are shown but not compared: the page could not show so many differences."""


def compare_groups(tallies: Mapping[str, Tally[Result]], level: float) -> JsonObject:
    """Each group, whether they may all be alike, and how each differs: two from one another, more from all others."""
    try:
        groups = [{"group": name, "n": tally.n, "rows": chart_columns(tally, tally.estimate(), level).to_dict()}
                  for name, tally in tallies.items()]  # fmt: skip
    except SottovoceError as error:
        return {"groups": [], "test": None, "differences": [], "reason": str(error)}
    found: JsonObject = {"groups": groups, "test": None, "differences": [], "reason": None}
    if not 2 <= len(tallies) <= MAX_GROUPS or _number_of_values(tallies) > MAX_VALUES:
        return found
    histograms = [tally for tally in tallies.values() if _is_histogram(tally)]
    if len(histograms) == len(tallies):
        found["test"] = homogeneity_test(histograms).to_dict()
    pairs = {names: (first.estimate(), second.estimate()) for names, (first, second) in _pairs(tallies).items()}
    rows = [one.to_dict() for one in differences(pairs, level)]
    return found | {"differences": [row | {"label": label_text(row["label"])} for row in rows]}


def _is_histogram(tally: Tally[Result]) -> TypeGuard[Tally[Estimate]]:
    return isinstance(tally.mechanism, Pure)


def _number_of_values(tallies: Mapping[str, Tally[Result]]) -> int:
    mechanism = next(iter(tallies.values())).mechanism
    return mechanism.domain.size if isinstance(mechanism, Pure) else 1


def _pairs(tallies: Mapping[str, Tally[R]]) -> dict[tuple[str, str], tuple[Tally[R], Tally[R]]]:
    """What to compare with what: of two groups the one with the other, of more each with all others together."""
    names = list(tallies)
    if len(names) == 2:
        return {(names[1], names[0]): (tallies[names[1]], tallies[names[0]])}
    return {(name, ALL_OTHERS): (tallies[name], _merged([tallies[other] for other in names if other != name]))
            for name in names}  # fmt: skip


def _merged(tallies: list[Tally[R]]) -> Tally[R]:
    total = Tally(tallies[0].mechanism)
    for tally in tallies:
        total.merge(tally)
    return total
