"""Results about the population that the respondents were drawn from, unless asked otherwise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sottovoce.core.canonical import JsonObject
from sottovoce.estimates.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PopulationResult(Result):
    """A result of a survey. Errors are about the population by default: noise and sampling together."""

    note: str

    @property
    def caption(self) -> str:
        known = super().caption.replace("epsilon = inf", "no finite epsilon")
        return f"{known}; {self.note}" if self.note else known

    def to_frame(
        self, kind: str = "pandas", level: float = 0.95, simultaneous: bool = False, population: bool = True
    ) -> Any:
        return super().to_frame(kind, level, simultaneous, population)

    def to_dict(self, level: float = 0.95, simultaneous: bool = False, population: bool = True) -> JsonObject:
        """A form for JSON; an infinite epsilon is null."""
        finite = None if math.isinf(self.epsilon) else self.epsilon
        return {**super().to_dict(level, simultaneous, population), "epsilon": finite, "note": self.note}

    def table(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = True, most: int | None = None
    ) -> tuple[list[str], list[list[str]]]:
        return super().table(level, simultaneous, population, most)

    def plot(
        self, level: float = 0.95, simultaneous: bool = False, population: bool = True, ax: Axes | None = None
    ) -> Axes:
        return super().plot(level, simultaneous, population, ax)
