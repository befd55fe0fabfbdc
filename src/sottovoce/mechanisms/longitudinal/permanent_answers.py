"""Permanent answers on a device and in a simulation: what is kept, what is sent, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core.domain import Text
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import Probability
from sottovoce.core.randomness import SYSTEM, Keystream, Source
from sottovoce.core.reports import Bits, Report, ReportArray
from sottovoce.mechanisms.base import Code
from sottovoce.mechanisms.longitudinal.answer_costs import AnswerCosts
from sottovoce.mechanisms.longitudinal.base import Hide, Longitudinal, Memory, Step
from sottovoce.mechanisms.longitudinal.chain import Chain, answers_sent
from sottovoce.mechanisms.longitudinal.memoized_design import Instantaneous, Permanent
from sottovoce.mechanisms.longitudinal.places import ListedPlaces, Places, TextPlaces
from sottovoce.mechanisms.text.bloom import Bloom
from sottovoce.mechanisms.text.hashed import Hashed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.reports import Shape
    from sottovoce.estimates import Estimate, HashedEstimate, Result
    from sottovoce.estimates.tally import Tally

MEMORY_VERSION = 2
"""That of a memory. In the first version, which had no number, answers were kept for buckets."""


class PermanentAnswers(Longitudinal):
    """What `Memoized` does with its parameters. Places, chain and costs are objects of their own."""

    remembers: ClassVar[tuple[str, ...]] = ("cohort", "answers", "last", "version")
    permanent: Permanent
    instantaneous: Instantaneous
    changes: int | None

    if TYPE_CHECKING:  # `Pure` frequencies have these in one way, `Cohorts` in another.

        @property
        def variance(self) -> float: ...

        def tally(self) -> Tally[Any]:
            """Its estimate is an `Estimate` over listed values, and a `HashedEstimate` over texts."""

        def _estimate(self, tally: Tally[Result]) -> Estimate | HashedEstimate: ...

    # Values have places, and reports look as those of the permanent mechanism do.

    @cached_property
    def _where(self) -> Places:
        if isinstance(self.permanent, Hashed | Bloom):
            return TextPlaces(self.permanent)
        return ListedPlaces(self.permanent)

    @property
    def cohorts(self) -> int:
        """How many cohorts devices are in: 1 if values are not hashed."""
        return self._where.cohorts

    @property
    def shape(self) -> Shape:
        return self.permanent.shape

    @property
    def cells(self) -> int:
        return self.permanent.cells

    @property
    def marks(self) -> int | None:
        return self.permanent.marks

    def _places(self, data: ReportArray) -> Iterable[ReportArray]:
        return self.permanent._places(data)

    def _count(self, data: ReportArray) -> NDArray[np.int64]:
        return self.permanent._count(data)

    # What it costs.

    @cached_property
    def _chain(self) -> Chain:
        return Chain(self._where.inner, self.instantaneous, self._hashes)

    @property
    def _hashes(self) -> int:
        """How many buckets or bits a value has."""
        return self.permanent.hashes if isinstance(self.permanent, Bloom) else 1

    @cached_property
    def _costs(self) -> AnswerCosts:
        values = None if isinstance(self.domain, Text) else self.domain.size
        return AnswerCosts(self._chain, self.permanent.epsilon, values, self.changes)

    @cached_property
    def p(self) -> Probability:
        return self._chain.sent(self.permanent.p)

    @cached_property
    def q(self) -> Probability:
        return self._chain.sent(self.permanent.q)

    @cached_property
    def epsilon(self) -> float:
        return self._costs.over(1)

    def epsilon_after(self, changes: int) -> float:
        return self._costs.after(changes)

    def epsilon_over(self, reports: int, changes: int = 0) -> float:
        return self._costs.over(reports, changes)

    def epsilon_pattern(self, reports: int) -> float:
        return self._costs.pattern(reports)

    def ahead(self, memory: Memory | None, waves: int) -> list[float]:
        return self._costs.ahead(len(memory["answers"]) if memory else 1, waves)

    def _new_value_cost(self, held: int) -> float:
        return self._costs.new_value(held)

    def _law(self, code: Code) -> dict[Report, Fraction]:
        return {
            self._where.join(cohort, report): chance / self.cohorts
            for cohort in range(self.cohorts)
            for report, chance in self._chain.law(self._where.place(code, cohort)).items()
        }

    # What a device does.

    def begin(self, source: Source = SYSTEM) -> Memory:
        return {
            "cohort": source.role("cohort").below(self.cohorts),
            "answers": {},
            "last": None,
            "version": MEMORY_VERSION,
        }

    def _checked(self, memory: object) -> Memory:
        """Until version 2, what was kept for a value stood under its place: for a hashed value, its bucket."""
        if isinstance(memory, dict) and set(memory) == {"cohort", "answers"}:
            if self._where.hashed or self.changes is not None:
                raise ParameterError(
                    f"a memory of {self.name} must be of version {MEMORY_VERSION}, got one without a version"
                )
            memory = memory | {"last": None, "version": MEMORY_VERSION}
        memory = super()._checked(memory)
        if memory["version"] != MEMORY_VERSION:
            raise ParameterError(
                f"a memory of {self.name} must be of version {MEMORY_VERSION}, got version {memory['version']!r:.40}"
            )
        answers, last = memory["answers"], memory["last"]
        if not isinstance(answers, dict) or (self.changes is not None and answers and last not in answers):
            raise ParameterError(f"a memory of {self.name} must say which of its answers is the last, got {last!r:.40}")
        return memory

    def _step(self, code: Code, memory: Memory, source: Source, hide: Hide) -> Step:
        """An answer is drawn in every wave and kept for a new value only, so that the work tells nothing of the value.

        What is sent is that of the value, if it has one or may have one; else it is the last one that was drawn.
        """
        name, answers, cohort = self._where.name(code), memory["answers"], memory["cohort"]
        key = hide(name)
        drawn = self._written(
            self._where.inner._perturb(self._where.place(code, cohort), source.role("permanent", name))
        )
        full = self.changes is not None and len(answers) > self.changes
        new, frozen = (key not in answers) & (not full), (key not in answers) & full
        kept = (answers | {key: answers.get(key, drawn)}, answers)[frozen]
        sent = self._read(kept[(key, memory["last"])[frozen]])
        report = self._where.join(cohort, self._resend(sent, source.role("instantaneous", name)))
        last, cost = (memory["last"], key)[new], (0.0, self.permanent.epsilon)[new]
        return Step(report, memory | {"answers": kept, "last": last}, cost)

    def _written(self, kept: Report) -> object:
        return kept.hex() if isinstance(kept, bytes) else kept

    def _read(self, kept: object) -> Report:
        report: Report = self._where.inner.shape.check(bytes.fromhex(kept) if isinstance(kept, str) else kept)
        return report

    def _resend(self, kept: Report, source: Source) -> Report:
        if not isinstance(kept, bytes):
            return self.instantaneous._perturb(kept, source)
        chances = (self.instantaneous.q, self.instantaneous.p)
        bits = (kept[place >> 3] >> (place & 7) & 1 for place in range(self._chain.size))
        return Bits(self._chain.size).of_bits(source.coins([chances[bit] for bit in bits]))

    # What a simulation does.

    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[ReportArray]:
        people, waves = codes.shape
        cohorts = stream.below(self.cohorts, people)
        first, answer = answers_sent(codes, self.changes)
        kept = self._where.inner._perturb_many(
            self._where.place_many(codes.ravel()[first], cohorts[first // waves]), stream
        )
        sent = (self._resend_many(kept[column], stream) for column in answer.reshape(codes.shape).T)
        return [self._where.join_many(cohorts, column) for column in sent]

    def _resend_many(self, kept: ReportArray, stream: Keystream) -> ReportArray:
        if kept.ndim == 1:
            return self.instantaneous._perturb_many(kept.astype(np.int64, copy=False), stream)
        chances = (self.instantaneous.p, self.instantaneous.q)
        ones, zeros = (stream.coin_rows(chance, np.empty(kept.shape, dtype=np.uint8)) for chance in chances)
        rows = kept.view(np.uint8)
        sent: NDArray[np.uint8] = rows & ones | ~rows & zeros
        Bits(self._chain.size).trim(sent)
        return sent
