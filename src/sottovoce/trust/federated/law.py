"""The law of noise that several curators make together: two negative binomial variables, one less the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import log_above

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_POINTS = 2**24
TABLE_DEVIATIONS = 60
"""A table of probabilities goes so many standard deviations to either side. Beyond them is less than a float shows."""


@dataclass(frozen=True)
class NoiseLaw:
    """Noise of a `ratio` a and a `shape` r, the law of a sum of shares whose shapes add up to r.

    Its probability of k is a convolution of (1-a)^r C(r+j-1, j) a^j with its mirror image. A shape of 1 is discrete
    Laplace noise; a shape of 3 is three times that, added; a third is one of three shares that make it up.

    >>> one = NoiseLaw(Fraction(1, 2), Fraction(1))
    >>> one.table(2).round(4).tolist()  # (1-a)/(1+a) a^|k|
    [0.0833, 0.1667, 0.3333, 0.1667, 0.0833]
    >>> one.stderr, round(NoiseLaw(Fraction(1, 2), Fraction(3)).stderr ** 2, 9)
    (2.0, 12.0)
    """

    ratio: Fraction
    shape: Fraction

    @cached_property
    def stderr(self) -> float:
        """The standard deviation."""
        return math.sqrt(2 * self.shape * self.ratio) / float(1 - self.ratio)

    def epsilon(self, sensitivity: int) -> float:
        """What it spends on counts that one person changes by `sensitivity` in all: pure, and rounded up.

        From a shape of 1 on there is discrete Laplace noise in it, as an independent part: what that spends is a bound,
        and far out it is reached. Below 1, one probability is at most 1/(ra) times the next, going outwards: term by
        term in the convolution, C(r+j-1, j) is at most 1/r times C(r+j, j+1), and never less than it.
        """
        step = max(Fraction(1), 1 / self.shape) / Fraction(self.ratio)
        return log_above(step**sensitivity)

    def table(self, reach: int) -> NDArray[np.float64]:
        """The probabilities of -reach .. reach."""
        probabilities = self._probabilities
        half = probabilities.size // 2
        if reach <= half:
            found: NDArray[np.float64] = probabilities[half - reach : half + reach + 1]
            return found
        return np.pad(probabilities, reach - half)

    def reach(self, level: float = 0.95) -> int:
        """How far the noise strays with probability at most 1 - level: the half-width of an interval."""
        if not 0 < level < 1:
            raise ParameterError(f"level must lie strictly between 0 and 1, got {level}")
        half = self._probabilities.size // 2
        beyond = 2 * np.cumsum(self._probabilities[:half])[::-1]  # From the far end: beyond[w] is P[|noise| > w].
        inside = np.flatnonzero(beyond <= 1 - level)
        return int(inside[0]) if inside.size else half

    @cached_property
    def farthest(self) -> int:
        """So far that noise beyond it is never seen: its chance is below e^-36."""
        return math.ceil(TABLE_DEVIATIONS * self.stderr + 40 / -math.log(self.ratio))

    @cached_property
    def _probabilities(self) -> NDArray[np.float64]:
        """By Fourier's inversion of ((1-a)^2 / (1 - 2a cos t + a^2))^r, whose powers are the sums of shares."""
        a, r = float(self.ratio), float(self.shape)
        size = 1 << max(6, math.ceil(math.log2(2 * self.farthest)))
        if size > MAX_POINTS:
            raise ParameterError(f"noise of a standard deviation of {self.stderr:,.0f} is too wide to tabulate")
        t = 2 * math.pi * np.arange(size // 2 + 1) / size
        # 1 - 2a cos t + a^2, without the cancellation near t = 0.
        transform = np.exp(r * (2 * math.log1p(-a) - np.log((1 - a) ** 2 + 4 * a * np.sin(t / 2) ** 2)))
        around = np.fft.irfft(transform, size)
        half = size // 2 - 1
        table: NDArray[np.float64] = np.clip(np.concatenate([around[-half:], around[: half + 1]]), 0, None)
        return table
