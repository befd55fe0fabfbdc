"""Numbers for the planning page: what a question tells and gives away, for an epsilon and a number of people.

They come from `statistics.planning` where that knows the mechanism. For sets, ordered values, distributions and texts,
the margin is the normal one from the worst standard error of a report, with the most that sampling can add.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.frequencies import quantile
from sottovoce.mechanisms import Mean, Mechanism, Sets
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.planning import Direct, plan
from sottovoce.statistics.planning.linter import MIN_COUNT_VARIANCE, WEAK_EPSILON
from sottovoce.survey.kinds import KINDS
from sottovoce.survey.question import Question

PARAMETERS = ("kind", "values", "low", "high", "estimate", "mechanism", "epsilon", "n", "margin", "level", "prior")
MAX_VALUES = 1000
MAX_PEOPLE = 10**9
MAX_NUMBER = 1e15
"""The ends of a question's range are at most this far from zero."""

TABLE_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Epsilons for which the page lists how many people are needed."""

CURVE_PRIORS = tuple(i / 20 for i in range(1, 20))
CURVE_POINTS = 33


@dataclass(frozen=True)
class PlannedQuestion:
    """A question to plan, and how; made by `read`, which checks."""

    kind: str
    values: int
    low: float
    high: float
    estimate: str
    mechanism: str
    epsilon: float
    n: int
    margin: float
    level: float
    prior: float

    def item(self, by: str) -> Question:
        """The question, asked by a mechanism."""
        record: JsonObject = {"id": "question", "text": "?", "kind": self.kind, "mechanism": by}
        if self.kind in ("choice", "multiple", "ordered"):
            record["values"] = self.values
        elif self.kind == "number":
            record |= {"low": self.low, "high": self.high, "estimate": self.estimate}
        elif self.kind == "text":
            record["max_bytes"] = 100
        return Question.from_dict(record)


def read(query: Mapping[str, Sequence[str]]) -> PlannedQuestion:
    """What is asked for, from the parameters of an address. If a name occurs twice, the last one counts.

    >>> read({"kind": ["number"], "low": ["0"], "high": ["20"]}).margin
    1.0
    """
    given = {name: values[-1] for name, values in query.items()}
    kind = _one_of(given, "kind", "yes_no", tuple(KINDS))
    low = _number(given, "low", 0.0, -MAX_NUMBER, MAX_NUMBER)
    high = _number(given, "high", 1.0, -MAX_NUMBER, MAX_NUMBER)
    estimate = _one_of(given, "estimate", "mean", ("mean", "distribution"))
    width = max(high - low, 1e-9) if (kind, estimate) == ("number", "mean") else 1.0
    return PlannedQuestion(
        kind,
        2 if kind == "yes_no" else _whole(given, "values", 4, 2, MAX_VALUES),
        low,
        high,
        estimate,
        _one_of(given, "mechanism", "auto", ("auto", *KINDS[kind].by)),
        _number(given, "epsilon", 1.0, 0.01, 16.0),
        _whole(given, "n", 1000, 1, MAX_PEOPLE),
        _number(given, "margin", 0.05 * width, 1e-4 * width, width),
        _number(given, "level", 0.95, 0.5, 0.9999),
        _number(given, "prior", 0.5, 0.001, 0.999),
    )


def _one_of(given: Mapping[str, str], name: str, default: str, choices: tuple[str, ...]) -> str:
    value = given.get(name, default)
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(choices)}, got {value!r:.40}")
    return value


def _number(given: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    try:
        value = float(given.get(name, default))
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise ParameterError(f"{name} must be a number from {low:g} to {high:g}, got {given.get(name)!r:.40}")
    return value


def _whole(given: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and low <= int(text) <= high):
        raise ParameterError(f"{name} must be a whole number from {low} to {high:,}, got {text!r:.40}")
    return int(text)


class PlannedPrecision:
    """How precise a mechanism is: the margin after n reports, and the reports that a margin takes."""

    def __init__(self, asked: PlannedQuestion, mechanism: Mechanism | Direct) -> None:
        self.asked, self.mechanism = asked, mechanism
        self.known = isinstance(mechanism, Pure | Mean | Direct)

    def _error(self) -> float:
        """The worst standard error of one report about a population. Of a share, sampling adds at most 1/4."""
        return math.sqrt(KINDS[self.asked.kind].error(self.mechanism) ** 2 + 0.25)

    def margin(self, n: int) -> float:
        if self.known:
            return plan(self.mechanism, n=n, level=self.asked.level).margin
        return quantile(self.asked.level) * self._error() / math.sqrt(n)

    def needed(self, margin: float) -> int | None:
        """The least number of people; None if it would be more than there are."""
        try:
            if self.known:
                return plan(self.mechanism, margin=margin, level=self.asked.level).n
        except ParameterError:
            return None
        return math.ceil((quantile(self.asked.level) * self._error() / margin) ** 2)

    def to_dict(self, name: str) -> JsonObject:
        m = self.mechanism
        p, q = (float(m.p), float(m.q)) if isinstance(m, Pure | Sets) else (None, None)
        return {
            "mechanism": name,
            "name": m.name if isinstance(m, Mechanism) else None,
            "epsilon": m.epsilon,
            "margin": self.margin(self.asked.n),
            "needed": self.needed(self.asked.margin),
            "bits": m.bits if isinstance(m, Mechanism) else None,
            "p": p,
            "q": q,
        }


@lru_cache(maxsize=512)
def study(asked: PlannedQuestion) -> JsonObject:
    """All that the page shows of one question.

    >>> found = study(read({"epsilon": ["1"], "margin": ["0.03"]}))
    >>> found["chosen"]["needed"], [round(end, 3) for end in (found["posterior"]["low"], found["posterior"]["high"])]
    (4997, [0.269, 0.731])
    """
    chosen = PlannedPrecision(asked, asked.item(asked.mechanism).build(asked.epsilon))
    openly = PlannedPrecision(asked, _opened(chosen))
    return {
        "chosen": chosen.to_dict(asked.mechanism),
        "mechanisms": [one.to_dict(name) for name, one in _others(asked).items()],
        "open": openly.to_dict("open") if openly.known else None,
        "curve": _curve(asked, chosen, openly),
        "needs": [_need(asked, epsilon) for epsilon in TABLE_EPSILONS],
        "posterior": _posterior(asked, chosen.mechanism),
        "findings": _findings(asked, chosen),
    }


def _opened(chosen: PlannedPrecision) -> Mechanism | Direct:
    """The same question without noise, where planning knows it; otherwise the mechanism itself."""
    if not chosen.known:
        return chosen.mechanism
    openly = plan(chosen.mechanism, n=1).family.at(math.inf).design
    return openly if isinstance(openly, Direct | Mechanism) else chosen.mechanism


def _others(asked: PlannedQuestion) -> dict[str, PlannedPrecision]:
    """The question asked by each of its mechanisms that can reach the epsilon."""
    found = {}
    for name in KINDS[asked.kind].by:
        try:
            found[name] = PlannedPrecision(asked, asked.item(name).build(asked.epsilon))
        except ParameterError:
            continue
    return found


def _need(asked: PlannedQuestion, epsilon: float) -> JsonObject:
    try:
        built = asked.item(asked.mechanism).build(epsilon)
    except ParameterError:
        return {"epsilon": epsilon, "n": None}
    return {"epsilon": epsilon, "n": PlannedPrecision(asked, built).needed(asked.margin)}


def _curve(asked: PlannedQuestion, chosen: PlannedPrecision, openly: PlannedPrecision) -> JsonObject:
    """The margin over the number of people, with noise and without."""
    counts = [round(n) for n in np.geomspace(max(asked.n / 100, 10), max(asked.n * 100, 1000), CURVE_POINTS).tolist()]
    drawn: JsonObject = {"n": counts, "margin": [chosen.margin(n) for n in counts]}
    return drawn | {"open": [openly.margin(n) for n in counts] if openly.known else None}


def _posterior(asked: PlannedQuestion, mechanism: Mechanism | Direct) -> JsonObject:
    """What an attacker believes after the report that says most, for the prior asked for and for others."""

    def believed(prior: float) -> tuple[float, float, float]:
        if isinstance(mechanism, Pure | Mean):
            return plan(mechanism, n=1).posterior(prior)
        low, high = (1 / (1 + (1 - prior) / prior * math.exp(sign * mechanism.epsilon)) for sign in (1, -1))
        return prior, low, high

    low, high = believed(asked.prior)[1:]
    ends = [believed(prior) for prior in CURVE_PRIORS]
    curve = {"prior": list(CURVE_PRIORS), "low": [end[1] for end in ends], "high": [end[2] for end in ends]}
    return {"prior": asked.prior, "low": low, "high": high, "factor": math.exp(mechanism.epsilon), "curve": curve}


def _findings(asked: PlannedQuestion, chosen: PlannedPrecision) -> list[str]:
    """The names of the rules of `planning.lint` that the plan breaks."""
    m = chosen.mechanism
    width = asked.high - asked.low if isinstance(m, Mean) else 1.0
    rules = {
        "range": 2 * chosen.margin(asked.n) >= width,
        "weak": asked.epsilon > WEAK_EPSILON,
        "few": isinstance(m, Pure) and asked.n * float(min(m.q, 1 - m.p)) < MIN_COUNT_VARIANCE,
    }
    return [rule for rule, broken in rules.items() if broken]
