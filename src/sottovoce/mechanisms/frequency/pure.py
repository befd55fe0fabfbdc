from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.domain import Domain
from sottovoce.core.privacy import Probability
from sottovoce.core.reports import Report
from sottovoce.mechanisms.base import Mechanism

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.estimates import Estimate, Result
    from sottovoce.estimates.tally import Tally


class Pure(Mechanism):
    """A frequency mechanism of the one shape that nearly all of them have.

    A report supports a set of values: the true value with probability p, any other with probability q. From p and q
    alone follow the unbiased estimate, its variance, the intervals and the choice among mechanisms.
    """

    domain: Domain

    if TYPE_CHECKING:  # Some subclasses store these, others derive them.

        @property
        def p(self) -> Probability:
            """The probability that a report supports the true value."""

        @property
        def q(self) -> Probability:
            """The probability that a report supports any one other value."""

        def tally(self) -> Tally[Estimate]: ...

    @cached_property
    def variance(self) -> float:
        """The mean squared error of a frequency, averaged over the domain, times the number of reports.

        It does not depend on the true frequencies, since those add up to one.
        """
        p, q, D = self.p, self.q, self.domain.size
        return float((q * (1 - q) + (p * (1 - p) - q * (1 - q)) / D) / (p - q) ** 2)

    @abstractmethod
    def supports(self, report: Report) -> Iterable[int]:
        """The codes of the values that a report speaks for."""

    def is_supported(self, code: int, report: Report) -> bool:
        """Whether a report speaks for one value. Some mechanisms need not list all values for that."""
        return code in self.supports(report)

    @abstractmethod
    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each value, how many of the counted reports support it."""

    def _support_many(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for many tallies, a row of cells each."""
        from sottovoce.core.lazy import numpy as np

        return np.array([self._support(row) for row in rows])

    def _estimate(self, tally: Tally[Result]) -> Estimate:
        from sottovoce.estimates import Estimate

        support = self._support(tally.cells)
        return Estimate(self.domain, tally.n, support, self.p, self.q, self.epsilon, tally.simulated)
