"""What an estimate of any kind gives when nothing in particular is asked for, and how estimates are compared."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimates.result import Result

DEFAULTS = {"level": 0.95, "simultaneous": False, "population": False}


def estimated(m: Any, answers: Any, **options: Any) -> Any:
    return m.tally().add_many(m.randomize_many(answers, seed=1)).estimate(**options)


NUMBERS = np.linspace(0, 4, 400)
ESTIMATES: dict[str, Any] = {
    "frequencies": lambda: estimated(sv.KRR(["a", "b", "c"], 1.0), ["a", "b", "c", "a"] * 100),
    "hashed": lambda: estimated(sv.Hashed("auto", epsilon=3.0), ["tea", "milk"] * 200, values=["tea", "milk", "rum"]),
    "shares": lambda: estimated(sv.Sets(["a", "b", "c"], 2.0), [["a"], ["a", "c"], []] * 100),
    "key means": lambda: estimated(sv.KeyValue(["a", "b"], 0, 4, 3.0), [{"a": 1.0}, {"a": 3.0, "b": 2.0}] * 100),
    "mean": lambda: estimated(sv.Mean(0, 4, 2.0), NUMBERS),
    "distribution": lambda: estimated(sv.SquareWave(0, 4, bins=16, epsilon=2.0), NUMBERS),
}


@pytest.mark.parametrize("kind", ESTIMATES)
def test_at_95_percent_one_by_one_about_the_respondents(kind: str) -> None:
    estimate = ESTIMATES[kind]()
    assert isinstance(estimate, Result)
    for name in ("rows", "to_dict", "table", "interval"):
        method = getattr(estimate, name)
        known = {key: value for key, value in DEFAULTS.items() if key in inspect.signature(method).parameters}
        assert known, name
        np.testing.assert_equal(method(), method(**known))
    record = estimate.to_dict()
    assert (record["level"], record["simultaneous"], record["about"]) == (0.95, False, "respondents")


@pytest.mark.parametrize("kind", ESTIMATES)
def test_each_option_is_heeded(kind: str) -> None:
    """A higher level is wider; all at once are wider still, where there are several."""
    estimate = ESTIMATES[kind]()

    def width(**options: Any) -> float:
        return float(sum(row.high - row.low for row in estimate.rows(**options)))

    assert width(level=0.5) < width() < width(level=0.99)
    if len(estimate.rows()) > 1 and "simultaneous" in inspect.signature(estimate.rows).parameters:
        assert width() < width(simultaneous=True)


@pytest.mark.parametrize("kind", ESTIMATES)
def test_estimates_are_compared_by_identity(kind: str) -> None:
    """They hold arrays, of which no two can be compared by a truth value."""
    one, other = ESTIMATES[kind](), ESTIMATES[kind]()
    assert one == one and one != other
    assert len({one, other}) == 2
