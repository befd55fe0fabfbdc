from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.field import MAX_ORDER, Field, is_order
from sottovoce.core.geometry import MAX_LISTED_VECTORS, NOT_SMALL, Space, words
from sottovoce.core.kernels import loops
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.core.privacy import Probability, check_epsilon, check_probability, exp_below, log_above, round_down
from sottovoce.core.randomness import Keystream, Source, heads, last_fair
from sottovoce.core.reports import Index, Report, ReportArray
from sottovoce.mechanisms.frequency.pure import Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TABLE_CELLS = 2**25
"""Cells of the largest table that decoding may need: 256 MB."""


@dataclass(frozen=True, init=False, repr=False)
class Projective(Pure):
    """Projective geometry response: a random hyperplane, more likely one that the value lies on.

    Values are points of a projective space over the field of g elements, and so are hyperplanes: a point lies on a
    hyperplane when their inner product is 0. About one hyperplane in g goes through a point. With g near e^epsilon + 1
    the variance is near the least there is, and a report takes about as many bits as a value.

    >>> m = Projective(1000, epsilon=1.0)
    >>> m.order, m.bits, round(m.variance, 3)
    (4, 11, 3.686)

    V. Feldman, J. Nelson, H. Nguyen, K. Talwar, Private Frequency Estimation via Projective Geometry, ICML 2022.
    """

    name: ClassVar[str] = "projective"
    question_kinds: ClassVar[tuple[str, ...]] = ("yes_no", "choice")
    domain: Domain
    order: int
    p: Probability

    def __init__(
        self,
        domain: int | Iterable[Label] | Domain,
        epsilon: float | None = None,
        *,
        order: int | None = None,
        p: float | Fraction | None = None,
    ) -> None:
        domain = Domain.of(domain)
        if (epsilon is None) == (p is None) or (p is not None and order is None):
            raise ParameterError("give either epsilon or both order and p")
        if order is None:
            order = _best_order(domain.size, check_epsilon(epsilon))
        self._freeze(domain=domain, order=Field(order).order)
        odds = exp_below(check_epsilon(epsilon)) * self._on if epsilon is not None else Fraction(0)
        self._freeze(p=round_down(odds / (odds + self._off) if p is None else check_probability("p", p)))
        if self.p <= self.q:
            raise ParameterError(f"p must be greater than q, got p = {self.p} and q = {self.q}")

    @cached_property
    def _space(self) -> Space:
        return _space(self.order, self.domain.size)

    @cached_property
    def _on(self) -> int:
        """How many hyperplanes go through a point; as many points lie on a hyperplane."""
        return self._space.first_line(self._space.digits - 1)

    @cached_property
    def _off(self) -> int:
        """How many do not."""
        return self._space.lines - self._on

    @cached_property
    def q(self) -> Probability:
        both = self._space.first_line(self._space.digits - 2)
        return Probability(self.p * both / self._on + (1 - self.p) * (self._on - both) / self._off)

    @cached_property
    def epsilon(self) -> float:
        return log_above(self.p * self._off / ((1 - self.p) * self._on))

    @cached_property
    def shape(self) -> Index:
        return Index(self._space.lines)

    @property
    def cells(self) -> int:
        return self._space.lines

    def supports(self, report: Report) -> Iterable[int]:
        plane = self._space.line(self.shape.check(report))
        return tuple(c for c in range(self.domain.size) if self._space.inner(plane, self._space.line(c)) == 0)

    def is_supported(self, code: int, report: Report) -> bool:
        plane = self._space.line(self.shape.check(report))
        return bool(self._space.inner(plane, self._space.line(code)) == 0)

    def _law(self, code: int) -> dict[Report, Fraction]:
        on, off, point = self.p / self._on, (1 - self.p) / self._off, self._space.line(code)
        return {
            number: on if self._space.inner(self._space.line(number), point) == 0 else off
            for number in range(self._space.lines)
        }

    # The hyperplanes on a point are the lines of a space with one digit less: choose the other digits at will, and the
    # digit that meets the point's leading 1 makes the inner product 0. Those off it have one vector each whose inner
    # product is 1, found in the same way. Nothing is drawn twice, and no vector is excluded afterwards.

    def _perturb(self, code: int, source: Source) -> int:
        truth, on, off = source.bernoulli(self.p), source.below(self._on), source.below(self._off)
        point, power = self._point(code)
        free = (off, self._rest.line(on))[truth]
        high, low = divmod(free + self._longer, power)
        vector = high * power * self.order + low - self._longer * self.order
        missing = self._differences[1 - truth][self._space.inner(vector, point)]
        return self._space.normalise(vector + power * missing)[1]

    # What a device looks up, and what it adds before it divides, so that all answers take the same time.

    def _point(self, code: int) -> tuple[int, int]:
        """The point of a value, and the power of the order at its leading 1."""
        if self.domain.size <= MAX_LISTED_VECTORS:
            return self._listed_points[code]
        point = self._space.line(code)
        return point, self._space.leading(point)

    @cached_property
    def _listed_points(self) -> list[tuple[int, int]]:
        points = map(self._space.line, range(self.domain.size))
        return [(point, self._space.leading(point)) for point in points]

    @cached_property
    def _longer(self) -> int:
        return self._space.size * NOT_SMALL

    @cached_property
    def _differences(self) -> list[list[int]]:
        """0 and 1, less each element."""
        field, elements = self._space.field, range(self.order)
        return [[field.add(wanted, field.negative(element)) for element in elements] for wanted in (0, 1)]

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        count, space = codes.size, self._space
        if (compiled := loops()) is not None:
            draws = (heads(self.p), self._on, last_fair(self._on), self._off, last_fair(self._off))
            loop = partial(compiled.draw_planes, words(codes), *draws, *space.tables, out)
            stream.feed(loop, count, self.p, self._on, self._off)
            return
        on, lines, free = stream.bernoulli(self.p, count), stream.below(self._on, count), stream.below(self._off, count)
        point, power = self._points(codes)
        free = np.where(on, self._rest.line_many(lines), free)
        out[:] = space.normalise_many(self._complete(free, point, power, 1 - on))[1]

    def _points(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The points of values, and the power of the order at their leading 1."""
        point = self._space.line_many(codes)
        powers = np.array([self._space.order**k for k in range(self._space.digits)])
        return point, powers[np.searchsorted(powers, point, side="right") - 1]

    @cached_property
    def _rest(self) -> Space:
        return Space(self.order, self._space.digits - 1)

    def _complete(
        self,
        free: NDArray[np.int64],
        point: NDArray[np.int64],
        power: NDArray[np.int64],
        wanted: int | NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Put a digit into `free`, where `point` has its leading 1, so that the inner product is `wanted`."""
        vector = free // power * power * self.order + free % power
        field = self._space.field
        missing = field.add(wanted, field.negative(self._space.inner(vector, point)))
        completed: NDArray[np.int64] = vector + power * missing
        return completed

    def _support(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        meets, powers = self._space.meets(cells), (self.order**k for k in range(self._space.digits))
        return np.concatenate([meets[power : 2 * power] for power in powers])[: self.domain.size]  # In order, by lines.

    def _support_many(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where few hyperplanes go through a point, adding them up is quicker than a transform of the whole space."""
        if self._on * self.domain.size > 2 * self._space.size or len(rows) < 16:
            return super()._support_many(rows)
        small = rows.sum(axis=1).max() < 2**31  # Narrow numbers go through the cache twice as fast.
        columns = np.ascontiguousarray(rows.T, dtype=np.int32 if small else np.int64)
        return np.ascontiguousarray((self._incidence @ columns).T, dtype=np.int64)

    @cached_property
    def _incidence(self) -> scipy.sparse.csr_array:
        """A sparse matrix with a row for each point and a 1 for each hyperplane through it."""
        points, power = (column.repeat(self._on) for column in self._points(np.arange(self.domain.size)))
        free = np.tile(self._rest.line_many(np.arange(self._on)), self.domain.size)
        planes = self._space.normalise_many(self._complete(free, points, power, 0))[1]
        starts = np.arange(0, points.size + 1, self._on)
        shape = (self.domain.size, self.cells)
        return scipy.sparse.csr_array((np.ones(points.size, dtype=np.int32), planes, starts), shape=shape)


@lru_cache(maxsize=2**12)
def _space(order: int, points: int) -> Space:
    """The smallest projective space with that many points, a line at least."""
    return next(space for t in range(2, 65) if (space := Space(order, t)).lines >= points)


def _best_order(size: int, epsilon: float) -> int:
    """The order of least variance among those near e^epsilon + 1 whose table for decoding is not too large."""
    limit = min(MAX_ORDER, math.floor(4 * math.exp(epsilon) + 4))
    orders = [g for g in range(2, limit + 1) if is_order(g)]
    fitting = [g for g in orders if _space(g, size).size <= MAX_TABLE_CELLS or g == 2]
    return min(fitting, key=lambda g: _variance(g, size, epsilon))


def _variance(order: int, size: int, epsilon: float) -> float:
    space = _space(order, size)
    on, both = space.first_line(space.digits - 1), space.first_line(space.digits - 2)
    off, odds = space.lines - on, math.exp(epsilon)
    p = odds * on / (odds * on + off)
    q = p * both / on + (1 - p) * (on - both) / off
    if p <= q:
        return math.inf
    return (q * (1 - q) + (p * (1 - p) - q * (1 - q)) / size) / (p - q) ** 2
