"""An interval with its coverage: what every method called `interval` returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from sottovoce.core.lazy import numpy as np

End = TypeVar("End")


@dataclass(frozen=True, eq=False)
class Interval(Generic[End]):
    """The ends of an interval: two numbers for one quantity, two arrays for many. It unpacks as `low, high`.

    `level` is the coverage, the probability with which the interval holds the truth; of simultaneous intervals, the
    probability with which all of them do.

    >>> low, high = Interval(0.2, 0.4, level=0.95)
    >>> low, high
    (0.2, 0.4)
    """

    low: End
    high: End
    level: float

    def __iter__(self) -> Iterator[End]:
        yield self.low
        yield self.high

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Interval):
            return NotImplemented
        same = all(
            np.array_equal(np.asarray(mine), np.asarray(theirs)) for mine, theirs in zip(self, other, strict=True)
        )
        return same and self.level == other.level

    __hash__ = None  # type: ignore[assignment]
