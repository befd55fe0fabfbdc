"""From a formula and a frame to the arrays of a model, with the randomized columns told apart from the public ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np
from sottovoce.statistics.proportions.answers import AnswerLaw, YesNoDesign, numbers, yes_no

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.core.domain.columns import Column
    from sottovoce.statistics.regression.model import Array


@runtime_checkable
class HasToPandas(Protocol):
    """A frame of Polars or Arrow."""

    def to_pandas(self) -> pd.DataFrame: ...


Frame: TypeAlias = "pd.DataFrame | HasToPandas | Mapping[str, object]"
"""A frame of pandas, Polars or Arrow, or columns by their names."""
Designs: TypeAlias = YesNoDesign | Mapping[str, YesNoDesign | None] | None
"""The design of the outcome, or those of several columns by their names."""

PUBLIC = AnswerLaw(None, 1.0, 0.0, 0.0)
MAX_RANDOMIZED = 4
"""At most so many predictors may be randomized: each doubles the hidden patterns, whose shares must be estimated."""


@dataclass(frozen=True, eq=False)
class RegressionData:
    """What a regression is fitted to: complete rows, and a model matrix for every hidden pattern."""

    formula: str
    outcome: str
    frame: pd.DataFrame
    laws: Mapping[str, AnswerLaw]
    spec: Any
    latent: str | None
    dropped: int
    simulated: bool

    @property
    def terms(self) -> list[str]:
        return list(self.spec.column_names)

    @property
    def randomized(self) -> list[str]:
        """The randomized predictors, in the order of the formula."""
        return [name for name in self.laws if name != self.outcome and not self.laws[name].public]

    @property
    def public(self) -> list[str]:
        """The variables of the formula that were told openly."""
        return [name for name, law in self.laws.items() if law.public]

    @cached_property
    def patterns(self) -> list[tuple[int, ...]]:
        """What the randomized predictors may truly be; just one empty pattern if there are none."""
        return list(product((0, 1), repeat=len(self.randomized)))

    @cached_property
    def X(self) -> Array:  # noqa: N802 (the letter of the literature)
        """The model matrix for each pattern."""
        X = np.stack([self.matrix(self.frame, pattern) for pattern in self.patterns])
        dependent = [self.terms[at] for at in _dependent(X.reshape(-1, X.shape[2]))]
        if dependent:
            raise ParameterError(f"terms must not follow from other terms, but {', '.join(dependent)} does")
        return X

    @cached_property
    def chances(self) -> Array:
        """How likely the reports of the predictors are, for each pattern and person."""
        return self._products([self.laws[name].chances(np.asarray(self.frame[name])) for name in self.randomized])

    @cached_property
    def indicators(self) -> Array:
        """Numbers whose expectation is one for the true pattern of a person, and zero for the others."""
        yes = [self.laws[name].unbiased(np.asarray(self.frame[name])) for name in self.randomized]
        return self._products([np.stack([1 - part, part]) for part in yes])

    def _products(self, laws: list[Array]) -> Array:
        """For each pattern and person, the product of what the randomized predictors contribute."""
        ones = np.ones(len(self.frame))
        return np.stack(
            [np.prod([ones, *(law[value] for law, value in zip(laws, pattern, strict=True))], axis=0)
             for pattern in self.patterns]
        )  # fmt: skip

    @cached_property
    def hidden(self) -> tuple[list[str], Array]:
        """The covariates that the shares of the patterns depend on, and their names.

        Unless told otherwise these are all that public columns contribute to the model matrix, whatever the pattern.
        """
        if not self.randomized:
            return [], np.empty((len(self.frame), 0))
        if self.latent is not None:
            return self._latent(self.latent)
        X = self.X
        fixed = (X[0] == X).all(axis=(0, 1))
        names, columns = ["Intercept"], [np.ones(X.shape[1])]
        for pattern, matrix in zip(self.patterns, X, strict=True):
            where = ", ".join(f"{name}={value}" for name, value in zip(self.randomized, pattern, strict=True))
            names += [term if fixed[at] else f"{term} at {where}" for at, term in enumerate(self.terms)]
            columns += list(matrix.T)
        Z = np.stack(columns, axis=1)
        kept = sorted(set(range(len(names))) - set(_dependent(Z)))
        return [names[at] for at in kept], Z[:, kept]

    def _latent(self, formula: str) -> tuple[list[str], Array]:
        with _plain_errors(formula):
            matrix = load("formulaic").Formula(formula).get_model_matrix(self.frame, context={}, na_action="raise")
        Z = np.asarray(matrix, dtype=np.float64)
        dependent = [matrix.columns[at] for at in _dependent(Z)]
        if dependent:
            raise ParameterError(f"latent: {', '.join(dependent)} must not follow from the other terms")
        return list(matrix.columns), Z

    def matrix(self, frame: pd.DataFrame, pattern: tuple[int, ...] = ()) -> Array:
        """The model matrix of a frame; with a pattern, as if the randomized predictors had its values."""
        if pattern:
            frame = frame.assign(**dict(zip(self.randomized, map(float, pattern), strict=True)))
        with _plain_errors(self.formula):
            matrix = np.asarray(self.spec.get_model_matrix(frame, na_action="raise"), dtype=np.float64)
        if not np.isfinite(matrix).all():
            raise ParameterError(f"the terms of {self.formula!r} must be finite, and are not in every row")
        return matrix

    def outcome_values(self) -> Array:
        """The left side of the formula, as numbers."""
        return numbers(self.outcome, self.frame[self.outcome])


def read(
    formula: str, frame: Frame, design: Designs, latent: str | None, weights: Column | None, binary: bool
) -> tuple[RegressionData, Array]:
    """Check everything a user gave, leave out incomplete rows, and tell randomized columns from public ones.

    A binary outcome becomes zeros and ones, as randomized columns do. The weights of the rows come along.
    """
    if not isinstance(formula, str) or (latent is not None and not isinstance(latent, str)):
        odd = latent if isinstance(formula, str) else formula
        raise ParameterError(f"a formula must be text such as 'y ~ a + b', got {odd!r:.40}")
    simulated = isinstance(frame, Mapping) and any(getattr(column, "simulated", False) for column in frame.values())
    table = to_pandas(frame)
    parsed, outcome = _parse(formula, list(table.columns))
    used = [outcome, *(name for name in _in_order(parsed.rhs) if name != outcome)]
    if outcome in parsed.rhs.required_variables:
        raise ParameterError(f"the outcome {outcome!r} must not be among its own predictors")
    laws, needed = _laws(design, outcome, used), _needed(latent, list(table.columns))
    hidden = [name for name in needed if name == outcome or not laws.get(name, PUBLIC).public]
    if hidden:
        raise ParameterError(f"latent must speak of public predictors, got {hidden[0]!r}")
    others = [name for name in needed if name not in used]
    table, weight, dropped = _complete(table[used + others], weights)
    coded = [name for name in used if not laws[name].public or (binary and name == outcome)]
    table = table.assign(**{name: yes_no(name, table[name], laws[name]) for name in coded})
    with _plain_errors(formula):
        spec = parsed.rhs.get_model_matrix(table, context={}, na_action="raise").model_spec
    return RegressionData(formula, outcome, table, laws, spec, latent, dropped, simulated), weight


def variables(formula: str, latent: str | None, columns: list[str]) -> list[str]:
    """The columns that formulas speak of, the outcome first."""
    parsed, outcome = _parse(formula, columns)
    return list(dict.fromkeys([outcome, *_in_order(parsed.rhs), *_needed(latent, columns)]))


def to_pandas(frame: Frame) -> pd.DataFrame:
    """A pandas frame from what people have: pandas, Polars, Arrow, or a dict of columns."""
    pandas = load("pandas")
    if isinstance(frame, pandas.DataFrame):
        table = frame
    elif isinstance(frame, HasToPandas):
        table = frame.to_pandas()
    elif isinstance(frame, Mapping):
        try:
            table = pandas.DataFrame({name: _column(column) for name, column in frame.items()})
        except ValueError as error:
            raise ParameterError(f"columns must be of one length: {error}") from None
    else:
        raise ParameterError(f"a frame must be of pandas, Polars or Arrow, or a dict of columns, got {frame!r:.40}")
    if not len(table):
        raise ParameterError("a frame must have rows, got none")
    return table  # type: ignore[no-any-return]


def _column(column: Any) -> Any:
    return column.to_pandas() if hasattr(column, "to_pandas") else np.asarray(column)


def _parse(formula: str, columns: list[str]) -> tuple[Any, str]:
    """The formula, and the column on its left."""
    parsed = _formula(formula, columns)
    if not hasattr(parsed, "lhs") or not hasattr(parsed.rhs, "required_variables"):
        raise ParameterError(f"a formula must have an outcome and predictors, such as 'y ~ a + b', got {formula!r}")
    terms = [factor.expr for term in parsed.lhs for factor in term.factors]
    if len(terms) != 1 or terms[0] not in columns:
        raise ParameterError(f"the outcome must be a column of the frame, got {' + '.join(terms)!r}")
    missing = sorted(name for name in parsed.required_variables if name not in columns)
    if missing:
        raise ParameterError(f"no column {missing[0]!r}, the columns are {', '.join(map(str, columns))}")
    return parsed, terms[0]


def _formula(formula: str, columns: list[str]) -> Any:
    formulaic = load("formulaic")
    with _plain_errors(formula):
        return formulaic.Formula.from_spec(formula, context={"__formulaic_variables_available__": columns})


def _in_order(rhs: Any) -> list[str]:
    """The variables of a formula in the order in which it names them."""
    kind = load("formulaic").SimpleFormula
    return list(dict.fromkeys(name for term in rhs for name in sorted(kind([term]).required_variables)))


def _needed(latent: str | None, columns: list[str]) -> list[str]:
    if latent is None:
        return []
    parsed = _formula(latent, columns)
    parsed = getattr(parsed, "rhs", parsed)
    missing = sorted(name for name in parsed.required_variables if name not in columns)
    if missing:
        raise ParameterError(f"latent: no column {missing[0]!r}, the columns are {', '.join(map(str, columns))}")
    return _in_order(parsed)


def _laws(design: Designs, outcome: str, used: list[str]) -> dict[str, AnswerLaw]:
    """The law of each variable of the formula. One design alone is that of the outcome."""
    designs = design if isinstance(design, Mapping) else {outcome: design}
    for name in designs:
        if name not in used:
            raise ParameterError(f"a design must be for a variable of the formula ({', '.join(used)}), got {name!r}")
    laws = {name: AnswerLaw.of(name, designs.get(name)) for name in used}
    hidden = [name for name in used if name != outcome and not laws[name].public]
    if len(hidden) > MAX_RANDOMIZED:
        raise ParameterError(f"at most {MAX_RANDOMIZED} predictors may be randomized, got {', '.join(hidden)}")
    return laws


def _complete(table: pd.DataFrame, weights: Column | None) -> tuple[pd.DataFrame, Array, int]:
    """The rows without gaps, their weights scaled to a mean of one, and how many rows were left out."""
    kept = np.asarray(table.notna().all(axis=1))
    if not kept.any():
        raise ParameterError("a frame must have rows without missing values, got none")
    weight = np.ones(len(table)) if weights is None else numbers("weights", weights)
    if len(weight) != len(table):
        raise ParameterError(f"weights must be as many as rows, {len(table):,}, got {len(weight):,}")
    if (weight < 0).any() or not weight[kept].any():
        raise ParameterError("weights must not be negative, nor all zero")
    return table[kept], weight[kept] / weight[kept].mean(), int((~kept).sum())


def _dependent(columns: Array) -> list[int]:
    """The columns that are combinations of those before them."""
    norms = np.linalg.norm(columns, axis=0)
    scaled = columns / np.where(norms > 0, norms, 1.0)
    found: list[int] = []
    basis = np.empty((len(columns), 0))
    for at, column in enumerate(scaled.T):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)  # Twice is enough (Kahan).
        size = np.linalg.norm(rest)
        if size < 1e-9:
            found.append(at)
        else:
            basis = np.column_stack([basis, rest / size])
    return found


@contextmanager
def _plain_errors(formula: str) -> Iterator[None]:
    """Turn what the formula library says, which may be long and coloured, into one plain line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except SottovoceError:
        raise
    except Exception as error:
        reason = " ".join(str(error).partition("\n")[0].split())
        raise ParameterError(f"the formula {formula!r} cannot be read: {reason}") from None
