"""What a regression ends in: coefficients with errors, intervals, tests, predictions, a summary and a plot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, overload

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.interval import Interval
from sottovoce.statistics.proportions.answers import total_epsilon, z_value
from sottovoce.statistics.regression import compare, predict, summary
from sottovoce.statistics.regression.data import RegressionData
from sottovoce.statistics.regression.model import Model
from sottovoce.statistics.regression.newton import RegressionFit, solve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from sottovoce.statistics.hypothesis_result import TestResult
    from sottovoce.statistics.regression.data import Frame
    from sottovoce.statistics.regression.model import Array
    from sottovoce.statistics.regression.summary import Summary

METHODS = ("wald", "likelihood")


@dataclass(frozen=True, eq=False, repr=False)
class RegressionResult:
    """Coefficients about the true values, and their errors. The errors are about the population: noise and sampling."""

    kind: ClassVar[str]
    measure: ClassVar[str]
    data: RegressionData
    model: Model
    fit: RegressionFit
    estimator: str

    # The fit.

    @property
    def is_likelihood(self) -> bool:
        """Whether the model was fitted by a likelihood proper, which can be compared with others."""
        return self.estimator == "likelihood"

    @property
    def n(self) -> int:
        """Rows without gaps: those that were fitted."""
        return len(self.data.frame)

    @property
    def epsilon(self) -> float:
        """What the randomized answers of one person cost together."""
        return total_epsilon(self.data.laws.values())

    @property
    def params(self) -> pd.Series[float]:
        """The coefficients, by term."""
        return self._series(self.fit.theta[: self.model.terms], "coef")

    @property
    def stderr(self) -> pd.Series[float]:
        """Their standard errors, by the observed information, or by the sandwich if there is no likelihood."""
        with np.errstate(invalid="ignore"):
            return self._series(np.sqrt(np.diag(self._covariance))[: self.model.terms], "std err")

    @property
    def covariance(self) -> pd.DataFrame:
        """The covariance of the coefficients."""
        at = self.model.terms
        frame: pd.DataFrame = load("pandas").DataFrame(self._covariance[:at, :at], self.data.terms, self.data.terms)
        return frame

    @property
    def nuisance(self) -> pd.Series[float]:
        """The parameters beside the coefficients: of the errors, and of the shares of the hidden patterns."""
        names = list(self.model.family.extra)
        for pattern in self.data.patterns[1:] if self.model.Z.shape[1] else ():
            where = ", ".join(f"{name}={value}" for name, value in zip(self.data.randomized, pattern, strict=True))
            names += [f"{where}: {column}" for column in self.data.hidden[0]]
        series: pd.Series[float] = load("pandas").Series(self.fit.theta[self.model.terms :], names, name="nuisance")
        return series

    @property
    def loglik(self) -> float:
        """The log-likelihood of all reports, given the public covariates. Corrected least squares have none."""
        return float("nan") if self.estimator == "corrected" else self.fit.point.loglik

    @cached_property
    def null_loglik(self) -> float:
        """The same for the model in which nothing but an intercept tells of the outcome."""
        return float("nan") if self.estimator == "corrected" else self._null.point.loglik

    @cached_property
    def _null(self) -> RegressionFit:
        return compare.without(self.model, self.fit, self._slopes) if self._slopes else self.fit

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return 2 * (self.model.size - self.loglik)

    @property
    def bic(self) -> float:
        """The Bayesian criterion."""
        return float(np.log(self.n)) * self.model.size - 2 * self.loglik

    @property
    def _slopes(self) -> list[int]:
        return [at for at, term in enumerate(self.data.terms) if term != "Intercept"]

    @cached_property
    def _inverse(self) -> Array | None:
        return solve(self.fit.point.information, np.eye(self.model.size))

    @cached_property
    def _covariance(self) -> Array:
        if self._inverse is None:
            return np.full((self.model.size, self.model.size), np.nan)
        if self.is_likelihood:
            return self._inverse
        half = (self.model.weights[:, None] * self.fit.point.scores) @ self._inverse
        return half.T @ half

    @property
    def converged(self) -> bool:
        """Whether the likelihood has a maximum where the search ended. If not, `notes` say why."""
        return self.fit.converged and self._inverse is not None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know before believing the numbers."""
        found = []
        if self.fit.diverged:
            found.append(
                "no finite estimate: a fitted probability is 0 or 1 (separation, or few answers for so much noise)"
            )
        elif not self.fit.settled:
            found.append(f"the search did not settle in {self.fit.steps} steps")
        elif self._inverse is None:
            found.append("the answers do not tell the coefficients apart: the information matrix is singular")
        if self.fit.edge:
            found.append("somewhere a hidden value of the randomized predictors has an estimated share of 0")
        return tuple(found)

    def _series(self, values: Array, name: str) -> pd.Series[float]:
        series: pd.Series[float] = load("pandas").Series(values, self.data.terms, name=name)
        return series

    # What follows from it.

    def interval(self, level: float = 0.95, method: str = "wald") -> Interval[pd.Series[float]]:
        """An interval for each coefficient: its ends are two series, by term.

        By Wald, a number of standard errors to each side; by likelihood, all values that a likelihood-ratio test
        would not reject, which is better for few answers or much noise, and slower.
        """
        z = z_value(level)
        if method not in METHODS:
            raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        if method == "wald":
            return Interval(self.params - z * self.stderr, self.params + z * self.stderr, level)
        low, high = self._profiles(z).T
        return Interval(self._series(low, "low"), self._series(high, "high"), level)

    def _profiles(self, z: float) -> Array:
        if not self.is_likelihood:
            raise ParameterError(f"likelihood intervals need a likelihood, and this is {self.estimator}")
        if not self.converged:
            raise ParameterError(f"likelihood intervals need a fit that converged, but {self.notes[0]}")
        rows = [
            compare.profile(self.model, self.fit, at, error, z * z / 2) for at, error in enumerate(self.stderr.tolist())
        ]
        return np.array(rows)

    def test(self, restricted: RegressionResult | str | Iterable[str]) -> TestResult:
        """Test the smaller model: another result, or this model without some terms (their coefficients are zero).

        A likelihood-ratio test; where there is no likelihood (weights, errors of any law) a Wald test, of terms only.
        """
        if isinstance(restricted, RegressionResult):
            compare.check_nested(self, restricted)
            if not (self.is_likelihood and restricted.is_likelihood):
                raise ParameterError("models without a likelihood must be compared by naming the terms to test")
            dropped = [term for term in self.data.terms if term not in restricted.data.terms]
            return compare.likelihood_ratio(self.loglik, restricted.loglik, len(dropped), _null_text(dropped))
        columns = compare.columns_of(self, restricted)
        what = _null_text([self.data.terms[at] for at in columns])
        if not self.is_likelihood:
            return compare.wald(self.fit.theta[columns], self._covariance[np.ix_(columns, columns)], what)
        fit = compare.without(self.model, self.fit, columns)
        return compare.likelihood_ratio(self.loglik, fit.point.loglik, len(columns), what)

    @cached_property
    def overall(self) -> TestResult | None:
        """The test of all terms but the intercept together; None if there are none."""
        return self.test([self.data.terms[at] for at in self._slopes]) if self._slopes else None

    @overload
    def predict(self, frame: Frame | None = None, level: None = None) -> pd.Series[float]: ...
    @overload
    def predict(self, frame: Frame | None = None, *, level: float) -> pd.DataFrame: ...
    @overload
    def predict(self, frame: Frame | None, level: float) -> pd.DataFrame: ...
    def predict(self, frame: Frame | None = None, level: float | None = None) -> pd.Series[float] | pd.DataFrame:
        """What the model expects of the truth: a series, or with a level a frame with errors and intervals.

        In a new frame every predictor is taken as true, the randomized ones too: "what if a were 1". Rows with gaps
        get no number. Without a frame the prediction is for the people of the fit. What they truly are in a
        randomized predictor is not known, so that it is the average over what their report and covariates make likely.
        """
        return predict.of_the_fitted(self, level) if frame is None else predict.of_frame(self, frame, level)

    def _mean(self, eta: Array) -> tuple[Array, Array]:
        raise NotImplementedError

    def _ends(self, expected: Array, half: Array) -> tuple[Array, Array]:
        raise NotImplementedError

    def _facts(self) -> dict[str, float]:
        """What the summary tells beside the coefficients."""
        raise NotImplementedError

    # How it is shown.

    def summary(self, level: float = 0.95, method: str = "wald") -> Summary:
        """The table that users of statsmodels expect, as text and as HTML."""
        return summary.summary(self, level, method)

    def to_dict(self, level: float = 0.95, method: str = "wald") -> JsonObject:
        """A form for JSON."""
        return summary.record(self, level, method)

    @property
    def caption(self) -> str:
        """One line that says what the numbers rest on: which variables were randomized, by what, and which public."""
        return summary.caption(self)

    def plot(
        self,
        level: float = 0.95,
        method: str = "wald",
        intercept: bool = False,
        truth: Mapping[str, float] | pd.Series[float] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """A dot and its interval for each coefficient; the true ones, if they are known, as ticks. Needs matplotlib."""
        return summary.plot(self, level, method, intercept, truth, ax)

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.data.formula!r}; {self.caption}>"


def _null_text(terms: list[str]) -> str:
    return f"null hypothesis: {' = '.join(terms)} = 0"
