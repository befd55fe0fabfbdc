"""Sums of many independent steps: how large they are on average where they are positive, with every error on one side.

All of shuffle accounting comes down to such sums. If n people report and an outsider looks at the multiset of reports,
the divergence of two neighbouring data sets is E[(G_1 + ... + G_n)+] / n for independent steps G. Here the steps are
put on a lattice, tilted so that their sum is centred where it matters, and added up by one fast Fourier transform.

What keeps the result on the safe side:

- *Lattice.* For an upper bound each value is split between its two neighbours on the lattice with its mean kept. That
  spreads the law, and the mean of a convex function can only grow. A lower bound comes from a test that looks at values
  rounded to the lattice: any test gives one.
- *Wrapping.* A transform of finite length puts what lies outside its window onto points inside. All of that is
  positive, and what lies outside is bounded by Chernoff's inequality and counted.
- *Floats.* One step's weights are off by a few units in the last place each, so the sum of n by n times as much; the
  transform is off by at most a few units for each of its stages. Both are bounded and counted. As the sum is tilted,
  these errors are relative to the result and do not swamp a small one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDING_UNIT = 2.0**-53
STAGE_ERROR = 32 * ROUNDING_UNIT
"""More than what one stage of a transform can be off by, relative to the sum of what goes in."""

TAIL_EXPONENT = 40.0
"""About e^-TAIL_EXPONENT of a sum lies outside its window."""

NEGLIGIBLE_EXPONENT = 90.0
"""Frequencies with a characteristic function below e^-NEGLIGIBLE_EXPONENT are left out, and counted as an error."""

MAX_EXPONENT = 600.0
"""An exponent that no sum which matters comes near."""

VANISHING = 8 * ROUNDING_UNIT
"""A characteristic function this close to 0 is taken to be this large: its error is at least as large."""

UNDERFLOW = 1e-300
"""More than all that is lost where a probability is too small for a float."""

STEP_DEVIATIONS = 0.15
"""The step of a lattice, in standard deviations of one step."""

MIN_STEP_SHARE = 1e-3
"""No step is smaller than this part of the range of values."""


@dataclass(frozen=True, eq=False)
class LatticeWindow:
    """The tilted law of a sum on a window of its lattice.

    `chances[i]` is, but for `slip` either way and for wrapped mass of at most `outside`, the tilted probability of the
    value `values[i]`. The true probability is that times e^(scale - tilt * value).
    """

    values: NDArray[np.float64]
    chances: NDArray[np.float64]
    tilt: float
    scale: float
    slip: float
    outside: float
    above: float
    """No more than what the untilted mean of the positive part has above the window."""

    def weights(self) -> NDArray[np.float64]:
        """What turns tilted probabilities into true ones."""
        weights: NDArray[np.float64] = np.exp(np.minimum(self.scale - self.tilt * self.values, MAX_EXPONENT))
        return weights


@dataclass(frozen=True, eq=False)
class Lattice:
    """One step on a lattice: the value origin + step * k with a weight, for the whole numbers k."""

    origin: float
    step: float
    places: NDArray[np.int64]
    weights: NDArray[np.float64]

    @property
    def values(self) -> NDArray[np.float64]:
        return self.origin + self.step * self.places.astype(np.float64)

    def sum(self, n: int) -> LatticeWindow:
        """The law of n steps added up, tilted to be centred at 0 and cut to a window around it."""
        tilt, scale = tilted(self.values, self.weights)
        chances = self.weights * np.exp(tilt * self.values - scale)
        mean = float(chances @ self.values)
        deviation = math.sqrt(max(float(chances @ (self.values - mean) ** 2), 0.0))
        reach = _reach(n, deviation, float(np.abs(self.values - mean).max()))
        first, size, whole = self._cut(n, mean, reach)
        pmf, slip = _power(self.places - self.places.min(), chances, n, first - n * int(self.places.min()), size)
        values = n * self.origin + self.step * np.arange(first, first + size, dtype=np.float64)
        blur = math.exp(min(n * 16 * ROUNDING_UNIT * (2 + float(np.abs(tilt * self.values).max())), 700.0))
        outside = 0.0 if whole else self._outside(n, tilt, scale, mean, reach)
        above = 0.0 if whole else self._above(n, tilt, float(values[-1]))
        slip = (slip + float(pmf.max()) * (blur - 1)) * blur
        return LatticeWindow(values, pmf * blur, tilt, n * scale, slip, outside, above)

    def _cut(self, n: int, mean: float, reach: float) -> tuple[int, int, bool]:
        """The first place of the window, its length, and whether it holds everything."""
        low, high = n * int(self.places.min()), n * int(self.places.max())
        first = math.floor((n * (mean - self.origin) - reach) / self.step) - 2
        last = math.ceil((n * (mean - self.origin) + reach) / self.step) + 2
        if first <= low and last >= high:
            return low, high - low + 1, True
        spread = int(self.places.max() - self.places.min())
        size = max(last - first + 1, spread + 1)
        return first, size, False

    def _outside(self, n: int, tilt: float, scale: float, mean: float, reach: float) -> float:
        """Chernoff's bound for the tilted mass outside the window."""
        total = 0.0
        for side in (1.0, -1.0):
            pulls = (side * _pulls(self.values, reach)).tolist()
            grown = [_cumulant(self.values, self.weights, tilt + t) - scale - t * mean for t in pulls]
            total += math.exp(min(0.0, *(n * g - abs(t) * reach for g, t in zip(grown, pulls, strict=True))))
        return total

    def _above(self, n: int, tilt: float, top: float) -> float:
        """E[S; S > w] <= w e^(n K(t) - t w) for every t >= 1/w, as s <= w e^(s/w - 1)."""
        if top <= 0:
            return math.inf
        pulls = np.maximum(tilt + _pulls(self.values, top), 1 / top).tolist()
        logs = [n * _cumulant(self.values, self.weights, t) - t * top for t in pulls]
        return top * math.exp(min(min(logs), 700.0))


def tilted(values: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float]:
    """The tilt at which a step has mean 0, or none if its mean is positive; and the cumulant there."""
    high = float(values.max())
    if float(weights @ values) >= 0 or high <= 0:
        return 0.0, _cumulant(values, weights, 0.0)
    low, top = 0.0, 1 / max(high, -float(values.min()))
    while top * high < 600 and _slope(values, weights, top) < 0:
        low, top = top, 2 * top
    for _ in range(50):
        middle = (low + top) / 2
        low, top = (middle, top) if _slope(values, weights, middle) < 0 else (low, middle)
    return low, _cumulant(values, weights, low)


def _slope(values: NDArray[np.float64], weights: NDArray[np.float64], tilt: float) -> float:
    return float((weights * np.exp(np.clip(tilt * values, -745, 650))) @ values)


def _cumulant(values: NDArray[np.float64], weights: NDArray[np.float64], tilt: float) -> float:
    """The logarithm of the mean of e^(tilt * value), with small relative errors of the mean near 1 and near 0 alike."""
    exponents = tilt * values
    shift = max(float(exponents.max()), 0.0)
    if shift <= 600 and (beyond := float(weights @ np.expm1(exponents)) + (float(weights.sum()) - 1)) > -0.5:
        return math.log1p(beyond)
    return shift + math.log(float(weights @ np.exp(exponents - shift)) + UNDERFLOW)


def _pulls(values: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """Tilts to try in a Chernoff bound, around the one that is best for a normal law."""
    spread = float(values.max() - values.min())
    pulls: NDArray[np.float64] = TAIL_EXPONENT / max(reach, spread) * np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
    return pulls


def _reach(n: int, deviation: float, largest: float) -> float:
    """Bernstein's bound: e^-TAIL_EXPONENT of the tilted sum is farther from its mean."""
    return math.sqrt(2 * TAIL_EXPONENT * n) * deviation + 2 / 3 * TAIL_EXPONENT * largest


def _power(
    places: NDArray[np.int64], chances: NDArray[np.float64], n: int, first: int, size: int
) -> tuple[NDArray[np.float64], float]:
    """The n-fold convolution on a circle, read from `first` on, and a bound of its error at each point."""
    length = fast_length(max(size, int(places.max()) + 1))
    near = _near(places, chances, n, length)
    centre = round(float(chances @ places))
    logs, rough = _logarithm(places - centre, chances, near, length)
    turn = 2j * np.pi / length * ((first - n * centre) % length * near % length)
    powers = np.zeros(length // 2 + 1, dtype=np.complex128)
    powers[near] = np.exp(n * logs + turn)
    each = STAGE_ERROR * (math.log2(length) + 2) + ROUNDING_UNIT * (n * (places.size + 16) * rough + 8)
    error = 2 / length * float(np.abs(powers[near]) @ each) + math.exp(10 - NEGLIGIBLE_EXPONENT)
    return np.fft.irfft(powers, length)[:size], error


def fast_length(least: int) -> int:
    """The least number from `least` on that a Fourier transform is fast for: it has no prime factor above 5.

    >>> [fast_length(n) for n in (1, 7, 11, 1021)]
    [1, 8, 12, 1024]
    """
    best = 1 << (least - 1).bit_length()
    for fives in range(27):
        for threes in range(40):
            odd = 3**threes * 5**fives
            best = min(best, odd << (-(-least // odd) - 1).bit_length())
            if odd >= least:
                break
    return best


def _near(places: NDArray[np.int64], chances: NDArray[np.float64], n: int, length: int) -> NDArray[np.int64]:
    """The frequencies at which the n-th power of a characteristic function is not negligible.

    The transform of one step is off by less than 1e-13: what seems to be 0 need not be negligible for few steps.
    """
    one = np.zeros(length)
    np.add.at(one, places, chances)
    return np.flatnonzero(n * np.log(np.abs(np.fft.rfft(one)) + 1e-13) > -NEGLIGIBLE_EXPONENT)


def _logarithm(
    places: NDArray[np.int64], chances: NDArray[np.float64], near: NDArray[np.int64], length: int
) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """The logarithm of a characteristic function at some frequencies, and what its error is a few units of.

    It is close to 0 where many steps matter, so that it is computed from what the function lacks to 1. Few steps matter
    also where the function nearly vanishes: there its relative error is a few units over its size.
    """
    lack, drift, rough = (np.zeros(near.size) for _ in range(3))
    for place, chance in zip(places.tolist(), chances.tolist(), strict=True):
        angle = place * near % (2 * length)
        half = np.pi / length * np.where(angle > length, angle - 2 * length, angle)
        sine = np.sin(2 * half)
        lack -= 2 * chance * np.sin(half) ** 2
        drift -= chance * sine
        rough += chance * np.abs(sine)
    real = log_size(2 * lack + lack**2 + drift**2, np.hypot(1 + lack, drift))
    return real + 1j * np.arctan2(drift, 1 + lack), rough - 2 * lack + np.expm1(-real)


def log_size(above_one: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of a characteristic function's size, given both its square less 1 and itself.

    The first has small relative errors where the function is near 1, the second where it nearly vanishes.
    """
    near_one = 0.5 * np.log1p(np.maximum(above_one, -0.5))
    return np.where(above_one > -0.5, near_one, np.log(np.maximum(size, VANISHING)))


def spread(values: NDArray[np.float64], weights: NDArray[np.float64], fine: float = STEP_DEVIATIONS) -> Lattice:
    """A lattice with each value split between its neighbours, its mean kept: larger in the convex order."""
    origin, step = _scale(values, weights, fine)
    exact = (values - origin) / step
    below = np.floor(exact)
    share = exact - below
    places = np.concatenate([below, below + 1]).astype(np.int64)
    both = np.concatenate([weights * (1 - share), weights * share])
    return Lattice(origin, step, *_merged(places, both))


def _scale(values: NDArray[np.float64], weights: NDArray[np.float64], fine: float) -> tuple[float, float]:
    """Origin and step: two values lie on the lattice exactly, the likeliest and the largest (or the least)."""
    distinct = np.unique(values)
    if distinct.size == 2:
        return float(distinct[0]), float(distinct[1] - distinct[0])
    if distinct.size == 1:
        return float(distinct[0]), 1.0
    tilt, scale = tilted(values, weights)
    chances = weights * np.exp(tilt * values - scale)
    mean = float(chances @ values)
    wanted = fine * math.sqrt(float(chances @ (values - mean) ** 2))
    origin = float(values[chances.argmax()])
    far = max(float(values.max()) - origin, origin - float(values.min()))
    wanted = max(wanted, far * MIN_STEP_SHARE)
    return origin, far / max(math.ceil(far / wanted), 1)


def _merged(places: NDArray[np.int64], weights: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    kept = weights > 0
    distinct, where = np.unique(places[kept], return_inverse=True)
    return distinct, np.bincount(where, weights=weights[kept]).astype(np.float64)


def positive_part(
    values: NDArray[np.float64], weights: NDArray[np.float64], n: int, fine: float = STEP_DEVIATIONS
) -> float:
    """No less than the mean of the positive part of n steps added up."""
    if float(values.max()) <= 0:
        return 0.0
    window = spread(values, weights, fine).sum(n)
    slack = 8 * ROUNDING_UNIT * (np.abs(window.values) + n * float(np.abs(values).max()))
    positive = np.flatnonzero(window.values + slack > 0)
    if not positive.size:
        return window.above + UNDERFLOW
    s, p = (window.values + slack)[positive], window.chances[positive] + window.slip
    total = float((s * np.maximum(p, 0.0)) @ np.exp(window.scale - window.tilt * window.values[positive]))
    return (total + window.above) * (1 + 1e-9) + UNDERFLOW


def best_test(
    values: NDArray[np.float64], weights: NDArray[np.float64], n: int, fine: float = STEP_DEVIATIONS
) -> float:
    """No more than the mean of n steps added up where a test says yes, for the best threshold of a rounded sum."""
    if n == 1 or float(values.max()) <= 0:
        return n * float(weights @ np.maximum(values, 0.0)) * (1 - 1e-9)
    origin, step = _scale(values, weights, fine)
    places = np.rint((values - origin) / step).astype(np.int64)
    tilt, scale = tilted(values, weights)  # Where it matters, the rounded sum has the mean of the sum.
    origin += float((weights * np.exp(tilt * values - scale)) @ (values - origin - step * places))
    window = Lattice(origin, step, *_merged(places, weights)).sum(n - 1)
    tails, slips = _tails(window)
    size, far = window.values.size, int(np.abs(places).max()) + 1
    above = np.arange(far, size - far) if window.outside else np.arange(-1, size)
    above = above[np.abs(window.values[np.maximum(above, 0)]) <= 0.2 * step * size]
    value = np.zeros(above.size)
    for place, chance, gain in zip(places, weights, values, strict=True):
        at = np.clip(above + 1 - place, 0, size)
        value += chance * (gain * tails[at] - abs(gain) * slips[at])
    return max(n * float(value.max(initial=0.0)) * (1 - 1e-9), 0.0)


def _tails(window: LatticeWindow) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The chance that a sum is at or above each value of a window, and above them all; and how far that is off."""
    weights = window.weights()
    tails, slips = (
        np.append(np.cumsum(each[::-1])[::-1], 0.0) for each in (window.chances * weights, window.slip * weights)
    )
    slips += 2 * ROUNDING_UNIT * (tails.size + 16) * np.abs(tails) + float(weights[-1]) * window.outside
    slips[:-1] += weights * window.outside
    slips[:-1][window.scale - window.tilt * window.values > MAX_EXPONENT] = math.exp(MAX_EXPONENT)
    return tails, slips
