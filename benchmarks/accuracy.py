"""Mean squared error beside two other libraries, on the same Zipf(1.1) answers: n = 100,000, 1,024 values, epsilon 1.

`python benchmarks/accuracy.py` takes about four minutes, nearly all of it the others' local hashing.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import mean

import numpy as np
from frequencies import HERE, PYTHON, install, run, zipf

import sottovoce as sv
from sottovoce.estimates.postprocess import em, simplex
from sottovoce.estimates.render import text_table
from sottovoce.mechanisms.frequency.pure import Pure

N, DOMAIN, EPSILON, RUNS, SECONDS = 100_000, 1024, 1.0, 20, 300
PEERS = [("pure-ldp", "OUE"), ("pure-ldp", "OLH"), ("multi-freq-ldpy", "OUE"), ("multi-freq-ldpy", "OLH")]


def ours(m: Pure) -> list[str]:
    """Unbiased, projected on the simplex, and by expectation maximisation: means over seeded runs."""
    answers = zipf(DOMAIN, N)
    truth = np.bincount(answers, minlength=DOMAIN) / N
    estimates = [m.tally().add_many(m.randomize_many(answers, seed)).estimate() for seed in range(RUNS)]
    steps = (lambda e: e, simplex, em)
    errors = [mean(float(((step(e).frequency - truth) ** 2).mean()) for e in estimates) for step in steps]
    return [f"sottovoce {m.name}", *(f"{error:.3g}" for error in errors)]


def theirs(library: str, protocol: str, answers: Path) -> list[str]:
    """One run as the library gives it: pure-ldp unbiased, multi-freq-ldpy clipped and normalised."""
    if failure := install(library):
        return [f"{library} {protocol}", failure, "", ""]
    options = [f"--domain={DOMAIN}", f"--epsilon={EPSILON}", f"--seconds={SECONDS}"]
    lines, failure = run([PYTHON, HERE / "peers.py", library, protocol, answers, *options], 4 * SECONDS)
    if failure:
        return [f"{library} {protocol}", failure, "", ""]
    last = json.loads(lines.splitlines()[-1])
    shown = f"{last['mse']:.3g}" + ("" if last["n"] == N else f" (n = {last['n']:,})")
    raw, clipped = (shown, "") if library == "pure-ldp" else ("", shown)
    return [f"{library} {protocol}", raw, clipped, ""]


def main() -> None:
    rows = [ours(m) for m in (sv.choose(DOMAIN, EPSILON), sv.Subset(DOMAIN, EPSILON), sv.Unary(DOMAIN, EPSILON))]
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.npy"
        np.save(answers, zipf(DOMAIN, N))
        rows += [theirs(library, protocol, answers) for library, protocol in PEERS]
    print(text_table(["mechanism", "unbiased", "on the simplex", "em"], rows))


if __name__ == "__main__":
    main()
