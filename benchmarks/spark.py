"""What a day of a billion reports would cost on Spark: `python benchmarks/spark.py [--rows N] [--cores 1 2]`.

Reports of a few mechanisms are written as `sotto randomize` does, then counted by Spark on this machine, with so many
cores: rows a second and core, and bytes a report in Parquet. Spark's start is left out, and a first, short pass that
starts its Python workers. From the rate of one core follow the core-hours for a billion reports, if nothing else holds
the cluster up. The files are made in a temporary folder and deleted. It needs Java 17 or later.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce import data as files
from sottovoce.core.reports import Reports
from sottovoce.data import spark
from sottovoce.mechanisms import Mechanism

DAY = 1e9
PART = 2**20
FILES = 8
MECHANISMS: dict[str, Mechanism] = {
    "krr, 16 values": sv.KRR(16, epsilon=4.0),
    "projective, 1,024 values": sv.Projective(1024, epsilon=1.0),
    "unary, 128 values": sv.Unary(128, epsilon=1.0),
}


def parts(m: Mechanism, rows: int) -> Iterator[dict[str, Reports]]:
    rng = np.random.default_rng(0)
    for at in range(0, rows, PART):
        yield {"answer": m.randomize_many(rng.integers(0, m.domain.size, min(PART, rows - at)))}


def written(folder: Path, m: Mechanism, rows: int) -> list[Path]:
    paths = [folder / f"{m.name}-{at}.parquet" for at in range(FILES)]
    for path in paths:
        files.write_reports(path, {"answer": m}, parts(m, rows // FILES))
    return paths


def count(session: Any, paths: list[Path], rows: int) -> float:
    """Seconds of a tally."""
    frame, mechanisms, _ = spark.read(session, paths)
    start = time.perf_counter()
    total = spark.tallies(frame, mechanisms)[()]["answer"]
    if total.n != rows:
        raise RuntimeError(f"{rows} reports were written, {total.n} counted")
    return time.perf_counter() - start


def measured(made: dict[str, list[Path]], rows: int, cores: int, repeats: int) -> list[dict[str, float | str]]:
    session = spark.session(f"local[{cores}]", **{"spark.sql.files.maxPartitionBytes": str(2**26)})
    found: list[dict[str, float | str]] = []
    for name, paths in made.items():
        count(session, paths[:1], rows // FILES)
        rate = rows / min(count(session, paths, rows) for _ in range(repeats))
        size = sum(path.stat().st_size for path in paths) / rows
        row: dict[str, float | str] = {
            "mechanism": name,
            "cores": cores,
            "reports/s": rate,
            "a core": rate / cores,
            "bytes": size,
            "GB a day": size * DAY / 1e9,
            "core-hours": DAY / (rate / cores) / 3600,
        }
        print("".join(cell(value) for value in row.values()), flush=True)
        found.append(row)
    session.stop()
    return found


def cell(value: float | str) -> str:
    return f"{value:<26}" if isinstance(value, str) else f"{value:>12,.0f}" if value >= 100 else f"{value:>12.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=2e7)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = int(arguments.rows) // FILES * FILES
    print(f"{rows:,} reports of each kind; a day is {DAY:,.0f} reports; {os.cpu_count()} cores\n")
    names = ("cores", "reports/s", "a core", "bytes", "GB a day", "core-hours")
    print(f"{'':<26}" + "".join(f"{name:>12}" for name in names))
    with tempfile.TemporaryDirectory() as folder:
        made = {name: written(Path(folder), m, rows) for name, m in MECHANISMS.items()}
        found = [row for cores in arguments.cores for row in measured(made, rows, cores, arguments.repeats)]
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
