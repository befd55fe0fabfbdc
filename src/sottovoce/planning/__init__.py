"""Planning: how many people, how much privacy, how sharp a result, and whether that is wise."""

from sottovoce.planning.freezing import Frozen, expected_frozen, frozen_bias
from sottovoce.planning.instrument import Direct, Posterior
from sottovoce.planning.linter import Finding, lint
from sottovoce.planning.planner import plan
from sottovoce.planning.plans import Need, Plan

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
