"""From counted support to frequencies with honest errors: written once, for every pure mechanism.

If s of n reports support a value, (s/n - q) / (p - q) is an unbiased estimate of the value's frequency f. Two
questions have two errors. About the respondents themselves, only the randomizer is uncertain: the variance is
(f p (1-p) + (1-f) q (1-q)) / (n (p-q)^2). About the population they were drawn from, sampling adds f (1-f) / n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

from sottovoce.errors import DomainError, ParameterError
from sottovoce.lazy import load
from sottovoce.lazy import numpy as np
from sottovoce.render import html_table, interval_plot, label_text, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sottovoce.domain import Domain, Label
    from sottovoce.privacy import Probability

SHOWN = 25
FRAMES = ("pandas", "polars", "arrow")


class Interval(NamedTuple):
    """Lower and upper ends, one of each for every value."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One value's part of an estimate."""

    label: Label
    count: float
    frequency: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """Frequencies of the values of a domain, with their errors. Made by `Tally.estimate`.

    Estimates are unbiased, so one of a rare value may be negative: it stays as it is unless a step of `postprocess`
    is asked for, and then `steps` names it. Intervals are always those of the unbiased estimate.

    >>> from sottovoce import RandomizedResponse
    >>> m = RandomizedResponse.from_coins()
    >>> e = m.tally().add_many([1] * 60 + [0] * 40).estimate()
    >>> e[True].frequency, round(e[True].stderr, 4)
    (0.7, 0.0866)
    >>> low, high = e.interval(0.95)
    >>> low.round(2), high.round(2)
    (array([0.13, 0.53]), array([0.47, 0.87]))
    """

    domain: Domain
    n: int
    support: NDArray[np.int64]
    p: Probability
    q: Probability
    epsilon: float
    simulated: bool = False
    steps: tuple[str, ...] = ()
    adjusted: NDArray[np.float64] | None = None
    order: NDArray[np.int64] | None = None

    @cached_property
    def labels(self) -> Sequence[Label]:
        if self.order is None:
            return self.domain.labels
        return [self.domain.labels[code] for code in self.order]

    @cached_property
    def unbiased(self) -> NDArray[np.float64]:
        """The unbiased frequencies, whatever steps were taken since."""
        p, q = float(self.p), float(self.q)
        return self._ordered((self.support / self.n - q) / (p - q))

    @cached_property
    def frequency(self) -> NDArray[np.float64]:
        return self.unbiased if self.adjusted is None else self._ordered(self.adjusted)

    @property
    def counts(self) -> NDArray[np.float64]:
        """How many of the n respondents hold each value."""
        return self.frequency * self.n

    @cached_property
    def stderr(self) -> NDArray[np.float64]:
        """The standard error about the respondents: the randomizer's noise alone."""
        p, q, f = float(self.p), float(self.q), self.unbiased.clip(0, 1)
        return np.sqrt((f * p * (1 - p) + (1 - f) * q * (1 - q)) / self.n) / abs(p - q)

    @cached_property
    def population_stderr(self) -> NDArray[np.float64]:
        """The standard error about the population that the respondents were sampled from: noise and sampling."""
        f = self.unbiased.clip(0, 1)
        variance: NDArray[np.float64] = self.stderr**2 + f * (1 - f) / self.n
        return np.sqrt(variance)

    def interval(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> Interval:
        """Normal intervals around the unbiased frequencies.

        Each covers its value at the level; simultaneous ones cover all values of the domain at once at the level
        (Bonferroni), also when only the top few are looked at.
        """
        error = self.population_stderr if population else self.stderr
        half = _quantile(level, self.domain.size if simultaneous else 1) * error
        return Interval(self.unbiased - half, self.unbiased + half)

    # Choosing what to look at.

    def sort(self) -> Estimate:
        """The same estimate, most frequent value first."""
        return self._reorder(np.argsort(-self.frequency, kind="stable"))

    def top(self, k: int) -> Estimate:
        """The k most frequent values."""
        if k < 1:
            raise ParameterError(f"k must be at least 1, got {k}")
        return self._reorder(np.argsort(-self.frequency, kind="stable")[:k])

    def _reorder(self, places: NDArray[np.int64]) -> Estimate:
        codes = np.arange(self.domain.size) if self.order is None else self.order
        return replace(self, order=codes[places])

    def _ordered(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        return column if self.order is None else column[self.order]

    def __getitem__(self, label: Label) -> Row:
        if label not in self.labels:
            raise DomainError(f"the estimate has no value {label!r}")
        return self.rows()[self.labels.index(label)]

    def __len__(self) -> int:
        return len(self.labels)

    # Showing it.

    def rows(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> list[Row]:
        error = self.population_stderr if population else self.stderr
        low, high = self.interval(level, simultaneous, population)
        columns = (self.counts, self.frequency, error, low, high)
        return [Row(*row) for row in zip(self.labels, *(column.tolist() for column in columns), strict=True)]

    def to_frame(
        self, kind: str = "pandas", level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> Any:
        """A data frame: pandas, Polars or Arrow."""
        if kind not in FRAMES:
            raise ParameterError(f"kind must be one of {', '.join(FRAMES)}, got {kind!r}")
        rows = self.rows(level, simultaneous, population)
        columns = {field.name: [getattr(row, field.name) for row in rows] for field in fields(Row)}
        if len({type(label) for label in columns["label"] if label is not None}) > 1:
            columns["label"] = [label_text(label) for label in columns["label"]]
        if kind == "arrow":
            return load("pyarrow").table(columns)
        return load(kind).DataFrame(columns)

    def to_dict(self, level: float = 0.95, simultaneous: bool = False, population: bool = False) -> dict[str, Any]:
        """A form for JSON."""
        return {
            "n": self.n,
            "epsilon": self.epsilon,
            "level": level,
            "simultaneous": simultaneous,
            "about": "population" if population else "respondents",
            "steps": list(self.steps),
            "simulated": self.simulated,
            "estimates": [asdict(row) for row in self.rows(level, simultaneous, population)],
        }

    @property
    def caption(self) -> str:
        """One line that says what the numbers rest on."""
        parts = [f"n = {self.n:,}", f"epsilon = {self.epsilon:.6g}"]
        parts += [f"biased by {', '.join(self.steps)}"] if self.steps else []
        parts += ["SIMULATED with a seed: not private"] if self.simulated else []
        return "; ".join(parts)

    def table(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = False
    ) -> tuple[list[str], list[list[str]]]:
        """Header and cells, formatted for people."""
        header = ["value", "count", "frequency", "std. error", f"{100 * level:.6g}% interval"]
        cells = [
            [
                label_text(row.label),
                f"{row.count:,.0f}",
                f"{row.frequency:.4f}",
                f"{row.stderr:.4f}",
                f"{row.low:.4f} .. {row.high:.4f}",
            ]
            for row in self.rows(level, simultaneous, population)
        ]
        return header, cells

    def plot(
        self,
        level: float = 0.95,
        simultaneous: bool = False,
        population: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """A dot and its interval for each value. Needs matplotlib; returns the axes."""
        low, high = self.interval(level, simultaneous, population)
        labels = [label_text(label) for label in self.labels]
        return interval_plot(labels, self.frequency, low, high, xlabel="frequency", title=self.caption, ax=ax)

    def __str__(self) -> str:
        header, cells = self.table()
        more = [f"... and {len(cells) - SHOWN} more values"] if len(cells) > SHOWN else []
        return "\n".join([text_table(header, cells[:SHOWN]), *more, self.caption])

    def __repr__(self) -> str:
        return f"<Estimate of {len(self)} frequencies; {self.caption}>"

    def _repr_html_(self) -> str:
        header, cells = self.table()
        return html_table(header, cells[:SHOWN], self.caption)


def _quantile(level: float, comparisons: int) -> float:
    if not 0 < level < 1:
        raise ParameterError(f"level must lie strictly between 0 and 1, got {level}")
    return -NormalDist().inv_cdf((1 - level) / (2 * comparisons))
