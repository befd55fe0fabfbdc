"""Counts of noisy bits: the divergence of a shuffled batch, exactly.

Each of n people sends `messages` bits. Every bit is kept with probability `keep` and flipped otherwise, independently.
Shuffled, all that can be seen is how many ones there are. With one message this is randomized response.

*The worst change of an answer* is from no bit set to all. The number of ones has the monotone likelihood ratio in the
number of bits set, so that the best test is a threshold, and more bits changed only move the two laws farther apart.
The opposite change is the same with ones and zeros swapped. Bits set at random are a mixture, which is no worse.

*The worst answers of the others* are looked for: the others' bits matter only through how many of them are set. Where
there are too many counts to try each, every count is compared with the next smaller one of a grid and as many bits
fewer: to take others' noise away can only help an attacker. All zeros is nearly always the worst. The grid has as many
counts as bounded memory allows: it costs a thousandth of epsilon for a million reports, a few hundredths for 10^9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np
from sottovoce.trust.shuffle.lattice import (
    MAX_EXPONENT,
    NEGLIGIBLE_EXPONENT,
    ROUNDING_UNIT,
    STAGE_ERROR,
    TAIL_EXPONENT,
    UNDERFLOW,
    fast_length,
    log_size,
)
from sottovoce.trust.shuffle.solve import least, normal_epsilon

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELLS = 2**22
"""Probabilities computed for each of the two laws, for all counts of ones among the others together: 64 MB."""

MIN_ROWS = 4
"""At least so many counts are tried, if there are as many."""

CELLS_AT_A_TIME = 2**19
"""Probabilities computed at a time, so that they stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Rows:
    """For some counts of ones among the others, the tilted laws of the number of ones with the victim's bits off or on.

    Row i has the probabilities of `first[i]`, `first[i] + 1`, ...; the true ones are e^(scale - tilt * k) times those,
    and for the second law e^`between` times as much again.
    """

    first: NDArray[np.int64]
    off: NDArray[np.float64]
    on: NDArray[np.float64]
    scale: NDArray[np.float64]
    between: float
    tilt: float
    slip: float
    outside: float

    def upper(self, epsilon: float) -> float:
        """No less than the largest divergence of these rows."""
        return min(float(self.uppers(epsilon).max()), 1.0)

    def uppers(self, epsilon: float) -> NDArray[np.float64]:
        """No less than the divergence of each row."""
        ratio = math.exp(epsilon + self.between)
        gap = (self.off + self.slip) - ratio * (self.on - self.slip - self.outside)
        positive = np.logical_and.accumulate(gap > 0, axis=1)  # By the monotone ratio nothing comes after.
        gap *= positive
        total = (self._weighed(gap) + self._first_weight * self.outside) * (1 + 1e-9) + UNDERFLOW
        return np.where(positive[:, -1] & (self.outside > 0), 1.0, total)

    def lower(self, epsilon: float) -> float:
        """No more than the largest divergence of these rows."""
        ratio = math.exp(epsilon + self.between)
        gap = (self.off - self.slip - self.outside) - ratio * (self.on + self.slip)
        gap *= np.logical_and.accumulate(self.off >= ratio * self.on - self.slip, axis=1)
        total = self._weighed(gap) - ratio * self._first_weight * self.outside
        return max(float(total.max()) * (1 - 1e-9), 0.0)

    @property
    def _first_weight(self) -> NDArray[np.float64]:
        """What turns a tilted probability of the first law into a true one, in the first place of each row."""
        first: NDArray[np.float64] = np.exp(np.minimum(self.scale - self.tilt * self.first, MAX_EXPONENT))
        return first

    def _weighed(self, gap: NDArray[np.float64]) -> NDArray[np.float64]:
        """The true sum of each row of tilted differences; of a negative one no more than that it is not positive.

        The weights of a row are those of the places, which are the same for all, times one of its own. Logarithms keep
        that one from leaving the range of floats. Rows so wide that the places' weights would leave it are short.
        """
        places = np.arange(gap.shape[1], dtype=np.float64)
        if abs(self.tilt) * gap.shape[1] > 2 * MAX_EXPONENT:
            exponents = self.scale[:, None] - self.tilt * (self.first[:, None] + places)
            plain: NDArray[np.float64] = (gap * np.exp(np.minimum(exponents, MAX_EXPONENT))).sum(axis=1)
            return plain
        middle = gap.shape[1] // 2
        tilted = np.maximum(gap @ np.exp(-self.tilt * (places - middle)), 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(tilted) + self.scale - self.tilt * (self.first + middle)
        total: NDArray[np.float64] = np.exp(np.minimum(logs, MAX_EXPONENT))
        return total


@dataclass(frozen=True)
class BitCounts:
    """The accounting of shuffled noisy bits. `delta` is the level around which it is sharpest."""

    n: int
    keep: Fraction
    messages: int = 1
    delta: float = 1e-6
    cells: int = CELLS

    @property
    def shift(self) -> float:
        """How far apart the two laws are, in standard deviations."""
        p = float(max(self.keep, 1 - self.keep))
        return self.messages * (2 * p - 1) / math.sqrt(self.n * self.messages * p * (1 - p))

    def upper(self, epsilon: float) -> float:
        """No less than the divergence at epsilon of any two neighbouring data sets."""
        return max(rows.upper(epsilon) for rows in self._grid)

    def quick(self, epsilon: float) -> float:
        """The same for the data set that is nearly always the worst."""
        return self._rows(np.zeros(1, dtype=np.int64), self._others - self._stride).upper(epsilon)

    def lower(self, epsilon: float) -> float:
        """No more than the divergence when none of the others' bits are set, or as many as seem the worst."""
        return self._suspects.lower(epsilon)

    @property
    def _others(self) -> int:
        return (self.n - 1) * self.messages

    @cached_property
    def _stride(self) -> int:
        rows = max(self.cells // self._size, MIN_ROWS)
        return 0 if self._others < rows else math.ceil(self._others / rows)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Counts of ones such that each other one is at most a stride above some of them, and has as many zeros."""
        last = self._others - self._stride
        return np.unique(np.append(np.arange(0, last + 1, self._stride + 1), last))

    @cached_property
    def _suspects(self) -> Rows:
        local = self.messages * math.log(float(self.keep / (1 - self.keep)))
        guess = least(self.quick, self.delta, normal_epsilon(self.delta, self.shift, abs(local)), abs(local))
        worst = np.concatenate([rows.uppers(guess) for rows in self._grid]).argmax()
        return self._rows(np.unique([0, self._starts[worst]]), self._others)

    @cached_property
    def _grid(self) -> list[Rows]:
        """The counts that are tried, with a stride of bits fewer."""
        ones, part = self._starts, max(1, CELLS_AT_A_TIME // self._size)
        return [self._rows(ones[at : at + part], self._others - self._stride) for at in range(0, ones.size, part)]

    # The law of a count.

    @cached_property
    def _tilt(self) -> float:
        """Centres the laws near the threshold of the best test: below the mean by so many standard deviations."""
        p = float(self.keep)
        depth = NormalDist().inv_cdf(min(max(self.delta, 1e-300), 0.4)) * 1.1
        return max(depth / math.sqrt(max(self.n * self.messages * p * (1 - p), 1.0)), -30.0)

    @property
    def _reach(self) -> int:
        """Bernstein's bound of how far a tilted count strays, with the largest variance a bit can have."""
        variance = max(one * zero for one, zero in zip(self._tilted, self._rest, strict=True)) * self.n * self.messages
        return math.ceil(math.sqrt(2 * TAIL_EXPONENT * variance) + 2 / 3 * TAIL_EXPONENT) + 2 * self.messages

    @property
    def _size(self) -> int:
        return min(2 * self._reach + 1, self.n * self.messages + 1)

    @property
    def _coin(self) -> tuple[float, float]:
        """The probabilities of a one, of a bit that is set and of one that is not.

        Each is rounded by itself: what a float near 1 leaves to 1 may have lost all its digits.
        """
        return float(max(self.keep, 1 - self.keep)), float(min(self.keep, 1 - self.keep))

    @property
    def _tilted(self) -> tuple[float, float]:
        """The tilted probabilities of a one, of a bit that is set and of one that is not."""
        (p, q), factor = self._coin, math.exp(self._tilt)
        return p * factor / (p * factor + q), q * factor / (q * factor + p)

    @property
    def _rest(self) -> tuple[float, float]:
        """The tilted probabilities of a zero."""
        (p, q), factor = self._coin, math.exp(self._tilt)
        return q / (p * factor + q), p / (q * factor + p)

    def _rows(self, ones: NDArray[np.int64], others: int) -> Rows:
        """The laws for so many ones among so many bits of others, and the victim's bits off or on."""
        p, q = self._tilted
        size = min(self._size, others + self.messages + 1)
        whole = size == others + self.messages + 1
        length = fast_length(size)
        m, centre = self.messages, np.rint(ones * p + (others - ones) * q + self.messages * (p + q) / 2)
        first = np.zeros_like(ones) if whole else np.clip(centre.astype(np.int64) - size // 2, 0, None)
        (set_, sizes), (unset, others_) = (_logarithm(*coin, length) for coin in zip((p, q), self._rest, strict=True))
        near = _near(np.maximum(set_.real, unset.real) * (others + m), length)
        angle = 2j * np.pi / length * (first[:, None] * np.arange(near) % length)
        base = ones[:, None] * set_[:near] + (others - ones)[:, None] * unset[:near]
        seen = size if whole else 5 * size // 6  # The threshold lies near the middle, or at the mean.
        off, on = (_density(base + m * log[:near] + angle, length, seen) for log in (unset, set_))
        rough = ones[:, None] * sizes[:near] + (others - ones)[:, None] * others_[:near]
        slip = max(
            _slip(np.exp((base + m * log[:near]).real), rough + m * size_of_log[:near], length)
            for log, size_of_log in ((unset, others_), (set_, sizes))
        )
        scale, between = self._scale(ones, others)
        return Rows(first, off, on, scale, between, self._tilt, slip, 0.0 if whole else 2 * math.exp(-TAIL_EXPONENT))

    def _scale(self, ones: NDArray[np.int64], others: int) -> tuple[NDArray[np.float64], float]:
        """The cumulant, which turns tilted probabilities into true ones, and what the victim's bits add to it."""
        p, q = self._coin
        on, off = _grown(p, q, self._tilt), _grown(q, p, self._tilt)
        return ones * on + (others - ones + self.messages) * off, self.messages * (on - off)


def _grown(chance: float, rest: float, tilt: float) -> float:
    """The logarithm of rest + chance e^tilt, without cancellation where the tilt is small and where it is not."""
    return math.log1p(chance * math.expm1(tilt)) if tilt > -0.5 else math.log(rest + chance * math.exp(tilt))


def _logarithm(chance: float, rest: float, length: int) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """The logarithm of a coin's characteristic function, and what its error is a few units of.

    That is its size, and where the function nearly vanishes the inverse of the function.
    """
    half = np.pi / length * np.arange(length // 2 + 1)
    across, along = chance * np.sin(2 * half), 1 - 2 * chance * np.sin(half) ** 2
    real = log_size(-4 * chance * rest * np.sin(half) ** 2, np.hypot(along, across))
    imaginary = -np.arctan2(across, along)
    return real + 1j * imaginary, np.abs(real) + np.abs(imaginary) + np.expm1(-real)


def _near(logs: NDArray[np.float64], length: int) -> int:
    """How many frequencies are not negligible: the size of a coin's function falls all the way."""
    return max(int(np.searchsorted(-logs, NEGLIGIBLE_EXPONENT)), 1)


def _density(logs: NDArray[np.complex128], length: int, size: int) -> NDArray[np.float64]:
    density: NDArray[np.float64] = np.fft.irfft(np.exp(logs), length)[:, :size]
    return density


def _slip(size: NDArray[np.float64], logs: NDArray[np.float64], length: int) -> float:
    """How far a probability can be off: each exponent by a few units of its size, then the stages of a transform."""
    each = 2 / length * (size * (STAGE_ERROR * (math.log2(length) + 2) + 8 * ROUNDING_UNIT * (logs + 4))).sum(axis=1)
    return float(each.max()) + math.exp(10 - NEGLIGIBLE_EXPONENT)
