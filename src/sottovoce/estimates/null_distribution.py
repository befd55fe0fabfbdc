"""How far off the estimate of a value that nobody holds can be, when collisions are rare but large.

Such a value gets a bucket at random in each cohort, and so a sum of independent draws from the cohorts' buckets. Most
buckets are alike; the few that hold a frequent value are not, and a normal law would take a value that meets one of
these a few times for a frequent one. So the law of the sum is worked out, by a Fourier transform; far out, where that
has no digits left, its tails follow from its cumulants by a saddlepoint approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_CELLS = 2**19
"""A law is worked out from at most so many cells. Of a larger table, some of the cohorts are used."""

POINTS_PER_DEVIATION = 16
"""Cells are moved to a grid of so many points to the standard deviation of one of them."""

MIN_TAIL, MAX_TAIL = 1e-9, 0.4
"""Between these probabilities the law is that of the transform."""

MAX_TRANSFORM_DEVIATE = 8.0
"""The transform is worked out between these normal deviates: beyond them it is lost in rounding."""

MAX_DEVIATE = 200.0
SADDLE_POINTS = 40
"""Saddlepoints that are worked out on either side."""
MAX_CURVE_POINTS = 512
"""About so many points of the transform are kept on either side."""


@dataclass(frozen=True, eq=False)
class NullDistribution:
    """The law of the sum of so many random cells of each row of a table, over its standard deviation.

    It is kept as a curve: the normal deviate that is as rare, for each of some points. Without a table it is normal.

    O. E. Barndorff-Nielsen, Approximate Interval Probabilities, Journal of the Royal Statistical Society B 1990 (r*).
    """

    table: NDArray[np.int64 | np.float64] | None = None
    functions: int = 1

    @cached_property
    def _curve(self) -> tuple[Floats, Floats]:
        straight = np.array([-1.0, 1.0])
        if self.table is None:
            return straight, straight
        rows, draws = self.table[:: -(-self.table.size // MAX_CELLS)].astype(np.float64), len(self.table)
        cells = rows - rows.mean(axis=1, keepdims=True)
        scale = np.sqrt(self.functions * draws * cells.var())
        if not scale > 0:
            return straight, straight
        pool = Pool.of(cells / scale, self.functions * draws)
        points, deviates = _rising(*_joined(pool.curve(), pool.saddles))
        return (points, deviates) if points.size > 1 else (straight, straight)

    def deviate(self, points: Floats) -> Floats:
        """The normal deviate that is as rare as a point."""
        return _interpolate(points, *self._curve)

    def point(self, deviate: float) -> float:
        """The point that is as rare as a normal deviate."""
        return float(_interpolate(np.array([deviate]), *self._curve[::-1])[0])

    def take(self, places: NDArray[np.int64]) -> NullDistribution:
        """The law of some of the values: it is the same for all of them."""
        return self


@dataclass(frozen=True, eq=False)
class NullDistributions:
    """One of several laws for each value."""

    laws: tuple[NullDistribution, ...]
    which: NDArray[np.int64]

    def deviate(self, points: Floats) -> Floats:
        found = np.empty(points.size)
        for at, law in enumerate(self.laws):
            found[self.which == at] = law.deviate(points[self.which == at])
        return found

    def point(self, deviate: float) -> Floats:
        return np.array([law.point(deviate) for law in self.laws])[self.which]

    def take(self, places: NDArray[np.int64]) -> NullDistributions:
        return NullDistributions(self.laws, self.which[places])


@dataclass(frozen=True, eq=False)
class Pool:
    """The cells of all rows together, on a grid, and how many are drawn from them.

    Rows differ a little. To draw from all of them at once makes the tails at most heavier.
    """

    places: NDArray[np.int64]
    shares: Floats
    step: float
    draws: int

    @classmethod
    def of(cls, cells: Floats, draws: int) -> Pool:
        """A cell between two points of the grid goes to both, in proportion: so the mean stays what it was."""
        step = 1 / (POINTS_PER_DEVIATION * draws**0.5)
        below = np.floor(cells.ravel() / step)
        part, least = cells.ravel() / step - below, int(below.min())
        at = (below - least).astype(np.int64)
        size = int(at.max()) + 2
        counts = np.bincount(at, 1 - part, size) + np.bincount(at + 1, part, size)
        held = np.flatnonzero(counts)
        return cls(held + least, counts[held] / cells.size, step, draws)

    @cached_property
    def saddles(self) -> tuple[Floats, Floats]:
        """Points and their deviates, all the way out."""
        tilts = np.geomspace(0.2, MAX_DEVIATE, SADDLE_POINTS)
        cells: Floats = (self.places * self.step).astype(np.float64)
        found: Floats = np.array([_saddle(cells, self.shares, self.draws, tilt) for tilt in (*-tilts[::-1], *tilts)])
        return _rising(*found[np.isfinite(found).all(axis=1)].T)

    def curve(self) -> tuple[Floats, Floats]:
        """The sum of all draws, by the transform; a point counts as far out as the one before it on the grid."""
        points, deviates = self.saddles
        if points.size < 2:
            return np.zeros(0), np.zeros(0)
        ends = _interpolate(np.array([-MAX_TRANSFORM_DEVIATE, MAX_TRANSFORM_DEVIATE]), deviates, points)
        low, high = np.floor(ends / self.step).astype(np.int64)
        size = 2 ** int(np.ceil(np.log2(1.25 * (high - low) + np.ptp(self.places) + 2)))
        one = np.bincount(self.places % size, self.shares, size)
        law = np.roll(np.fft.irfft(np.fft.rfft(one) ** self.draws, size), -low).clip(0)
        at = (low + np.arange(size)) * self.step
        sides = [_side(at, np.cumsum(law), 1), _side(at[::-1], np.cumsum(law[::-1]), -1)]
        return np.concatenate([sides[0][0], sides[1][0][::-1]]), np.concatenate([sides[0][1], sides[1][1][::-1]])


def _rising(points: Floats, deviates: Floats) -> tuple[Floats, Floats]:
    """The points of a curve at which both the point and its deviate grow."""
    high = np.maximum.accumulate(deviates)
    rising = (np.diff(points, prepend=-np.inf) > 1e-6) & (np.diff(high, prepend=-np.inf) > 1e-6)
    return points[rising], deviates[rising]


def _side(at: Floats, beyond: Floats, sign: int) -> tuple[Floats, Floats]:
    """The points on one side, from the outside in, and the deviates of what lies beyond them."""
    own = np.flatnonzero((beyond[1:] > MIN_TAIL) & (beyond[1:] < MAX_TAIL) & (sign * at[:-1] < 0))
    own = own[:: max(own.size // MAX_CURVE_POINTS, 1)]
    return at[own], sign * scipy.special.ndtri(beyond[own + 1])


def _joined(curve: tuple[Floats, Floats], tails: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The curve, and the tails where it has ended."""
    if not curve[0].size:
        return tails
    points, deviates = tails
    ends, rare = (curve[0].min(), curve[0].max()), (curve[1].min(), curve[1].max())
    left, right = (points < ends[0]) & (deviates < rare[0]), (points > ends[1]) & (deviates > rare[1])
    order = [(points[left], deviates[left]), curve, (points[right], deviates[right])]
    return np.concatenate([part[0] for part in order]), np.concatenate([part[1] for part in order])


def _saddle(cells: Floats, shares: Floats, draws: int, tilt: float) -> tuple[float, float]:
    """The point whose tilted law has its mean there, and its normal deviate r*."""
    highest = (tilt * cells).max()
    weights = shares * np.exp(tilt * cells - highest)
    total = weights.sum()
    cumulant = draws * float(highest + np.log(total))
    mean = float((weights * cells).sum() / total)
    point, variance = draws * mean, draws * float((weights * (cells - mean) ** 2).sum() / total)
    root = float(np.sign(tilt) * np.sqrt(max(2 * (tilt * point - cumulant), 0.0)))
    if not root or variance < 1e-9:
        return np.nan, np.nan
    return point, root + float(np.log(tilt * np.sqrt(variance) / root)) / root


def _interpolate(at: Floats, xs: Floats, ys: Floats) -> Floats:
    """Straight lines between the points, and those of the ends beyond them."""
    first, last = (ys[1] - ys[0]) / (xs[1] - xs[0]), (ys[-1] - ys[-2]) / (xs[-1] - xs[-2])
    values: Floats = np.interp(at, xs, ys) + first * (at - xs[0]).clip(max=0) + last * (at - xs[-1]).clip(min=0)
    return values
