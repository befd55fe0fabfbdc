"""What curators can be asked: whole numbers that add up over people, and what the noisy sums say.

Everybody's answer counts whatever it is, so that nothing but the noisy sums depends on the data: an answer outside the
values of a histogram counts for none of them, and a number outside its range as the nearest end, or for nobody.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.values import is_missing
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import to_float
from sottovoce.trust.synthetic import MAX_VALUES, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain.columns import Column
    from sottovoce.trust.federated.law import NoiseLaw

MAX_STEPS = 1000
OUTSIDE = ("clip", "refuse")


@dataclass(frozen=True)
class QueryRow:
    """One number of a result, with its standard error and the ends of its interval. None labels missing answers."""

    label: str | None
    value: float
    stderr: float
    low: float
    high: float


class Query(ABC):
    """A question to curators. Their columns of whole numbers add up to that of all people."""

    kind: str

    @property
    @abstractmethod
    def size(self) -> int:
        """How long a column is."""

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """How much one person who gives another answer, or none, changes a column in all."""

    @abstractmethod
    def column(self, answers: Column) -> NDArray[np.int64]:
        """The column of some people. Answers are text or numbers; None is none."""

    @abstractmethod
    def most(self, people: int) -> int:
        """The largest number that the column of so many people can hold."""

    @abstractmethod
    def rows(self, total: NDArray[np.int64], law: NoiseLaw, level: float = 0.95) -> list[QueryRow]:
        """What a total with such noise says."""

    @abstractmethod
    def to_dict(self) -> JsonObject:
        """A form for JSON."""


@dataclass(frozen=True)
class Histogram(Query):
    """How many people gave each of some values, and how many gave none, if `missing` answers are to be counted.

    Values are texts, or so many of them, numbered from 0 on. Of one count alone, one person changes it by 1; of more,
    by 2 in all.

    >>> Histogram(("tea", "coffee")).column(["tea", "tea", "milk", None])
    array([2, 0])
    >>> Histogram(3, missing=True).column(["0", 2, "2", 3, None])
    array([1, 0, 2, 1])
    """

    values: tuple[str, ...] | int
    missing: bool = False
    kind = "histogram"

    def __post_init__(self) -> None:
        if isinstance(self.values, int):
            check_whole("the number of values", self.values, MAX_VALUES)
        elif not self.values or not all(isinstance(value, str) and value for value in self.values):
            raise ParameterError("a histogram is of at least one value, and values are text")
        elif len(set(self.values)) < len(self.values) or len(self.values) > MAX_VALUES:
            raise ParameterError(f"values must be different, and at most {MAX_VALUES:,}")
        if not isinstance(self.missing, bool):
            raise ParameterError(f"missing must be true or false, got {self.missing!r:.40}")

    @property
    def size(self) -> int:
        return (self.values if isinstance(self.values, int) else len(self.values)) + self.missing

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.values))) if isinstance(self.values, int) else self.values

    @property
    def sensitivity(self) -> int:
        return min(self.size, 2)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {value: at for at, value in enumerate(self.labels)}

    def column(self, answers: Column) -> NDArray[np.int64]:
        places, nowhere = self._places, self.size
        none = nowhere - self.missing
        found = np.fromiter(
            (none if is_missing(answer) else places.get(str(answer), nowhere) for answer in answers), dtype=np.int64
        )
        return np.bincount(found, minlength=nowhere + 1)[:nowhere]

    def most(self, people: int) -> int:
        return people

    def rows(self, total: NDArray[np.int64], law: NoiseLaw, level: float = 0.95) -> list[QueryRow]:
        reach = law.reach(level)
        labels: tuple[str | None, ...] = (*self.labels, None) if self.missing else self.labels
        pairs = zip(labels, map(int, total), strict=True)
        return [QueryRow(label, count, law.stderr, count - reach, count + reach) for label, count in pairs]

    def to_dict(self) -> JsonObject:
        values = self.values if isinstance(self.values, int) else list(self.values)
        return {"kind": self.kind, "values": values, "missing": self.missing}

    def __str__(self) -> str:
        return f"histogram of {self.size:,}"


@dataclass(frozen=True)
class Average(Query):
    """The mean and the sum of a number between `low` and `high`, which is rounded to one of `steps` equal steps.

    A person at step i of s adds i to one sum and s - i to another: together they tell how many there are. Numbers that
    are missing add nothing. One person changes the two by at most 2s in all. A number `outside` the range is clipped,
    counting as the nearest end, or refused, counting as missing.

    >>> Average(0, 10, steps=10).column([0, 5, 12, None])
    array([15, 15])
    >>> Average(0, 10, steps=10, outside="refuse").column([0, 5, 12, None])
    array([ 5, 15])
    """

    low: float
    high: float
    steps: int = 100
    outside: str = "clip"
    kind = "mean"

    def __post_init__(self) -> None:
        for end in (self.low, self.high):
            if isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(to_float(end)):
                raise ParameterError(f"the ends of a range must be numbers, got {end!r:.40}")
        if not 0 < to_float(self.high) - to_float(self.low) < math.inf:
            raise ParameterError(f"a range must go from a low to a high end, got {self.low:g} to {self.high:g}")
        check_whole("steps", self.steps, MAX_STEPS)
        if not isinstance(self.outside, str) or self.outside not in OUTSIDE:
            raise ParameterError(f"outside must be one of {', '.join(OUTSIDE)}, got {self.outside!r:.40}")

    @property
    def size(self) -> int:
        return 2

    @property
    def sensitivity(self) -> int:
        return 2 * self.steps

    def column(self, answers: Column) -> NDArray[np.int64]:
        numbers = np.fromiter(map(_number, answers), dtype=np.float64)
        inside = (numbers >= self.low) & (numbers <= self.high)
        counted = inside if self.outside == "refuse" else ~np.isnan(numbers)
        present = np.clip(numbers[counted], self.low, self.high)
        up = int(np.rint((present - self.low) / (self.high - self.low) * self.steps).astype(np.int64).sum())
        return np.array([up, present.size * self.steps - up], dtype=np.int64)

    def most(self, people: int) -> int:
        return people * self.steps

    def rows(self, total: NDArray[np.int64], law: NoiseLaw, level: float = 0.95) -> list[QueryRow]:
        """Intervals hold for all three together: each sum is within its reach with half of what may go wrong."""
        up, down = map(float, total)
        all_, width, reach = up + down, self.high - self.low, law.reach((1 + level) / 2)
        rows = [self._linear("people", up, down, 1 / self.steps, 1 / self.steps, law.stderr, reach)]
        rows.append(self._linear("sum", up, down, self.high / self.steps, self.low / self.steps, law.stderr, reach))
        if all_ > 2 * reach:
            error = width * law.stderr * math.hypot(up, down) / all_**2
            ends = [min(max(self.low + width * (up + r) / all_, self.low), self.high) for r in (-reach, reach)]
            rows.append(QueryRow("mean", self.low + width * up / all_, error, ends[0], ends[1]))
        else:
            rows.append(QueryRow("mean", math.nan, math.inf, self.low, self.high))
        return rows

    @staticmethod
    def _linear(label: str, up: float, down: float, a: float, b: float, stderr: float, reach: int) -> QueryRow:
        value, away = a * up + b * down, (abs(a) + abs(b)) * reach
        return QueryRow(label, value, stderr * math.hypot(a, b), value - away, value + away)

    def to_dict(self) -> JsonObject:
        return {"kind": self.kind, "low": self.low, "high": self.high, "steps": self.steps, "outside": self.outside}

    def __str__(self) -> str:
        return "mean and sum"


def query(record: JsonObject) -> Query:
    """The query that `to_dict` wrote; anything else is refused.

    >>> query({"kind": "histogram", "values": ["tea", "coffee"], "missing": False})
    Histogram(values=('tea', 'coffee'), missing=False)
    """
    fields = {"histogram": {"values", "missing"}, "mean": {"low", "high", "steps", "outside"}}
    kind = record.get("kind") if isinstance(record, Mapping) else None
    if not isinstance(kind, str) or kind not in fields or set(record) != fields[kind] | {"kind"}:
        raise ParameterError(
            f"a query must be one of {', '.join(fields)} with its fields and no others, got {record!r:.60}"
        )
    if kind == "mean":
        return Average(record["low"], record["high"], record["steps"], record["outside"])
    values = record["values"]
    if not isinstance(values, list | int):
        raise ParameterError("the values of a histogram must be a list, or their number")
    return Histogram(tuple(values) if isinstance(values, list) else values, record["missing"])


def _number(answer: object) -> float:
    """A finite number, or nan for what is none."""
    try:
        number = to_float(answer) if answer is not None and not isinstance(answer, bool) else math.nan
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan
