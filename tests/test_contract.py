"""Every mechanism in the package keeps the contract, and every check of the contract can fail."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import pytest

import broken
import contract
import sottovoce as sv
from sottovoce import mechanisms
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.pure import Pure

GAPPED = sv.Domain(["a", "b", "c"], missing="category")

CASES: dict[type[Mechanism], list[Mechanism]] = {
    sv.RandomizedResponse: [
        sv.RandomizedResponse(epsilon=1.0),
        sv.RandomizedResponse.from_coins(),
        sv.RandomizedResponse.warner(0.3),
    ],
    sv.KRR: [
        sv.KRR(2, epsilon=0.5),
        sv.KRR(["a", "b", "c"], epsilon=1.0),
        sv.KRR(GAPPED, epsilon=2.0),
        sv.KRR(9, p=0.05),
    ],
    sv.Unary: [
        sv.Unary(5, epsilon=1.0),
        sv.Unary(GAPPED, epsilon=2.0, kind="symmetric"),
        sv.Unary(3, p=0.75, q=0.25),
        sv.Unary(9, epsilon=3.0),
    ],
    sv.LocalHash: [
        sv.LocalHash(5, epsilon=1.0, kind="binary"),
        sv.LocalHash(6, epsilon=1.0),
        sv.LocalHash(GAPPED, epsilon=0.5),
        sv.LocalHash(7, epsilon=2.0, buckets=3),
        sv.LocalHash(3, epsilon=3.0, buckets=5),
        sv.LocalHash(9, epsilon=2.0, buckets=8),
    ],
}
ALL = [pytest.param(m, id=f"{m!r}-{at}") for cases in CASES.values() for at, m in enumerate(cases)]

BUILDERS: dict[str, Callable[[float], Mechanism]] = {
    "rr": sv.RandomizedResponse,
    "krr": lambda epsilon: sv.KRR(10, epsilon),
    "krr, large": lambda epsilon: sv.KRR(2**20, epsilon),
    "unary, symmetric": lambda epsilon: sv.Unary(10, epsilon, kind="symmetric"),
    "unary, optimal": lambda epsilon: sv.Unary(10, epsilon),
    "local hash, binary": lambda epsilon: sv.LocalHash(100, epsilon, kind="binary"),
    "local hash, optimal": lambda epsilon: sv.LocalHash(100, epsilon),
    "choose": lambda epsilon: sv.choose(100, epsilon),
}

TWINS: list[tuple[Callable[[Any], None], Mechanism]] = [
    (contract.check_law_is_a_distribution, broken.LawThatLeaks(3, 1.0)),
    (contract.check_epsilon_is_the_worst_ratio, broken.EpsilonRoundedDown(3, 1.0)),
    (contract.check_epsilon_is_the_worst_ratio, broken.TwoDecimals(3, 1.0)),
    (contract.check_epsilon_is_the_worst_ratio, broken.LawThatLeaks(3, 1.0)),
    (contract.check_supports_have_p_and_q, broken.ZeroCohortRejected(6, 1.0)),
    (contract.check_supports_have_p_and_q, broken.TwoDecimals(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.SetBitNeverCleared(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.SwappedProbabilities(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.LastBitNotRandomized(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.ExcludedValueStillDrawn(3, 1.0)),
    (contract.check_every_draw_gives_the_channel, broken.ZeroCohortRejected(6, 1.0)),
    (contract.check_columns_have_the_same_law, broken.SetBitNeverCleared(3, 1.0)),
    (contract.check_columns_have_the_same_law, broken.SwappedProbabilities(3, 1.0)),
    (contract.check_columns_have_the_same_law, broken.LastBitNotRandomized(9, 1.0)),
    (contract.check_columns_have_the_same_law, broken.ExcludedValueStillDrawn(3, 1.0)),
    (contract.check_bits_count_the_reports, broken.WideReports(3, 1.0)),
    (contract.check_tally_counts_the_support, broken.WrongDecoder(6, 1.0)),
    (contract.check_merges_are_exact, broken.OverflowingTally(3, 1.0)),
    (contract.check_errors_are_as_declared, broken.SharedCoins(3, 1.0)),
    (contract.check_errors_are_as_declared, broken.ExcludedValueStillDrawn(3, 1.0)),
    (contract.check_errors_are_as_declared, broken.SwappedProbabilities(3, 1.0)),
    (contract.check_round_trip, broken.RoundedOnTheWire(3, 1.0)),
]


def test_every_mechanism_in_the_package_has_cases() -> None:
    modules = [
        importlib.import_module(f"{mechanisms.__name__}.{m.name}") for m in pkgutil.iter_modules(mechanisms.__path__)
    ]
    found = {
        cls
        for module in modules
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, Mechanism) and not inspect.isabstract(cls)
    }
    assert found == set(CASES) == set(mechanisms.REGISTRY.values())


@pytest.mark.parametrize("check", contract.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("m", ALL)
def test_contract(check: Callable[[Mechanism], None], m: Mechanism) -> None:
    check(m)


@pytest.mark.parametrize("check", contract.PURE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("m", [case for case in ALL if isinstance(case.values[0], Pure)])
def test_pure_contract(check: Callable[[Pure], None], m: Pure) -> None:
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
    check(parent(twin.domain, 1.0))


def test_spending_more_than_asked_is_caught() -> None:
    with pytest.raises(AssertionError):
        contract.check_never_spends_more_than_asked(lambda epsilon: broken.RoundedToNearest(10, epsilon))


def test_every_check_has_a_twin_that_fails_it() -> None:
    assert {check for check, _ in TWINS} == {*contract.CHECKS, *contract.PURE_CHECKS}
