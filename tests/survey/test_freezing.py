"""What a bound on changes costs: reports about an earlier value, and what following more changes costs instead."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.errors import Refusal
from sottovoce.device.respondent import Respondent
from sottovoce.statistics.planning import expected_frozen, frozen_bias
from sottovoce.survey import Survey
from sottovoce.survey.memoized_questions import price_of_changes
from sottovoce.survey.question import Question


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("changes", [0, 1, 4, 50])
def test_the_expected_share_is_the_tail_of_a_binomial(rate: float, changes: int) -> None:
    for wave, share in enumerate(expected_frozen(20, changes, rate)):
        tail = sum(math.comb(wave, k) * rate**k * (1 - rate) ** (wave - k) for k in range(changes + 1, wave + 1))
        assert share == pytest.approx(tail, abs=1e-12)


@pytest.mark.parametrize(
    ("waves", "changes", "rate", "says"),
    [(0, 1, 0.1, "waves"), (10**5, 1, 0.1, "waves must be at most 10,000"), (5, -1, 0.1, "changes"),
     (5, 1.5, 0.1, "changes"), (5, 1, 1.1, "rate"), (5, 1, math.nan, "rate")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(waves: Any, changes: Any, rate: Any, says: str) -> None:
    with pytest.raises(sv.ParameterError, match=says):
        expected_frozen(waves, changes, rate)


def drifting(people: int, waves: int, rate: float) -> list[np.ndarray]:
    """Values 0, 1, 2, ... of people each of whom goes on to the next value now and then: no one returns."""
    rng = np.random.default_rng(7)
    steps = rng.random((waves - 1, people)) < rate
    return [np.zeros(people, dtype=np.int64), *np.cumsum(steps, axis=0)]


def test_the_share_of_frozen_reports_is_as_expected() -> None:
    """20,000 people: shares are known to 0.0036, and 0.02 is more than five times that. False alarms below 1e-6."""
    waves = drifting(20_000, 8, 0.3)
    for frozen, share in zip(frozen_bias(8, waves, changes=1), expected_frozen(8, 1, 0.3), strict=True):
        assert frozen.share == pytest.approx(share, abs=0.02)
        assert max(map(abs, frozen.bias.values())) <= frozen.share + 1e-12
        assert sum(frozen.bias.values()) == pytest.approx(0, abs=1e-12)


def test_estimates_are_off_by_the_bias_that_is_stated() -> None:
    """Within 5 standard errors of the truth plus the bias, and far from the truth. False alarms below 1e-4."""
    waves = drifting(40_000, 6, 0.3)
    m = sv.Memoized.of(6, "krr", permanent=4.0, first=3.0, changes=1)
    known = frozen_bias(6, waves, changes=1)
    for wave, reports, frozen in zip(waves, m.randomize_waves(waves, seed=3), known, strict=True):
        estimate, truth = m.tally().add_many(reports).estimate(), np.bincount(wave, minlength=6) / len(wave)
        bias = np.array(list(frozen.bias.values()))
        assert (abs(estimate.frequency - truth - bias) < 5 * estimate.stderr).all()
    assert abs(bias).max() > 20 * estimate.stderr.max()


def test_following_more_changes_costs_accuracy_and_never_more_than_the_budget() -> None:
    item, domain = Question("ward", "?", "choice", memoize=True), sv.Domain(20)
    rows = price_of_changes(item, domain, 4.0, 60, 10_000)
    assert [row.changes for row in rows] == [0, 1, 2, 3, 4, 5, None]
    assert [row.answers for row in rows] == [1, 2, 3, 4, 5, 6, 20]
    assert [row.error for row in rows] == sorted(row.error for row in rows)
    for row in rows:
        assert row.permanent * row.answers == pytest.approx(4)
        asked = {"id": "ward", "text": "?", "kind": "choice", "values": 20, "memoize": True}
        bound = {} if row.changes is None else {"changes": row.changes}
        document = {"sottovoce": 1, "id": "s", "title": "S", "budget": 4, "schedule": {"waves": 60}}
        made: Any = Survey.from_dict(document | {"questions": [asked | bound]}).publish().questions[0].mechanism
        assert math.sqrt(made.variance / 10_000) == row.error and made.epsilon == row.first
    assert len(price_of_changes(item, sv.Domain(2), 4.0, 60, 10_000)) == 2  # None, or all of one.
    assert price_of_changes(item, sv.Domain(20), 4.0, 2, 100)[-1].answers == 2
    whole = Question("ward", "?", "choice", values=20, memoize=True)
    assert whole.price_of_changes(4.0, 2, 10_000) != []
    assert whole.price_of_changes(4.0, 1, 10_000) == [], "in one wave nothing changes"


def test_the_planner_shows_what_changes_cost(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--memoized", "--waves", "60", "--budget", "4", "--domain", "20", "--n", "10000", "--rate", "0.02"]
    assert main(asked) == 0
    shown = capsys.readouterr().out
    assert "answers drawn" in shown and "69.6%" in shown and "60 waves of 10,000 people" in shown
    assert main([*asked, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [row["changes"] for row in record["changes"]] == [0, 1, 2, 3, 4, 5, None]
    assert record["changes"][0]["frozen"] == pytest.approx(1 - 0.98**59)
    assert main(asked[:-2]) == 0 and "frozen" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--memoized", "--waves", "5", "--budget", "4", "--n", "100"], "give --domain too"),
        (["--memoized", "--waves", "5", "--budget", "-1", "--n", "100", "--domain", "5"], "budget must lie above 0"),
        (["--memoized", "--waves", "0", "--budget", "4", "--n", "100", "--domain", "5"], "0 is not in the range x>=1"),
        (["--memoized", "--waves", "5", "--budget", "1", "--n", "0", "--domain", "5"], "n must be"),
        (["--epsilon", "1", "--n", "100", "--rate", "0.5"], "--rate goes with --memoized"),
    ],
)
def test_a_bad_question_about_changes_gets_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


def test_a_survey_says_how_many_changes_are_followed_and_what_others_would_cost(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    question = {"id": "ward", "text": "?", "kind": "choice", "values": 20, "memoize": True, "changes": 1}
    document = {
        "sottovoce": 1,
        "id": "s",
        "title": "S",
        "budget": 4,
        "schedule": {"waves": 60},
        "questions": [question],
    }
    path = tmp_path / "s.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main(["survey", "check", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "a device follows 1 change of the answer" in shown
    assert "beyond 1 change reports are about an earlier answer" in shown
    assert "ward: 60 waves of 10,000 people for the same epsilon" in shown


def wandering(changes: int | None) -> Survey:
    """Six waves of a question whose permanent answers cost 2 each."""
    asked = {"id": "town", "text": "Where do you live?", "kind": "choice", "values": ["a", "b", "c", "d"],
             "memoize": True, "mechanism": "krr", "epsilon": 1.0}  # fmt: skip
    asked |= {} if changes is None else {"changes": changes}
    document = {"sottovoce": 1, "id": "towns", "title": "Towns", "schedule": {"waves": 6}, "questions": [asked]}
    return Survey.from_dict(document).publish()


def test_a_budget_does_not_end_at_a_change(tmp_path: Path) -> None:
    """A device that falls silent when the answer changes tells that it did: it refuses at the start, or never."""
    asked = wandering(changes=1)
    poor, rich = (Respondent(tmp_path / f"{budget}.sqlite", budget=budget) for budget in (3.9, 4.0))
    assert "over the budget of 3.9" in str(poor.review(asked).refusal)
    with pytest.raises(Refusal, match=r"total to epsilon = 4, over the budget of 3\.9"):
        poor.answer(asked, {"town": "a"})
    assert rich.review(asked).refusal is None
    for wave, town in enumerate("aabcab"):
        rich.answer(asked, {"town": town}, wave=wave)
        assert rich.review(asked).refusal is None or rich.ledger.spent == 4.0
    assert [charge.wave for charge in rich.ledger.charges()] == [0, 2]


@pytest.mark.parametrize("town", ["a", "b"])
def test_what_other_surveys_spend_meanwhile_is_refused_whatever_the_answer(tmp_path: Path, town: str) -> None:
    me = Respondent(tmp_path / "me.sqlite", budget=4.5)
    asked, other = wandering(changes=1), wandering(changes=0)
    other = Survey.from_dict(other.to_dict() | {"id": "other"})
    me.answer(asked, {"town": "a"})
    me.preview(asked, {"town": town}, wave=1)
    me.answer(other, {"town": "a"})
    for wave in (1, 2):
        with pytest.raises(Refusal, match="over the budget"):
            me.answer(asked, {"town": town}, wave=wave)
    me.ledger.set_budget(6.0)
    me.answer(asked, {"town": town}, wave=1)


def test_without_a_bound_nothing_is_set_aside(tmp_path: Path) -> None:
    me = Respondent(tmp_path / "me.sqlite", budget=2.0)
    assert me.review(wandering(changes=None)).refusal is None
    me.answer(wandering(changes=None), {"town": "a"})
