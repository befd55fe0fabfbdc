"""From the counted buckets of all groups to the frequencies of any texts.

A text of l bytes is told as a whole by every group whose span ends beyond its end mark, and those are the last ones. So
each text is estimated from the groups that it is told by: a short one from nearly all, a long one from the last few.

The groups may be those of several rounds. Each round has a salt of its own, so that texts that meet in one do not meet
in the next, and its own respondents; its groups take their places among all others, in the order of their spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any

from sottovoce.core.domain.text import END_MARK
from sottovoce.core.errors import ParameterError
from sottovoce.core.hashing import Hashes, Joined
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates import HashedEstimate
from sottovoce.estimates.decoding import Sketch, by_mean, by_regression, row_variances
from sottovoce.estimates.null_distribution import NullDistribution, NullDistributions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import Result
    from sottovoce.estimates.tally import Tally
    from sottovoce.mechanisms.text.discovery import Discovery

REPORTS_PER_GROUP = 20
"""Each group should have at least so many reports: with fewer, the stated errors do not hold."""


def first_whole_span(spans: Sequence[tuple[int, int]], length: int) -> int:
    """The first of the last spans, all of which tell a text of so many bytes as a whole."""
    group = len(spans)
    while group and spans[group - 1][0] == 0 and spans[group - 1][1] > length:
        group -= 1
    return group


@dataclass(frozen=True, eq=False)
class GroupSketch:
    """Per cohort of one group, the number of reports and how many of them support each bucket."""

    span: tuple[int, int]
    hashes: Hashes
    sizes: NDArray[np.int64]
    support: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Counted:
    """The groups of all rounds, in the order of their spans. The mechanism is that of one of the rounds."""

    mechanism: Discovery
    groups: tuple[GroupSketch, ...]
    simulated: bool

    @cached_property
    def n(self) -> int:
        return int(self._sizes.sum())

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        return tuple(group.span for group in self.groups)

    def tested(self, length: int) -> int:
        """The first of the last groups, all of which tell a text of so many bytes as a whole."""
        return first_whole_span(self.spans, length)

    @cached_property
    def whole(self) -> int:
        """The first of the groups that tell every text as a whole."""
        return self.tested(self.mechanism.domain.max_bytes)

    def levels(self) -> Iterator[tuple[int, slice]]:
        """The ends of the spans that do not tell every text as a whole, and the groups of each."""
        for (_, stop), own in groupby(range(self.whole), key=self.spans.__getitem__):
            groups = list(own)
            yield stop, slice(groups[0], groups[-1] + 1)

    @cached_property
    def shares(self) -> list[float]:
        """The share of people in each of these levels."""
        return [self.sketch(groups).n / max(self.n, 1) for _, groups in self.levels()]

    def sketch(self, groups: slice) -> Sketch:
        """Some neighbouring groups."""
        hashes, m = _join([group.hashes for group in self.groups[groups]]), self.mechanism
        first, last, _ = groups.indices(len(self.groups))
        rows = slice(self._starts[first], self._starts[last])
        return Sketch(
            hashes, self._sizes[rows], self._support[rows], float(m.p), float(m.q), variances=self._variances[rows]
        )

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(group.sizes.size for group in self.groups)]

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return np.concatenate([group.sizes for group in self.groups])

    @cached_property
    def _support(self) -> NDArray[np.int64]:
        return np.concatenate([group.support for group in self.groups])

    @cached_property
    def _variances(self) -> NDArray[np.float64]:
        """Of the support within each cohort: groups are put together in many ways."""
        return row_variances(self._support)

    def told(self, rows: list[bytes]) -> list[bytes]:
        """What the last groups report of whole texts: the tag if there is one, the bytes, and the end mark."""
        labels = self.mechanism.labels(rows)
        return [label + data + END_MARK for label, data in zip(labels, rows, strict=True)]

    def estimate(
        self, labels: Sequence[str | None], method: str, firsts: Sequence[int] | None = None
    ) -> HashedEstimate:
        """The frequencies of texts, each from a first group on, by default all that tell it as a whole."""
        if not self._sizes[self._starts[self.whole] :].any():
            need = f"{REPORTS_PER_GROUP * len(self.groups):,} reports"
            raise ParameterError(f"not enough data: need about {need}, got {self.n:,}, none of them about a whole text")
        rows = [(label or "").encode() for label in labels]
        if method == "regression":
            return self._together(labels, self.told(rows))
        groups = np.array([self.tested(len(data)) for data in rows] if firsts is None else firsts, dtype=np.int64)
        return self._each(labels, self.told(rows), groups)

    def _each(self, labels: Sequence[str | None], views: list[bytes], groups: NDArray[np.int64]) -> HashedEstimate:
        """The respondents of some groups are a sample of all, which adds to the error about all of them."""
        frequency, constant, slope, null = (np.zeros(len(labels)) for _ in range(4))
        starts, which = np.unique(groups, return_inverse=True)
        laws: list[NullDistribution] = []
        for at, start in enumerate(starts.tolist()):
            own, sketch = np.flatnonzero(which == at), self.sketch(slice(start, None))
            codes = sketch.hashes.fingerprints([views[place] for place in own.tolist()])
            part = by_mean(sketch, [labels[place] for place in own.tolist()], codes, self.mechanism.epsilon, False)
            frequency[own], constant[own], null[own] = part.frequency, part.constant, sketch.spread
            slope[own] = part.slope + (1 / sketch.n - 1 / self.n)
            laws.append(NullDistribution(sketch.support, sketch.hashes.functions))
        law, epsilon = NullDistributions(tuple(laws), which), self.mechanism.epsilon
        return HashedEstimate(
            labels, frequency, constant, slope, self.n, epsilon, len(labels), self.simulated, law, null
        )

    def _together(self, labels: Sequence[str | None], views: list[bytes]) -> HashedEstimate:
        sketch = self.sketch(slice(self.whole, None))
        codes = sketch.hashes.fingerprints(views)
        part = by_regression(sketch, labels, codes, self.mechanism.epsilon, self.simulated)
        share, apart = part.frequency.clip(0, 1), 1 / sketch.n - 1 / self.n
        assert part.covariance is not None  # noqa: S101
        covariance = part.covariance + apart * (np.diag(share) - np.outer(share, share))
        return replace(part, n=self.n, covariance=covariance, constant=np.diag(covariance).clip(np.finfo(float).tiny))


def counted(tallies: Sequence[Tally[Result]]) -> Counted:
    """The groups of one round or of several."""
    rounds: list[Any] = [tally.mechanism for tally in tallies]
    _check(rounds)
    m = rounds[0]
    groups = [group for tally in tallies for group in _groups(tally)]
    simulated = any(tally.simulated for tally in tallies)
    return Counted(m, tuple(groups if m.tag else sorted(groups, key=lambda group: group.span)), simulated)


def _groups(tally: Tally[Result]) -> Iterator[GroupSketch]:
    m: Any = tally.mechanism
    rows = tally.cells.reshape(m.cohorts, -1)
    sizes, support = m._sizes(rows, tally.n), m._inner._support_many(rows[:, : m._inner.cells])
    for at, span in enumerate(m.spans):
        own = slice(at * m.share, (at + 1) * m.share)
        yield GroupSketch(span, Hashes(m.salt, m.buckets, m.share, first=own.start), sizes[own], support[own])


def _check(rounds: list[Discovery]) -> None:
    """Rounds that can be counted together differ in their groups alone, and in their salts."""
    first = rounds[0]
    for m in rounds[1:]:
        if first.tag or m.tag:
            raise ParameterError("rounds must be by prefixes: fragments have tags that differ from salt to salt")
        if (m.base, m.domain) != (first.base, first.domain):
            differing = [(first.base, m.base), (first.domain, m.domain)][m.base == first.base]
            raise ParameterError(
                f"rounds must have the same base and domain, got {differing[0]!r:.80} and {differing[1]!r:.80}"
            )
    salts = [m.salt for m in rounds]
    if len(set(salts)) < len(salts):
        twice = next(salt for salt in salts if salts.count(salt) > 1)
        raise ParameterError(f"rounds must have salts that differ, or texts meet again and again, got {twice!r} twice")


def _join(parts: list[Hashes]) -> Hashes | Joined:
    """Neighbouring functions with one salt as one object, and those with several behind one another."""
    joined: list[Hashes] = []
    for part in parts:
        last = joined[-1] if joined else None
        if last is not None and part.salt == last.salt and part.first == last.first + last.cohorts:
            joined[-1] = replace(last, cohorts=last.cohorts + part.cohorts)
        else:
            joined.append(part)
    return joined[0] if len(joined) == 1 else Joined(tuple(joined))
