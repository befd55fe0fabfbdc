"""The two kinds of regression: of a true yes or no, and of a public number."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.lazy import load, scipy
from sottovoce.core.lazy import numpy as np
from sottovoce.statistics.regression.result import RegressionResult

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.statistics.regression.model import Array


class LogisticResult(RegressionResult):
    """Coefficients of a true yes: the logarithms of odds ratios."""

    kind: ClassVar[str] = "logistic"
    measure: ClassVar[str] = "probability"

    def odds_ratios(self, level: float = 0.95, method: str = "wald") -> pd.DataFrame:
        """By how much the odds of a true yes are multiplied by one more of each term, with intervals."""
        low, high = self.interval(level, method)
        logs: pd.DataFrame = load("pandas").DataFrame({"odds ratio": self.params, "low": low, "high": high})
        return logs.apply(np.exp)

    @property
    def pseudo_r2(self) -> float:
        """McFadden's, of the outcome: what the terms add to its log-likelihood, over what there was to add.

        Randomization makes most of an answer unpredictable, so that it is far below that of an open survey.
        """
        eta = self.model.X[0] @ self._null.theta[: self.model.terms]
        alone = self.model.weights @ self.model.family.curve(eta[None], np.empty(0)).log[0]
        return float((self.null_loglik - self.loglik) / alone) if alone else float("nan")

    def _facts(self) -> dict[str, float]:
        return {"pseudo R2": self.pseudo_r2}

    def _mean(self, eta: Array) -> tuple[Array, Array]:
        share: Array = scipy.special.expit(eta)
        return share, share * scipy.special.expit(-eta)

    def _ends(self, expected: Array, half: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore", invalid="ignore"):
            logit, wide = scipy.special.logit(expected), half / (expected * (1 - expected))
        return scipy.special.expit(logit - wide), scipy.special.expit(logit + wide)


class LinearResult(RegressionResult):
    """Coefficients of a public number on predictors of which some were randomized, by maximum likelihood."""

    kind: ClassVar[str] = "linear"
    measure: ClassVar[str] = "mean"

    @property
    def sigma(self) -> float:
        """The standard deviation of the errors."""
        return float(np.exp(self.fit.theta[self.model.terms]))

    @property
    def r2(self) -> float:
        """The share of the variance that the true predictors explain."""
        return float(1 - np.exp(2 * (self.fit.theta - self._null.theta)[self.model.terms]))

    def _facts(self) -> dict[str, float]:
        return {"sigma": self.sigma, "R2": self.r2}

    def _mean(self, eta: Array) -> tuple[Array, Array]:
        return eta, np.ones_like(eta)

    def _ends(self, expected: Array, half: Array) -> tuple[Array, Array]:
        return expected - half, expected + half
