"""Fuzzing of what a collector reads from strangers: `python tests/support/fuzzing.py RUNS CORPUS [--broken]`.

The first byte of an input chooses the content type, the rest is the body. A fuzzer that watches which lines run changes
inputs until new ones do. A body is either refused with a `ReportError`, or becomes reports that pass every check again;
in both cases what the collector knows of the survey stays what it was. `--broken` has a parser that forgets that bytes
need not be UTF-8: a fuzzer that is worth its time finds that.
"""

from __future__ import annotations

import atexit
import signal
import sys
from pathlib import Path

import atheris

READERS = ["core.canonical", "device.wire", "collector.columns", "collector.intake", "collector.canonical_parser"]

with atheris.instrument_imports(include=[f"sottovoce.{name}" for name in READERS]):
    from collector_service import arrow, submission, survey

    from sottovoce.collector import intake
    from sottovoce.collector.records import Block, StoredSurvey
    from sottovoce.core.errors import ReportError
    from sottovoce.device import wire

MOST = 50
GROUPS = {'{"region":"north"}', '{"region":"south"}'}
TO = StoredSurvey(1, survey(), survey().canonical())


def seeds() -> list[bytes]:
    """One good body of each kind, for the fuzzer to begin with."""
    ones = [submission(survey(), wave, region) for wave, region in ((0, "north"), (1, "south"))]
    stream = arrow(survey(), 4)
    bodies = [ones[0], b'{"reports":[' + b",".join(ones) + b"]}"]
    return [b"\0" + bodies[0], b"\0" + bodies[1], b"\1" + b"\n".join(ones), b"\2" + stream]


def check(data: bytes) -> None:
    """One input."""
    kind = list(intake.KINDS)[(data[0] if data else 0) % len(intake.KINDS)]
    try:
        block = intake.read(data[1:], kind, TO, MOST)
    except ReportError:
        block = None
    assert set(TO.parser.known.values()) <= GROUPS and TO.document == survey().canonical()
    for name, wave, covariates, row in block.rows if block else ():
        assert len(name) == 16 and covariates in GROUPS and len(row) == TO.layout.width
        public = wire.check_covariates(wire.parse(covariates.encode()), survey())
        told = wire.Submission(name.hex(), survey().digest, wave, TO.layout.unpack(row), public)
        assert wire.decode(wire.encode(told), survey()) == told


LINES = intake.KINDS[intake.LINES]


def broken(data: bytes, to: StoredSurvey, most: int) -> Block:
    return LINES(data.decode().encode(), to, most)


def main() -> None:
    runs, corpus = sys.argv[1], Path(sys.argv[2])
    if "--broken" in sys.argv:
        intake.KINDS[intake.LINES] = broken
    for number, seed in enumerate(seeds()):
        (corpus / str(number)).write_bytes(seed)
    options = ["-seed=1", "-max_len=4096", "-timeout=10", f"-artifact_prefix={corpus}/"]
    atheris.Setup([sys.argv[0], f"-atheris_runs={runs}", *options, str(corpus)], check)
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)  # The clock of the timeout would kill a slow exit.
    atheris.Fuzz()


if __name__ == "__main__":
    main()
