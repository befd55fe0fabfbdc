"""Deliberately broken mechanisms: the mistakes that this field's libraries have shipped, and their cousins.

Each is a small step away from a sound mechanism. The contract suite must catch every one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.mechanisms import (
    KRR,
    Bloom,
    Changes,
    DBitFlip,
    Discovery,
    Hadamard,
    Hashed,
    KeyValue,
    LocalHash,
    Mean,
    Projective,
    Ranges,
    Sets,
    Several,
    SquareWave,
    Subset,
    Unary,
)
from sottovoce.mechanisms.chain import answers_sent
from sottovoce.mechanisms.combinations import sample
from sottovoce.mechanisms.longitudinal import Hide, Memory, Step
from sottovoce.mechanisms.memoized import Memoized
from sottovoce.mechanisms.memoized_kinds import MemoizedTexts, MemoizedValues
from sottovoce.privacy import GRID, Probability, exp_below
from sottovoce.randomness import Keystream, Source
from sottovoce.reports import Report


class SetBitNeverCleared(Unary):
    """The true value's bit is always sent as 1: epsilon is infinite."""

    def _perturb(self, code: int, source: Source) -> bytes:
        report = int.from_bytes(super()._perturb(code, source), "little") | 1 << code
        return report.to_bytes(self.shape.width, "little")

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
        super()._perturb_into(codes, stream, out)
        out[np.arange(codes.size), codes >> 3] |= np.uint8(1) << (codes & 7).astype(np.uint8)


class SwappedProbabilities(Unary):
    """The device uses p for the other values and q for the true one."""

    def _perturb(self, code: int, source: Source) -> bytes:
        return Unary._perturb(_swapped(self), code, source)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
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

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
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

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
        lie = stream.below(self.domain.size, codes.size)
        out[:] = np.where(stream.bernoulli(self.p, codes.size), codes, lie)


class DrawsWhatItNeeds(KRR):
    """The law is right, but another value is drawn only for a lie: a clock tells it from the truth."""

    def _perturb(self, code: int, source: Source) -> int:
        if source.bernoulli(self.p):
            return code
        other = source.below(self.domain.size - 1)
        return other + (other >= code)


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

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
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

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
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

    def _count(self, data: NDArray[Any]) -> NDArray[np.int64]:
        return super()._count(data).astype(np.uint8).astype(np.int64)


class SharedCoins(KRR):
    """Every other respondent reuses the coins of the one before: each report is sound, the sum is not."""

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
        half = Keystream(int(stream.below(2**30, 1)[0]))
        coins = half.bernoulli(self.p, (codes.size + 1) // 2).repeat(2)[: codes.size]
        lies = half.below(self.domain.size - 1, (codes.size + 1) // 2).repeat(2)[: codes.size]
        out[:] = np.where(coins, codes, lies + (lies >= codes))


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


class AsksWhatItHolds(Sets):
    """Asks only about options that the answer holds, if it holds any: that an option was asked about gives it away."""

    def _perturb(self, code: int, source: Source) -> int:
        D = self.domain.options.size
        held = [option for option in range(D) if code >> option & 1] or list(range(D))
        option = held[source.below(len(held))]
        return 2 * option + self._answer._perturb(code >> option & 1, source)

    def _encode_many(self, values: Any, stream: Keystream, first_row: int) -> NDArray[np.int64]:
        rows = [sorted(map(self.domain.options.encode, row)) for row in values]
        draws = stream.below(2**30, len(rows)).tolist()
        pairs = zip(rows, draws, strict=True)
        return np.array([2 * row[at % len(row)] + 1 if row else at % self.cells & -2 for row, at in pairs])


class AbsenceNotRandomized(KeyValue):
    """Only values are randomized: who holds nothing for the key says so truly."""

    def _perturb(self, code: int, source: Source) -> int:
        key = source.below(self.domain.keys.size)
        symbol = code // 3**key % 3
        return 3 * key + (self._answer._perturb(symbol, source) if symbol else 0)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
        super()._perturb_into(codes, stream, out)
        out[:] = np.where(codes % 3 > 0, out, codes)


class WindowStillDrawn(Mean):
    """What should lie outside the window is drawn from all outcomes: the window is hit more often than declared."""

    def _perturb(self, code: int, source: Source) -> int:
        assert self.inside is not None and self.window is not None
        if source.bernoulli(self.inside):
            return code + source.below(self.window)
        return source.below(self.shape.outcomes)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
        elsewhere = stream.below(self.shape.outcomes, codes.size)
        assert self.inside is not None
        super()._perturb_into(codes, stream, out)
        out[:] = np.where(stream.bernoulli(self.inside, codes.size), out, elsewhere)


class EndsTellTheirKind(Mean):
    """Answers at an end always take the coin, "since it is exact there": a window then rules the ends out."""

    def _perturb(self, code: int, source: Source) -> int:
        end = code in (0, self.domain.steps)
        return self._parts[0][1].perturb(code, source) if end else super()._perturb(code, source)


class WindowCutAtTheEnds(SquareWave):
    """Reports beyond the range of the answers are moved to its ends, where they pile up."""

    def _perturb(self, code: int, source: Source) -> int:
        half = self.window // 2
        return min(max(super()._perturb(code, source), half), self.shape.outcomes - 1 - half)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
        half = self.window // 2
        super()._perturb_into(codes, stream, out)
        out[:] = out.clip(half, self.shape.outcomes - 1 - half)


class LevelByValue(Ranges):
    """The level is "spread evenly" by the value, not drawn: it tells the value's remainder, epsilon is infinite."""

    def _perturb(self, code: int, source: Source) -> int:
        at = code % len(self.parts)
        return self._combination.starts[at] + self.parts[at]._perturb(self._questions(code)[at], source)

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
        reports = [
            part._perturb_many(node, stream) for part, node in zip(self.parts, self._questions(codes), strict=True)
        ]
        at = codes % len(self.parts)
        out[:] = np.array(self._combination.starts)[at] + np.choose(at, reports)


class PartsNotAdded(Several):
    """Every attribute is answered, and the cost of one of them declared."""

    def __init__(self, domain: Any, epsilon: float) -> None:
        super().__init__(domain, epsilon, how="split")

    @property
    def epsilon(self) -> float:
        return max(part.epsilon for part in self.parts)


class PermanentRedrawn(MemoizedValues):
    """The permanent answer is drawn again for every report, and charged once: reports average to the value."""

    def _step(self, code: Any, memory: Memory, source: Source, hide: Hide) -> Step:
        step = super()._step(code, memory | {"answers": {}}, source, hide)
        return replace(step, epsilon=0.0 if memory["answers"] else step.epsilon)

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[NDArray[Any]]:
        return [super(PermanentRedrawn, self)._perturb_waves(wave[:, None], stream)[0] for wave in codes.T]


class ForgetsOldValues(MemoizedValues):
    """Only the last permanent answer is remembered: who goes back and forth draws again and again."""

    def _step(self, code: Any, memory: Memory, source: Source, hide: Hide) -> Step:
        step, key = super()._step(code, memory, source, hide), hide(self._name(code))
        return replace(step, memory=step.memory | {"answers": {key: step.memory["answers"][key]}})


class InstantaneousSkipped(MemoizedValues):
    """The permanent answer is sent as it is: every report costs what is declared for all of them."""

    def _resend(self, kept: Report, source: Source) -> Report:
        return kept


class ChargesOneReport(MemoizedValues):
    """A new permanent answer is charged as if it were reported once."""

    def _step(self, code: Any, memory: Memory, source: Source, hide: Hide) -> Step:
        step = super()._step(code, memory, source, hide)
        return replace(step, epsilon=min(step.epsilon, self.epsilon))


class AnswerPerBucket(MemoizedValues):
    """The permanent answer belongs to the bucket: that two values share one shows, and is not paid for."""

    def _step(self, code: Any, memory: Memory, source: Source, hide: Hide) -> Step:
        bucket = self._place(code, memory["cohort"])
        return super()._step(code, memory, source, lambda _: hide(str(bucket)))


class AnswerPerPlace(MemoizedTexts):
    """The same for texts: the permanent answer belongs to a bucket or a set of bits."""

    def _step(self, code: Any, memory: Memory, source: Source, hide: Hide) -> Step:
        place = self._place(code, memory["cohort"])
        held = sorted(set(place)) if isinstance(place, tuple) else place
        return super()._step(code, memory, source, lambda _: hide(str(held)))


class ColumnsPerBucket(MemoizedValues):
    """A column of waves keeps an answer for each bucket, where the steps keep one for each value."""

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[NDArray[Any]]:
        people, waves = codes.shape
        cohorts = stream.below(self.cohorts, people)
        buckets = self._place_many(codes.ravel(), cohorts.repeat(waves))
        first, answer = answers_sent(buckets.reshape(codes.shape), self.changes)
        kept = self._inner._perturb_many(buckets[first], stream)
        columns = answer.reshape(codes.shape).T
        return [self._join_many(cohorts, self._resend_many(kept[column], stream)) for column in columns]


class DrawsBeyondItsChanges(MemoizedValues):
    """The bound on changes is declared and charged, but every new value gets an answer of its own."""

    def _step(self, code: Any, memory: Memory, source: Source, hide: Hide) -> Step:
        step = Memoized(self.permanent, self.instantaneous)._step(code, memory, source, hide)
        return replace(step, epsilon=step.epsilon if len(memory["answers"]) <= (self.changes or 0) else 0.0)


class ColumnsNeverFreeze(MemoizedValues):
    """The same in columns alone."""

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[NDArray[Any]]:
        return Memoized(self.permanent, self.instantaneous)._perturb_waves(codes, stream)


class CohortDrawnAgain(MemoizedTexts):
    """Every report has a cohort of its own, "to have more of them", and the permanent answers are those of all."""

    def _step(self, code: Any, memory: Memory, source: Source, hide: Hide) -> Step:
        kept = memory["answers"] or {str(cohort): {} for cohort in range(self.cohorts)}
        cohort = source.below(self.cohorts)
        step = super()._step(code, memory | {"cohort": cohort, "answers": kept[str(cohort)]}, source, hide)
        return Step(
            step.report, memory | {"answers": kept | {str(cohort): step.memory["answers"]}}, self._charge(memory)
        )

    def _charge(self, memory: Memory) -> float:
        return 0.0 if memory["answers"] else self.permanent.epsilon


class OneBitOfTheFilter(MemoizedTexts):
    """A value has several bits, and the cost of one of them is declared."""

    @property
    def _hashes(self) -> int:
        return 1


class OneAnswerForTheRest(DBitFlip):
    """Values that were not drawn share one answer, "since it has the same law": that two of them do shows."""

    def _step(self, code: int, memory: Memory, source: Source, hide: Hide) -> Step:
        members = self._sets.members(memory["sample"])
        rest = next(other for other in range(self.domain.size) if other not in members)
        return super()._step(code if code in members else rest, memory, source, hide)


class TellsEveryChange(Changes):
    """No change is drawn in secret: all of them are told, and each costs epsilon."""

    def _step(self, code: int, memory: Memory, source: Source, hide: Hide) -> Step:
        told = memory | {"kept": memory["changes"] + (code != memory["value"])}
        return super()._step(code, told, source, hide)


class ForgetsInTheWaves(Changes):
    """A column of waves is randomized wave by wave, as if each were the first."""

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[NDArray[Any]]:
        return [super(ForgetsInTheWaves, self)._perturb_waves(wave[:, None], stream)[0] for wave in codes.T]


class CohortByValue(Hashed):
    """The cohort is "spread evenly" by the value, not drawn: it tells which values are possible at all."""

    def _perturb(self, code: int, source: Source) -> Report:
        cohort = code % self.cohorts
        return self._join(cohort, self.base._perturb(self._place(code, cohort), source))

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: NDArray[Any]) -> None:
        cohorts = codes % self.cohorts
        inner = self.base._perturb_many(self._place_many(codes, cohorts), stream)
        out[:] = cohorts * self.buckets + inner


class LuckyCohort(Hashed):
    """A cohort whose hash sends the value to bucket 0 is drawn again, "since that is crowded": the cohort tells."""

    def _perturb(self, code: int, source: Source) -> Report:
        cohort = source.below(self.cohorts)
        cohort = cohort if self._place(code, cohort) else source.below(self.cohorts)
        return self._join(cohort, self.base._perturb(self._place(code, cohort), source))


class SaltedByTheAnswer(Hashed):
    """The hash depends on the answer itself beside the salt: nobody can undo it."""

    def _encode(self, value: object, source: Source) -> int:
        return int(super()._encode(value, source)) ^ len(repr(value)) << 31 | ord(str(value)[0]) & 1


class GroupByLength(Discovery):
    """A short text skips the groups that would learn nothing new of it: the group tells who has a short one."""

    def _perturb(self, code: Any, source: Source) -> Report:
        cohort = source.below(self.cohorts)
        cohort = cohort if len(code) > 1 or code < b"a" else cohort // 2 + self.cohorts // 2
        return self._join(cohort, self.base._perturb(self._place(code, cohort), source))


class EndForgotten(Discovery):
    """The end of a text is marked in columns only: a prefix looks like a text that ends there."""

    def view(self, data: bytes, group: int) -> bytes:
        start, stop = self.spans[group]
        return self.label(data) + data[start:stop]

    def _code_many(self, rows: list[bytes]) -> Any:
        return Discovery(base=self.base, domain=self.domain, spans=self.spans, cohorts=self.cohorts)._code_many(rows)


class OneBitCounted(Bloom):
    """The filter has several bits for a value, and the cost of one of them is declared."""

    @property
    def epsilon(self) -> float:
        return Unary(2, p=self.p, q=self.q).epsilon
