"""Where reports are taken from a randomizer: both answers as often, in random order, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Self

from sottovoce.core.errors import ReportError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import Keystream
from sottovoce.mechanisms import Mechanism
from sottovoce.statistics.auditing.exact import as_written
from sottovoce.statistics.auditing.observations import Bulk, Observations
from sottovoce.statistics.auditing.sources import Randomizer, ReportSource, source_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

BATCH_OBSERVATIONS = 2**11
"""Observations that are handled at a time."""

BULK_BITS, BULK_ROWS = 2**21, 2**15
"""The same for a mechanism, whose reports come by the column and may be long."""

Progress = Callable[[int, int], None]
"""Is told how many reports were made, and how many there will be."""


class Bench:
    """Takes so many observations of each of two answers, in parts that are used one after the other.

    The order is random in each part, so that a randomizer which changes as it goes does so for both answers alike.
    """

    def __init__(
        self,
        randomizer: Randomizer,
        answers: tuple[object, object],
        repeats: int,
        fresh: bool,
        seed: int | None,
        parts: list[int],
        progress: Progress | None,
    ) -> None:
        self._answers, self._repeats, self._stream = answers, repeats, Keystream(seed)
        self._mechanism = randomizer if isinstance(randomizer, Mechanism) and as_written(randomizer) else None
        self._orders = [np.argsort(self._stream.words(2 * part)) % 2 for part in parts]
        self._parts, self._done, self._progress = iter(self._orders), 0, progress
        self._total = 2 * sum(parts) * repeats
        self._reports = self._one_by_one(source_of(randomizer, fresh))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        """A randomizer with reports left gave more than one for an answer, and reports do not match the answers."""
        try:
            if kind is None and next(self._reports, self) is not self:
                raise ReportError("the randomizer gave more reports than it was asked for")
        finally:
            self._reports.close()

    def batches(self) -> Iterator[tuple[Observations, NDArray[np.int64]]]:
        """The observations of the next part, with 0 for the first answer and 1 for the second."""
        order = next(self._parts)
        bits = self._mechanism.bits * self._repeats if self._mechanism else 0
        rows = min(BULK_ROWS, max(16, BULK_BITS // bits)) if bits else BATCH_OBSERVATIONS
        for at in range(0, order.size, rows):
            labels = order[at : at + rows]
            yield (self._column(self._mechanism, labels) if self._mechanism else self._list(labels)), labels

    def _column(self, m: Mechanism, labels: NDArray[np.int64]) -> Observations:
        answers = [self._answers[label] for label in np.repeat(labels, self._repeats).tolist()]
        reports = m.randomize_many(answers, self._stream)
        self._tick(len(reports))
        return Bulk(reports, self._repeats)

    def _list(self, labels: NDArray[np.int64]) -> Observations:
        count = labels.size * self._repeats
        reports = list(islice(self._reports, count))
        if len(reports) < count:
            raise ReportError("the randomizer gave fewer reports than it was asked for")
        return Observations(reports if self._repeats == 1 else _grouped(reports, self._repeats))

    def _one_by_one(self, source: ReportSource) -> Generator[object, None, None]:
        if self._mechanism:
            return
        answers = (self._answers[label] for order in self._orders for label in order.tolist())
        for report in source.reports(answers, self._repeats):
            self._tick(1)
            yield report

    def _tick(self, reports: int) -> None:
        self._done += reports
        if self._progress:
            self._progress(min(self._done, self._total), self._total)


def _grouped(reports: list[object], size: int) -> list[object]:
    return [tuple(reports[at : at + size]) for at in range(0, len(reports), size)]
