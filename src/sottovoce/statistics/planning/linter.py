"""What is wrong with a plan, or risky, before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import check_epsilon, compose
from sottovoce.statistics.planning.instrument import ShareInstrument
from sottovoce.statistics.planning.margins import margin
from sottovoce.statistics.planning.planner import plan as make_plan
from sottovoce.statistics.planning.plans import Plan
from sottovoce.statistics.planning.solve import least_integer
from sottovoce.statistics.planning.terms import number, whole
from sottovoce.statistics.planning.words import percent

WEAK_EPSILON = 4.0
"""Beyond this epsilon a report may take an even belief to more than 98%."""

MIN_COUNT_VARIANCE = 9.0
"""The normal method is good enough if the number of supporting reports has at least this variance."""


class HasEpsilon(Protocol):
    """A plan, a design, a mechanism, or anything else whose report has a cost."""

    @property
    def epsilon(self) -> float: ...


QuestionLike: TypeAlias = HasEpsilon | Mapping[str, Any]
"""What one person is asked: something with an epsilon, or arguments for `plan` by name."""


@dataclass(frozen=True)
class Finding:
    """An error is a plan that should not be carried out; a warning is a thing to know."""

    severity: str
    rule: str
    message: str

    def to_dict(self) -> dict[str, str]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.severity}: {self.message}"


@dataclass(frozen=True)
class PlannedItem:
    """One question of one person: what a report costs, how many waves of them, and the plan if there is one."""

    name: str
    epsilon: float
    waves: int
    memoized: bool
    plan: Plan | None = None
    margin: float | None = None

    @property
    def cost(self) -> float:
        """What all its waves cost a person. A remembered report that is sent again tells nothing new."""
        return math.inf if self.epsilon == math.inf else compose([self.epsilon] * (1 if self.memoized else self.waves))


def lint(
    subject: QuestionLike | Iterable[QuestionLike], budget: float | None = None, waves: int = 1, memoized: bool = False
) -> list[Finding]:
    """The findings about a plan, or about all questions that one person is asked, errors first.

    A question is a plan, a design, a mechanism, anything with an epsilon, or a dict of arguments for `plan` (here all
    quantities may be given), with a `name`, and `waves` and `memoized` of its own if need be. `budget` is what all
    reports of one person may cost together; `waves` is how often each question is asked; memoized answers are sent
    again as they are, and cost once as long as the truth behind them does not change.

    >>> for finding in lint([{"epsilon": 1.0}, {"epsilon": 5.0}], budget=4.0):
    ...     print(finding)
    error: all reports of one person cost epsilon = 6, more than the budget of 4
    warning: question 2: epsilon = 5 is weak: a report may take an even belief to 99.33%
    """
    if isinstance(subject, Iterable) and not isinstance(subject, Mapping | str | bytes):
        subjects: list[QuestionLike] = list(subject)
    else:
        subjects = [subject]
    if not subjects:
        raise ParameterError("there must be a question to look at, got none")
    items = [_item(entry, f"question {at}", whole("waves", waves), memoized) for at, entry in enumerate(subjects, 1)]
    findings = [finding for item in items for finding in _findings(item, "" if len(items) == 1 else f"{item.name}: ")]
    findings += _budget(items, None if budget is None else number("budget", budget, 0, math.inf, strictly=True))
    return sorted(findings, key=lambda finding: finding.severity)


def _item(entry: QuestionLike, name: str, waves: int, memoized: bool) -> PlannedItem:
    if isinstance(entry, Mapping):
        return _described(dict(entry), name, waves, memoized)
    if isinstance(entry, Plan):
        again = entry.effect is not None and entry.terms.test == "waves"
        return PlannedItem(name, entry.epsilon, max(waves, 2) if again else waves, memoized, entry)
    name = str(getattr(entry, "name", name))
    return PlannedItem(name, _epsilon(getattr(entry, "epsilon", None), name), waves, memoized)


def _described(entry: dict[str, Any], name: str, waves: int, memoized: bool) -> PlannedItem:
    name, waves = str(entry.pop("name", name)), whole("waves", entry.pop("waves", waves))
    memoized, design = bool(entry.pop("memoized", memoized)), entry.get("design", "warner")
    if set(entry) <= {"epsilon"}:
        return PlannedItem(name, _epsilon(entry.get("epsilon"), name), waves, memoized)
    settled = entry.get("epsilon") is not None or not isinstance(design, str) or ":" in design or design == "direct"
    wanted = entry.pop("margin", None) if settled and entry.get("n") is not None else None
    plan = make_plan(**entry)
    return PlannedItem(name, plan.epsilon, waves, memoized, plan, wanted)


def _epsilon(epsilon: object, name: str) -> float:
    if epsilon is None:
        raise ParameterError(f"{name}: a question needs an epsilon")
    return math.inf if epsilon == math.inf else check_epsilon(epsilon)


def _findings(item: PlannedItem, prefix: str) -> Iterator[Finding]:
    """About one question."""
    if item.epsilon == math.inf:
        yield Finding("error", "not-private", f"{prefix}epsilon is infinite: some report proves its sender's answer")
    elif item.epsilon > WEAK_EPSILON:
        belief = percent(1 / (1 + math.exp(-item.epsilon)))
        message = f"epsilon = {item.epsilon:.4g} is weak: a report may take an even belief to {belief}"
        yield Finding("warning", "weak", prefix + message)
    if item.plan is not None:
        yield from _sharpness(item.plan, item.margin, prefix)


def _sharpness(plan: Plan, wanted: float | None, prefix: str) -> Iterator[Finding]:
    """What the result will be worth."""
    reached, proportion = plan.margin, plan.terms.proportion
    if wanted is not None and reached > wanted:
        needed = least_integer(lambda n: margin(plan.terms, plan.asked, n) <= wanted)
        more = "no number of people would do" if needed is None else f"that takes n = {needed:,}"
        message = f"n = {plan.n:,} gives a margin of {reached:.4g}, not {wanted:g}: {more}"
        yield Finding("error", "margin", prefix + message)
    if 2 * reached >= plan.asked.width:
        message = f"the interval is {2 * reached:.4g} wide, and the whole range is {plan.asked.width:g}"
        yield Finding("error", "range", prefix + message)
    elif proportion is not None and reached >= min(proportion, 1 - proportion) > 0:
        message = f"the margin of {reached:.4g} is as large as the share it is about, {proportion:g}"
        yield Finding("warning", "rare", prefix + message)
    common = plan.asked.width / 2 if proportion is None else proportion
    if plan.effect is not None and abs(plan.effect) > common:
        whose = "half the range" if proportion is None else "the proportion itself"
        message = f"the effect of {plan.effect:.4g} is larger than {whose}, {common:g}"
        yield Finding("warning", "effect", prefix + message)
    yield from _few(plan, prefix)


def _few(plan: Plan, prefix: str) -> Iterator[Finding]:
    """A normal approximation is bad where few reports, or few others, support a value."""
    if plan.terms.method != "normal" or not isinstance(plan.asked, ShareInstrument) or not plan.asked.supports:
        return
    chance = plan.asked.support(plan.terms.proportion)
    if plan.n * chance * (1 - chance) < MIN_COUNT_VARIANCE:
        message = f"n = {plan.n:,} is too few for the normal method: plan with method exact"
        yield Finding("warning", "few", prefix + message)


def _budget(items: list[PlannedItem], budget: float | None) -> Iterator[Finding]:
    """About all that one person is asked."""
    total = math.inf if any(item.cost == math.inf for item in items) else compose(item.cost for item in items)
    if budget is not None and total > budget:
        cost = "no end" if total == math.inf else f"{total:.6g}"
        message = f"all reports of one person cost epsilon = {cost}, more than the budget of {budget:g}"
        yield Finding("error", "budget", message)
    fresh = [item for item in items if item.waves > 1 and not item.memoized and item.epsilon < math.inf]
    if fresh and budget is None:
        most = max(fresh, key=lambda item: item.cost)
        cost = f"{most.waves} waves with fresh noise cost epsilon = {most.cost:.6g}"
        yield Finding("warning", "waves", f"{cost}: let devices remember their report, or set a budget")
