"""From the counted buckets of all cohorts to the frequencies of any values.

Each report supports a bucket of its own value with probability p and any other with probability q. A value of share f
has a bucket in each cohort, which another value also has with probability r: the report of someone else supports it
with probability q' = q + (p-q) r. So the mean support over the cohorts, less q' and over p - q', is unbiased. It is
the classic (m * share - 1) / (m - 1), averaged over the cohorts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.hashing import Hashes, Joined
from sottovoce.core.lazy import numpy as np
from sottovoce.core.lazy import scipy
from sottovoce.estimates import HashedEstimate
from sottovoce.estimates.collisions import noise, shared
from sottovoce.estimates.null_distribution import NullDistribution

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_VALUES_TOGETHER = 2**10
"""Values that are estimated together; no more than one for every four buckets of all cohorts, but 16 at least."""

MIN_VALUES_TOGETHER = 16

RIDGE = 1e-10
"""The share by which a diagonal is raised, so that equations can be solved where two values are hashed alike."""

SIGNIFICANCE = 0.05
"""A value counts as found if less often than this any value that nobody holds would look as frequent."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """Per cohort, the number of reports and how many of them support each bucket."""

    hashes: Hashes | Joined
    sizes: NDArray[np.int64]
    support: NDArray[np.int64]
    p: float
    q: float
    variances: Floats | None = None
    """Those of the support within each cohort, if they are known already."""

    @property
    def n(self) -> int:
        return int(self.sizes.sum())

    @property
    def shared(self) -> float:
        """The probability r that one bucket of a value is among those of another value."""
        return shared(self.hashes.buckets, self.hashes.functions)

    @property
    def other(self) -> float:
        """The probability q' that a report supports one bucket of a value that is not its own."""
        return self.q + (self.p - self.q) * self.shared

    @cached_property
    def noise(self) -> tuple[float, float]:
        """The variance of one report about a value: of a respondent with another value, and of one who holds it."""
        return noise(self.p, self.q, self.hashes.buckets, self.hashes.functions)

    @cached_property
    def spread(self) -> float:
        """The variance of the estimate of a value that nobody holds, from the spread of the buckets themselves.

        Such a value has buckets at random, independent of all others. So what it gets varies as the buckets do, by
        noise and collisions alike, and no law of the values needs to be known.
        """
        variances = row_variances(self.support) if self.variances is None else self.variances
        within, off = variances / self.hashes.functions, (self.support.mean(axis=1) - self.sizes * self.other) ** 2
        return float((within + off).sum()) / (self.n * (self.p - self.other)) ** 2

    @property
    def own(self) -> float:
        """What a value of share 1 adds to the spread by itself; it does not disturb its own estimate."""
        r, h = self.shared, self.hashes.functions
        return float((self.sizes.astype(float) ** 2).sum()) / self.n**2 * r / (1 - r) / h


def row_variances(table: NDArray[np.int64]) -> Floats:
    """The variance within each row; NumPy's own makes more copies of the table on the way."""
    off = table.astype(np.float64)
    off -= off.mean(axis=1)[:, None]
    variances: Floats = np.einsum("ij,ij->i", off, off) / table.shape[1]
    return variances


def by_mean(
    sketch: Sketch, labels: Sequence[str | None], codes: NDArray[np.int64], epsilon: float, simulated: bool
) -> HashedEstimate:
    """Each value by itself: any number of them."""
    n, (other, holder) = sketch.n, sketch.noise
    frequency = means(sketch, codes)
    collisions = (sketch.spread - other / n - sketch.own * frequency.clip(0, 1) ** 2).clip(0)
    constant, slope = other / n + collisions, (holder - other) / n
    law = NullDistribution(sketch.support, sketch.hashes.functions)
    null = np.full(len(labels), sketch.spread)
    return HashedEstimate(labels, frequency, constant, slope, n, epsilon, len(labels), simulated, law, null)


def means(sketch: Sketch, codes: NDArray[np.int64]) -> Floats:
    """The unbiased frequencies."""
    support = sketch.hashes.look_up(sketch.support, codes)
    frequency: Floats = (support / (sketch.hashes.functions * sketch.n) - sketch.other) / (sketch.p - sketch.other)
    return frequency


def by_regression(
    sketch: Sketch, labels: Sequence[str | None], codes: NDArray[np.int64], epsilon: float, simulated: bool
) -> HashedEstimate:
    """All values together, by least squares over the buckets: collisions among them are not errors any more.

    The shares of the buckets are regressed on the values' buckets, cohorts weighted by their reports. Non-negative
    least squares finds the values that explain the buckets. These are then estimated without that constraint, and each
    of the others as if it were added alone: so no estimate is clipped, and a value that is not there gets about zero.

    Of very many values, the most frequent by their means are taken. Tests and simultaneous intervals count them all.
    A frequent value that was not asked about still disturbs those that meet it: the law of the errors is that of the
    buckets, less the values that are there beyond doubt.
    """
    kept = _most_frequent(sketch, codes)
    fit = BucketRegression(sketch, codes[kept])
    frequency, covariance = fit.solution
    made = HashedEstimate(
        labels=[labels[place] for place in kept.tolist()],
        frequency=frequency,
        constant=np.diag(covariance).clip(np.finfo(float).tiny),
        slope=0.0,
        n=sketch.n,
        epsilon=epsilon,
        candidates=len(codes),
        simulated=simulated,
        covariance=covariance,
    )
    return _step_down(made, fit)


def _step_down(estimate: HashedEstimate, fit: BucketRegression) -> HashedEstimate:
    """Take off the values that are there beyond doubt, which may bring more of them to light, until none is new."""
    found = np.zeros(len(estimate), dtype=np.bool_)
    while True:
        estimate = replace(estimate, law=fit.law_without(found, estimate.frequency))
        now = found | (estimate.p_value <= SIGNIFICANCE / estimate.candidates)
        if now.sum() == found.sum():
            return estimate
        found = now


def _most_frequent(sketch: Sketch, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of the values that can be estimated together, in their order."""
    most = min(MAX_VALUES_TOGETHER, max(sketch.support.size // 4, MIN_VALUES_TOGETHER))
    if len(codes) <= most:
        return np.arange(len(codes))
    return np.sort(np.argsort(-means(sketch, codes), kind="stable")[:most])


class BucketRegression:
    """Weighted least squares of the buckets' shares on the buckets of the values, less what is there by chance."""

    def __init__(self, sketch: Sketch, codes: NDArray[np.int64]) -> None:
        self.sketch = sketch
        used = np.flatnonzero(sketch.sizes)
        self.sizes = np.repeat(sketch.sizes[used], sketch.hashes.buckets).astype(np.float64)
        shares = (sketch.support[used] / sketch.sizes[used, None] - sketch.q) / (sketch.p - sketch.q)
        self.shares = shares.ravel() - sketch.shared
        self.design = _design(sketch.hashes, codes, used)

    def _gram(self, weights: Floats) -> Floats:
        """The products of all pairs of columns, each less the chance r, in weighted rows."""
        r, weighted = self.sketch.shared, self.design.multiply(weights[:, None]).tocsr()
        products = (self.design.T @ weighted).toarray()
        sums = weighted.sum(axis=0)
        gram: Floats = products - r * (sums[:, None] + sums[None, :]) + r * r * weights.sum()
        return gram

    @cached_property
    def solution(self) -> tuple[Floats, Floats]:
        """The frequencies and their covariance."""
        gram = self._gram(self.sizes)
        gram[np.diag_indices_from(gram)] *= 1 + RIDGE
        weighted = self.sizes * self.shares
        target = self.design.T @ weighted - self.sketch.shared * weighted.sum()
        found = _nonnegative(gram, target) > 0
        solver = _solver(gram, found)
        frequency = solver @ target
        middle = self._gram(self.sizes**2 * self._variances(frequency, found))
        covariance: Floats = solver @ middle @ solver.T
        return frequency, covariance

    def law_without(self, found: NDArray[np.bool_], frequency: Floats) -> NullDistribution:
        """The law of the errors of a value that is not there, from the buckets less the values found."""
        rest = self.shares - self.design @ np.where(found, frequency, 0.0)
        table = (self.sizes * rest).reshape(-1, self.sketch.hashes.buckets)
        return NullDistribution(table, self.sketch.hashes.functions)

    def _variances(self, frequency: Floats, found: NDArray[np.bool_]) -> Floats:
        """Of each bucket's share: the randomizer's noise, and what values that were not asked about add."""
        p, q, r = self.sketch.p, self.sketch.q, self.sketch.shared
        kept = np.where(found, frequency, 0.0)
        fitted = self.design @ kept - r * kept.sum()
        share = (fitted + r).clip(0, 1)
        noise = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (self.sizes * (p - q) ** 2)
        parameters = int(found.sum()) + self.sizes.size // self.sketch.hashes.buckets  # The cohorts' means count too.
        freedom = max(self.sizes.size - parameters, 1) / self.sizes.size
        excess = ((self.shares - fitted) ** 2).mean() / freedom - noise.mean()
        variances: Floats = noise + max(float(excess), 0.0)
        return variances


def _design(hashes: Hashes | Joined, codes: NDArray[np.int64], cohorts: NDArray[np.int64]) -> scipy.sparse.csr_array:
    """A sparse matrix with a row for each bucket of each cohort and a column for each value."""
    rows = [
        at * hashes.buckets + hashes.all_buckets(codes, cohort, function)
        for at, cohort in enumerate(cohorts.tolist())
        for function in range(hashes.functions)
    ]
    columns = np.tile(np.arange(len(codes)), len(rows))
    shape = (len(cohorts) * hashes.buckets, len(codes))
    matrix = scipy.sparse.csr_array((np.ones(columns.size), (np.concatenate(rows), columns)), shape=shape)
    matrix.data[:] = 1.0  # Two functions may set the same bit.
    return matrix


def _nonnegative(gram: Floats, target: Floats) -> Floats:
    """Non-negative least squares, from the normal equations."""
    lower = np.linalg.cholesky(gram + np.eye(len(gram)) * RIDGE * np.trace(gram) / len(gram))
    found: Floats = scipy.optimize.nnls(lower.T, scipy.linalg.solve_triangular(lower, target, lower=True))[0]
    return found


def _solver(gram: Floats, found: NDArray[np.bool_]) -> Floats:
    """The matrix that gives the estimates: those found together, each of the others as if added to them alone."""
    solver = np.zeros_like(gram)
    inverse = np.linalg.inv(gram[np.ix_(found, found)])
    solver[np.ix_(found, found)] = inverse
    rest = ~found
    explained = gram[np.ix_(rest, found)] @ inverse
    own = np.diag(gram)[rest] - (explained * gram[np.ix_(rest, found)]).sum(axis=1)
    own = own.clip(RIDGE * np.diag(gram)[rest])
    solver[np.ix_(rest, found)] = -explained / own[:, None]
    solver[rest, np.flatnonzero(rest)] = 1 / own
    return solver
