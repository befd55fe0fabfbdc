"""What Spark's workers do, without Spark: every batch of a partition counts, and every part of a merge."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.data import spark

KRR, UNARY = sv.KRR(["a", "b", "c"], epsilon=1.0), sv.Unary(13, epsilon=2.0)
REPORTS = [0, 1, 2, 2, 1, 1, 0]
BITS = [row.tobytes() for row in UNARY.randomize_many([1, 5, 5, 12, 0, 3, 1], seed=1).data]
SITES = ["x", "y", None, "x", "x", "y", "x"]
QUESTIONS = [KRR, UNARY]


def batches(*sizes: int) -> list[Any]:
    """The rows in Arrow batches of these sizes."""
    assert sum(sizes) == len(REPORTS)
    table = pa.table({"report_0": REPORTS, "report_1": BITS, "group_0": SITES})
    ends = [sum(sizes[:at]) for at in range(len(sizes) + 1)]
    return [table.slice(end, size).combine_chunks().to_batches()[0] for end, size in zip(ends, sizes, strict=False)]


def counted(parts: Sequence[Any], groups: Sequence[str] = ()) -> dict[tuple[int, Any], tuple[int, bytes]]:
    """The rows of counts by question and group."""
    rows = list(spark._counter([m.to_dict() for m in QUESTIONS], groups)(iter(parts)))
    values = [{name: column[0].as_py() for name, column in zip(row.schema.names, row, strict=True)} for row in rows]
    found = {(row["question"], row.get("group_0", "all")): (row["n"], row["cells"]) for row in values}
    assert len(found) == len(rows)
    return found


def expected(keep: Sequence[bool]) -> list[tuple[int, bytes]]:
    totals = [m.tally() for m in QUESTIONS]
    totals[0].add_many([code for code, kept in zip(REPORTS, keep, strict=True) if kept])
    totals[1].add_many(pa.chunked_array([[row for row, kept in zip(BITS, keep, strict=True) if kept]]))
    return [(total.n, total.cells.tobytes()) for total in totals]


@pytest.mark.parametrize("sizes", [(7,), (3, 4), (1, 1, 5), (2, 2, 2, 1)])
def test_every_batch_of_a_partition_counts(sizes: tuple[int, ...]) -> None:
    assert counted(batches(*sizes)) == {(at, "all"): row for at, row in enumerate(expected([True] * 7))}


@pytest.mark.parametrize("sizes", [(7,), (3, 4), (1, 1, 5), (2, 2, 2, 1)])
def test_every_batch_of_a_partition_counts_in_its_group(sizes: tuple[int, ...]) -> None:
    found = counted(batches(*sizes), ["group_0"])
    wanted = {(at, site): row for site in set(SITES) for at, row in enumerate(expected([own == site for own in SITES]))}
    assert found == wanted


def test_an_empty_partition_gives_no_counts() -> None:
    assert counted([]) == {}


@pytest.mark.parametrize("sizes", [(5,), (3, 2), (1, 1, 1, 1, 1)])
def test_every_part_of_a_branch_is_merged(sizes: tuple[int, ...]) -> None:
    """As Spark hands it over: a table in one or several chunks, one row for each partition of the branch."""
    parts = [KRR.tally().add_many(codes) for codes in ([0, 1], [2], [], [1, 1, 1], [0])]
    rows = [
        pa.table({"question": pa.array([0], pa.int32()), "n": [part.n], "cells": [part.cells.tobytes()], "branch": [3]})
        for part in parts
    ]
    ends = [sum(sizes[:at]) for at in range(len(sizes) + 1)]
    table = pa.concat_tables([pa.concat_tables(rows[a:b]).combine_chunks() for a, b in itertools.pairwise(ends)])
    assert table.column("n").num_chunks == len(sizes)
    merged = spark._merger(table)
    whole = KRR.tally().add_many([0, 1, 2, 1, 1, 1, 0])
    assert merged.num_rows == 1
    assert merged.to_pylist() == [{"question": 0, "n": 7, "cells": whole.cells.tobytes(), "branch": 3}]
    assert Counter(merged.schema.names) == Counter(table.schema.names)
