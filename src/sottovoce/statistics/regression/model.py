"""The likelihood of a regression in which some variables are known through randomized answers only.

A person's randomized predictors have one of S hidden patterns of true values. With x(s) for the row of the model matrix
that pattern s would make, and z for the public covariates, the likelihood of what a person reported is

    sum over s of  share(s | z)  *  P(reports of the predictors | s)  *  f(outcome | x(s) b).

The shares are a multinomial logit in z (a logistic one for a single randomized predictor), with coefficients of
their own. The chances of the reports are known from the designs. Without randomized predictors there is one pattern.

Let G(s) be the gradient and H(s) the second derivative of the logarithm of a summand, and t(s) the probability of the
pattern given all that was reported. The gradient of the log-likelihood is the mean of G(s) under t, the second
derivative is the mean of H(s) under t plus the covariance of G(s) under t (Louis 1982). So all derivatives are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.statistics.proportions.answers import AnswerLaw

    Array = NDArray[np.float64]


class Curve(NamedTuple):
    """The log-density of an outcome and its derivatives by the linear predictor and by other parameters.

    Arrays are by pattern and person; `slope` has a leading axis for what it derives by, `bend` has two.
    """

    log: Array
    slope: Array
    bend: Array


class OutcomeFamily(Protocol):
    """What an outcome looks like, given its linear predictor."""

    extra: ClassVar[tuple[str, ...]]

    def curve(self, eta: Array, extra: Array) -> Curve: ...
    def start(self, matrices: Array) -> Array: ...
    def reach(self, eta: Array, extra: Array) -> float: ...


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """A yes or no, reported by some law: the report's probability is q + (p - q) sigmoid(eta) for a yes.

    The truth is one more hidden variable. With t for the chance that it is yes, given the report, the derivatives by
    eta are t - sigmoid and t (1 - t) - sigmoid (1 - sigmoid).
    """

    extra: ClassVar[tuple[str, ...]] = ()
    reports: Array
    law: AnswerLaw

    def curve(self, eta: Array, extra: Array) -> Curve:
        if_no, if_yes = self.law.chances(self.reports)
        share, rest = scipy.special.expit(eta), scipy.special.expit(-eta)
        yes, no = if_yes * share, if_no * rest
        total = yes + no
        truth = yes / total
        return Curve(np.log(total), (truth - share)[None], (truth * no / total - share * rest)[None, None])

    def start(self, matrices: Array) -> Array:
        """The same probability for all, as near to it as the columns come."""
        share = np.clip(self.law.unbiased(self.reports).mean(), 0.05, 0.95)
        everywhere = np.full(matrices.shape[1], np.log(share / (1 - share)))
        beta: Array = np.linalg.lstsq(matrices[0], everywhere, rcond=None)[0]
        return beta

    def reach(self, eta: Array, extra: Array) -> float:
        return float(np.abs(eta).max())


@dataclass(frozen=True, eq=False)
class Normal:
    """A public number with normal errors. The logarithm of their standard deviation is one more parameter."""

    extra: ClassVar[tuple[str, ...]] = ("log sigma",)
    values: Array

    def curve(self, eta: Array, extra: Array) -> Curve:
        weight = np.exp(-2 * extra[0])
        residual = self.values - eta
        square = weight * residual**2
        log = -0.5 * np.log(2 * np.pi) - extra[0] - square / 2
        cross = -2 * weight * residual
        bend = np.stack([np.stack([np.full_like(eta, -weight), cross]), np.stack([cross, -2 * square])])
        return Curve(log, np.stack([weight * residual, square - 1]), bend)

    def start(self, matrices: Array) -> Array:
        """Least squares on the average over the patterns: all effects of hidden values start at none."""
        mean = matrices.mean(axis=0)
        beta = np.linalg.lstsq(mean, self.values, rcond=None)[0]
        spread = np.sqrt(np.mean((self.values - mean @ beta) ** 2))
        return np.append(beta, np.log(max(spread, 1e-8 * np.abs(self.values).max(), 1e-300)))

    def reach(self, eta: Array, extra: Array) -> float:
        return float(np.abs(extra[0]))


class Point(NamedTuple):
    """The log-likelihood at a point, the gradient of each person's share of it, and minus its second derivative."""

    loglik: float
    scores: Array
    information: Array


@dataclass(frozen=True, eq=False)
class Model:
    """A log-likelihood as a function of all parameters: coefficients, those of the family, those of the shares.

    `X` is by pattern, person and term; `chances`, of the predictors' reports, by pattern and person; `Z` by person
    and covariate. Weights are one for each person.
    """

    family: OutcomeFamily
    X: Array
    chances: Array
    Z: Array
    weights: Array

    @property
    def terms(self) -> int:
        return int(self.X.shape[2])

    @property
    def outcome_size(self) -> int:
        """How many parameters are about the outcome. Those about the shares come after them."""
        return self.terms + len(self.family.extra)

    @property
    def size(self) -> int:
        return self.outcome_size + (len(self.X) - 1) * int(self.Z.shape[1])

    def start(self) -> Array:
        """Where to begin: no effects, and shares that do not depend on covariates."""
        theta = np.zeros(self.size)
        theta[: self.outcome_size] = self.family.start(self.X)
        return theta

    def split(self, theta: Array) -> tuple[Array, Array, Array]:
        """The coefficients, the parameters of the family, and those of the shares by pattern (but the first)."""
        at, end = self.terms, self.outcome_size
        return theta[:at], theta[at:end], theta[end:].reshape(len(self.X) - 1, self.Z.shape[1])

    def log_shares(self, gamma: Array) -> Array:
        """The logarithm of the share of each pattern among people with the covariates of each person."""
        logits = np.vstack([np.zeros(len(self.Z)), gamma @ self.Z.T])
        logs: Array = logits - scipy.special.logsumexp(logits, axis=0)
        return logs

    def reach(self, step: Array) -> tuple[float, float]:
        """How far a step moves anybody's linear predictor: that of the outcome, those of the shares."""
        beta, extra, gamma = self.split(step)
        return self.family.reach(self.X @ beta, extra), float(np.abs(gamma @ self.Z.T).max(initial=0.0))

    def __call__(self, theta: Array) -> Point:
        beta, extra, gamma = self.split(theta)
        with np.errstate(all="ignore"):  # Beyond all bounds the likelihood is zero or no number, and so refused.
            curve = self.family.curve(self.X @ beta, extra)
            if len(self.X) == 1:
                return self._point(curve.log[0], np.ones_like(curve.log), curve, np.ones_like(curve.log))
            logs = self.log_shares(gamma)
            joint = logs + np.log(self.chances) + curve.log
            each = scipy.special.logsumexp(joint, axis=0)
            return self._point(each, np.exp(joint - each), curve, np.exp(logs))

    def _point(self, each: Array, truth: Array, curve: Curve, shares: Array) -> Point:
        """Gradients by person and the information, by Louis's formula; `truth` is t(s) above."""
        information = self._curvature(truth, curve, shares)
        if len(self.X) == 1:
            scores = self._gradient(0, curve, shares)
            return Point(float(self.weights @ each), scores, information)
        scores = np.zeros((len(self.weights), self.size))
        for s, part in enumerate(truth):
            gradient = self._gradient(s, curve, shares)
            scores += part[:, None] * gradient
            information -= gradient.T @ ((self.weights * part)[:, None] * gradient)
        information += scores.T @ (self.weights[:, None] * scores)
        return Point(float(self.weights @ each), scores, information)

    def _gradient(self, s: int, curve: Curve, shares: Array) -> Array:
        """G(s): the gradient of the logarithm of one summand, for each person."""
        outcome = curve.slope[0, s][:, None] * self.X[s]
        logits = -shares[1:]
        if s:
            logits[s - 1] += 1
        return np.hstack([outcome, curve.slope[1:, s].T, *(by[:, None] * self.Z for by in logits)])

    def _curvature(self, truth: Array, curve: Curve, shares: Array) -> Array:
        """Minus the mean of H(s) under t."""
        total = np.zeros((self.size, self.size))
        end, width = self.outcome_size, self.Z.shape[1]
        for s, part in enumerate(truth * self.weights):
            blocks = [self.X[s], *np.ones((len(self.family.extra), len(part), 1))]
            rows = [
                np.hstack([left.T @ ((part * curve.bend[i, j, s])[:, None] * right) for j, right in enumerate(blocks)])
                for i, left in enumerate(blocks)
            ]
            total[:end, :end] -= np.vstack(rows)
        for i, one in enumerate(shares[1:]):
            for j, other in enumerate(shares[1:]):
                block = self.Z.T @ ((self.weights * one * ((i == j) - other))[:, None] * self.Z)
                total[end + i * width : end + (i + 1) * width, end + j * width : end + (j + 1) * width] = block
        return total


class Corrected(Model):
    """The sum over patterns of log f, each with a weight whose expectation is one for the true pattern, else zero.

    So the expectation is the log-likelihood of the true values (Nakamura 1990): whatever the shares of the patterns are
    and, for the mean of a number, whatever the law of its errors. The weights stand in for `chances`, and may be
    negative, so that this is no likelihood.
    """

    def __call__(self, theta: Array) -> Point:
        beta, extra, _ = self.split(theta)
        with np.errstate(all="ignore"):
            curve = self.family.curve(self.X @ beta, extra)
            shares = np.ones_like(curve.log)
            scores = np.zeros((len(self.weights), self.size))
            for s, part in enumerate(self.chances):
                scores += part[:, None] * self._gradient(s, curve, shares)
            each = (self.chances * curve.log).sum(axis=0)
            return Point(float(self.weights @ each), scores, self._curvature(self.chances, curve, shares))
