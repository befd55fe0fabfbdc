"""The survey contract: what is read, what is refused, how a budget is split, and that the digest stands for it all."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import loaded_modules
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from surveys import CHOICE, CODES, DRAFTS, FULL, MULTIPLE, NUMBER, ORDERED, PAGE, PANEL, QUESTIONS, SHAPE, YES_NO, draft

import sottovoce as sv
from sottovoce.core import canonical
from sottovoce.core.errors import FileError, ParameterError
from sottovoce.core.privacy import float_below
from sottovoce.device.respondent import Respondent
from sottovoce.survey import Survey, split
from sottovoce.survey.findings import findings

PUBLISHED = {name: Survey.from_dict(document).publish() for name, document in DRAFTS.items()}


# There and back.


@pytest.mark.parametrize("name", DRAFTS)
def test_a_draft_survives_a_round_trip(name: str) -> None:
    survey = Survey.from_dict(DRAFTS[name])
    assert not survey.published
    assert Survey.from_dict(survey.to_dict()) == survey == Survey.loads(json.dumps(DRAFTS[name]))
    assert survey.publish() == PUBLISHED[name]


@pytest.mark.parametrize("name", DRAFTS)
def test_a_published_survey_survives_a_round_trip(name: str) -> None:
    survey = PUBLISHED[name]
    again = Survey.loads(survey.canonical())
    assert survey.published and again == survey == survey.publish()
    assert (again.digest, again.epsilon, again.costs) == (survey.digest, survey.epsilon, survey.costs)
    assert Survey.loads(json.dumps(survey.to_dict(), indent=3).encode()).digest == survey.digest


def test_all_that_the_document_says_is_there() -> None:
    survey = PUBLISHED["full"]
    assert (survey.id, survey.title, survey.trust, survey.minimum) == ("habits", "Habits", "shuffle", 20)
    assert (survey.waves, survey.every, survey.budget, survey.split) == (1, "week", 4, None)
    assert survey.expires == datetime(2027, 1, 31, tzinfo=UTC) and survey.contact == "study@example.org"
    assert [covariate.id for covariate in survey.covariates] == ["region", "sex"]
    assert survey.covariates[0].domain.encode("south") == 1
    smokes = survey.question("smokes")
    assert smokes.mechanism == sv.KRR(["nein", "ja"], 1.0) and smokes.epsilon == smokes.mechanism.epsilon
    with pytest.raises(ParameterError, match="no question 'snores'"):
        survey.question("snores")


def test_auto_is_resolved_for_every_kind() -> None:
    names = {item.id: type(item.mechanism) for item in PUBLISHED["kinds"].questions}
    assert names == {
        "smokes": sv.RandomizedResponse,
        "travel": sv.KRR,
        "ward": sv.Projective,
        "drinks": sv.Sets,
        "age": sv.Ranges,
        "income": sv.Mean,
        "hours": sv.SquareWave,
    }
    assert [item.mechanism.randomize(value) is not None for item, value in zip(
        PUBLISHED["kinds"].questions, ["no", "bike", None, ["tea"], 37, 2e6, 7.5], strict=True)]  # fmt: skip


def test_named_mechanisms_are_kept() -> None:
    questions = [
        CHOICE | {"mechanism": "unary"},
        NUMBER | {"mechanism": "piecewise"},
        YES_NO | {"missing": "category"},
        SHAPE | {"mechanism": "square_wave", "bins": 12},
    ]
    travel, income, smokes, hours = Survey.from_dict(draft(*questions)).publish().questions
    assert isinstance(travel.mechanism, sv.Unary) and isinstance(income.mechanism, sv.Mean)
    assert income.mechanism.kind == "piecewise"
    assert smokes.mechanism.domain.labels == ("no", "yes", None)
    assert isinstance(hours.mechanism, sv.SquareWave) and hours.mechanism.bins == 12


def test_text_is_hashed_by_functions_of_its_own() -> None:
    """The hash functions depend on the survey and the question, and are written down."""
    (item,) = PUBLISHED["text"].questions
    assert isinstance(item.mechanism, sv.Hashed) and item.mechanism.salt == "habits/homepage"
    assert item.mechanism.domain == sv.Text(64) and item.mechanism.epsilon <= 4
    cut = Survey.from_dict(draft(PAGE | {"longer": "cut", "normalise": "NFC", "missing": "category"})).publish()
    assert cut.questions[0].mechanism.domain == sv.Text(64, "category", "cut", "NFC")


def test_defaults_are_spelled_out_when_published() -> None:
    document = PUBLISHED["small"].to_dict()
    assert (document["trust"], document["minimum"], document["schedule"]) == ("local", 50, {"waves": 1})
    assert "split" not in document and "contact" not in document and "covariates" not in document
    (question,) = document["questions"]
    assert (question["values"], question["missing"]) == (["no", "yes"], "refuse")
    bins = Survey.from_dict(draft({name: SHAPE[name] for name in SHAPE if name != "bins"})).publish().to_dict()
    assert bins["questions"][0]["bins"] == 64


def test_the_budget_of_a_survey_without_one_is_what_it_costs() -> None:
    survey = Survey.from_dict(draft(YES_NO | {"epsilon": 1}, CHOICE | {"epsilon": 0.5}, budget=None)).publish()
    assert survey.budget == survey.epsilon <= 1.5
    with pytest.raises(ParameterError, match="'smokes': give it an epsilon, or the survey a budget"):
        Survey.from_dict(draft(YES_NO, budget=None)).publish()


# Files.


def test_yaml_and_json_files_say_the_same(tmp_path: Path) -> None:
    yaml = """
    sottovoce: 1
    id: habits
    title: Habits   # the rest is a comment
    budget: 4
    expires: 2027-01-31T00:00:00Z
    questions:
    - {id: smokes, text: Smoking?, kind: yes_no, values: [no, yes]}
    - id: travel
      text: How?
      kind: choice
      values: [off, 0123, 12:30, 1.5, 7, null-ish, 1e3, 2027-01-31]
    """
    (tmp_path / "s.yaml").write_text(yaml.replace("text: Smoking?", 'text: "Smoking?"'))
    survey = Survey.read(tmp_path / "s.yaml")
    assert survey.question("smokes").values == ("no", "yes")
    assert survey.question("travel").values == ("off", "0123", "12:30", 1.5, 7, "null-ish", 1000, "2027-01-31")
    (tmp_path / "s.json").write_bytes(survey.publish().canonical())
    assert Survey.read(tmp_path / "s.json") == survey.publish() == Survey.read(str(tmp_path / "s.json"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x 1\nb: *x", "no aliases"),
        ("sottovoce: 1\nid: a\nid: b", "a key must occur once, got 'id' twice"),
        ("[" * 2000, "levels deep"),
        ("a: [1", "not YAML"),
        ("a: 1\n---\nb: 1", "not YAML"),
        ("1: 2", "a key must be text"),
        ("a: !!python/object:os.system x", "not YAML"),
        ("a: !!timestamp 2027-01-31", "JSON has text, numbers"),
        ("- 1", "must be a mapping of fields"),
        ("", "must be a mapping of fields"),
        ("a: .inf", "must begin with the version"),
        ("a: 99999999999999999999", "2^53"),
    ],
)
def test_yaml_has_no_traps(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(ParameterError) as error:
        Survey.read(path)
    assert message in str(error.value) and str(error.value).startswith(str(path)) and "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        Survey.read(tmp_path / "none.yaml")
    with pytest.raises(FileError, match="cannot be read"):
        Survey.read(tmp_path)
    (tmp_path / "long.json").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(ParameterError, match="at most 1,048,576 bytes"):
        Survey.read(tmp_path / "long.json")
    (tmp_path / "latin.yaml").write_bytes(b"title: caf\xe9")
    with pytest.raises(ParameterError, match="UTF-8"):
        Survey.read(tmp_path / "latin.yaml")


# What is refused.

LONG = "x" * 1001


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sottovoce": 2}, "sottovoce: 2 is a newer format than this program knows (1): update it"),
        ({"sottovoce": None}, "must begin with the version of its format, sottovoce: 1"),
        ({"sottovoce": "1"}, "sottovoce must be a whole number"),
        ({"sottovoce": True}, "sottovoce must be a whole number"),
        ({"colour": "red"}, "unknown field 'colour'"),
        ({"id": "Sleep"}, "id must match"),
        ({"id": "a\n"}, "id must match"),
        ({"id": None}, "the field 'id' is missing"),
        ({"title": ""}, "title must be text"),
        ({"title": " \n"}, "title must be text"),
        ({"title": 4}, "title must be text, got 4"),
        ({"title": "x" * 201}, "title must have at most 200 characters, got 201"),
        ({"title": "a\x07"}, "title must have no control characters"),
        ({"title": "a\u202eb"}, "title must have no control characters"),
        ({"contact": []}, "contact must be text, got []"),
        ({"trust": "me"}, "trust must be one of local, shuffle, federated, central, got 'me'"),
        ({"trust": ["local"]}, "trust must be one of"),
        ({"budget": 0}, "budget must be positive, got 0"),
        ({"budget": "4"}, "budget must be a number, got '4'"),
        ({"budget": True}, "budget must be a number, got True"),
        ({"split": "fair"}, "split must be one of need, equal, got 'fair'"),
        ({"minimum": 0}, "minimum must be a whole number from 1"),
        ({"minimum": 1.5}, "minimum must be a whole number from 1"),
        ({"expires": "2027-01-31"}, "expires must be a time in UTC such as 2027-01-31T00:00:00Z, got '2027-01-31'"),
        ({"expires": "2027-02-30T00:00:00Z"}, "expires must be a time in UTC"),
        ({"expires": "2027-01-31T00:00:00+01:00"}, "expires must be a time in UTC"),
        ({"expires": "٢٠٢٧-01-31T00:00:00Z"}, "expires must be a time in UTC"),
        ({"schedule": {"waves": 0}}, "schedule: waves must be a whole number from 1"),
        ({"schedule": {"every": "week"}}, "schedule: the field 'waves' is missing"),
        ({"schedule": {"waves": 2, "every": "fortnight"}}, "schedule: every must be one of"),
        ({"schedule": {"waves": 2, "from": 1}}, "schedule: unknown field 'from'"),
        ({"schedule": 4}, "schedule: must be a mapping of fields, got 4"),
        ({"covariates": {"id": "a"}}, "covariates must be a list of 0 to 20 entries"),
        ({"covariates": [{"id": "a"}]}, "covariate 1: the field 'values' is missing"),
        ({"covariates": [{"id": "a", "values": ["x", 1]}]}, "covariate 1: values must hold text, got 1"),
        ({"covariates": [{"id": "smokes", "values": ["x", "y"]}]}, "got 'smokes' twice"),
        ({"questions": []}, "questions must be a list of 1 to 100 entries, got 0 of them"),
        ({"questions": [YES_NO] * 101}, "questions must be a list of 1 to 100 entries, got 101 of them"),
        ({"questions": [YES_NO, YES_NO]}, "ids must differ from one another, got 'smokes' twice"),
        ({"questions": "smokes"}, "questions must be a list of 1 to 100 entries, got 'smokes'"),
        ({"questions": [YES_NO, 4]}, "question 2: must be a mapping of fields, got 4"),
    ],
)  # fmt: skip
def test_a_bad_field_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        Survey.from_dict(draft(YES_NO, **change))
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (YES_NO | {"id": "Smokes"}, "question 1: id must match"),
        (YES_NO | {"id": "__proto__"}, "question 1: id must match"),
        (YES_NO | {"kind": "maybe"}, "kind must be one of yes_no, choice, multiple, ordered, number"),
        (YES_NO | {"kind": ["yes_no"]}, "question 'smokes': kind must be one of"),
        ({"id": "smokes", "text": "?"}, "question 'smokes': kind must be one of"),
        ({"id": "smokes", "kind": "yes_no"}, "question 'smokes': the field 'text' is missing"),
        (YES_NO | {"text": LONG}, "question 'smokes': text must have at most 1,000 characters, got 1,001"),
        (YES_NO | {"colour": 1}, "question 'smokes': unknown field 'colour'"),
        (YES_NO | {"low": 1}, "question 'smokes': unknown field 'low'"),
        (YES_NO | {"values": ["a", "b", "c"]}, "values must be 2, one for no and one for yes, got 3"),
        (YES_NO | {"values": [True, False]}, "question 'smokes': values must hold text or numbers"),
        (YES_NO | {"values": 2}, "question 'smokes': values must be a list"),
        (YES_NO | {"epsilon": 0}, "question 'smokes': epsilon must be positive, got 0"),
        (YES_NO | {"epsilon": 37}, "question 'smokes': epsilon must be at most 36"),
        (YES_NO | {"epsilon": "1"}, "question 'smokes': epsilon must be a number, got '1'"),
        (YES_NO | {"mechanism": "magic"}, "question 'smokes': mechanism must be one of auto, rr, krr"),
        (YES_NO | {"mechanism": {"mechanism": "magic"}}, "question 'smokes': a mechanism must be one of"),
        (YES_NO | {"mechanism": 4}, "question 'smokes': mechanism must be one of"),
        (YES_NO | {"mechanism": sv.KRR(3, 1.0).to_dict()}, "mechanism must be one for this question"),
        (YES_NO | {"mechanism": sv.KRR([0, 1], 1.0).to_dict()}, "mechanism must be one for this question"),
        (YES_NO | {"mechanism": sv.KRR(["no", "yes"], p=1 - 2.0**-53).to_dict()}, "epsilon must be at most 36"),
        (CHOICE | {"mechanism": "rr"}, "question 'travel': mechanism must be one of auto, krr"),
        (CHOICE | {"mechanism": sv.Ranges(CHOICE["values"], 1.0).to_dict()}, "mechanism must be one for this question"),
        (CHOICE | {"values": 2**20 + 1, "mechanism": "unary"}, "'travel': a report must take at most 1,048,576 bits"),
        (CHOICE | {"values": 2**21, "mechanism": sv.Unary(2**21, 1.0).to_dict()}, "must take at most 1,048,576 bits"),
        (CHOICE | {"values": ["a"]}, "question 'travel': values must be a list of 2 to 10,000 values"),
        (CHOICE | {"values": ["a", "a"]}, "question 'travel': values must differ from one another, got 'a' twice"),
        (CHOICE | {"values": ["a", ""]}, "question 'travel': each of values must be text, got ''"),
        (CHOICE | {"values": ["a", "b" * 201]}, "each of values must have at most 200 characters"),
        (CHOICE | {"values": ["a", None]}, "question 'travel': values must hold text or numbers"),
        (CHOICE | {"values": 1}, "question 'travel': values must be a whole number from 2"),
        (CHOICE | {"values": True}, "question 'travel': values must be"),
        (CHOICE | {"values": "a,b"}, "question 'travel': values must be a list"),
        (CHOICE | {"missing": "drop"}, "question 'travel': missing must be one of refuse, category, got 'drop'"),
        (MULTIPLE | {"missing": "category"}, "question 'drinks': unknown field 'missing'"),
        (NUMBER | {"low": 1e6}, "question 'income': low must be below high"),
        (NUMBER | {"high": "x"}, "question 'income': high must be a number, got 'x'"),
        (NUMBER | {"outside": "drop"}, "question 'income': outside must be one of refuse, clip, got 'drop'"),
        (NUMBER | {"bins": 4}, "question 'income': bins go with estimate: distribution, got 4"),
        (NUMBER | {"mechanism": "square_wave"}, "question 'income': mechanism 'square_wave' does not estimate a mean"),
        (NUMBER | {"mechanism": sv.Mean(0, 9, 1.0).to_dict()}, "mechanism must be one for this question"),
        (SHAPE | {"bins": 1}, "question 'hours': bins must be a whole number from 2 to 1,024, got 1"),
        (SHAPE | {"mechanism": "hybrid"}, "question 'hours': mechanism 'hybrid' does not estimate a distribution"),
        (SHAPE | {"epsilon": 0.01}, "question 'hours': epsilon must be at least 0.05"),
        (SHAPE | {"mechanism": sv.SquareWave(0, 24, bins=12, epsilon=1.0).to_dict()}, "mechanism must be one"),
        (NUMBER | {"memoize": True}, "memoize is for the kinds yes_no, choice and text, not for number"),
        (ORDERED | {"memoize": True}, "question 'age': memoize is for the kinds yes_no, choice and text"),
        (PAGE | {"max_bytes": 0}, "question 'homepage': max_bytes must be a whole number from 1 to 4,096, got 0"),
        (PAGE | {"longer": "drop"}, "question 'homepage': longer must be one of refuse, cut, got 'drop'"),
        (PAGE | {"longer": "cut", "max_bytes": 3}, "question 'homepage': max_bytes must be a whole number from 4"),
        (PAGE | {"values": ["a", "b"]}, "question 'homepage': unknown field 'values'"),
        (YES_NO | {"memoize": 1}, "question 'smokes': memoize must be true, false or {permanent: epsilon}, got 1"),
        (YES_NO | {"memoize": {}}, "question 'smokes': the field 'permanent' is missing"),
        (YES_NO | {"memoize": {"permanent": 1}}, "question 'smokes': epsilon must be given, and below permanent = 1"),
        (YES_NO | {"memoize": {"permanent": 1}, "epsilon": 1}, "below permanent = 1, got 1.0"),
        (YES_NO | {"memoize": {"permanent": -1}, "epsilon": 1}, "permanent must be positive, got -1"),
        (CHOICE | {"memoize": True, "mechanism": "subset", "epsilon": 1}, "kind must be one of rr, krr"),
        (YES_NO | {"changes": 1}, "question 'smokes': changes is for a question with memoize"),
        (YES_NO | {"memoize": False, "changes": 1}, "question 'smokes': changes is for a question with memoize"),
        (YES_NO | {"memoize": True, "changes": -1}, "changes must be a whole number from 0 to 1,048,576, got -1"),
        (YES_NO | {"memoize": True, "changes": 1.5}, "changes must be a whole number from 0 to 1,048,576, got 1.5"),
        (YES_NO | {"memoize": True, "changes": None}, "changes must be a whole number from 0 to 1,048,576, got None"),
    ],
)  # fmt: skip
def test_a_bad_question_is_named(question: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        Survey.from_dict(draft(question)).publish()
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("document", [None, [], 4, "x", {1: 2}, {"sottovoce": float("nan")}, {"sottovoce": {1}}])
def test_what_is_no_document_is_refused(document: Any) -> None:
    with pytest.raises(ParameterError):
        Survey.from_dict(document)


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"{", b"[" * 10**5, b'{"a":1,"a":2}', b" " * (2**20 + 1), b"1e999", None, 4]
)
def test_bytes_from_anywhere_are_refused_in_one_line(data: Any) -> None:
    with pytest.raises(ParameterError) as error:
        Survey.loads(data)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_a_draft_has_no_digest_and_no_cost() -> None:
    survey = Survey.from_dict(draft())
    for use in (survey.canonical, lambda: survey.digest, lambda: survey.epsilon, lambda: survey.costs):
        with pytest.raises(ParameterError, match="survey 'habits' is a draft: publish it first"):
            use()
    with pytest.raises(ParameterError, match="question 'smokes' has no mechanism until its survey is published"):
        _ = survey.questions[0].mechanism


# Published surveys are exact.


def changed(name: str, change: Any) -> dict[str, Any]:
    document = copy.deepcopy(PUBLISHED[name].to_dict())
    change(document)
    return document


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["questions"][0].update(epsilon=0.5), "epsilon must be what the mechanism costs"),
        (lambda d: d["questions"][0].update(epsilon=2), "question 'smokes': epsilon must be what the mechanism costs"),
        (lambda d: d["questions"][0]["mechanism"].update(epsilon=0.5), "epsilon must be what the mechanism costs"),
        (lambda d: d["questions"][0]["mechanism"].update(p=0.9), "epsilon must be what the mechanism"),
        (lambda d: d["questions"][0]["mechanism"].update(p=0.1 + 2**-57), "must be exact"),
        (lambda d: d["questions"][0]["mechanism"].update(note="x"), "just the fields"),
        (lambda d: d.update(budget=3.9), "budget must cover what the questions cost, 3.9999"),
        (lambda d: d.update(schedule={"waves": 2}), "budget must cover what the questions cost, 7.99999"),
        (lambda d: d["questions"][0].update(memoize=False), "question 'smokes': memoize goes with the name"),
        (lambda d: d["questions"][0].update(values=["yes", "no"]), "mechanism must be one for this question"),
        (lambda d: d["questions"][2].update(missing="refuse"), "mechanism must be one for this question"),
        (lambda d: d["questions"][5].update(high=200000), "question 'income': mechanism must be one for this question"),
        (lambda d: d["questions"][5].update(outside="refuse"), "mechanism must be one for this question"),
    ],
)  # fmt: skip
def test_a_published_survey_that_does_not_add_up_is_refused(change: Any, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        Survey.from_dict(changed("kinds", change))
    assert message in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("trust"),
        lambda d: d.pop("schedule"),
        lambda d: d.pop("budget"),
        lambda d: d.update(split="need"),
        lambda d: d.update(covariates=[]),
        lambda d: d["questions"][0].pop("epsilon"),
        lambda d: d["questions"][0].pop("missing"),
        lambda d: d["questions"][0].update(mechanism="auto"),
    ],
)
def test_what_leaves_anything_open_is_a_draft(change: Any) -> None:
    """So that the digest of a published survey is that of the document as it stands, in any language."""
    survey = Survey.from_dict(changed("kinds", change))
    assert not survey.published and survey.publish().published
    with pytest.raises(ParameterError, match="is a draft: publish it first"):
        _ = survey.digest


def test_waves_are_told_beside_a_cost_only_where_there_are_several() -> None:
    with pytest.raises(ParameterError, match=r"cost, [0-9.]+, got 3\.9$"):
        Survey.from_dict(changed("kinds", lambda d: d.update(budget=3.9)))


def test_an_ulp_over_the_budget_is_refused() -> None:
    survey = PUBLISHED["kinds"]
    exact = sum((Fraction(item.mechanism.epsilon) for item in survey.questions), Fraction(0))
    Survey.from_dict(changed("kinds", lambda d: d.update(budget=survey.epsilon)))
    with pytest.raises(ParameterError, match="budget must cover"):
        Survey.from_dict(changed("kinds", lambda d: d.update(budget=float_below(exact - Fraction(1, 2**60)))))


@pytest.mark.parametrize("path", [("title",), ("budget",), ("minimum",), ("expires",), ("questions", 0, "text")])
def test_the_digest_changes_with_the_document(path: tuple[Any, ...]) -> None:
    new = {"title": "Other", "budget": 5, "minimum": 51, "expires": "2028-01-01T00:00:00Z", "text": "Do you snore?"}

    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = new[path[-1]]

    assert Survey.from_dict(changed("full", change)).digest != PUBLISHED["full"].digest


# The budget.


def total(survey: Survey) -> Fraction:
    return sum((item.cost(survey.waves) for item in survey.questions), Fraction(0))


@pytest.mark.parametrize("budget", [1.0, 11.7])
@pytest.mark.parametrize("waves", [1, 3])
def test_split_by_need_gives_equal_errors(budget: float, waves: int) -> None:
    """One wave is compared. The errors are equal to the step in which shares are looked for."""
    survey = Survey.from_dict(draft(budget=budget * waves, schedule={"waves": waves})).publish()
    errors = [item.error(item.cost(waves), waves) for item in survey.questions]
    assert max(errors) < 1.02 * min(errors)
    assert 0.999 * budget * waves < total(survey) <= Fraction(budget * waves)


def test_who_needs_more_gets_more() -> None:
    """A mean, a choice of three and one of 300 at equal errors; an equal split would leave the last far behind."""
    cost = {
        item.id: item.mechanism.epsilon for item in Survey.from_dict(draft(NUMBER, CHOICE, CODES)).publish().questions
    }
    assert cost["income"] < cost["travel"] < cost["ward"]


def test_equal_split_and_own_epsilons() -> None:
    questions = [YES_NO | {"epsilon": 1.5}, CHOICE, MULTIPLE]
    smokes, travel, drinks = Survey.from_dict(draft(*questions, split="equal")).publish().questions
    assert smokes.mechanism == sv.RandomizedResponse(1.5, domain=["no", "yes"])
    assert travel.mechanism.epsilon == pytest.approx(1.25) == drinks.mechanism.epsilon
    for cost in (4, 4.5):
        with pytest.raises(ParameterError, match="budget"):
            Survey.from_dict(draft(YES_NO | {"epsilon": cost}, CHOICE)).publish()


def test_a_budget_beyond_all_use_is_not_spent() -> None:
    survey = Survey.from_dict(draft(YES_NO, CHOICE, budget=1000)).publish()
    assert all(item.mechanism.epsilon <= 36 for item in survey.questions)


def test_a_budget_too_small_says_so() -> None:
    with pytest.raises(ParameterError, match=r"question 'hours': epsilon must be at least 0\.05"):
        Survey.from_dict(draft(SHAPE, YES_NO, budget=0.05)).publish()
    with pytest.raises(ParameterError, match="question 'smokes': p must differ from 1/2"):
        Survey.from_dict(draft(YES_NO, budget=1e-20)).publish()
    paid = YES_NO | {"id": "paid", "epsilon": 1}
    with pytest.raises(ParameterError, match=r"budget 1\.0 is spent before question 'smokes' is asked"):
        Survey.from_dict(draft(paid, YES_NO, CHOICE, budget=1.0)).publish()


@settings(max_examples=25)
@given(
    budget=st.floats(0.5, 50),
    waves=st.integers(1, 7),
    way=st.sampled_from(["need", "equal"]),
    chosen=st.lists(st.sampled_from([YES_NO, CHOICE, MULTIPLE, ORDERED, YES_NO | {"id": "m", "memoize": True},
                                     CHOICE | {"id": "n", "memoize": True}, CODES | {"memoize": True}]),
                    min_size=1, max_size=4, unique_by=lambda question: question["id"]),
)  # fmt: skip
def test_a_budget_is_never_exceeded(budget: float, waves: int, way: str, chosen: list[dict[str, Any]]) -> None:
    survey = Survey.from_dict(draft(*chosen, budget=budget, split=way, schedule={"waves": waves})).publish()
    assert 0 < total(survey) <= Fraction(budget)
    assert survey.epsilon <= budget and Survey.loads(survey.canonical()) == survey


@given(st.fractions(Fraction(1, 1000), 100), st.lists(st.floats(0.1, 10), min_size=1, max_size=5))
def test_shares_add_up_to_the_budget_at_most(budget: Fraction, needs: list[float]) -> None:
    shares = split.by_need(budget, [lambda share, need=need: need / share for need in needs])  # type: ignore[misc]
    assert sum(map(Fraction, shares)) <= budget
    for share, need in zip(shares, needs, strict=True):
        assert share == pytest.approx(float(budget) * need / sum(needs), rel=0.01)
    assert sum(map(Fraction, split.equally(budget, len(needs)))) <= budget


# Waves and memory.


def test_fresh_waves_multiply_the_cost() -> None:
    survey = Survey.from_dict(draft(YES_NO | {"epsilon": 1}, schedule={"waves": 4})).publish()
    assert survey.epsilon == 4 * survey.question("smokes").mechanism.epsilon
    with pytest.raises(ParameterError, match=r"budget must cover what the questions cost, 5\.0 in 5 waves, got 4\.0"):
        Survey.from_dict(draft(YES_NO | {"epsilon": 1}, schedule={"waves": 5}))


def test_memoized_questions_cost_what_a_device_may_charge() -> None:
    """In the worst case the answer changes in every wave, but there are no more permanent answers than values."""
    survey = PUBLISHED["panel"]
    kinds = {item.id: item.mechanism for item in survey.questions}
    assert all(isinstance(kinds[name], sv.Memoized) for name in ("smokes", "travel", "ward"))
    smokes, travel = kinds["smokes"], kinds["travel"]
    assert isinstance(smokes, sv.Memoized) and isinstance(travel, sv.Memoized)
    assert survey.costs["smokes"] == 2 * smokes.epsilon_forever
    assert travel == sv.Memoized.of(CHOICE["values"], "krr", permanent=1.0, first=0.4)
    assert survey.costs["travel"] == 3 * travel.epsilon_forever


def test_a_published_survey_without_a_bound_on_changes_has_the_digest_it_had() -> None:
    question = {"id": "travel", "text": "How?", "kind": "choice", "values": ["car", "bus", "bike"], "memoize": True,
                "mechanism": "krr", "epsilon": 0.5}  # fmt: skip
    document = {"sottovoce": 1, "id": "panel", "title": "Panel", "schedule": {"waves": 5}, "questions": [question]}
    known = "15997476a6cc0d4ec4fde874c82a6552e98fe107f28aa73dda4a2fef4f72dc8b"
    assert Survey.from_dict(document).publish().digest == f"sha256:{known}"


@pytest.mark.parametrize(
    ("changes", "values", "waves", "answers"),
    [(None, 20, 60, 20), (None, 20, 6, 6), (0, 20, 60, 1), (1, 20, 60, 2), (30, 20, 60, 20), (4, 20, 3, 3)],
)
def test_a_budget_is_split_over_the_answers_that_are_drawn(
    changes: int | None, values: int, waves: int, answers: int, tmp_path: Path
) -> None:
    """What the survey says, what its device reviews, and what it charges who changes in every wave: all the same."""
    bound = {} if changes is None else {"changes": changes}
    question = {"id": "ward", "text": "?", "kind": "choice", "values": values, "memoize": True} | bound
    drawn = Survey.from_dict(draft(question, budget=4, schedule={"waves": waves}))
    survey = Survey.loads(drawn.publish().canonical())
    m = survey.questions[0].mechanism
    assert isinstance(m, sv.Memoized) and m.changes == changes
    assert m.epsilon_forever == pytest.approx(4 / answers) and 4 - 1e-9 < survey.epsilon <= 4
    me = Respondent(tmp_path / "me.sqlite", budget=4)
    assert me.review(survey).epsilon == survey.epsilon
    for wave in range(waves):
        me.answer(survey, {"ward": wave % values}, wave)
    assert me.ledger.spent == survey.epsilon


@pytest.mark.parametrize("question", ["smokes", "travel", "ward"])
def test_what_a_device_charges_is_within_what_the_survey_says(question: str) -> None:
    survey = PUBLISHED["panel"]
    m = survey.question(question).mechanism
    assert isinstance(m, sv.Memoized)
    memory, charged = m.begin(), Fraction(0)
    for wave in range(survey.waves):
        step = m.step(m.domain.labels[wave % m.domain.size], memory)
        memory, charged = step.memory, charged + Fraction(step.epsilon)
    assert 0 < charged <= survey.costs[question]


def test_a_mechanism_for_fewer_waves_is_refused() -> None:
    m = sv.Changes(waves=4, changes=1, epsilon=1.0, domain=["no", "yes"])
    survey = Survey.from_dict(draft(YES_NO | {"mechanism": m.to_dict()}, schedule={"waves": 4})).publish()
    assert survey.epsilon <= 1
    with pytest.raises(ParameterError, match="question 'smokes': its mechanism is for 4 waves only"):
        Survey.from_dict(draft(YES_NO | {"mechanism": m.to_dict()}, schedule={"waves": 5}))


# What there is to know.


def test_findings() -> None:
    rules = [finding.rule for finding in findings(PUBLISHED["kinds"])]
    assert rules == ["contact", "expires"]
    late = findings(PUBLISHED["full"], now=datetime(2027, 1, 31, tzinfo=UTC))
    assert [finding.rule for finding in late] == ["shuffle", "expired"]
    early = findings(PUBLISHED["full"], now=datetime(2027, 1, 30, tzinfo=UTC))
    assert [finding.rule for finding in early] == ["shuffle"]
    assert [finding.rule for finding in findings(PUBLISHED["mixed"])] == ["contact", "expires"]
    weak = Survey.from_dict(draft(YES_NO | {"epsilon": 5}, budget=6, contact="me", expires="2999-01-01T00:00:00Z"))
    assert [finding.rule for finding in findings(weak.publish())] == ["budget", "weak"]
    panel = [str(finding) for finding in findings(PUBLISHED["panel"]) if finding.rule == "waves"]
    assert panel[1] == (
        "warning: travel: 5 waves cost epsilon = 3, not 0.4 (1 if the answer never changes; when it does may show)"
    )


# Devices.

DEVICE = """
from sottovoce.survey import Survey
data = sys.stdin.buffer.read()
survey = Survey.loads(data)
print(survey.published, survey.epsilon, survey.digest, survey.canonical() == data)
for question in survey.questions:
    question.mechanism.epsilon, question.mechanism.bits
"""


@pytest.mark.parametrize("name", ["kinds", "panel"])
def test_a_device_needs_the_standard_library_alone(name: str) -> None:
    survey = PUBLISHED[name]
    assert loaded_modules.run(DEVICE, survey.canonical()) == f"True {survey.epsilon} {survey.digest} True\n[]\n"


def test_surveys_are_values() -> None:
    again = Survey.from_dict(FULL).publish()
    assert again == PUBLISHED["full"] and again is not PUBLISHED["full"]
    assert canonical.loads(again.canonical()) == again.to_dict()
    with pytest.raises(AttributeError):
        again.budget = 7  # type: ignore[misc]
    assert len(QUESTIONS) == 7 and PANEL["budget"] == 12
