"""Noise in shares: enough of them, added, hide a person as a curator's discrete Laplace noise would."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID, Probability
from sottovoce.core.randomness import Keystream
from sottovoce.trust.federated.law import NoiseLaw
from sottovoce.trust.noise import DiscreteLaplace
from sottovoce.trust.synthetic import check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_CURATORS = 1000
MIN_TAILS_CHANCE = 2.0**-16
"""The least probability of tails that a coin may have. With less, noise takes too many coins to draw."""


@dataclass(frozen=True, init=False)
class DivisibleLaplace:
    """Shares of discrete Laplace noise, for counts that one person changes by at most `sensitivity` in all.

    Any `honest` shares add up to discrete Laplace noise of this epsilon, and more of them to more. A share is the
    difference of two negative binomial variables of shape 1/honest. With honest = 1 every share is the whole noise.

    >>> shares = DivisibleLaplace(epsilon=1.0, honest=4)
    >>> shares.epsilon <= 1.0, round(shares.law(4).stderr, 2), round(shares.law(1).stderr, 2)
    (True, 1.36, 0.68)
    >>> shares.draw(10, Keystream(seed=1))
    array([ 0,  0,  0, -3,  0,  0,  0,  0,  0,  0])

    S. Goryczka, L. Xiong, A Comprehensive Comparison of Multiparty Secure Additions with Differential Privacy, IEEE
    TDSC 2017.
    """

    ratio: Probability
    sensitivity: int
    honest: int

    def __init__(self, epsilon: float, sensitivity: int = 1, honest: int = 1) -> None:
        whole = DiscreteLaplace(epsilon, sensitivity)
        object.__setattr__(self, "ratio", whole.ratio)
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "honest", check_whole("the number of honest curators", honest, MAX_CURATORS))
        if float(1 - self.ratio) < MIN_TAILS_CHANCE:
            raise ParameterError(f"epsilon must be at least 2^-16 for each unit of sensitivity, got {epsilon:g}")

    @property
    def epsilon(self) -> float:
        """The epsilon towards whoever sees the sum with at least `honest` unknown shares in it; exact, rounded up."""
        return self.law(self.honest).epsilon(self.sensitivity)

    @property
    def epsilon_alone(self) -> float:
        """The epsilon towards whoever sees one curator's counts with that curator's share alone; rounded up."""
        return self.law(1).epsilon(self.sensitivity)

    def law(self, shares: int) -> NoiseLaw:
        """The law of so many shares, added."""
        return NoiseLaw(self.ratio, Fraction(shares, self.honest))

    def draw(self, count: int, stream: Keystream) -> NDArray[np.int64]:
        """One curator's shares, for so many counts."""
        both = negative_binomial(self.ratio, self.honest, 2 * count, stream)
        share: NDArray[np.int64] = both[:count] - both[count:]
        return share


def negative_binomial(ratio: Probability, parts: int, count: int, stream: Keystream) -> NDArray[np.int64]:
    """Draws with P[k] = (1-a)^r C(r+k-1, k) a^k for r = 1/parts, exactly: by coins and choices among integers alone.

    A run of heads of a coin of probability a has length k with probability (1-a) a^k. Keeping it with probability
    C(r+k-1, k), the product of (r+i-1)/i over i = 1 .. k, and starting again if not, leaves the law above; the factor i
    is tossed as soon as the run is i long, so that most runs that are not kept end at once.

    >>> negative_binomial(Probability(1, 2), 3, 12, Keystream(seed=2))
    array([0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0])
    """
    runs, still = np.zeros(count, dtype=np.int64), np.arange(count)
    while still.size:
        still = still[stream.bernoulli(ratio, still.size)]
        runs[still] += 1
        whole = runs[still] * parts
        # A run is kept with probability (r+i-1)/i = (parts*(i-1) + 1) / (parts*i).
        lost = _below(whole, stream) >= whole - parts + 1
        runs[still[lost]] = 0
    return runs


def _below(limits: NDArray[np.int64], stream: Keystream) -> NDArray[np.int64]:
    """Integers, each uniform below a limit of its own; the incomplete last run of multiples is drawn again."""
    k = limits.astype(np.uint64)
    bits, most = stream.draws(k.size).copy(), np.uint64(GRID) - np.uint64(GRID) % k
    while (again := np.flatnonzero(bits >= most)).size:
        bits[again] = stream.draws(again.size)
    return (bits % k).astype(np.int64)
