from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.randomness import Keystream, Replay
from sottovoce.trust import DiscreteLaplace


def seeded(seed: int) -> Replay:
    return Replay(Keystream(seed).draws(200_000).tolist())


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, math.log(3), 4.0])
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_never_spends_more_than_asked(epsilon: float, sensitivity: int) -> None:
    m = DiscreteLaplace(epsilon, sensitivity)
    assert epsilon - 1e-9 < m.epsilon <= epsilon


def test_the_noise_has_its_law() -> None:
    """Each of the central outcomes within 5 standard deviations: false alarms below 1e-5, seeded."""
    n = 20_000
    m = DiscreteLaplace(1.0)
    noise = Counter(m.release([0] * n, seeded(1)))
    a = float(m.ratio)
    for k in range(-3, 4):
        chance = (1 - a) / (1 + a) * a ** abs(k)
        assert abs(noise[k] - n * chance) < 5 * math.sqrt(n * chance * (1 - chance))
    spread = math.sqrt(sum(count * k * k for k, count in noise.items()) / n)
    assert spread == pytest.approx(m.stderr, rel=0.05)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.5, True])
def test_bad_sensitivity(sensitivity: int) -> None:
    with pytest.raises(sv.ParameterError, match="sensitivity must be a whole number"):
        DiscreteLaplace(1.0, sensitivity)


@given(st.floats(1e-15, 36), st.integers(1, 1000))
def test_spends_at_most_what_is_asked_or_refuses(epsilon: float, sensitivity: int) -> None:
    try:
        assert DiscreteLaplace(epsilon, sensitivity).epsilon <= epsilon
    except sv.ParameterError:
        assert epsilon < 1e-10
