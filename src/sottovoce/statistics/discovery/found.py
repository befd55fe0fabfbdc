"""What was found: texts with their frequencies, and the share of people whose text was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates import HashedEstimate
from sottovoce.estimates.hashed import Unallocated
from sottovoce.estimates.render import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

CAUTION_STDERRS = 2.0
"""Standard errors that are taken off a frequency before it is compared with others."""


@dataclass(frozen=True, eq=False)
class Found(HashedEstimate):
    """The texts that were found, most frequent first, with their frequencies and errors. Made by `discover`.

    `candidates` is how many texts were tested. Simultaneous intervals hold for all of them. `tested` has the estimates
    of them all, found or not. `level` is the probability that all texts found are held by somebody; with the correction
    "bh", the share of them that is, in expectation.
    """

    thing: ClassVar[str] = "found value"
    tested: HashedEstimate | None = None
    level: float = 0.95
    correction: str = "bonferroni"
    detectable: float = 0.0
    """The share of people from which a text is found more often than not."""
    meeting: float = 0.0
    """How often two texts meet in a bucket, over the cohorts that tell all texts as a whole."""

    def guesses(self, k: int) -> HashedEstimate:
        """The best guesses at the k most frequent texts, most frequent first, whether they passed the test or not.

        Of many that are tested, some that nobody holds have a high frequency by chance, long ones above all, whose
        errors are large. So texts are chosen by their frequency less two standard errors.
        """
        tested = self._ranked(k)
        return tested._take(np.argsort(CAUTION_STDERRS * tested.stderr - tested.frequency, kind="stable")[:k]).sort()

    def surely(self, k: int, level: float = 0.95) -> HashedEstimate:
        """The texts that are among the k most frequent of all that were tested, with no error among them at the level.

        They lie, with their error, above all others but k - 1. There may be far fewer than k, since neighbours in rank
        are often as frequent as one another. For one to be wrong, its own interval must lie too high, one of all that
        were tested; or that of one of the k that are the most frequent in truth must lie too low.
        """
        tested = self._ranked(k)
        low, high = tested._interval(level, tested.candidates).low, tested._interval(level, k).high
        bar = np.sort(high)[-k - 1] if len(tested) > k else 0.0
        return tested._take(np.flatnonzero(low > max(bar, 0.0))).sort()

    def _ranked(self, k: object) -> HashedEstimate:
        """All that was tested, of which the first k places are asked for."""
        if type(k) is not int or k < 1:
            raise ParameterError(f"k must be a whole number, at least 1, got {k!r:.40}")
        return self if self.tested is None else self.tested

    @cached_property
    def not_found(self) -> Unallocated:
        """The share of people whose text is none of those found."""
        share, bias = self.frequency.clip(0, 1), self._selection_bias
        met = self.meeting * float(share.sum() ** 2 - (share**2).sum())  # Two that meet are both too frequent.
        spread = float((self.stderr**2).sum() + (bias**2).sum())
        return Unallocated(float(1 - self.frequency.sum() + bias.sum()), (spread + met) ** 0.5)

    @cached_property
    def _selection_bias(self) -> NDArray[np.float64]:
        """Texts are shown if they pass a threshold, so their frequencies are too high: in sum by the sum of these.

        An estimate of error s around f passes the threshold t with the bias s phi((t - f) / s). Over all texts, that is
        s times the density, per s, of the estimates at t: a density is such a sum too. It is told by the estimates that
        lie up to two errors above t, along a straight line: each stands for 2 - 1.5 x of it, x errors above.
        """
        limit = max((1 - self.level) / max(self.candidates, 1), float(self.p_value.max(initial=0.0)))
        error = np.sqrt(self.constant if self.null is None else self.null)
        above = (self.frequency - error * self.law.point(-float(scipy.special.ndtri(limit)))) / self.stderr
        bias: NDArray[np.float64] = self.stderr * np.where(above < 2, 2 - 1.5 * above, 0.0)
        return bias

    @property
    def unallocated(self) -> Unallocated:
        return self.not_found

    @property
    def caption(self) -> str:
        left, shown = self.not_found, f"{len(self):,} of {self.candidates:,} tested"
        return f"found {shown}; not found: {left.frequency:.4f} +- {left.stderr:.4f}; {super().caption}"

    def plot(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False, ax: Axes | None = None
    ) -> Axes:
        """A dot and its interval for each value. What was not found is in the title, which takes two lines."""
        drawn = super().plot(level, simultaneous, population, ax)
        title = drawn.get_title(loc="left").replace("; n = ", "\nn = ", 1)
        drawn.set_title(title, loc="left", color=INK, fontsize="medium")
        return drawn

    def to_dict(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> JsonObject:
        """As other estimates, with what was not found beside it."""
        share, error = self.not_found
        if population:
            held = min(max(share, 0.0), 1.0)
            error = (error**2 + held * (1 - held) / self.n) ** 0.5
        low, high = (share + sign * _deviate(level) * error for sign in (-1, 1))
        return super().to_dict(level, simultaneous, population) | {
            "found": len(self),
            "tested": self.candidates,
            "error_rate": round(1 - self.level, 12),
            "correction": self.correction,
            "detectable": self.detectable,
            "not_found": {"frequency": share, "stderr": error, "low": low, "high": high},
        }

    @classmethod
    def of(
        cls, tested: HashedEstimate, level: float, correction: str, *, detectable: float = 0.0, meeting: float = 0.0
    ) -> Found:
        """Those of the tested texts that pass."""
        passed = tested.significant(level, correction) if len(tested) else tested
        values = {each.name: getattr(passed, each.name) for each in fields(HashedEstimate)}
        return cls(**values, tested=tested, level=level, correction=correction, detectable=detectable, meeting=meeting)

    def __repr__(self) -> str:
        return f"<Found: {len(self)} values; {self.caption}>"


def nothing(n: int, epsilon: float, simulated: bool) -> HashedEstimate:
    """The estimate of no text at all."""
    none = np.zeros(0)
    labels: Sequence[str | None] = []
    return HashedEstimate(labels, none, none, 0.0, n, epsilon, 0, simulated)


def _deviate(level: float) -> float:
    from sottovoce.estimates import quantile

    return quantile(level)
