"""How far off the estimate of a value that nobody holds can be, when collisions are rare but large.

Such a value gets a bucket at random in each cohort, and so a sum of independent draws from the cohorts' buckets. Most
buckets are alike; the few that hold a frequent value are not, and a normal law would take a value that meets one of
these a few times for a frequent one. The tails of the sum follow from its cumulants by a saddlepoint approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sottovoce.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_CELLS = 2**17
"""The largest table that is used as it is; the cells of a larger one are pooled."""

POOL = 2**19
"""Cells that are pooled; of a still larger table, some cohorts stand for all."""

FINE = 64
"""Pooled cells are rounded to so many parts of the standard deviation of one of them."""

FARTHEST = 200.0
POINTS = 40


@dataclass(frozen=True, eq=False)
class NullLaw:
    """The law of the sum of so many random cells of each row of a table, over its standard deviation.

    It is kept as a curve: the normal deviate that is as rare, for each of some points. Without a table it is normal.

    O. E. Barndorff-Nielsen, Approximate Interval Probabilities, Journal of the Royal Statistical Society B 1990 (r*).
    """

    table: NDArray[Any] | None = None
    functions: int = 1
    most: int = MAX_CELLS

    @cached_property
    def _curve(self) -> tuple[Floats, Floats]:
        straight = np.array([-1.0, 1.0])
        if self.table is None:
            return straight, straight
        rows = self.table[:: -(-self.table.size // POOL)].astype(np.float64)
        cells, times = rows - rows.mean(axis=1, keepdims=True), self.functions * len(self.table) / len(rows)
        scale = np.sqrt(times * cells.var(axis=1).sum())
        if not scale > 0:
            return straight, straight
        law: tuple[Floats, Any, float] = (cells / scale, 1 / cells.shape[1], times)
        law = law if cells.size <= self.most else _pooled(*law)
        tilts = np.geomspace(0.2, FARTHEST, POINTS)
        found = np.array([_point(*law, tilt) for tilt in (*-tilts[::-1], *tilts)])
        points, deviates = found[np.isfinite(found).all(axis=1)].T
        rising = (np.diff(points, prepend=-np.inf) > 1e-6) & (np.diff(deviates, prepend=-np.inf) > 1e-6)
        return (points[rising], deviates[rising]) if rising.sum() > 1 else (straight, straight)

    def deviate(self, points: Floats) -> Floats:
        """The normal deviate that is as rare as a point."""
        return _interpolate(points, *self._curve)

    def point(self, deviate: float) -> float:
        """The point that is as rare as a normal deviate."""
        return float(_interpolate(np.array([deviate]), *self._curve[::-1])[0])

    def take(self, places: NDArray[np.int64]) -> NullLaw:
        """The law of some of the values: it is the same for all of them."""
        return self


@dataclass(frozen=True, eq=False)
class Laws:
    """One of several laws for each value."""

    laws: tuple[NullLaw, ...]
    which: NDArray[np.int64]

    def deviate(self, points: Floats) -> Floats:
        found = np.empty(points.size)
        for at, law in enumerate(self.laws):
            found[self.which == at] = law.deviate(points[self.which == at])
        return found

    def point(self, deviate: float) -> Floats:
        return np.array([law.point(deviate) for law in self.laws])[self.which]

    def take(self, places: NDArray[np.int64]) -> Laws:
        return Laws(self.laws, self.which[places])


def _pooled(cells: Floats, share: float, times: float) -> tuple[Floats, Any, float]:
    """One row for all, of rounded cells with their shares, drawn from as often as from all rows together.

    The logarithm of a mean is at least the mean of logarithms: so the tails are at most made heavier.
    """
    draws = times * len(cells)
    places = np.rint(cells * (FINE * draws**0.5)).astype(np.int64).ravel()
    least = int(places.min())
    counts = np.bincount(places - least)
    held = np.flatnonzero(counts)
    return (held + least)[None] / (FINE * draws**0.5), counts[held][None] / cells.size, draws


def _point(cells: Floats, shares: Any, times: float, tilt: float) -> tuple[float, float]:
    """The point whose tilted law has its mean there, and its normal deviate r*."""
    highest = (tilt * cells).max(axis=1, keepdims=True)
    weights = shares * np.exp(tilt * cells - highest)
    totals = weights.sum(axis=1, keepdims=True)
    cumulant = times * float((highest + np.log(totals)).sum())
    means = (weights * cells).sum(axis=1, keepdims=True) / totals
    point, variance = times * float(means.sum()), times * float((weights * (cells - means) ** 2 / totals).sum())
    root = float(np.sign(tilt) * np.sqrt(max(2 * (tilt * point - cumulant), 0.0)))
    if not root or variance < 1e-9:
        return np.nan, np.nan
    return point, root + float(np.log(tilt * np.sqrt(variance) / root)) / root


def _interpolate(at: Floats, xs: Floats, ys: Floats) -> Floats:
    """Straight lines between the points, and those of the ends beyond them."""
    first, last = (ys[1] - ys[0]) / (xs[1] - xs[0]), (ys[-1] - ys[-2]) / (xs[-1] - xs[-2])
    values: Floats = np.interp(at, xs, ys) + first * (at - xs[0]).clip(max=0) + last * (at - xs[-1]).clip(min=0)
    return values
