"""What a survey with a shuffler promises against those who see batches alone, and when it promises nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from shuffler_service import document

from sottovoce.core.privacy import float_above
from sottovoce.survey import Survey
from sottovoce.survey.shuffle_guarantee import ShuffleGuarantee
from sottovoce.trust.shuffle import accounting, shuffle_epsilon

ONE = {"id": "smokes", "text": "Do you smoke?", "kind": "choice", "values": 2, "mechanism": "krr", "epsilon": 1}
TWO = ONE | {"id": "drinks"}
REMEMBERED = ONE | {"memoize": True, "mechanism": "auto"}
HONEST, DELTA = 1000, 1e-6


def survey(*questions: dict[str, Any], waves: int) -> Survey:
    return Survey.from_dict(document(HONEST, waves, questions=list(questions))).publish()


def promised(asked: Survey) -> ShuffleGuarantee:
    assert isinstance(asked.guarantee, ShuffleGuarantee)
    return asked.guarantee


@pytest.mark.parametrize("waves", [1, 3])
def test_one_question_is_hidden_by_the_others_in_each_wave(waves: int) -> None:
    asked = survey(ONE, waves=waves)
    found = promised(asked)
    assert found.central == shuffle_epsilon(asked.questions[0].mechanism, HONEST, DELTA, rounds=waves).upper
    assert found.central is not None and found.central < found.local == asked.epsilon
    assert (found.delta, found.honest, found.minimum) == (DELTA, HONEST, HONEST)


def test_several_questions_are_taken_for_one_that_costs_as_much() -> None:
    asked = survey(ONE, TWO, waves=2)
    local = sum(question.mechanism.epsilon for question in asked.questions)
    assert promised(asked).central == shuffle_epsilon(local, HONEST, DELTA, rounds=2).upper


def test_a_permanent_answer_is_not_hidden_anew_in_each_wave() -> None:
    """Reports of one permanent answer are not independent. A single wave of them is."""
    assert promised(survey(REMEMBERED, waves=3)).central is None
    assert promised(survey(REMEMBERED, TWO, waves=3)).central is None
    assert promised(survey(REMEMBERED, waves=1)).central is not None


@pytest.mark.parametrize("waves", [1, 4])
def test_without_the_accounting_library_delta_is_split_over_the_waves(
    monkeypatch: pytest.MonkeyPatch, waves: int
) -> None:
    asked, exact = survey(ONE, waves=waves), accounting.shuffle_upper

    def plain(*arguments: Any, **options: Any) -> float:
        if "rounds" in options:
            raise ImportError("no library of accounting")
        return exact(*arguments, **options)

    monkeypatch.setattr(accounting, "shuffle_upper", plain)
    one = shuffle_epsilon(asked.questions[0].mechanism, HONEST, DELTA / waves).upper
    assert promised(asked).central == float_above(waves * Fraction(one))


def test_no_more_is_promised_than_each_report_costs() -> None:
    """With one honest report among few, mixing hides nothing that randomizing does not."""
    few = Survey.from_dict(document(2, 1, questions=[ONE | {"epsilon": 0.1}])).publish()
    assert (promised(few).central or 0) <= few.epsilon
