from __future__ import annotations

from decimal import Decimal
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
from sottovoce.core.domain import Domain, is_missing
from sottovoce.core.errors import DomainError, ParameterError

labels = st.lists(
    st.one_of(st.text(min_size=1), st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
    min_size=2,
    unique=True,
)


@given(labels, st.sampled_from(["refuse", "category"]))
def test_codes_are_places(values: list[Any], missing: str) -> None:
    domain = Domain(values, missing)
    assert [domain.encode(label) for label in domain.labels] == list(range(domain.size))
    assert domain.encode_many(list(domain.labels)).tolist() == list(range(domain.size))
    assert Domain.from_dict(domain.to_dict()) == domain
    assert hash(Domain.of(domain)) == hash(domain)


@given(st.integers(2, 2**32 - 1), st.data())
def test_integers_are_their_own_codes(size: int, data: st.DataObject) -> None:
    domain = Domain(size)
    value = data.draw(st.integers(0, size - 1))
    assert domain.encode(value) == domain.encode(np.int64(value)) == domain.encode(float(value)) == value
    assert domain.encode(np.float32(1.0)) == 1
    with pytest.raises(DomainError):
        domain.encode(size)
    with pytest.raises(DomainError):
        domain.encode(-1)


COLUMNS = [
    ["b", "a", None],
    ("b", "a", ""),
    np.array(["b", "a", ""]),
    np.array(["b", "a", None], dtype=object),
    pd.Series(["b", "a", None]),
    pd.Series(["b", "a", pd.NA], dtype="string"),
    pd.Series(["b", "a", float("nan")], dtype=object),
    pd.Series(["b", "a", None], dtype="category"),
    pl.Series(["b", "a", None]),
    pa.array(["b", "a", None]),
    pa.chunked_array([["b"], ["a", None]]),
    pa.array(["b", "a", None]).dictionary_encode(),
    pl.Series(["b", "a", None], dtype=pl.Categorical),
    pl.DataFrame({"x": ["b", "a", None]}),
    pa.table({"x": ["b", "a", None]}),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: type(column).__module__)
def test_columns_of_every_kind(column: Any) -> None:
    assert Domain(["a", "b"], missing="category").encode_many(column).tolist() == [1, 0, 2]
    with pytest.raises(DomainError, match=r"row 3: an answer must not be missing"):
        Domain(["a", "b"]).encode_many(column)


@pytest.mark.parametrize(
    "column",
    [
        [3, 0, 4],
        np.array([3, 0, 4], dtype=np.uint8),
        pd.Series([3, 0, 4]),
        pl.Series([3, 0, 4]),
        [3.0, 0, 4],
        pa.chunked_array([[3], [0, 4]]),
    ],
)
def test_columns_of_integers(column: Any) -> None:
    assert Domain(5).encode_many(column).tolist() == [3, 0, 4]
    with pytest.raises(DomainError, match="row 3: an answer must be one of the 4 values of its domain, got 4"):
        Domain(4).encode_many(column)


def test_rows_are_counted_from_where_the_column_starts() -> None:
    with pytest.raises(DomainError, match=r"row 12: .* got 'c'"):
        Domain(["a", "b"]).encode_many(["a", "b", "c"], first_row=10)


@pytest.mark.parametrize("value", [None, "", float("nan"), np.nan, pd.NA, pd.NaT])
def test_what_is_missing(value: object) -> None:
    assert is_missing(value)
    assert Domain(3, missing="category").encode(value) == 3


@pytest.mark.parametrize("value", [0, False, " ", "nan", [], 0.0])
def test_what_is_not(value: object) -> None:
    assert not is_missing(value)


@pytest.mark.parametrize("value", ["A", "a ", b"a", 0, [], {}, ("a",), ("a", []), 1.5, object(), Decimal("sNaN")])
def test_answers_outside(value: object) -> None:
    with pytest.raises(DomainError, match="an answer must"):
        Domain(["a", "b"]).encode(value)
    with pytest.raises(DomainError, match="an answer must"):
        Domain(["a", "b"]).encode_many([value])


@pytest.mark.parametrize("value", [1.5, "1", b"1", [1], np.float64(0.5), float("inf"), np.array([1, 2])])
def test_answers_that_are_not_whole_numbers(value: object) -> None:
    with pytest.raises(DomainError, match="an answer must"):
        Domain(3).encode(value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (1, "from 2 to"),
        (0, "from 2 to"),
        (["a"], "from 2 to"),
        (2**32 + 1, "from 2 to"),
        (["a", "a"], "got 'a' twice"),
        ([1, True], "got True twice"),
        (["a", ""], "must not be empty"),
        (["a", None], "must be text"),
        (["a", float("nan")], "must not be empty"),
        (["a", float("inf")], "finite number"),
        (["a", ["b"]], "must be text"),
        ("abc", "a number of values or a list"),
        (True, "a number of values or a list"),
        (1.5, "a number of values or a list"),
        (None, "a number of values or a list"),
    ],
)
def test_bad_domains(values: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Domain(values)


def test_bad_policy() -> None:
    with pytest.raises(ParameterError, match="missing must be one of refuse, category, got 'drop'"):
        Domain(3, missing="drop")


@pytest.mark.parametrize("column", ["abab", 3, None, np.array([[0, 1]]), np.array([["a", "b"]])])
def test_a_column_must_be_a_column(column: Any) -> None:
    for domain in (Domain(["a", "b"]), Domain(2)):
        with pytest.raises(DomainError, match="a column of answers must be a list"):
            domain.encode_many(column)


def test_arrays_make_domains() -> None:
    assert Domain(np.array(["x", "y"])).values == ("x", "y")
    assert Domain(pd.Series([3, 1])).values == (3, 1)
    assert Domain(iter(np.array([3, "x"], dtype=object))).to_dict() == {"values": [3, "x"], "missing": "refuse"}


def sql(query: str) -> Any:
    """A query of DuckDB, which its types do not call a column."""
    return duckdb.sql(query)


def test_a_query_of_duckdb_is_a_column() -> None:
    assert Domain(5).encode_many(sql("select unnest([3, 0, 4])")).tolist() == [3, 0, 4]
    assert Domain(["a", "b"]).encode_many(sql("select unnest(['b', 'a']) as x")).tolist() == [1, 0]


def test_numbers_of_many_digits_are_whole_numbers() -> None:
    """HUGEINT, what DuckDB makes of a sum, comes as decimals; of more than 64 bits it is in no domain."""
    assert Domain(5).encode_many(sql("select 3::hugeint")).tolist() == [3]
    assert Domain(9).encode_many(sql("select sum(x) from (select unnest([3, 4]) x)")).tolist() == [7]
    with pytest.raises(DomainError, match=r"^row 1: .* got Decimal"):
        Domain(5).encode_many(sql("select 1e30::hugeint"))


def test_what_a_mask_hides_is_missing() -> None:
    column = np.ma.array([1, 2, 0], mask=[False, True, False])
    assert Domain(3, missing="category").encode_many(column).tolist() == [1, 3, 0]
    with pytest.raises(DomainError, match="row 2: an answer must not be missing"):
        sv.KRR(3, 1.0).randomize_many(column)


@pytest.mark.parametrize(("domain", "codes"), [(Domain([True, False]), [0, 1, 0]), (Domain(2), [1, 0, 1])])
def test_columns_of_truth_values(domain: Domain, codes: list[int]) -> None:
    values = [True, False, True]
    for column in (values, np.array(values), pd.Series(values), pa.array(values), pa.record_batch({"x": values})):
        assert domain.encode_many(column).tolist() == codes
    with pytest.raises(DomainError, match=r"row 11: an answer must be one of .* got True"):
        Domain(["a", "b"]).encode_many(np.array([True]), first_row=11)


@pytest.mark.parametrize("m", [sv.KRR(50, 1.0), sv.KRR(list(range(10, 60)), 1.0), sv.Mean(0, 60, 1.0)], ids=repr)
def test_a_seed_gives_the_same_reports_for_numbers_of_every_library(m: Any) -> None:
    numbers = np.arange(2**17 + 5) % 40 + 10
    expected = m.randomize_many(numbers, seed=1).data
    parts = pa.chunked_array([numbers[:1000], numbers[1000:]])
    for column in (pd.Series(numbers), pl.Series(numbers), pa.array(numbers), parts, numbers.astype("i1")):
        assert (m.randomize_many(column, seed=1).data == expected).all()


def test_a_table_is_a_column_only_if_it_has_one() -> None:
    with pytest.raises(DomainError, match="must have one column, got 2"):
        Domain(["a", "b"]).encode_many(pa.table({"x": ["a"], "y": ["b"]}))
    with pytest.raises(DomainError, match="text, a number or a truth value"):
        Domain(["a", "b"]).encode_many(pa.array([["a"]]))


def test_an_empty_column_has_no_codes() -> None:
    empty: Any
    for empty in ([], pa.array([], pa.string()), pa.chunked_array([], pa.string()), pl.Series([], dtype=pl.String)):
        assert Domain(["a", "b"]).encode_many(empty).tolist() == []
    for empty in ([], pa.array([], pa.int8()), pa.chunked_array([], pa.int64())):
        assert Domain(3).encode_many(empty).tolist() == []
