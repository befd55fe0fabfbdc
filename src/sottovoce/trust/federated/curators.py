"""The federated models: each curator holds the raw answers of its own people, and none those of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import Keystream
from sottovoce.estimates.interval import Interval
from sottovoce.trust.base import Release, TrustModel
from sottovoce.trust.central import Central, _sensitivity
from sottovoce.trust.federated.divisible import DivisibleLaplace
from sottovoce.trust.federated.law import NoiseLaw
from sottovoce.trust.federated.parties import Parties, secure_sum
from sottovoce.trust.federated.queries import Query, QueryRow
from sottovoce.trust.synthetic import MAX_PEOPLE, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain import Domain
    from sottovoce.core.domain.columns import Column


@dataclass(frozen=True)
class Federated(TrustModel):
    """Each of `curators` publishes its people's counts with noise of its own, and the analyst adds them up.

    One curator is the central model; as many as people is a local one, in which everybody adds noise to their own
    answer. The error of a count grows like the square root of their number.

    >>> from sottovoce.core.domain import Domain
    >>> [round(Federated(k).stderr(Domain(10), 1.0, 10_000) * 10_000, 1) for k in (1, 100, 10_000)]
    [2.8, 28.0, 279.9]
    """

    curators: int = 10
    engine: str | None = None
    trusts: ClassVar[str] = "one's own curator"

    def __post_init__(self) -> None:
        check_whole("the number of curators", self.curators, MAX_PEOPLE)
        Central(self.engine)  # It knows the engines.

    @property
    def name(self) -> str:
        return f"federated {self.curators:,}" + ("" if self.engine is None else f" {self.engine}")

    def release(
        self, domain: Domain, epsilon: float, codes: NDArray[np.integer], stream: Keystream, level: float = 0.95
    ) -> Release:
        noise = Central(self.engine)._noise(domain, epsilon, stream.simulated)
        counts = _counts(codes, domain, self.curators)
        noisy = np.array(noise.release(counts.ravel(), stream)).reshape(counts.shape)
        each = f"discrete Laplace noise by {noise.by}, sensitivity {noise.sensitivity}"
        reach = NoiseLaw(Fraction(noise.ratio), Fraction(self.curators)).reach(level)
        by = f"{self.curators:,} curators, each with {each}"
        return _release(noisy.sum(axis=0), codes.size, reach, level, noise.epsilon, by)

    def stderr(self, domain: Domain, epsilon: float, n: int) -> float:
        return DivisibleLaplace(epsilon, _sensitivity(domain)).law(self.curators).stderr / n


@dataclass(frozen=True)
class SecureSum(TrustModel):
    """The curators add up their counts under secret sharing, with shares of noise inside: the error stays as k grows.

    >>> from sottovoce.core.domain import Domain
    >>> [round(SecureSum(Parties(k)).stderr(Domain(10), 1.0, 10_000) * 10_000, 1) for k in (4, 40, 400)]
    [4.0, 4.7, 4.8]
    """

    parties: Parties = field(default_factory=lambda: Parties(10))
    trusts: ClassVar[str] = "one's own curator, and the others not to collude beyond a threshold"

    @property
    def name(self) -> str:
        return f"secure sum {self.parties.curators:,}"

    def release(
        self, domain: Domain, epsilon: float, codes: NDArray[np.integer], stream: Keystream, level: float = 0.95
    ) -> Release:
        noise = self._noise(domain, epsilon)
        total = secure_sum(_counts(codes, domain, self.parties.curators), self.parties, noise, stream)
        reach = noise.law(self.parties.curators).reach(level)
        p = self.parties
        by = f"{p.curators:,} curators, {p.threshold:,} may collude, {p.dropouts:,} drop out; {p.noise} noise"
        return _release(total, codes.size, reach, level, noise.epsilon, by)

    def stderr(self, domain: Domain, epsilon: float, n: int) -> float:
        return self._noise(domain, epsilon).law(self.parties.curators).stderr / n

    def _noise(self, domain: Domain, epsilon: float) -> DivisibleLaplace:
        return self.parties.shares(epsilon, _sensitivity(domain))


def add_noisy(
    query: Query, people: Sequence[Column], epsilon: float, seed: int | None = None, level: float = 0.95
) -> list[QueryRow]:
    """A histogram, or a sum and a mean, when each curator publishes those of its people with noise of its own.

    >>> from sottovoce.trust.federated import Average
    >>> ages = [[30, 41, None, 52], [63, 28, 35], [47, 51, 90]]
    >>> [row.label for row in add_noisy(Average(0, 100), ages, epsilon=1.0, seed=1)]
    ['people', 'sum', 'mean']
    """
    if not people:
        raise ParameterError("there must be at least one curator")
    noise, stream = DivisibleLaplace(epsilon, query.sensitivity), Keystream(seed)
    total = sum(query.column(answers) + noise.draw(query.size, stream) for answers in people)
    return query.rows(np.asarray(total), noise.law(len(people)), level)


def _counts(codes: NDArray[np.integer], domain: Domain, curators: int) -> NDArray[np.int64]:
    """One row of counts for each curator. People are dealt out to the curators in turn.

    With two values a row has one count, that of the second: the number of people tells the other.
    """
    if curators > codes.size:
        raise ParameterError(f"there must be somebody for each of {curators:,} curators, got {codes.size:,} people")
    place = np.arange(codes.size, dtype=np.int64) % curators * domain.size + codes
    rows = np.bincount(place, minlength=curators * domain.size).reshape(curators, domain.size)
    return rows[:, 1:] if _sensitivity(domain) == 1 else rows


def _release(total: NDArray[np.int64], n: int, reach: int, level: float, epsilon: float, by: str) -> Release:
    frequency = (np.concatenate([[n - total[0]], total]) if total.size == 1 else total) / n
    return Release(frequency, Interval(frequency - reach / n, frequency + reach / n, level), epsilon, by)
