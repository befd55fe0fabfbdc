"""Regression in which the outcome, predictors or both are known through randomized answers only.

Treating randomized answers as if they were true flattens every effect. Here the randomization is part of the
likelihood, so that coefficients are about the truth, and their errors count the noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.statistics.regression.data import RegressionData, read
from sottovoce.statistics.regression.kinds import LinearResult, LogisticResult
from sottovoce.statistics.regression.model import Bernoulli, Corrected, Model, Normal, OutcomeFamily
from sottovoce.statistics.regression.newton import RegressionFit, maximise
from sottovoce.statistics.regression.result import RegressionResult

if TYPE_CHECKING:
    from sottovoce.core.domain.columns import Column
    from sottovoce.statistics.regression.data import Designs, Frame
    from sottovoce.statistics.regression.model import Array

__all__ = ["LinearResult", "LogisticResult", "RegressionResult", "linear", "logistic"]


def logistic(
    formula: str,
    frame: Frame,
    design: Designs = None,
    *,
    latent: str | None = None,
    weights: Column | None = None,
) -> LogisticResult:
    """Logistic regression of a true yes or no on true predictors, from randomized answers to either.

    `design` is that of the outcome, or a mapping from columns to designs: anything with p, q and epsilon. A column
    without one is public. A randomized column holds 0 and 1, or yes and no. Formulas are those of formulaic: C(region)
    for categories, a*b for interactions. A frame is of pandas, Polars or Arrow, or a dict of columns; incomplete rows
    are left out, and counted in the result. `weights` are survey weights: the likelihood is weighted, errors are by the
    sandwich.

    The hidden values of randomized predictors are modelled by a (multinomial) logit given the public covariates
    of the formula, or those of the formula `latent`, such as "~ age".

    >>> from sottovoce import RandomizedResponse
    >>> coins = RandomizedResponse.from_coins()
    >>> truth = [0] * 600 + [1] * 400 + [0] * 300 + [1] * 700
    >>> frame = {"answer": coins.randomize_many(map(bool, truth), seed=1), "woman": [0] * 1000 + [1] * 1000}
    >>> logistic("answer ~ woman", frame, coins).odds_ratios().round(2)
               odds ratio   low  high
    Intercept        0.69  0.53  0.89
    woman            3.00  2.06  4.38
    """
    data, weight = read(formula, frame, design, latent, weights, binary=True)
    family = Bernoulli(data.outcome_values(), data.laws[data.outcome])
    return LogisticResult(data, *_fitted(data, family, weight), _estimator(weights))


def linear(
    formula: str,
    frame: Frame,
    design: Designs = None,
    *,
    errors: str = "any",
    latent: str | None = None,
    weights: Column | None = None,
) -> LinearResult:
    """Linear regression of a public number on predictors of which some were randomized.

    `design` maps the randomized predictors to their designs; frames, formulas and weights are as in `logistic`. With
    `errors="any"`, the default, least squares are corrected for the randomization: they need no more than least squares
    on the true values would. With `errors="normal"` it is maximum likelihood with normal errors and hidden values as
    in `logistic`: more precise where effects are large beside the errors, but wrong if these are skewed.

    >>> from sottovoce import RandomizedResponse
    >>> coins = RandomizedResponse.from_coins()
    >>> truth = [0, 1] * 2000
    >>> frame = {"group": coins.randomize_many(map(bool, truth), seed=1), "y": [t + i % 7 for i, t in enumerate(truth)]}
    >>> r = linear("y ~ group", frame, {"group": coins})
    >>> r.params.round(2).to_dict(), r.stderr.round(2).to_dict()
    ({'Intercept': 3.06, 'group': 0.87}, {'Intercept': 0.07, 'group': 0.13})
    """
    if errors not in ("any", "normal"):
        raise ParameterError(f"errors must be 'any' or 'normal', got {errors!r:.40}")
    if errors == "any" and latent is not None:
        raise ParameterError("latent is for errors='normal': with 'any' hidden values need no model")
    data, weight = read(formula, frame, design, latent, weights, binary=False)
    if not data.laws[data.outcome].public:
        raise ParameterError(
            f"the outcome {data.outcome!r} must be public here: give a mapping from predictors to designs"
        )
    values = data.outcome_values()
    if np.ptp(values) == 0:
        raise ParameterError(f"the outcome {data.outcome!r} must vary, got {values[0]:g} in every row")
    if errors == "normal":
        return LinearResult(data, *_fitted(data, Normal(values), weight), _estimator(weights))
    model = Corrected(Normal(values), data.X, data.indicators, np.empty((len(values), 0)), weight)
    return LinearResult(data, model, maximise(model, model.start()), "corrected")


def _fitted(data: RegressionData, family: OutcomeFamily, weights: Array) -> tuple[Model, RegressionFit]:
    model = Model(family, data.X, data.chances, data.hidden[1], weights)
    return model, maximise(model, model.start())


def _estimator(weights: object) -> str:
    return "likelihood" if weights is None else "pseudo-likelihood"
