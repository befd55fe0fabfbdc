"""Exact errors of weighted sums of frequencies, for mechanisms whose values' errors are not independent.

The estimate of sum_v c_v f_v from one report is Y = sum_v c_v (S_v - q) / (p - q), where S_v says whether the report
supports v. Its mean for a holder of x is c_x. Its second moment for a holder of x is what this module computes, for
all x at once, so that the variance of any weighted sum follows with all covariances in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.lazy import numpy as np
from sottovoce.mechanisms.krr import KRR
from sottovoce.mechanisms.local_hash import LocalHash
from sottovoce.mechanisms.parts import Part
from sottovoce.postprocess import nearest_distribution

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOBODY = 1e-9
"""A part that nobody answered counts as this many reports: next to no weight, and an error beyond all use."""

BLOCK = 2**22
"""Weights handled at a time, so that memory does not grow with the number of sums asked for."""


def second_moments(part: Part, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row c of weights and each value x, the mean of (sum_v c_v S_v)^2 over the reports of a holder of x."""
    p, q = float(part.p), float(part.q)
    if isinstance(part, KRR):  # A report supports one value.
        squares: NDArray[np.float64] = weights**2
        moments: NDArray[np.float64] = q * squares.sum(axis=1, keepdims=True) + (p - q) * squares
        return moments
    lie = (1 - p) / (part.buckets - 1)
    total, own = _squares(part, weights)
    return (lie * total[:, None] + (p - lie) * own) / part.cohorts


def _squares(part: LocalHash, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The squares of the weights' sums over a bucket, added up: over all buckets, and over those that x falls into.

    Both run over all cohorts. Cohort 0 has every value in bucket 0; the others come in lines of g - 1 that agree but
    for the names of the buckets, and those with k digits behind the leading one hash by k + 1 digits of a value.
    """
    space, rows = part._space, len(weights)
    g, size, digits = space.order, space.size, space.digits
    negative = space.field.negative(np.arange(g))
    padded = np.zeros((rows, size))
    padded[:, : weights.shape[1]] = weights
    total = padded.sum(axis=1) ** 2
    own = np.repeat(total[:, None], size, axis=1)
    for k in range(digits):
        lead = padded.reshape(rows, -1, g, g**k).sum(axis=1)
        sums = space._transform(lead.transpose(2, 0, 1)[:, :, negative].reshape(-1, g), k).reshape(rows, g**k, g)
        squares = sums[:, :, negative] ** 2
        total = total + (g - 1) * squares.sum(axis=(1, 2))
        image = space._transform(squares.transpose(1, 0, 2).reshape(-1, g), k).reshape(rows, g**k, g)
        own += (g - 1) * np.tile(image.transpose(0, 2, 1).reshape(rows, -1), g ** (digits - k - 1))
    return total, own[:, : weights.shape[1]]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the reports of one part tell: their number, the frequencies, and the error of any weighted sum of them."""

    part: Part
    cells: NDArray[np.int64]

    @cached_property
    def n(self) -> float:
        return max(float(self.cells.sum()), NOBODY)

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        p, q = float(self.part.p), float(self.part.q)
        return (self.part._support(self.cells) / self.n - q) / (p - q) if self.n > NOBODY else np.zeros(self.size)

    @property
    def size(self) -> int:
        return self.part.domain.size

    @cached_property
    def distribution(self) -> NDArray[np.float64]:
        """The distribution nearest to the frequencies: only to put into the formula of the variance."""
        return nearest_distribution(self.frequency)

    @property
    def spread(self) -> float:
        """The variance of a frequency about the population, averaged over the values as if all were as frequent."""
        return (self.part.variance + (self.size - 1) / self.size**2) / self.n

    def variance(self, weights: NDArray[np.float64], distribution: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each row of weights, the variance of the weighted sum about the population; exact if f is true."""
        p, q = float(self.part.p), float(self.part.q)
        step = max(1, BLOCK // self.size)
        blocks = (second_moments(self.part, weights[at : at + step]) for at in range(0, len(weights), step))
        second = np.concatenate([block @ distribution for block in blocks])
        first = q * weights.sum(axis=1) + (p - q) * weights @ distribution
        variance: NDArray[np.float64] = (second - first**2) / ((p - q) ** 2 * self.n)
        return variance
