"""Answers that are sets: any number of the options on a public list, also none or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import repeat
from operator import is_, or_
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.columns import Column, to_list
from sottovoce.core.domain.values import PLAIN, Domain, Label, is_missing
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Code = TypeVar("Code")

MAX_LISTED = 16
"""Options or keys, up to which all possible answers can be listed."""
MAX_PADDED = 32
"""Options or keys, up to which every answer is encoded in the same number of steps."""
SMALL_INTEGER_BITS = 9
"""Python keeps integers of fewer bits ready, and makes others when they are needed, which takes longer."""
PLAIN_SETS = (list, tuple, set, frozenset)
MAX_OPTIONS = 2**20
"""The code of an answer has a digit for each option or key."""


@dataclass(frozen=True, init=False)
class Options:
    """A public list of options of which an answer holds any number. Its code has bit j set if it holds option j.

    A missing answer is refused: to hold none of the options is an answer, the empty set, and never the same thing.

    >>> options = Options(["tea", "coffee", "water"])
    >>> options.encode({"water", "tea"}), options.encode([]), options.decode(5)
    (5, 0, ('tea', 'water'))
    >>> options.encode(["tea", "milk"])
    Traceback (most recent call last):
    sottovoce.core.errors.DomainError: an answer must be one of the 3 values of its domain, got 'milk'
    """

    options: Domain
    missing: ClassVar[str] = "refuse"

    def __init__(self, options: int | Iterable[Label] | Domain) -> None:
        object.__setattr__(self, "options", check_listed(options, "options"))

    @classmethod
    def of(cls, options: int | Iterable[Label] | Domain | Options) -> Options:
        return options if isinstance(options, Options) else cls(options)

    @cached_property
    def size(self) -> int:
        """How many different answers there are: sets, not options."""
        return int(2**self.options.size)

    @cached_property
    def labels(self) -> list[tuple[Label, ...]]:
        """Every answer, in the order of the codes. For small lists only."""
        check_listable(self.options.size)
        return [self.decode(code) for code in range(self.size)]

    def decode(self, code: int) -> tuple[Label, ...]:
        """The set that a code stands for, in the order of the list."""
        return tuple(label for at, label in enumerate(self.options.labels) if code >> at & 1)

    def encode(self, value: object) -> int:
        """The code of one answer: a set, a list or a tuple of options. An option that is named twice is held once."""
        return self.encode_marked(value) ^ self._mark

    def encode_marked(self, value: object) -> int:
        """The same with one more bit above all options.

        Python keeps small integers ready and makes larger ones anew. With the bit all codes are made anew, so that time
        does not tell which options are held.
        """
        if isinstance(value, PLAIN_SETS) and len(value) < len(self._fillers):
            fillers = self._fillers[-1 - len(value)]
            held = [*value, *fillers]
            if self._types.issuperset(map(type, held)):
                with suppress(KeyError):  # The other way says what is wrong.
                    bits = list(map(self._bits.__getitem__, held))
                    if sum(map(is_, bits, repeat(self._mark))) == len(fillers):  # An answer holds no filler.
                        return reduce(or_, bits)
        return self._encode_other(value)

    def _encode_other(self, value: object) -> int:
        """The same for sets of other types, for long ones, and for what is no set of options."""
        if is_missing(value):
            raise DomainError(f"an answer must not be missing (a set may be empty), got {value!r}")
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise DomainError(f"an answer must be a set or a list of options, got {value!r:.40}")
        held, code = list(value), self._mark
        for at, option in enumerate(padded(held, self.options.labels[0], self.options.size)):
            code |= self._mark | (at < len(held)) << self.options.encode(option)
        return code

    @cached_property
    def _mark(self) -> int:
        return 1 << self.options.size + SMALL_INTEGER_BITS

    # An answer is filled up with what is no option, to as many entries as a full one has, and each is looked up.

    @cached_property
    def _filler(self) -> Label:
        """Of the type that most options have, so that it is looked up in the same time."""
        labels = self.options.labels
        if isinstance(labels, range):
            return len(labels)
        return "".join([label for label in labels if isinstance(label, str)]) + "-"  # Longer than any of them.

    @cached_property
    def _fillers(self) -> tuple[tuple[Label, ...], ...]:
        """Rows of none, one, two and more of them. There are no rows for long lists: they would take too long."""
        most = self.options.size if self.options.size <= MAX_PADDED else -1
        return tuple((self._filler,) * count for count in range(most + 1))

    @cached_property
    def _bits(self) -> dict[Label, int]:
        """The bit of each option, and none for the filler, all with the mark."""
        bits = {label: self._mark | 1 << at for at, label in enumerate(self.options.labels)}
        return bits | {self._filler: self._mark}

    @cached_property
    def _types(self) -> frozenset[type]:
        """Those that are looked up. Equal numbers of other types are no options of a range."""
        return frozenset({int}) if isinstance(self.options.values, range) else PLAIN

    def encode_many(self, values: Column, first_row: int = 1) -> NDArray[np.uint8]:
        """The codes of a column, a row of bytes for each: option j is bit j mod 8 of byte j div 8.

        The column holds sets or lists, or it is a table of truth values with a column for each option.
        """
        table = as_table(values, self.options)
        if table is not None:
            return np.packbits(_check_truths(table), axis=1, bitorder="little")
        width = (self.options.size + 7) // 8
        codes = encode_rows(self.encode, to_list(values), first_row)
        packed = b"".join(code.to_bytes(width, "little") for code in codes)
        return np.frombuffer(packed, dtype=np.uint8).reshape(-1, width)

    def to_dict(self) -> JsonObject:
        """The form that travels in JSON: a number of options or a list of them."""
        return {"options": self.options.to_dict()["values"]}

    @classmethod
    def from_dict(cls, data: object) -> Options:
        if not isinstance(data, Mapping) or set(data) != {"options"}:
            raise ParameterError(f"a domain of sets must have the field options, got {data!r:.80}")
        return cls(Domain.from_dict({"values": data["options"], "missing": "refuse"}))


def check_listed(options: int | Iterable[Label] | Domain, name: str) -> Domain:
    """A list of options or keys. There is no category of missing answers among them."""
    listed = Domain.of(options)
    if listed.missing != "refuse":
        raise ParameterError(f"{name} must have the policy 'refuse' (an answer may be empty), got {listed.missing!r}")
    if listed.size > MAX_OPTIONS:
        raise ParameterError(f"{name} must be at most {MAX_OPTIONS:,}, got {listed.size:,}")
    return listed


def padded(held: list[object], filler: object, options: int) -> list[object]:
    """What an answer holds, filled up to a full answer: then time does not tell how much it holds.

    Of a long list of options, answers hold few. There a respondent would notice the time that a full answer takes.
    """
    return held + [filler] * (min(options, MAX_PADDED) - len(held))


def check_listable(count: int) -> None:
    if count > MAX_LISTED:
        raise ParameterError(f"answers can be listed for at most {MAX_LISTED} options or keys, got {count}")


def encode_rows(encode: Callable[[object], Code], rows: Iterable[object], first_row: int) -> list[Code]:
    """Every row of a column through `encode`. An error names its row."""
    codes: list[Code] = []
    for at, row in enumerate(rows, first_row):
        try:
            codes.append(encode(row))
        except DomainError as error:
            raise DomainError(f"row {at}: {error}") from None
    return codes


def as_table(values: object, options: Domain) -> NDArray[Any] | None:
    """A NumPy matrix or a data frame with a column for each option; None if `values` is a column of answers."""
    names = getattr(values, "columns", None)
    if names is None and getattr(values, "ndim", 1) != 2:
        return None
    table = np.asarray(values)
    if table.ndim != 2 or table.shape[1] != options.size:
        raise DomainError(f"a table of answers must have {options.size} columns, got one of shape {table.shape}")
    if names is not None and list(names) != list(options.labels):
        raise DomainError(f"the columns of a table must be named and ordered like its domain, got {list(names)!r:.80}")
    return table


def _check_truths(table: NDArray[Any]) -> NDArray[np.bool_]:
    if table.dtype.kind not in "biu" or (table.size and not 0 <= table.min() <= table.max() <= 1):
        raise DomainError(f"a table of sets must hold truth values or 0 and 1, got {table.dtype}")
    return table.astype(np.bool_)
