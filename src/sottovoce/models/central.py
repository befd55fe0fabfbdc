"""The central model: a trusted curator sees every answer and adds noise once, to the result."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sottovoce.errors import ParameterError
from sottovoce.privacy import Probability, check_epsilon, exp_below, log_above, round_up
from sottovoce.randomness import SYSTEM, Source


@dataclass(frozen=True, init=False)
class DiscreteLaplace:
    """Counts with two-sided geometric noise: the Laplace mechanism for integers, without floating point.

    The noise k has probability (1-a)/(1+a) a^|k|. It is the difference of two geometric variables, each the number of
    times in a row that a coin of probability a comes up heads, so that epsilon = -sensitivity * ln(a) is exact.
    One respondent who changes an answer changes a count by 1, and a histogram by 2 (sensitivity 2).

    >>> m = DiscreteLaplace(epsilon=1.0)
    >>> m.epsilon <= 1.0, round(m.stderr, 2)
    (True, 1.36)

    A. Ghosh, T. Roughgarden, M. Sundararajan, Universally Utility-Maximizing Privacy Mechanisms, STOC 2009.
    """

    ratio: Probability
    sensitivity: int

    def __init__(self, epsilon: float, sensitivity: int = 1) -> None:
        if isinstance(sensitivity, bool) or not isinstance(sensitivity, int) or sensitivity < 1:
            raise ParameterError(f"sensitivity must be a whole number from 1, got {sensitivity!r}")
        asked = check_epsilon(epsilon)
        step = asked / sensitivity
        if Fraction(step) * sensitivity > Fraction(asked):
            step = math.nextafter(step, 0)
        object.__setattr__(self, "ratio", round_up(1 / exp_below(step)))
        object.__setattr__(self, "sensitivity", sensitivity)
        if self.epsilon > asked:
            raise ParameterError(
                f"epsilon is too small for exact probabilities at sensitivity {sensitivity}, got {asked:g}"
            )

    @cached_property
    def epsilon(self) -> float:
        return log_above(Fraction(1) / self.ratio**self.sensitivity)

    @cached_property
    def stderr(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(2 * self.ratio) / float(1 - self.ratio)

    def release(self, counts: Iterable[int], source: Source = SYSTEM) -> list[int]:
        """The counts with noise, drawn from the operating system unless told otherwise."""
        return [int(count) + self._geometric(source) - self._geometric(source) for count in counts]

    def _geometric(self, source: Source) -> int:
        heads = 0
        while source.bernoulli(self.ratio):
            heads += 1
        return heads
