"""From the counted buckets of all groups to the frequencies of any texts.

A text of l bytes is told as a whole by every group whose span ends beyond its end mark, and those are the last ones. So
each text is estimated from the groups that it is told by: a short one from nearly all, a long one from the last few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sottovoce.estimate import HashedEstimate
from sottovoce.estimate.null_law import Laws
from sottovoce.hashing import Hashes
from sottovoce.lazy import numpy as np
from sottovoce.mechanisms.decoding import Sketch, by_mean, by_regression
from sottovoce.mechanisms.discovery import END, Discovery

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELLS = 2**15
"""The cells from which the law of the errors is taken, for each group that tests begin with: there are many groups."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Per cohort of all groups, the number of reports and how many of them support each bucket."""

    mechanism: Discovery
    sizes: NDArray[np.int64]
    support: NDArray[np.int64]
    simulated: bool

    @cached_property
    def n(self) -> int:
        return int(self.sizes.sum())

    def sketch(self, first: int, last: int | None = None) -> Sketch:
        """The groups from the first up to the last, which is not in it."""
        m = self.mechanism
        start, stop = first * m.share, (len(m.spans) if last is None else last) * m.share
        hashes = Hashes(m.salt, m.buckets, stop - start, first=start)
        return Sketch(hashes, self.sizes[start:stop], self.support[start:stop], float(m.p), float(m.q))

    def whole(self, rows: list[bytes]) -> NDArray[np.int64]:
        """The fingerprints of texts that are told as a whole."""
        m = self.mechanism
        return m.hashing.fingerprints([label + data + END for label, data in zip(m.labels(rows), rows, strict=True)])

    def estimate(self, labels: list[str | None], method: str, firsts: Sequence[int] | None = None) -> HashedEstimate:
        """The frequencies of texts, each from a first group on, by default all that tell it as a whole."""
        m, rows = self.mechanism, [(label or "").encode() for label in labels]
        if method == "regression":
            return self._together(labels, self.whole(rows))
        groups = np.array([m.tested(len(data)) for data in rows] if firsts is None else firsts, dtype=np.int64)
        return self._each(labels, self.whole(rows), groups)

    def _each(self, labels: list[str | None], codes: NDArray[np.int64], groups: NDArray[np.int64]) -> HashedEstimate:
        """The respondents of some groups are a sample of all, which adds to the error about all of them."""
        frequency, constant, slope = np.zeros(codes.size), np.zeros(codes.size), np.zeros(codes.size)
        starts, which = np.unique(groups, return_inverse=True)
        laws: list[Any] = []
        for at, start in enumerate(starts.tolist()):
            own, sketch = np.flatnonzero(which == at), self.sketch(start)
            part = by_mean(sketch, [labels[place] for place in own.tolist()], codes[own], self.mechanism.epsilon, False)
            frequency[own], constant[own] = part.frequency, part.constant
            slope[own] = part.slope + (1 / sketch.n - 1 / self.n)
            law_of: Any = part.law
            laws.append(replace(law_of, most=CELLS))
        law, epsilon = Laws(tuple(laws), which), self.mechanism.epsilon
        return HashedEstimate(labels, frequency, constant, slope, self.n, epsilon, len(labels), self.simulated, law)

    def _together(self, labels: list[str | None], codes: NDArray[np.int64]) -> HashedEstimate:
        sketch = self.sketch(self.mechanism.tested(self.mechanism.domain.max_bytes))
        part = by_regression(sketch, labels, codes, self.mechanism.epsilon, self.simulated)
        share, apart = part.frequency.clip(0, 1), 1 / sketch.n - 1 / self.n
        assert part.covariance is not None  # noqa: S101
        covariance = part.covariance + apart * (np.diag(share) - np.outer(share, share))
        return replace(part, n=self.n, covariance=covariance, constant=np.diag(covariance).clip(np.finfo(float).tiny))
