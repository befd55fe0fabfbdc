"""What every audit ends in: an epsilon that is surely spent, beside the one that is claimed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.privacy import to_float

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class AuditResult(ABC):
    """What was found about two answers, x0 and x1."""

    x0: object
    x1: object
    epsilon_lower: float
    claimed: float | None
    delta: float

    @property
    def exceeds(self) -> bool:
        """Whether more is spent than is claimed."""
        return self.claimed is not None and self.epsilon_lower > self.claimed

    @property
    def verdict(self) -> str:
        """One line."""
        if self.claimed is None:
            return f"{self._spends} {_number(self.epsilon_lower)}"
        if not self.exceeds:
            return f"consistent with {self.claim}"
        found, claimed = _apart(self.epsilon_lower, self.claimed)
        return f"{self._spends} {found}, more than the claimed {claimed}"

    @property
    def claim(self) -> str:
        return f"epsilon = {_number(self.claimed or 0.0)}" + (f", delta = {self.delta:g}" if self.delta else "")

    _spends = "spends at least"

    @abstractmethod
    def to_dict(self) -> JsonObject:
        """A form for JSON."""

    def _common(self) -> JsonObject:
        return {
            "values": [as_json(self.x0), as_json(self.x1)],
            "epsilon_lower": self.epsilon_lower if math.isfinite(self.epsilon_lower) else None,
            "infinite": math.isinf(self.epsilon_lower),
            "delta": to_float(self.delta),
            "claimed": self.claimed,
            "exceeds": self.exceeds,
            "verdict": self.verdict,
        }

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """What an attacker achieves, beside what the claim allows. Needs matplotlib; returns the axes."""


def _number(value: float) -> str:
    return "without bound" if math.isinf(value) else f"{value:.4g}"


def _apart(found: float, claimed: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to see that they differ, and one more."""
    if math.isinf(found):
        return "without bound", f"{claimed:.6g}"
    digits = next(n for n in range(4, 18) if f"{found:.{n}g}" != f"{claimed:.{n}g}" or n == 17)
    return f"{found:.{digits}g}", f"{claimed:.{digits}g}"


def as_json(value: object) -> str | bool | int | float | None:
    """A plain value as it is, anything else as text."""
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
