"""Key-value answers: a number, such as a rating, for some of the keys on a public list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from numbers import Rational, Real
from operator import add, gt
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.columns import Column, to_list
from sottovoce.core.domain.options import MAX_PADDED, as_table, check_listable, check_listed, encode_rows, padded
from sottovoce.core.domain.values import PLAIN, Domain, Label, is_missing
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import to_float

if TYPE_CHECKING:
    from numpy.typing import NDArray

OUTSIDE = ("refuse", "clip")
"""What may become of a number that is not between low and high."""
PLAIN_PAIRS, PLAIN_NUMBERS = frozenset({list, tuple}), frozenset({int, float})


@dataclass(frozen=True, init=False)
class Keyed:
    """Numbers from `low` to `high` for some of a list of keys, as a mapping or as pairs.

    A number outside is refused or, if that is asked for, moved to the nearer end. Only answers at the two ends are
    listed and have codes, with a digit in base 3 for each key (absent, low, high): any other answer is rounded to one
    of these at random.

    >>> ratings = Keyed(["film", "book"], 1, 5)
    >>> ratings.encode({"book": 2}), ratings.encode({})
    ({1: 0.25}, {})
    >>> ratings.decode(7)
    (('film', 1.0), ('book', 5.0))
    """

    keys: Domain
    low: float
    high: float
    outside: str
    missing: ClassVar[str] = "refuse"

    def __init__(self, keys: int | Iterable[Label] | Domain, low: float, high: float, outside: str = "refuse") -> None:
        if outside not in OUTSIDE:
            raise ParameterError(f"outside must be one of {', '.join(OUTSIDE)}, got {outside!r}")
        ends = _check_end("low", low), _check_end("high", high)
        if not ends[0] < ends[1]:
            raise ParameterError(f"low must be less than high, got {ends[0]:g} and {ends[1]:g}")
        if math.isinf(ends[1] - ends[0]):
            raise ParameterError(f"high - low must be finite, got {ends[0]:g} and {ends[1]:g}")
        fields = {"keys": check_listed(keys, "keys"), "low": ends[0], "high": ends[1], "outside": outside}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @cached_property
    def size(self) -> int:
        """How many answers at the two ends there are."""
        return int(3**self.keys.size)

    @cached_property
    def labels(self) -> list[tuple[tuple[Label, float], ...]]:
        """Every answer at the two ends, in the order of the codes. For short lists of keys only."""
        check_listable(self.keys.size)
        return [self.decode(code) for code in range(self.size)]

    def decode(self, code: int) -> tuple[tuple[Label, float], ...]:
        """The answer that a code stands for, as pairs in the order of the list."""
        pairs = []
        for key in self.keys.labels:
            code, symbol = divmod(code, 3)
            if symbol:
                pairs.append((key, self.high if symbol == 2 else self.low))
        return tuple(pairs)

    def encode(self, value: object) -> dict[int, float]:
        """For the code of each key that an answer holds, how far its number lies from low (0) to high (1)."""
        return {code: place for code, place in self.encode_padded(value).items() if code >= 0}

    def encode_padded(self, value: object) -> dict[int, float]:
        """The same with more, under numbers below 0, so that the time does not tell how many keys an answer holds."""
        if isinstance(value, dict | list | tuple) and len(value) < len(self._fillers):
            with suppress(TypeError, ValueError, KeyError, OverflowError):  # The other way says what is wrong.
                return self._looked_up(value)
        return self._encode_other(value)

    def _looked_up(self, value: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> dict[int, float]:
        """The same for plain pairs. Each takes the same steps, also the pairs that an answer is filled up with."""
        pairs = [*(value.items() if isinstance(value, dict) else value), *self._fillers[-1 - len(value)]]
        held = dict(pairs)
        numbers = list(map(add, repeat(0.0), held.values()))  # Whole numbers become floats on the way.
        finite = all(map(math.isfinite, numbers))
        if self.outside == "clip":
            numbers = [min(max(number, self.low), self.high) for number in numbers]
        plain = PLAIN_PAIRS.issuperset(map(type, pairs)) and PLAIN_NUMBERS.issuperset(map(type, held.values()))
        typed = self._key_types.issuperset(map(type, held))
        inside = finite and self.low <= min(numbers) and max(numbers) <= self.high
        if not (plain and typed and inside) or len(held) < len(pairs):
            raise ValueError
        codes = list(map(self._key_codes.__getitem__, held))
        if sum(map(gt, repeat(0), codes)) != len(pairs) - len(value):  # An answer holds no filler.
            raise ValueError
        low, width = self.low, self.high - self.low
        return {code: (number - low) / width for code, number in zip(codes, numbers, strict=True)}

    @cached_property
    def _fillers(self) -> tuple[tuple[tuple[Label, float], ...], ...]:
        """Pairs of a key that is none and a number: a row of none of them, of one, of two and more."""
        labels = self.keys.labels
        most = self.keys.size if self.keys.size <= MAX_PADDED else -1
        text = "".join([label for label in labels if isinstance(label, str)])  # With more behind it, longer than any.
        names: list[Label] = [len(labels) + at if isinstance(labels, range) else f"{text}-{at}" for at in range(most)]
        return tuple(tuple((name, self.low) for name in names[:count]) for count in range(most + 1))

    @cached_property
    def _key_codes(self) -> dict[Label, int]:
        names = [name for name, _ in self._fillers[-1]]
        known: dict[Label, int] = {key: code for code, key in enumerate(self.keys.labels)}
        return known | {name: -1 - at for at, name in enumerate(names)}

    @cached_property
    def _key_types(self) -> frozenset[type]:
        return frozenset({int}) if isinstance(self.keys.values, range) else PLAIN

    def _encode_other(self, value: object) -> dict[int, float]:
        """The same for answers of other types, for long ones, and for what is no answer."""
        if is_missing(value):
            raise DomainError(f"an answer must not be missing (it may be empty), got {value!r}")
        pairs = _pairs(value)
        places: dict[int, float] = {}
        for at, pair in enumerate(padded(pairs, (self.keys.labels[0], self.low), self.keys.size)):
            key, number = _pair(pair)
            code = (-1 - at, self.keys.encode(key))[at < len(pairs)]  # Fillers get codes that no key has.
            if code in places:
                raise DomainError(f"an answer must hold each key once, got {key!r} twice")
            places[code] = self._place(number)
        return places

    def _place(self, number: object) -> float:
        if isinstance(number, bool) or not isinstance(number, Real) or not _is_finite(number):
            raise DomainError(f"a value must be a finite number, got {number!r:.40}")
        value = to_float(number)
        if self.outside == "clip":
            value = min(max(value, self.low), self.high)
        if not self.low <= value <= self.high:
            raise DomainError(f"a value must be from {self.low:g} to {self.high:g}, got {value:g}")
        return (value - self.low) / (self.high - self.low)

    def encode_many(self, values: Column, first_row: int = 1) -> list[dict[int, float]] | NDArray[np.float64]:
        """The same for a column of answers, or for a table with a column for each key and NaN where one is absent."""
        table = as_table(values, self.keys)
        if table is None:
            return encode_rows(self.encode, to_list(values), first_row)
        if table.dtype.kind not in "iuf" or np.isinf(table).any():
            raise DomainError(f"a table of values must hold finite numbers (NaN where absent), got {table.dtype}")
        numbers = table.astype(np.float64)
        if self.outside == "clip":
            numbers = numbers.clip(self.low, self.high)
        outside = numbers[(numbers < self.low) | (numbers > self.high)]
        if outside.size:
            raise DomainError(f"a value must be from {self.low:g} to {self.high:g}, got {outside[0]:g}")
        places: NDArray[np.float64] = (numbers - self.low) / (self.high - self.low)
        return places

    def to_dict(self) -> JsonObject:
        """The form that travels in JSON."""
        return {"keys": self.keys.to_dict()["values"], "low": self.low, "high": self.high, "outside": self.outside}

    @classmethod
    def from_dict(cls, data: object) -> Keyed:
        if not isinstance(data, Mapping) or set(data) != {"keys", "low", "high", "outside"}:
            raise ParameterError(f"a domain of keys must have the fields keys, low, high and outside, got {data!r:.80}")
        keys = Domain.from_dict({"values": data["keys"], "missing": "refuse"})
        return cls(keys, data["low"], data["high"], data["outside"])


def _is_finite(number: Real) -> bool:
    return isinstance(number, Rational) or math.isfinite(number)  # A whole number may be beyond all floats.


def _check_end(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(to_float(value)):
        raise ParameterError(f"{name} must be a finite number, got {value!r}")
    return float(value)


def _pairs(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return list(value.items())
    if not isinstance(value, list | tuple):
        raise DomainError(f"an answer must map keys to numbers, got {value!r:.40}")
    return list(value)


def _pair(pair: object) -> tuple[object, object]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise DomainError(f"an answer must map keys to numbers, got {pair!r:.40}")
    return pair[0], pair[1]
