"""Exact errors of weighted sums of frequencies, for mechanisms whose values' errors are not independent.

The estimate of sum_v c_v f_v from one report is Y = sum_v c_v (S_v - q) / (p - q), where S_v says whether the report
supports v. Its mean for a holder of x is c_x. The mechanism computes its second moment for a holder of x, for all x at
once (`_second_moments`), so that the variance of any weighted sum follows with all covariances in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.postprocess import nearest_distribution

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.mechanisms.compound.combine import Part

REPORTS_OF_NOBODY = 1e-9
"""A part that nobody answered counts as this many reports: it has nearly no weight, and a very large error."""

BLOCK_WEIGHTS = 2**22
"""Weights handled at a time, so that memory does not grow with the number of sums asked for."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the reports of one part tell: their number, the frequencies, and the error of any weighted sum of them."""

    part: Part
    cells: NDArray[np.int64]

    @cached_property
    def n(self) -> float:
        return max(float(self.cells.sum()), REPORTS_OF_NOBODY)

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        p, q = float(self.part.p), float(self.part.q)
        if self.n <= REPORTS_OF_NOBODY:
            return np.zeros(self.size)
        return (self.part._support(self.cells) / self.n - q) / (p - q)

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
        step = max(1, BLOCK_WEIGHTS // self.size)
        blocks = (self.part._second_moments(weights[at : at + step]) for at in range(0, len(weights), step))
        second = np.concatenate([block @ distribution for block in blocks])
        first = q * weights.sum(axis=1) + (p - q) * weights @ distribution
        variance: NDArray[np.float64] = (second - first**2) / ((p - q) ** 2 * self.n)
        return variance
