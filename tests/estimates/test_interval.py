"""The one type of an interval, and that every method called `interval` returns it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import sottovoce
from sottovoce.estimates import Interval

ROOMS = ("estimates", "statistics", "trust")


def test_it_unpacks_as_two_and_knows_its_level() -> None:
    found = Interval(0.2, 0.4, level=0.9)
    low, high = found
    assert (low, high, found.level) == (0.2, 0.4, 0.9) and tuple(found) == (0.2, 0.4)
    with pytest.raises(FrozenInstanceError):
        found.low = 0.0  # type: ignore[misc]


def test_intervals_are_equal_if_their_ends_and_levels_are() -> None:
    one, same = (Interval(np.array([0.1, 0.2]), np.array([0.3, 0.4]), 0.95) for _ in range(2))
    assert one == same and Interval(0.1, 0.3, 0.95) == Interval(0.1, 0.3, 0.95)
    assert one != Interval(np.array([0.1, 0.2]), np.array([0.3, 0.5]), 0.95)
    assert one != Interval(one.low, one.high, 0.9) and Interval(0.1, 0.3, 0.95) != (0.1, 0.3)


def test_every_method_called_interval_returns_one() -> None:
    found = set()
    for room in ROOMS:
        package = importlib.import_module(f"sottovoce.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"sottovoce.{room}."):
            for name, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                method = vars(kind).get("interval") if kind.__module__.startswith(sottovoce.__name__) else None
                if inspect.isfunction(method):
                    found.add(name)
                    assert str(inspect.signature(method).return_annotation).startswith("Interval["), name
    assert {"Estimate", "MeanEstimate", "Proportion", "Likelihood", "RegressionResult", "Total"} <= found
