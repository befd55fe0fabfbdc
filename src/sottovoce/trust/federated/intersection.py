"""How many are in both of two sets whose owners do not show them to each other: three ways, at the same epsilon.

The sets are parts of a universe of `size`; neighbours are sets that differ in one member. A set is a column of truth
values.

- `both_randomized`: each owner publishes the whole column by randomized response. Error about sqrt(size) / epsilon^2.
- `one_randomized`: the first does; the second counts its own members among the reports, and adds noise to two counts.
- `secure`: the sets are multiplied under secret sharing, and noise is added once, inside. As if one owner had both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import check_epsilon
from sottovoce.core.randomness import Keystream
from sottovoce.estimates.render import text_table
from sottovoce.mechanisms import RandomizedResponse
from sottovoce.trust.noise import DiscreteLaplace
from sottovoce.trust.synthetic import MAX_VALUES, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Members = NDArray[np.bool_]
    TruthColumn = Sequence[bool] | Members

WAYS = ("both randomized", "one randomized", "secure")


@dataclass(frozen=True)
class Size:
    """An estimate of the size of an intersection, its standard error, and the epsilon spent on either set."""

    way: str
    value: float
    stderr: float
    epsilon: float


def both_randomized(
    first: TruthColumn, second: TruthColumn, epsilon: float, seed: int | Keystream | None = None
) -> Size:
    """Each owner sends every bit through randomized response; anybody multiplies the unbiased bits and adds up.

    The standard error takes the two sizes from the same reports.

    >>> evens, threes = [i % 2 == 0 for i in range(6000)], [i % 3 == 0 for i in range(6000)]
    >>> size = both_randomized(evens, threes, epsilon=2.0, seed=1)
    >>> abs(size.value - 1000) < 4 * size.stderr, round(size.stderr)
    (True, 33)
    """
    a, b = _sets(first, second)
    m, stream = RandomizedResponse(epsilon=epsilon), Keystream.of(seed)
    x, y = (_unbiased(m, members, stream) for members in (a, b))
    error = _both_stderr(a.size, float(x.sum()), float(y.sum()), _bit_variance(m))
    return Size(WAYS[0], float(x @ y), error, m.epsilon)


def one_randomized(
    first: TruthColumn, second: TruthColumn, epsilon: float, seed: int | Keystream | None = None
) -> Size:
    """The first owner's bits are randomized; the second counts the yes and the no among its members, with noise.

    A member more or less changes one of the two counts by one: noise of sensitivity 1 protects the second set.
    """
    a, b = _sets(first, second)
    m, noise, stream = RandomizedResponse(epsilon=epsilon), DiscreteLaplace(epsilon), Keystream.of(seed)
    yes = _reports(m, a, stream)
    noisy = noise.release([int(yes[b].sum()), int((~yes[b]).sum())], stream)
    p, q = float(m.p), float(m.q)
    value = ((1 - q) * noisy[0] - q * noisy[1]) / (p - q)
    return Size(WAYS[1], value, _one_stderr(m, noise, max(sum(noisy), 0)), max(m.epsilon, noise.epsilon))


def secure(first: TruthColumn, second: TruthColumn, epsilon: float, seed: int | Keystream | None = None) -> Size:
    """A secure inner product modulo 2^64, with the noise inside it: as good as one owner of both sets.

    A dealer, who sees neither set, hands random columns r and s to the two owners, and numbers u and v that add up to
    r.s and discrete Laplace noise. The owners exchange a + r and b + s, which tell nothing. The first publishes u -
    r.(b + s), the second v + (a + r).b: together a.b and the noise. Neither owner, with the analyst, learns more than
    that; the dealer must not collude with any of them.

    >>> evens, threes = [i % 2 == 0 for i in range(6000)], [i % 3 == 0 for i in range(6000)]
    >>> round(secure(evens, threes, epsilon=2.0, seed=1).value)
    1000
    """
    a, b = _sets(first, second)
    noise, stream = DiscreteLaplace(epsilon), Keystream.of(seed)
    r, s, u = stream.words(a.size), stream.words(a.size), stream.words(1)[0]
    with np.errstate(over="ignore"):  # Arithmetic modulo 2^64.
        v = np.dot(r, s) - u + np.array(noise.release([0], stream), dtype=np.int64).view(np.uint64)[0]
        to_second, to_first = a.astype(np.uint64) + r, b.astype(np.uint64) + s
        published = u - np.dot(r, to_first), v + np.dot(to_second, b.astype(np.uint64))
        total = published[0] + published[1]
    return Size(WAYS[2], float(np.array([total]).view(np.int64)[0]), noise.stderr, noise.epsilon)


ESTIMATORS: dict[str, Callable[[TruthColumn, TruthColumn, float, Keystream], Size]] = dict(
    zip(WAYS, (both_randomized, one_randomized, secure), strict=True)
)


@dataclass(frozen=True)
class Intersections:
    """The error of each way, measured over some runs and by its formula. Made by `compare_intersections`."""

    size: int
    sizes: tuple[int, int]
    common: int
    epsilon: float
    runs: int
    rmse: dict[str, float]
    expected: dict[str, float]

    def table(self) -> tuple[list[str], list[list[str]]]:
        cells = [[way, f"{self.rmse[way]:,.1f}", f"{self.expected[way]:,.1f}"] for way in WAYS]
        return ["way", "error measured", "expected"], cells

    @property
    def caption(self) -> str:
        a, b = self.sizes
        return (
            f"{self.common:,} in common of {a:,} and {b:,}, in a universe of {self.size:,}; "
            f"epsilon = {self.epsilon:.6g}; {self.runs:,} runs"
        )

    def __str__(self) -> str:
        return f"{text_table(*self.table())}\n{self.caption}"


def compare_intersections(
    size: int = 100_000,
    sizes: tuple[int, int] = (10_000, 10_000),
    common: int = 1000,
    epsilon: float = 1.0,
    runs: int = 50,
    seed: int | None = None,
) -> Intersections:
    """The three ways on sets of given sizes, some members of which are in both.

    >>> print(compare_intersections(10_000, (1000, 1000), 100, runs=100, seed=3))
    way              error measured  expected
    both randomized           103.6     101.6
    one randomized             31.5      30.4
    secure                      1.4       1.4
    100 in common of 1,000 and 1,000, in a universe of 10,000; epsilon = 1; 100 runs
    """
    first, second = _made(check_whole("the universe", size, MAX_VALUES), sizes, common)
    runs, stream = check_whole("runs", runs, 10**6), Keystream(seed)
    squares = dict.fromkeys(WAYS, 0.0)
    for _ in range(runs):
        for way, estimator in ESTIMATORS.items():
            squares[way] += (estimator(first, second, epsilon, stream).value - common) ** 2
    m, noise = RandomizedResponse(epsilon=check_epsilon(epsilon)), DiscreteLaplace(epsilon)
    expected = (_both_stderr(size, *sizes, _bit_variance(m)), _one_stderr(m, noise, sizes[1]), noise.stderr)
    rmse = {way: math.sqrt(total / runs) for way, total in squares.items()}
    return Intersections(size, sizes, common, epsilon, runs, rmse, dict(zip(WAYS, expected, strict=True)))


def _made(size: int, sizes: tuple[int, int], common: int) -> tuple[Members, Members]:
    a, b = (check_whole("the size of a set", part, size, 0) for part in sizes)
    check_whole("the members in common", common, min(a, b), max(0, a + b - size))
    at = np.arange(size)
    return at < a, (at >= a - common) & (at < a - common + b)


def _sets(first: TruthColumn, second: TruthColumn) -> tuple[Members, Members]:
    a, b = (np.asarray(column) for column in (first, second))
    for column in (a, b):
        if column.ndim != 1 or column.dtype != np.bool_ or not column.size:
            raise ParameterError("a set must be a column of truth values, one for each member of the universe")
    if a.size != b.size:
        raise ParameterError(f"both sets must be of one universe, got {a.size:,} and {b.size:,}")
    return a, b


def _reports(m: RandomizedResponse, members: Members, stream: Keystream) -> Members:
    lies = stream.bernoulli(m.q, members.size)
    yes: Members = np.where(members, stream.bernoulli(m.p, members.size), lies)
    return yes


def _unbiased(m: RandomizedResponse, members: Members, stream: Keystream) -> NDArray[np.float64]:
    p, q = float(m.p), float(m.q)
    return (_reports(m, members, stream).astype(np.float64) - q) / (p - q)


def _bit_variance(m: RandomizedResponse) -> float:
    return float(m.p * (1 - m.p) / (m.p - m.q) ** 2)


def _both_stderr(size: int, first: float, second: float, variance: float) -> float:
    """From the variance of a product of two unbiased bits a and b, which is V^2 + V (a + b)."""
    return math.sqrt(size * variance**2 + variance * max(first + second, 0))


def _one_stderr(m: RandomizedResponse, noise: DiscreteLaplace, members: float) -> float:
    p, q = float(m.p), float(m.q)
    added = ((1 - q) ** 2 + q**2) / (p - q) ** 2 * noise.stderr**2
    return math.sqrt(members * _bit_variance(m) + added)
