"""What a page of results shows of a survey: what it is, and each question as it stands.

An estimate has up to three intervals, at 95%: about the respondents, about the population they were drawn from, and
about the population at every peek at once. Nothing is shown from fewer reports than the survey's minimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce import __version__
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import SottovoceError
from sottovoce.mechanisms import Longitudinal, Mean, Sets
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.chart import chart_numbers
from sottovoce.survey.minimum import TooFewReports, released

if TYPE_CHECKING:
    from sottovoce.estimates import Result
    from sottovoce.estimates.tally import Tally
    from sottovoce.survey import Question, Survey

INTERVAL_LEVEL = 0.95
"""Coverage of the intervals."""


def describe(survey: Survey) -> JsonObject:
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


def _describe(item: Question, cost: float) -> JsonObject:
    m = item.mechanism
    p, q = (float(m.p), float(m.q)) if isinstance(m, Pure | Sets) else (None, None)
    return {
        "id": item.id,
        "text": item.text,
        "kind": item.kind,
        "estimate": item.estimate,
        "mechanism": m.name,
        "epsilon": m.epsilon,
        "cost": cost,
        "p": p,
        "q": q,
        "low": item.low,
        "high": item.high,
        "size": None if item.kind in ("number", "text") else m.domain.size,
        "remembers": isinstance(m, Longitudinal),
        "rounds": isinstance(m, Mean) and m.kind == "rounding",
    }


def question_numbers(item: Question, tally: Tally[Result], minimum: int) -> JsonObject:
    """One question from its tally, or why it is withheld: too few reports, no values listed, or an error."""
    shown: JsonObject = {"id": item.id, "n": tally.n}
    try:
        released(tally, minimum)
        if item.kind == "text":
            return shown | {"withheld": "values"}
        return shown | chart_numbers(tally, INTERVAL_LEVEL)
    except TooFewReports:
        return shown | {"withheld": "minimum"}
    except SottovoceError as error:
        return shown | {"withheld": str(error)}
