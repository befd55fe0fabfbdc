"""What a wave of a survey would cost a person, before anything is drawn for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import compose
from sottovoce.device.drafts import Drafts
from sottovoce.device.ledger import Entries
from sottovoce.mechanisms.longitudinal.base import Longitudinal
from sottovoce.survey import Survey
from sottovoce.survey.question import Question

if TYPE_CHECKING:
    from sottovoce.mechanisms.longitudinal.base import Memory


@dataclass(frozen=True)
class Price:
    """What a wave may cost, by question, and what is owed for earlier waves and paid with it."""

    least: Mapping[str, float]
    """If every value was held before. What is drawn afresh in every wave costs the same in any case."""
    most: Mapping[str, float]
    """If no value was held before."""
    owed: Mapping[int, Mapping[str, float]]
    """By wave: for permanent answers that were drawn and not sent yet."""
    set_aside: Sequence[float]
    """What later waves may still cost and the budget must have room for, if every value was held before."""
    set_aside_after_new: Sequence[float]
    """The same if no value was: what a new one costs is then no longer ahead."""

    @property
    def debts(self) -> list[float]:
        return [cost for due in self.owed.values() for cost in due.values()]

    def with_debts(self, costs: Mapping[str, float]) -> dict[str, float]:
        """What is charged for each question, if the wave itself has these costs."""
        return {
            question: compose([cost, *(due.get(question, 0.0) for due in self.owed.values())])
            for question, cost in costs.items()
        }


@dataclass(frozen=True)
class Review:
    """What a survey asks and costs, recomputed on the device, and whether it would be answered."""

    survey: Survey
    costs: Mapping[str, float]
    """The most that the wave costs."""
    least: Mapping[str, float]
    """The least: where a permanent answer is remembered, a value that was held before costs nothing more."""
    left: float
    refusal: str | None
    """Why no answers would be taken, or None."""
    new_value_refusal: str | None = None
    """Why answers with new values would not be taken although others would, or None."""
    answered: bool = False
    """Whether the wave was answered: it costs nothing more, and has the same report for ever."""

    @property
    def epsilon(self) -> float:
        """The most that all waves of the survey cost together."""
        return self.survey.epsilon

    def __str__(self) -> str:
        title = " ".join(self.survey.title.split())  # On one line, it cannot pass for the lines below.
        lines = [f"{title} ({self.survey.id}), {self.survey.digest}"]
        lines += [f"  {question}: epsilon = {self._cost(question)}" for question in self.costs]
        lines += [f"  {covariate.id}: sent as it is" for covariate in self.survey.covariates]
        waves = f" in {self.survey.waves:,} waves" if self.survey.waves > 1 else ""
        lines.append(f"all together: epsilon = {self.epsilon:.6g}{waves}, of {self.left:.6g} left")
        lines += [f"  {line}" for line in self.survey.guarantee.lines()] if self.survey.guarantee else []
        lines.append(self._verdict())
        return "\n".join(lines)

    def _cost(self, question: str) -> str:
        least, most = self.least[question], self.costs[question]
        return f"{most:.6g}" if least == most else f"{least:.6g} for a value held before, {most:.6g} for a new one"

    def _verdict(self) -> str:
        if self.answered:
            return "was answered: asked again, the device gives the same report"
        if self.refusal:
            return f"REFUSED: {self.refusal}"
        if self.new_value_refusal:
            return f"would be answered with values held before; new ones would be REFUSED: {self.new_value_refusal}"
        return "would be answered"


def price(entries: Entries, survey: Survey, wave: int | None) -> Price:
    """What a wave may cost; without a wave, one for which nothing was drawn yet."""
    drafts, memories = Drafts(entries, survey.digest), memories_of(entries, survey)
    draft = None if wave is None else drafts.get(wave)
    if draft is not None:  # A question that was paid for with a later wave costs nothing more.
        costs = {question.id: draft.costs.get(question.id, 0.0) for question in survey.questions}
        earlier, every = drafts.owed(memories, before=wave), drafts.owed(memories)
        later = [cost for other in every.keys() - earlier.keys() - {wave} for cost in every[other].values()]
        return Price(costs, costs, earlier, *2 * ([*later, *still_ahead(survey, memories)],))
    bounds = {question.id: _bounds(entries, survey.digest, question) for question in survey.questions}
    least, most = ({question: bound[at] for question, bound in bounds.items()} for at in (0, 1))
    after_new = still_ahead(survey, memories, new=1)
    return Price(least, most, drafts.owed(memories), still_ahead(survey, memories), after_new)


def memories_of(entries: Entries, survey: Survey) -> dict[str, Memory | None]:
    """What each mechanism that remembers anything from wave to wave has kept; None before its first wave."""
    remembering = [question.id for question in survey.questions if isinstance(question.mechanism, Longitudinal)]
    return {question: entries.memory(survey.digest, question) for question in remembering}


def still_ahead(survey: Survey, memories: Mapping[str, Memory | None], new: int = 0) -> list[float]:
    """What changes may still cost where they are followed up to a bound, after `new` more in every begun question."""
    costs = []
    for question in survey.questions:
        if isinstance(question.mechanism, Longitudinal):
            memory = memories.get(question.id)
            costs += question.mechanism.ahead(memory, survey.waves)[new if memory else 0 :]
    return costs


def _bounds(entries: Entries, digest: str, question: Question) -> tuple[float, float]:
    mechanism = question.mechanism
    if not isinstance(mechanism, Longitudinal):
        return mechanism.epsilon, mechanism.epsilon
    try:
        return mechanism.next_costs(entries.memory(digest, question.id))
    except ParameterError as error:
        raise ParameterError(f"{question.id}: {error}") from None
