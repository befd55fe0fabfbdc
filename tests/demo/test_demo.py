"""The demonstration of the whole path: its town, its devices, and the command from its start to its end."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sottovoce.cli import main
from sottovoce.core.errors import Refusal, SottovoceError
from sottovoce.demo import crowd, town
from sottovoce.device import wire
from sottovoce.survey import Survey
from sottovoce.survey.kinds import KINDS

CODE = "import sys; from sottovoce.cli import main; sys.exit(main(sys.argv[1:]))"
IN_A_TERMINAL = "import os; os.login_tty(0); " + CODE
WAIT = 60.0
"""Seconds until a test gives up; nothing takes that long by itself."""

CTRL_C = b"\x03"


def environment(folder: Path) -> dict[str, str]:
    """Temporary files go where a test can see whether they are gone."""
    return os.environ | {"TMPDIR": str(folder), "TERM": "xterm", "COLUMNS": "100"}


def left_behind(survey: str) -> list[str]:
    """Processes that were started for a survey; its id is among their arguments."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = place.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found += [command] if survey in command else []
    return found


def run(folder: Path, *arguments: str, code: str = CODE) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, "demo", "--port", "0", *arguments], cwd=folder, text=True,
                          capture_output=True, env=environment(folder), timeout=WAIT, check=False)  # fmt: skip


# The town and its devices.


@pytest.fixture(scope="module")
def survey() -> Survey:
    return town.survey()


def test_the_town_is_asked_questions_of_every_kind(survey: Survey) -> None:
    assert {item.kind for item in survey.questions} == set(KINDS)
    assert 5.9 < survey.epsilon <= town.BUDGET


def test_the_truth_comes_from_the_seed() -> None:
    people = [town.person(3, number) for number in range(500)]
    assert people == [town.person(3, number) for number in range(500)] != [town.person(4, i) for i in range(500)]
    truths = town.truths(people)
    assert truths["light"]["yes"] == sum(one["light"] == "yes" for one in people) / 500
    assert truths["fruit"]["pears"] == sum("pears" in one["fruit"] for one in people) / 500
    assert truths["sleep"]["mean"] == pytest.approx(sum(one["sleep"] for one in people) / 500)
    assert truths["cat"]["Luna"] > 0 and "Felix" not in truths["cat"] and len(truths["cat"]) > 50


def test_a_device_is_the_real_one_in_memory(survey: Survey) -> None:
    """It draws once, charges its ledger, refuses beyond the budget, and keeps nothing of what it refused."""
    answers, other = town.person(1, 1), town.survey()
    assert survey.id != other.id, "phones answer a survey once"
    with closing(crowd.MemoryLedger()) as ledger:
        device = crowd.MemoryDevice(ledger)
        body = device.answer(survey, answers)
        assert body == device.answer(survey, town.person(1, 2))
        assert wire.decode(body, survey).survey == survey.digest
        assert ledger.spent == pytest.approx(survey.epsilon)
        with pytest.raises(Refusal, match="over the budget of 10"):
            device.answer(other, answers)
        assert {charge.survey for charge in ledger.charges()} == {survey.id}
        assert device.review(other).refusal is not None


def test_a_crowd_that_cannot_send_says_why_and_is_gone() -> None:
    respondents = crowd.Crowd("ftp://nowhere", seed=1, people=600, processes=2)
    with respondents, pytest.raises(SottovoceError, match="must begin with https://"):
        list(respondents.acknowledged())
    assert [process.returncode for process in respondents.processes] == [1, 1]


def test_a_crowd_can_be_stopped() -> None:
    with crowd.Crowd("http://127.0.0.1:9/v1/surveys/none", seed=1, people=10) as respondents:
        pass
    assert [process.returncode for process in respondents.processes] == [-9]


# The command.


def test_the_whole_path(tmp_path: Path) -> None:
    """Without a terminal it ends by itself. An estimate is 6 standard errors off once in 10^7 runs of this test."""
    done = run(tmp_path, "--people", "600", "--seed", "5", "--json", "--data", "kept")
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    assert (record["people"], record["seed"], record["accepted"]) == (600, 5, 600)
    assert record["results"] == f"{record['answer']}/results" and record["survey"] in record["answer"]
    assert {question["kind"] for question in record["questions"]} == set(KINDS)
    truths = town.truths(town.person(5, number) for number in range(600))
    for question in record["questions"]:
        assert question["n"] == 600
        for row in question["rows"]:
            assert row["truth"] == truths[question["id"]].get(row["label"], 0.0)
            assert abs(row["estimate"] - row["truth"]) < 6 * row["stderr"], (question["id"], row)
            assert row["covers"] == (row["low"] <= row["truth"] <= row["high"])
    rows = [row for question in record["questions"] for row in question["rows"]]
    assert (record["intervals"], record["covering"]) == (len(rows), sum(row["covers"] for row in rows))
    assert [row["label"] for row in record["questions"][-1]["rows"]] == list(town.CANDIDATES)
    assert record["level"] == 0.95 and 5.9 < record["epsilon"] <= town.BUDGET
    assert not left_behind(record["survey"])
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    command = f"{Path(sys.executable).parent / 'sotto'} demo --port 0 --people 100 | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env=environment(tmp_path), capture_output=True, text=True,
                          timeout=WAIT, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "100 simulated people answer 6 questions, on a device each.\n"


def test_what_goes_wrong_with_respondents_is_one_line(tmp_path: Path) -> None:
    broken = "from sottovoce.demo import crowd; crowd.COMMAND[2] = 'import sys; sys.exit(\"out of luck\")'; " + CODE
    done = run(tmp_path, "--people", "100", code=broken)
    assert (done.returncode, done.stderr) == (2, "sotto: a process of respondents ended: out of luck\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("arguments", "message"), [
    (["--people", "99"], "100<=x<=1000000"), (["--people", "many"], "not a valid integer"), (["--seed", "-1"], "x>=0"),
    (["--port", "70000"], "0<=x<=65535"), (["--data", __file__], "is a file"), (["--json", "adult"], "after adult"),
    (["street"], "No such command 'street'"),
])  # fmt: skip
def test_mistakes_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", *arguments]) == 2
    said = capsys.readouterr()
    assert message in said.err and said.err.count("\n") == 1 and not said.out


# In a terminal.


class Terminal:
    """A program that has a terminal to itself; what it prints is collected."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.master, slave = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", IN_A_TERMINAL, "demo", "--port", "0", *arguments],
            cwd=folder, env=environment(folder), stdin=slave,
        )  # fmt: skip
        os.close(slave)
        self.text = ""

    def until(self, pattern: str) -> re.Match[str]:
        """Read until something is there; an error if it does not come."""
        deadline = time.monotonic() + WAIT
        while not (found := re.search(pattern, self.text)):
            assert self._read(deadline), f"it ended before {pattern!r}: {self.text}"
        return found

    def _read(self, deadline: float) -> bytes:
        """What comes next; nothing at the end."""
        ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing came: {self.text}"
        try:
            data = os.read(self.master, 65536)
        except OSError:  # The other side is closed.
            data = b""
        self.text += data.decode(errors="replace")
        return data

    def end(self) -> int:
        """Press Ctrl-C; the exit code."""
        os.write(self.master, CTRL_C)
        deadline = time.monotonic() + WAIT
        while self._read(deadline):
            pass
        return self.process.wait(WAIT)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(WAIT)
        os.close(self.master)


@contextmanager
def terminal(folder: Path, *arguments: str) -> Iterator[Terminal]:
    made = Terminal(folder, *arguments)
    try:
        yield made
    finally:
        made.close()


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=WAIT) as page:  # noqa: S310
        data: bytes = page.read()
        return data


def test_in_a_terminal_it_serves_until_ctrl_c(tmp_path: Path) -> None:
    with terminal(tmp_path, "--people", "300") as screen:
        address, survey = screen.until(r"live: (http://\S+)/s/(town-\w+)/results\s").groups()
        screen.until("people answer")
        screen.until("hold the truth")
        screen.until("Ctrl-C ends it")
        for page in ("", "/results"):
            assert b"A town that does not exist" in get(f"{address}/s/{survey}{page}")
        estimates: Any = json.loads(get(f"{address}/v1/surveys/{survey}/estimates?question=light"))
        assert estimates["results"][0]["n"] == 300
        assert screen.end() == 0, screen.text
        assert not left_behind(survey)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs a list of processes")
def test_ctrl_c_in_the_middle_ends_everything(tmp_path: Path) -> None:
    with terminal(tmp_path, "--people", "1000000", "--no-serve") as screen:
        survey = screen.until(r"/s/(town-\w+)/results\s")[1]
        assert len(left_behind(survey)) == (os.cpu_count() or 1)
        assert screen.end() == 130
        assert "sotto: interrupted" in screen.text and "Traceback" not in screen.text
        assert not left_behind(survey)
    assert not list(tmp_path.iterdir())


def test_it_can_be_told_to_end_in_a_terminal_too(tmp_path: Path) -> None:
    with terminal(tmp_path, "--people", "100", "--no-serve", "--json") as screen:
        screen.until(r'"covering": \d+\s+}')
        assert screen.process.wait(WAIT) == 0
