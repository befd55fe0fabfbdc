from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import Attributes
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates import EventShares, Result, Row
from sottovoce.estimates.part_evidence import Evidence
from sottovoce.estimates.postprocess import nearest_distribution
from sottovoce.estimates.render import label_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates.tally import Tally
    from sottovoce.mechanisms.compound.combine import Composition, Mixture

MAX_WEIGHTS = 2**27
"""Weights that are held in memory at a time: 1 GB."""

Table = Callable[[tuple[int, ...]], "tuple[NDArray[np.float64], ...]"]
"""From the places of attributes to the frequencies of their combinations, unbiased and as a distribution, and the
variances about the population."""


@dataclass(frozen=True, eq=False)
class SeveralEstimate(Result):
    """What a tally of `Several` tells: `e["age"]` for one attribute, `e.marginal("age", "sex")` for two."""

    measure: ClassVar[str] = "frequency"
    domain: Attributes
    table_of: Table
    n: int
    epsilon: float
    simulated: bool = False

    def marginal(self, *names: str) -> EventShares:
        """The frequencies of the combinations of the values of some attributes, with their errors."""
        places = tuple(self.domain.index(name) for name in names)
        if not places or len(set(places)) < len(places):
            raise ParameterError(f"a marginal must be of one or more different attributes, got {', '.join(names)}")
        domains = [self.domain.domains[place][1] for place in places]
        labels = list(domains[0].labels if len(places) == 1 else product(*(domain.labels for domain in domains)))
        ordered = tuple(sorted(places))
        columns = (self._arranged(column, ordered, places) for column in self.table_of(ordered))
        frequency, share, spread = columns
        return EventShares(
            labels, frequency, spread, share * (1 - share) / self.n, self.n, self.epsilon, self.simulated
        )

    def _arranged(
        self, column: NDArray[np.float64], ordered: tuple[int, ...], places: tuple[int, ...]
    ) -> NDArray[np.float64]:
        table = column.reshape([self.domain.sizes[place] for place in ordered])
        return table.transpose([ordered.index(place) for place in places]).ravel()

    def __getitem__(self, name: str) -> EventShares:
        return self.marginal(name)

    @cached_property
    def _each(self) -> dict[str, EventShares]:
        return {name: self.marginal(name) for name in self.domain.names}

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[Row]:
        return [
            replace(row, label=f"{name} = {label_text(row.label)}")
            for name, sums in self._each.items()
            for row in sums.rows(level, simultaneous, population)
        ]

    def __repr__(self) -> str:
        return f"<SeveralEstimate of {', '.join(self.domain.names)}; {self.caption}>"


def sampled(
    domain: Attributes, asked: Sequence[tuple[int, ...]], combination: Mixture, tally: Tally[Result]
) -> SeveralEstimate:
    """From parts that ask about some attributes each: all that ask about the wanted ones are averaged."""
    parts = zip(combination.parts, combination.slices(tally.cells), strict=True)
    evidence = [Evidence(part, cells) for part, cells in parts]

    def table(places: tuple[int, ...]) -> tuple[NDArray[np.float64], ...]:
        fitting = [at for at, own in enumerate(asked) if set(places) <= set(own)]
        if not fitting:
            names = " and ".join(domain.names[place] for place in places)
            raise ParameterError(f"these reports do not tell {names} together: use how='joint' or how='pairs'")
        rows = [_rows(domain.sizes, asked[at], places) for at in fitting]
        weights = np.array([1 / (evidence[at].spread * len(own[0])) for at, own in zip(fitting, rows, strict=True)])
        columns = np.zeros((3, len(rows[0])))
        for at, own, weight in zip(fitting, rows, weights / weights.sum(), strict=True):
            part, nearest = evidence[at], evidence[at].distribution
            columns += weight * own @ part.frequency, weight * own @ nearest, weight**2 * part.variance(own, nearest)
        return tuple(columns)

    return SeveralEstimate(domain, table, tally.n, combination.epsilon, tally.simulated)


def _rows(sizes: Sequence[int], asked: tuple[int, ...], places: tuple[int, ...]) -> NDArray[np.float64]:
    """For each combination of the values at `places`, a row with a 1 at all those of the part that contain it."""
    codes = np.indices([sizes[place] for place in asked]).reshape(len(asked), -1)
    own = np.zeros(codes.shape[1], dtype=np.int64)
    for place in places:
        own = own * sizes[place] + codes[asked.index(place)]
    wanted = np.arange(math.prod(sizes[place] for place in places))[:, None]
    if wanted.size * own.size > MAX_WEIGHTS:
        raise ParameterError(f"a table of {wanted.size:,} sums over {own.size:,} combinations is too large")
    return np.equal(own, wanted).astype(np.float64)


def split(domain: Attributes, combination: Composition, tally: Tally[Result]) -> SeveralEstimate:
    """From reports on all attributes: the mean of a product of unbiased corrections.

    A report adds the product over the attributes of (S - q) / (p - q), where S says whether it supports the value.
    The square of that factor has the mean (p - 2pq + q^2) / (p-q)^2 for a holder and q (1-q) / (p-q)^2 for another,
    one more for a holder than the variance. The factors are independent, so the mean of the product's square follows.
    """
    counts = combination.table(tally.cells)

    def table(places: tuple[int, ...]) -> tuple[NDArray[np.float64], ...]:
        parts = [combination.parts[place] for place in places]
        mean = counts.sum(axis=tuple(place for place in range(counts.ndim) if place not in places)) / tally.n
        for part in parts:  # The first axis is used up, and the corrected one comes last: in the end order is restored.
            p, q = float(part.p), float(part.q)
            mean = np.tensordot(mean, (part._support_table() - q) / (p - q), axes=(0, 0))
        nearest = nearest_distribution(mean.ravel())
        square = nearest.reshape(mean.shape)
        for axis, part in enumerate(parts):
            p, q = float(part.p), float(part.q)
            holder, other = (p - 2 * p * q + q * q) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
            square = other * square.sum(axis=axis, keepdims=True) + (holder - other) * square
        return mean.ravel(), nearest, (square.ravel() - nearest**2) / tally.n

    return SeveralEstimate(domain, table, tally.n, combination.epsilon, tally.simulated)
