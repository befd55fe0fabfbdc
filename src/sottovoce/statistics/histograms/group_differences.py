"""How groups of people differ: for each thing estimated, one group less another, with an interval and a test.

Groups of different people err independently. Where a report supports a value or does not, the test is the score test
of `difference_test`; for means and other results it is the normal one. Who looks at many differences will find some by
chance: `adjusted` p-values are Holm's, and hold for all differences of a list together.

S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 1979.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates import Estimate, Result, Shares, quantile
from sottovoce.statistics.checks import check_level
from sottovoce.statistics.proportions.difference import YesCounts, difference_interval, distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_DIFFERENCES = 10_000
"""One list has at most so many differences."""


@dataclass(frozen=True)
class Difference:
    """One group less another, in one thing estimated."""

    label: object
    group: str
    other: str
    estimate: float
    low: float
    high: float
    p_value: float
    adjusted: float = 1.0

    def to_dict(self) -> JsonObject:
        return asdict(self)


def differences(pairs: Mapping[tuple[str, str], tuple[Result, Result]], level: float = 0.95) -> list[Difference]:
    """The differences of all pairs of results, each named by its two groups; about the populations behind them.

    Of two values whose shares add up to one, the second is compared: the first says nothing more.

    >>> from sottovoce import KRR
    >>> m = KRR(["bus", "car"], p=0.75)
    >>> town = m.tally().add_many([0] * 540 + [1] * 460).estimate()
    >>> country = m.tally().add_many([0] * 590 + [1] * 410).estimate()
    >>> for one in differences({("country", "town"): (country, town)}):
    ...     print(f"{one.label}: {one.estimate:.2f}, {one.low:.3f} .. {one.high:.3f}, p-value {one.adjusted:.3f}")
    car: -0.10, -0.187 .. -0.013, p-value 0.024
    """
    check_level(level)
    names = [(row.label, *groups) for groups, (first, second) in pairs.items() for row in _rows(first, second)]
    if len(names) > MAX_DIFFERENCES:
        raise ParameterError(f"there must be at most {MAX_DIFFERENCES:,} differences to look at, got {len(names):,}")
    if not names:
        return []
    columns = _compared(list(pairs.values()), level)
    found = [Difference(*name, *numbers) for name, numbers in zip(names, zip(*columns, strict=True), strict=True)]
    adjusted = holm([one.p_value for one in found])
    return [replace(one, adjusted=p_value) for one, p_value in zip(found, adjusted, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values that hold together: the i-th smallest of m times m - i + 1, and never below the one before.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    raised = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1)).clip(max=1.0)
    adjusted = np.empty_like(values)
    adjusted[order] = raised
    return [float(value) for value in adjusted]


def _rows(first: Result, second: Result) -> Sequence[Any]:
    """The rows of the first, which must be about the same things as those of the second."""
    rows, others = _telling(first).rows(), _telling(second).rows()
    if type(first) is not type(second) or [row.label for row in rows] != [row.label for row in others]:
        raise ParameterError("two groups must have answered the same question by the same mechanism")
    return rows


def _compared(pairs: Sequence[tuple[Result, Result]], level: float) -> tuple[list[float], ...]:
    """Columns of first less second, for all pairs at once: the estimates, both ends, the p-values."""
    telling = [(_telling(first), _telling(second)) for first, second in pairs]
    sides = [[_group(pair[side]) for pair in telling] for side in (0, 1)]
    if all(group is not None for side in sides for group in side):
        first, second = (_joined([group for group in side if group is not None]) for side in sides)
        return _score(first, second, level)
    value, other = (_numbers([pair[side] for pair in telling]) for side in (0, 1))
    return _normal(value, other, level)


def _joined(groups: Sequence[YesCounts]) -> YesCounts:
    """The same as one group of arrays: what takes a search is searched for all of them together."""
    sizes = [np.size(group.yes) for group in groups]
    yes, n = (np.concatenate([np.broadcast_to(group[at], size) for group, size in zip(groups, sizes, strict=True)])
              for at in (0, 1))  # fmt: skip
    p, q = (np.repeat([group[at] for group in groups], sizes) for at in (2, 3))
    return YesCounts(yes, n, p, q)


def _numbers(results: Sequence[Result]) -> Floats:
    """A row of estimates, and one of their standard errors about the population."""
    rows = [(getattr(row, result.measure), row.stderr) for result in results for row in result.rows(population=True)]
    return np.array(rows, dtype=np.float64).T


def _telling(result: Result) -> Result:
    """The same without the first of two values, if what one gains the other loses."""
    if isinstance(result, Estimate) and result.domain.size == 2 and result.support.sum() == result.n:
        return replace(result, order=np.array([1]))
    return result


def _group(result: Result) -> YesCounts | None:
    """The reports behind each row, if each is for it or not, and somebody was asked."""
    if isinstance(result, Estimate):
        return YesCounts(result._ordered(result.support.astype(np.float64)), result.n, float(result.p), float(result.q))
    if isinstance(result, Shares) and (result.asked > 0).all():
        return YesCounts(result.yes.astype(np.float64), result.asked, float(result.p), float(result.q))
    return None


def _score(first: YesCounts, second: YesCounts, level: float) -> tuple[list[float], ...]:
    z = distance(second, first, 0.0)
    low, high = difference_interval(second, first, level)
    p_value = 2 * scipy.special.ndtr(-np.abs(z))
    return np.subtract(first.estimate, second.estimate).tolist(), low.tolist(), high.tolist(), p_value.tolist()


def _normal(first: Floats, second: Floats, level: float) -> tuple[list[float], ...]:
    """From estimates and their standard errors."""
    away, spread = first[0] - second[0], np.hypot(first[1], second[1])
    half = quantile(level) * spread
    z = np.divide(np.abs(away), spread, out=np.where(away == 0, 0.0, np.inf), where=spread > 0)
    p_value = 2 * scipy.special.ndtr(-z)
    return away.tolist(), (away - half).tolist(), (away + half).tolist(), p_value.tolist()
