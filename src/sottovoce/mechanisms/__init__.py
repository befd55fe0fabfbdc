"""The mechanisms, one file each. A name is imported when it is first used, so that a device loads what it runs.

This file alone lists them, in the order in which they are shown. All else is declared by their classes:
see `sottovoce.mechanisms.base.Mechanism` for what, and `sottovoce.mechanisms.registry` for what follows from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import exports

if TYPE_CHECKING:
    from sottovoce.mechanisms.base import Mechanism as Mechanism
    from sottovoce.mechanisms.compound.key_value import KeyValue as KeyValue
    from sottovoce.mechanisms.compound.ranges import Ranges as Ranges
    from sottovoce.mechanisms.compound.sets import Sets as Sets
    from sottovoce.mechanisms.compound.several import Several as Several
    from sottovoce.mechanisms.frequency.choose import choose as choose
    from sottovoce.mechanisms.frequency.hadamard import Hadamard as Hadamard
    from sottovoce.mechanisms.frequency.krr import KRR as KRR
    from sottovoce.mechanisms.frequency.local_hash import LocalHash as LocalHash
    from sottovoce.mechanisms.frequency.projective import Projective as Projective
    from sottovoce.mechanisms.frequency.randomized_response import RandomizedResponse as RandomizedResponse
    from sottovoce.mechanisms.frequency.subset import Subset as Subset
    from sottovoce.mechanisms.frequency.unary import Unary as Unary
    from sottovoce.mechanisms.longitudinal.base import Longitudinal as Longitudinal
    from sottovoce.mechanisms.longitudinal.changes import Changes as Changes
    from sottovoce.mechanisms.longitudinal.dbitflip import DBitFlip as DBitFlip
    from sottovoce.mechanisms.longitudinal.memoized import Memoized as Memoized
    from sottovoce.mechanisms.numeric.mean import Mean as Mean
    from sottovoce.mechanisms.numeric.square_wave import SquareWave as SquareWave
    from sottovoce.mechanisms.registry import FREQUENCIES as FREQUENCIES
    from sottovoce.mechanisms.registry import REGISTRY as REGISTRY
    from sottovoce.mechanisms.registry import build as build
    from sottovoce.mechanisms.registry import mechanism as mechanism
    from sottovoce.mechanisms.text.bloom import Bloom as Bloom
    from sottovoce.mechanisms.text.discovery import Discovery as Discovery
    from sottovoce.mechanisms.text.hashed import Hashed as Hashed

MECHANISMS = {
    "RandomizedResponse": "frequency.randomized_response",
    "KRR": "frequency.krr",
    "Unary": "frequency.unary",
    "LocalHash": "frequency.local_hash",
    "Subset": "frequency.subset",
    "Hadamard": "frequency.hadamard",
    "Projective": "frequency.projective",
    "Sets": "compound.sets",
    "KeyValue": "compound.key_value",
    "Mean": "numeric.mean",
    "SquareWave": "numeric.square_wave",
    "Ranges": "compound.ranges",
    "Several": "compound.several",
    "Memoized": "longitudinal.memoized",
    "DBitFlip": "longitudinal.dbitflip",
    "Changes": "longitudinal.changes",
    "Hashed": "text.hashed",
    "Bloom": "text.bloom",
    "Discovery": "text.discovery",
}
"""The class of each mechanism, and its file. `sottovoce` exports them all."""

_HOMES = MECHANISMS | {
    "FREQUENCIES": "registry",
    "Longitudinal": "longitudinal.base",
    "Mechanism": "base",
    "REGISTRY": "registry",
    "build": "registry",
    "choose": "frequency.choose",
    "mechanism": "registry",
}

__getattr__ = exports(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(_HOMES)
