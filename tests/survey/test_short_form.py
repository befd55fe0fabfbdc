"""The short form of a question is a survey question: the same object, the same mechanism, the same words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.survey import Question, Survey, short_form

PAIRS: list[tuple[str, dict[str, Any]]] = [
    ("q:yes_no", {"kind": "yes_no"}),
    ("q:yes_no:off,on", {"kind": "yes_no", "values": ["off", "on"]}),
    ("q:choice:no,yes,maybe", {"kind": "choice", "values": ["no", "yes", "maybe"]}),
    ("q:choice:300", {"kind": "choice", "values": 300}),
    ("q:ordered:100", {"kind": "ordered", "values": 100}),
    ("q:multiple:tea,milk", {"kind": "multiple", "values": ["tea", "milk"]}),
    ("q:number:0:120", {"kind": "number", "low": 0, "high": 120}),
    ("q:number:0:120:distribution:8", {"kind": "number", "low": 0, "high": 120, "estimate": "distribution", "bins": 8}),
    ("q:number:-1:1:distribution", {"kind": "number", "low": -1, "high": 1, "estimate": "distribution"}),
    ("q:text:16", {"kind": "text", "max_bytes": 16}),
    ("q:text", {"kind": "text", "max_bytes": 64}),
]


@pytest.mark.parametrize(("line", "fields"), PAIRS, ids=[line for line, _ in PAIRS])
def test_a_line_is_the_question_of_a_document(line: str, fields: dict[str, Any], tmp_path: Path) -> None:
    expected = Question.from_dict({"id": "q", "text": "q", **fields})
    assert short_form.parse(line).question() == expected
    path = tmp_path / "q.yaml"
    path.write_text(json.dumps([{"id": "q", **fields}]))
    (entry,) = short_form.read(path)
    assert entry.question() == expected
    assert short_form.settle([expected], 1.5) == {"q": expected.build(1.5)}


def test_no_and_yes_are_texts_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "q.yaml"
    path.write_text(
        "- {id: a, kind: choice, values: [no, yes]}\n- {id: b, values: 'no,yes'}\n- {id: c, kind: yes_no}\n"
    )
    document = "sottovoce: 1\nid: s\ntitle: S\nquestions:\n  - {id: a, text: a, kind: choice, values: [no, yes]}\n"
    (tmp_path / "s.yaml").write_text(document)
    (asked,) = Survey.read(tmp_path / "s.yaml").questions
    found = [entry.question().values for entry in short_form.read(path)]
    assert [*found, short_form.parse("a:choice:no,yes").question().values] == [("no", "yes")] * 4
    assert asked.values == ("no", "yes")


def test_the_budget_is_split_as_that_of_a_survey() -> None:
    lines = ("a:yes_no", "b:choice:300", "c:number:0:9")
    questions = [short_form.parse(line).question() for line in lines]
    document = {"sottovoce": 1, "id": "s", "title": "S", "budget": 2, "split": "equal"}
    published = Survey.from_dict(document | {"questions": [question.to_dict() for question in questions]}).publish()
    assert short_form.settle(questions, 2.0) == {item.id: item.mechanism for item in published.questions}


def test_what_a_mechanism_in_a_file_costs_is_taken_off_first(tmp_path: Path) -> None:
    path, made = tmp_path / "m.json", sv.Hashed("krr", 64, 4, 0.5)
    path.write_text(json.dumps({"n": 9, "mechanism": made.to_dict()}))
    questions = [short_form.parse("a:yes_no").question(), short_form.parse("b:text", mechanism=str(path)).question()]
    found = short_form.settle(questions, 2.0)
    assert found["b"] == made and found["a"].epsilon == pytest.approx(1.5)
    with pytest.raises(ParameterError, match=r"the questions cost 0\.5 together, more than epsilon = 0\.4"):
        short_form.settle(questions[1:], 0.4)
    path.write_text(json.dumps(sv.KRR(["no", "yes"], 1.0).to_dict()))
    (found_choice,) = short_form.settle(
        [short_form.parse("a:choice:no,yes", mechanism=str(path)).question()], None
    ).values()
    assert found_choice == sv.KRR(["no", "yes"], 1.0)
    with pytest.raises(ParameterError, match="must be one for this question"):
        short_form.parse("a:choice:no,maybe", mechanism=str(path)).question()


def test_labels_of_the_column() -> None:
    entry = short_form.parse("a:choice")
    assert entry.takes_labels and entry.question(lambda: ["x", "y"]).values == ("x", "y")
    with pytest.raises(ParameterError, match="question 'a': its values must be listed in the file"):
        entry.question()
    assert short_form.of_column("a", mechanism="rr").question(lambda: ["x", "y"]).build(1.0) == sv.RandomizedResponse(
        1.0, domain=["x", "y"]
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "yes_no"}, "a question must have an id"),
        ({"id": 7}, "id must be text, got 7"),
        ({"id": "a", "kind": "set", "values": ["x", "y"]}, "question 'a': the kind 'set' is called multiple"),
        ({"id": "a", "kind": "yes_no", "low": 3}, "question 'a': unknown field 'low'"),
        ({"id": "a", "kind": "yes_no", "memoize": "x"}, "question 'a': memoize must be"),
        ({"id": "a", "values": ["x", True]}, "put true and false in quotes"),
        ({"id": "a", "values": ["x", "x"]}, "got 'x' twice"),
        ({"id": "a", "values": ["x", "y"], "max_bits": 0}, "max_bits must be a whole number from 1"),
        ([], "must be a mapping of fields"),
    ],
)
def test_entries_that_are_refused(entry: Any, message: str) -> None:
    with pytest.raises(SottovoceError, match=message):
        short_form.of_fields(entry).question()
