"""What a fitted regression expects of people, with errors by the delta method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import load, scipy
from sottovoce.core.lazy import numpy as np
from sottovoce.statistics.proportions.answers import yes_no, z_value
from sottovoce.statistics.regression.data import to_pandas

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.statistics.regression.data import Frame
    from sottovoce.statistics.regression.model import Array
    from sottovoce.statistics.regression.result import RegressionResult


def of_frame(result: RegressionResult, frame: Frame, level: float | None) -> pd.Series[float] | pd.DataFrame:
    """For the rows of a frame, with every predictor taken as true; rows with gaps get no number."""
    given = to_pandas(frame)
    table = given.reset_index(drop=True)
    needed = [name for name in result.data.laws if name != result.data.outcome]
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise ParameterError(f"no column {missing[0]!r} to predict from, needed are {', '.join(needed)}")
    complete = table[table[needed].notna().all(axis=1)]
    if complete.empty:
        raise ParameterError("a frame must have rows without missing values, got none")
    laws = {name: result.data.laws[name] for name in result.data.randomized}
    complete = complete.assign(**{name: yes_no(name, complete[name], law) for name, law in laws.items()})
    matrix = result.data.matrix(complete)
    expected, gradient = _expected(result, matrix[None], np.ones((1, len(matrix))))
    predicted = _shown(result, expected, gradient, complete.index, level)
    return predicted.reindex(table.index).set_axis(given.index)


def of_the_fitted(result: RegressionResult, level: float | None) -> pd.Series[float] | pd.DataFrame:
    """For the people of the fit, averaged over the hidden values that their reports and covariates make likely."""
    if result.data.randomized and result.estimator == "corrected":
        raise ParameterError("this fit has no model of hidden values: give a frame with values to be taken as true")
    logs = result.model.log_shares(result.model.split(result.fit.theta)[2])
    with np.errstate(divide="ignore"):
        likely = scipy.special.softmax(logs + np.log(result.model.chances), axis=0)
    return _shown(result, *_expected(result, result.model.X, likely), result.data.frame.index, level)


def _expected(result: RegressionResult, matrices: Array, likely: Array) -> tuple[Array, Array]:
    """The mean over patterns of what is expected, and its gradient by all parameters."""
    model = result.model
    mean, slope = result._mean(matrices @ result.fit.theta[: model.terms])
    expected = (likely * mean).sum(axis=0)
    gradient = np.zeros((len(expected), model.size))
    gradient[:, : model.terms] = np.einsum("sn,snd->nd", likely * slope, matrices)
    if len(matrices) > 1:
        shift = likely[1:] * (mean[1:] - expected)
        gradient[:, model.outcome_size :] = np.hstack([by[:, None] * model.Z for by in shift])
    return expected, gradient


def _shown(
    result: RegressionResult, expected: Array, gradient: Array, index: pd.Index, level: float | None
) -> pd.Series[float] | pd.DataFrame:
    pandas = load("pandas")
    if level is None:
        series: pd.Series[float] = pandas.Series(expected, index, name=result.measure)
        return series
    error = np.sqrt(((gradient @ result._covariance) * gradient).sum(axis=1))
    low, high = result._ends(expected, z_value(level) * error)
    columns = {result.measure: expected, "stderr": error, "low": low, "high": high}
    frame: pd.DataFrame = pandas.DataFrame(columns, index)
    return frame
