"""Broken twins of the mechanisms for one value out of several."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.canonical import JsonObject
from sottovoce.core.privacy import GRID, Probability, exp_below
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Report, ReportArray
from sottovoce.mechanisms import KRR, Hadamard, LocalHash, Projective, Subset, Unary
from sottovoce.mechanisms.frequency.combinations import sample


class SetBitNeverCleared(Unary):
    """The true value's bit is always sent as 1: epsilon is infinite."""

    def _perturb(self, code: int, source: Source) -> bytes:
        report = int.from_bytes(super()._perturb(code, source), "little") | 1 << code
        return report.to_bytes(self.shape.width, "little")

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        super()._perturb_into(codes, stream, out)
        out[np.arange(codes.size), codes >> 3] |= np.uint8(1) << (codes & 7).astype(np.uint8)


class SwappedProbabilities(Unary):
    """The device uses p for the other values and q for the true one."""

    def _perturb(self, code: int, source: Source) -> bytes:
        return Unary._perturb(_swapped(self), code, source)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        Unary._perturb_into(_swapped(self), codes, stream, out)


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

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        super()._perturb_into(codes, stream, out)
        last = self.domain.size - 1
        place = np.uint8(1 << (last & 7))
        out[:, -1] = np.where(codes == last, out[:, -1] | place, out[:, -1] & ~place)


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

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        lie = stream.below(self.domain.size, codes.size)
        out[:] = np.where(stream.bernoulli(self.p, codes.size), codes, lie)


class DrawsWhatItNeeds(KRR):
    """The law is right, but another value is drawn only for a lie: a clock tells it from the truth."""

    def _perturb(self, code: int, source: Source) -> int:
        if source.bernoulli(self.p):
            return code
        other = source.below(self.domain.size - 1)
        return other + (other >= code)


class ZeroIsNotHashed(LocalHash):
    """The value 0 is in bucket 0 of every cohort, so the work for it is saved: a clock tells it from others."""

    def hash(self, cohort: Any, code: Any) -> Any:
        return 0 if isinstance(code, int) and code == 0 else super().hash(cohort, code)


class PacksTheSetBits(Unary):
    """All coins are tossed, but only the bits that are set are written: a clock counts them."""

    def _perturb(self, code: int, source: Source) -> bytes:
        chances = [self.p if other == code else self.q for other in range(self.domain.size)]
        return self.shape.pack(at for at, bit in enumerate(source.coins(chances)) if bit)


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


class ZeroRowRejected(Hadamard):
    """The row of zeros, which supports every value, is drawn again: the other even rows become too likely."""

    def _perturb(self, code: int, source: Source) -> int:
        truth, value = source.bernoulli(self.p), code + 1
        rows = [r for r in range(1, self.shape.outcomes) if (r & value).bit_count() & 1 != truth]
        return rows[source.below(len(rows))]

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        super()._perturb_into(codes, stream, out)
        while (zero := np.flatnonzero(out == 0)).size:
            again = self.shape.empty(zero.size)
            super()._perturb_into(codes[zero], stream, again)
            out[zero] = again


class ZeroPlaneRejected(Projective):
    """Vectors of the hyperplane are drawn with zero among them, and a zero becomes the last plane."""

    def _perturb(self, code: int, source: Source) -> int:
        space, point = self._space, self._space.line(code)
        if source.bernoulli(self.p):
            on = [v for v in range(space.size) if space.inner(v, point) == 0]
            drawn = on[source.below(len(on))]
            return space.normalise(drawn)[1] if drawn else space.lines - 1
        off = [v for v in range(1, space.size) if space.inner(v, point) != 0]
        return space.normalise(off[source.below(len(off))])[1]


class ExcludedMemberStillDrawn(Subset):
    """A set that should not hold the true value is drawn from all values, so that it may."""

    def _perturb(self, code: int, source: Source) -> Report:
        if source.bernoulli(self.p):
            others = sample(self.domain.size - 1, self.size - 1, source)
            return self._pack([code, *(other + (other >= code) for other in others)])
        return self._pack(sample(self.domain.size, self.size, source))

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        super()._perturb_into(codes, stream, out)
        redraw = ~stream.bernoulli(self.p, codes.size)
        other = stream.below(self.domain.size, codes.size)
        again = np.empty_like(out)
        super()._perturb_into(other, stream, again)
        out[redraw] = again[redraw]


class WideReports(KRR):
    """Declares more bits than its reports need."""

    @property
    def bits(self) -> int:
        return super().bits + 1


class WrongDecoder(LocalHash):
    """The collector forgets the zero cohort, which supports every value."""

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = cells.reshape(-1, self.buckets)
        return self._space.sums(rows[:-1])[: self.domain.size]


class OverflowingTally(KRR):
    """Counts in one byte, so that a whole and its parts disagree."""

    def _count(self, data: ReportArray) -> NDArray[np.int64]:
        return super()._count(data).astype(np.uint8).astype(np.int64)


class SharedCoins(KRR):
    """Every other respondent reuses the coins of the one before: each report is sound, the sum is not."""

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        half = Keystream(int(stream.below(2**30, 1)[0]))
        coins = half.bernoulli(self.p, (codes.size + 1) // 2).repeat(2)[: codes.size]
        lies = half.below(self.domain.size - 1, (codes.size + 1) // 2).repeat(2)[: codes.size]
        out[:] = np.where(coins, codes, lies + (lies >= codes))


class RoundedOnTheWire(KRR):
    """The collector is told of a p with three decimals: self-consistent, but not the device's."""

    def to_dict(self) -> JsonObject:
        return KRR(self.domain, p=round(float(self.p), 3)).to_dict()


class RoundedToNearest(KRR):
    """Takes the next multiple of 2^-53 above, not below, and so spends a little more than asked."""

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__(size, epsilon)
        odds = exp_below(epsilon)
        self._freeze(p=Probability(math.ceil(GRID * odds / (odds + size - 1)), GRID))
