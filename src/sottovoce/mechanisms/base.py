"""What every mechanism is: frozen parameters with one contract.

A mechanism turns one answer into one report. It says how a report is drawn, with which exact probabilities, how reports
are counted in a number of integers that does not grow with them, and what the counts tell.

The meaning of a published name or field never changes: a new meaning gets a new name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import AnswerDomain, Domain
from sottovoce.core.domain.columns import Column, as_column, is_divisible
from sottovoce.core.errors import ParameterError
from sottovoce.core.kernels import PART_ROWS, occurrences
from sottovoce.core.kernels.threads import side_by_side
from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import SYSTEM, Keystream, Source, blur_time
from sottovoce.core.reports import Report, ReportArray, Reports, Shape
from sottovoce.estimates.tally import Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import Result

Code: TypeAlias = Any
"""What the domain makes of an answer before it is randomized: a number, or for some mechanisms over texts their bytes.
Each mechanism says which."""

MAX_CHANNEL_ENTRIES = 2**20
ROWS_AT_ONCE, REPORT_BYTES_AT_ONCE = 2**17, 2**23
"""Answers that are randomized at a time, and bytes of reports: so few that they fit into the processor's cache."""


class Mechanism(ABC):
    """A randomizer for one answer. Subclasses are frozen dataclasses."""

    name: ClassVar[str]
    """Its name in JSON. A class that declares one is a mechanism that `sottovoce` exports, under the class's name."""
    question_kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of survey question that may name it as their mechanism."""
    question_names: ClassVar[tuple[str, ...]] = ()
    """How a question names it, if that is not by its name."""
    domain_type: ClassVar[type[AnswerDomain]] = Domain
    domain: AnswerDomain

    # What a mechanism declares.

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The privacy that one report costs: the log of the worst ratio in the channel, rounded up."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """How its reports look."""

    @property
    def bits(self) -> int:
        """Bits in one report."""
        return self.shape.bits

    def channel(self) -> dict[object, dict[Report, Fraction]]:
        """The exact law: the probability of each report, for each value. For small mechanisms only."""
        cells = self.domain.size * 2**self.bits
        if cells > MAX_CHANNEL_ENTRIES:
            about = f"2^{cells.bit_length() - 1}"
            raise ParameterError(f"a channel must have at most 2^20 entries to be listed, got about {about}")
        return {label: self._law(code) for code, label in self._codes()}

    def _codes(self) -> Iterable[tuple[int, object]]:
        """Every value of the domain with its code."""
        return enumerate(self.domain.labels)

    @abstractmethod
    def _law(self, code: int) -> dict[Report, Fraction]:
        """The probability of each report that a value can lead to."""

    def _law_of(self, value: object) -> dict[Report, Fraction]:
        """The same for an answer. A number may be rounded at random first."""
        return self._law(self._encode(value, SYSTEM))

    # What a device does.

    def randomize(self, value: object) -> Report:
        """One report for one answer, with the operating system's randomness."""
        report = self._perturb(self._encode(value, SYSTEM), SYSTEM)
        blur_time()
        return report

    def _encode(self, value: object, source: Source) -> int:
        """The code of an answer. A number may be rounded at random."""
        code: int = self.domain.encode(value)
        return code

    @abstractmethod
    def _perturb(self, code: int, source: Source) -> Report:
        """The same with the randomness as an argument, for proofs and vectors."""

    # What a simulation or a data scientist does.

    def randomize_many(self, values: Column, seed: int | Keystream | None = None, first_row: int = 1) -> Reports:
        """A column of reports, one for each answer. A seed is for simulation only, and the reports say so.

        An error names its row, counted from `first_row`: a long column may come in parts.
        """
        stream, column = Keystream.of(seed), as_column(values)
        in_parts = is_divisible(column)  # The codes of a long column of numbers are never there at once.
        if not in_parts:
            column = self._encode_many(column, stream, first_row)
        data = self.shape.empty(len(column))
        parts = range(0, len(column), PART_ROWS)
        rows = max(1, min(ROWS_AT_ONCE, REPORT_BYTES_AT_ONCE // max(1, data[:1].nbytes)))

        def fill(start: int, own: Keystream) -> None:
            stop = min(start + PART_ROWS, len(column))
            with own.settled():
                for at in range(start, stop, rows):
                    some = slice(at, min(at + rows, stop))  # What is behind the part belongs to another thread.
                    codes = self._encode_many(column[some], own, first_row + at) if in_parts else column[some]
                    self._perturb_into(codes, own, data[some])

        side_by_side(fill, parts, [stream.split() for _ in parts] if len(parts) > 1 else [stream])
        return Reports(self, data, stream.simulated)

    def _encode_many(self, values: Column, stream: Keystream, first_row: int) -> NDArray[np.int64]:
        codes: NDArray[np.int64] = self.domain.encode_many(values, first_row)
        return codes

    @abstractmethod
    def _perturb_into(self, codes: NDArray[np.int64], stream: Keystream, out: ReportArray) -> None:
        """Fill a column of reports, one for each code. It lies in one piece."""

    def _perturb_many(self, codes: NDArray[np.int64], stream: Keystream) -> ReportArray:
        """The same as a column of its own. Numbers have 64 bits and a sign, so that they can be worked with."""
        out = self.shape.empty(len(codes), wide=True)
        self._perturb_into(codes, stream, out)
        return out

    # What a collector does.

    def tally(self) -> Tally[Result]:
        """An empty tally for this mechanism's reports."""
        return Tally(self)

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many integers a tally needs."""

    @property
    def marks(self) -> int | None:
        """To how many cells a report adds one; None if that varies."""
        return 1

    def _places(self, data: ReportArray) -> Iterable[ReportArray]:
        """Columns of cells to which numbered reports add one. Unless something else is said, they are their numbers."""
        return (data,)

    def _count(self, data: ReportArray) -> NDArray[np.int64]:
        """Checked reports, counted into cells. Reports of bits have a way of their own."""
        columns = iter(self._places(data))
        total = occurrences(next(columns), self.cells)
        for places in columns:
            total += occurrences(places, self.cells)
        return total

    @abstractmethod
    def _estimate(self, tally: Tally[Result]) -> Result:
        """What the counts tell about the answers."""

    # What travels.

    def to_dict(self) -> JsonObject:
        """A form for JSON that `mechanism` reads back. Probabilities are exact as JSON numbers."""
        parameters = {field.name: _to_json(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return {"mechanism": self.name, **parameters, "epsilon": self.epsilon}

    @classmethod
    def from_dict(cls, data: JsonObject) -> Mechanism:
        """The mechanism that a dict describes. A dict that claims less than it costs is refused."""
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        expected = {"mechanism", *names, "epsilon"}
        if set(data) != expected:
            odd = ", ".join(sorted(map(str, set(data) ^ expected)))
            raise ParameterError(f"{cls.name} must have just the fields {', '.join(sorted(expected))}; check {odd}")
        parameters = {name: data[name] for name in names}
        if "domain" in names:
            parameters["domain"] = cls.domain_type.from_dict(data["domain"])
        built = cls._assemble(**parameters)
        for name in names:
            if _to_json(getattr(built, name)) != _to_json(data[name]):
                raise ParameterError(f"{name} must be exact (a multiple of 2^-53), got {data[name]!r}")
        if data["epsilon"] != built.epsilon:
            raise ParameterError(
                f"epsilon must be what the mechanism costs, {built.epsilon!r}, got {data['epsilon']!r}"
            )
        return built

    @classmethod
    def _assemble(cls, **parameters: Any) -> Mechanism:
        """A mechanism from its fields, all of them checked. Most constructors take these as they are."""
        return cls(**parameters)

    def _freeze(self, **parameters: object) -> None:
        """Set the fields of a frozen dataclass, once, from its own constructor."""
        for name, value in parameters.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain.size} values, epsilon={self.epsilon:.6g})"


def _to_json(value: object) -> object:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return float(value) if isinstance(value, Fraction) else value
