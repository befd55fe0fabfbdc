"""The local model: nobody is trusted, and each answer is randomized before it leaves its owner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from sottovoce.domain import Domain
from sottovoce.mechanisms import build
from sottovoce.mechanisms.pure import Pure
from sottovoce.models.base import Release, TrustModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.randomness import Keystream

ROWS = 2**20
"""Answers handled at a time."""


@dataclass(frozen=True)
class Local(TrustModel):
    """Every answer goes through a frequency mechanism: the one of least variance, or another by its name.

    >>> from sottovoce.domain import Domain
    >>> round(Local().stderr(10_000, Domain(10), epsilon=1.0), 4)
    0.0171
    """

    mechanism: str = "auto"
    trusts: ClassVar[str] = "nobody"

    @property
    def name(self) -> str:
        return "local" if self.mechanism == "auto" else f"local {self.mechanism}"

    def release(
        self, codes: NDArray[np.integer], domain: Domain, epsilon: float, stream: Keystream, level: float = 0.95
    ) -> Release:
        m = _mechanism(self.mechanism, domain.size, epsilon)
        tally = m.tally()
        for at in range(0, codes.size, ROWS):
            tally.add_many(m.randomize_many(codes[at : at + ROWS], seed=stream))
        estimate = tally.estimate()
        return Release(estimate.unbiased, *estimate.interval(level), m.epsilon, repr(m))

    def stderr(self, n: int, domain: Domain, epsilon: float) -> float:
        return math.sqrt(_mechanism(self.mechanism, domain.size, epsilon).variance / n)


@lru_cache(maxsize=32)
def _mechanism(name: str, size: int, epsilon: float) -> Pure:
    """The mechanism over codes: labels do not matter here."""
    return build(name, Domain(size), epsilon)
