"""`sottovoce.testing`: anybody can check a mechanism of their own, and is told which rule it breaks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from mechanism_cases import CASES, TWINS

import sottovoce as sv
from sottovoce.core.randomness import Source
from sottovoce.mechanisms.base import Mechanism
from sottovoce.testing import BrokenRule, Check, TooLargeToCheckError, broken, check, checks, every_draw

SMALL = sv.KRR(3, 1.0)


class LiesLater(sv.KRR):
    """A stranger's mechanism with the right law, which draws another value only for a lie."""

    def _perturb(self, code: int, source: Source) -> int:
        if source.bernoulli(self.p):
            return code
        other = source.below(self.domain.size - 1)
        return other + (other >= code)


class Unfinished(sv.KRR):
    def supports(self, report: Any) -> Any:
        raise NotImplementedError("not written yet")


@pytest.mark.parametrize("m", [cases[0] for cases in CASES.values()], ids=repr)
def test_sound_mechanisms_keep_every_rule_that_is_quick(m: Mechanism) -> None:
    found = check(m)
    assert found.kept == tuple(each.name for each in checks(m)) and len(found.kept) >= 8
    assert {*found.kept, *found.left_out} == {each.name for each in checks(m, thorough=True)}


@pytest.mark.parametrize("rule", checks(SMALL, thorough=True), ids=str)
def test_checks_are_cases_for_pytest(rule: Callable[[], None]) -> None:
    rule()


def test_a_thorough_check_leaves_nothing_out() -> None:
    found = check(sv.Memoized.of(2, "rr", permanent=2.0, first=0.5), thorough=True)
    assert not found.left_out and len(found.kept) == 14
    assert str(found).splitlines()[0].endswith("keeps 14 rules")
    assert "left out, for thorough=True\n  errors_are_as_declared" in str(check(SMALL))


@pytest.mark.parametrize(("rule", "twin"), TWINS, ids=lambda x: getattr(x, "__name__", type(x).__name__))
def test_broken_twins_are_caught_by_name(rule: Callable[[Any], None], twin: Mechanism) -> None:
    made = Check(twin, rule)
    with pytest.raises(BrokenRule, match=f"^{type(twin).__name__} breaks {made}"):
        made()


def test_a_strangers_code_is_followed_by_the_instruction() -> None:
    with pytest.raises(BrokenRule, match=r"^LiesLater breaks time_tells_nothing"):
        check(LiesLater(3, 1.0))


def test_an_error_names_the_rule_it_came_from() -> None:
    with pytest.raises(BrokenRule, match="breaks supports_have_p_and_q with NotImplementedError: not written yet"):
        check(Unfinished(3, 1.0))


def test_what_is_too_large_is_no_broken_rule() -> None:
    with pytest.raises(sv.ParameterError, match="at most 2\\^20 entries"):
        check(sv.KRR(2**16, 1.0))
    with pytest.raises(TooLargeToCheckError, match="take a smaller one"):
        for _ in every_draw(lambda source: source.below(2**20 + 1)):
            pass


def test_no_rule_is_lost_without_assertions() -> None:
    """`python -O` leaves out every `assert`."""
    program = "from sottovoce.testing import broken, check; check(broken.SetBitNeverCleared(3, 1.0))"
    done = subprocess.run([sys.executable, "-O", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "breaks every_draw_gives_the_channel" in done.stderr


def test_it_needs_no_testing_tool() -> None:
    program = (
        "import sys, sottovoce.testing, sottovoce.testing.broken; print({'pytest', 'hypothesis'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "set()\n"


def test_every_twin_is_offered() -> None:
    """By name from `sottovoce.testing.broken`, with a docstring that says what is wrong."""
    offered = {getattr(broken, name) for name in broken.__all__}
    assert {type(twin) for _, twin in TWINS} <= offered
    assert all(issubclass(twin, Mechanism) and twin.__doc__ for twin in offered)
