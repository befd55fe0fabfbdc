"""Ways to guess from a report which of two answers it came from.

An attack learns from reports whose answers are known, and then gives every report a score: the higher, the more it
speaks for the second answer. No attack can make an audit unsound, only more or less tight.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeAlias

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.mechanisms import Mechanism
from sottovoce.statistics.auditing.observations import Observations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.statistics.auditing.observations import Numbers

Score: TypeAlias = Callable[[Any], SupportsFloat]
"""A number for an observation of any sort: the higher, the more it speaks for the second answer."""

SCORE_DIGITS = 9
"""Scores are rounded, so that those of equal observations are equal."""
MAX_LISTED_BITS = 16
"""The law of a mechanism is written down if its reports have no more bits."""
MAX_CUTS = 63
"""A column of numbers is cut into at most one bin more."""
MAX_TABLE_CELLS = 2**14
"""Columns times cuts are at most so many."""
CELLS_AT_A_TIME = 2**21
CERTAIN_SCORE = 50.0
"""The score of a report that one of the answers cannot give."""


class Attack(ABC):
    name: str

    @abstractmethod
    def score(self, seen: Observations) -> NDArray[np.float64]:
        """A number for each observation."""


class Whole(Attack):
    """Counts how often each report was seen: the best there is for few different reports."""

    name = "how often each report was seen"

    def __init__(self) -> None:
        self._counts: tuple[Counter[Hashable], Counter[Hashable]] = (Counter(), Counter())

    def learn(self, seen: Observations, labels: NDArray[np.int64]) -> None:
        for key, label in zip(seen.brief, labels.tolist(), strict=True):
            self._counts[label][key] += 1

    @cached_property
    def _weights(self) -> dict[Hashable, float]:
        first, second = self._counts
        keys = first.keys() | second.keys()
        return {key: round(math.log((second[key] + 1) / (first[key] + 1)), SCORE_DIGITS) for key in keys}

    def score(self, seen: Observations) -> NDArray[np.float64]:
        return np.array([self._weights.get(key, 0.0) for key in seen.brief])


class Cells:
    """Counts how often each part of a report (a bit, a number cut into bins) takes each of its values."""

    _cuts: NDArray[np.float64]

    def __init__(self) -> None:
        self._counts: NDArray[np.int64] | None = None

    def learn(self, seen: Observations, labels: NDArray[np.int64]) -> None:
        if self._counts is None:
            self._cuts = _cuts(seen.cells)
            self._counts = np.zeros((2, self._cuts.shape[1], len(self._cuts) + 1), dtype=np.int64)
        for label in (0, 1):
            self._counts[label] += self._count(self.fit(seen.cells)[labels == label])

    def fit(self, cells: Numbers) -> Numbers:
        """As many columns as there were at first."""
        missing = self._cuts.shape[1] - cells.shape[1]
        if missing <= 0:
            return cells[:, : self._cuts.shape[1]]
        return np.pad(cells.astype(float), ((0, 0), (0, missing)), constant_values=-np.inf)

    def _count(self, cells: Numbers) -> NDArray[np.int64]:
        columns, bins = self._cuts.shape[1], len(self._cuts) + 1
        total = np.zeros(columns * bins, dtype=np.int64)
        rows = max(1, CELLS_AT_A_TIME // columns)
        for at in range(0, len(cells), rows):
            places = self.bins(cells[at : at + rows], slice(None)) + bins * np.arange(columns)
            total += np.bincount(places.ravel(), minlength=columns * bins)
        return total.reshape(columns, bins)

    def bins(self, cells: Numbers, columns: slice | NDArray[np.int64]) -> NDArray[np.int64]:
        """How many cuts each number has reached."""
        reached = np.zeros(cells.shape, dtype=np.int64)
        for cut in self._cuts[:, columns]:
            reached += cells >= cut
        return reached

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The logarithm of how much more likely each bin of each column is under the second answer."""
        counts, n = self._tables()
        smooth = np.log((counts + 0.5) / (n + 0.5 * counts.shape[2]))
        ratio: NDArray[np.float64] = np.where(counts.sum(axis=0), smooth[1] - smooth[0], 0.0)
        return ratio

    @cached_property
    def telling(self) -> NDArray[np.bool_]:
        """Which of these are surely more than chance, among as many as there are."""
        counts, n = self._tables()
        share, pooled = counts / n, counts.sum(axis=0) / n.sum()
        spread = np.sqrt(pooled * (1 - pooled) * (1 / n).sum())
        clear: NDArray[np.bool_] = abs(share[1] - share[0]) > spread * math.sqrt(2 * math.log(2 * spread.size))
        return clear

    def _tables(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        counts = self._counts if self._counts is not None else np.ones((2, 1, 1), dtype=np.int64)
        return counts, counts[:, :1].sum(axis=2, keepdims=True)


class Parts(Attack):
    """Adds up what the parts of a report say, as if they were independent; `screened`, only those that surely differ.

    The best there is for vectors of independent bits, however long.
    """

    def __init__(self, cells: Cells, screened: bool) -> None:
        self.cells, self.screened = cells, screened
        self.name = "the parts of a report that surely differ" if screened else "all parts of a report"

    @cached_property
    def _columns(self) -> NDArray[np.int64]:
        return np.flatnonzero(self._weights.any(axis=1))

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return self.cells.weights * self.cells.telling if self.screened else self.cells.weights

    def score(self, seen: Observations) -> NDArray[np.float64]:
        cells = self.cells.fit(seen.cells)[:, self._columns]
        total = np.zeros(len(cells))
        rows = max(1, CELLS_AT_A_TIME // max(1, self._columns.size))
        for at in range(0, len(cells), rows):
            bins = self.cells.bins(cells[at : at + rows], self._columns)
            total[at : at + rows] = self._weights[self._columns, bins].sum(axis=1)
        return total.round(SCORE_DIGITS)


class DeclaredLaw(Attack):
    """Knows the law that a mechanism declares, as every attacker does."""

    name = "the ratio of the declared probabilities"

    def __init__(self, m: Mechanism, answers: tuple[object, object], repeats: int) -> None:
        first, second = (m._law_of(answer) for answer in answers)
        reports = first.keys() | second.keys()
        self._repeats = repeats
        self._weights = {report: _log_odds(second.get(report), first.get(report)) for report in reports}

    def score(self, seen: Observations) -> NDArray[np.float64]:
        keys: list[Any] = [(key,) for key in seen.keys] if self._repeats == 1 else seen.keys
        totals = [sum(self._weights.get(report, 0.0) for report in key) for key in keys]
        return np.array(totals, dtype=float).round(SCORE_DIGITS)


class Given(Attack):
    """The score that somebody who knows the randomizer gives."""

    name = "the given score"

    def __init__(self, function: Score) -> None:
        self._function = function

    def score(self, seen: Observations) -> NDArray[np.float64]:
        return np.array([self._number(observation) for observation in seen.raw])

    def _number(self, observation: object) -> float:
        value = self._function(observation)
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ParameterError(f"a score must be a number, got {value!r:.40}") from None
        if math.isnan(number):
            raise ParameterError(f"a score must be a number, got nan for {observation!r:.40}")
        return number


def _log_odds(second: Fraction | None, first: Fraction | None) -> float:
    if not first or not second:
        return CERTAIN_SCORE if second else -CERTAIN_SCORE
    return round(math.log(second / first), SCORE_DIGITS)


def _cuts(cells: Numbers) -> NDArray[np.float64]:
    """A column of cuts for each column of numbers: between all different numbers, or at quantiles if there are many."""
    most = min(max(2, MAX_TABLE_CELLS // cells.shape[1]), MAX_CUTS)
    columns = [_column_cuts(column, most) for column in cells.T]
    table = np.full((max(1, *map(len, columns)), len(columns)), np.inf)
    for at, cuts in enumerate(columns):
        table[: len(cuts), at] = cuts
    return table


def _column_cuts(column: Numbers, most: int) -> Numbers:
    distinct = np.unique(column)[1:]
    if distinct.size <= most:
        return distinct
    ranks = np.linspace(0, column.size, most + 2)[1:-1].astype(int)
    return np.unique(np.sort(column)[ranks])
