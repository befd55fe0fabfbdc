"""Survey designs for sensitive questions: exact privacy, estimates with honest errors, and plain words.

>>> from sottovoce.statistics import designs
>>> e = designs.Warner(0.7).estimate(["yes"] * 44 + ["no"] * 56)
>>> round(e.frequency, 2), round(e.stderr, 2)
(0.35, 0.12)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.statistics.designs.base import Design
from sottovoce.statistics.designs.binary import Binary, Forced, Mangat, Unrelated, Warner
from sottovoce.statistics.designs.crosswise import Crosswise, Triangular
from sottovoce.statistics.designs.custom import Custom
from sottovoce.statistics.designs.greenberg import Greenberg
from sottovoce.statistics.designs.kuk import Kuk

__all__ = [
    "DESIGNS",
    "Binary",
    "Crosswise",
    "Custom",
    "Design",
    "Forced",
    "Greenberg",
    "Kuk",
    "Mangat",
    "Triangular",
    "Unrelated",
    "Warner",
    "design",
    "parse",
]

KINDS: tuple[type[Design], ...] = (
    Warner,
    Forced,
    Unrelated,
    Greenberg,
    Kuk,
    Crosswise,
    Triangular,
    Mangat,
    Custom,
)
DESIGNS: dict[str, type[Design]] = {kind.name: kind for kind in KINDS}


def design(data: JsonObject) -> Design:
    """The design that `to_dict` wrote down. What does not add up is refused.

    >>> design(Warner("2/3").to_dict())
    Warner('2/3')
    """
    kind = _kind(data.get("design") if isinstance(data, Mapping) else None)
    parameters = {name: value for name, value in data.items() if name not in ("design", "epsilon")}
    built = _build(kind, [], parameters)
    if data.get("epsilon") != built.to_dict()["epsilon"]:
        cost = built.to_dict()["epsilon"]
        raise ParameterError(f"epsilon must be what the design costs, {cost!r}, got {data.get('epsilon')!r:.40}")
    return built


def parse(text: str) -> Design:
    """A design from its name and parameters in one line, as on the command line.

    >>> parse("forced:4/6,1/6,1/6"), parse("kuk:0.8,0.2,draws=3"), parse("custom:0.9,0.1;0.2,0.8")
    (Forced('2/3', '1/6', '1/6'), Kuk('4/5', '1/5', 3), Custom(2 truths, 2 answers))
    """
    name, _, rest = str(text).partition(":")
    kind = _kind(name.strip().lower())
    if kind is Custom:
        return Custom([row.split(",") for row in rest.split(";")])
    parts = [part.strip() for part in rest.split(",")] if rest.strip() else []
    pairs = [part.split("=", 1) for part in parts if "=" in part]
    named = {name.strip(): value for name, value in pairs}
    if len(named) < len(pairs):
        raise ParameterError(f"{kind.name} must have each parameter once, got {rest.strip()!r:.60}")
    if kind is Warner and set(named) == {"epsilon"} and len(parts) == 1:
        return _from_epsilon(named["epsilon"])
    return _build(kind, [part for part in parts if "=" not in part], named)


def _from_epsilon(text: str) -> Warner:
    try:
        epsilon = float(text)
    except ValueError:
        raise ParameterError(f"epsilon must be a number, got {text!r:.40}") from None
    return Warner.from_epsilon(epsilon)


def _kind(name: object) -> type[Design]:
    if not isinstance(name, str) or name not in DESIGNS:
        raise ParameterError(f"a design must be one of {', '.join(DESIGNS)}, got {name!r:.60}")
    return DESIGNS[name]


def _build(kind: Any, given: list[str], named: Mapping[str, object]) -> Design:
    try:
        built: Design = kind(*given, **named)
    except SottovoceError:
        raise
    except TypeError:
        wanted = [field.name for field in fields(kind) if field.name != "by"]
        got = [*map(str, given), *(f"{name}={value}" for name, value in named.items())]
        raise ParameterError(
            f"{kind.name} must have the parameters {', '.join(wanted)}, got {', '.join(got) or 'none':.60}"
        ) from None
    return built
