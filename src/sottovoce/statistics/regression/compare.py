"""What the likelihood says about coefficients: profiles, and tests of one model against a smaller one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.statistics.hypothesis_result import TestResult
from sottovoce.statistics.regression.newton import RegressionFit, maximise, solve

if TYPE_CHECKING:
    from sottovoce.statistics.regression.model import Array, Model
    from sottovoce.statistics.regression.result import RegressionResult

MAX_WIDENINGS = 12
"""How often the search for the end of an interval doubles its reach, before the end is called infinite."""


def without(model: Model, fit: RegressionFit, columns: Iterable[int]) -> RegressionFit:
    """The best fit with some coefficients at zero."""
    free = np.ones(model.size, dtype=bool)
    free[list(columns)] = False
    return maximise(model, np.where(free, model.start(), 0.0), free)


def profile(model: Model, fit: RegressionFit, at: int, stderr: float, height: float) -> tuple[float, float]:
    """The values of one coefficient whose best log-likelihood is within `height` of the greatest there is."""
    free = np.arange(model.size) != at
    best, reach = float(fit.theta[at]), float(np.sqrt(2 * height))
    starts, known = [fit.theta], {best: -reach}

    def excess(value: float) -> float:
        """How far beyond the reach the signed root of the likelihood ratio is: nearly a straight line.

        Each search begins where the last one ended. What was found is kept, lest another search end elsewhere.
        """
        if value not in known:
            found = maximise(model, np.where(free, starts[-1], value), free)
            starts.append(found.theta)
            known[value] = float(np.sqrt(2 * max(fit.point.loglik - found.point.loglik, 0.0))) - reach
        return known[value]

    return _crossing(excess, best, -reach * stderr, starts), _crossing(excess, best, reach * stderr, starts)


def _crossing(excess: Callable[[float], float], best: float, step: float, starts: list[Array]) -> float:
    """The first place beyond `best`, in the direction of the step, where the excess is zero; else infinite."""
    del starts[1:]
    inside, outside = best, best + step
    for _ in range(MAX_WIDENINGS):
        if excess(outside) > 0:
            place: float = scipy.optimize.brentq(excess, inside, outside, xtol=1e-6 * abs(step), rtol=1e-12)
            return place
        inside, outside = outside, outside + 2 * (outside - best)
    return float(np.copysign(np.inf, step))


def likelihood_ratio(loglik: float, restricted: float, df: int, what: str) -> TestResult:
    """Twice the difference of two log-likelihoods, which is chi-square if the smaller model holds."""
    statistic = max(2 * (loglik - restricted), 0.0)
    return TestResult("likelihood-ratio test", statistic, float(scipy.special.chdtrc(df, statistic)), df, note=what)


def wald(params: Array, covariance: Array, what: str) -> TestResult:
    """Coefficients in units of their own covariance."""
    solved = solve(covariance, params)
    statistic = float(params @ solved) if solved is not None else float("nan")
    df = len(params)
    return TestResult("Wald test", statistic, float(scipy.special.chdtrc(df, statistic)), df, note=what)


def columns_of(result: RegressionResult, terms: str | Iterable[str]) -> list[int]:
    """The columns that terms stand for: a coefficient by its name, or all coefficients of a term such as C(region)."""
    names = [terms] if isinstance(terms, str) else list(terms)
    groups = {str(term): list(places) for term, places in result.data.spec.term_indices.items()}
    groups |= {name: [at] for at, name in enumerate(result.data.terms)}
    for name in names:
        if name not in groups:
            raise ParameterError(f"no term {name!r}, the terms are {', '.join(result.data.terms)}")
    if not names:
        raise ParameterError("a test needs at least one term, got none")
    return sorted({at for name in names for at in groups[name]})


def check_nested(big: RegressionResult, small: RegressionResult) -> None:
    """Refuse to compare models that are not of the same answers, or not one within the other."""
    if big.n != small.n or big.data.outcome != small.data.outcome or not _same_outcome(big, small):
        raise ParameterError("both models must be fitted to the same answers of the same people")
    extra = [term for term in small.data.terms if term not in big.data.terms]
    if extra or len(small.data.terms) == len(big.data.terms):
        raise ParameterError(f"the other model must have some of these terms and no others, got {small.data.formula!r}")
    if big.data.randomized != small.data.randomized or big.data.hidden[0] != small.data.hidden[0]:
        raise ParameterError(
            "both models must model the hidden values alike: name the terms to test, or give both the same latent"
        )


def _same_outcome(big: RegressionResult, small: RegressionResult) -> bool:
    laws = big.data.laws[big.data.outcome], small.data.laws[small.data.outcome]
    same = np.array_equal(big.data.outcome_values(), small.data.outcome_values())
    return same and (laws[0].p, laws[0].q) == (laws[1].p, laws[1].q)
