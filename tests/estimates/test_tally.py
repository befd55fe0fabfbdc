from __future__ import annotations

import ast
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.domain.columns import as_arrow
from sottovoce.core.errors import ReportError
from sottovoce.core.kernels import PART_ROWS
from sottovoce.core.reports import Reports
from sottovoce.estimates.tally import REPORTS_PER_OUTCOME

M = sv.KRR(["a", "b", "c"], epsilon=1.0)
report_lists = st.lists(st.integers(0, 2), max_size=30)


@given(report_lists, report_lists, report_lists)
def test_tallies_are_a_commutative_monoid(a: list[int], b: list[int], c: list[int]) -> None:
    def tally(*parts: list[int]) -> sv.Tally[sv.Estimate]:
        total = M.tally()
        for part in parts:
            total.merge(M.tally().add_many(part))
        return total

    assert tally(a, b, c) == tally(c, a, b) == M.tally().add_many(a + b + c)
    assert tally(a).merge(tally(b).merge(tally(c))) == tally(a, b).merge(tally(c))


@pytest.mark.parametrize(
    "m",
    [sv.LocalHash(9, 1.0), sv.LocalHash(7, 2.0, buckets=3), sv.Subset(7, 1.0), sv.DBitFlip(6, 1.0, sampled=2)],
    ids=repr,
)
def test_many_reports_are_counted_outcome_by_outcome(m: Any) -> None:
    """As few of them are: one by one. A report that cannot be is refused just the same, and nothing is counted."""
    outcomes, some = m.shape.outcomes, REPORTS_PER_OUTCOME * m.shape.outcomes
    reports = np.random.default_rng(1).integers(0, outcomes, some) // 2
    apart = m.tally()
    for at in range(0, some, REPORTS_PER_OUTCOME // 2):
        apart.add_many(reports[at : at + REPORTS_PER_OUTCOME // 2])
    together = m.tally().add_many(reports)
    assert together == apart
    reports[some // 2] = outcomes
    with pytest.raises(ReportError, match=f"from 0 to {outcomes - 1}, got {outcomes}"):
        together.add_many(reports)
    assert together == apart


@given(report_lists)
def test_json_round_trip(reports: list[int]) -> None:
    tally = M.tally().add_many(reports)
    assert sv.Tally.from_dict(json.loads(json.dumps(tally.to_dict())), M) == tally


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": sv.KRR(3, epsilon=1.0).to_dict()},
        {"n": "4"},
        {"cells": [1, 2]},
        {"cells": [1, 2, -1]},
        {"cells": [1, 2, 99]},
        {"cells": [1, 2, 0.5]},
        {"cells": [1, 2, 0]},
        {"n": True, "cells": [1, 0, 0]},
        {"simulated": "no"},
        {"n": 10**30, "cells": [10**30, 0, 0]},
        {"extra": 1},
    ],
)
def test_damaged_json_is_refused(change: dict[str, Any]) -> None:
    good = M.tally().add_many([0, 1, 1, 2]).to_dict()
    with pytest.raises(sv.ReportError):
        sv.Tally.from_dict(good | change, M)


def test_a_bad_report_changes_nothing() -> None:
    tally = M.tally().add(1)
    for bad in ([0, 1, 3], np.array([0, 3]), np.array([[0], [1]]), np.array([0.0])):
        with pytest.raises(sv.ReportError):
            tally.add_many(bad)
    assert tally == M.tally().add(1)


def test_reports_of_odd_columns() -> None:
    """Rows of bytes in pandas, decimals as of Spark and DuckDB, a batch of one column; what is masked is none."""
    bits = sv.Unary(9, 1.0)
    column = bits.randomize_many([3, 4], seed=1)
    assert bits.tally().add_many(pd.Series(list(column))).cells.tolist() == bits.tally().add_many(column).cells.tolist()
    for odd in (pa.array([2, 0]).cast(pa.decimal128(20, 0)), pa.record_batch({"x": [2, 0]}), np.ma.array([2, 0])):
        assert M.tally().add_many(odd) == M.tally().add_many([2, 0])
    with pytest.raises(sv.ReportError, match="must not be missing"):
        M.tally().add_many(np.ma.array([2, 0], mask=[True, False]))


def test_reports_of_another_mechanism_are_refused() -> None:
    other = sv.KRR(["a", "b", "c"], epsilon=2.0)
    with pytest.raises(sv.ReportError, match="cannot be counted for"):
        M.tally().add_many(other.randomize_many(["a", "b"]))
    for wrong in (other.tally(), None):
        with pytest.raises(sv.ReportError, match="cannot be merged"):
            M.tally().merge(wrong)  # type: ignore[arg-type]
    for report in (5, None, np.array([[1]])):
        with pytest.raises(sv.ReportError):
            M.tally().add_many(report)  # type: ignore[arg-type]
    with pytest.raises(sv.ReportError, match="a report must be a whole number"):
        M.tally().add(np.array([1, 2]))  # type: ignore[arg-type]


def test_simulation_is_contagious() -> None:
    real, simulated = M.randomize_many(["a"] * 9), M.randomize_many(["a"] * 9, seed=1)
    assert "SIMULATED" in repr(simulated) and "SIMULATED" not in repr(real)
    assert not M.tally().add_many(real).estimate().simulated
    assert M.tally().add_many(real).merge(M.tally().add_many(simulated)).estimate().simulated
    assert sv.Tally.from_dict(M.tally().add_many(simulated).to_dict(), M).simulated


def test_nothing_to_estimate() -> None:
    with pytest.raises(sv.ParameterError, match="at least one report"):
        M.tally().estimate()


def test_a_tally_too_large_for_memory_is_refused() -> None:
    with pytest.raises(sv.ParameterError, match="cells"):
        sv.KRR(2**32 - 1, epsilon=1.0).tally()


def test_size_does_not_depend_on_the_reports() -> None:
    m = sv.LocalHash(1000, epsilon=2.0)
    tally = m.tally()
    before = tally.cells.nbytes
    tally.add_many(m.randomize_many(np.arange(100_000) % 1000))
    assert tally.cells.nbytes == before
    assert repr(tally) == "<Tally of 100000 reports of LocalHash(1000 values, epsilon=2)>"


def test_reports_are_a_column() -> None:
    reports = sv.Unary(12, epsilon=1.0).randomize_many([3] * 5, seed=1)
    assert len(reports) == 5 and np.asarray(reports).shape == (5, 2)
    assert reports[0] == next(iter(reports)) == reports.data[0].tobytes()
    assert len(reports[1:]) == 4


def test_columns_are_counted_where_they_lie() -> None:
    """NumPy, pandas of both kinds, Arrow in parts and Polars: what is counted is their own memory."""
    index, bits = sv.KRR(1000, 1.0).shape, sv.Unary(16, 1.0).shape
    numbers = np.arange(1000, dtype=np.uint16)
    arrow = pa.array(numbers)
    for column in (numbers, pd.Series(numbers, copy=False)):
        assert as_arrow(column) is None and np.shares_memory(index.check_many(column), numbers)
    arrows = (
        arrow,
        arrow[5:],
        pa.chunked_array([arrow[:9], arrow[9:]]),
        pd.Series(pd.arrays.ArrowExtensionArray(arrow)),
    )
    for column in arrows:
        found = as_arrow(column)
        assert found is not None
        for part in found.chunks:
            assert np.shares_memory(index.check_many(index.from_arrow(part)), numbers)
    series = pl.Series(numbers)
    (part,) = as_arrow(series).chunks  # type: ignore[union-attr]
    assert np.shares_memory(index.from_arrow(part), series.to_numpy(allow_copy=False))
    rows = pa.array([b"ab", b"cd"], pa.binary(2))
    assert bits.from_arrow(rows).ctypes.data == rows.buffers()[1].address


@pytest.mark.parametrize(
    ("m", "sizes"),
    [
        (sv.KRR(1000, 1.0), [3, 32 * PART_ROWS + 1, 0, *[1000] * 300, PART_ROWS, 7, 5]),
        (sv.LocalHash(1000, 1.0), [3, 32 * PART_ROWS + 1, 0, *[1000] * 300, PART_ROWS, 7, 5]),
        (sv.Unary(16, 1.0), [3, 32 * PART_ROWS + 1, 0, *[1000] * 300, PART_ROWS, 7, 5]),
        (sv.Unary(2048, 1.0), [0, *[500] * 400]),
    ],
    ids=["krr", "local_hash", "unary", "wide"],
)
def test_parts_of_a_column_are_not_put_together(m: Any, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Long ones are counted as they lie, and of short ones a few at a time: memory is a small part of theirs."""
    reports = m.randomize_many(np.arange(sum(sizes)) % m.domain.size)
    ends = np.cumsum(sizes)
    rows = reports.data.ndim == 2
    kind = pa.binary(reports.data.shape[1]) if rows else pa.from_numpy_dtype(reports.data.dtype)
    whole = pa.Array.from_buffers(kind, len(reports), [None, pa.py_buffer(reports.data)])
    column = pa.chunked_array([whole[end - size : end] for end, size in zip(ends, sizes, strict=True)])
    expected = m.tally().add_many(reports.data)
    monkeypatch.setenv("SOTTO_THREADS", "2")
    tracemalloc.start()
    counted = m.tally().add_many(column)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counted == expected
    assert 3 * peak < reports.data.nbytes
    twice = pa.chunked_array([*column.chunks, *column.chunks[::-1]])
    assert counted.add_many(column) == m.tally().add_many(twice)


@pytest.mark.parametrize("kind", ["i1", "i2"])
def test_negative_numbers_are_refused(way: str, kind: str) -> None:
    """Also where they would be in range without their sign."""
    m = sv.KRR({"i1": 200, "i2": 65_500}[kind], 1.0)
    for count in (10, REPORTS_PER_OUTCOME * m.shape.outcomes):
        reports = np.zeros(count, dtype=kind)
        reports[7] = -100
        with pytest.raises(ReportError, match=r"from 0 to \d+, got -100$"):
            m.tally().add_many(reports)


def test_masks_that_hide_nothing_are_no_matter(way: str) -> None:
    m = sv.KRR(10, 1.0)
    reports = np.ma.masked_array(np.arange(REPORTS_PER_OUTCOME * 20) % 10)
    assert m.tally().add_many(reports) == m.tally().add_many(reports.data)


def test_a_column_of_nothing_is_still_of_some_type() -> None:
    for wrong in (pa.string(), pa.null(), pa.float64(), pa.bool_()):
        with pytest.raises(ReportError, match="must be a column of whole numbers"):
            sv.KRR(10, 1.0).tally().add_many(pa.array([], wrong))
    assert sv.KRR(10, 1.0).tally().add_many(pa.array([], pa.int8())).n == 0


def test_reports_in_a_list_are_a_column() -> None:
    m = sv.KRR(3, 1.0)
    assert m.tally().add_many(Reports(m, [1, 2] * 500, False)).n == 1000  # type: ignore[arg-type]


def test_reports_that_change_meanwhile_break_nothing() -> None:
    """Somebody else writes numbers far out of range, again and again, while the column is looked at and counted."""
    program = """
import threading, numpy as np, sottovoce as sv
from sottovoce.core import kernels
column, ended, m = np.zeros(2**21, dtype=np.int64), threading.Event(), sv.KRR(1024, 1.0)
kernels.loops()
def change():
    while not ended.is_set():
        column[::4097] = 2**45
        column[::4097] = 0
other = threading.Thread(target=change)
other.start()
for _ in range(300):
    try: m.tally().add_many(column)
    except sv.SottovoceError: pass
ended.set()
other.join()
print("unharmed")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "unharmed\n", done.stderr


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", ">u2", ">i4", "u4", "i8", ">u8"])
def test_numbers_of_any_kind_are_counted(way: str, kind: str) -> None:
    """Of many reports and of few, whatever the order of their bytes; one that is not in range is refused."""
    m = sv.KRR(100, 1.0)
    for count in (50, 2 * REPORTS_PER_OUTCOME * 100):
        reports = (np.arange(count) % 100).astype(kind)
        assert m.tally().add_many(reports).cells.tolist() == np.bincount(np.arange(count) % 100, minlength=100).tolist()
        for bad in (100, -1 if kind[-2] == "i" else 101):
            reports[count // 2] = bad
            with pytest.raises(ReportError, match=f"from 0 to 99, got {bad}$"):
                m.tally().add_many(reports)


def test_reports_may_come_as_columns_of_arrow_polars_or_duckdb() -> None:
    bits, index = sv.Unary(12, epsilon=1.0), sv.KRR(5, 1.0)
    rows, numbers = bits.randomize_many([3] * 50, seed=1), index.randomize_many([3] * 50, seed=1)
    packed = pa.array([bytes(row) for row in rows.data], pa.binary(2))
    expected = bits.tally().add_many(rows.data)
    for column in (packed, packed[:20], packed.cast(pa.binary()), pa.chunked_array([packed[:7], packed[7:]])):
        part = bits.tally().add_many(rows.data[: len(column)])
        assert bits.tally().add_many(column) == part
    assert bits.tally().add_many(pl.Series(packed.cast(pa.binary()))) == expected
    assert index.tally().add_many(pl.Series(numbers.data)) == index.tally().add_many(numbers.data)
    query: Any = duckdb.from_arrow(pa.table({"x": pa.array(numbers.data)}))
    assert index.tally().add_many(query) == index.tally().add_many(numbers.data)
    for bad in (pa.array([b"abc"]), pa.array([None], pa.binary(2)), pa.array([1])):
        with pytest.raises(ReportError):
            bits.tally().add_many(bad)
    for bad in (pa.array([5]), pa.array(["a"]), pa.array([1, None])):
        with pytest.raises(ReportError):
            index.tally().add_many(bad)


def test_counts_from_elsewhere_are_added_or_refused() -> None:
    m = sv.KRR(["a", "b", "c"], 1.0)
    counted = m.tally().add_many([0, 1, 2, 2])
    total = m.tally().add_counts(counted.cells, 4, simulated=True).add_counts(counted.cells, 4)
    assert (total.n, total.cells.tolist(), total.simulated) == (8, [2, 2, 4], True)
    for cells, n in (([1, 1], 2), ([1, 1, 3], 2), ([1, -1, 1], 1), ([0, 0, 0], -1)):
        with pytest.raises(ReportError, match="must be 3 cells from 0 to"):
            total.add_counts(np.array(cells), n)
    assert total.n == 8


def test_nobody_else_writes_to_a_tally() -> None:
    """Its number of reports, its cells and its mark change by its own methods alone."""
    source = Path(sv.__file__).parent
    written = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if node.attr in {"n", "cells", "simulated"} and ast.unparse(node.value) != "self"
    }
    assert written <= {"core/randomness.py"}  # A stream that is split off a simulated one is simulated, too.
