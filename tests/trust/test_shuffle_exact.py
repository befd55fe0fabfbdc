"""The bounds of shuffle accounting against exact arithmetic, at ordinary and at extreme parameters."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from shuffled_law import exact_neighbours, misplaced

import sottovoce as sv

DELTAS = (0.6, 0.05, 1e-3, 1e-6, 1e-12, 1e-30)
FEW_DELTAS = (0.05, 1e-12)
GRAIN = 2.0**-53

FAMILIES: dict[str, Callable[[float], sv.Mechanism]] = {
    "krr 2": lambda e: sv.KRR(2, epsilon=e),
    "krr 3": lambda e: sv.KRR(3, epsilon=e),
    "krr 4": lambda e: sv.KRR(4, epsilon=e),
    "subset 3 of 2": lambda e: sv.Subset(3, size=2, epsilon=e),
    "subset 5 of 4": lambda e: sv.Subset(5, size=4, epsilon=e),
    "unary 2": lambda e: sv.Unary(2, epsilon=e),
    "unary 3": lambda e: sv.Unary(3, epsilon=e),
    "symmetric unary 3": lambda e: sv.Unary(3, epsilon=e, kind="symmetric"),
    "hadamard 3": lambda e: sv.Hadamard(3, epsilon=e),
    "local hash 3": lambda e: sv.LocalHash(3, epsilon=e, buckets=2),
    "projective 3": lambda e: sv.Projective(3, epsilon=e, order=2),
    "changes": lambda e: sv.Changes(2, epsilon=e),
    "sets 2": lambda e: sv.Sets(2, epsilon=e),
    "mean": lambda e: sv.Mean(0, 1, steps=2, epsilon=e),
}

COINS: list[tuple[float, float]] = [
    (1e-9, 2**-40), (1e-9, GRAIN), (1 - GRAIN, GRAIN), (1 - 2**-40, 1e-9), (0.5, GRAIN), (1 - GRAIN, 0.5),
    (2 * GRAIN, GRAIN), (1 - GRAIN, 1 - 2 * GRAIN), (0.5, 0.499999),
]  # fmt: skip


@pytest.mark.parametrize("epsilon", [4.0, 35.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_exact_epsilon_lies_between_the_bounds(family: str, epsilon: float) -> None:
    assert not misplaced(FAMILIES[family](epsilon), 2, FEW_DELTAS)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 4.0, 20.0, 35.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_exact_epsilon_lies_between_the_bounds_for_more(family: str, epsilon: float) -> None:
    m = FAMILIES[family](epsilon)
    for n in (1, 2, 3) if family not in ("hadamard 3", "local hash 3", "sets 2") else (1, 2):
        assert not misplaced(m, n, DELTAS)


@pytest.mark.parametrize(("p", "q"), COINS)
def test_bits_at_the_edge_of_the_grid(p: float, q: float) -> None:
    assert not misplaced(sv.Unary(2, p=p, q=q), 2, FEW_DELTAS)


@pytest.mark.slow
@pytest.mark.parametrize(("p", "q"), COINS)
def test_more_bits_at_the_edge_of_the_grid(p: float, q: float) -> None:
    for values, n in ((2, 2), (2, 3), (3, 2)):
        assert not misplaced(sv.Unary(values, p=p, q=q), n, DELTAS)


@pytest.mark.parametrize("p", [GRAIN, 1e-9, 0.25, 0.5 - 1e-9, 0.5 + 1e-9, 1 - 1e-9, 1 - GRAIN])
def test_responses_at_the_edge_of_the_grid(p: float) -> None:
    for values, n in ((2, 5), (3, 2)):
        assert not misplaced(sv.KRR(values, p=p), n, FEW_DELTAS)


def test_what_was_once_wrong() -> None:
    """A characteristic function that nearly vanishes, and a mean of e^(tilt x) near 0, had lost their digits."""
    assert not misplaced(sv.Subset(5, size=4, epsilon=35), 2, [0.05])
    assert not misplaced(sv.Changes(2, epsilon=35), 3, [0.05])
    assert not misplaced(sv.Unary(2, p=1e-9, q=2**-40), 2, [1e-12])
    assert not misplaced(sv.Unary(2, p=0.5, q=GRAIN), 2, [1e-30])


def test_a_wrong_bound_is_noticed() -> None:
    """The reference is no echo: bounds of slightly fewer or more reports are not on their side."""
    m = sv.KRR(3, epsilon=2.0)
    for n, complaint in ((3, "lower is above"), (5, "upper is below")):
        assert any(complaint in each for each in misplaced(m, 4, [0.05, 1e-3], exact_neighbours(m, 8 - n)))
