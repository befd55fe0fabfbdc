"""Planning: how many people, how much privacy, how sharp a result, and whether that is wise."""

from sottovoce.statistics.planning.freezing import Frozen, expected_frozen, frozen_bias
from sottovoce.statistics.planning.instrument import Direct, Posterior
from sottovoce.statistics.planning.linter import Finding, lint
from sottovoce.statistics.planning.planner import plan
from sottovoce.statistics.planning.plans import Need, Plan

__all__ = [
    "Direct",
    "Finding",
    "Frozen",
    "Need",
    "Plan",
    "Posterior",
    "expected_frozen",
    "frozen_bias",
    "lint",
    "plan",
]
