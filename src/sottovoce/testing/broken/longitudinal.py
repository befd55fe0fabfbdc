"""Broken twins of the mechanisms over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Report, ReportArray
from sottovoce.mechanisms import Changes, DBitFlip
from sottovoce.mechanisms.base import Code
from sottovoce.mechanisms.longitudinal.base import Hide, Memory, Step
from sottovoce.mechanisms.longitudinal.chain import answers_sent
from sottovoce.mechanisms.longitudinal.memoized_kinds import MemoizedTexts, MemoizedValues


class PermanentRedrawn(MemoizedValues):
    """The permanent answer is drawn again for every report, and charged once: reports average to the value."""

    def _step(self, code: Code, memory: Memory, source: Source, hide: Hide) -> Step:
        step = super()._step(code, memory | {"answers": {}}, source, hide)
        return replace(step, epsilon=0.0 if memory["answers"] else step.epsilon)

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[ReportArray]:
        return [super(PermanentRedrawn, self)._perturb_waves(wave[:, None], stream)[0] for wave in codes.T]


class ForgetsOldValues(MemoizedValues):
    """Only the last permanent answer is remembered: who goes back and forth draws again and again."""

    def _step(self, code: Code, memory: Memory, source: Source, hide: Hide) -> Step:
        step, key = super()._step(code, memory, source, hide), hide(self._where.name(code))
        return replace(step, memory=step.memory | {"answers": {key: step.memory["answers"][key]}})


class InstantaneousSkipped(MemoizedValues):
    """The permanent answer is sent as it is: every report costs what is declared for all of them."""

    def _resend(self, kept: Report, source: Source) -> Report:
        return kept


class ChargesOneReport(MemoizedValues):
    """A new permanent answer is charged as if it were reported once."""

    def _step(self, code: Code, memory: Memory, source: Source, hide: Hide) -> Step:
        step = super()._step(code, memory, source, hide)
        return replace(step, epsilon=min(step.epsilon, self.epsilon))


class AnswerPerBucket(MemoizedValues):
    """The permanent answer belongs to the bucket: that two values share one shows, and is not paid for."""

    def _step(self, code: Code, memory: Memory, source: Source, hide: Hide) -> Step:
        bucket = self._where.place(code, memory["cohort"])
        return super()._step(code, memory, source, lambda _: hide(str(bucket)))


class AnswerPerPlace(MemoizedTexts):
    """The same for texts: the permanent answer belongs to a bucket or a set of bits."""

    def _step(self, code: Code, memory: Memory, source: Source, hide: Hide) -> Step:
        place = self._where.place(code, memory["cohort"])
        held = sorted(set(place)) if isinstance(place, tuple) else place
        return super()._step(code, memory, source, lambda _: hide(str(held)))


class ColumnsPerBucket(MemoizedValues):
    """A column of waves keeps an answer for each bucket, where the steps keep one for each value."""

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[ReportArray]:
        people, waves = codes.shape
        cohorts = stream.below(self.cohorts, people)
        buckets = self._where.place_many(codes.ravel(), cohorts.repeat(waves))
        first, answer = answers_sent(buckets.reshape(codes.shape), self.changes)
        kept = self._where.inner._perturb_many(buckets[first], stream)
        columns = answer.reshape(codes.shape).T
        return [self._where.join_many(cohorts, self._resend_many(kept[column], stream)) for column in columns]


class DrawsBeyondItsChanges(MemoizedValues):
    """The bound on changes is declared and charged, but every new value gets an answer of its own."""

    def _step(self, code: Code, memory: Memory, source: Source, hide: Hide) -> Step:
        step = MemoizedValues(self.permanent, self.instantaneous)._step(code, memory, source, hide)
        return replace(step, epsilon=step.epsilon if len(memory["answers"]) <= (self.changes or 0) else 0.0)


class ColumnsNeverFreeze(MemoizedValues):
    """The same in columns alone."""

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[ReportArray]:
        return MemoizedValues(self.permanent, self.instantaneous)._perturb_waves(codes, stream)


class CohortDrawnAgain(MemoizedTexts):
    """Every report has a cohort of its own, "to have more of them", and the permanent answers are those of all."""

    def _step(self, code: Code, memory: Memory, source: Source, hide: Hide) -> Step:
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

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[ReportArray]:
        return [super(ForgetsInTheWaves, self)._perturb_waves(wave[:, None], stream)[0] for wave in codes.T]
