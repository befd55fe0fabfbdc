"""Two randomizations in a row: a permanent answer, and what every report tells of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability, log_above
from sottovoce.core.reports import Bits, Report
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.unary import Unary
from sottovoce.mechanisms.text.bloom import Filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_ODDS_BITS = 400
"""Beyond 2^400 to one, what reports still hide of a permanent answer is far below the last digit of epsilon."""
POWER_GRID = 2**512
"""Powers are rounded up to multiples of 2^-512."""


@dataclass(frozen=True)
class Chain:
    """A mechanism that randomizes a place once for good, and one that randomizes the outcome for every report.

    A place is a value, a bucket or some bits of a filter: as many as there are `hashes`.
    """

    permanent: KRR | Unary | Filter
    instantaneous: KRR | Unary
    hashes: int = 1

    @property
    def in_bits(self) -> bool:
        """Whether a permanent answer has a bit for each place, and is not the number of one."""
        return isinstance(self.permanent.shape, Bits)

    @property
    def size(self) -> int:
        """How many values, buckets or bits there are."""
        return self.permanent.domain.size

    def sent(self, permanent: Fraction) -> Probability:
        """The probability of a support, if the permanent answer supports with this probability."""
        return Probability(permanent * self.instantaneous.p + (1 - permanent) * self.instantaneous.q)

    def law(self, place: int | tuple[int, ...]) -> dict[Report, Fraction]:
        """The law of the first report."""
        hit, miss = self.sent(self.permanent.p), self.sent(self.permanent.q)
        if self.in_bits:
            return Filter(self.size, hit, miss)._law(place if isinstance(place, tuple) else (place,))
        return {other: Fraction(hit if other == place else miss) for other in range(self.size)}

    def loss(self, reports: int, most: float) -> float:
        """The exact cost of so many reports of one answer that costs `most`: see docs/mechanisms/memoized.md."""
        p, q, one, zero = self.permanent.p, self.permanent.q, self.instantaneous.p, self.instantaneous.q
        ratio = odds(p, q, one / zero, reports)
        if self.in_bits:
            ratio *= odds(1 - q, 1 - p, (1 - zero) / (1 - one), reports)
        return min(log_above(ratio**self.hashes), most)

    def apart(self) -> Fraction:
        """What a report costs at most that tells two permanent answers apart. They may differ in every bit."""
        one, zero = self.instantaneous.p, self.instantaneous.q
        if not self.in_bits:
            return Fraction(log_above(one / zero))
        return self.size * Fraction(log_above(max(one / zero, (1 - zero) / (1 - one))))


def odds(p: Fraction, q: Fraction, base: Fraction, reports: int) -> Fraction:
    """By how much all of some reports favour one permanent answer over another, rounded up by less than 2^-300.

    Each report favours it by `base`. It is permanent with probability p, or with q if the value is another one.
    """
    if reports * math.log2(base) > MAX_ODDS_BITS:
        return p / q
    power = _power_above(base, reports)
    return (p * power + 1 - p) / (q * power + 1 - q)


def _power_above(base: Fraction, exponent: int) -> Fraction:
    """A power of a number above 1: exact for a small exponent, otherwise rounded up to a multiple of 2^-512."""
    power = Fraction(1)
    for digit in f"{exponent:b}":
        power *= power * base if digit == "1" else power
        if power.denominator > POWER_GRID**2:
            power = Fraction(math.ceil(power * POWER_GRID), POWER_GRID)
    return power


def answers_sent(codes: NDArray[np.int64], changes: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which permanent answer each report sends, by the rule of `Memoized._step`. A row of codes is one person's waves.

    The first result has an entry for each person and value, in the order in which they come up: the place, row by row,
    of the first report with that value. The second has an entry for each report: the number of the entry it sends.
    With a bound on changes, a person's values beyond the first `changes` + 1 send the last one of those.
    """
    people, waves = codes.shape
    values = np.unique(codes, return_inverse=True)[1].reshape(codes.shape)
    own = np.arange(people)[:, None] * (int(values.max()) + 1) + values
    _, first, entry = np.unique(own, return_index=True, return_inverse=True)
    order = np.argsort(first)
    sent: NDArray[np.int64] = np.argsort(order)[entry.reshape(-1)]
    if changes is not None:
        begins = np.searchsorted(first[order], np.arange(people) * waves)
        sent = np.minimum(sent, begins.repeat(waves) + changes)
    return first[order], sent
