"""Counting reports: integers whose number does not grow with the reports.

Tallies form a commutative monoid. Any split of the work (files, threads, servers, months) gives bit-identical sums,
and an estimate costs the same after a billion reports as after ten.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.columns import as_arrow
from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.core.kernels import PART_ROWS
from sottovoce.core.kernels.threads import cores, side_by_side
from sottovoce.core.lazy import numpy as np
from sottovoce.core.reports import Index, Report, ReportArray, Reports, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates.result import Result

MAX_CELLS = 2**28
MAX_N = 2**53
REPORTS_PER_OUTCOME = 64
"""Count outcomes first when a column has at least this many reports per possible outcome."""
SHARES_PER_THREAD = 4
"""A long column is cut into so many shares for each thread, so that a slow thread leaves some to others."""
SMALL_COUNTS_BYTES = 2**20
"""If the counts have more bytes than that, a thread has one share only."""
PIECE_BYTES = 2**22
"""Small parts of a column are joined, up to so many bytes of reports."""

R = TypeVar("R", bound="Result", covariant=True)


class Countable(Protocol[R]):
    """What a tally asks of a mechanism."""

    @property
    def shape(self) -> Shape: ...
    @property
    def cells(self) -> int: ...
    @property
    def marks(self) -> int | None: ...
    def to_dict(self) -> JsonObject: ...
    def _count(self, data: ReportArray) -> NDArray[np.int64]: ...
    def _places(self, data: ReportArray) -> Iterable[ReportArray]: ...
    def _estimate(self, tally: Tally[Result]) -> R: ...


class Tally(Generic[R]):
    """The counts of a mechanism's reports. It starts empty, and changes by `add...` and `merge` alone.

    >>> from sottovoce import KRR
    >>> t = KRR(["a", "b", "c"], epsilon=1.0).tally()
    >>> t.add(2).add_many([0, 1, 2]).n
    4
    """

    def __init__(self, mechanism: Countable[R]) -> None:
        if mechanism.cells > MAX_CELLS:
            raise ParameterError(
                f"a tally must have at most 2^28 cells (2 GB), {mechanism!r} needs {mechanism.cells:,}"
            )
        self.mechanism = mechanism
        self.n = 0
        self.cells: NDArray[np.int64] = np.zeros(mechanism.cells, dtype=np.int64)
        self.simulated = False

    def add(self, report: Report) -> Tally[R]:
        """Count one report."""
        return self.add_many([self.mechanism.shape.check(report)])

    def add_many(self, reports: Reports | Iterable[Report] | ReportArray) -> Tally[R]:
        """Count a column of reports. If one of them is refused, none is counted."""
        parts, simulated = self._parts(reports), isinstance(reports, Reports) and reports.simulated
        n = sum(map(len, parts))
        counting = Counting(self.mechanism, n)
        for counted in side_by_side(counting.counted, counting.shares(parts, n)):
            counting.counts += counted
        return self.add_counts(counting.cells(), n, simulated)

    def _parts(self, reports: object) -> list[ReportArray]:
        """A column of reports as NumPy sees it, in the parts that it comes in. Some are yet to be checked."""
        shape = self.mechanism.shape
        if isinstance(reports, Reports):
            made_by: object = reports.mechanism
            if made_by != self.mechanism:
                raise ReportError(f"reports of {made_by!r} cannot be counted for {self.mechanism!r}")
            reports = reports.data
        if (arrow := as_arrow(reports)) is not None:
            parts = [shape.from_arrow(part) for part in arrow.chunks]
            return [part if len(part) else shape.check_many(part) for part in parts]
        if np.ma.is_masked(reports):
            raise ReportError("a report must not be missing, got a masked one")
        if not hasattr(reports, "__array__") or getattr(reports, "dtype", None) == np.object_:
            if not isinstance(reports, Iterable):
                raise ReportError(f"reports must be a column, got {reports!r:.40}")
            reports = list(reports)
        if not isinstance(reports, np.ndarray) or not reports.size or not reports.ndim:
            reports = shape.check_many(reports)
        return [np.asarray(reports)]

    def add_counts(self, cells: NDArray[np.int64], n: int, simulated: bool = False) -> Tally[R]:
        """Add the cells of n reports that were counted elsewhere: by another thread, or on another machine."""
        if cells.shape != self.cells.shape or n < 0 or (cells < 0).any() or (cells > n).any():
            raise ReportError(f"counts of {n:,} reports must be {self.cells.size:,} cells from 0 to {n:,}")
        self.cells += cells
        self.n += n
        self.simulated |= simulated
        return self

    def merge(self, other: Tally[R]) -> Tally[R]:
        """Add another tally of the same mechanism to this one."""
        if not isinstance(other, Tally) or other.mechanism != self.mechanism:
            raise ReportError(f"{other!r:.200} cannot be merged into a tally of {self.mechanism!r}")
        return self.add_counts(other.cells, other.n, other.simulated)

    def estimate(self, **options: object) -> R:
        """What the reports tell, with its errors: an `Estimate` of frequencies, or what else the mechanism is for.

        Options are for mechanisms that need them: where no values are listed, say which ones are asked about.
        """
        if not self.n:
            raise ParameterError("an estimate needs at least one report, got none")
        if not options:
            return self.mechanism._estimate(self)
        _check_options(self.mechanism, options)
        make: Callable[..., R] = self.mechanism._estimate
        return make(self, **options)

    def to_dict(self) -> JsonObject:
        """A form for JSON that `Tally.from_dict` reads back."""
        return {
            "mechanism": self.mechanism.to_dict(),
            "n": self.n,
            "cells": self.cells.tolist(),
            "simulated": self.simulated,
        }

    @classmethod
    def from_dict(cls, data: JsonObject, mechanism: Countable[R]) -> Tally[R]:
        """A tally that was written down for just this mechanism."""
        if not isinstance(data, dict) or set(data) != {"mechanism", "n", "cells", "simulated"}:
            raise ReportError(f"a tally must have the fields mechanism, n, cells and simulated, got {data!r:.80}")
        if data["mechanism"] != mechanism.to_dict():
            raise ReportError(f"the tally is not one of {mechanism!r}")
        n, cells = data["n"], data["cells"]
        if type(n) is not int or n > MAX_N or not isinstance(cells, list) or len(cells) != mechanism.cells:
            raise ReportError(
                f"a tally of this mechanism must have a whole n, at most 2^53, and {mechanism.cells} cells"
            )
        if not all(type(cell) is int and 0 <= cell <= n for cell in cells):
            raise ReportError(f"every cell of a tally must be a whole number from 0 to n = {n}")
        if mechanism.marks is not None and sum(cells) != n * mechanism.marks:
            raise ReportError(f"the cells of a tally must add up to {n * mechanism.marks}, got {sum(cells)}")
        if not isinstance(data["simulated"], bool):
            raise ReportError(f"simulated must be true or false, got {data['simulated']!r}")
        return cls(mechanism).add_counts(np.array(cells, dtype=np.int64), n, data["simulated"])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and (self.mechanism, self.n, self.simulated) == (other.mechanism, other.n, other.simulated)
            and bool((self.cells == other.cells).all())
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Tally of {self.n} reports of {self.mechanism!r}>"


class Counting:
    """The cells of a tally while reports are counted.

    If there are few outcomes, it counts how often each occurs, and finds only once which cells an outcome adds to.

    >>> from sottovoce import Subset
    >>> m, reports = Subset(6, epsilon=1.0), [3, 1, 3, 14]
    >>> counting = Counting(m, expected=10_000)
    >>> counting.add(np.array(reports))
    >>> (counting.cells() == m.tally().add_many(reports).cells).all()
    np.True_
    """

    def __init__(self, mechanism: Countable[Result], expected: int) -> None:
        self._mechanism, shape = mechanism, mechanism.shape
        self._few = shape if isinstance(shape, Index) and REPORTS_PER_OUTCOME * shape.outcomes <= expected else None
        cells = self._few.outcomes if self._few else mechanism.cells
        self.counts: NDArray[np.int64] = np.zeros(cells, dtype=np.int64)

    def add(self, reports: ReportArray) -> None:
        self.counts += self.counted([reports])

    def shares(self, parts: list[ReportArray], n: int) -> list[list[ReportArray]]:
        """The shares of a column of n reports that threads count side by side."""
        if n <= PART_ROWS:
            return [parts] if n else []
        count = cores() * (SHARES_PER_THREAD if self.counts.nbytes <= SMALL_COUNTS_BYTES else 1)
        return list(_shares(parts, max(PART_ROWS, self.counts.size, -(-n // count))))

    def counted(self, parts: list[ReportArray]) -> NDArray[np.int64]:
        """What parts of a column would add to the counts. They are checked."""
        counts, size, shape = np.zeros_like(self.counts), self.counts.size, self._mechanism.shape
        step = max(PART_ROWS, size)
        for part in _pieces(parts, min(step, max(size, PIECE_BYTES // shape.empty(1).nbytes))):
            if self._few:
                counts += self._few.counts(part)
                continue
            for at in range(0, len(part), step):
                counts += self._mechanism._count(shape.check_many(part[at : at + step]))
        return counts

    def cells(self) -> NDArray[np.int64]:
        """What was counted, in the cells where it belongs. Floats hold whole numbers up to 2^53 exactly."""
        if not self._few:
            return self.counts
        cells = np.zeros(self._mechanism.cells, dtype=np.float64)
        for places in self._mechanism._places(np.arange(self.counts.size)):
            cells += np.bincount(places, weights=self.counts, minlength=cells.size)
        return cells.astype(np.int64)


def _shares(parts: list[ReportArray], size: int) -> Iterator[list[ReportArray]]:
    """The column that some parts make up, in shares of one size, each of which is a list of parts."""
    share: list[ReportArray] = []
    room = size
    for part in parts:
        at = 0
        while at < len(part):
            share.append(part[at : at + room])
            at, room = at + len(share[-1]), room - len(share[-1])
            if not room:
                yield share
                share, room = [], size
    if share:
        yield share


def _pieces(parts: list[ReportArray], size: int) -> Iterator[ReportArray]:
    """Large parts as they are. Small parts that follow one another are joined into pieces of about this size."""
    small: list[ReportArray] = []
    room = size
    for part in parts:
        if small and len(part) > room:
            yield np.concatenate(small)
            small, room = [], size
        if len(part) >= size:
            yield part
        else:
            small.append(part)
            room -= len(part)
    if small:
        yield np.concatenate(small) if len(small) > 1 else small[0]


def _check_options(mechanism: Countable[Result], options: dict[str, object]) -> None:
    known = list(inspect.signature(mechanism._estimate).parameters)[1:]
    odd = next((name for name in options if name not in known), None)
    if odd is not None:
        wants = f"takes {', '.join(known)}" if known else "takes no options"
        raise ParameterError(f"an estimate of {mechanism!r} {wants}, got {odd}")
