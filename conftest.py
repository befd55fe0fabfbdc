"""The documentation is tested: `pytest docs README.md` runs every example in it.

A ```python block is a doctest. In a ```console block each `$ ` line is run by bash, and what it prints must be what
follows it. `...` stands for any text. A document has its own names and its own empty directory.
"""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("untimed", deadline=None)  # Machines are shared and noisy: no test is timed.
settings.load_profile("untimed")

for library in ("OPENBLAS", "OMP", "MKL"):  # Tests run side by side, so that threads of one would only disturb others.
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"  # No test touches the keyring of this machine.

FLAGS = doctest.ELLIPSIS
TIMEOUT = 60
PLAIN = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
CLEANUP = "__cleanup__"
FAST_SECONDS, SECONDS_KEY = 0.1, "sottovoce/seconds"


def _sessions(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output that follows it. A final backslash continues a command."""
    lines = block.splitlines()
    while lines:
        command = lines.pop(0)
        if not command.startswith("$ "):
            raise ValueError(f"a console block must begin with a line '$ command', got {command!r}")
        while command.endswith("\\") and lines:
            command += "\n" + lines.pop(0)
        output = []
        while lines and not lines[0].startswith("$ "):
            output.append(lines.pop(0))
        yield command.removeprefix("$ "), _text(output)


def _text(lines: list[str]) -> str:
    """Lines without the spaces at their ends, nor the empty lines that part one command from the next."""
    return "".join(f"{line.rstrip()}\n" for line in lines).rstrip("\n") + "\n" if any(map(str.strip, lines)) else ""


def _run(command: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(  # noqa: S603 (the commands are those of our own pages)
        ["bash", "-c", command],  # noqa: S607
        env=os.environ | PLAIN | {"PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )
    return _text(done.stdout.splitlines())


def evaluate_console(example: Example) -> str | None:
    """Run a console block; None if all went as shown, otherwise the first difference."""
    checker = doctest.OutputChecker()
    for command, expected in _sessions(example.parsed):
        got = _run(command)
        if not checker.check_output(expected, got, FLAGS):
            shown = doctest.Example(command, expected)
            return f"$ {command}\n{checker.output_difference(shown, got, FLAGS)}"
    return None


def set_up(namespace: dict[str, Any]) -> None:
    with ExitStack() as stack:
        stack.enter_context(chdir(stack.enter_context(TemporaryDirectory())))
        namespace[CLEANUP] = stack.pop_all()


def tear_down(namespace: dict[str, Any]) -> None:
    namespace.pop(CLEANUP).close()


SHARED_SETUP = (".md", "test_rounds.py", "test_spark.py", "_page.py", "test_page_keys.py", "test_page_leaks.py")
"""How files are named whose tests share a long set-up: a page's names and folder, a survey, Java, a browser, a site."""


class Together(LoadScopeScheduling):
    """Tests run side by side, but those of a file that share a long set-up run in one process."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, _ = nodeid.partition("::")
        return file if file.endswith(SHARED_SETUP) else nodeid


# The inner loop: `pytest --fast` runs what took little time when it ran last.


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast", action="store_true", help=f"leave out what took more than {FAST_SECONDS} s when it ran last"
    )


class Stopwatch:
    """Remembers how long each test took. The examples of a page need one another, so that they are timed together."""

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._taken = config, dict[str, float]()
        self._known: dict[str, float] = config.cache.get(SECONDS_KEY, {}) if config.cache else {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._config.getoption("--fast"):
            long = {item for item in items if self._known.get(_timed(item.nodeid), 0.0) > FAST_SECONDS}
            self._config.hook.pytest_deselected(items=list(long))
            items[:] = [item for item in items if item not in long]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = _timed(report.nodeid)
        self._taken[name] = self._taken.get(name, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        if self._config.cache and not hasattr(self._config, "workerinput"):
            self._config.cache.set(SECONDS_KEY, self._known | self._taken)


def _timed(nodeid: str) -> str:
    file, _, _ = nodeid.partition("::")
    return file if file.endswith(".md") else nodeid


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Stopwatch(config))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Twice as many as there are cores: the tests of servers wait for the disk most of the time."""
    return min(2 * (os.cpu_count() or 1), 8)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together:
    return Together(config, log)


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=evaluate_console),
    ],
    patterns=["README.md", "docs/*.md", "docs/*/*.md"],
    setup=set_up,
    teardown=tear_down,
).pytest()
