"""Differences between groups: the same as the test of one difference, honest false alarms, Holm's correction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sottovoce import KRR, Mean, Sets
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import to_float
from sottovoce.statistics import difference_test
from sottovoce.statistics.histograms.group_differences import differences, holm
from sottovoce.statistics.proportions.proportion import Proportion


def test_one_difference_is_that_of_the_score_test() -> None:
    m = KRR(["no", "yes"], epsilon=1.0)
    first, second = (m.tally().add_many([1] * yes + [0] * (1000 - yes)).estimate() for yes in (460, 410))
    (found,) = differences({("a", "b"): (first, second)})
    coin: dict[str, Any] = {"p": m.p, "q": m.q, "epsilon": m.epsilon}
    expected = difference_test(Proportion(410, 1000, **coin), Proportion(460, 1000, **coin))
    assert found.label == "yes" and found.p_value == pytest.approx(expected.p_value) == pytest.approx(found.adjusted)
    assert (found.low, found.high) == pytest.approx(tuple(expected.interval or ()))
    assert found.estimate == pytest.approx(to_float(expected.estimate or 0.0))


def test_several_values_means_and_sets() -> None:
    krr, mean, sets = KRR(["a", "b", "c"], epsilon=1.0), Mean(0, 10, epsilon=1.0), Sets(["a", "b"], epsilon=1.0)
    cases: list[tuple[Any, Any]] = [(krr, [["a", "b"], ["b", "c"]]), (mean, [[2.0], [8.0]]), (sets, [[["a"]], [["b"]]])]
    for m, answers in cases:
        columns = [m.randomize_many(part * 4000, seed=at) for at, part in enumerate(answers)]
        first, second = (m.tally().add_many(column).estimate() for column in columns)
        found = differences({("x", "y"): (first, second)})
        assert len(found) == {krr: 3, mean: 1, sets: 2}[m]
        assert all(one.low < one.estimate < one.high for one in found)
        assert min(one.adjusted for one in found) < 1e-6


def test_groups_must_have_answered_the_same() -> None:
    both = (KRR(list(names), epsilon=1.0) for names in ("abc", "abd"))
    first, second = (m.tally().add_many([0, 1, 2]).estimate() for m in both)
    with pytest.raises(ParameterError, match="same question"):
        differences({("x", "y"): (first, second)})
    assert differences({}) == []


def test_holm() -> None:
    assert holm([]) == [] and holm([0.2]) == [0.2]
    assert holm([0.01, 0.02, 0.03, 0.5]) == pytest.approx([0.04, 0.06, 0.06, 0.5])
    assert max(holm([0.9, 0.8, 0.7])) == 1.0


def alarms(correct: bool, surveys: int = 300) -> float:
    """In how many seeded surveys, with three groups alike, some difference of four values stands out at 5%."""
    m, rng = KRR(["a", "b", "c", "d"], epsilon=1.5), np.random.default_rng(11)
    p, q = float(m.p), float(m.q)
    law = q + (p - q) * np.array([0.4, 0.3, 0.2, 0.1])
    pairs: dict[Any, Any] = {}
    for survey in range(surveys):
        cells = rng.multinomial(400, law / law.sum(), size=3)
        groups = [m.tally().add_many(np.repeat(np.arange(4), row)).estimate() for row in cells]
        pairs |= {(f"{survey} {a}", f"{b}"): (groups[a], groups[b]) for a, b in ((0, 1), (1, 2), (0, 2))}
    p_values = np.reshape([one.p_value for one in differences(pairs)], (surveys, 12))
    return float(np.mean([min(holm(row) if correct else row) <= 0.05 for row in p_values.tolist()]))


def test_groups_that_are_alike_seldom_look_different() -> None:
    """With Holm's correction at most 5% of all surveys raise a false alarm, so 9% of 300 would be seen less often than
    once in 500 seeds; without it many do."""
    assert alarms(correct=True) <= 0.09 < 0.15 < alarms(correct=False)
