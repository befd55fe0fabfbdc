"""The central model: a trusted curator sees every answer and adds noise once, to the result."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.interval import Interval
from sottovoce.trust.base import Release, TrustModel
from sottovoce.trust.noise import DiscreteLaplace, Noise, OpenDPLaplace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain import Domain
    from sottovoce.core.randomness import Keystream

ENGINES: dict[str, Callable[[float, int], Noise]] = {"opendp": OpenDPLaplace, "sottovoce": DiscreteLaplace}


@dataclass(frozen=True)
class Central(TrustModel):
    """A curator counts, and adds two-sided geometric noise to each count.

    A changed answer takes one from a count and adds one to another: the counts have sensitivity 2. Of two values one
    count tells both, and has sensitivity 1. The noise comes from the `engine` named. With none named it is OpenDP where
    that is installed; a seeded simulation, which OpenDP cannot be, takes sottovoce's own.

    >>> from sottovoce.core.domain import Domain
    >>> round(Central().stderr(Domain(10), 1.0, n=10_000), 5)
    0.00028
    """

    engine: str | None = None
    trusts: ClassVar[str] = "a curator"

    def __post_init__(self) -> None:
        if self.engine is not None and self.engine not in ENGINES:
            raise ParameterError(f"engine must be one of {', '.join(ENGINES)}, got {self.engine!r}")

    @property
    def name(self) -> str:
        return "central" if self.engine is None else f"central {self.engine}"

    def release(
        self, domain: Domain, epsilon: float, codes: NDArray[np.integer], stream: Keystream, level: float = 0.95
    ) -> Release:
        noise = self._noise(domain, epsilon, stream.simulated)
        counts = np.bincount(codes, minlength=domain.size)
        noisy = _noisy(noise, counts, stream)
        frequency, reach = noisy / codes.size, noise.reach(level) / codes.size
        by = f"discrete Laplace noise by {noise.by}, sensitivity {noise.sensitivity}"
        return Release(frequency, Interval(frequency - reach, frequency + reach, level), noise.epsilon, by)

    def stderr(self, domain: Domain, epsilon: float, n: int) -> float:
        return DiscreteLaplace(epsilon, _sensitivity(domain)).stderr / n

    def _noise(self, domain: Domain, epsilon: float, simulated: bool) -> Noise:
        ours = simulated or importlib.util.find_spec("opendp") is None
        return ENGINES[self.engine or ("sottovoce" if ours else "opendp")](epsilon, _sensitivity(domain))


def _sensitivity(domain: Domain) -> int:
    return 1 if domain.size == 2 else 2


def _noisy(noise: Noise, counts: NDArray[np.int64], stream: Keystream) -> NDArray[np.int64]:
    """Counts with noise. Of two counts only the second gets noise; the first is the total less the second."""
    released = counts[1:] if noise.sensitivity == 1 else counts
    noisy = np.array(noise.release(released, stream), dtype=np.int64)
    return np.concatenate([[counts.sum() - noisy[0]], noisy]) if noise.sensitivity == 1 else noisy
