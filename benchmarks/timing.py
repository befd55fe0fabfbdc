"""What time tells about an answer: balanced accuracy and microseconds a call, for every mechanism of a device.

`python benchmarks/timing.py [--calls 60000] [--json FILE]` measures the library that is imported, and with `--js` the
JavaScript client, by Node. To compare with another version, put its sources before this one's on PYTHONPATH and write
both to files; `python benchmarks/timing.py --table BEFORE.json AFTER.json` puts them side by side.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import sottovoce as sv
from sottovoce import mechanisms
from sottovoce.mechanisms.base import Mechanism

CLIENT = Path(__file__).parents[1] / "clients" / "js" / "test" / "timing.js"

CASES: dict[str, tuple[Mechanism, tuple[Any, Any]]] = {
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
    "Memoized, KRR": (sv.Memoized.of("krr", 8, permanent=3.0, first=1.0), (0, 7)),
    "Memoized, unary": (sv.Memoized.of("unary", 8, permanent=3.0, first=1.0), (0, 7)),
    "DBitFlip": (sv.DBitFlip(16, 1.0, sampled=4), (0, 15)),
    "Changes": (sv.Changes(8, 2, 1.0), (False, True)),
}

Row = dict[str, float]


def measured(calls: int) -> dict[str, Row]:
    """For each case the worst accuracies, for a fixed answer and between answers, and the time of a call."""
    from sottovoce.auditing.timing import audit_time

    rows = {}
    for name, (m, answers) in CASES.items():
        rows[name] = _row(audit_time(m, answers, calls))
        print(f"{name:28} {rows[name]}", file=sys.stderr, flush=True)
    return rows


def _row(found: Any) -> Row:
    """The worse of the fixed answers, and two answers, whatever the report is and given it.

    What is measured apart, by the part that a report names openly or by the report, is a mean over all of its calls.
    """
    fixed: dict[str, list[Any]] = {}
    for one in found.accuracies:
        if "speak for" in one.question:
            fixed.setdefault(one.question.replace(":", " and part").partition(" and part")[0], []).append(one)
    between = [one.accuracy for one in found.accuracies if one.question.startswith("is the answer")]
    given = [one for one in found.accuracies if one.question.startswith("the report is")]
    return {
        "fixed": round(max(map(_mean, fixed.values()), default=float("nan")), 3),
        "between": round(max(between), 3),
        "given": round(_mean(given), 3),
        "microseconds": round(found.nanoseconds / 1000, 2),
    }


def _mean(accuracies: list[Any]) -> float:
    calls = sum(one.calls for one in accuracies)
    return sum(one.accuracy * one.calls for one in accuracies) / calls if calls else float("nan")


def by_javascript(calls: int) -> dict[str, Row]:
    """The same by the JavaScript client: Node times the calls, and the classifier here learns from them."""
    import numpy as np

    from sottovoce.auditing import timing

    rows = {}
    for name, (m, answers) in CASES.items():
        task = json.dumps({"mechanism": m.to_dict(), "answers": answers, "calls": calls})
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
        found = [*timing._fixed(m, answers, timed), *timing._between(answers, timed)]
        rows[name] = _row(timing.TimeAudit(answers, calls, float(np.median(times)), tuple(found)))
        print(f"{name:28} {rows[name]}", file=sys.stderr, flush=True)
    return rows


def table(before: dict[str, Row], after: dict[str, Row]) -> str:
    """Side by side, for the docs."""
    lines = [
        "| mechanism | truth or lie | two answers | two answers, given the report | microseconds |",
        "|---|---|---|---|---|",
    ]
    for name, new in after.items():
        cells = [f"{before[name][kind]:.2f} -> {new[kind]:.2f}" for kind in ("fixed", "between", "given")]
        cells.append(f"{before[name]['microseconds']:.1f} -> {new['microseconds']:.1f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=60_000)
    parser.add_argument("--js", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    asked = parser.parse_args()
    if asked.table:
        print(table(*(json.loads(path.read_text("utf-8")) for path in asked.table)))
        return
    rows = by_javascript(asked.calls) if asked.js else measured(asked.calls)
    text = json.dumps(rows, indent=1)
    if asked.json:
        asked.json.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
