"""How the estimates of one histogram err together: the exact covariance of the frequencies behind one report.

A report supports a set of values. The covariance of a mechanism's estimates follows from how often a report supports
two values v and w at once, and for every mechanism here that takes two numbers only: the probability when the true
value is on the *line* through v and w, and the probability when it lies apart from it. In k-ary, unary and subset
reports a line is just the two values; where values are vectors over a field, it holds more of them.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.mechanisms import KRR, Hadamard, LocalHash, Projective, Subset, Unary
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.histograms.supports import check_entries

if TYPE_CHECKING:
    from numpy.typing import NDArray


def covariance(mechanism: Pure, frequencies: NDArray[np.float64], population: bool = True) -> NDArray[np.float64]:
    """The covariance of the estimated frequencies, times n, where the true ones are given.

    About the population, answers and noise are both random; about the respondents, the noise alone.

    >>> import numpy as np
    >>> from sottovoce import KRR
    >>> covariance(KRR(3, p=0.5), np.array([0.5, 0.25, 0.25])).round(4)
    array([[ 3.75  , -1.875 , -1.875 ],
           [-1.875 ,  3.4375, -1.5625],
           [-1.875 , -1.5625,  3.4375]])
    """
    check_entries(mechanism.domain.size, 1)
    p, q = float(mechanism.p), float(mechanism.q)
    rate = q + (p - q) * frequencies
    both = _both(mechanism, frequencies)
    np.fill_diagonal(both, rate)
    if population:
        mean = np.outer(rate, rate)
    else:
        mean = (p - q) ** 2 * np.diag(frequencies) + q * (np.add.outer(rate, rate) - q)
    matrix: NDArray[np.float64] = (both - mean) / (p - q) ** 2
    return matrix


@singledispatch
def _both(mechanism: Pure, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each two values, the probability that one report supports both. Here by listing the whole channel."""
    if not isinstance(mechanism, Pure):
        raise ParameterError(f"a covariance must be that of a frequency mechanism, got {mechanism!r:.80}")
    both = np.zeros((mechanism.domain.size,) * 2)
    for frequency, law in zip(frequencies, mechanism.channel().values(), strict=True):
        for report, chance in law.items():
            held = list(mechanism.supports(report))
            both[np.ix_(held, held)] += frequency * float(chance)
    return both


@_both.register(KRR)
def _krr(mechanism: KRR, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.zeros((frequencies.size,) * 2)


@_both.register(Unary)
def _unary(mechanism: Unary, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    p, q = float(mechanism.p), float(mechanism.q)
    return _mixed(p * q, q * q, np.add.outer(frequencies, frequencies))


@_both.register(Subset)
def _subset(mechanism: Subset, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    p, k, others = float(mechanism.p), mechanism.size, mechanism.domain.size - 1
    apart = (k - 1) * (p * (k - 2) + (1 - p) * k) / (others * max(others - 1, 1))
    return _mixed(p * (k - 1) / others, apart, np.add.outer(frequencies, frequencies))


@_both.register(LocalHash)
def _local_hash(mechanism: LocalHash, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two values share a bucket where the cohort is orthogonal to their difference, and then so does their line."""
    g, field, digits = mechanism.buckets, mechanism._space.field, mechanism._space.digits
    codes = np.arange(frequencies.size)
    v, w = codes[:, None], codes[None, :]
    line = np.add.outer(frequencies, frequencies)
    for step in range(2, g):
        third = np.zeros((codes.size,) * 2, dtype=np.int64)
        for power in (g**k for k in range(digits)):
            a, b = v // power % g, w // power % g
            third += power * field.add(a, field.multiply(field.add(b, field.negative(a)), step))
        line += _at(frequencies, third)
    return _mixed(float(mechanism.p) / g, 1 / g**2, line)


@_both.register(Hadamard)
def _hadamard(mechanism: Hadamard, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.arange(1, frequencies.size + 1)
    line = np.add.outer(frequencies, frequencies) + _at(frequencies, np.bitwise_xor.outer(values, values) - 1)
    return _mixed(float(mechanism.p) / 2, 1 / 4, line)


@_both.register(Projective)
def _projective(mechanism: Projective, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    space, size = mechanism._space, frequencies.size
    vectors = space.line_many(np.arange(size))
    line = np.add.outer(frequencies, frequencies)
    for factor in range(1, space.order):
        total = np.zeros((size, size), dtype=np.int64)
        for power in space._powers:
            a, b = vectors[:, None] // power % space.order, vectors[None, :] // power % space.order
            total += power * space.field.add(a, space.field.multiply(b, factor))
        line += _at(frequencies, space.normalise_many(total.ravel())[1].reshape(size, size))
    p, on, off = float(mechanism.p), mechanism._on, mechanism._off
    two, three = (space.first_line(max(space.digits - k, 0)) for k in (2, 3))
    return _mixed(p * two / on, p * three / on + (1 - p) * (two - three) / off, line)


def _mixed(own: float, apart: float, line: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability for each two values, where `line` says how often the true value is on their line."""
    both: NDArray[np.float64] = own * line + apart * (1 - line)
    return both


def _at(frequencies: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The frequency of each code; codes outside the domain have none."""
    inside = (codes >= 0) & (codes < frequencies.size)
    return np.where(inside, frequencies[np.where(inside, codes, 0)], 0.0)


def precision(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """What estimates with this covariance tell about frequencies that add up to one: an information matrix.

    It is the inverse less what is known about the sum, which needs no estimate: of rank D - 1 for D values.
    """
    total = matrix.sum()
    if total <= ZERO_EIGENVALUE * np.trace(matrix):  # The estimates themselves add up to one.
        return np.asarray(np.linalg.pinv(matrix, rcond=ZERO_EIGENVALUE, hermitian=True), dtype=np.float64)
    known: NDArray[np.float64] = np.linalg.inv(matrix) - np.ones_like(matrix) / total
    return known


ZERO_EIGENVALUE = 1e-10
"""Relative to the largest, an eigenvalue below this is zero."""
