"""The values an answer may take, and what becomes of a missing one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.columns import Column, as_arrow, encode_distinct, to_list, whole_numbers
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

Label: TypeAlias = str | int | float | bool | None
"""A value of a domain, as people see it; None is the category of missing answers."""

MAX_SIZE = 2**32
POLICIES = ("refuse", "category")
PLAIN: frozenset[type] = frozenset({bool, int, float, str, type(None)})
"""Types of answers that are looked up at once."""
EQUAL_LENGTH_OFFSET = 2**62
"""Added to numbers before they are compared: then all of them are integers of the same length in memory."""


def is_missing(value: object) -> bool:
    """None, NaN, the empty string and the missing values of pandas count as no answer."""
    try:
        return bool(value != value) | (isinstance(value, str | None) and not value)
    except (TypeError, ValueError, ArithmeticError):  # pandas.NA is neither equal nor unequal to itself.
        return type(value).__name__ == "NAType"


@dataclass(frozen=True)
class Domain:
    """A fixed, public list of values. Each has a code: its place in the list.

    A domain is given by its labels or, for the integers 0 .. size - 1, by its size. A missing answer is refused,
    or counts as a category of its own, labelled None: it is never dropped, for who did not answer is private too.

    >>> Domain(["yes", "no"]).encode("no")
    1
    >>> Domain(["yes", "no"], missing="category").labels
    ('yes', 'no', None)
    >>> Domain(["yes", "no"]).encode("maybe")
    Traceback (most recent call last):
    sottovoce.core.errors.DomainError: an answer must be one of the 2 values of its domain, got 'maybe'
    """

    values: tuple[Label, ...] | range
    missing: str

    def __init__(self, values: int | Iterable[Label], missing: str = "refuse") -> None:
        if missing not in POLICIES:
            raise ParameterError(f"missing must be one of {', '.join(POLICIES)}, got {missing!r}")
        object.__setattr__(self, "values", _check_values(values))
        object.__setattr__(self, "missing", missing)
        if not 2 <= self.size <= MAX_SIZE:
            raise ParameterError(f"a domain must have from 2 to 2^32 values, got {self.size}")

    @classmethod
    def of(cls, domain: int | Iterable[Label] | Domain) -> Domain:
        return domain if isinstance(domain, Domain) else cls(domain)

    @cached_property
    def size(self) -> int:
        return len(self.values) + (self.missing == "category")

    @cached_property
    def labels(self) -> Sequence[Label]:
        """What each code stands for; None is the category of missing answers."""
        return (*self.values, None) if self.missing == "category" else self.values

    @cached_property
    def _codes(self) -> Mapping[object, int]:
        return {label: code for code, label in enumerate(self.values)}

    @cached_property
    def _looked_up(self) -> Mapping[object, int]:
        """The codes of labels, and of missing answers: to look one up takes as long for all of them."""
        missing = dict.fromkeys((None, ""), len(self.values)) if self.missing == "category" else {}
        return dict(self._codes) | missing

    def encode(self, value: object) -> int:
        """The code of one answer."""
        if isinstance(self.values, range):
            gap = value is None
            whole = (value, 0)[gap]  # A missing one goes the same way: time does not tell.
            if type(whole) is int and gap <= (self.missing == "category"):
                longer = whole + EQUAL_LENGTH_OFFSET  # Numbers of one length are compared in one time.
                if EQUAL_LENGTH_OFFSET <= longer < EQUAL_LENGTH_OFFSET + len(self.values):
                    return (whole, len(self.values))[gap]
        elif type(value) in PLAIN and (code := self._looked_up.get(value)) is not None:
            return code
        return self._encode_other(value)

    def _encode_other(self, value: object) -> int:
        """The same for missing answers, and for numbers of other types."""
        missing = is_missing(value)
        if missing & (self.missing == "refuse"):
            raise DomainError(f"an answer must not be missing (the policy is 'refuse'), got {value!r}")
        code = self._code((value, self.values[0])[missing])  # A missing one goes the same way: time does not tell.
        if code is None:
            raise DomainError(f"an answer must be one of the {len(self.values)} values of its domain, got {value!r}")
        return (code, len(self.values))[missing]

    def _code(self, value: Any) -> int | None:
        if not isinstance(self.values, range):
            try:
                return self._codes.get(value)
            except TypeError:  # A list, or a tuple with a list in it, is in no domain.
                return None
        if hasattr(value, "is_integer") and value.is_integer():  # pandas turns integers beside gaps into floats.
            value = int(value)
        try:
            whole = value.__index__()
        except (AttributeError, TypeError):
            return None
        return whole if 0 <= whole < len(self.values) else None

    def encode_many(self, values: Column, first_row: int = 1) -> NDArray[np.int64]:
        """The codes of a column: a list, NumPy, pandas, Polars, a DuckDB query, Arrow."""
        arrow = as_arrow(values)
        column = whole_numbers(values, arrow) if isinstance(self.values, range) else None
        if column is not None:
            codes = column.astype(np.int64, copy=False).view()
            codes.flags.writeable = False  # They may be the answers themselves.
            if codes.view(np.uint64).max(initial=0) < len(self.values):  # Negative numbers are the largest, there.
                return codes
        if arrow is None and getattr(values, "dtype", None) == np.bool_ and getattr(values, "ndim", 1) == 1:
            arrow = pa.chunked_array([pa.array(values)])
        if arrow is not None:
            return encode_distinct(arrow, self.encode, first_row)
        rows = to_list(values)
        try:
            distinct = dict.fromkeys(rows)
        except TypeError:
            raise DomainError("an answer must be text, a number or a truth value, got something else") from None
        each = {}
        for value in distinct:
            try:
                each[value] = self.encode(value)
            except DomainError as error:
                row = next(row for row, other in enumerate(rows, first_row) if other is value)
                raise DomainError(f"row {row}: {error}") from None
        return np.fromiter(map(each.__getitem__, rows), dtype=np.int64, count=len(rows))

    def to_dict(self) -> JsonObject:
        """The form that travels in JSON: a size or a list of values, and the policy."""
        values = len(self.values) if isinstance(self.values, range) else list(self.values)
        return {"values": values, "missing": self.missing}

    @classmethod
    def from_dict(cls, data: object) -> Domain:
        if not isinstance(data, Mapping) or set(data) != {"values", "missing"}:
            raise ParameterError(f"a domain must have the fields values and missing, got {data!r:.80}")
        values = data["values"]
        if not isinstance(values, list | int):
            raise ParameterError(f"a domain's values must be a number or a list, got {values!r:.80}")
        return cls(values, missing=data["missing"])

    def __len__(self) -> int:
        return self.size


def _check_values(values: int | Iterable[Label]) -> tuple[Label, ...] | range:
    if isinstance(values, str | bytes | bool):
        raise ParameterError(f"a domain must be a number of values or a list of labels, got {values!r}")
    if isinstance(values, Set):
        raise ParameterError("a domain must have an order, which a set has not: give a list")
    if not isinstance(values, Iterable):
        if hasattr(values, "__index__"):
            return range(min(values.__index__(), MAX_SIZE + 1))  # One more than allowed is refused in any case.
        raise ParameterError(f"a domain must be a number of values or a list of labels, got {values!r}")
    labels = tuple(map(_check_label, to_list(values)))
    seen: set[Label] = set()
    for label in labels:
        if label in seen:
            raise ParameterError(f"labels must differ from one another, got {label!r} twice")
        seen.add(label)
    return labels


def _check_label(value: object) -> Label:
    label = value.item() if hasattr(value, "item") else value  # A number of NumPy is one of Python.
    if (isinstance(label, float) and math.isinf(label)) or not isinstance(label, str | int | float | bool):
        raise ParameterError(f"a label must be text, a finite number or a truth value, got {label!r}")
    if is_missing(label):
        raise ParameterError(f"a label must not be empty (use missing='category' for that), got {label!r}")
    return label
