"""Cohorts whose buckets go through one frequency mechanism: what `Hashed` and `Discovery` have in common."""

from __future__ import annotations

from typing import ClassVar

from sottovoce.core.privacy import Probability
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.text.cohorts import Cohorts


class BucketMechanism(Cohorts):
    """One hash function for a cohort, and a base mechanism over the buckets, whose probabilities it has."""

    hashes: ClassVar[int] = 1
    base: Pure

    @property
    def p(self) -> Probability:
        return self.base.p

    @property
    def q(self) -> Probability:
        return self.base.q

    @property
    def buckets(self) -> int:
        return self.base.domain.size

    @property
    def epsilon(self) -> float:
        return self.base.epsilon

    @property
    def _inner(self) -> Pure:
        return self.base
