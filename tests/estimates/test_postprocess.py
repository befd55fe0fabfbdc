from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.estimates.postprocess import STEPS, clip, em, simplex

supports = st.lists(st.integers(0, 1000), min_size=2, max_size=12).filter(lambda s: sum(s) > 0)


def estimate(support: list[int], epsilon: float = 1.0) -> sv.Estimate:
    m = sv.KRR(len(support), epsilon=epsilon)
    return sv.Estimate(m.domain, sum(support), np.array(support), m.p, m.q, m.epsilon)


@given(supports, st.sampled_from(list(STEPS)))
def test_steps_say_they_are_biased_and_keep_the_intervals(support: list[int], name: str) -> None:
    before = estimate(support)
    after = STEPS[name](before)
    assert after.steps == (name,) and before.steps == ()
    assert f"biased by {name}" in after.caption
    assert (after.interval().low == before.interval().low).all()
    assert (after.frequency >= 0).all() and (after.frequency <= 1 + 1e-12).all()


@given(supports)
def test_simplex_is_the_nearest_distribution(support: list[int]) -> None:
    before = estimate(support)
    f = simplex(before).frequency
    assert f.sum() == pytest.approx(1)
    # The projection makes an obtuse angle with every direction back into the simplex.
    for corner in np.eye(len(support)):
        assert (before.frequency - f) @ (corner - f) <= 1e-9


@given(supports, st.floats(0.5, 4))
def test_em_maximises_the_likelihood_of_krr(support: list[int], epsilon: float) -> None:
    before = estimate(support, epsilon)
    f = em(before, tolerance=1e-13).frequency
    assert f.sum() == pytest.approx(1)
    p, q = float(before.p), float(before.q)

    def loglik(g: np.ndarray) -> float:
        return float(before.support @ np.log(q + (p - q) * g))

    for corner in np.eye(len(support)):
        step = 1e-4
        assert loglik((1 - step) * f + step * corner) <= loglik(f) + 1e-6 * before.n


def test_inside_the_simplex_nothing_moves() -> None:
    before = estimate([400, 350, 250], epsilon=2.0)
    assert before.frequency.min() > 0
    for step in (clip, simplex):
        np.testing.assert_allclose(step(before).frequency, before.frequency, atol=1e-12)
    np.testing.assert_allclose(em(before).frequency, before.frequency, atol=1e-5)


def test_steps_may_follow_one_another_and_a_sort() -> None:
    before = estimate([900, 50, 50])
    both = simplex(clip(before.sort()))
    assert both.steps == ("clip", "simplex")
    assert em(both).steps == ("em",), "it starts from the counts"
    assert both.labels == before.sort().labels
    assert both.frequency[0] == simplex(clip(before)).frequency[0]


def test_bad_requests() -> None:
    with pytest.raises(sv.ParameterError, match="iterations must be at least 1"):
        em(estimate([1, 2]), iterations=0)
    spinner = sv.RandomizedResponse.warner(0.3).tally().add(1).estimate()
    with pytest.raises(sv.ParameterError, match="em needs reports that lean towards the truth"):
        em(spinner)
