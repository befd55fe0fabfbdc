"""Planning: how many people, how much privacy, how sharp a result, and whether that is wise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import exports

if TYPE_CHECKING:
    from sottovoce.statistics.planning.freezing import Frozen as Frozen
    from sottovoce.statistics.planning.freezing import expected_frozen as expected_frozen
    from sottovoce.statistics.planning.freezing import frozen_bias as frozen_bias
    from sottovoce.statistics.planning.instrument import Direct as Direct
    from sottovoce.statistics.planning.instrument import Posterior as Posterior
    from sottovoce.statistics.planning.linter import Finding as Finding
    from sottovoce.statistics.planning.linter import lint as lint
    from sottovoce.statistics.planning.planner import plan as plan
    from sottovoce.statistics.planning.plans import Need as Need
    from sottovoce.statistics.planning.plans import Plan as Plan

_HOMES = {
    "Frozen": "freezing",
    "expected_frozen": "freezing",
    "frozen_bias": "freezing",
    "Direct": "instrument",
    "Posterior": "instrument",
    "Finding": "linter",
    "lint": "linter",
    "plan": "planner",
    "Need": "plans",
    "Plan": "plans",
}
__all__ = sorted(_HOMES)
__getattr__ = exports(__name__, _HOMES)  # Each name is imported when it is first used.
