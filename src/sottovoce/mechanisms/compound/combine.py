"""Mechanisms made of others: each device answers one part, drawn at random, or all of them.

A `Mixture` draws one part in public and spends everything there. A `Composition` answers every part, and the costs
add up. Both take inner mechanisms whose reports are numbers, and give reports that are numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from typing import TYPE_CHECKING, overload

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain
from sottovoce.core.domain.attributes import Codes
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import log_above
from sottovoce.core.randomness import Keystream, Source
from sottovoce.core.reports import Index, Report, ReportArray
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.frequency.krr import KRR
from sottovoce.mechanisms.frequency.local_hash import LocalHash

if TYPE_CHECKING:
    from numpy.typing import NDArray

Part = KRR | LocalHash
MAX_LISTED_ANSWERS = 2**12
"""For up to so many possible answers, a device keeps a table of what the parts are asked."""

KINDS: dict[str, type[KRR] | type[LocalHash]] = {KRR.name: KRR, LocalHash.name: LocalHash}


def better(size: int, epsilon: float) -> Part:
    """The mechanism with less variance for a domain of this size."""
    candidates: list[Part] = [KRR(size, epsilon), LocalHash(size, epsilon)]
    return min(candidates, key=lambda part: part.variance)


@dataclass(frozen=True)
class Combination(ABC):
    """What the two ways to combine parts have in common. `codes` has one entry for each part."""

    parts: tuple[Part, ...]

    @property
    @abstractmethod
    def epsilon(self) -> float: ...

    @property
    @abstractmethod
    def outcomes(self) -> int: ...

    @property
    @abstractmethod
    def cells(self) -> int: ...

    @abstractmethod
    def law(self, codes: Sequence[int]) -> dict[Report, Fraction]: ...

    @abstractmethod
    def perturb(self, codes: Sequence[int], source: Source) -> int: ...

    @abstractmethod
    def perturb_many(self, codes: Sequence[NDArray[np.int64]], stream: Keystream) -> ReportArray: ...

    @abstractmethod
    def places(self, data: ReportArray) -> ReportArray: ...


class Mixture(Combination):
    """One part, drawn without a look at the answer and named in the report, gets all of epsilon.

    The reports of part i are those of the inner mechanism, shifted by the number of reports of the parts before. A
    report names its part, so the ratio of its probabilities under two answers is that of the part: epsilon is the
    largest of the parts'.
    """

    @property
    def epsilon(self) -> float:
        return max(part.epsilon for part in self.parts)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first report of each part, and the number of all reports."""
        return tuple(accumulate((part.shape.outcomes for part in self.parts), initial=0))

    @property
    def outcomes(self) -> int:
        return self.starts[-1]

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """The first cell of each part, and the number of all cells."""
        return tuple(accumulate((part.cells for part in self.parts), initial=0))

    @property
    def cells(self) -> int:
        return self.bounds[-1]

    def law(self, codes: Sequence[int]) -> dict[Report, Fraction]:
        return {
            start + _number(report): chance / len(self.parts)
            for start, part, code in zip(self.starts, self.parts, codes, strict=False)
            for report, chance in part._law(code).items()
        }

    def perturb(self, codes: Sequence[int], source: Source) -> int:
        at = source.below(len(self.parts))
        return self.starts[at] + self.parts[at]._perturb(codes[at], source)

    def perturb_many(self, codes: Sequence[NDArray[np.int64]], stream: Keystream) -> ReportArray:
        reports = np.empty(codes[0].size, dtype=np.int64)
        drawn = stream.below(len(self.parts), reports.size)
        for at, part in enumerate(self.parts):
            own = np.flatnonzero(drawn == at)
            reports[own] = part._perturb_many(codes[at][own], stream)
            reports[own] += self.starts[at]
        return reports

    def places(self, data: ReportArray) -> ReportArray:
        places = data.astype(np.int64)
        drawn = np.searchsorted(np.array(self.starts[1:]), places, side="right")
        for at, part in enumerate(self.parts):
            own = np.flatnonzero(drawn == at)
            (inner,) = part._places(places[own] - self.starts[at])
            places[own] = inner + self.bounds[at]
        return places

    def slices(self, cells: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The cells of each part. Those of a part add up to the number of its reports."""
        return [cells[start:stop] for start, stop in zip(self.bounds, self.bounds[1:], strict=False)]


class Composition(Combination):
    """All parts are answered, each with its own coins. A report is the list of theirs, as one number.

    The law is a product, so the worst ratio is the product of the worst ratios: the costs add up, rounded up once.
    """

    @cached_property
    def epsilon(self) -> float:
        return log_above(math.prod(map(worst_ratio, self.parts), start=Fraction(1)))

    @property
    def outcomes(self) -> int:
        return math.prod(part.shape.outcomes for part in self.parts)

    @property
    def cells(self) -> int:
        return self.outcomes

    def law(self, codes: Sequence[int]) -> dict[Report, Fraction]:
        laws = [part._law(code).items() for part, code in zip(self.parts, codes, strict=True)]
        return {
            self._join([_number(report) for report, _ in each]): math.prod(
                (chance for _, chance in each), start=Fraction(1)
            )
            for each in product(*laws)
        }

    def perturb(self, codes: Sequence[int], source: Source) -> int:
        return self._join([part._perturb(code, source) for part, code in zip(self.parts, codes, strict=True)])

    def perturb_many(self, codes: Sequence[NDArray[np.int64]], stream: Keystream) -> ReportArray:
        columns = zip(self.parts, codes, strict=True)
        return self._join([part._perturb_many(column, stream) for part, column in columns])

    @overload
    def _join(self, reports: Sequence[int]) -> int: ...
    @overload
    def _join(self, reports: Sequence[ReportArray]) -> ReportArray: ...
    def _join(self, reports: Sequence[int | ReportArray]) -> int | ReportArray:
        joined: int | ReportArray = 0
        for part, report in zip(self.parts, reports, strict=True):
            joined = joined * part.shape.outcomes + report
        return joined

    def places(self, data: ReportArray) -> ReportArray:
        return data

    def table(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts with one axis for each part's report."""
        return cells.reshape([part.shape.outcomes for part in self.parts])


def worst_ratio(part: Part) -> Fraction:
    """The largest ratio of the probabilities of a report under two answers."""
    response = part if isinstance(part, KRR) else part._bucket_response
    return Fraction(max(response.p / response.q, response.q / response.p))


def _number(report: Report) -> int:
    if isinstance(report, bytes):
        raise TypeError("a part must have reports that are numbers")
    return report


class Combined(Mechanism):
    """A mechanism that is a combination of parts. A subclass says what each part is asked about an answer."""

    parts: tuple[Part, ...]

    @property
    @abstractmethod
    def _combination(self) -> Combination: ...

    @abstractmethod
    def _questions(self, code: Codes) -> list[Codes]:
        """What each part is asked about an answer, as codes: of a number or of a column."""

    @property
    def epsilon(self) -> float:
        return self._combination.epsilon

    @cached_property
    def shape(self) -> Index:
        return Index(self._combination.outcomes)

    @property
    def cells(self) -> int:
        return self._combination.cells

    def _law(self, code: int) -> dict[Report, Fraction]:
        return self._combination.law(self._questions(code))

    def _perturb(self, code: int, source: Source) -> int:
        questions = self._listed[code] if self.domain.size <= MAX_LISTED_ANSWERS else self._questions_of_one(code)
        return self._combination.perturb(questions, source)

    def _questions_of_one(self, code: int) -> list[int]:
        """`_questions` in a time that tells nothing of a secret, for domains too large to list."""
        return self._questions(code)

    @cached_property
    def _listed(self) -> list[list[int]]:
        """What the parts are asked about each answer. To look it up takes one time for all; to divide 0 is quicker."""
        return [self._questions(code) for code in range(self.domain.size)]

    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        out[:] = self._combination.perturb_many(self._questions(codes), stream)

    def _places(self, data: ReportArray) -> Iterable[ReportArray]:
        return (self._combination.places(data),)

    def to_dict(self) -> JsonObject:
        return super().to_dict() | {"parts": [part.to_dict() for part in self.parts]}

    @classmethod
    def from_dict(cls, data: JsonObject) -> Mechanism:
        parts = data.get("parts")
        if not isinstance(parts, list):
            raise ParameterError(f"parts must be a list of mechanisms, got {parts!r:.80}")
        return super().from_dict(data | {"parts": tuple(map(_part, parts))})


def check_parts(parts: Sequence[object], sizes: Sequence[int]) -> tuple[Part, ...]:
    """Parts that were written down, if they are those that the sizes of their domains ask for."""
    checked = tuple(part for part in parts if isinstance(part, Part) and type(part) in KINDS.values())
    if len(checked) < len(parts) or [part.domain for part in checked] != [Domain(size) for size in sizes]:
        raise ParameterError(f"parts must be krr or local_hash over {', '.join(map(str, sizes))} values, got {parts!r}")
    return checked


def _part(data: object) -> Part:
    name = data.get("mechanism") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or name not in KINDS:
        raise ParameterError(f"a part must be one of {', '.join(KINDS)}, got {data!r:.80}")
    part = KINDS[name].from_dict(dict(data))
    if not isinstance(part, Part):
        raise ParameterError(f"a part must be one of {', '.join(KINDS)}, got {part!r}")
    return part
