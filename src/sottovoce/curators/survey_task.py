"""Questions of a survey as tasks: whoever has the survey makes the same task of a question, and takes no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from sottovoce.core.errors import ParameterError, Refusal
from sottovoce.curators.identity import Card
from sottovoce.curators.task import AskedQuestion, Task
from sottovoce.survey import Survey

Clock = Callable[[], datetime]


def now() -> datetime:
    return datetime.now(UTC)


def survey_task(survey: Survey, question: str, curators: Mapping[str, Card], wave: int = 0) -> Task:
    """The one task that asks a question of a published survey in a wave, among the curators that the survey names.

    Its column has the name of the question. Nothing in it is left to whoever coordinates it.
    """
    federation = check_federated(survey).federated
    item = survey.question(question)
    if federation is None or type(wave) is not int or not 0 <= wave < survey.waves:
        raise ParameterError(f"a wave of survey {survey.id} must be from 0 to {survey.waves - 1}, got {wave!r:.40}")
    for name in federation.curators:
        if name not in curators:
            raise ParameterError(f"survey {survey.id} names the curator {name!r}, who is not among the peers")
    asked = AskedQuestion(survey.digest, item.id, wave, survey.minimum)
    cards = {name: curators[name] for name in federation.curators}
    return Task(f"{survey.id}.{item.id}.{wave}", item.id, item.query(), item.mechanism.epsilon, federation.parties,
                cards, asked)  # fmt: skip


def check_federated(survey: Survey) -> Survey:
    """A published survey among curators; anything else is refused."""
    if survey.federated is None:
        raise ParameterError(f"survey {survey.id} names no curators: it has trust: {survey.trust}, and no federated")
    if not survey.published:
        raise ParameterError(f"survey {survey.id} is a draft: publish it, for all curators must have the same")
    return survey


def check_open(survey: Survey, clock: Clock = now) -> None:
    """Refuse a survey that has expired."""
    if survey.expires is not None and clock() >= survey.expires:
        raise Refusal(f"survey {survey.id} expired at {survey.expires.isoformat()}")


def check_asked(task: Task, surveys: Sequence[Survey], clock: Clock = now) -> None:
    """Refuse a task that is not a question of one of these surveys, asked as the survey says in every detail."""
    known = ", ".join(f"{survey.id} ({survey.digest:.19}...)" for survey in surveys)
    if task.asked is None:
        raise Refusal(f"only questions of a survey are answered here: {known}")
    survey = next((survey for survey in surveys if survey.digest == task.asked.survey), None)
    if survey is None:
        raise Refusal(f"the survey {task.asked.survey:.19}... is another than those known here: {known}")
    check_open(survey, clock)
    try:
        expected = survey_task(survey, task.asked.question, task.curators, task.asked.wave).to_dict()
    except ParameterError as error:
        raise Refusal(str(error)) from None
    for field, value in task.to_dict().items():
        if value != expected[field]:
            raise Refusal(f"by survey {survey.id} the {field} must be {expected[field]!s:.80}, got {value!s:.80}")
