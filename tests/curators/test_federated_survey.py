"""A survey among curators: its document, its guarantee, its tasks, and who refuses what."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import loaded_modules
import pytest
from curator_group import NAMES as FIVE
from curator_group import CuratorKiller, Group, Processes, is_right, processes
from surveys import CHOICE, CURATED, MULTIPLE, NUMBER, ORDERED, PAGE, PANEL, SHAPE, YES_NO, draft

from sottovoce import Survey
from sottovoce.cli import main
from sottovoce.collector.layout import Layout
from sottovoce.core.errors import ParameterError, Refusal
from sottovoce.curators import Curator, CuratorData, Task, federate, survey_task
from sottovoce.demo.adult import OCCUPATIONS
from sottovoce.device.ledger import Ledger
from sottovoce.device.respondent import Respondent
from sottovoce.mechanisms import mechanism
from sottovoce.survey.federation import CuratorGuarantee
from sottovoce.survey.findings import findings
from sottovoce.trust.federated import Average, Histogram

NAMES = ("north", "east", "south")
THREE: dict[str, Any] = {"curators": list(NAMES)}
ANSWERS = {
    "north": ["yes,bus,10", "no,car,20", ",boat,", "None,bus,-5"] * 25,
    "east": ["yes,bike,30", "no,,1e9"] * 40,
    "south": ["no,car,nan"] * 30,
}
COUNTS = {"smokes": [95, 65, 25], "travel": [50, 55, 40]}
"""Of those who answered no, yes and nothing; bus, car and bike."""


def curated(*questions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A draft among three curators."""
    fields = {"trust": "federated", "federated": THREE, "minimum": 5} | fields
    return draft(*(questions or (YES_NO | {"missing": "category"}, CHOICE, NUMBER)), **fields)


def published(*questions: dict[str, Any], **fields: Any) -> Survey:
    return Survey.from_dict(curated(*questions, **fields)).publish()


def write(folder: Path, header: str = "smokes,travel,income") -> dict[str, Path]:
    for name, rows in ANSWERS.items():
        (folder / f"{name}.csv").write_text("\n".join([header, *rows]) + "\n")
    return {name: folder / f"{name}.csv" for name in NAMES}


class Surveyed(Group):
    """Curators who hold a survey."""

    def __init__(self, folder: Path, *surveys: Survey, **options: Any) -> None:
        self.surveys, self.now = surveys, datetime(2026, 1, 1, tzinfo=UTC)
        super().__init__(folder, write(folder), **({"budget": 200.0, "seed": 1} | options))

    def restart(self, name: str) -> Curator:
        made = super().restart(name)
        made.surveys, made.clock = self.surveys, lambda: self.now
        return made

    @property
    def charges(self) -> int:
        return sum(len(curator.ledger.charges()) for curator in self.curators.values())


# The document.


def test_a_published_document_says_all_there_is_to_say() -> None:
    survey = published()
    assert survey.to_dict()["federated"] == {
        "curators": list(NAMES), "threshold": 1, "dropouts": 0, "noise": "divisible", "sharing": "shamir"}  # fmt: skip
    assert Survey.loads(survey.canonical()) == survey and survey.digest != published(federated=THREE | {
        "noise": "full"}).digest  # fmt: skip


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (curated(trust="local"), "federated goes with trust: federated, got trust: local"),
        (curated(PAGE), "question 'homepage': curators cannot add up answers of the kind text"),
        (curated(MULTIPLE), "question 'drinks': curators cannot add up answers of the kind multiple"),
        (curated(SHAPE), "question 'hours': curators add up to the mean of a number"),
        (curated(YES_NO | {"memoize": True}), "question 'smokes': memoize is for devices"),
        (curated(CHOICE | {"values": 2**32}), "question 'travel': the number of values must be"),
        (curated(CHOICE | {"values": ["1", 1]}), "question 'travel': values must be different"),
        (curated(CHOICE | {"values": 10**5}, federated={"curators": [f"c{at}" for at in range(50)]}), "values times"),
        (curated(NUMBER | {"epsilon": 0.001}), "question 'income': epsilon must be at least 2^-16"),
        (curated(covariates=[{"id": "sex", "values": ["f", "m"]}]), "federated goes without covariates"),
        (curated(federated={}), "federated: the field 'curators' is missing"),
        (curated(federated=[]), "federated: must be a mapping"),
        (curated(federated={"curators": ["a"]}), "federated: curators must be a list of 2 to 1,000 names"),
        (curated(federated={"curators": "ab"}), "federated: curators must be a list"),
        (curated(federated={"curators": ["a", "a"]}), "federated: curators must differ"),
        (curated(federated={"curators": ["a", "B"]}), "federated: each of curators must match"),
        (curated(federated={"curators": ["a", None]}), "federated: each of curators must match"),
        (curated(federated=THREE | {"threshold": 3}), "federated: the threshold must be"),
        (curated(federated=THREE | {"threshold": True}), "federated: threshold must be a whole number"),
        (curated(federated=THREE | {"dropouts": 2}), "federated: drop-outs must be"),
        (curated(federated=THREE | {"sharing": "additive", "threshold": 1}), "federated: additive sharing"),
        (curated(federated=THREE | {"noise": "none"}), "federated: noise must be one of"),
        (curated(federated=THREE | {"colour": 1}), "federated: unknown field 'colour'"),
    ],
)
def test_what_is_no_survey_among_curators_is_refused(document: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said.replace("^", r"\^")) as error:
        Survey.from_dict(document)
    assert "\n" not in str(error.value)


def test_a_remembered_answer_is_refused_also_when_it_is_written_out() -> None:
    """Its cost of many waves is less than what fresh noise in each wave costs."""
    kept = Survey.from_dict(PANEL).publish().to_dict()["questions"][0]
    assert mechanism(kept["mechanism"]).name == "memoized"
    with pytest.raises(ParameterError, match="memoize is for devices"):
        Survey.from_dict(curated(kept, budget=100, schedule={"waves": 5}))


def test_questions_are_asked_with_their_own_values() -> None:
    survey = published(*CURATED["questions"], CHOICE | {"id": "ward", "values": 3}, NUMBER | {
        "id": "cut", "outside": "refuse"})  # fmt: skip
    asked = {item.id: item.query() for item in survey.questions}
    assert asked["smokes"] == Histogram(("no", "yes"), missing=True) and asked["ward"] == Histogram(3)
    assert asked["age"] == Histogram(("1", "2", "2.5")) and asked["travel"] == Histogram(("bus", "car", "bike"))
    assert asked["income"] == Average(0, 1e5) and asked["cut"] == Average(0, 1e5, outside="refuse")


def test_every_question_gets_the_same_share_of_a_budget() -> None:
    """Among curators the error of a count, and of a mean in units of its range, does not depend on the values."""
    survey = published(YES_NO, CHOICE | {"values": 300}, ORDERED, NUMBER, budget=4)
    assert all(0.999999 < item.mechanism.epsilon <= 1 for item in survey.questions) and survey.epsilon <= 4


@pytest.mark.parametrize("extra", [{}, {"noise": "full"}, {"threshold": 2}, {"sharing": "additive"}])
def test_the_guarantee_is_that_of_all_results_together(extra: dict[str, Any]) -> None:
    survey = published(federated=THREE | extra, schedule={"waves": 3}, budget=9)
    found, federation = survey.guarantee, survey.federated
    assert isinstance(found, CuratorGuarantee) and federation is not None
    sums: dict[int, Fraction] = {}
    for item in survey.questions:
        noise = federation.parties.shares(item.mechanism.epsilon, item.query().sensitivity)
        for coalition in federation.parties.coalitions(noise, federation.parties.least):
            sums[coalition.size] = sums.get(coalition.size, Fraction(0)) + 3 * Fraction(coalition.epsilon)
    threshold = federation.threshold
    assert max(float(sums[size]) for size in range(threshold + 1)) <= found.within <= survey.epsilon
    assert found.within < float(max(sums[size] for size in range(threshold + 1))) * (1 + 1e-12)
    if threshold + 1 in sums:
        assert found.beyond is not None and sums[threshold + 1] <= found.beyond < float(sums[threshold + 1]) * (
            1 + 1e-12
        )
    else:
        assert found.beyond is None
    assert any("one's own curator sees the answers" in line for line in found.lines())
    assert json.loads(json.dumps(found.to_dict()))["within"] == {"curators": threshold, "epsilon": found.within}


def test_findings_speak_of_curators() -> None:
    said = {finding.rule: str(finding) for finding in findings(published())}
    assert "curators would answer for ever" in said["expires"]
    only = Survey.from_dict(draft(YES_NO, trust="federated")).publish()
    assert "devices randomize" in {f.rule: str(f) for f in findings(only)}["federated"] and only.guarantee is None


# Devices and collectors.


def test_a_device_sends_nothing_to_curators(tmp_path: Path) -> None:
    me, survey = Respondent(tmp_path / "me.sqlite"), published()
    with pytest.raises(Refusal, match=r"survey habits is for curators.* no device sends a report"):
        me.answer(survey, {"smokes": "no", "travel": "bus", "income": 5})
    with pytest.raises(Refusal, match="is for curators"):
        me.preview(survey, {"smokes": "no", "travel": "bus", "income": 5})
    review = me.review(survey)
    assert review.refusal and "REFUSED" in str(review) and "one's own curator sees the answers" in str(review)
    assert me.ledger.spent == 0 and not me.ledger.charges()


def test_a_device_reviews_it_with_the_standard_library_alone(tmp_path: Path) -> None:
    program = f"""
from sottovoce.device.respondent import Respondent
review = Respondent({str(tmp_path / "me.sqlite")!r}).review(sys.stdin.buffer.read())
print(review.refusal is not None, review.survey.guarantee.within <= review.epsilon)
"""
    assert loaded_modules.run(program, published().canonical()) == "True True\n[]\n"


def test_a_collector_takes_no_survey_among_curators() -> None:
    with pytest.raises(ParameterError, match="'habits' is for curators"):
        Layout(published())


# Tasks.


def test_a_survey_is_asked_question_by_question(tmp_path: Path) -> None:
    survey = published(budget=90)
    group = Surveyed(tmp_path, survey)
    results = {item.id: federate(survey_task(survey, item.id, group.cards), group) for item in survey.questions}
    for question, counts in COUNTS.items():
        assert abs(results[question].total - counts).max() <= 3, question
    assert [row.label for row in results["smokes"].rows] == ["no", "yes", None]
    assert "(missing)" in str(results["smokes"]) and json.dumps(results["smokes"].to_dict(), allow_nan=False)
    people, total, _ = results["income"].rows
    assert people.low <= 155 <= people.high and total.low <= 40 * 1e5 + 40 * 30 + 25 * 30 <= total.high
    asked = results["smokes"].task.asked
    assert asked is not None and (asked.survey, asked.question, asked.wave) == (survey.digest, "smokes", 0)
    assert group.charges == 9


def test_asked_again_a_survey_gives_the_same_and_charges_nothing(tmp_path: Path) -> None:
    survey = published(schedule={"waves": 2})
    group = Surveyed(tmp_path, survey)
    first = federate(survey_task(survey, "travel", group.cards), group)
    group.curators = {name: group.restart(name) for name in NAMES}
    again = federate(survey_task(survey, "travel", group.cards), group)
    assert first.total.tolist() == again.total.tolist() and group.charges == 3
    federate(survey_task(survey, "travel", group.cards, wave=1), group)
    assert group.charges == 6
    with pytest.raises(ParameterError, match="a wave of survey habits must be from 0 to 1, got 2"):
        survey_task(survey, "travel", group.cards, wave=2)


def changed(task: Task, **fields: Any) -> dict[str, Any]:
    record = task.to_dict()
    return record | {name: change(record[name]) if callable(change) else change for name, change in fields.items()}


CHANGES: dict[str, Mapping[str, Any]] = {
    "a larger epsilon": {"epsilon": lambda epsilon: epsilon * 1.5},
    "a smaller epsilon": {"epsilon": 0.01},
    "other values": {"query": lambda query: query | {"values": ["bus", "car", "boat"]}},
    "fewer values": {"query": lambda query: query | {"values": ["bus", "car"]}},
    "missing answers counted": {"query": lambda query: query | {"missing": True}},
    "another query": {"query": Average(0, 1).to_dict()},
    "another column": {"column": "income"},
    "another name": {"id": "travel-again"},
    "a larger threshold": {"threshold": 2},
    "the whole noise": {"noise": "full"},
    "no survey": {"asked": None},
    "another survey": {"asked": lambda asked: asked | {"survey": "sha256:" + "0" * 64}},
    "another question": {"asked": lambda asked: asked | {"question": "smokes"}},
    "no question": {"asked": lambda asked: asked | {"question": "colour"}},
    "another wave": {"asked": lambda asked: asked | {"wave": 1}},
    "a smaller minimum": {"asked": lambda asked: asked | {"minimum": 0}},
    "another order": {"curators": lambda curators: curators[::-1]},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_curator_refuses_whatever_its_survey_does_not_say(tmp_path: Path, change: str) -> None:
    survey = published()
    group = Surveyed(tmp_path, survey)
    record = changed(survey_task(survey, "travel", group.cards), **CHANGES[change])
    Task.from_dict(record)  # It is a task, only not one of the survey.
    with pytest.raises(Refusal) as error:
        group.ask("north", "agree", {"task": record})
    assert "\n" not in str(error.value) and "habits" in str(error.value)
    assert group.charges == 0
    group.curators["north"].surveys = ()
    assert group.ask("north", "agree", {"task": record})  # Without a survey of its own it takes it.


def test_what_was_agreed_on_before_there_was_a_survey_is_not_shared_after(tmp_path: Path) -> None:
    survey = published()
    group = Surveyed(tmp_path)
    task = Task.from_dict(changed(survey_task(survey, "travel", group.cards), epsilon=3.0))
    for name in NAMES:
        group.ask(name, "agree", {"task": task.to_dict()})
        group.curators[name].surveys = (survey,)
    with pytest.raises(Refusal, match="by survey habits the epsilon must be"):
        group.ask("north", "share", {"task": task.digest, "roster": list(NAMES)})
    assert group.charges == 0


@pytest.mark.parametrize(
    "asked", [5, {}, {"survey": "x"}, {"survey": "", "question": "q", "wave": 0, "minimum": 0},
              {"survey": "x", "question": 1, "wave": 0, "minimum": 0}, {"survey": "x", "question": "q", "wave": -1,
              "minimum": 0}, {"survey": "x", "question": "q", "wave": True, "minimum": 0}],
)  # fmt: skip
def test_what_is_no_question_of_a_survey_is_no_task(tmp_path: Path, asked: Any) -> None:
    group = Surveyed(tmp_path)
    record = survey_task(published(), "travel", group.cards).to_dict()
    with pytest.raises(ParameterError):
        Task.from_dict(record | {"asked": asked})


def test_curators_with_two_versions_of_a_survey_do_not_work_together(tmp_path: Path) -> None:
    survey, other = published(), published(title="Habits, again")
    group = Surveyed(tmp_path, survey)
    group.curators["east"].surveys = (other,)
    with pytest.raises(Refusal, match=r"3 curators are needed, 2 are left.*east: agree: the survey .* is another than"):
        federate(survey_task(survey, "travel", group.cards), group)
    assert group.charges == 0 and {step for _, step, _ in group.asked} == {"agree"}


def test_a_survey_that_has_expired_is_asked_no_more(tmp_path: Path) -> None:
    survey = published(expires="2026-01-01T00:00:00Z")
    group = Surveyed(tmp_path, survey)
    with pytest.raises(Refusal, match="survey habits expired at 2026-01-01"):
        federate(survey_task(survey, "travel", group.cards), group)


def test_fewer_people_than_the_minimum_give_no_result(tmp_path: Path) -> None:
    """Neither the coordinator nor any curator goes on: no sum of pieces is asked for, and none would be given."""
    survey = published(minimum=211)
    group = Surveyed(tmp_path, survey)
    task = survey_task(survey, "travel", group.cards)
    with pytest.raises(Refusal, match="at least 211 people must be in a result, got 210"):
        federate(task, group)
    assert {step for _, step, _ in group.asked} == {"agree", "share"}
    manifests = [group.ask(name, "share", {"task": task.digest, "roster": list(NAMES)})["message"] for name in NAMES]
    with pytest.raises(Refusal, match="at least 211 people"):
        group.ask("north", "confirm", {"task": task.digest, "manifests": manifests})


@pytest.mark.parametrize(
    ("survey", "said"),
    [
        (lambda: Survey.from_dict(curated()), "is a draft: publish it"),
        (lambda: Survey.from_dict(draft(YES_NO)).publish(), "names no curators: it has trust: local"),
        (lambda: published(federated={"curators": ["north", "mars"]}), "names the curator 'mars', who is not among"),
        (lambda: published(YES_NO), "has no question 'travel'"),
    ],
)
def test_what_cannot_be_asked_is_said(tmp_path: Path, survey: Callable[[], Survey], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        survey_task(survey(), "travel", Surveyed(tmp_path).cards)


def test_a_column_may_have_another_heading(tmp_path: Path) -> None:
    survey = published(CHOICE, budget=30)
    group = Surveyed(tmp_path, survey)
    for name, path in write(tmp_path, "Q1,Q2,Q3").items():
        group.curators[name].data = CuratorData(path, {"travel": "Q2"})
    assert abs(federate(survey_task(survey, "travel", group.cards), group).total - COUNTS["travel"]).max() <= 3


def test_missing_answers_of_every_file_are_counted_as_such(tmp_path: Path) -> None:
    """A missing answer is none of the values, not even of one that is spelled None or nan."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    query = Histogram(("None", "nan", "1"), missing=True)
    (tmp_path / "a.csv").write_text("x,y\n,1\nNone,1\nnan,1\n1,1\n")
    parquet.write_table(pa.table({"x": [1.0, float("nan"), None, 2.5]}), tmp_path / "b.parquet")
    parquet.write_table(pa.table({"x": ["None", None, "", "1"]}), tmp_path / "c.parquet")
    found = {
        name: CuratorData(tmp_path / name).count("x", query)[0].tolist() for name in ("a.csv", "b.parquet", "c.parquet")
    }
    assert found["b.parquet"] == [0, 0, 1, 2] and found["c.parquet"] == [1, 0, 1, 2]
    assert sum(found["a.csv"]) == 4 and found["a.csv"][0] == 1 and found["a.csv"][2] == 1


def test_one_person_changes_the_counts_of_a_question_by_two_at_most() -> None:
    for item in Survey.from_dict(CURATED).publish().questions:
        query = item.query()
        answers = [None, "", "nan", "no", "yes", "bus", "car", "1", "2.5", "-1e300", "0", "5e4", "1e5", "1e300", "x"]
        columns = [query.column([answer]) for answer in answers] + [query.column([])]
        assert max(int(abs(a - b).sum()) for a in columns for b in columns) == query.sensitivity


# The commands.


@pytest.fixture
def three(tmp_path: Path) -> Iterator[tuple[Processes, Path]]:
    survey = tmp_path / "survey.json"
    survey.write_bytes(published(budget=60).canonical())
    write(tmp_path)
    with processes(tmp_path) as made:
        made.start(*NAMES, more=["--survey", str(survey), "--budget", "70"])
        yield made, survey


def test_a_survey_among_processes(
    three: tuple[Processes, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    group, survey = three
    asked = ["federate", str(group.peers), "--attempts", "1"]
    assert main([*asked, "--survey", str(survey), "--json", "--plot", str(tmp_path / "all.svg")]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["digest"] == Survey.read(survey).digest and not record["refused"]
    assert [one["task"]["asked"]["question"] for one in record["results"]] == ["smokes", "travel", "income"]
    values = [row["value"] for row in record["results"][1]["estimate"]]
    assert all(abs(value - count) <= 3 for value, count in zip(values, COUNTS["travel"], strict=True))
    assert (tmp_path / "all.svg").stat().st_size > 1000
    assert main([*asked, "--survey", str(survey), "-q", "smokes"]) == 0
    shown = capsys.readouterr().out
    assert "smokes" in shown and "(missing)" in shown and "coalition" in shown
    assert main([*asked, "--id", "free", "-c", "travel", "-d", "bus,car"]) == 2
    assert "north, east, south: agree: refused (409 refused): only questions of a survey" in capsys.readouterr().err
    other = tmp_path / "other.json"
    other.write_bytes(published(budget=61).canonical())
    assert main([*asked, "--survey", str(other)]) == 2
    error = capsys.readouterr().err
    assert "3 of 3 questions have no result: smokes, travel, income: 3 curators" in error and error.count("\n") == 1
    group.kill("east")
    assert main([*asked, "--survey", str(survey)]) == 2
    assert "3 curators are needed, 2 are left" in capsys.readouterr().err


@pytest.mark.slow
def test_five_processes_ask_a_survey_with_two_killed_at_each_step_in_turn(tmp_path: Path) -> None:
    """A real column, split by rows: right over the survivors or over all, one wave for each step."""
    question = {"id": "occupation", "text": "What is your occupation?", "kind": "choice", "values": list(OCCUPATIONS)}
    parties = {"curators": list(FIVE), "threshold": 1, "dropouts": 2}
    survey = published(question, federated=parties, schedule={"waves": 4}, budget=8)
    (tmp_path / "survey.json").write_bytes(survey.canonical())
    more = ["--survey", str(tmp_path / "survey.json")]
    with processes(tmp_path) as group:
        group.start(*FIVE, more=more)
        for wave, step in enumerate(("agree", "share", "confirm", "sum")):
            network = CuratorKiller(group, ("east", "west"), step)
            result = federate(survey_task(survey, "occupation", network.cards, wave), network)
            assert set(result.dropped) == {"east", "west"} and is_right(result)
            assert len(result.curators) == (3 if step in ("agree", "share") else 5)
            group.start("east", "west", more=more)
        network = CuratorKiller(group, (), "nothing")
        with pytest.raises(Refusal, match="by survey habits the epsilon must be"):
            federate(replace(survey_task(survey, "occupation", network.cards), epsilon=3.0), network)


def test_what_is_published_before_a_budget_ends_is_shown(
    three: tuple[Processes, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    group, survey = three
    for name in NAMES:
        ledger = Ledger(tmp_path / name / "ledger.sqlite", budget=70)
        with ledger.transaction() as entries:
            entries.charge("before", "x", 0, {"something": 45.0})
    assert main(["federate", str(group.peers), "--survey", str(survey), "--json", "--attempts", "1"]) == 2
    said = capsys.readouterr()
    assert "2 of 3 questions have no result: travel" in said.err and "over the budget" in said.err
    record = json.loads(said.out)
    assert len(record["results"]) == 1 and set(record["refused"]) == {"travel", "income"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["federate", "p", "--survey", "draft.json"], "draft.json: survey habits is a draft"),
        (["federate", "p", "--survey", "local.json"], "local.json: survey habits names no curators"),
        (["federate", "p", "--survey", "old.json"], "old.json: survey habits expired at 2020"),
        (["federate", "p", "--survey", "none.json"], "none.json: no such file"),
        (["federate", "p", "--survey", "s.json"], "names the curator 'south', who is not among the peers"),
        (["federate", "p", "--survey", "s.json", "-q", "colour"], "has no question 'colour'"),
        (["federate", "p", "--survey", "s.json", "--wave", "1"], "a wave of survey habits must be from 0 to 0"),
        (["federate", "p", "--survey", "s.json", "-e", "5"], "--epsilon does not go with a survey"),
        (["federate", "p", "--survey", "s.json", "--id", "x"], "--id does not go with a survey"),
        (["federate", "p", "--id", "x", "-c", "y", "-d", "a,b", "-q", "z"], "--question goes with a --survey"),
        (["federate", "p", "--id", "x", "-c", "y", "-d", "a,b", "--wave", "0"], "--wave goes with a --survey"),
        (["federate", "p"], "name a --survey, or the --id of a task"),
        (["curator", "d.csv", "--name", "north", "--peers", "p", "--survey", "draft.json"], "is a draft"),
        (["curator", "d.csv", "--name", "mars", "--peers", "p", "--survey", "s.json"], "names the curators north"),
        (["curator", "d.csv", "--name", "north", "--peers", "p", "--survey", "s.json"], "no column 'smokes'"),
        (
            ["curator", "d.csv", "--name", "north", "--peers", "p", "--survey", "s.json", "--columns", "x=y"],
            "'x', which",
        ),
        (["curator", "d.csv", "--name", "north", "--peers", "p", "--columns", "x=y,x"], "every column once"),
        (["curator", "d.csv", "--name", "north", "--peers", "p", "--columns", ","], "every column once"),
        (["compare", "--survey", "s.json", "--n", "9"], "name the --question: smokes, travel, income"),
        (["compare", "--survey", "s.json", "-q", "income", "--n", "9"], "must be one of yes_no, choice, ordered"),
        (["compare", "--survey", "s.json", "-q", "travel", "--n", "9", "-e", "1"], "--epsilon does not go with"),
        (["compare", "-d", "3", "-q", "travel", "--n", "9"], "--question goes with a --survey"),
        (["serve", "s.json", "--data", "store"], "'habits' is for curators"),
    ],
)
def test_commands_say_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    group = Surveyed(tmp_path)
    known = {name: {"url": "http://127.0.0.1:9", "key": str(group.cards[name])} for name in NAMES[:2]}
    (tmp_path / "p").write_text(json.dumps(known))
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    (tmp_path / "draft.json").write_text(json.dumps(curated()))
    for name, survey in {"s": published(), "local": Survey.from_dict(draft(YES_NO)).publish(),
                         "old": published(expires="2020-01-01T00:00:00Z")}.items():  # fmt: skip
        (tmp_path / f"{name}.json").write_bytes(survey.canonical())
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_an_owner_is_told_of_a_column_without_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.modules["sottovoce.cli.curator"], "_serve", lambda *_: None)
    (tmp_path / "d.csv").write_text("smokes,Q2,income\nNo,bus,5\nYes,car,x\n")
    (tmp_path / "s.json").write_bytes(published(YES_NO, CHOICE).canonical())
    command = ["curator", str(tmp_path / "d.csv"), "--name", "north", "--home", str(tmp_path / "home"), "--peers", "p"]
    command += ["--survey", str(tmp_path / "s.json"), "--columns", "smokes,travel=Q2"]
    assert main(command) == 0
    said = capsys.readouterr().err
    assert said.startswith("warning: smokes: no row of ") and said.count("\n") == 1


def test_survey_check_says_who_is_trusted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(curated()))
    assert main(["survey", "check", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "histogram of 3" in shown and "mean and sum" in shown and "people who" not in shown
    assert "up to one of the other curators together, even if they lie: epsilon = 4" in shown
    assert main(["survey", "check", str(path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["guarantee"]["curators"] == list(NAMES) and record["guarantee"]["within"]["epsilon"] <= 4
    assert record["questions"][1]["query"]["values"] == ["bus", "car", "bike"]
    assert "words" not in record["questions"][1]


def test_a_question_under_four_trust_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.json"
    survey = published(federated=THREE | {"threshold": 2})
    path.write_bytes(survey.canonical())
    assert main(["compare", "--survey", str(path), "-q", "travel", "--n", "300", "--seed", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [one["model"] for one in record["models"]] == ["central", "shuffle", "secure sum 3", "local"]
    assert record["epsilon"] == survey.question("travel").epsilon
    data = write(tmp_path)["south"]
    assert (
        main(["compare", str(data), "--survey", str(path), "-q", "travel", "--models", "central", "--seed", "1"]) == 0
    )
    assert "car" in capsys.readouterr().out
