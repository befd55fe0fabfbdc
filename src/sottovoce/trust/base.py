"""What a trust model is, to be compared with others: a way to release a histogram, and the error to expect of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.core.domain import Domain
    from sottovoce.core.randomness import Keystream
    from sottovoce.estimates.interval import Interval


@dataclass(frozen=True, eq=False)
class Release:
    """A histogram as one trust model gives it out, with an interval about the respondents for each value."""

    frequency: NDArray[np.float64]
    interval: Interval[NDArray[np.float64]]
    epsilon: float
    by: str


class TrustModel(ABC):
    """Whom the respondents trust, and what is published then. Subclasses are frozen dataclasses.

    Everywhere the neighbours of a set of answers are those in which one person gives another answer, so that an epsilon
    means the same thing in each model.
    """

    trusts: ClassVar[str]

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in a table."""

    @abstractmethod
    def release(
        self, domain: Domain, epsilon: float, codes: NDArray[np.integer], stream: Keystream, level: float = 0.95
    ) -> Release:
        """The histogram of a column of codes, with fresh noise from the stream."""

    @abstractmethod
    def stderr(self, domain: Domain, epsilon: float, n: int) -> float:
        """The root mean squared error of a frequency, averaged over the domain, by its closed form."""
