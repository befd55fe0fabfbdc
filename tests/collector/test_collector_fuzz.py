"""Bytes that nobody sent on purpose: no crash, no answer but a 4xx, and nothing changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collector_service import ARROW, JSON, LINES, Inside, arrow, check_sums, submission, survey
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sottovoce.collector.records import StoredSurvey
from sottovoce.collector.sqlite import sqlite_store
from sottovoce.core import canonical
from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.device import wire


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    opened = sqlite_store(tmp_path_factory.mktemp("fuzz") / "x.sqlite")
    opened.publish(survey())
    made = Inside(opened, rate=None)
    yield made
    made.close()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.just("0" * 32),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
FIELDS = st.sampled_from(wire.FIELDS)
TEMPLATE = submission(survey(), name="f" * 32)
STREAM = arrow(survey(), 10)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=300)
    | VALUES.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(FIELDS, VALUES).map(lambda changes: json.dumps({**json.loads(TEMPLATE), **changes}).encode()),
    kind=st.sampled_from([JSON, LINES, ARROW]),
)
@example(data=b"NaN", kind=JSON)
def test_fuzzed_bodies_change_nothing(fuzzed: Inside, data: bytes, kind: str) -> None:
    """Whatever is not a report is a 400, one line, and nothing is kept."""
    before = check_sums(fuzzed.store)
    answer = fuzzed.send(data, kind)
    if answer.status == 200:  # A few of them are reports.
        assert wire.decode(data, survey())
        return
    assert answer.status in (400, 409) and set(answer.json) == {"error"}
    assert check_sums(fuzzed.store) == before


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4)), min_size=1, max_size=4))
def test_damaged_columns_are_refused_or_whole(fuzzed: Inside, cuts: list[tuple[float, bytes]]) -> None:
    """Bytes of an Arrow stream changed at random: no crash, and whatever is taken has passed every check."""
    data = bytearray(STREAM)
    for place, part in cuts:
        at = int(place * len(data))
        data[at : at + len(part)] = part
    answer = fuzzed.send(bytes(data), ARROW)
    assert answer.status in (200, 400, 409)


@settings(max_examples=400)
@given(
    st.sampled_from(["north", "south"]),
    st.integers(0, 1),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=2), st.integers(0, 2)), max_size=2),
)
def test_the_short_cut_reads_what_the_parser_reads(region: str, wave: int, cuts: list[Any]) -> None:
    """Submissions, whole and damaged: the short cut sees the same in them as `wire`, or leaves them to it."""
    data = submission(survey(), wave, region)
    for place, part, gone in cuts:
        at = int(place * len(data))
        data = data[:at] + part + data[at + gone :]
    to = StoredSurvey(1, survey(), survey().canonical())
    to.parser.learn('{"region":"north"}')
    found = to.parser.read(data)
    assert found is not None or cuts or region == "south"
    if found is not None:
        read = wire.decode(data, survey())
        kept = (bytes.fromhex(read.id), read.wave, canonical.dumps(read.covariates).decode())
        assert found == (*kept, to.layout.pack(read.reports))


def test_the_quick_parser_agrees_with_the_strict_one() -> None:
    """`wire.parse` takes a short cut for canonical bytes; it must not read anything that the strict parser does not."""

    @settings(max_examples=400)
    @given(VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60) | st.sampled_from(TRICKY))
    def check(data: bytes) -> None:
        try:
            strict = canonical.loads(data)
        except ParameterError:
            try:
                quick = wire.parse(data)
            except ReportError:
                return
            numbers = [one for one in _leaves(quick) if isinstance(one, int)]
            assert any(abs(one) >= 2**53 for one in numbers) or _depth(quick) > canonical.MAX_DEPTH
            return
        assert repr(wire.parse(data)) == repr(strict) or sorted(str(strict)) == sorted(str(wire.parse(data)))

    check()


TRICKY = [b'{"a":1,"a":2}', b'{"a":1.0}', b"NaN", b'"\\ud800"', b"1e5", b"-0", b'{"b":1,"a":2}', b" 1", b"1" * 30,
          b"[" * 40 + b"]" * 40]  # fmt: skip


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in _leaves(one)]
    return [leaf for one in value for leaf in _leaves(one)] if isinstance(value, list) else [value]


def _depth(value: Any) -> int:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, dict | list) else 0


# A fuzzer that watches which lines run.


def run_fuzzer(folder: Path, runs: int, *options: str) -> subprocess.CompletedProcess[str]:
    if "SOTTO_REQUIRE_ALL" not in os.environ:
        pytest.importorskip("atheris")
    script = Path(__file__).parents[1] / "support" / "fuzzing.py"
    paths = os.pathsep.join([str(script.parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, str(script), str(runs), str(folder), *options], capture_output=True,
                          text=True, env=os.environ | {"PYTHONPATH": paths}, cwd=folder, timeout=600)  # fmt: skip


@pytest.mark.parametrize("runs", [500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_fuzzer_finds_nothing(tmp_path: Path, runs: int) -> None:
    """Every body is refused by a `ReportError` or holds reports that pass all checks; see `fuzzing.py`."""
    done = run_fuzzer(tmp_path, runs)
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"Done {runs} in" in done.stderr


@pytest.mark.slow
def test_the_fuzzer_finds_a_parser_that_forgets_something(tmp_path: Path) -> None:
    done = run_fuzzer(tmp_path, 2000, "--broken")
    assert done.returncode != 0 and "UnicodeDecodeError" in done.stderr + done.stdout
