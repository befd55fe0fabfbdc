"""What every survey design is: frozen, exact probabilities of each answer under each truth, and what they imply."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from numbers import Rational, Real
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import GRID, log_above, to_float
from sottovoce.core.randomness import Keystream
from sottovoce.statistics.designs.answers import YES_NO, Sample, code, read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain import Label
    from sottovoce.core.domain.columns import Column
    from sottovoce.statistics.population import PopulationResult

Number = float | Fraction | Decimal | str
Matrix = tuple[tuple[Fraction, ...], ...]
Prior: TypeAlias = "Number | Iterable[Number] | Mapping[Label, Number]"
"""The probability of yes; or those of all truths, in their order or by name."""
AnswerColumn: TypeAlias = "NDArray[np.bool_ | np.int64 | np.object_]"
"""Simulated answers: truth values, numbers or labels."""

RANDOMIZERS = ("respondent", "device")
NUMBER_PATTERN = re.compile(r"\d{0,40}\.?\d{0,40}(e-?\d{1,3})?|\d{1,40}/\d{1,40}")
MAX_SHORT_DENOMINATOR = 10**6
"""A fraction with a larger denominator is shown as a decimal number."""
MAX_SIMPLE_DENOMINATOR = 1000
"""A float that equals a fraction with such a denominator is taken for that fraction."""
SUM_TOLERANCE = Fraction(1, 10**9)


class Design(ABC):
    """A way to ask a sensitive question so that the answer does not give the truth away.

    Parameters are exact: a float is taken for the decimal number that it prints as, and text such as "1/6" for the
    fraction that it is. `by` says who draws the chance: the respondent, with a die or a birthday that only they know,
    or a device.
    """

    name: ClassVar[str]
    how: ClassVar[str]
    hidden: ClassVar[str]
    by: str

    # What a design declares.

    if TYPE_CHECKING:  # Some subclasses store these, others derive them.

        @property
        def truths(self) -> Sequence[Label]:
            """What the rows of the matrix stand for."""

        @property
        def answers(self) -> Sequence[Label]:
            """What the columns of the matrix stand for."""

        @property
        def matrix(self) -> Matrix:
            """The probability of each answer (columns) under each truth (rows)."""

    @cached_property
    def epsilon(self) -> float:
        """The log of the worst ratio of an answer's probabilities under two truths, rounded up; maybe infinite."""
        columns = [column for column in zip(*self.matrix, strict=True) if any(column)]
        if any(min(column) == 0 for column in columns):
            return math.inf
        return log_above(max(max(column) / min(column) for column in columns))

    @property
    def private(self) -> bool:
        """Whether its epsilon is finite. A design that is not private is here to be analysed, not to be used."""
        return math.isfinite(self.epsilon)

    @cached_property
    def revealed(self) -> float:
        """The worst posterior probability: how sure an answer can make one who thought all truths equally likely."""
        columns = [column for column in zip(*self.matrix, strict=True) if any(column)]
        return float(max(max(column) / sum(column) for column in columns))

    @abstractmethod
    def posterior(self, prior: Prior, answer: object) -> float | dict[Label, float]:
        """What to believe after an answer, for a prior belief: the probability of yes, or that of each truth."""

    def _posterior(self, prior: Sequence[Fraction], answer: object) -> list[float]:
        column = [row[code(answer, self.codes, self.expected)] for row in self.matrix]
        joint = [belief * chance for belief, chance in zip(prior, column, strict=True)]
        if not any(joint):
            raise ParameterError(f"under this prior the answer {answer!r:.40} cannot occur")
        return [float(part / sum(joint)) for part in joint]

    # Answers.

    @property
    def codes(self) -> Mapping[Hashable, int]:
        """The spellings of the answers."""
        return YES_NO

    @property
    def truth_codes(self) -> Mapping[Hashable, int]:
        return YES_NO

    @property
    def expected(self) -> str:
        return "yes or no (or true, false, 1, 0)"

    @abstractmethod
    def _estimate(self, sample: Sample, label: str) -> PopulationResult:
        """What coded answers tell."""

    def simulate(self, truths: Column, seed: int | Keystream | None) -> AnswerColumn:
        """An answer for each truth, for simulation. Probabilities are met to within 2^-53."""
        codes = read(truths, self.truth_codes, "one of the truths").codes
        draws, drawn = Keystream.of(seed).draws(codes.size), np.empty(codes.size, dtype=np.int64)
        for truth, row in enumerate(self.matrix):
            bounds = np.array([math.floor(sum_ * GRID) for sum_ in accumulate(row)][:-1], dtype=np.uint64)
            mine = codes == truth
            drawn[mine] = np.searchsorted(bounds, draws[mine], side="right")
        return self._decoded(drawn)

    def _decoded(self, codes: NDArray[np.int64]) -> AnswerColumn:
        return codes

    # What travels, and what is shown.

    def to_dict(self) -> JsonObject:
        """A form for JSON that `designs.design` reads back: fractions as text, an infinite epsilon as null."""
        known = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return {"design": self.name, **known, "epsilon": self.epsilon if self.private else None}

    def __repr__(self) -> str:
        shown = [_shown(getattr(self, field.name)) for field in fields(self) if field.name != "by"]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(part for part in shown if part)})"

    def __str__(self) -> str:
        cost = f"epsilon = {self.epsilon:.6g}" if self.private else "no finite epsilon"
        return f"{self!r}: {cost}, randomized by the {self.by}"

    def explain(self) -> str:
        """The design in plain words."""
        return "\n".join([f"{self!r}: {self.how}", *self._rates(), self._promise(), self._condition()])

    @abstractmethod
    def _rates(self) -> list[str]:
        """Out of 100 people of each truth, how many give which answer."""

    def _promise(self) -> str:
        if self.private:
            return (
                f"epsilon = {self.epsilon:.4g}: no answer is more than {math.exp(self.epsilon):.3g} times as likely "
                f"under one truth as under another. Whoever thought all truths equally likely is at most "
                f"{100 * self.revealed:.3g}% sure after one answer."
            )
        columns = zip(self.answers, zip(*self.matrix, strict=True), strict=True)
        telling = [f"{answer!s}" for answer, column in columns if any(column) and not all(column)]
        return f"No finite epsilon: the answer {' or '.join(telling)} rules out a truth. For analysis only."

    def _condition(self) -> str:
        if self.by == "device":
            return "A device draws the chance in the respondent's place, and sends nothing but the answer."
        return (
            f"The respondent draws the chance: all this holds as long as nobody else learns {self.hidden}, and the "
            "respondent follows the instructions."
        )

    def _freeze(self, by: str, **parameters: object) -> None:
        """Set the fields of a frozen dataclass, once, from its own constructor."""
        if by not in RANDOMIZERS:
            raise ParameterError(f"by must be one of {', '.join(RANDOMIZERS)}, got {by!r:.40}")
        for name, value in {**parameters, "by": by}.items():
            object.__setattr__(self, name, value)


def exact(name: str, value: object) -> Fraction:
    """A probability from 0 to 1 as an exact fraction.

    A float is the fraction of whole numbers up to 1,000 that it is nearest to, or else the decimal that it prints as.

    >>> exact("p", 0.7), exact("p", 1 / 6), exact("p", "1/6"), exact("p", Fraction(3, 4))
    (Fraction(7, 10), Fraction(1, 6), Fraction(1, 6), Fraction(3, 4))
    """
    try:
        fraction = _fraction(value)
    except (ValueError, ArithmeticError):
        fraction = None
    if fraction is None:
        raise ParameterError(f"{name} must be a probability such as 0.7 or '2/3', got {value!r:.40}")
    if not 0 <= fraction <= 1:
        raise ParameterError(f"{name} must lie between 0 and 1, got {to_float(fraction):g}")
    return fraction


def _fraction(value: object) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip().lower()
        return Fraction(text) if text and NUMBER_PATTERN.fullmatch(text) else None
    if isinstance(value, Rational | Decimal):
        return Fraction(value)
    if not isinstance(value, Real):
        return None
    number = float(value)
    simple = Fraction(number).limit_denominator(MAX_SIMPLE_DENOMINATOR)
    return simple if float(simple) == number else Fraction(repr(number))


def adding_up(what: str, parts: Sequence[Fraction]) -> list[Fraction]:
    """Probabilities that add up to 1. What rounding has taken from them or added is shared out.

    >>> adding_up("these", [Fraction(1, 3), Fraction(2, 3)])
    [Fraction(1, 3), Fraction(2, 3)]
    """
    total = sum(parts, Fraction(0))
    if abs(total - 1) > SUM_TOLERANCE:
        raise ParameterError(f"{what} must add up to 1, got {float(total)!r}")
    return [part / total for part in parts]


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, Fraction) else value


def _shown(value: object) -> str:
    if isinstance(value, Fraction):
        return repr(str(value)) if 1 < value.denominator < MAX_SHORT_DENOMINATOR else repr(float(value))
    return "" if value is None else repr(value)


def percent(chance: Fraction) -> str:
    """How many of 100."""
    return f"{float(100 * chance):.3g}"
