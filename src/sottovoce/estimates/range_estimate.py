from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates import EventShares, Result, Row, quantile
from sottovoce.estimates.part_evidence import Evidence
from sottovoce.estimates.postprocess import nearest_distribution
from sottovoce.estimates.render import label_text
from sottovoce.estimates.tree import Consistency, Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_WEIGHTS = 2**27
"""Weights that are held in memory at a time: 1 GB."""

SHOWN_ROWS = 64
"""A table has at most this many rows; single values of a longer domain drown in noise anyway."""


@dataclass(frozen=True)
class Quantile:
    """The first label that at least a share q of the respondents do not exceed, and the labels it lies between."""

    q: float
    label: Label
    low: Label
    high: Label


@dataclass(frozen=True, eq=False)
class RangeEstimate(Result):
    """What a tally of `Ranges` tells: the share of any range, the cumulative shares, quantiles.

    All shares are sums of `frequency`, the consistent and unbiased frequencies of the values. The rows are the finest
    groups of neighbours in the tree of which there are at most 64.
    """

    measure: ClassVar[str] = "frequency"
    domain: Domain
    tree: Tree
    evidence: tuple[Evidence, ...]
    n: int
    epsilon: float
    simulated: bool = False

    @cached_property
    def _fit(self) -> Consistency:
        return Consistency(self.tree, [level.spread for level in self.evidence])

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        """The frequency of each value. They add up to one."""
        return self._fit.leaves([level.frequency for level in self.evidence])

    @cached_property
    def stderr(self) -> NDArray[np.float64]:
        """The standard error of each value's frequency about the respondents. For a long domain this takes a while."""
        return self._sums(
            self.domain.labels, self._indicators([(code, code) for code in range(self.domain.size)])
        ).stderr

    @property
    def labels(self) -> Sequence[Label]:
        return self.domain.labels

    def range(self, first: Label, last: Label, level: float = 0.95, population: bool = False) -> Row:
        """The share of answers from `first` to `last`, both included."""
        return self.ranges([(first, last)]).rows(level, population=population)[0]

    def ranges(self, ends: Iterable[tuple[Label, Label]]) -> EventShares:
        """The shares of several ranges, each given by its first and its last label."""
        pairs = [(first, last, self.domain.encode(first), self.domain.encode(last)) for first, last in ends]
        for first, last, start, stop in pairs:
            if start > stop:
                raise ParameterError(f"a range must not end before it begins, got {first!r} to {last!r}")
        names = [_name(first, last) for first, last, _, _ in pairs]
        return self._sums(names, self._indicators([(start, stop) for _, _, start, stop in pairs]))

    def cdf(self, labels: Iterable[Label] | None = None) -> EventShares:
        """The share of answers up to each label (all of them unless some are given)."""
        wanted = list(self.domain.labels if labels is None else labels)
        return self._sums(wanted, self._indicators([(0, self.domain.encode(label)) for label in wanted]))

    def quantile(self, q: float, level: float = 0.95, population: bool = False) -> Quantile:
        """The first label whose cumulative share reaches q, and an interval: where its bounds reach q.

        Noise can make the estimated shares fall from one label to the next. All three labels are found by bisection,
        as if they did not.
        """
        if not 0 < q < 1:
            raise ParameterError(f"q must lie strictly between 0 and 1, got {q}")
        reach = quantile(level)
        cumulative = np.cumsum(self.frequency)

        def bound(code: int, sign: float) -> float:
            sums = self._sums([code], self._indicators([(0, code)]))
            error = sums.population_stderr if population else sums.stderr
            return float(cumulative[code] + sign * reach * error[0])

        codes = [
            self._first(lambda code: float(cumulative[code]) >= q),
            self._first(lambda code: bound(code, 1) >= q),
            self._first(lambda code: bound(code, -1) >= q),
        ]
        return Quantile(q, *(self.domain.labels[code] for code in codes))

    def quantile_row(self, q: float, level: float = 0.95, population: bool = False) -> JsonObject:
        """A quantile in the form for JSON."""
        found = self.quantile(q, level, population)
        return {"q": q, "value": found.label, "low": found.low, "high": found.high}

    def _first(self, reached: Callable[[int], bool]) -> int:
        """The first value that is said to have reached it; the last one has in any case."""
        low, high = 0, self.domain.size - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle + 1, high)
        return low

    @cached_property
    def _shown(self) -> EventShares:
        fitting = [width for width, size in zip(self.tree.widths, self.tree.sizes, strict=True) if size <= SHOWN_ROWS]
        width, last = fitting[-1] if fitting else self.tree.widths[0], self.domain.size - 1
        ends = [(start, min(start + width - 1, last)) for start in range(0, last + 1, width)]
        labels = self.domain.labels
        names = [labels[a] if width == 1 else _name(labels[a], labels[b]) for a, b in ends]
        return self._sums(names, self._indicators(ends))

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[Row]:
        return self._shown.rows(level, simultaneous, population)

    def __repr__(self) -> str:
        return f"<RangeEstimate over {self.domain.size} values; {self.caption}>"

    # A range is a row of zeros and ones over the values. What it weighs in each level's frequencies gives its error.

    def _indicators(self, ends: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        if len(ends) * self.domain.size > MAX_WEIGHTS:
            raise ParameterError(
                f"{len(ends):,} sums over {self.domain.size:,} values are too many at once: ask for fewer"
            )
        codes, (start, stop) = np.arange(self.domain.size), np.array(ends).reshape(-1, 2).T[:, :, None]
        inside: NDArray[np.bool_] = (codes >= start) & (codes <= stop)
        return inside.astype(np.float64)

    @cached_property
    def _distributions(self) -> list[NDArray[np.float64]]:
        return self.tree.nodes(nearest_distribution(self.frequency))

    def _sums(self, labels: Sequence[Label], queries: NDArray[np.float64]) -> EventShares:
        weights = self._fit.coefficients(queries)
        levels = zip(self.evidence, weights, self._distributions, strict=True)
        spread = np.sum([level.variance(c, f) for level, c, f in levels], axis=0)
        share = queries @ self._distributions[-1]
        sampling = share * (1 - share) / self.n
        return EventShares(labels, queries @ self.frequency, spread, sampling, self.n, self.epsilon, self.simulated)


def _name(first: Label, last: Label) -> str:
    return f"{label_text(first)} .. {label_text(last)}"
