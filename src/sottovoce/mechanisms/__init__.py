"""The mechanisms, one file each, and the way back from JSON to a mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sottovoce.domain import Domain
from sottovoce.errors import ParameterError, SottovoceError
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.bloom import Bloom
from sottovoce.mechanisms.changes import Changes
from sottovoce.mechanisms.choose import choose
from sottovoce.mechanisms.dbitflip import DBitFlip
from sottovoce.mechanisms.discovery import Discovery
from sottovoce.mechanisms.hadamard import Hadamard
from sottovoce.mechanisms.hashed import Hashed
from sottovoce.mechanisms.key_value import KeyValue
from sottovoce.mechanisms.krr import KRR
from sottovoce.mechanisms.local_hash import LocalHash
from sottovoce.mechanisms.longitudinal import Longitudinal
from sottovoce.mechanisms.mean import Mean
from sottovoce.mechanisms.memoized import Memoized
from sottovoce.mechanisms.projective import Projective
from sottovoce.mechanisms.pure import Pure
from sottovoce.mechanisms.randomized_response import RandomizedResponse
from sottovoce.mechanisms.ranges import Ranges
from sottovoce.mechanisms.sets import Sets
from sottovoce.mechanisms.several import Several
from sottovoce.mechanisms.square_wave import SquareWave
from sottovoce.mechanisms.subset import Subset
from sottovoce.mechanisms.unary import Unary

__all__ = [
    "FREQUENCIES",
    "KRR",
    "REGISTRY",
    "Bloom",
    "Changes",
    "DBitFlip",
    "Discovery",
    "Hadamard",
    "Hashed",
    "KeyValue",
    "LocalHash",
    "Longitudinal",
    "Mean",
    "Mechanism",
    "Memoized",
    "Projective",
    "RandomizedResponse",
    "Ranges",
    "Sets",
    "Several",
    "SquareWave",
    "Subset",
    "Unary",
    "build",
    "choose",
    "mechanism",
]

KINDS: tuple[type[Mechanism], ...] = (
    RandomizedResponse,
    KRR,
    Unary,
    LocalHash,
    Subset,
    Hadamard,
    Projective,
    Sets,
    KeyValue,
    Mean,
    SquareWave,
    Ranges,
    Several,
    Memoized,
    DBitFlip,
    Changes,
    Hashed,
    Bloom,
    Discovery,
)
REGISTRY: dict[str, type[Mechanism]] = {kind.name: kind for kind in KINDS}


FREQUENCIES = {n: kind for n, kind in REGISTRY.items() if issubclass(kind, Pure) and not issubclass(kind, Longitudinal)}


def build(name: str, domain: Domain, epsilon: float, max_bits: int | None = None) -> Pure:
    """A frequency mechanism by its name, in its optimal kind; "auto" leaves the choice to `choose`."""
    if name == "auto":
        return choose(domain, epsilon, max_bits=max_bits)
    if name not in FREQUENCIES:
        raise ParameterError(f"a mechanism must be auto or one of {', '.join(FREQUENCIES)}, got {name!r}")
    make: Any = FREQUENCIES[name]
    built: Pure = make(domain=domain, epsilon=epsilon)
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
    try:
        return REGISTRY[name].from_dict(dict(data))
    except SottovoceError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:  # JSON of another shape.
        raise ParameterError(f"{name} cannot be read: {type(error).__name__}: {error!s:.80}") from None
