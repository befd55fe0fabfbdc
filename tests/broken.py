"""Deliberately broken mechanisms: the mistakes that this field's libraries have shipped, and their cousins.

Each is a small step away from a sound mechanism. The contract suite must catch every one.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.mechanisms import KRR, LocalHash, Unary
from sottovoce.privacy import GRID, Probability, exp_below
from sottovoce.randomness import Keystream, Source
from sottovoce.reports import Report


class SetBitNeverCleared(Unary):
    """The true value's bit is always sent as 1: epsilon is infinite."""

    def _perturb(self, code: int, source: Source) -> bytes:
        report = int.from_bytes(super()._perturb(code, source), "little") | 1 << code
        return report.to_bytes(self.shape.width, "little")

    def _perturb_many(self, codes: NDArray[np.int64], stream: Keystream) -> NDArray[Any]:
        rows = super()._perturb_many(codes, stream)
        rows[np.arange(codes.size), codes >> 3] |= np.uint8(1) << (codes & 7).astype(np.uint8)
        return rows


class SwappedProbabilities(Unary):
    """The device uses p for the other values and q for the true one."""

    def _perturb(self, code: int, source: Source) -> bytes:
        return Unary._perturb(_swapped(self), code, source)

    def _perturb_many(self, codes: NDArray[np.int64], stream: Keystream) -> NDArray[Any]:
        return Unary._perturb_many(_swapped(self), codes, stream)


def _swapped(m: Unary) -> Unary:
    twin = object.__new__(Unary)
    twin._freeze(domain=m.domain, p=m.q, q=m.p)
    return twin


class LastBitNotRandomized(Unary):
    """A loop that ends one bit early sends the last bit as it is."""

    def _perturb(self, code: int, source: Source) -> bytes:
        report = 0
        last = self.domain.size - 1
        for other in range(last):
            report |= source.bernoulli(self.p if other == code else self.q) << other
        return (report | (code == last) << last).to_bytes(self.shape.width, "little")

    def _perturb_many(self, codes: NDArray[np.int64], stream: Keystream) -> NDArray[Any]:
        rows = super()._perturb_many(codes, stream)
        last = self.domain.size - 1
        place = np.uint8(1 << (last & 7))
        rows[:, -1] = np.where(codes == last, rows[:, -1] | place, rows[:, -1] & ~place)
        return rows


class EpsilonRoundedDown(KRR):
    """The declared epsilon is one float below the spent one."""

    @property
    def epsilon(self) -> float:
        return math.nextafter(super().epsilon, 0)


class TwoDecimals(KRR):
    """The device rounds p to two decimals, and declares the epsilon of the p it was asked for."""

    @property
    def _rounded(self) -> KRR:
        return KRR(self.domain, p=round(float(self.p), 2))

    def _law(self, code: int) -> dict[Report, Fraction]:
        return self._rounded._law(code)

    def _perturb(self, code: int, source: Source) -> int:
        return self._rounded._perturb(code, source)


class ExcludedValueStillDrawn(KRR):
    """The lie is drawn among all values, so that it may be the truth: reports favour it more than declared."""

    def _perturb(self, code: int, source: Source) -> int:
        return code if source.bernoulli(self.p) else source.below(self.domain.size)

    def _perturb_many(self, codes: NDArray[np.int64], stream: Keystream) -> NDArray[Any]:
        lie = stream.below(self.domain.size, codes.size)
        return np.where(stream.bernoulli(self.p, codes.size), codes, lie)


class LawThatLeaks(KRR):
    """A law that does not add up to one."""

    def _law(self, code: int) -> dict[Report, Fraction]:
        return {report: chance for report, chance in super()._law(code).items() if report or code}


class ZeroCohortRejected(LocalHash):
    """The zero cohort is never drawn, but q = 1/g is declared all the same."""

    def _law(self, code: int) -> dict[Report, Fraction]:
        law = super()._law(code)
        kept = {r: chance for r, chance in law.items() if isinstance(r, int) and r >= self.buckets}
        return {report: chance / sum(kept.values()) for report, chance in kept.items()}


class WideReports(KRR):
    """Declares more bits than its reports need."""

    @property
    def bits(self) -> int:
        return super().bits + 1


class WrongDecoder(LocalHash):
    """The transform forgets to add the digit of the value behind which it sums."""

    def _transform(self, counts: NDArray[np.int64], digits: int) -> NDArray[np.int64]:
        return counts


class OverflowingTally(KRR):
    """Counts in one byte, so that a whole and its parts disagree."""

    def _count(self, data: NDArray[Any]) -> NDArray[np.int64]:
        return super()._count(data).astype(np.uint8).astype(np.int64)


class SharedCoins(KRR):
    """Every other respondent reuses the coins of the one before: each report is sound, the sum is not."""

    def _perturb_many(self, codes: NDArray[np.int64], stream: Keystream) -> NDArray[Any]:
        half = Keystream(int(stream.below(2**30, 1)[0]))
        coins = half.bernoulli(self.p, (codes.size + 1) // 2).repeat(2)[: codes.size]
        lies = half.below(self.domain.size - 1, (codes.size + 1) // 2).repeat(2)[: codes.size]
        return np.where(coins, codes, lies + (lies >= codes))


class RoundedOnTheWire(KRR):
    """The collector is told of a p with three decimals: self-consistent, but not the device's."""

    def to_dict(self) -> dict[str, Any]:
        return KRR(self.domain, p=round(float(self.p), 3)).to_dict()


class RoundedToNearest(KRR):
    """Takes the next multiple of 2^-53 above, not below, and so spends a little more than asked."""

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__(size, epsilon)
        odds = exp_below(epsilon)
        self._freeze(p=Probability(math.ceil(GRID * odds / (odds + size - 1)), GRID))
