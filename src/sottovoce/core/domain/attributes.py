"""Several questions to one person: an ordered set of named domains, and answers to all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain.columns import Column
from sottovoce.core.domain.values import Domain, Label
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Codes = TypeVar("Codes", int, "NDArray[np.int64]")
"""The code of one answer, or a column of codes."""

MAX_SIZE = 2**62


@dataclass(frozen=True)
class Attributes:
    """Named domains. An answer has one value of each, as a dict or as a tuple in their order.

    The code of an answer is the number that its values' codes spell, the first attribute's leading. Each domain has
    its own policy for missing answers; an attribute that a dict leaves out is a missing answer.

    >>> person = Attributes({"sex": ["f", "m"], "age": 3})
    >>> person.size, person.encode({"age": 2, "sex": "m"}), person.encode(("f", 1)), person.labels[5]
    (6, 5, 1, ('m', 2))
    """

    domains: tuple[tuple[str, Domain], ...]

    def __init__(self, domains: Mapping[str, int | Iterable[Label] | Domain]) -> None:
        if not isinstance(domains, Mapping) or len(domains) < 2:
            raise ParameterError(f"attributes must be a dict with at least 2 named domains, got {domains!r:.80}")
        for name in domains:
            if not isinstance(name, str) or not name:
                raise ParameterError(f"an attribute's name must be text, got {name!r}")
        named = tuple((name, Domain.of(domain)) for name, domain in domains.items())
        object.__setattr__(self, "domains", named)
        if self.size > MAX_SIZE:
            raise ParameterError(f"attributes must have at most 2^62 combinations, got {float(self.size):.3g}")

    missing = "refuse"
    """An answer to none of the questions is refused; what each of them does with a missing value is its own affair."""

    @classmethod
    def of(cls, domains: Mapping[str, int | Iterable[Label] | Domain] | Attributes) -> Attributes:
        return domains if isinstance(domains, Attributes) else cls(domains)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.domains)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(domain.size for _, domain in self.domains)

    @cached_property
    def size(self) -> int:
        return math.prod(self.sizes)

    @cached_property
    def labels(self) -> Sequence[tuple[Label, ...]]:
        """All combinations, by their codes."""
        return tuple(product(*(domain.labels for _, domain in self.domains)))

    def index(self, name: str) -> int:
        if name not in self.names:
            raise ParameterError(f"an attribute must be one of {', '.join(self.names)}, got {name!r}")
        return self.names.index(name)

    def split(self, code: Codes) -> list[Codes]:
        """The codes of the attributes, from the code of an answer or from a column of them."""
        codes: list[Codes] = []
        for size in reversed(self.sizes):
            code, own = divmod(code, size)
            codes.insert(0, own)
        return codes

    def join(self, codes: Sequence[Codes]) -> Codes:
        """The code of an answer from those of the attributes, of numbers or of columns."""
        joined = 0 * codes[0]
        for size, code in zip(self.sizes, codes, strict=True):
            joined = joined * size + code
        return joined

    def encode(self, value: object) -> int:
        """The code of one answer to all questions."""
        return self.join([self._encode(*pair) for pair in zip(self.domains, self._row(value), strict=True)])

    def _encode(self, named: tuple[str, Domain], value: object) -> int:
        try:
            return named[1].encode(value)
        except DomainError as error:
            raise DomainError(f"{named[0]}: {error}") from None

    def _row(self, value: object) -> Sequence[object]:
        """The values in the order of the attributes."""
        if isinstance(value, Mapping):
            odd = next((name for name in value if name not in self.names), None)
            if odd is not None:
                raise DomainError(f"an attribute must be one of {', '.join(self.names)}, got {odd!r}")
            return [value.get(name) for name in self.names]
        if not isinstance(value, tuple | list) or len(value) != len(self.names):
            raise DomainError(f"an answer must be a dict or {len(self.names)} values, got {value!r:.40}")
        return value

    def encode_many(self, values: Column, first_row: int = 1) -> NDArray[np.int64]:
        """The codes of a data frame, of a dict of columns, or of a list of answers."""
        codes: list[NDArray[np.int64]] = []
        for (name, domain), column in zip(self.domains, self._columns(values, first_row), strict=True):
            try:
                codes.append(domain.encode_many(column, first_row))
            except DomainError as error:
                raise DomainError(f"{name}: {error}") from None
        if len({code.size for code in codes}) > 1:
            raise DomainError(f"columns must be of one length, got {', '.join(str(code.size) for code in codes)}")
        return self.join(codes)

    def _columns(self, values: Any, first_row: int) -> Sequence[Column]:
        present = values if isinstance(values, Mapping) else getattr(values, "column_names", None)  # Arrow
        present = getattr(values, "columns", None) if present is None else present  # pandas and Polars
        if present is None:
            return self._transposed(values, first_row)
        absent = next((name for name in self.names if name not in present), None)
        if absent is not None:
            raise DomainError(f"the data must have a column {absent!r}, got {', '.join(map(str, present))}")
        return [values[name] for name in self.names]

    def _transposed(self, values: object, first_row: int) -> list[list[object]]:
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise DomainError(f"answers must be a data frame, a dict of columns or a list of dicts, got {values!r:.40}")
        columns: list[list[object]] = [[] for _ in self.names]
        for at, value in enumerate(values, first_row):
            try:
                row = self._row(value)
            except DomainError as error:
                raise DomainError(f"row {at}: {error}") from None
            for column, entry in zip(columns, row, strict=True):
                column.append(entry)
        return columns

    def to_dict(self) -> list[JsonObject]:
        """The form that travels in JSON: a list, since the order matters."""
        return [{"name": name, **domain.to_dict()} for name, domain in self.domains]

    @classmethod
    def from_dict(cls, data: object) -> Attributes:
        if not isinstance(data, list) or not all(isinstance(entry, dict) and "name" in entry for entry in data):
            raise ParameterError(f"attributes must be a list of named domains, got {data!r:.80}")
        named = {entry["name"]: {key: entry[key] for key in entry if key != "name"} for entry in data}
        if len(named) < len(data):
            raise ParameterError("attributes must have different names")
        return cls({name: Domain.from_dict(domain) for name, domain in named.items()})

    def __len__(self) -> int:
        return self.size
