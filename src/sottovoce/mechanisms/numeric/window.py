"""The two randomizers of a number from which the others are made: a window around it, and a coin that leans with it.

Both take a code from 0 to `steps` and have an outcome whose expectation is affine in the code. So each outcome has a
value t, in units of the whole range and from its middle, with E[t | u] = u for an answer at u in [-1/2, 1/2], and
E[t^2 | u] = level + curve u^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability, exp_below, round_down
from sottovoce.core.randomness import Keystream, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_WINDOW = 2**22


@dataclass(frozen=True)
class Window:
    """Outcomes 0 .. steps + window - 1; the `window` of them from the code on are hit with probability `inside`.

    The outcome is uniform within the window of the code and uniform over the `steps` outcomes outside it. The windows
    of all codes are equally long and none is cut off at an end, which makes the expectation affine in the code.

    >>> w = Window(steps=2, window=1, inside=Probability(1, 2))
    >>> w.law(0)
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    >>> w.ratio
    Fraction(2, 1)
    """

    steps: int
    window: int
    inside: Probability

    def __post_init__(self) -> None:
        if type(self.window) is not int or not 1 <= self.window <= MAX_WINDOW:
            raise ParameterError(f"window must be a whole number from 1 to 2^22, got {self.window!r}")
        if self.slope <= 0:
            least = self.window / (self.window + self.steps)
            raise ParameterError(
                f"inside must be above {least:.6g}, or reports say nothing (epsilon is too small), got {self.inside}"
            )

    @classmethod
    def spending(cls, epsilon: float, steps: int, window: int) -> Window:
        """The one of this shape that costs epsilon, or as little less as the grid of 2^-53 allows."""
        odds = window * exp_below(epsilon)
        return cls(steps, window, round_down(odds / (odds + steps)))

    @property
    def outcomes(self) -> int:
        return self.steps + self.window

    @cached_property
    def ratio(self) -> Fraction:
        """The worst ratio between two codes: an outcome within the window of one and outside that of the other."""
        return Fraction(self.inside * self.steps / ((1 - self.inside) * self.window))

    @cached_property
    def slope(self) -> Fraction:
        """How far the expected outcome moves when the code moves by one."""
        return Fraction(self.inside - (1 - self.inside) * self.window / self.steps)

    @property
    def curve(self) -> float:
        return float(1 / self.slope)

    @cached_property
    def level(self) -> float:
        k, w, N = self.steps, self.window, self.outcomes
        spread = (1 - self.inside) / k * (N * (N * N - 1)) + self.slope * (w * w - 1)
        return float(spread / (12 * (k * self.slope) ** 2))

    @property
    def values(self) -> NDArray[np.float64]:
        """The unbiased value t of each outcome."""
        centred: NDArray[np.float64] = np.arange(1.0 - self.outcomes, self.outcomes, 2.0)
        return centred / float(2 * self.steps * self.slope)

    def law(self, code: int) -> list[Fraction]:
        within, beyond = Fraction(self.inside / self.window), Fraction((1 - self.inside) / self.steps)
        return [within if code <= outcome < code + self.window else beyond for outcome in range(self.outcomes)]

    def perturb(self, code: int, source: Source) -> int:
        inside, near, other = source.bernoulli(self.inside), source.below(self.window), source.below(self.steps)
        return (other + (0, self.window)[other >= code], code + near)[inside]

    def perturb_many(self, codes: NDArray[np.int64], stream: Keystream) -> NDArray[np.int64]:
        inside = stream.bernoulli(self.inside, codes.size)
        near = codes + stream.below(self.window, codes.size)
        other = stream.below(self.steps, codes.size)
        return np.where(inside, near, other + self.window * (other >= codes))


@dataclass(frozen=True)
class Coin:
    """Outcomes 0 and 1: the code is rounded to one of its ends at random, and the end is told truly with chance p.

    >>> Coin(steps=2, p=Probability(3, 4)).law(1)
    [Fraction(1, 2), Fraction(1, 2)]
    """

    steps: int
    p: Probability

    outcomes = 2
    curve = 0.0

    def __post_init__(self) -> None:
        if not 2 * self.p > 1:
            raise ParameterError(f"p must be above 1/2, or reports say nothing (epsilon is too small), got {self.p}")

    @classmethod
    def spending(cls, epsilon: float, steps: int) -> Coin:
        """The one that costs epsilon, or as little less as the grid of 2^-53 allows."""
        odds = exp_below(epsilon)
        return cls(steps, round_down(odds / (odds + 1)))

    @cached_property
    def ratio(self) -> Fraction:
        return Fraction(self.p / (1 - self.p))

    @cached_property
    def level(self) -> float:
        return float(1 / (2 * (2 * self.p - 1)) ** 2)

    @property
    def values(self) -> NDArray[np.float64]:
        """The unbiased value t of each outcome."""
        end = float(1 / (2 * (2 * self.p - 1)))
        return np.array([-end, end])

    def law(self, code: int) -> list[Fraction]:
        upper = 1 - self.p + (2 * self.p - 1) * Fraction(code, self.steps)
        return [1 - upper, upper]

    def perturb(self, code: int, source: Source) -> int:
        return (source.below(self.steps) >= code) ^ source.bernoulli(self.p)

    def perturb_many(self, codes: NDArray[np.int64], stream: Keystream) -> NDArray[np.int64]:
        upper = stream.below(self.steps, codes.size) < codes
        outcomes: NDArray[np.int64] = (upper == stream.bernoulli(self.p, codes.size)).astype(np.int64)
        return outcomes
