"""The mechanisms, one file each, and the way back from JSON to a mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sottovoce.domain import Domain
from sottovoce.errors import ParameterError
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.choose import choose
from sottovoce.mechanisms.krr import KRR
from sottovoce.mechanisms.local_hash import LocalHash
from sottovoce.mechanisms.randomized_response import RandomizedResponse
from sottovoce.mechanisms.unary import Unary

__all__ = ["KRR", "REGISTRY", "LocalHash", "Mechanism", "RandomizedResponse", "Unary", "build", "choose", "mechanism"]

REGISTRY: dict[str, type[Mechanism]] = {m.name: m for m in (RandomizedResponse, KRR, Unary, LocalHash)}


def build(name: str, domain: Domain, epsilon: float, max_bits: int | None = None) -> Mechanism:
    """A mechanism by its name, in its optimal kind; "auto" leaves the choice to `choose`."""
    if name == "auto":
        return choose(domain, epsilon, max_bits=max_bits)
    if name not in REGISTRY:
        raise ParameterError(f"a mechanism must be auto or one of {', '.join(REGISTRY)}, got {name!r}")
    make: Any = REGISTRY[name]
    built: Mechanism = make(domain=domain, epsilon=epsilon)
    if max_bits is not None and built.bits > max_bits:
        raise ParameterError(
            f"{name} takes {built.bits} bits for {domain.size} values, more than max_bits = {max_bits}"
        )
    return built


def mechanism(data: Mapping[str, Any]) -> Mechanism:
    """The mechanism that `to_dict` wrote down. What does not add up is refused.

    >>> m = KRR(["a", "b", "c"], epsilon=1.0)
    >>> mechanism(m.to_dict()) == m
    True
    """
    name = data.get("mechanism") if isinstance(data, Mapping) else data
    if not isinstance(name, str) or name not in REGISTRY:
        raise ParameterError(f"a mechanism must be one of {', '.join(REGISTRY)}, got {name!r:.80}")
    return REGISTRY[name].from_dict(dict(data))
