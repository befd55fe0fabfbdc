"""Steps that make an estimate look like a distribution, at the price of bias.

Unbiased frequencies may be negative and need not add up to one. Each step here gives up unbiasedness for a
property, says so in `Estimate.steps`, and leaves the intervals those of the unbiased estimate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import Estimate


def clip(estimate: Estimate) -> Estimate:
    """Frequencies cut to [0, 1]: rare values come out too high, by up to half a standard error or so.

    >>> from sottovoce import KRR
    >>> e = KRR(3, p=0.5).tally().add_many([0] * 7 + [1] * 2 + [2]).estimate()
    >>> e.frequency.round(2), clip(e).frequency.round(2)
    (array([ 1.8, -0.2, -0.6]), array([1., 0., 0.]))
    """
    return _step(estimate, "clip", _current(estimate).clip(0, 1))


def simplex(estimate: Estimate) -> Estimate:
    """The nearest distribution: frequencies shifted alike and cut at zero so that they add up to one (norm-sub).

    T. Wang et al., Locally Differentially Private Frequency Estimation with Consistency, NDSS 2020.
    """
    return _step(estimate, "simplex", nearest_distribution(_current(estimate)))


def nearest_distribution(frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution with the least squared distance from the frequencies."""
    descending = np.sort(frequencies)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, frequencies.size + 1)
    kept = np.flatnonzero(descending > excess)[-1]
    nearest: NDArray[np.float64] = (frequencies - excess[kept]).clip(0)
    return nearest


def em(estimate: Estimate, iterations: int = 10_000, tolerance: float = 1e-9) -> Estimate:
    """The distribution that best explains the supported values, by expectation maximisation (Bayesian update).

    A value picked at random among those that reports support is the true one with odds p to q for each other, so the
    picks follow k-ary randomized response. For that mechanism this is the maximum-likelihood estimate; for the others
    it uses what the support counts tell and not what the reports tell jointly. Steps taken before are undone. It
    starts near the simplex projection: from afar it would take very many steps where a report tells little.
    """
    if iterations < 1:
        raise ParameterError(f"iterations must be at least 1, got {iterations}")
    p, q, D = float(estimate.p), float(estimate.q), estimate.domain.size
    if p < q:
        raise ParameterError(f"em needs reports that lean towards the truth, got p = {p} below q = {q}")
    picks = estimate.support / max(estimate.support.sum(), 1)
    own, other = p / (p + (D - 1) * q), q / (p + (D - 1) * q)
    frequencies = (1 - UNIFORM_SHARE) * nearest_distribution(replace(estimate, order=None).unbiased) + UNIFORM_SHARE / D
    for _ in range(iterations):
        ratio = picks / (other + (own - other) * frequencies)
        update = frequencies * (other * ratio.sum() + (own - other) * ratio)
        change = np.abs(update - frequencies).max()
        frequencies = update / update.sum()
        if change < tolerance:
            break
    return _step(replace(estimate, steps=()), "em", frequencies)


UNIFORM_SHARE = 0.01
"""The share of the uniform distribution in the start of `em`: a value that starts at zero would stay there."""

STEPS = {"clip": clip, "simplex": simplex, "em": em}


def _current(estimate: Estimate) -> NDArray[np.float64]:
    """The frequencies in the order of the domain."""
    return replace(estimate, order=None).frequency


def _step(estimate: Estimate, name: str, frequencies: NDArray[np.float64]) -> Estimate:
    return replace(estimate, adjusted=frequencies, steps=(*estimate.steps, name))
