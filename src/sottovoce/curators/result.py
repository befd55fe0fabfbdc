"""What a task publishes: the estimate with its errors, who is in it, and what each coalition could have learned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.lazy import numpy as np
from sottovoce.curators.task import Task
from sottovoce.estimates.render import interval_plot, label_text, plural, text_table
from sottovoce.trust.federated import Coalition, NoiseLaw
from sottovoce.trust.federated.queries import QueryRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FederatedResult:
    """The result of a task. Errors are about the respondents: the noise alone."""

    task: Task
    curators: tuple[str, ...]
    dropped: Mapping[str, str]
    people: Mapping[str, int]
    total: NDArray[np.int64]
    level: float = 0.95

    @property
    def n(self) -> int:
        """How many people the curators in the sum hold."""
        return sum(self.people.values())

    @cached_property
    def law(self) -> NoiseLaw:
        """The law of the noise in the total."""
        return self.task.noise.law(len(self.curators))

    @cached_property
    def rows(self) -> list[QueryRow]:
        return self.task.query.rows(self.total, self.law, self.level)

    @cached_property
    def coalitions(self) -> tuple[Coalition, ...]:
        return self.task.parties.coalitions(self.task.noise, len(self.curators))

    @property
    def caption(self) -> str:
        factor = self.task.parties.factor(len(self.curators))
        return (
            f"n = {self.n:,} of {plural(len(self.curators), 'curator')}; epsilon = {self.task.noise.epsilon:.6g}; "
            f"error {factor:.2f} times that of one trusted curator"
        )

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and cells of the estimate."""
        digits = 0 if self.task.query.kind == "histogram" else 2
        cells = [
            [label_text(row.label), *(f"{x:,.{digits}f}" for x in (row.value, row.low, row.high))] for row in self.rows
        ]
        header = ["value", "estimate", "low", "high"]
        return header, cells

    def guarantee(self) -> tuple[list[str], list[list[str]]]:
        """Header and cells of what each coalition sees, and the epsilon of the others' people then."""
        sizes = [
            c for c in self.coalitions if c.size in (0, self.task.parties.threshold, self.task.parties.threshold + 1)
        ]
        return ["coalition", "sees", "epsilon"], [[c.who, c.sees, f"{c.epsilon:.6g}"] for c in sizes]

    @property
    def notes(self) -> list[str]:
        """Lines about what the guarantee assumes, and who dropped out."""
        holds = "even if they lie" if self.task.parties.against_liars else "if they follow the protocol"
        first = f"up to {plural(self.task.parties.threshold, 'curator')} may pool what they see, {holds}"
        return [first, *(f"{name} dropped out: {reason}" for name, reason in sorted(self.dropped.items()))]

    def to_dict(self) -> JsonObject:
        """A form for JSON."""
        return {
            "task": self.task.to_dict(),
            "digest": self.task.digest,
            "curators": list(self.curators),
            "dropped": dict(self.dropped),
            "n": self.n,
            "epsilon": self.task.noise.epsilon,
            "level": self.level,
            "factor": self.task.parties.factor(len(self.curators)),
            "estimate": [_record(row) for row in self.rows],
            "guarantee": [vars(c) for c in self.coalitions],
            "against_liars": self.task.parties.against_liars,
        }

    @property
    def bars(self) -> int:
        """The rows in a plot: of a number only the mean, which has no axis in common with a sum."""
        return len(self.rows) if self.task.query.kind == "histogram" else 1

    def plot(self, ax: Axes | None = None) -> Axes:
        """A dot and an interval for each value. Needs matplotlib."""
        rows = self.rows[-self.bars :]
        values, low, high = ([getattr(row, name) for row in rows] for name in ("value", "low", "high"))
        labels = [label_text(row.label) for row in rows]
        xlabel = "people" if self.task.query.kind == "histogram" else self.task.column
        title = f"{self.task.column}: {self.caption.partition(';')[0]}"
        return interval_plot(labels, values, low, high, xlabel=xlabel, title=title, ax=ax)

    def __str__(self) -> str:
        return "\n".join([text_table(*self.table()), self.caption, "", text_table(*self.guarantee()), *self.notes])


def _record(row: QueryRow) -> JsonObject:
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in vars(row).items()}
