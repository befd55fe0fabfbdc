"""Texts as answers: bytes, limits, missing answers and spellings, each by an explicit policy."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import sottovoce as sv


def test_the_code_is_the_bytes() -> None:
    domain = sv.Text()
    for text in ("tea", " tea", "é", "日本語", "\U0001f600", "\x00", "a" * 64):
        assert domain.encode(text) == text.encode()
    assert domain.encode_many(["tea", "é"]) == [b"tea", "é".encode()]


@pytest.mark.parametrize("value", [5, 1.5, True, b"tea", ["tea"], ("tea",), {"tea": 1}, object()])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(sv.DomainError, match="must be text"):
        sv.Text().encode(value)
    with pytest.raises(sv.DomainError, match="row 8: an answer must be text"):
        sv.Text().encode_many(["tea", value], first_row=7)


@pytest.mark.parametrize("value", ["\ud800", "tea\udc00", "\udfff" * 3])
def test_lone_surrogates_are_refused_in_one_printable_line(value: str) -> None:
    for longer in ("refuse", "cut"):
        with pytest.raises(sv.DomainError, match="valid Unicode") as caught:
            sv.Text(longer=longer).encode(value)
        str(caught.value).encode()
        with pytest.raises(sv.DomainError, match="row 2"):
            sv.Text(longer=longer).encode_many(["tea", value])


@pytest.mark.parametrize("value", [None, "", float("nan"), np.nan])
def test_missing_answers(value: object) -> None:
    with pytest.raises(sv.DomainError, match="missing"):
        sv.Text().encode(value)
    assert sv.Text(missing="category").encode(value) == b""
    assert sv.Text(missing="category").encode_many(["tea", value]) == [b"tea", b""]


def test_long_texts_are_refused_or_cut_at_a_character() -> None:
    huge = "é" * 5000
    with pytest.raises(sv.DomainError, match=r"at most 64 bytes in UTF-8 \(the policy is 'refuse'\), got 10,000"):
        sv.Text().encode(huge)
    for size in range(4, 12):
        cut = sv.Text(size, longer="cut").encode("aé日\U0001f600" * 9)
        assert cut and len(cut) <= size and "aé日\U0001f600".startswith(cut.decode()[:4])
        assert len(cut) > size - 4
    assert sv.Text(64, longer="cut").encode_many(["tea", huge]) == [b"tea", ("é" * 32).encode()]


def test_spellings_are_one_only_if_asked() -> None:
    composed, decomposed = "café", "cafe\u0301"
    assert sv.Text().encode(composed) != sv.Text().encode(decomposed)
    same = sv.Text(normalise="NFC")
    assert same.encode(composed) == same.encode(decomposed) == composed.encode()
    assert same.encode_many([composed, decomposed]) == [composed.encode()] * 2
    assert sv.Text(5, normalise="NFC").encode(decomposed) == composed.encode()  # The limit is on what is sent.


def test_short_texts_can_be_listed_and_counted() -> None:
    assert sv.Text(1).labels == [chr(point) for point in range(128)]
    two = sv.Text(2, missing="category")
    assert len(two.labels) == len(set(two.labels)) == two.size == 128 + 128**2 + 1920 + 1
    assert all(two.encode(label) == (label or "").encode() for label in two.labels)
    assert sv.Text(4).size == 128 + (128**2 + 1920) + (128**3 + 2 * 128 * 1920 + 61440) + (
        128**4 + 3 * 128**2 * 1920 + 1920**2 + 2 * 128 * 61440 + 1048576
    )
    with pytest.raises(sv.ParameterError, match="up to 2 bytes, not up to 64"):
        _ = sv.Text().labels


def test_columns_of_every_library() -> None:
    pandas, polars, pyarrow = (
        pytest.importorskip("pandas"),
        pytest.importorskip("polars"),
        pytest.importorskip("pyarrow"),
    )
    values = ["tea", "é"]
    for column in (values, tuple(values), np.array(values), np.array(values, dtype=object), pandas.Series(values),
                   polars.Series(values), pyarrow.array(values)):  # fmt: skip
        assert sv.Text().encode_many(column) == [b"tea", "é".encode()]
    no_columns: tuple[Any, ...] = ("tea", 5, np.array([["tea"]]))
    for wrong in no_columns:
        with pytest.raises(sv.DomainError):
            sv.Text().encode_many(wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"max_bytes": 0}, {"max_bytes": 4097}, {"max_bytes": 3, "longer": "cut"}, {"max_bytes": 8.0}, {"max_bytes": True},
     {"max_bytes": "8"}, {"missing": "drop"}, {"longer": "clip"}, {"normalise": "NFD"}, {"normalise": None},
     {"missing": ["refuse"]}],
)  # fmt: skip
def test_impossible_domains_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(sv.ParameterError):
        sv.Text(**wrong)
    with pytest.raises(sv.ParameterError):
        sv.Text.from_dict(sv.Text().to_dict() | wrong)


def test_it_travels() -> None:
    domain = sv.Text(20, missing="category", longer="cut", normalise="NFC")
    assert sv.Text.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain
    wrongs: list[Any] = [None, [], {}, {"max_bytes": 8}, domain.to_dict() | {"more": 1}]
    for wrong in wrongs:
        with pytest.raises(sv.ParameterError):
            sv.Text.from_dict(wrong)
