"""What a test of a hypothesis ends in."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from sottovoce.core.canonical import JsonObject
from sottovoce.estimates.interval import Interval
from sottovoce.statistics.checks import check_level


@dataclass(frozen=True)
class TestResult:
    """The statistic of a test and its p-value; where there is one, the estimate that was tested and its interval.

    >>> t = TestResult("likelihood-ratio test", 5.2, 0.0226, 1, estimate=0.3)
    >>> print(t)
    likelihood-ratio test: statistic 5.2, df 1, p-value 0.0226; estimate 0.3
    >>> t.rejects(), t.rejects(level=0.99)
    (True, False)
    """

    __test__ = False  # Not a class of tests, whatever a test runner makes of its name.

    name: str
    statistic: float
    p_value: float
    df: float | None = None
    estimate: float | None = None
    interval: Interval[float] | None = None
    note: str = ""

    def rejects(self, level: float = 0.95) -> bool:
        """Whether the test rejects its null hypothesis. One that is true is kept with the probability of the level."""
        return 1 - self.p_value >= check_level(level)

    def to_dict(self) -> JsonObject:
        """A form for JSON; an infinite statistic is null."""
        ends = None if self.interval is None else list(self.interval)
        statistic = self.statistic if math.isfinite(self.statistic) else None
        return {**asdict(self), "statistic": statistic, "interval": ends}

    def __str__(self) -> str:
        parts = [f"{self.name}: statistic {self.statistic:.4g}"]
        parts += [f"df {self.df:g}"] if self.df is not None else []
        text = ", ".join([*parts, f"p-value {self.p_value:.4g}"])
        text += f"; estimate {self.estimate:.4g}" if self.estimate is not None else ""
        text += f", interval {self.interval.low:.4g} .. {self.interval.high:.4g}" if self.interval is not None else ""
        return f"{text}; {self.note}" if self.note else text
