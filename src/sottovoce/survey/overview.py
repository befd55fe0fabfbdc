"""What a page of results shows of a survey: what it is, and each question as it stands.

An estimate has up to three intervals, at 95%: about the respondents, about the population they were drawn from, and
about the population at every peek at once. Nothing is shown from fewer reports than the survey's minimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sottovoce import __version__
from sottovoce.core.errors import SottovoceError
from sottovoce.mechanisms import Longitudinal, Mean, Sets
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.chart import chart_numbers
from sottovoce.survey.minimum import TooFewReports, released

if TYPE_CHECKING:
    from sottovoce.estimates.tally import Tally
    from sottovoce.survey import Question, Survey

INTERVAL_LEVEL = 0.95
"""Coverage of the intervals."""


def describe(survey: Survey) -> dict[str, Any]:
    """What never changes: the survey in words and numbers."""
    return {
        "id": survey.id,
        "title": survey.title,
        "description": survey.description,
        "contact": survey.contact,
        "digest": survey.digest,
        "trust": survey.trust,
        "budget": survey.budget,
        "epsilon": survey.epsilon,
        "guarantee": survey.guarantee.to_dict() if survey.guarantee else None,
        "minimum": survey.minimum,
        "waves": survey.waves,
        "every": survey.every,
        "expires": None if survey.expires is None else f"{survey.expires:%Y-%m-%dT%H:%M:%SZ}",
        "level": INTERVAL_LEVEL,
        "version": __version__,
        "covariates": [one.to_dict() for one in survey.covariates],
        "questions": [_describe(item, survey.costs[item.id]) for item in survey.questions],
    }


def _describe(item: Question, cost: float) -> dict[str, Any]:
    m: Any = item.mechanism
    odds = isinstance(m, Pure | Sets)
    return {
        "id": item.id,
        "text": item.text,
        "kind": item.kind,
        "estimate": item.estimate,
        "mechanism": m.name,
        "epsilon": m.epsilon,
        "cost": cost,
        "p": float(m.p) if odds else None,
        "q": float(m.q) if odds else None,
        "low": item.low,
        "high": item.high,
        "size": None if item.kind in ("number", "text") else m.domain.size,
        "remembers": isinstance(m, Longitudinal),
        "rounds": isinstance(m, Mean) and m.kind == "rounding",
    }


def question_numbers(item: Question, tally: Tally[Any], minimum: int) -> dict[str, Any]:
    """One question from its tally, or why it is not shown: too few reports, values to be named, or what was wrong."""
    shown: dict[str, Any] = {"id": item.id, "n": tally.n}
    try:
        released(tally, minimum)
        if item.kind == "text":
            return shown | {"withheld": "values"}
        return shown | chart_numbers(tally, INTERVAL_LEVEL)
    except TooFewReports:
        return shown | {"withheld": "minimum"}
    except SottovoceError as error:
        return shown | {"withheld": str(error)}
