"""The whole contract for one mechanism: which checks there are, and `check`, which makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.longitudinal.base import Longitudinal
from sottovoce.testing import contract, over_time
from sottovoce.testing.rules import BrokenRule, TooLargeToCheckError

Rule: TypeAlias = Callable[[Any], None]
"""A check of one rule. It takes a mechanism, of the class that the rule is about."""

CHECKS: list[Callable[[Mechanism], None]] = [
    contract.check_law_is_a_distribution,
    contract.check_epsilon_is_the_worst_ratio,
    contract.check_every_draw_gives_the_channel,
    contract.check_time_tells_nothing,
    contract.check_all_answers_take_the_same_way,
    contract.check_bits_count_the_reports,
    contract.check_columns_have_the_same_law,
    contract.check_merges_are_exact,
    contract.check_round_trip,
]
PURE_CHECKS: list[Callable[[Pure], None]] = [
    contract.check_supports_have_p_and_q,
    contract.check_tally_counts_the_support,
    contract.check_errors_are_as_declared,
]
LONGITUDINAL_CHECKS: list[Callable[[Longitudinal], None]] = [
    over_time.check_reports_over_time_cost_as_declared,
    over_time.check_columns_over_time_have_the_same_law,
]
THOROUGH: list[Rule] = [contract.check_errors_are_as_declared, *LONGITUDINAL_CHECKS]
"""Checks that take seconds: a million simulated people, or every history of a device."""


@dataclass(frozen=True)
class Check:
    """One rule of the contract, to be checked on one mechanism. Call it; it raises `BrokenRule` or returns nothing."""

    mechanism: Mechanism
    rule: Rule

    @property
    def name(self) -> str:
        return self.rule.__name__.removeprefix("check_")

    def __call__(self) -> None:
        try:
            self.rule(self.mechanism)
        except TooLargeToCheckError:
            raise
        except Exception as error:  # A mechanism of somebody's own may fail in any way; the rule must be named.
            ruled = isinstance(error, BrokenRule)
            what = f". The rule: {error}" if ruled else f" with {type(error).__name__}: {error}"
            raise BrokenRule(f"{type(self.mechanism).__name__} breaks {self.name}{what}") from error

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class CheckReport:
    """What `check` found: the rules that a mechanism keeps, and those that it was not asked about."""

    mechanism: Mechanism
    kept: tuple[str, ...]
    left_out: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.mechanism!r} keeps {len(self.kept)} rules", *(f"  {name}" for name in self.kept)]
        if self.left_out:
            lines += ["left out, for thorough=True", *(f"  {name}" for name in self.left_out)]
        return "\n".join(lines)


def checks(mechanism: Mechanism, thorough: bool = False) -> list[Check]:
    """Every rule that applies to a mechanism, as a named check to call: for pytest, a list of cases.

    >>> from sottovoce import KRR
    >>> [str(check) for check in checks(KRR(3, 1.0))][:3]
    ['law_is_a_distribution', 'epsilon_is_the_worst_ratio', 'every_draw_gives_the_channel']
    """
    rules: list[Rule] = list(CHECKS)
    rules += PURE_CHECKS if isinstance(mechanism, Pure) else []
    rules += LONGITUDINAL_CHECKS if isinstance(mechanism, Longitudinal) else []
    return [Check(mechanism, rule) for rule in rules if thorough or rule not in THOROUGH]


def check(mechanism: Mechanism, thorough: bool = False) -> CheckReport:
    """Check the contract on a small instance of a mechanism. `BrokenRule` names the first rule that it breaks.

    >>> from sottovoce import KRR
    >>> len(check(KRR(3, 1.0)).kept)
    11
    """
    mechanism.channel()  # An instance that is too large to list is refused here, and is no broken rule.
    made = checks(mechanism, thorough)
    for each in made:
        each()
    left_out = (each.name for each in checks(mechanism, thorough=True) if each not in made)
    return CheckReport(mechanism, tuple(each.name for each in made), tuple(left_out))
