"""Answers as they come in from a survey: yes and no in many spellings, with weights and groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.domain.columns import Column, to_list
from sottovoce.core.domain.values import is_missing
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.render import label_text
from sottovoce.statistics.proportions.answers import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

YES_NO = {"no": 0, "n": 0, "false": 0, "f": 0, "0": 0, "yes": 1, "y": 1, "true": 1, "t": 1, "1": 1, 0: 0, 1: 1}
"""Truth values are the numbers 0 and 1 to Python, and so are 0.0 and 1.0."""
POLICIES = ("refuse", "drop")


@dataclass(frozen=True, eq=False)
class Sample:
    """Coded answers, their weights, and the group of each."""

    codes: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None
    groups: list[str] | None = None

    def parts(self) -> dict[str, Sample]:
        """The sample of each group, in the order of their names."""
        names = np.array(self.groups, dtype=object)
        parts = {}
        for name in sorted(set(self.groups or [])):
            mine = names == name
            weights = None if self.weights is None else self.weights[mine]
            if weights is not None and not weights.any():
                raise ParameterError(f"some weights of each group must be positive, got none in {name!r:.40}")
            parts[name] = Sample(self.codes[mine], weights)
        return parts

    @property
    def equal(self) -> NDArray[np.float64]:
        """The weights; ones where there are none."""
        return np.ones(self.codes.size) if self.weights is None else self.weights


def code(value: object, known: Mapping[Hashable, int], expected: str) -> int:
    """The code of one answer; text counts in any case and with spaces around it."""
    key = value.strip().casefold() if isinstance(value, str) else value
    try:
        return known[key]
    except (KeyError, TypeError):
        raise DomainError(f"an answer must be {expected}, got {value!r:.40}") from None


def read(
    answers: Column,
    known: Mapping[Hashable, int],
    expected: str,
    weights: Column | None = None,
    groups: Column | None = None,
    missing: str = "refuse",
) -> Sample:
    """A column of answers from any library, coded. A missing answer is refused, or dropped with its weight."""
    if missing not in POLICIES:
        raise ParameterError(f"missing must be one of {', '.join(POLICIES)}, got {missing!r:.40}")
    rows = _rows("answers", answers)
    columns = {name: _column(name, column, len(rows)) for name, column in (("weights", weights), ("groups", groups))}
    kept = [not is_missing(row) for row in rows] if missing == "drop" else [True] * len(rows)
    codes = _codes([row for row, keep in zip(rows, kept, strict=True) if keep], known, expected)
    if not codes.size:
        raise DomainError("there must be at least one answer, got none")
    weighing, grouping = (_where(columns[name], kept) for name in ("weights", "groups"))
    return Sample(codes, _weights(weighing), None if grouping is None else list(map(_group, grouping)))


def read_pair(
    answers: Column,
    others: Column,
    known: Mapping[Hashable, int],
    expected: str,
    weights: Column | None = None,
    missing: str = "refuse",
) -> tuple[Sample, Sample]:
    """The answers of the same people to two questions. Who left one out is refused, or dropped from both."""
    both = [_rows("answers", answers), _rows("answers", others)]
    if len(both[0]) != len(both[1]):
        raise ParameterError(f"the two questions must have as many answers, got {len(both[0])} and {len(both[1])}")
    gaps = [is_missing(first) or is_missing(second) for first, second in zip(*both, strict=True)]
    if missing == "drop":
        both = [[None if gap else row for row, gap in zip(rows, gaps, strict=True)] for rows in both]
    first, second = (read(rows, known, expected, weights, None, missing) for rows in both)
    return first, second


def _rows(name: str, column: Column) -> list[object]:
    """A column as a list. The keys of a mapping and the members of a set are no column: how often each came is lost."""
    if isinstance(column, Mapping | Set):
        raise DomainError(f"a column of {name} must have a row for each respondent, got {column!r:.40}")
    try:
        return to_list(column)
    except DomainError:
        raise DomainError(
            f"a column of {name} must be a list or an array with one dimension, got {column!r:.40}"
        ) from None


def _group(group: object) -> str:
    return label_text(None if is_missing(group) else group)


def _codes(rows: list[object], known: Mapping[Hashable, int], expected: str) -> NDArray[np.int64]:
    codes: dict[object, int] = {}
    for at, row in enumerate(rows, 1):
        try:
            if row not in codes:
                codes[row] = code(row, known, expected)
        except DomainError as error:
            what = "an answer must not be missing, unless missing ones are dropped" if is_missing(row) else str(error)
            raise DomainError(f"row {at}: {what}") from None
        except TypeError:
            raise DomainError(f"row {at}: an answer must be {expected}, got {row!r:.40}") from None
    return np.fromiter((codes[row] for row in rows), dtype=np.int64, count=len(rows))


def _column(name: str, column: Column | None, rows: int) -> list[object] | None:
    if column is None:
        return None
    values = _rows(name, column)
    if len(values) != rows:
        raise ParameterError(f"{name} must have one row for each of the {rows} answers, got {len(values)}")
    return values


def _where(column: list[object] | None, kept: list[bool]) -> list[object] | None:
    return None if column is None else [value for value, keep in zip(column, kept, strict=True) if keep]


def _weights(column: list[object] | None) -> NDArray[np.float64] | None:
    """Weights divided by a power of two, so that the largest is near 1: only their ratios matter."""
    if column is None:
        return None
    if any(isinstance(weight, bool) for weight in column):
        raise ParameterError("weights must be numbers, got a truth value")
    weights = numbers("weights", column)
    if (weights < 0).any() or not weights.any():
        raise ParameterError(f"weights must not be negative, and some must be positive, got {weights.min():g}")
    scaled: NDArray[np.float64] = np.ldexp(weights, -np.frexp(weights.max())[1])
    return scaled
