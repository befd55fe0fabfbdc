"""What the clients of the field's other libraries spend at least, beside what they claim.

Each client runs as a program in the environment of the peers, `.venv-peers`, and is audited as a black box by
`sottovoce.statistics.auditing.Command`. An older version of pure-ldp, whose unary client is broken, is put beside the
newer one.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from importlib.metadata import version
from time import perf_counter

from audit_clients import CLIENTS, LATER
from frequencies import ENVIRONMENT, HERE, PYTHON, install, run

from sottovoce import SottovoceError, audit
from sottovoce.estimates.render import text_table
from sottovoce.statistics.auditing import Command

OLDER = "pure-ldp==1.1.*"
FOLDER = ENVIRONMENT / "older"
HEADER = ["library", "client", "reports", "claimed", "certified", "more than claimed", "seconds"]
REPEATS = 16
"""Reports of one person that a longitudinal client is asked for."""


@dataclass(frozen=True)
class Row:
    """A client, how it is run, and what it claims for so many reports."""

    library: str
    client: str
    python: list[str]
    repeats: int = 1
    factor: float = 1.0

    def cells(self, epsilon: float, samples: int) -> list[str]:
        command = [*self.python, str(HERE / "audit_clients.py"), self.library.partition(" ")[0], self.client]
        start, claimed = perf_counter(), self.factor * epsilon
        try:
            found = audit(Command([*command, f"--epsilon={epsilon}"]), 0, 1, samples, claimed=claimed,
                          repeats=self.repeats)  # fmt: skip
        except SottovoceError as error:
            return [self.library, self.client, str(self.repeats), f"{claimed:g}", "failed", str(error)[:60], "-"]
        numbers = [f"{claimed:g}", f"{found.epsilon_lower:.3f}", "YES" if found.exceeds else ""]
        return [self.library, self.client, str(self.repeats), *numbers, f"{perf_counter() - start:.0f}"]


def older() -> str:
    """See to it that the older version lies in a folder of its own. Returns why it could not, or nothing."""
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    return "" if any(FOLDER.glob("pure_ldp-1.1*")) else run([*pip, "--target", str(FOLDER), OLDER])[1]


def rows() -> list[Row]:
    """All clients, the unary ones of pure-ldp in both versions, and the longitudinal ones once and again."""
    python = [str(PYTHON)]
    found = [Row(_named(library), client, python) for library, client in CLIENTS]
    before = ["env", f"PYTHONPATH={FOLDER}", *python]
    found += [Row("pure-ldp 1.1", client, before) for client in ("SUE", "OUE")]
    return found + [
        Row(_named(library), client, python, REPEATS, LATER) for library, client in CLIENTS if client[:2] == "L-"
    ]


def _named(library: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({library!r}))"
    return f"{library} {run([PYTHON, '-c', code])[0].strip()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=50_000, help="observations of each of two answers")
    parser.add_argument("--epsilon", type=float, default=1.0)
    args = parser.parse_args()
    for failure in (install("pure-ldp"), install("multi-freq-ldpy"), older()):
        if failure:
            sys.exit(failure)
    print(f"sottovoce {version('sottovoce')}, {args.samples:,} samples of each answer, 99% confidence\n")
    print(text_table(HEADER, [row.cells(args.epsilon, args.samples) for row in rows()]))


if __name__ == "__main__":
    main()
