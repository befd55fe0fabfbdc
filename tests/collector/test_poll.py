"""Polls: the survey that is made, simulated voters, the command from its start to its files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import service_processes

from sottovoce.cli import main
from sottovoce.collector import open_store, poll, poll_result
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import log_above

CODE = "import sys; from sottovoce.cli import main; sys.exit(main(sys.argv[1:]))"


def test_a_ballot_is_exact() -> None:
    """The truth is the probability that was asked for, and epsilon is what it costs."""
    survey = poll.ballot("Tea?", truth=Fraction(3, 4))
    m: Any = survey.question("vote").mechanism
    assert (m.name, m.p, survey.epsilon) == ("rr", Fraction(3, 4), log_above(Fraction(3)))
    several: Any = poll.ballot("Which?", ["a", "b", "c"], truth=0.5).question("vote").mechanism
    assert (several.name, several.p, several.q) == ("krr", Fraction(1, 2), Fraction(1, 4))
    number: Any = poll.ballot("How many?", bounds=(0, 10), truth=0.75).question("vote").mechanism
    assert (number.name, number.kind, number.p, number.epsilon) == ("mean", "rounding", 0.75, log_above(Fraction(3)))
    for made in (poll.ballot("Tea?", epsilon=2), poll.ballot("Which?", "abcdefgh", epsilon=2),
                 poll.ballot("How many?", bounds=(-1, 1), epsilon=2)):  # fmt: skip
        assert 1.99 < made.epsilon <= 2


def test_phones_do_not_take_two_polls_for_one() -> None:
    assert poll.ballot("Tea?").id != poll.ballot("Tea?").id
    assert poll.mark_of("Tea?", None) == poll.mark_of("Tea?", None) != poll.mark_of("Tea?", "a,b")
    assert poll.ballot("¿Té o café? " * 10).id.startswith("t-o-caf-t-o") and poll.ballot("?", mark="x").id == "poll-x"


@pytest.mark.parametrize(("options", "message"), [
    ({"truth": 0.5}, "truth must be above 1/2"), ({"truth": 1}, "strictly between 0 and 1"),
    ({"truth": 0.3, "options": ["a", "b", "c"]}, "truth must be above 1/3"), ({"options": ["a"]}, "at least 2 options"),
    ({"options": ["a", "a"]}, "'a'"), ({"truth": 0.7, "epsilon": 1}, "either truth or epsilon"),
    ({"bounds": (1, 1)}, "low"), ({"bounds": (0, 1), "truth": 0.4}, "above 1/2"),
    ({"epsilon": float("nan")}, "epsilon"), ({"truth": float("nan")}, "truth"),
    ({"epsilon": -1}, "epsilon"), ({"minimum": 0}, "minimum"),
])  # fmt: skip
def test_what_cannot_be_a_poll(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        poll.ballot("Tea?", **options)


def test_shares_of_simulated_voters() -> None:
    survey = poll.ballot("Which?", ["a", "b", "c"])
    assert set(poll.electorate(survey, 50, [0, 1, 0])) == {"b"}
    assert poll.truth_of(survey, ["a", "b", "b", "b"]) == {"frequency": {"a": 0.25, "b": 0.75, "c": 0.0}}
    assert sum(poll.shares_of(3, None)) == pytest.approx(1)
    numbers = poll.electorate(poll.ballot("How many?", bounds=(5, 6)), 50)
    assert all(5 <= float(number) <= 6 for number in numbers)
    for wrong in ([1], [0.5, 0.5, 0.5], [2, -1, 0]):
        with pytest.raises(ParameterError, match="shares must be 3 numbers"):
            poll.electorate(survey, 5, wrong)
    with pytest.raises(ParameterError, match="not for numbers"):
        poll.electorate(poll.ballot("How many?", bounds=(5, 6)), 5, [1])


def test_voters_and_the_outcome(tmp_path: Path) -> None:
    """All votes arrive once. With a truth of 1 - 2^-20 all are true, but once in 50,000 runs."""
    survey = poll.ballot("Tea?", truth=1 - Fraction(1, 2**20), minimum=10)
    store = open_store(tmp_path)
    store.publish(survey)
    store.close()
    assert poll_result.outcome(tmp_path, survey) is None
    with service_processes.nursery() as nursery:
        child = nursery.start(["--data", str(tmp_path)])
        answers = ["yes"] * 15 + ["no"] * 5
        assert poll.vote(f"{child.url}/v1/surveys/{survey.id}", answers, 0.0, threading.Event()) == 20
        ended = threading.Event()
        ended.set()
        assert poll.vote(f"{child.url}/v1/surveys/{survey.id}", answers, 10.0, ended) == 0
        child.kill(signal.SIGTERM)
    result: Any = poll_result.outcome(tmp_path, survey)
    assert result.n == 20 and result["yes"].frequency == pytest.approx(0.75, abs=0.01)
    page = poll_result.page(survey, result)
    assert "<svg" in page and "http" not in page and page.count("<circle") == 2
    assert "too few" in poll_result.page(survey, None)


def test_a_question_is_text() -> None:
    survey = poll.ballot("<script>alert(1)</script>", ["<b>", "&"])
    tally = survey.question("vote").mechanism.tally()
    tally.add_many([0, 1, 1])
    page = poll_result.page(survey, tally.estimate())
    assert "<script>" not in page and "<b>" not in page and "&lt;b&gt;" in page


def test_the_qr_code_holds_the_link() -> None:
    """Read again, the characters are the matrix of segno."""
    import segno

    link = "http://192.168.1.20:8000/s/tea-3fa2c1"
    rows = poll.qr(link).splitlines()
    halves = {" ": (0, 0), "▄": (0, 1), "▀": (1, 0), "█": (1, 1)}
    read = [[halves[block][half] for block in row] for row in rows for half in (0, 1)]
    wanted = [
        [int(bool(dark)) for dark in row] for row in segno.make(link, error="m", micro=False).matrix_iter(border=2)
    ]
    assert read[: len(wanted)] == wanted


def run(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CODE, "poll", *arguments, "--port", "0", "--host", "127.0.0.1", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
    )  # fmt: skip


def test_the_command_from_start_to_end(tmp_path: Path) -> None:
    process = run(tmp_path, "Tea or coffee?", "--options", "tea,coffee", "--simulate", "12", "--seconds", "0",
                  "--share", "1,0", "--output", "out")  # fmt: skip
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    started, ended = map(json.loads, out.splitlines())
    assert started["results"] == f"{started['local']}/results" and started["survey"].startswith("tea-or-coffee-")
    assert ended["result"]["n"] == 12 and ended["simulated"] == {"n": 12, "frequency": {"tea": 1.0, "coffee": 0.0}}
    assert ended["odds"] == "of 100 people who answer tea, 25 send coffee"
    assert ended["files"] == ["out.json", "out.html"]
    assert json.loads((tmp_path / "out.json").read_text())["digest"] == ended["digest"]
    assert "Tea or coffee?" in (tmp_path / "out.html").read_text()


def test_ctrl_c_leaves_results_and_the_poll_goes_on(tmp_path: Path) -> None:
    """In a folder of its own the same poll is the same survey; what was sent before is still counted."""
    arguments = ("Tea?", "--data", "data", "--minimum", "1", "--output", "out")
    survey = ""
    for count in (1, 2):
        process = run(tmp_path, *arguments)
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        assert survey in ("", started["survey"])
        survey = started["survey"]
        for place, words in (
            ("local", b"Tea?"),
            ("join", started["link"].partition("/s/")[0].encode()),
            ("results", b"Tea?"),
        ):
            with urllib.request.urlopen(started[place], timeout=20) as page:  # noqa: S310
                assert words in page.read()
        assert poll.vote(started["local"].replace("/s/", "/v1/surveys/"), ["yes"], 0.0, threading.Event()) == 1
        os.kill(process.pid, signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert json.loads(out)["result"]["n"] == count


@pytest.mark.parametrize(("arguments", "message"), [
    (["--options", "a"], "at least 2 options"), (["--number", "3"], "--number must be two numbers"),
    (["--number", "0:1", "--options", "a,b"], "either --options or --number"), (["--truth", "x"], "--truth must be"),
    (["--truth", "0.2"], "above 1/2"), (["--share", "0.5", "--simulate", "3"], "shares must be 2 numbers"),
    (["--epsilon", "1", "--truth", "0.7"], "either truth or epsilon"),
])  # fmt: skip
def test_mistakes_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["poll", "Tea?", *arguments]) == 2
    errors = capsys.readouterr().err
    assert message in errors and errors.count("\n") == 1
