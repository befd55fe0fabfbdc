from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlite_crash
from curator_group import (
    HISTOGRAM,
    NAMES,
    TOLERANT,
    CuratorKiller,
    Group,
    Processes,
    adult,
    is_right,
    killer,
    processes,
    write,
)
from noise_fit import FALSE_ALARM, chi_square

from sottovoce.cli import main
from sottovoce.core import canonical
from sottovoce.core.errors import FileError, ParameterError, Refusal, ReportError, SealError
from sottovoce.core.randomness import Keystream
from sottovoce.core.sealing import PrivateKey
from sottovoce.curators import Card, Identity, Remote, Task, federate, noise_ahead, read_peers
from sottovoce.curators.coordinator import TaskRun
from sottovoce.curators.identity import digest, from_base64, to_base64
from sottovoce.device.http_client import Rejected, Undelivered
from sottovoce.trust.federated import Average, DivisibleLaplace, Histogram, Parties

STEPS = ("agree", "share", "confirm", "sum")


@pytest.fixture
def group(tmp_path: Path) -> Group:
    return adult(tmp_path, seed=1)


def test_five_curators_add_up_a_column(group: Group) -> None:
    result = federate(group.task(), group)
    assert result.curators == NAMES and not result.dropped and result.n == 32_561
    assert is_right(result)
    assert result.coalitions[1].epsilon <= 1.0 and result.task.parties.against_liars
    record = json.loads(json.dumps(result.to_dict()))
    assert record["estimate"][0]["label"] == "Adm-clerical" and len(record["guarantee"]) == 3
    assert "curator" in str(result) and result.plot().get_xlabel() == "people"
    assert all(len(curator.ledger.charges()) == 1 for curator in group.curators.values())


# Drop-outs.


@pytest.mark.parametrize("step", STEPS)
def test_two_that_drop_out_at_a_step_are_done_without(group: Group, step: str) -> None:
    group.before = killer(("north", "east"), step)
    result = federate(group.task(**TOLERANT), group)
    assert result.curators == (NAMES[2:] if step in ("agree", "share") else NAMES)
    assert set(result.dropped) == {"north", "east"} and "north dropped out" in str(result)
    assert is_right(result)


@pytest.mark.parametrize("step", STEPS)
def test_with_too_few_left_nothing_is_published(group: Group, step: str) -> None:
    group.before = killer(NAMES[:4] if step == "sum" else NAMES[:3], step)
    with pytest.raises(Refusal, match="nothing is published"):
        federate(group.task(**TOLERANT), group)
    asked = {step for _, step, _ in group.asked}
    assert asked == set(STEPS[: STEPS.index(step) + 1])


@pytest.mark.parametrize("there", [3, 5])
def test_the_noise_of_the_survivors_is_the_promised(tmp_path: Path, there: int) -> None:
    """Chi-square over 6,000 values that nobody has; false alarm 1e-6. Noise of others would be told."""
    data = {name: write(tmp_path / f"{name}.csv", ["other"] * 10) for name in NAMES}
    group = Group(tmp_path, data, seed=5)
    if there == 3:
        group.before = killer(("north", "east"), "share")
    values = Histogram(tuple(f"value {at}" for at in range(6000)))
    result = federate(group.task(query=values, **TOLERANT), group)
    assert len(result.curators) == there
    assert chi_square(result.total, result.task.noise.law(there)) > FALSE_ALARM
    assert chi_square(result.total, result.task.noise.law(8 - there)) < FALSE_ALARM


def test_a_restart_before_every_step_changes_nothing(group: Group) -> None:
    def restart(name: str, step: str, request: Any) -> None:
        group.curators[name] = group.restart(name)

    group.before = restart
    result = federate(group.task(), group)
    assert is_right(result) and not result.dropped


def test_asked_twice_it_answers_the_same_and_charges_once(group: Group) -> None:
    first = federate(group.task(), group)
    group.curators = {name: group.restart(name) for name in NAMES}
    second = federate(group.task(), group)
    assert first.total.tolist() == second.total.tolist()
    assert [len(curator.ledger.charges()) for curator in group.curators.values()] == [1] * 5


def until(group: Group, name: str, last: str) -> Callable[[], Any]:
    """Carry a task out up to a step of the first curator's; that step, to be done."""
    task, kept = group.task(name, epsilon=0.1, **TOLERANT), {}

    def stop(name: str, step: str, request: Any) -> None:
        if step == last:
            kept[name] = request
            raise Undelivered("not yet")

    group.before = stop
    with pytest.raises(Refusal):
        federate(task, group)
    group.before = lambda name, step, request: None
    return lambda: group.restart("north").step(last, kept["north"])


@pytest.mark.parametrize("step", ["share", pytest.param("sum", marks=pytest.mark.slow)])
def test_a_crash_at_any_statement_loses_an_answer_and_never_a_charge(group: Group, step: str) -> None:
    """The process dies before each statement of the store in turn; then the step is asked for again."""
    for number in range(40):
        work, released = until(group, f"task-{number}", step), group.folder / f"{number}.out"

        def charges(name: str = f"task-{number}") -> int:
            return sum(one.survey == name for one in group.restart("north").ledger.charges())

        lived = sqlite_crash.run(number, lambda work=work: canonical.dumps(work()), released)  # type: ignore[misc]
        assert charges() == 1 or not (released.exists() or step == "sum")
        again = canonical.dumps(work())
        assert not released.exists() or released.read_bytes() == again
        assert charges() == 1
        if lived:
            break
    assert lived and number > 3


# One release, and the ledger.


def test_another_task_is_charged_until_nothing_is_left(tmp_path: Path) -> None:
    group = adult(tmp_path, budget=2.5)
    totals = [federate(group.task(name), group).total.tolist() for name in ("one", "two")]
    assert totals[0] != totals[1]
    with pytest.raises(Refusal, match=r"over the budget of 2\.5"):
        federate(group.task("three"), group)
    assert all(curator.ledger.spent <= 2.0 for curator in group.curators.values())


def test_an_owner_alone_sets_a_budget(tmp_path: Path) -> None:
    group = adult(tmp_path)
    group.curators["west"].ledger.set_budget(0.5)
    result = federate(group.task(), group)
    assert "over the budget" in result.dropped["west"] and is_right(result) and "west" not in result.curators


def test_one_name_stands_for_one_task(group: Group) -> None:
    federate(group.task(), group)
    with pytest.raises(Refusal, match="has changed"):
        federate(group.task(epsilon=0.5), group)


def test_a_task_has_one_roster_and_one_group(group: Group) -> None:
    """A coordinator that had two groups unmasked would learn what lies between them."""
    task = group.task(**TOLERANT)
    run = TaskRun(task, group)
    federate(task, group)
    shares = {name: curator.share(task.digest, list(NAMES)) for name, curator in group.curators.items()}
    manifests = [shares[name]["message"] for name in NAMES]
    north = group.curators["north"]
    with pytest.raises(Refusal, match="another roster"):
        north.share(task.digest, list(NAMES[:4]))
    with pytest.raises(Refusal, match="another group was confirmed"):
        north.confirm(task.digest, manifests[:4])
    with pytest.raises(Refusal, match="3 curators must take part"):
        north.confirm(task.digest, manifests[:2])
    assert not run.dropped


def test_no_sum_without_enough_confirmations_of_the_same_group(group: Group) -> None:
    task = group.task(**TOLERANT)
    for curator in group.curators.values():
        curator.agree(task.to_dict())
    with pytest.raises(Refusal, match="no pieces were given out"):
        group.curators["north"].confirm(task.digest, [])
    with pytest.raises(Refusal, match="no group was confirmed"):
        group.curators["north"].sum(task.digest, [], {})
    shares = [group.curators[name].share(task.digest, list(NAMES)) for name in NAMES]
    manifests = [share["message"] for share in shares]
    fours = {
        "north": manifests[:4],
        "east": manifests[:4],
        "south": manifests[:4],
        "west": manifests,
        "centre": manifests,
    }
    confirmed = {name: group.curators[name].confirm(task.digest, chosen) for name, chosen in fours.items()}
    sealed = {name: share["sealed"]["north"] for name, share in zip(NAMES[:4], shares, strict=False)}
    north = group.curators["north"]
    with pytest.raises(Refusal, match="3 curators must take part, got 2"):
        north.sum(task.digest, [confirmed["north"], confirmed["east"]], sealed)
    with pytest.raises(Refusal, match="west confirmed another group"):
        north.sum(task.digest, [confirmed[name] for name in ("north", "east", "west")], sealed)
    forged = {**confirmed["south"], "from": "west"}
    with pytest.raises(ReportError, match="not signed by west"):
        north.sum(task.digest, [confirmed["north"], confirmed["east"], forged], sealed)
    with pytest.raises(ReportError, match="a sealed piece of each"):
        north.sum(task.digest, [confirmed[name] for name in NAMES[:3]], dict(list(sealed.items())[:3]))
    answer = north.sum(task.digest, [confirmed[name] for name in NAMES[:3]], sealed)
    assert answer["body"]["transcript"] == digest(manifests[:4])


# Liars, forgers and strangers.


def test_a_curator_knows_whom_it_works_with(group: Group) -> None:
    """Otherwise a coordinator could invent all the others, and hold the threshold alone."""
    stranger = Identity(PrivateKey.generate()).card
    swapped = Task("jobs", "occupation", HISTOGRAM, 1.0, Parties(5), {**group.cards, "east": stranger})
    with pytest.raises(Refusal, match="east is not known here"):
        group.curators["north"].agree(swapped.to_dict())
    with pytest.raises(Refusal, match="does not name east with its key"):
        group.curators["east"].agree(swapped.to_dict())
    more = Task("jobs", "occupation", HISTOGRAM, 1.0, Parties(6), {**group.cards, "extra": stranger})
    with pytest.raises(Refusal, match="extra is not known here"):
        group.curators["north"].agree(more.to_dict())


def test_an_owner_says_how_many_may_collude_at_least(group: Group) -> None:
    """Otherwise a coordinator in league with two would propose a task that holds against one."""
    group.curators["north"].threshold = 2
    with pytest.raises(Refusal, match="the threshold must be at least 2 here, got 1"):
        group.curators["north"].agree(group.task(threshold=1).to_dict())
    group.curators["north"].agree(group.task(threshold=2).to_dict())


def test_a_curator_that_answers_about_another_task_has_dropped_out(group: Group) -> None:
    other = group.task("other", **TOLERANT)
    lie = group.curators["east"].agree(other.to_dict())
    group.after = lambda name, step, answer: lie if (name, step) == ("east", "agree") else answer
    result = federate(group.task(**TOLERANT), group)
    assert "the task of a message must be" in result.dropped["east"] and is_right(result)
    assert "east" not in result.curators


def test_a_message_of_another_curator_or_task_is_not_taken(group: Group) -> None:
    kept: dict[tuple[str, str], Any] = {}

    def keep(name: str, step: str, answer: Any) -> Any:
        kept[name, step] = answer
        return answer

    group.after = keep
    federate(group.task("first", **TOLERANT), group)
    old = dict(kept)
    group.after = lambda name, step, answer: old[name, step] if name == "west" and step == "share" else answer
    result = federate(group.task("second", **TOLERANT), group)
    assert "west" not in result.curators and "the task of a message" in result.dropped["west"] and is_right(result)
    group.after = lambda name, step, answer: old["south", "share"] if name == "west" and step == "share" else answer
    assert "west" in federate(group.task("third", **TOLERANT), group).dropped


def test_a_share_that_the_coordinator_changes_is_not_added(group: Group) -> None:
    """Forged, swapped, replayed from another task: whoever it is sealed to refuses, and nothing is published."""
    task, before = group.task(**TOLERANT), group.task("before", **TOLERANT)
    old: dict[tuple[str, str], Any] = {}
    group.after = lambda name, step, answer: old.setdefault((name, step), answer)
    federate(before, group)
    group.after = lambda name, step, answer: answer
    forged = to_base64(
        group.cards["south"].sealing.seal(bytes(8 * HISTOGRAM.size), info=task.seal_info("east", "south"))
    )
    for wrong, at in (
        (forged, "south"),
        (old["east", "share"]["sealed"]["south"], "south"),
        ("AAAA", "south"),
        (7, "south"),
    ):

        def change(name: str, step: str, request: Any, wrong: Any = wrong, at: str = at) -> None:
            if (name, step) == (at, "sum"):
                request["sealed"]["east"] = wrong

        group.before = change
        result = federate(task, group)
        assert set(result.dropped) == {at} and is_right(result)
        assert "committed itself" in result.dropped[at] or "base64" in result.dropped[at]
        group.before = lambda name, step, request: None


def test_pieces_are_bound_to_task_sender_and_receiver(group: Group) -> None:
    """Even with a commitment to match, a piece made for somebody else does not open."""
    task = group.task(**TOLERANT)
    south = group.curators["south"]
    for info in (task.seal_info("west", "south"), task.seal_info("east", "north"),
                 group.task("other", **TOLERANT).seal_info("east", "south")):  # fmt: skip
        sealed = group.cards["south"].sealing.seal(bytes(8 * HISTOGRAM.size), info=info)
        manifest = {"from": "east", "body": {"commitments": {"south": digest(sealed)}}}
        with pytest.raises(SealError, match="does not open"):
            south._opened(task, manifest, sealed)
    for data, reason in ((bytes(8), "wrong length"), (b"\xff" * 8 * HISTOGRAM.size, "below the modulus")):
        sealed = group.cards["south"].sealing.seal(data, info=task.seal_info("east", "south"))
        with pytest.raises(ReportError, match=reason):
            south._opened(task, {"from": "east", "body": {"commitments": {"south": digest(sealed)}}}, sealed)


def lying(group: Group, task: Task, liar: str) -> Any:
    """A curator that signs another sum than it has."""

    def after(name: str, step: str, answer: Any) -> Any:
        if (name, step) != (liar, "sum"):
            return answer
        pieces = np.frombuffer(from_base64(answer["body"]["sum"]), dtype="<u8") ^ 4096
        body = {**answer["body"], "sum": to_base64(pieces.tobytes())}
        return group.identities[liar].signed(task.digest, "sum", liar, body)

    return after


def test_a_wrong_sum_is_found_out_by_the_others(group: Group) -> None:
    task = group.task(**TOLERANT)
    group.after = lying(group, task, "south")
    with pytest.raises(Refusal, match="one polynomial"):
        federate(task, group)


def test_with_nobody_to_check_it_a_wrong_sum_is_out_of_range(group: Group) -> None:
    task = group.task(**TOLERANT)
    group.before, group.after = killer(NAMES[:3], "sum"), lying(group, task, "west")
    with pytest.raises(Refusal, match="out of range"):
        federate(task, group)


@pytest.mark.parametrize("answer", [None, [], {"message": 1, "sealed": {}}])
@pytest.mark.parametrize("step", STEPS)
def test_rubbish_is_a_drop_out(group: Group, step: str, answer: Any) -> None:
    group.after = lambda name, at, real: answer if (name, at) == ("centre", step) else real
    result = federate(group.task(**TOLERANT), group)
    assert "centre" in result.dropped and is_right(result)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "request_", [None, [], {}, {"task": 5}, {"task": None, "roster": 1}, {"task": "no", "roster": []}]
)
def test_a_curator_takes_no_rubbish(group: Group, step: str, request_: Any) -> None:
    with pytest.raises((ParameterError, Refusal)):
        group.curators["north"].step(step, request_)


def test_rows_that_could_wrap_around_are_refused(group: Group) -> None:
    def after(name: str, step: str, answer: Any) -> Any:
        if (name, step) != ("east", "share"):
            return answer
        message = answer["message"]
        body = {**message["body"], "rows": 2**49}
        return {**answer, "message": group.identities["east"].signed(message["task"], "share", "east", body)}

    group.after = after
    result = federate(group.task(**TOLERANT), group)
    assert "too many rows" in result.dropped["east"]


# Other queries, other data.


def test_additive_sharing_needs_everybody(group: Group) -> None:
    assert is_right(federate(group.task("all", sharing="additive"), group))
    group.before = killer(("west",), "sum")
    with pytest.raises(Refusal, match="5 curators are needed, 4 are left"):
        federate(group.task("some", sharing="additive"), group)


def test_the_mean_of_a_number_with_negative_sums(tmp_path: Path) -> None:
    answers = [["-3.5", "", "-1e9"] * 300, ["0.25"] * 100, ["nonsense", "nan", "-0.5"] * 50]
    data = {
        name: write(tmp_path / f"{name}.csv", rows, "x") for name, rows in zip(("a", "b", "c"), answers, strict=True)
    }
    result = federate(
        Group(tmp_path, data, seed=1).task("mean", Average(-4, 1, 100), 2.0, "x"), Group(tmp_path, data, seed=1)
    )
    people, total, mean = result.rows
    assert people.low <= 750 <= people.high and total.low <= -2250 <= total.high < 0 and mean.low <= -3 <= mean.high
    assert result.n == 1150 and result.plot().get_xlabel() == "x"
    assert json.dumps(result.to_dict(), allow_nan=False)


def test_a_parquet_file_and_offered_columns(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    for name in "ab":
        parquet.write_table(pa.table({"n": [1, 2, None, 2], "pairs": [[1]] * 4}), tmp_path / f"{name}.parquet")
    group = Group(tmp_path, {name: tmp_path / f"{name}.parquet" for name in "ab"}, budget=50.0, seed=1)
    result = federate(group.task("n", Histogram(("1", "2", "3")), 30.0, "n"), group)
    assert result.total.tolist() == [2, 4, 0]
    with pytest.raises(Refusal, match="no column 'm' here"):
        federate(group.task("m", column="m"), group)
    with pytest.raises(Refusal, match="cannot be counted"):
        federate(group.task("pairs", column="pairs"), group)
    assert all(len(curator.ledger.charges()) == 1 for curator in group.curators.values())
    group.curators["a"].data = type(group.curators["a"].data)(tmp_path / "a.parquet", {"pairs": "pairs"})
    with pytest.raises(Refusal, match="not offered"):
        group.curators["a"].agree(group.task("again", column="n").to_dict())


def test_a_store_holds_no_counts(group: Group, tmp_path: Path) -> None:
    """What lies in a curator's file is what it gave out: sealed, signed or sums of pieces."""
    federate(group.task(), group)
    with sqlite3.connect(tmp_path / "north.sqlite") as file:
        bodies = [json.loads(body) for (body,) in file.execute("SELECT answer FROM curator_steps ORDER BY rowid")]
    file.close()
    assert [set(body) for body in bodies] == [{"message", "task"}, {"message", "sealed"}, {"message", "manifests"},
                                              {"message"}]  # fmt: skip


# Tasks, keys and files.


def test_a_task_survives_the_journey(group: Group) -> None:
    task = group.task(**TOLERANT)
    assert Task.from_dict(json.loads(json.dumps(task.to_dict()))).digest == task.digest
    assert group.task("other", **TOLERANT).digest != task.digest


@pytest.mark.parametrize(
    "change",
    [{"task": 2}, {"id": "Ä"}, {"id": ""}, {"id": 5}, {"column": ""}, {"column": None}, {"epsilon": 0},
     {"epsilon": "1"}, {"epsilon": 37}, {"epsilon": True}, {"threshold": 0}, {"threshold": 5}, {"threshold": None},
     {"dropouts": 4}, {"dropouts": None}, {"dropouts": 0.5}, {"noise": "none"}, {"sharing": 1}, {"curators": []},
     {"curators": {}}, {"curators": [1]}, {"curators": [{"name": "a", "key": "b"}]}, {"query": None},
     {"query": {"kind": "histogram"}}, {"more": 1}],
)  # fmt: skip
def test_what_is_no_task_is_refused(group: Group, change: dict[str, Any]) -> None:
    with pytest.raises((ParameterError, SealError)):
        Task.from_dict({**group.task().to_dict(), **change})


def test_a_task_names_each_curator_and_key_once(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    record = group.task().to_dict()
    first = record["curators"][0]
    for twice in ([first, *record["curators"]], [{**first, "name": "again"}, *record["curators"]]):
        with pytest.raises(ParameterError, match=r"once|own"):
            Task.from_dict({**record, "curators": twice})
    monkeypatch.setattr("sottovoce.trust.federated.parties.MAX_CELLS", 60)
    with pytest.raises(ParameterError, match="values times curators"):
        group.task()


@pytest.mark.parametrize(
    "text", ["", ".", "a.b", None, 5, "x" * 87, "A" * 43 + "." + "A" * 42, "A" * 43 + "." + "!" * 43]
)
def test_what_is_no_key_is_refused(text: Any) -> None:
    with pytest.raises(SealError):
        Card.from_text(text)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "5", '{"a": 1}', '{"a": {"url": "x", "key": "y"}}', '{"A": {"url": "http://x", "key": "y"}}',
     '{"a": {"url": "http://x", "key": "y"}}', '{"a": {"url": "http://x", "key": 5}}', '{"a": {"url": 5, "key": "y"}}',
     '{"a": {"url": "http://a b", "key": "K"}}', '{"a": {"url": "http://[::1", "key": "K"}}', "\\x00",
     '{"a": {"url": "http://x:99999", "key": "K"}}', '{"a": {"url": "http://x:y", "key": "K"}}',
     '{"a": {"url": "http://x", "key": "K"}, "b": {"url": "http://y", "key": "K"}}'],
)  # fmt: skip
def test_what_is_no_file_of_peers_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "peers.json"
    with pytest.raises(FileError, match="cannot be read"):
        read_peers(path)
    path.write_text(text.replace('"K"', f'"{Identity.at(tmp_path / "key").card}"'))
    with pytest.raises(FileError, match=r"peers\.json: .+"):
        read_peers(path)


# Processes.


@pytest.fixture
def five(tmp_path: Path) -> Iterator[Processes]:
    with processes(tmp_path) as made:
        made.start(*NAMES)
        yield made


def test_five_processes_with_two_killed_half_way(five: Processes, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line first; then two curators are killed before they share."""
    asked = [
        "federate",
        str(five.peers),
        "--id",
        "first",
        "-c",
        "occupation",
        "-d",
        "Sales,Tech-support",
        "--attempts",
        "1",
    ]
    assert main([*asked, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["n"] == 32_561 and abs(record["estimate"][0]["value"] - 3650) < 100
    assert main(["federate", str(five.peers), "--id", "none", "-c", "nothing", "-d", "a,b", "--attempts", "1"]) == 2
    assert "there is no column 'nothing' here" in capsys.readouterr().err
    network = CuratorKiller(five, ("east", "west"), "share")
    result = federate(network.task("second"), network)
    assert result.curators == ("north", "south", "centre") and is_right(result)
    with pytest.raises(Rejected, match=r"400 bad_request.*the step agree takes task"):
        Remote(network.urls, attempts=1).ask("north", "agree", {"no": "task"})
    with pytest.raises(Rejected, match=r"409 refused.*not agreed on"):
        Remote(network.urls, attempts=1).ask("north", "share", {"task": "x", "roster": []})
    with pytest.raises(Rejected, match="404 not_found"):
        Remote(network.urls, attempts=1).ask("north", "more", {})
    five.kill("north")
    with pytest.raises(Undelivered, match="no answer after 1 attempts"):
        Remote(network.urls, attempts=1).ask("north", "agree", {})
    with pytest.raises(Refusal, match="3 curators are needed, 2 are left"):
        federate(network.task("third"), network)


@pytest.mark.slow
def test_two_processes_killed_at_each_step_in_turn(five: Processes) -> None:
    """The result is right, over the survivors or over all; and so it is when they come back after a crash."""
    for step in STEPS:
        network = CuratorKiller(five, ("east", "west"), step)
        result = federate(network.task(f"{step}-killed"), network)
        assert set(result.dropped) == {"east", "west"} and is_right(result)
        assert len(result.curators) == (3 if step in ("agree", "share") else 5)
        five.start("east", "west")
        network = CuratorKiller(five, ("west",), step, back=True)
        result = federate(network.task(f"{step}-restarted"), network)
        assert not result.dropped and is_right(result)


@pytest.mark.slow
def test_three_processes_killed_at_each_step_in_turn(five: Processes) -> None:
    for step in STEPS[:3]:
        network = CuratorKiller(five, ("north", "east", "west"), step)
        with pytest.raises(Refusal, match="nothing is published"):
            federate(network.task(step), network)
        five.start("north", "east", "west")


# The commands.


def test_a_curator_prints_its_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["curator", "--name", "north", "--home", str(tmp_path / "north")]
    assert main([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert main(command) == 0
    assert record["key"] in capsys.readouterr().out
    assert Card.from_text(record["key"]) == Identity.at(tmp_path / "north" / "key").card


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["curator", "--name", "NORTH"], "a name must be"),
        (["curator", "data.csv", "--name", "north"], "--peers"),
        (["curator", "none.csv", "--name", "north", "--peers", "peers.json"], "no such file"),
        (["curator", "data.csv", "--name", "n", "--peers", "p", "--columns", "x"], "no column 'x'"),
        (["federate", "none.json", "--id", "x", "-c", "x", "-d", "a,b"], "cannot be read"),
        (["federate", "peers.json", "--id", "x", "-c", "x"], "name the --domain"),
        (["federate", "peers.json", "--id", "x", "-c", "x", "-d", "a,b", "--low", "1"], "name the --domain"),
        (["federate", "peers.json", "--id", "x", "-c", "x", "--low", "1", "--high", "0"], "a range must go"),
        (["federate", "peers.json", "--id", "x", "-c", "x", "-d", "a,b", "--level", "2"], "level must lie"),
        (["federate", "peers.json", "--id", "x", "-c", "x", "-d", "a,b", "--plot", "x.txt"], "a plot must end"),
        (["federate", "peers.json", "--id", "x", "-c", "x", "-d", "a,b", "-e", "nan"], "epsilon must be"),
        (["federate", "peers.json", "--id", "x", "-c", "x", "-d", "a,b", "-t", "9"], "the threshold must be"),
    ],
)
def test_commands_say_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv", ["a"])
    cards = {name: {"url": "http://127.0.0.1:9", "key": str(Identity.at(tmp_path / name).card)} for name in ("a", "b")}
    (tmp_path / "peers.json").write_text(json.dumps(cards))
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_curators_load_quickly_without_the_coordinator() -> None:
    """The library does not load this room, nor NumPy, until it is asked for."""
    code = "import sottovoce, sys; assert not {'numpy', 'sottovoce.curators'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_no_noise_is_drawn_between_a_request_and_its_answer(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a draw takes tells how large the noise is: no answer may wait for one."""
    drawn: list[threading.Thread] = []
    draw = DivisibleLaplace.draw

    def watched(self: DivisibleLaplace, count: int, stream: Keystream) -> Any:
        drawn.append(threading.current_thread())
        return draw(self, count, stream)

    def wait(name: str, step: str, request: Any) -> None:
        """Before pieces are asked for, everybody has drawn."""
        deadline = time.monotonic() + 10
        while step == "share" and len(drawn) < len(NAMES) and time.monotonic() < deadline:
            time.sleep(0.005)
        assert step != "share" or len(drawn) == len(NAMES)

    monkeypatch.setattr(DivisibleLaplace, "draw", watched)
    group.before = wait
    assert is_right(federate(group.task(), group))
    assert len(drawn) == len(NAMES)
    assert threading.main_thread() not in drawn


def test_pieces_are_given_out_after_a_time_that_was_fixed_before_the_draw(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a restart, when the noise must be drawn anew: a quick draw and a slow one look alike."""
    share, waited = until(group, "a-task", "share"), list[float]()
    monkeypatch.setattr(time, "sleep", waited.append)
    share()
    assert len(waited) == 1
    assert (
        0
        < waited[0]
        <= noise_ahead.DELAY_SECONDS + noise_ahead.DRAW_SECONDS + 10_000 * noise_ahead.DRAW_SECONDS_PER_COUNT
    )
