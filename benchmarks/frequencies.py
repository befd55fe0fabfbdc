"""The speed and the accuracy of frequency estimates, beside the other libraries of the field, in one run.

Speed means answers in, estimates out: every user's report is drawn and counted, and all frequencies are estimated.
Ours draws from AES-256 in counter mode under a fresh key of the operating system; the others draw from `random` and
`numpy.random`. They get the same answers, and as many of them as fit the time they are given.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, median, stdev
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from sottovoce import KRR, Domain, LocalHash, RandomizedResponse, Unary, __version__
from sottovoce.estimates.render import text_table
from sottovoce.mechanisms.frequency.pure import Pure

HERE = Path(__file__).parent
ENVIRONMENT = HERE.parent / ".venv-peers"
PYTHON = ENVIRONMENT / "bin" / "python"

# pure-ldp imports two packages that it does not declare. Both hash text, which xxhash 4 refuses.
REQUIREMENTS = {
    "pure-ldp": ("pure-ldp", "scikit-learn", "statsmodels", "xxhash<4"),
    "multi-freq-ldpy": ("multi-freq-ldpy", "xxhash<4"),
}
PEERS = [
    ("OUE", "pure-ldp", "Unary optimal"),
    ("OUE", "multi-freq-ldpy", "Unary optimal"),
    ("OLH", "pure-ldp", "LocalHash optimal"),
    ("OLH", "multi-freq-ldpy", "LocalHash optimal"),
    ("FLH", "pure-ldp", "LocalHash optimal"),
]
KINDS: dict[str, Callable[[int, float], Pure]] = {
    "RandomizedResponse": lambda _, epsilon: RandomizedResponse(epsilon, domain=Domain(2)),
    "KRR": KRR,
    "Unary symmetric": partial(Unary, kind="symmetric"),
    "Unary optimal": partial(Unary, kind="optimal"),
    "LocalHash binary": partial(LocalHash, kind="binary"),
    "LocalHash optimal": partial(LocalHash, kind="optimal"),
}
TIMED = ("RandomizedResponse", "KRR", "Unary optimal", "LocalHash optimal")
REPEATS = 3
TIMEOUT = 600
SMALL_N, SMALL_DOMAIN = 20_000, 64
SPEED_HEADER = ["protocol", "library", "users", "seconds", "users/s", "us/user", "MB", "MSE/theory", "ours/peer"]
ACCURACY_HEADER = ["mechanism", "eps asked", "eps exact", "MSE/theory", "std. error", "users/s"]


@dataclass(frozen=True)
class Speed:
    """A row of the first table. One that failed has a reason instead of numbers."""

    protocol: str
    library: str
    n: int = 0
    seconds: float = 0.0
    megabytes: float = 0.0
    mse_over_theory: float = 0.0
    ours_over_peer: float = 0.0
    failure: str = ""

    @property
    def rate(self) -> float:
        return self.n / self.seconds if self.seconds else 0.0

    def cells(self) -> list[str]:
        if self.failure:
            return [self.protocol, self.library, "failed", *["-"] * 6]
        work = [f"{self.n:,}", f"{self.seconds:.3f}", f"{self.rate:,.0f}", f"{1e6 / self.rate:.2f}"]
        ratio = f"{self.ours_over_peer:,.1f}" if self.ours_over_peer else ""
        return [self.protocol, self.library, *work, f"{self.megabytes:,.0f}", f"{self.mse_over_theory:.3f}", ratio]


@dataclass(frozen=True)
class Accuracy:
    """A row of the second table."""

    mechanism: str
    asked: float
    exact: float
    mse_over_theory: float
    stderr: float
    rate: float

    def cells(self) -> list[str]:
        error = [f"{self.mse_over_theory:.3f}", f"{self.stderr:.3f}"]
        return [self.mechanism, f"{self.asked:g}", f"{self.exact:.17g}", *error, f"{self.rate:,.0f}"]


def zipf(domain: int, n: int) -> NDArray[np.int64]:
    """Answers of which the k-th value is k^-1.1 times as likely as the first."""
    weights = np.arange(1, domain + 1) ** -1.1
    return np.random.default_rng(1).choice(domain, size=n, p=weights / weights.sum())


def estimated(m: Pure, answers: NDArray[np.int64], seed: int | None = None) -> tuple[float, float]:
    """The time from answers to frequencies, and their squared error as a multiple of the closed form."""
    start = perf_counter()
    frequency = m.tally().add_many(m.randomize_many(answers, seed)).estimate().frequency
    seconds = perf_counter() - start
    truth = np.bincount(answers, minlength=m.domain.size) / answers.size
    return seconds, float(np.mean((frequency - truth) ** 2)) * answers.size / m.variance


def our_speed(kind: str, domain: int, epsilon: float, n: int) -> Speed:
    m = KINDS[kind](domain, epsilon)
    answers = zipf(m.domain.size, n)
    estimated(m, answers[:2])  # As with the others, what is loaded on first use is not part of the cost per user.
    before = _peak()
    seconds, ratios = zip(*(estimated(m, answers) for _ in range(REPEATS)), strict=True)
    return Speed(kind, f"sottovoce {__version__}", n, median(seconds), _peak() - before, mean(ratios))


def _peak() -> float:
    """The most memory this process has held, in MB where the system counts in kB, as Linux does."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(kind: str, domain: int, epsilon: float, n: int) -> Speed:
    """Our speed in a process of its own, so that the peak of memory is that of one mechanism."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply_async(our_speed, (kind, domain, epsilon, n)).get(TIMEOUT)


def run(command: Sequence[str | Path], timeout: float = TIMEOUT) -> tuple[str, str]:
    """What a command printed, and why it failed: the last line of its errors, or nothing if it did not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return done.stdout, lines[-1] if done.returncode else ""


def install(library: str) -> str:
    """See to it that the peers' environment has a library. Returns why it could not, or nothing."""
    _, failure = run([sys.executable, "-m", "venv", ENVIRONMENT]) if not PYTHON.exists() else ("", "")
    pip: list[str | Path] = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return failure or run([*pip, *REQUIREMENTS[library]])[1]


def peer_speed(protocol: str, library: str, beside: Pure, answers: Path, limit: float) -> Speed:
    if failure := install(library):
        return Speed(protocol, library, failure=failure)
    options = [f"--domain={beside.domain.size}", f"--epsilon={beside.epsilon}", f"--seconds={limit}"]
    lines, failure = run([PYTHON, HERE / "peers.py", library, protocol, answers, *options], 60 + 4 * limit)
    if failure:
        return Speed(protocol, library, failure=failure)
    last = json.loads(lines.splitlines()[-1])
    ratio = last["mse"] * last["n"] / beside.variance
    return Speed(protocol, f"{library} {last['version']}", last["n"], last["seconds"], last["megabytes"], ratio)


def speeds(domain: int, epsilon: float, n: int, limit: float) -> list[Speed]:
    rows = [apart(kind, domain, epsilon, n) for kind in TIMED]
    ours = {row.protocol: row.rate for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.npy"
        np.save(answers, zipf(domain, n))
        for protocol, library, kind in PEERS:
            row = peer_speed(protocol, library, KINDS[kind](domain, epsilon), answers, limit)
            rows.append(replace(row, ours_over_peer=ours[kind] / row.rate) if row.rate else row)
    return rows


def speed_table(rows: list[Speed]) -> str:
    notes = [f"{row.library} {row.protocol}: {row.failure}" for row in rows if row.failure]
    return "\n".join([text_table(SPEED_HEADER, [row.cells() for row in rows]), *notes])


def accuracy(kind: str, epsilon: float, runs: int) -> Accuracy:
    m = KINDS[kind](SMALL_DOMAIN, epsilon)
    answers = zipf(m.domain.size, SMALL_N)
    seconds, ratios = zip(*(estimated(m, answers, seed) for seed in range(runs)), strict=True)
    rate = SMALL_N * runs / sum(seconds)
    return Accuracy(kind, epsilon, m.epsilon, mean(ratios), stdev(ratios) / runs**0.5, rate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1_000_000, help="users of the first table")
    parser.add_argument("--domain", type=int, default=1024, help="values of the first table")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--peer-seconds", type=float, default=20.0, help="how long a run of another library may take")
    parser.add_argument("--runs", type=int, default=1000, help="seeded runs for each row of the second table")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here, too")
    args = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}")
    print(f"\nSpeed: {args.domain} values (2 for RandomizedResponse), epsilon {args.epsilon:g}\n")
    fast = speeds(args.domain, args.epsilon, args.n, args.peer_seconds)
    print(speed_table(fast))
    print(f"\nAccuracy: {SMALL_DOMAIN} values (2 for RandomizedResponse), {SMALL_N:,} users, {args.runs} seeded runs\n")
    exact = [accuracy(kind, args.epsilon, args.runs) for kind in KINDS]
    print(text_table(ACCURACY_HEADER, [row.cells() for row in exact]))
    if args.json:
        speed = [asdict(row) | {"rate": row.rate} for row in fast]
        args.json.write_text(json.dumps({"speed": speed, "accuracy": [asdict(row) for row in exact]}, indent=2) + "\n")


if __name__ == "__main__":
    main()
