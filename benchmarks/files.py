"""How fast long files are randomized and counted: `python benchmarks/files.py [--rows N] [--gigabytes G]`.

The commands are the real ones, each in a process of its own, on a Parquet file with a column of 16 labels and on a CSV
file with that column and three others. Beside each stands the bare reading of the same column of the same file with
pyarrow, in batches that are dropped at once: the whole process, and the loop over the batches alone. Seconds are the
best of interleaved rounds, start-up included; memory is the peak. The files are made in a temporary folder and deleted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LABELS = [f"value {at}" for at in range(16)]
CHUNK = 2**20
MECHANISMS = {"krr": "4", "unary": "1", "subset": "1"}
"""How the labels are asked, and for which epsilon. Subset selection is what `auto` takes for these labels."""


@dataclass(frozen=True)
class Run:
    """What one process took."""

    seconds: float
    cpu: float
    megabytes: float
    told: str

    @property
    def loop(self) -> float:
        return float(self.told.split()[-1])


def labels(rows: int, seed: int) -> Any:
    import numpy as np
    import pyarrow as pa

    codes = np.minimum(np.random.default_rng(seed).geometric(0.2, rows) - 1, len(LABELS) - 1)
    return pa.array(LABELS).take(pa.array(codes))


def make_parquet(path: str, rows: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, pa.schema([("label", pa.string())])) as file:
        for at in range(0, int(rows), CHUNK):
            file.write_table(pa.table({"label": labels(min(CHUNK, int(rows) - at), at)}))


def make_csv(path: str, size: str) -> None:
    """A million rows, again and again: what is in them does not matter for the speed."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as csv

    rng = np.random.default_rng(0)
    columns = {
        "id": np.arange(CHUNK),
        "label": labels(CHUNK, 0),
        "time": rng.integers(1_600_000_000, 1_700_000_000, CHUNK),
        "note": pa.array(["some words of a note", "other words"]).take(pa.array(rng.integers(0, 2, CHUNK))),
    }
    sink = pa.BufferOutputStream()
    csv.write_csv(pa.table(columns), sink)
    header, _, rows = sink.getvalue().to_pybytes().partition(b"\n")
    with open(path, "wb") as file:
        file.write(header + b"\n")
        while file.tell() < int(size):
            file.write(rows)


def read_parquet(path: str) -> None:
    import pyarrow.parquet as pq

    start = time.perf_counter()
    for _ in pq.ParquetFile(path).iter_batches(columns=["label"]):
        pass
    print(time.perf_counter() - start)


def read_csv(path: str) -> None:
    import pyarrow as pa
    import pyarrow.csv as csv

    start = time.perf_counter()
    convert = csv.ConvertOptions(include_columns=["label"], column_types={"label": pa.string()})
    for _ in csv.open_csv(path, convert_options=convert):
        pass
    print(time.perf_counter() - start)


STEPS: dict[str, Callable[..., None]] = {
    step.__name__: step for step in (make_parquet, make_csv, read_parquet, read_csv)
}


def run(*command: str) -> Run:
    """Run a command. This process stays small, for what it holds when it starts another counts as the other's."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        told = started.stdout.read() if started.stdout else ""
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {started.returncode}")
    return Run(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, told)


def step(name: str, *arguments: str) -> Run:
    return run(sys.executable, __file__, "--step", name, *arguments)


def sotto(*arguments: str) -> Run:
    return run(str(Path(sys.executable).with_name("sotto")), *arguments)


def measure(name: str, path: Path, repeats: int, *command: str) -> dict[str, Any]:
    """A command beside the reading of its file."""
    reader = "read_csv" if path.suffix == ".csv" else "read_parquet"
    rounds = [(step(reader, str(path)), sotto(*command)) for _ in range(repeats)]
    read, ours = (min(runs, key=lambda one: one.seconds) for runs in zip(*rounds, strict=True))
    loop = min(one.loop for one, _ in rounds)
    row = {
        "command": name,
        "GB": path.stat().st_size / 1e9,
        "seconds": ours.seconds,
        "cpu": ours.cpu,
        "cores": ours.cpu / ours.seconds,
        "peak MB": max(one.megabytes for _, one in rounds),
        "read": read.seconds,
        "read cpu": read.cpu,
        "loop": loop,
        "/ read": ours.seconds / read.seconds,
        "/ loop": ours.seconds / loop,
        "cpu/cpu": ours.cpu / read.cpu,
    }
    print("".join(cell(value) for value in row.values()), flush=True)
    return row


def cell(value: float | str) -> str:
    return f"{value:<27}" if isinstance(value, str) else f"{value:>9.0f}" if value >= 100 else f"{value:>9.2f}"


def measured(folder: Path, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    parquet, table, rows = folder / "in.parquet", folder / "in.csv", []
    step("make_parquet", str(parquet), str(int(arguments.rows)))
    step("make_csv", str(table), str(int(arguments.gigabytes * 1e9)))
    for source, mechanisms in ((parquet, arguments.mechanism), (table, arguments.mechanism[:1])):
        for name in mechanisms:
            reports = folder / f"{name}.parquet"
            asked = ("-c", "label", "-d", ",".join(LABELS), "-m", name, "-e", MECHANISMS[name], "-o", str(reports))
            what = f"randomize {source.suffix[1:]}, {name}"
            rows.append(measure(what, source, arguments.repeats, "randomize", str(source), *asked))
            rows.append(measure(f"estimate {name}", reports, arguments.repeats, "estimate", str(reports)))
            reports.unlink()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e8, help="of the Parquet file")
    parser.add_argument("--gigabytes", type=float, default=5.0, help="of the CSV file")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--mechanism", nargs="+", choices=MECHANISMS, default=list(MECHANISMS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        STEPS[arguments.step[0]](*arguments.step[1:])
        return
    print(f"{arguments.rows:,.0f} rows of Parquet, {arguments.gigabytes:g} GB of CSV, {os.cpu_count()} cores\n")
    names = ("GB", "seconds", "cpu", "cores", "peak MB", "read", "read cpu", "loop", "/ read", "/ loop", "cpu/cpu")
    print(f"{'':<27}" + "".join(f"{name:>9}" for name in names))
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(Path(folder), arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
