"""Check a mechanism of your own against the contract that every mechanism of the package keeps.

    from sottovoce.testing import check, checks
    check(mechanism)                 # raises BrokenRule, an AssertionError, or returns what it checked
    check(mechanism, thorough=True)  # also what takes seconds: errors by simulation, every history over time

    @pytest.mark.parametrize("rule", checks(mechanism, thorough=True), ids=str)
    def test_contract(rule): rule()

`sottovoce.testing.broken` has mechanisms that break each rule. Nothing here needs pytest.
"""

from __future__ import annotations

from sottovoce.testing.contract import check_never_spends_more_than_asked
from sottovoce.testing.draws import every_draw
from sottovoce.testing.rules import BrokenRule, TooLargeToCheckError
from sottovoce.testing.suite import Check, CheckReport, check, checks

__all__ = [
    "BrokenRule",
    "Check",
    "CheckReport",
    "TooLargeToCheckError",
    "check",
    "check_never_spends_more_than_asked",
    "checks",
    "every_draw",
]
