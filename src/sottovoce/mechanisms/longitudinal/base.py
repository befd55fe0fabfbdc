"""Mechanisms whose device remembers something from one report to the next.

What such a mechanism costs depends on how often it is asked and on how often the value changes. Two numbers say it.
`epsilon_over` and `epsilon_after` compare histories with the same *pattern*: their values may differ in every wave, but
they change at the same times and return to the values of the same earlier waves. `epsilon_pattern` compares any two
histories whatsoever, also one that changes with one that never does. Where a permanent answer is sent again and again,
the moment at which it is replaced shows, so that the second number grows with the reports and may be infinite.

A permanent answer belongs to a value, never to what the value is hashed to. Two values in one bucket would otherwise
share an answer, and that they do would tell them from a pair that does not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.columns import Column
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import SYSTEM, Keystream, Source
from sottovoce.core.reports import Report, ReportArray, Reports
from sottovoce.mechanisms.base import Code, Mechanism

if TYPE_CHECKING:
    from numpy.typing import NDArray

Memory: TypeAlias = JsonObject
"""What a device keeps between two waves: numbers, text and lists, ready for JSON. Only its mechanism can read it."""

Hide: TypeAlias = Callable[[str], str]
"""What a device makes of the name of a value before it is looked up or kept, so that its store does not show it."""


@dataclass(frozen=True)
class Step:
    """One wave on a device: what to send, what to remember, and what it adds to the person's loss."""

    report: Report
    memory: Memory
    epsilon: float


class Longitudinal(Mechanism):
    """A mechanism for a value that is asked for again and again. Its `epsilon` is that of the first report."""

    remembers: ClassVar[tuple[str, ...]]
    """The fields of a memory."""

    # What it declares.

    @property
    def epsilon_forever(self) -> float:
        """What any number of reports of one unchanged value cost."""
        return self.epsilon_after(0)

    @abstractmethod
    def epsilon_after(self, changes: int) -> float:
        """What any number of reports with so many changes of the value cost, among histories of one pattern.

        No sequence of steps with so many changes adds up to more.
        """

    @abstractmethod
    def epsilon_over(self, reports: int, changes: int = 0) -> float:
        """What so many reports with so many changes of the value cost, among histories of one pattern."""

    @abstractmethod
    def epsilon_pattern(self, reports: int) -> float:
        """What so many reports cost among all histories: a bound, and infinite where a change may show for certain."""

    def next_costs(self, memory: Memory | None) -> tuple[float, float]:
        """The least and the most that the next wave is charged with, given what a device remembers.

        A value that was held before costs nothing more. The first wave has one cost.
        """
        if memory is None:
            return self.epsilon_forever, self.epsilon_forever
        held = len(self._checked(memory).get("answers", (None,)))
        return 0.0, self._new_value_cost(held)

    def _new_value_cost(self, held: int) -> float:
        """What the first wave with a value that is new costs after so many others were held."""
        return self.epsilon_after(held) - self.epsilon_after(held - 1)

    def ahead(self, memory: Memory | None, waves: int) -> list[float]:
        """What later changes may still cost in a survey of so many waves, if they are followed up to a bound.

        A device sets it aside from the first wave on: if the budget ended at a change, the silence would tell of it.
        """
        return []

    # What a device does.

    @abstractmethod
    def begin(self, source: Source = SYSTEM) -> Memory:
        """What a device draws once, before its first answer and without a look at it."""

    def step(
        self,
        value: object,
        memory: Memory,
        source: Source = SYSTEM,
        wave: int | None = None,
        hide: Hide | None = None,
    ) -> Step:
        """One wave. It changes nothing: what to keep for the next wave is in the result.

        Which wave it is, counted from 0, matters to mechanisms that count them; if nothing is said, it is the next.
        Answers are kept under what `hide` makes of the names of their values; it must be the same in all waves.
        """
        return self._step(self._encode(value, source), self._checked(memory), source, hide or str)

    def _checked(self, memory: object) -> Memory:
        """A memory that this mechanism can read."""
        if not isinstance(memory, dict) or set(memory) != set(self.remembers):
            raise ParameterError(f"a memory of {self.name} must have just the fields {', '.join(self.remembers)}")
        return memory

    @abstractmethod
    def _step(self, code: Code, memory: Memory, source: Source, hide: Hide) -> Step: ...

    def _perturb(self, code: int, source: Source) -> Report:
        return self._step(code, self.begin(source), source, str).report

    # What a simulation does.

    def randomize_waves(self, waves: Sequence[Column], seed: int | Keystream | None = None) -> list[Reports]:
        """The reports of the same people in several waves. A wave is a column of answers, one for each person."""
        stream = Keystream.of(seed)
        columns = [self._encode_many(wave, stream, 1) for wave in waves]
        if not columns or len({column.size for column in columns}) > 1:
            raise ParameterError("waves must be one or more columns of answers, all of the same people")
        data = self._perturb_waves(np.stack(columns, axis=1), stream)
        return [Reports(self, self.shape.check_many(column), stream.simulated) for column in data]

    @abstractmethod
    def _perturb_waves(self, codes: NDArray[np.int64], stream: Keystream) -> list[ReportArray]:
        """A column of reports for each column of codes; a row is one person."""

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        out[:] = self._perturb_waves(codes[:, None], stream)[0]


def check_count(name: str, count: object, least: int) -> int:
    """A whole number of reports, changes or waves."""
    if type(count) is not int or count < least:
        raise ParameterError(f"{name} must be a whole number, at least {least}, got {count!r:.40}")
    return count
