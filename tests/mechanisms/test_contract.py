"""Every mechanism in the package keeps the contract, and every check of the contract can fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from mechanism_cases import ALL, BUILDERS, TWINS, UNLISTED

import sottovoce as sv
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.longitudinal.base import Longitudinal
from sottovoce.testing import broken, contract
from sottovoce.testing.suite import CHECKS, LONGITUDINAL_CHECKS, PURE_CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("m", ALL)
def test_contract(check: Callable[[Mechanism], None], m: Mechanism) -> None:
    check(m)


@pytest.mark.parametrize("m", UNLISTED, ids=repr)
def test_all_answers_take_the_same_way_in_other_domains(m: Mechanism) -> None:
    contract.check_all_answers_take_the_same_way(m)


@pytest.mark.parametrize("check", PURE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("m", [case for case in ALL if isinstance(case.values[0], Pure)])
def test_pure_contract(check: Callable[[Pure], None], m: Pure) -> None:
    check(m)


@pytest.mark.parametrize("check", LONGITUDINAL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("m", [case for case in ALL if isinstance(case.values[0], Longitudinal)])
def test_longitudinal_contract(check: Callable[[Longitudinal], None], m: Longitudinal) -> None:
    check(m)


@pytest.mark.parametrize("name", BUILDERS)
def test_never_spends_more_than_asked(name: str) -> None:
    contract.check_never_spends_more_than_asked(BUILDERS[name])


@pytest.mark.parametrize(("check", "twin"), TWINS, ids=lambda x: getattr(x, "__name__", type(x).__name__))
def test_broken_twins_are_caught(check: Callable[[Any], None], twin: Mechanism) -> None:
    with pytest.raises((AssertionError, sv.SottovoceError)):
        check(twin)


@pytest.mark.parametrize(("check", "twin"), TWINS, ids=lambda x: getattr(x, "__name__", type(x).__name__))
def test_their_sound_parents_pass(check: Callable[[Any], None], twin: Any) -> None:
    parent: Any = type(twin).__base__
    sound = object.__new__(parent)
    sound._freeze(**{field.name: getattr(twin, field.name) for field in fields(parent)})
    check(sound)


def test_spending_more_than_asked_is_caught() -> None:
    with pytest.raises(AssertionError):
        contract.check_never_spends_more_than_asked(lambda epsilon: broken.RoundedToNearest(10, epsilon))


def test_every_check_has_a_twin_that_fails_it() -> None:
    assert {check for check, _ in TWINS} == {*CHECKS, *PURE_CHECKS, *LONGITUDINAL_CHECKS}
