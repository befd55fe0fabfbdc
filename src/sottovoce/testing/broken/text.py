"""Broken twins of the mechanisms for values that nobody listed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Report, ReportArray
from sottovoce.mechanisms import Bloom, Discovery, Hashed, Unary
from sottovoce.mechanisms.base import Code


class CohortByValue(Hashed):
    """The cohort is "spread evenly" by the value, not drawn: it tells which values are possible at all."""

    def _perturb(self, code: int, source: Source) -> Report:
        cohort = code % self.cohorts
        return self._join(cohort, self.base._perturb(self._place(code, cohort), source))

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
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

    def _perturb(self, code: Code, source: Source) -> Report:
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


class CutsWhatIsLonger(Hashed):
    """A text is cut only if it is too long: a clock tells that it was."""

    def _encode(self, value: object, source: Source) -> Code:
        data = str(value).encode()
        if len(data) > self.domain.max_bytes:
            data = data[: self.domain.max_bytes]
        return super()._encode(data.decode(errors="ignore"), source)
