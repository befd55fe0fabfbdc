from __future__ import annotations

import math
from decimal import Decimal, Inexact, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import (
    GRID,
    Probability,
    check_epsilon,
    check_probability,
    exp_below,
    log_above,
    round_down,
    round_up,
)


@given(st.floats(min_value=1e-6, max_value=36))
def test_exp_below_is_just_below(x: float) -> None:
    with localcontext() as context:
        context.prec = 100
        true = Fraction(Decimal(x).exp())
    assert exp_below(x) < true
    assert true - exp_below(x) < true * Fraction(1, 10**57)


@given(st.integers(1, GRID - 1), st.integers(1, GRID - 1))
def test_log_above_is_the_next_float_up(a: int, b: int) -> None:
    ratio = Fraction(a, b)
    with localcontext() as context:
        context.prec = 100
        true = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        bound = log_above(ratio)
        assert Decimal(bound) >= true
        assert Decimal(math.nextafter(bound, -math.inf)) <= true


@given(st.fractions(min_value=Fraction(1, GRID), max_value=1 - Fraction(1, GRID)))
def test_rounding_to_the_grid_is_outward_and_tight(x: Fraction) -> None:
    down, up = round_down(x), round_up(x)
    assert down <= x <= up
    assert up - down <= Fraction(1, GRID)
    assert float(down) == down and float(up) == up, "exact as a float64"
    assert (down * GRID).denominator == 1


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (0, "epsilon must be positive, got 0"),
        (-1, "epsilon must be positive, got -1"),
        (float("nan"), "epsilon must be a number, got nan"),
        (float("inf"), "epsilon must be at most 36"),
        (36.5, "epsilon must be at most 36"),
        ("1", "epsilon must be a number, got '1'"),
        (True, "epsilon must be a number, got True"),
        (None, "epsilon must be a number, got None"),
    ],
)
def test_bad_epsilon(epsilon: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_epsilon(epsilon)


@pytest.mark.parametrize("value", [0, 1, -0.5, 1.5, math.nan, math.inf, "0.5", None, True])
def test_bad_probability(value: object) -> None:
    with pytest.raises(ParameterError, match="p must"):
        check_probability("p", value)


def test_numbers_of_numpy_are_numbers() -> None:
    assert check_epsilon(np.float32(0.5)) == 0.5
    assert check_probability("p", np.float32(0.5)) == Fraction(1, 2)


def test_probabilities_print_as_decimals() -> None:
    p = Probability(3, 4)
    assert (repr(p), str(p), f"{p:.1%}", p + 0.25) == ("0.75", "0.75", "75.0%", 1.0)


@given(st.integers(GRID // 2 + 1, GRID - 1), st.integers(1, 28))
def test_the_callers_decimals_do_not_matter(bound: int, digits: int) -> None:
    """Arithmetic in the caller's context once declared 1.0 for what cost 1.0012."""
    expected = log_above(Fraction(bound, GRID - bound))
    with localcontext() as context:
        context.prec = digits
        context.traps[Inexact] = True
        assert log_above(Fraction(bound, GRID - bound)) == expected


def test_numbers_beyond_floats_are_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon must be at most 36"):
        check_epsilon(10**400)
    with pytest.raises(ParameterError, match="p must be a number between 0 and 1"):
        check_probability("p", 10**400)
