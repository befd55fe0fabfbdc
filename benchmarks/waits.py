"""What a person waits for who does little: the start of each command, and calls of the library on few data.

    python benchmarks/waits.py                                  # this version
    python benchmarks/waits.py --beside /another/checkout       # and another one, in turns
    python benchmarks/waits.py --imports                        # what takes how long to import, by package

Seconds of processor time, each the least of several processes: warm, with what Python compiled the last time, and for
commands also cold, with an empty cache. `bare` is the time of a process that only imports what the command reads and
writes files with.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sottovoce.estimates.render import text_table

ROOT = Path(__file__).parent.parent
RUNS, TIMEOUT_SECONDS = 5, 600
SOTTO = "import sys; from sottovoce.cli import main; sys.exit(main())"
BARE = "import numpy, pyarrow.csv, pyarrow.parquet"

COMMANDS = {
    "bare": None,
    "help": "--help",
    "randomize": "randomize answers.csv -c color -d red,green,blue -e 1 -o reports.parquet",
    "estimate": "estimate reports.parquet",
    "estimate --json": "estimate reports.parquet --json",
    "plan": "plan --mechanism auto --domain 16 --epsilon 1 --n 1000",
    "survey check": "survey check survey.yaml",
    "analyze": "analyze answers.csv -c yes --design warner:0.75",
    "audit": "audit -m krr -d 3 -e 1",
    "shuffle": "shuffle --mechanism rr --epsilon 1 --n 10000",
}
SURVEY = """sottovoce: 1
id: sleep
title: Sleep
budget: 2
questions:
  - {id: pills, text: "Do you take pills?", kind: yes_no}
  - {id: hours, text: "How long do you sleep?", kind: number, low: 0, high: 24}
"""

CALLS = """
import json, sys, time
def timed(name, job, repeats=3):
    taken = []
    for _ in range(repeats):
        begun = time.process_time()
        done = job()
        taken.append(time.process_time() - begun)
    calls[name] = min(taken)
    return done
calls, begun = {}, time.process_time()
import sottovoce as sv
calls["import sottovoce"] = time.process_time() - begun
begun = time.process_time()
m = sv.KRR(["a", "b", "c"], epsilon=1.0)
str(m.tally().add_many(m.randomize_many(["a", "b", "b"] * 300)).estimate())
calls["first estimate"] = time.process_time() - begun
import numpy as np
from fractions import Fraction
try:
    from sottovoce.statistics import difference_test
    from sottovoce.statistics.chart import chart_numbers
    from sottovoce.statistics.proportions.proportion import Proportion
except ImportError:
    from sottovoce.inference import difference_test
    from sottovoce.inference.proportion import Proportion
    from sottovoce.collector.figures import figures as chart_numbers
rng = np.random.default_rng(1)
try:
    wave = sv.SquareWave(0.0, 100.0, 0.5, 20)
except Exception:
    wave = sv.SquareWave(0, 100, bins=20, epsilon=0.5)
tally = wave.tally().add_many(wave.randomize_many(100 * rng.beta(5, 2, 50_000), seed=1))
timed("SquareWave.estimate", lambda: tally.estimate().rows())
coin = {"p": Fraction(3, 4), "q": Fraction(1, 4), "epsilon": 1.1}
pair = [Proportion(yes, 1000, **coin) for yes in (410, 460)]
timed("difference_test", lambda: difference_test(*pair))
asked = [{"id": f"q{at}", "text": "Which?", "kind": "choice", "values": 10_000} for at in range(100)]
long = {"sottovoce": 1, "id": "long", "title": "Long", "trust": "local", "budget": 100.0, "questions": asked}
survey = timed("100 x 10,000: publish", lambda: sv.Survey.from_dict(long).publish(), 1)
text = survey.canonical()
timed("100 x 10,000: read", lambda: sv.Survey.loads(text), 1)
tallies = []
for question in getattr(survey, "questions", None) or survey.items:
    made = question.mechanism
    tallies.append(made.tally().add_many(made.randomize_many(rng.integers(0, 10_000, 10_000), seed=1)))
results = timed("100 x 10,000: estimate", lambda: [one.estimate() for one in tallies], 1)
timed("100 x 10,000: to_dict", lambda: [one.to_dict() for one in results], 1)
timed("100 x 10,000: charts", lambda: [chart_numbers(one, 0.95) for one in tallies], 1)
print(json.dumps(calls))
"""


def seconds(command: list[str], checkout: Path, folder: Path, cache: Path | None) -> tuple[float, str]:
    """Processor time of a process and what it prints."""
    settings = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    settings |= {"PYTHONPATH": str(checkout / "src"), "OPENBLAS_NUM_THREADS": "1"}
    settings |= {"PYTHONPYCACHEPREFIX": str(cache)} if cache else {}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=settings, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[-200:]}: {done.stderr[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout


def command_rows(checkouts: dict[str, Path], folder: Path, runs: int) -> Iterable[tuple[str, str, list[float]]]:
    """Each command by each checkout: warm and cold."""
    for name, line in COMMANDS.items():
        command = ["-c", BARE] if line is None else ["-c", SOTTO, *line.split()]
        for version, checkout in checkouts.items():
            warm = min(seconds(command, checkout, folder, None)[0] for _ in range(runs))
            cold = []
            for _ in range(2):
                with tempfile.TemporaryDirectory() as cache:
                    cold.append(seconds(command, checkout, folder, Path(cache))[0])
            yield f"sotto {name}" if line else name, version, [warm, min(cold)]


def call_rows(checkouts: dict[str, Path], folder: Path, runs: int) -> Iterable[tuple[str, str, list[float]]]:
    """Each call of the library by each checkout."""
    for version, checkout in checkouts.items():
        found = [json.loads(seconds(["-c", CALLS], checkout, folder, None)[1]) for _ in range(runs)]
        for name in found[0]:
            yield name, version, [min(run[name] for run in found)]


IMPORTS = {
    "library": "import sottovoce",
    "library, an estimate": "import sottovoce as sv; sv.KRR(3, 1.0).tally().add_many([0, 1, 2]).estimate().interval()",
    "device": "import sottovoce.device.respondent",
    "device, an answer": "import sottovoce as sv; sv.KRR(3, 1.0).randomize(1)",
}
TIMED_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s*(\S+)")


def import_rows(folder: Path, runs: int) -> Iterable[list[str]]:
    """Milliseconds of imports in all, and of the packages that take the longest."""
    commands = {f"sotto {name}": ["-c", SOTTO, *line.split()] for name, line in COMMANDS.items() if line}
    for name, command in ({key: ["-c", code] for key, code in IMPORTS.items()} | commands).items():
        least: dict[str, float] = {}
        for _ in range(runs):
            done = subprocess.run([sys.executable, "-X", "importtime", *command], cwd=folder, capture_output=True,
                                  text=True, timeout=TIMEOUT_SECONDS, check=True)  # fmt: skip
            for took, module in TIMED_IMPORT.findall(done.stderr):
                least[module] = min(least.get(module, 1e9), int(took) / 1000)
        packages: dict[str, float] = {}
        for module, took in least.items():
            root = module.partition(".")[0]
            root = root if root not in sys.stdlib_module_names else "standard library"
            packages[root] = packages.get(root, 0.0) + took
        largest = sorted(packages.items(), key=lambda pair: -pair[1])[:5]
        yield [name, f"{sum(packages.values()):.0f}", ", ".join(f"{root} {took:.0f}" for root, took in largest)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, help="another checkout of sottovoce")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--imports", action="store_true", help="imports by package instead, in milliseconds")
    asked = parser.parse_args()
    checkouts = {"this version": ROOT, **({"beside": asked.beside} if asked.beside else {})}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = [f"{('red', 'green', 'blue')[at % 3]},{('no', 'yes')[at % 2]}" for at in range(1000)]
        (folder / "answers.csv").write_text("\n".join(["color,yes", *rows]) + "\n")
        (folder / "survey.yaml").write_text(SURVEY)
        if asked.imports:
            table = list(import_rows(folder, asked.runs))
            print(text_table(["what", "ms", "of which"], table))
            return
        commands = list(command_rows(checkouts, folder, asked.runs))
        calls = sorted(call_rows(checkouts, folder, 2), key=lambda row: row[0])
    for head, rows_found in (("command", commands), ("call", calls)):
        columns = ["warm, s", "cold, s"][: len(rows_found[0][2])]
        cells = [[name, version, *(f"{value:.3f}" for value in values)] for name, version, values in rows_found]
        print(text_table([head, "version", *columns], cells) + "\n")


if __name__ == "__main__":
    main()
