"""The local model: nobody is trusted, and each answer is randomized before it leaves its owner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain
from sottovoce.mechanisms import build
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.trust.base import Release, TrustModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.core.randomness import Keystream

ANSWERS_AT_A_TIME = 2**20
"""Answers handled at a time."""


@dataclass(frozen=True)
class Local(TrustModel):
    """Every answer goes through a frequency mechanism: the one of least variance, or another by its name.

    >>> from sottovoce.core.domain import Domain
    >>> round(Local().stderr(Domain(10), 1.0, n=10_000), 4)
    0.0171
    """

    mechanism: str = "auto"
    trusts: ClassVar[str] = "nobody"

    @property
    def name(self) -> str:
        return "local" if self.mechanism == "auto" else f"local {self.mechanism}"

    def release(
        self, domain: Domain, epsilon: float, codes: NDArray[np.integer], stream: Keystream, level: float = 0.95
    ) -> Release:
        m = _mechanism(self.mechanism, domain.size, epsilon)
        tally = m.tally()
        for at in range(0, codes.size, ANSWERS_AT_A_TIME):
            tally.add_many(m.randomize_many(codes[at : at + ANSWERS_AT_A_TIME], seed=stream))
        estimate = tally.estimate()
        return Release(estimate.unbiased, estimate.interval(level), m.epsilon, repr(m))

    def stderr(self, domain: Domain, epsilon: float, n: int) -> float:
        return math.sqrt(_mechanism(self.mechanism, domain.size, epsilon).variance / n)


@lru_cache(maxsize=32)
def _mechanism(name: str, size: int, epsilon: float) -> Pure:
    """The mechanism over codes: labels do not matter here."""
    return build(name, Domain(size), epsilon)
