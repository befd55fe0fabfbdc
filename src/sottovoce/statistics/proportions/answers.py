"""How a randomized yes or no reaches an analysis: the law of its answers, and the answers as zeros and ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from sottovoce.core.domain.columns import Column, to_list
from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import compose, to_float
from sottovoce.estimates.frequencies import quantile
from sottovoce.statistics.checks import check_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

YES_NO_WORDS = ("no", "yes")
YES_NO = {"no": 0, "n": 0, "false": 0, "f": 0, "0": 0, "yes": 1, "y": 1, "true": 1, "t": 1, "1": 1}


@runtime_checkable
class YesNoDesign(Protocol):
    """Anything that randomizes a yes or no: a survey design, a mechanism for two values, an object of one's own."""

    @property
    def p(self) -> float | Fraction:
        """The probability of the answer yes if the truth is yes."""

    @property
    def q(self) -> float | Fraction:
        """The probability of the answer yes if the truth is no."""

    @property
    def epsilon(self) -> float: ...


@dataclass(frozen=True)
class AnswerLaw:
    """What an analysis needs to know of a design: p = P(answer yes | truth yes), q = P(answer yes | truth no).

    No design at all stands for an answer that is public: it is the truth, and its epsilon is nobody's concern.
    """

    design: YesNoDesign | None
    p: float
    q: float
    epsilon: float

    @classmethod
    def of(cls, name: str, design: YesNoDesign | None) -> AnswerLaw:
        """The law of a design: anything with p, q and epsilon."""
        if design is None:
            return cls(None, 1.0, 0.0, 0.0)
        if not all(hasattr(design, part) for part in ("p", "q", "epsilon")):
            raise ParameterError(f"the design of {name!r} must have p, q and epsilon, got {design!r:.60}")
        sizes = getattr(getattr(design, "domain", None), "size", 2), len(getattr(design, "answers", YES_NO_WORDS))
        if sizes != (2, 2):
            raise ParameterError(f"the design of {name!r} must be for yes or no, got one for {max(sizes)} answers")
        p, q = (_chance(name, part, getattr(design, part)) for part in ("p", "q"))
        if p == q:
            raise ParameterError(f"the design of {name!r} must have p other than q, or answers say nothing, got {p:g}")
        return cls(design, p, q, to_float(design.epsilon))

    @property
    def public(self) -> bool:
        return self.design is None

    def chances(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The chance of each answer, if the truth is no (first row) and if it is yes (second row)."""
        yes = np.array([[self.q], [self.p]])
        return np.where(answers == 1, yes, 1 - yes)

    def unbiased(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers whose expectation is the truth."""
        return answers if self.public else (answers - self.q) / (self.p - self.q)


def _chance(name: str, part: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= to_float(value) <= 1:
        raise ParameterError(f"the design of {name!r} must have a probability as its {part}, got {value!r:.40}")
    return float(value)


def z_value(level: object) -> float:
    """How many standard errors an interval at a level reaches to either side."""
    return quantile(check_level(level))


def total_epsilon(laws: Iterable[AnswerLaw]) -> float:
    """What all answers of one person cost together; a truthful design hides nothing."""
    costs = [law.epsilon for law in laws if not law.public]
    return math.inf if math.inf in costs else compose(costs)


def numbers(name: str, column: Column) -> NDArray[np.float64]:
    """A column of finite numbers, whichever library it comes from."""
    try:
        values = np.asarray(column)
        if values.dtype == object:  # Numbers that stood beside gaps, or a column that NumPy does not know.
            values = np.asarray(to_list(column))
    except (SottovoceError, ValueError, TypeError):
        raise ParameterError(f"{name} must be a column of numbers, got {column!r:.40}") from None
    if values.ndim != 1 or not values.size or values.dtype.kind not in "biuf":
        got = "an empty one" if not values.size else f"{column!r:.40}"
        raise ParameterError(f"{name} must be a column of numbers, got {got}")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ParameterError(f"{name} must hold finite numbers, got {values[row]} in row {row + 1}")
    return values


def yes_no(name: str, column: Column, *laws: AnswerLaw) -> NDArray[np.float64]:
    """A column of answers as zeros and ones. Truth values and text are understood, and the words of the designs."""
    values = numbers(name, _decoded(name, column, laws))
    odd = np.flatnonzero((values != 0) & (values != 1))
    if odd.size:
        row = int(odd[0])
        raise ParameterError(f"{name} must hold 0 (no) or 1 (yes), got {values[row]:g} in row {row + 1}")
    return values


def _decoded(name: str, column: Column, laws: Iterable[AnswerLaw]) -> Column:
    """The same column if it has no text, else a list in which words are zeros and ones."""
    if isinstance(column, str | bytes) or np.asarray(column).dtype.kind in "biuf":
        return column
    known = YES_NO.copy()
    for law in laws:
        known |= {word: code for word, code in getattr(law.design, "codes", {}).items() if isinstance(word, str)}
    rows = to_list(column)
    for at, row in enumerate(rows):
        if isinstance(row, str):
            rows[at] = known.get(row.strip().casefold())
            if rows[at] is None:
                raise ParameterError(f"{name} must hold 0 (no) or 1 (yes), got {row!r:.40} in row {at + 1}")
    return rows
