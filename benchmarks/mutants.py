"""How well the tests notice mistakes: random ones in the modules that privacy depends on, and ones planted by name.

    python benchmarks/mutants.py --count 60 --seed 1          # random mistakes, spread over all modules
    python benchmarks/mutants.py --module wire --count 10     # in one module
    python benchmarks/mutants.py --planted                    # the mistakes of planted.py, each with its tests

Every mistake is made in a temporary copy of the tree, one at a time, and the tests of that module run on the copy. A
mistake is caught if a test fails or hangs. What survives is printed with its place and its lines; mistakes that change
nothing that anybody can see are listed with a reason in equivalent_mutants.toml and do not count.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from mutant_tests import TESTS, modules, tests_of
from mutation import Mutant, sample
from planted import PLANTS, Plant

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "vectors", "clients", "docs", "benchmarks", "conftest.py", "pyproject.toml", "README.md",
          "CHANGELOG.md", "mkdocs.yml", "LICENSE", "Makefile", ".ci")  # fmt: skip
SHORTEST_TIMEOUT_SECONDS = 120
LONGEST_BASELINE_SECONDS = 1800
GREEN_TIMEOUT_SECONDS = 600
SLOWDOWN_ALLOWED = 4
"""A run that takes this many times as long as without the mistake hangs."""
PASSED, FAILED, NOTHING_TO_RUN = 0, 1, 5
"""What pytest returns. Anything else is a mistake in how it was called, or a module that cannot be imported."""


@dataclass(frozen=True)
class Outcome:
    file: str
    line: int
    kind: str
    old: str
    new: str
    caught: bool
    seconds: float
    by: str
    """The tests that caught it, or all that did not."""

    def __str__(self) -> str:
        word = "caught" if self.caught else "SURVIVED"
        lines = [f"- {line}" for line in self.old.splitlines()] + [f"+ {line}" for line in self.new.splitlines()]
        head = f"{word} {self.file}:{self.line}: {self.kind} ({self.seconds:.0f} s, {self.by})"
        return "\n    ".join([head, *lines])


class Copies:
    """Copies of the tree, one for each run at a time."""

    def __init__(self, folder: Path, count: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            copy = folder / str(number)
            copy.mkdir()
            for name in COPIED:
                _copy(ROOT / name, copy / name)
            self._free.put(copy)

    def run(self, file: str, text: str, tests: Sequence[str], timeout: float, slow: bool = False) -> tuple[int, float]:
        """What pytest returns with `text` in place of a file, and after how many seconds."""
        copy = self._free.get()
        original = (copy / file).read_bytes()
        try:
            (copy / file).write_text(text, "utf-8")
            began = time.monotonic()
            return _pytest(copy, tests, timeout, slow), time.monotonic() - began
        finally:
            (copy / file).write_bytes(original)
            self._free.put(copy)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    else:
        shutil.copy(source, target)


def _pytest(copy: Path, tests: Sequence[str], timeout: float, slow: bool) -> int:
    """Run tests in a group of processes of their own, all of which end with it."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-o", "python_functions=test_*"]  # A module may have a function called `tested`.
    command += [] if slow else ["-m", "not slow"]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    process = subprocess.Popen([*command, *tests], cwd=copy, env=environment, **silent)
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return FAILED
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def equivalent() -> set[tuple[str, str, str]]:
    """Mistakes that change nothing: the file, the lines taken out and those put in."""
    with (Path(__file__).parent / "equivalent_mutants.toml").open("rb") as file:
        return {(entry["file"], entry["old"], entry["new"]) for entry in tomllib.load(file)["mutant"]}


def chosen(names: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Random mistakes in the named modules and folders, or in all; a long module gets more of them."""
    draw, harmless = random.Random(seed), equivalent()
    places = [f"/{name}{end}" for name in names for end in (".py", "/")]
    files = [file for file in modules(ROOT) if not names or any(place in file for place in places)]
    if not files:
        raise SystemExit(f"there is no module {', '.join(names)} on the privacy path; see {', '.join(TESTS)}")
    lines = [len((ROOT / file).read_text("utf-8").splitlines()) for file in files]
    drawn = draw.choices(files, lines, k=2 * count)
    found = [mutant for file in drawn for mutant in sample(ROOT, file, 1, draw)]
    return [one for one in found if (one.file, *one.change) not in harmless][:count]


class Baseline:
    """How long each file of tests takes without a mistake. It is run once, when it is first needed, and must pass.

    `green` says that they are known to pass, so that they need not run without a mistake.
    """

    def __init__(self, copies: Copies, green: bool) -> None:
        self._copies, self._green, self._seconds = copies, green, dict[str, float]()
        self._lock = threading.Lock()

    def timeout(self, test: str) -> float:
        """After how many seconds a file of tests hangs."""
        if self._green:
            return GREEN_TIMEOUT_SECONDS
        with self._lock:
            if test not in self._seconds:
                self._seconds[test] = self._measured(test)
            return max(SHORTEST_TIMEOUT_SECONDS, SLOWDOWN_ALLOWED * self._seconds[test])

    def _measured(self, test: str) -> float:
        text = (ROOT / "pyproject.toml").read_text("utf-8")
        code, seconds = self._copies.run("pyproject.toml", text, [test], LONGEST_BASELINE_SECONDS)
        if code not in (PASSED, NOTHING_TO_RUN):
            raise SystemExit(f"{test} must pass before a mistake is made, but pytest returned {code}")
        return seconds


def random_outcomes(
    copies: Copies, baseline: Baseline, mutants: Sequence[Mutant], pool: ThreadPoolExecutor
) -> Iterator[Outcome]:
    """Each mistake meets one file of tests after the other, until one catches it."""

    def tried(mutant: Mutant) -> Outcome:
        total, tests = 0.0, tests_of(ROOT, mutant.file)
        for test in tests:
            code, seconds = copies.run(mutant.file, mutant.mutated, [test], baseline.timeout(test))
            total += seconds
            if code not in (PASSED, NOTHING_TO_RUN):
                return Outcome(mutant.file, mutant.line, mutant.kind, *mutant.change, True, total, test)
        return Outcome(mutant.file, mutant.line, mutant.kind, *mutant.change, False, total, ", ".join(tests))

    return pool.map(tried, mutants)


def planted_outcomes(copies: Copies, plants: Sequence[Plant], pool: ThreadPoolExecutor) -> Iterator[Outcome]:
    """The tests of a plant must pass without it and fail with it."""

    def tried(plant: Plant) -> Outcome:
        text = (ROOT / plant.file).read_text("utf-8")
        if text.count(plant.old) != 1:
            raise SystemExit(f"{plant.name}: {plant.file} must hold the text to replace once: {plant.old!r}")
        line = text[: text.index(plant.old)].count("\n") + 1
        code, seconds = copies.run(plant.file, text, plant.tests, LONGEST_BASELINE_SECONDS, slow=True)
        if code:
            raise SystemExit(f"{plant.name}: its tests must pass without the mistake, but pytest returned {code}")
        allowed = max(SHORTEST_TIMEOUT_SECONDS, SLOWDOWN_ALLOWED * seconds)
        code, seconds = copies.run(plant.file, text.replace(plant.old, plant.new), plant.tests, allowed, slow=True)
        return Outcome(
            plant.file, line, plant.name, plant.old, plant.new, code != PASSED, seconds, ", ".join(plant.tests)
        )

    return pool.map(tried, plants)


def report(outcomes: Iterator[Outcome], as_json: bool, every: bool) -> int:
    """Print what survived as it is found, then the score; how many survived."""
    done = []
    for outcome in outcomes:
        done.append(outcome)
        if not as_json and (every or not outcome.caught):
            print(outcome, flush=True)
    survived = [vars(outcome) for outcome in done if not outcome.caught]
    if as_json:
        print(json.dumps({"mutants": len(done), "survived": len(survived), "survivors": survived}, indent=2))
    else:
        print(f"{len(done)} mistakes, {len(done) - len(survived)} caught, {len(survived)} survived")
    return len(survived)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planted", nargs="?", const="", metavar="NAME", help="plant the named mistakes, or one")
    parser.add_argument("--module", nargs="+", default=[], help="modules or folders, such as wire or trust/shuffle")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="how many runs at a time")
    parser.add_argument("--green", action="store_true", help="the tests are known to pass: do not run them unchanged")
    parser.add_argument("--every", action="store_true", help="print what was caught, too")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sottovoce-mutants-") as folder, ThreadPoolExecutor(asked.jobs) as pool:
        copies = Copies(Path(folder), asked.jobs)
        if asked.planted is None:
            mutants = chosen(asked.module, asked.count, asked.seed)
            outcomes = random_outcomes(copies, Baseline(copies, asked.green), mutants, pool)
        else:
            plants = [plant for plant in PLANTS if asked.planted in ("", plant.name)]
            if not plants:
                raise SystemExit(f"there is no planted mistake {asked.planted!r}")
            outcomes = planted_outcomes(copies, plants, pool)
        survived = report(outcomes, asked.json, asked.every)
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
