"""Plans for values that nobody listed: buckets and cohorts for candidates, groups for discovery."""

from __future__ import annotations

from collections.abc import Callable

from sottovoce.cli.options import Asked, given, refuse
from sottovoce.cli.show import console, print_json, print_table
from sottovoce.core.errors import ParameterError
from sottovoce.estimates import quantile
from sottovoce.mechanisms import Discovery, Hashed
from sottovoce.mechanisms.text.discovery_plan import MAX_FREQUENCY as MAX_PROPORTION
from sottovoce.mechanisms.text.discovery_plan import needed

TERMS = {
    "hashed": {"n", "epsilon", "candidates", "margin", "level", "concentration"},
    "discovery": {"n", "epsilon", "length", "proportion"},
}
"""What a plan may be given."""
NAMES = tuple(TERMS)
MAX_PEOPLE = 10**12
"""No plan is made for more people."""

PEOPLE_TOLERANCE = 1.01
"""A plan has at most this many times the least number of people."""

TextMechanism = Hashed | Discovery
Make = Callable[[int], TextMechanism]
"""From a number of people to the best mechanism for them."""
Sharpness = Callable[[TextMechanism, int], float]
"""From a mechanism and a number of people to the margin, or to the least share that is found."""


def plan_texts(asked: Asked) -> None:
    """Solve for the people or for the sharpness, and show what ten times fewer and more would give."""
    hashed = asked["mechanism"] == "hashed"
    own, sharp = ("candidates", "margin") if hashed else ("length", "proportion")
    _check(asked, own, sharp)
    make, sharpness = _planner(asked)
    n = asked["n"] or _people(make, sharpness, sharp, asked[sharp])
    m = make(n)
    if asked["as_json"]:
        record = {"n": n, "epsilon": m.epsilon, own: asked[own], sharp: sharpness(m, n)}
        print_json({**record, "bits": m.bits, "cells": m.cells, "mechanism": m.to_dict()})
        return
    values = f"the share of each of {asked[own]:,} values is known to within"
    gained = values if hashed else f"texts of up to {asked[own]} bytes are found from a share of"
    people = f"With {n:,} people at epsilon = {m.epsilon:.6g}"
    console().print(f"[bold]{people}, {gained} {sharpness(m, n):.2g}[/bold]\n")
    header = ["people", "by", "buckets", "cohorts", "bits", "integers in a tally", sharp]
    print_table(header, _rows(make, sharpness, n), _caption(asked))


def _check(asked: Asked, own: str, sharp: str) -> None:
    name = asked["mechanism"]
    refuse(given().keys() - TERMS[name] - {"mechanism", "as_json"}, f"does not go with --mechanism {name}")
    if asked["epsilon"] is None or asked[own] is None:
        raise ParameterError(f"{name} needs --epsilon and --{own}")
    if (asked["n"] is None) == (asked[sharp] is None):
        raise ParameterError(f"{name} needs --n or --{sharp}: one is given, the other is solved for")
    if asked["n"] is not None and not 0 < asked["n"] <= MAX_PEOPLE:
        raise ParameterError(f"n must be a whole number from 1 to {MAX_PEOPLE:,}, got {asked['n']:,}")
    most = MAX_PROPORTION if sharp == "proportion" else 1
    if asked[sharp] is not None and not 0 < asked[sharp] <= most:
        raise ParameterError(f"--{sharp} must lie from 0 to {most:g}, got {asked[sharp]!r}")


def _planner(asked: Asked) -> tuple[Make, Sharpness]:
    deviate, concentration = quantile(asked["level"]), asked["concentration"]

    def make(n: int) -> TextMechanism:
        if asked["mechanism"] == "hashed":
            return Hashed.plan(n, asked["epsilon"], asked["candidates"], concentration=concentration)
        return Discovery.plan(n, asked["epsilon"], asked["length"])

    def sharpness(m: TextMechanism, n: int) -> float:
        return m.detectable(n) if isinstance(m, Discovery) else deviate * m.stderr(n, concentration)

    return make, sharpness


def _people(make: Make, sharpness: Sharpness, sharp: str, wanted: float) -> int:
    """The fewest people, or nearly, that give what is wanted. More people always give more."""
    most = make(MAX_PEOPLE)
    if sharpness(most, MAX_PEOPLE) > wanted:
        least = f"{MAX_PEOPLE:,} people give {sharpness(most, MAX_PEOPLE):.2g}"
        raise ParameterError(f"a {sharp} of {wanted:g} is out of reach: {least}")
    if isinstance(most, Discovery):
        return needed(most, wanted)
    low, high = 1, MAX_PEOPLE
    while high > PEOPLE_TOLERANCE * low + 1:
        middle = round((low * high) ** 0.5)
        low, high = (low, middle) if sharpness(make(middle), middle) <= wanted else (middle, high)
    return high


def _rows(make: Make, sharpness: Sharpness, n: int) -> list[list[str]]:
    rows = []
    for people in (n // 10, n, 10 * n):
        try:
            m = make(people)
        except ParameterError as error:
            rows.append([f"{people:,}", str(error).partition(":")[0], *[""] * 5])
            continue
        by = m.method if isinstance(m, Discovery) else m.base.name
        sizes = [f"{size:,}" for size in (m.buckets, m.cohorts, m.bits, m.cells)]
        rows.append([f"{people:,}", by, *sizes, f"{sharpness(m, people):.2g}"])
    return rows


def _caption(asked: Asked) -> str:
    if asked["mechanism"] == "hashed":
        return f"concentration = {asked['concentration']:g}: the sum of the squared shares, 1 at the worst"
    return "a text that is held by such a share is found more often than not"
