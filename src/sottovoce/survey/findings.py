"""What is risky about a survey, before it is sent out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from sottovoce.estimates.render import plural
from sottovoce.mechanisms import Longitudinal, Memoized
from sottovoce.statistics.planning import Finding, lint
from sottovoce.survey.document import Survey

LARGE_EPSILON = 4.0
"""A survey that costs more gets a warning: it may turn an even guess about a person into 98% certainty."""


def findings(survey: Survey, now: datetime | None = None) -> list[Finding]:
    """Things to know about a published survey."""
    weak = lint([{"name": question.id, "epsilon": question.epsilon} for question in survey.questions])
    return [*_about_settings(survey, now or datetime.now(UTC)), *_about_costs(survey), *weak]


def _about_settings(survey: Survey, now: datetime) -> Iterator[Finding]:
    who = "devices" if survey.federated is None else "curators"
    if survey.trust == "shuffle" and survey.shuffle is None:
        yield Finding("warning", "shuffle", "trust is shuffle without a shuffle: reports go straight to the collector")
    if survey.trust == "federated" and survey.federated is None:
        yield Finding("warning", "federated", "trust is federated without a federated: devices randomize their answers")
    if survey.shuffle is not None and survey.shuffle.delta * survey.shuffle.honest >= 1:
        yield Finding("warning", "delta", "delta is 1/honest or more: to show one report as it is would be allowed")
    if survey.contact is None:
        yield Finding("warning", "contact", "there is no contact: people have nobody to ask")
    if survey.expires is None:
        yield Finding("warning", "expires", f"there is no expiry: {who} would answer for ever")
    elif survey.expires <= now:
        yield Finding("warning", "expired", f"it expired at {survey.expires:%Y-%m-%dT%H:%M:%SZ}: nobody answers it")


def _about_costs(survey: Survey) -> Iterator[Finding]:
    for question in survey.questions if survey.waves > 1 else ():
        cost, once = survey.costs[question.id], question.mechanism.epsilon
        message = f"{question.id}: {survey.waves:,} waves cost epsilon = {cost:.6g}, not {once:.6g}"
        if isinstance(question.mechanism, Longitudinal):
            message += f" ({question.mechanism.epsilon_forever:.6g} if the answer never changes; when it does may show)"
        if isinstance(question.mechanism, Memoized) and question.mechanism.changes is not None:
            message += f"; beyond {plural(question.mechanism.changes, 'change')} reports are about an earlier answer"
        yield Finding("warning", "waves", message)
    if survey.epsilon > LARGE_EPSILON:
        yield Finding("warning", "budget", f"the answers of one person cost epsilon = {survey.epsilon:.6g} together")
