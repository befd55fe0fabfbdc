"""The one way to a plan: all quantities but one are given, and that one is solved for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import MAX_EPSILON, check_epsilon
from sottovoce.statistics.planning.families import InstrumentFamily, family
from sottovoce.statistics.planning.instrument import Instrument, PlannedDesign
from sottovoce.statistics.planning.margins import margin as margin_of
from sottovoce.statistics.planning.plans import Plan
from sottovoce.statistics.planning.powers import has_power
from sottovoce.statistics.planning.solve import MAX_PEOPLE, least_integer, least_real
from sottovoce.statistics.planning.terms import Terms, number, whole

MIN_EPSILON = 1e-4
"""Smaller ones are not planned for."""

Reaches = Callable[[Instrument, int], bool]


class Known(TypedDict, total=False):
    """The quantities of a plan that are given, checked: all but the one that is solved for."""

    epsilon: float
    n: int
    margin: float
    effect: float
    power: float


Solver = Callable[[InstrumentFamily, Terms, Known], Plan]


def plan(
    design: str | PlannedDesign = "warner",
    *,
    epsilon: float | None = None,
    n: int | None = None,
    margin: float | None = None,
    power: float | None = None,
    effect: float | None = None,
    level: float = 0.95,
    proportion: float | None = None,
    population: bool = True,
    method: str = "normal",
    test: str = "one",
    correlation: float = 0.0,
    simultaneous: bool = False,
    domain: int | Iterable[Label] | Domain | None = None,
    **options: Any,
) -> Plan:
    """Leave out one of epsilon, n and margin, and it is solved for; or one of epsilon, n, effect and power.

    The design is a name (warner, forced, krr with a domain, auto, mean with low and high, direct ...), or a design or
    mechanism whose parameters, and so whose epsilon, are known. Epsilon may be infinite: the question asked openly.

    >>> plan("rr", epsilon=1.0, margin=0.03).n
    4997
    >>> round(plan("rr", n=10_000, margin=0.03).epsilon, 4)
    0.6782
    >>> round(plan("krr", domain=10, n=10_000, epsilon=1.0).margin, 4)
    0.0564
    >>> plan("rr", epsilon=1.0, proportion=0.2, effect=0.05, power=0.8, test="groups").n
    6872
    """
    chosen = family(design, domain, options)
    terms = Terms(level, proportion, population, method, simultaneous, test, correlation)
    given: dict[str, object] = {"epsilon": epsilon, "n": n}
    powered = power is not None or effect is not None
    if powered and margin is not None:
        raise ParameterError("plan for a margin, or for an effect and its power, not for both")
    given |= {"effect": effect, "power": power} if powered else {"margin": margin}
    if chosen.fixed is not None:
        if epsilon is not None:
            raise ParameterError(f"{chosen.name} has its epsilon already, got epsilon = {epsilon!r:.20}")
        given["epsilon"] = chosen.fixed.epsilon
    return _solved(chosen, terms, given)


def _solved(chosen: InstrumentFamily, terms: Terms, given: Mapping[str, object]) -> Plan:
    missing = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        names, got = ", ".join(given), " and ".join(missing) or "none"
        raise ParameterError(f"one of {names} must be left out, to be solved for; left out: {got}")
    sample = chosen.asked(1.0)
    terms.check(sample, "effect" in given)
    settled = {name: value for name, value in given.items() if value is not None}
    known = _checked(settled, terms, sample, fixed=chosen.fixed is not None)
    return _SOLVERS[missing[0]](chosen, terms, known)


def _checked(given: Mapping[str, object], terms: Terms, asked: Instrument, fixed: bool) -> Known:
    """The given quantities in their plain types. One that cannot be is refused."""
    known: Known = {}
    if "epsilon" in given:
        known["epsilon"] = asked.epsilon if fixed else _check_epsilon(given["epsilon"])
    if "n" in given:
        known["n"] = whole("n", given["n"])
    if "margin" in given:
        known["margin"] = number("margin", given["margin"], 0, math.inf, strictly=True)
    if "effect" in given:
        known["effect"] = _check_effect(given["effect"], terms, asked)
    if "power" in given:
        known["power"] = number("power", given["power"], terms.alpha(asked), 1, strictly=True)
    return known


def _check_epsilon(epsilon: object) -> float:
    """An epsilon, or infinity for the question asked openly."""
    return epsilon if isinstance(epsilon, float) and epsilon == math.inf else check_epsilon(epsilon)


def _check_effect(effect: object, terms: Terms, asked: Instrument) -> float:
    value = number("effect", effect, -asked.width, asked.width)
    if not value:
        raise ParameterError("effect must not be 0: there would be nothing to notice")
    if terms.proportion is not None and not 0 <= terms.proportion + value <= 1:
        raise ParameterError(f"proportion + effect must lie between 0 and 1, got {terms.proportion + value:g}")
    return value


def _reaches(terms: Terms, known: Known) -> Reaches:
    """Whether an instrument and n people do what is asked for."""
    if "margin" in known:
        return lambda asked, n: margin_of(terms, asked, n) <= known["margin"]
    return lambda asked, n: has_power(terms, asked, n, known["effect"], known["power"])


def _made(name: str, n: int, asked: Instrument, terms: Terms, chosen: InstrumentFamily, known: Known) -> Plan:
    return Plan(name, n, asked, terms, chosen, known.get("effect"), known.get("power", known.get("margin")))


def _solve_n(chosen: InstrumentFamily, terms: Terms, known: Known) -> Plan:
    asked, reaches = chosen.asked(known["epsilon"]), _reaches(terms, known)
    n = least_integer(lambda n: reaches(asked, n))
    if n is None:
        raise ParameterError(f"{_goal(known)} would take more than {MAX_PEOPLE:.0e} people")
    return _made("n", n, asked, terms, chosen, known)


def _solve_epsilon(chosen: InstrumentFamily, terms: Terms, known: Known) -> Plan:
    reaches = _reaches(terms, known)
    epsilon = least_real(lambda epsilon: reaches(chosen.at(epsilon), known["n"]), MIN_EPSILON, MAX_EPSILON)
    if epsilon is None:
        least = _solve_n(chosen, terms, known | {"epsilon": math.inf}).n
        raise ParameterError(f"n = {known['n']:,} cannot reach {_goal(known)} with any epsilon: "
                             f"asked openly, the question needs {least:,}")  # fmt: skip
    return _made("epsilon", known["n"], chosen.at(epsilon), terms, chosen, known)


def _solve_effect(chosen: InstrumentFamily, terms: Terms, known: Known) -> Plan:
    asked, n, power = chosen.asked(known["epsilon"]), known["n"], known["power"]
    most = asked.width - (terms.proportion or 0.0)
    effect = most and least_real(lambda size: has_power(terms, asked, n, size, power), most * 1e-9, most)
    if not effect:
        raise ParameterError(f"n = {n:,} has the power {power:g} for no effect, were it as large as {most:g}")
    return _made("effect", n, asked, terms, chosen, known | {"effect": effect})


def _evaluate(name: str) -> Solver:
    """A margin or a power needs no search: the plan computes it."""
    return lambda chosen, terms, known: _made(name, known["n"], chosen.asked(known["epsilon"]), terms, chosen, known)


def _goal(known: Known) -> str:
    if "margin" in known:
        return f"a margin of {known['margin']:g}"
    return f"a power of {known['power']:g} for an effect of {known['effect']:g}"


_SOLVERS: dict[str, Solver] = {
    "n": _solve_n,
    "epsilon": _solve_epsilon,
    "effect": _solve_effect,
    "margin": _evaluate("margin"),
    "power": _evaluate("power"),
}
