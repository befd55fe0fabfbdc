"""What time tells about an answer: balanced accuracy and microseconds a call, for every mechanism of a device.

`python benchmarks/timing.py [--calls 60000] [--json FILE]` measures the library that is imported, so many calls for
every two answers, and with `--js` the JavaScript client, by Node. With `--bare` it leaves the blur of a call's time
out. To compare with another version, put its sources before this one's on PYTHONPATH and write both to files;
`python benchmarks/timing.py --table BEFORE.json AFTER.json` puts them side by side, or more of them.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import sottovoce as sv
from sottovoce import mechanisms
from sottovoce.mechanisms.base import Mechanism

CLIENT = Path(__file__).parents[1] / "clients" / "js" / "test" / "timing.js"

CASES: dict[str, tuple[Mechanism, tuple[Any, ...]]] = {
    "RandomizedResponse": (sv.RandomizedResponse(1.0), (False, True)),
    "KRR, 16 values": (sv.KRR(16, 1.0), (0, 15)),
    "KRR, 1,000 values": (sv.KRR(1000, 5.0), (3, 900)),
    "Unary, 16 values": (sv.Unary(16, 1.0), (0, 15)),
    "LocalHash, 1,000 values": (sv.LocalHash(1000, 1.0), (3, 900)),
    "Subset, 16 values": (sv.Subset(16, 1.0), (0, 15)),
    "Subset, 64 values, as bits": (sv.Subset(64, 0.25), (0, 63)),
    "Hadamard, 100 values": (sv.Hadamard(100, 1.0), (0, 99)),
    "Projective, 100 values": (sv.Projective(100, 1.0), (0, 99)),
    "Mean, rounding": (sv.Mean(0, 100, 1.0, kind="rounding"), (0.0, 72.3)),
    "Mean, piecewise": (sv.Mean(0, 100, 1.0, kind="piecewise", steps=64), (0.0, 72.3)),
    "Mean, hybrid": (sv.Mean(0, 100, 2.0, kind="hybrid", steps=64), (0.0, 72.3)),
    "SquareWave": (sv.SquareWave(0, 100, bins=16, epsilon=1.0), (0.0, 72.3)),
    "Sets, 10 options": (sv.Sets(10, 1.0), ([0, 1, 2], [7, 8, 9])),
    "KeyValue, 5 keys": (sv.KeyValue(5, 0, 1, 1.0), ([[0, 0.0]], [[4, 0.3]])),
    "Ranges, 64 values": (sv.Ranges(64, 1.0), (0, 63)),
    "Several": (sv.Several({"a": 3, "b": 4}, 1.0, how="split"), ((0, 0), (2, 3))),
    "Hashed, KRR": (sv.Hashed("krr", 16, 4, 1.0), ("tea", "coffee")),
    "Bloom": (mechanisms.Bloom(16, 2, 4, 2.0), ("tea", "coffee")),
    "Discovery": (sv.Discovery(2.0, 4, base="krr", buckets=16, cohorts=6), ("tea", "coffee")),
    "Memoized, KRR": (sv.Memoized.of(8, "krr", permanent=3.0, first=1.0), (0, 7)),
    "Memoized, unary": (sv.Memoized.of(8, "unary", permanent=3.0, first=1.0), (0, 7)),
    "DBitFlip": (sv.DBitFlip(16, 1.0, sampled=4), (0, 15)),
    "Changes": (sv.Changes(8, 2, 1.0), (False, True)),
}

LABELS = ["a", "no", "yes", "I would rather not say", "x" * 40]
TEXTS = (
    "tea",
    "coffee",
    "x",
    "a text of many words, as long as sixty-four bytes allow it to be",
    "é",
    "日本語のテキスト",
)
LARGEST = (0, 1, 256, 300, 2**30 - 1, 2**30, 2**31 - 1)

UNUSUAL: dict[str, tuple[Mechanism, tuple[Any, ...]]] = {
    "KRR, labels": (sv.KRR(LABELS, 1.0), tuple(LABELS)),
    "KRR, labels of mixed types": (
        sv.KRR(sv.Domain([1, "one", 2.5, 10**12, -7], missing="category"), 1.0),
        (1, "one", 2.5, 10**12, -7, None),
    ),
    "KRR, 2^31 values": (sv.KRR(2**31, 5.0), LARGEST),
    "LocalHash, 3 buckets": (sv.LocalHash(1000, 1.0, buckets=3), (0, 1, 256, 900, 999)),
    "LocalHash, 7 buckets": (sv.LocalHash(1000, 1.0, buckets=7), (0, 1, 256, 900, 999)),
    "LocalHash, 257 buckets": (sv.LocalHash(70_000, 5.6, buckets=257), (0, 1, 256, 65_536, 69_999)),
    "Subset, middle values": (sv.Subset(64, 0.25), (0, 1, 32, 63)),
    "Hadamard, 1,000 values": (sv.Hadamard(1000, 1.0), (0, 1, 254, 255, 511, 999)),
    "Hadamard, 2^31 values": (sv.Hadamard(2**31, 1.0), LARGEST),
    "Projective, order 5": (sv.Projective(6, 2.0, order=5), (0, 1, 3, 5)),
    "Mean, whole and tiny numbers": (sv.Mean(-1e6, 1e6, 1.0), (-1e6, 0.0, 1e6, -3.5, 12, 1e-300)),
    "SquareWave, whole numbers": (sv.SquareWave(0, 100, bins=16, epsilon=1.0), (0.0, 72.3, 100.0, 50)),
    "Sets, empty and full": (sv.Sets(10, 1.0), ([], [0], [9], [7, 8, 9], list(range(10)))),
    "Sets, labels": (sv.Sets(LABELS, 1.0), ((), tuple(LABELS[:1]), tuple(LABELS[3:]), tuple(LABELS))),
    "KeyValue, empty and full": (
        sv.KeyValue(5, 0, 1, 1.0),
        ([], [[0, 0.0]], [[2, 1]], [[key, 1.0] for key in range(5)]),
    ),
    "Ranges, 100,000 values": (sv.Ranges(10**5, 1.0), (0, 1, 256, 65_536, 99_999)),
    "Several, sample": (sv.Several({"a": 3, "b": 4}, 1.0, how="sample"), ((0, 0), (0, 3), (2, 0), (2, 3))),
    "Several, joint": (sv.Several({"a": 3, "b": 4}, 1.0, how="joint"), ((0, 0), (0, 3), (2, 0), (2, 3))),
    "Several, 12,000,000 values": (
        sv.Several({"a": 300, "b": 400, "c": 100}, 1.0, how="sample"),
        ((0, 0, 0), (0, 399, 0), (299, 0, 0), (299, 399, 99)),
    ),
    "Hashed, alphabets and lengths": (sv.Hashed("krr", 16, 4, 1.0), TEXTS),
    "Hashed, texts that are cut": (
        sv.Hashed("krr", 16, 4, 1.0, domain=sv.Text(8, longer="cut")),
        ("a", "b" * 8, "c" * 80, "éééé", "ééééé"),
    ),
    "Bloom, alphabets and lengths": (mechanisms.Bloom(16, 2, 4, 2.0), TEXTS),
    "Discovery, alphabets and lengths": (sv.Discovery(2.0, 4, base="krr", buckets=16, cohorts=6), TEXTS),
    "Memoized, texts of 300 bytes": (
        sv.Memoized.of(sv.Text(300), "hashed", permanent=2.0, first=1.0, buckets=16, cohorts=4),
        ("a", "b" * 80, "c" * 160, "d" * 300),
    ),
}
"""Answers that were told apart best, of all that were tried."""

Row = dict[str, float]


def measured(calls: int, is_blurred: bool) -> dict[str, Row]:
    """For each case the worst accuracies, for a fixed answer and between answers, and the time of a call."""
    from sottovoce.core.lazy import numpy as np
    from sottovoce.core.randomness import SYSTEM, Keystream
    from sottovoce.statistics.auditing import timing

    rows = {}
    for name, (m, answers) in {**CASES, **UNUSUAL}.items():
        call = m.randomize if is_blurred else lambda answer, m=m: m._perturb(m._encode(answer, SYSTEM), SYSTEM)
        timed = timing._measure(call, answers, calls * len(answers) // 2, Keystream(), None)
        fixed = timing._fixed(m, answers, timed) if name in CASES else ()
        found = [*fixed, *timing._between(answers, timed)]
        median = float(np.median(timed.nanoseconds))
        rows[name] = _row(timing.TimeAudit(answers, calls, median, tuple(found)))
        print(f"{name:28} {rows[name]}", file=sys.stderr, flush=True)
    return rows


def _row(found: Any) -> Row:
    """The worst of the fixed answers, and of every two answers, whatever the report is and given it.

    What is measured apart, by the part that a report names openly or by the report, is a mean over all of its calls.
    """
    fixed: dict[str, list[Any]] = {}
    for one in found.accuracies:
        if "speak for" in one.question:
            fixed.setdefault(one.question.replace(":", " and part").partition(" and part")[0], []).append(one)
    between = [one.accuracy for one in found.accuracies if one.question.startswith("is the answer")]
    given: dict[Any, list[Any]] = {}
    for one in found.accuracies:
        if one.question.startswith("the report is"):
            given.setdefault(one.sides, []).append(one)
    return {
        "fixed": round(max(map(_mean, fixed.values()), default=float("nan")), 3),
        "between": round(max(between), 3),
        "given": round(max(map(_mean, given.values()), default=float("nan")), 3),
        "microseconds": round(found.nanoseconds / 1000, 2),
    }


def _mean(accuracies: list[Any]) -> float:
    calls = sum(one.calls for one in accuracies)
    return sum(one.accuracy * one.calls for one in accuracies) / calls if calls else float("nan")


def by_javascript(calls: int) -> dict[str, Row]:
    """The same by the JavaScript client: Node times the calls, and the classifier here learns from them."""
    import numpy as np

    from sottovoce.statistics.auditing import timing

    rows = {}
    for name, (m, answers) in {**CASES, **UNUSUAL}.items():
        task = json.dumps({"mechanism": m.to_dict(), "answers": answers, "calls": calls * len(answers) // 2})
        done = subprocess.run(
            ["node", str(CLIENT)],
            input=task,
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        which, times, reports = json.loads(done.stdout)
        reports = [bytes.fromhex(report) if isinstance(report, str) else report for report in reports]
        timed = timing.Timed(np.array(which), np.array(times), reports)
        fixed = timing._fixed(m, answers, timed) if name in CASES else ()
        found = [*fixed, *timing._between(answers, timed)]
        rows[name] = _row(timing.TimeAudit(answers, calls, float(np.median(times)), tuple(found)))
        print(f"{name:28} {rows[name]}", file=sys.stderr, flush=True)
    return rows


def table(versions: list[dict[str, Row]]) -> str:
    """Side by side, for the docs."""
    lines = [
        "| mechanism | truth or lie | two answers | two answers, given the report | microseconds |",
        "|---|---|---|---|---|",
    ]
    for name in versions[-1]:
        cells = [_changes([one[name][kind] for one in versions], 2) for kind in ("fixed", "between", "given")]
        cells.append(_changes([one[name]["microseconds"] for one in versions], 1))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _changes(values: list[float], digits: int) -> str:
    return " -> ".join("-" if math.isnan(value) else f"{value:.{digits}f}" for value in values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=60_000)
    parser.add_argument("--js", action="store_true")
    parser.add_argument("--bare", action="store_true", help="without the blur at the end of a call")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", nargs="+", type=Path, metavar="FILE")
    asked = parser.parse_args()
    if asked.table:
        print(table([json.loads(path.read_text("utf-8")) for path in asked.table]))
        return
    rows = by_javascript(asked.calls) if asked.js else measured(asked.calls, not asked.bare)
    text = json.dumps(rows, indent=1)
    if asked.json:
        asked.json.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
