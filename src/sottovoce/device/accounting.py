"""What many answers of one person cost together, when each question may depend on the answers before.

Without a delta, epsilons add up. With one, three bounds are known that hold however a server chooses its questions:

- the sum;
- the filter: with V the sum of the squared epsilons, sqrt(2 ln(1/delta) V) + V/2, for epsilons that are themselves
  chosen on the way;
- units: if every answer counts as one of a fixed epsilon, the number of answers alone matters, and the loss of so many
  randomized responses is computed exactly, rounded up (privacy loss distributions of `dp-accounting`).

J. Whitehouse, A. Ramdas, R. Rogers, Z. S. Wu, Fully Adaptive Composition in Differential Privacy, ICML 2023.
P. Kairouz, S. Oh, P. Viswanath, The Composition Theorem for Differential Privacy, ICML 2015.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from numbers import Real

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import load
from sottovoce.core.privacy import check_epsilon, compose, to_float

DISCRETIZATION_INTERVAL = 1e-4
"""Privacy losses are rounded up to multiples of this epsilon before they are composed."""

MAX_UNITS = 10_000


def check_delta(delta: object) -> float:
    number = to_float(delta) if isinstance(delta, Real) and not isinstance(delta, bool) else math.nan
    if not 0 <= number < 1:
        raise ParameterError(f"delta must lie from 0 to below 1, got {delta!r:.40}")
    return number


def spent(epsilons: Iterable[float], delta: float = 0.0, unit: float | None = None) -> float:
    """The epsilon, at delta, of answers that cost `epsilons`: the least of the bounds that apply, rounded up.

    >>> spent([1.0] * 100), round(spent([1.0] * 100, 1e-6), 1)
    (100.0, 100.0)
    >>> round(spent([0.1] * 100, 1e-6), 2)
    5.76
    """
    costs = [float(cost) for cost in epsilons if cost]
    if check_delta(delta) and unit is not None:
        return _units(costs, delta, check_epsilon(unit))
    plain = compose(costs)
    return min(plain, _filter(costs, delta)) if delta else plain


def _units(costs: list[float], delta: float, unit: float) -> float:
    if any(cost > unit for cost in costs):
        return math.inf
    plain = compose([unit] * len(costs))
    return min(plain, composed(unit, len(costs), delta)) if len(costs) <= MAX_UNITS else plain


def _filter(costs: list[float], delta: float) -> float:
    square = math.fsum(cost * cost for cost in costs)
    return (math.sqrt(2 * math.log(1 / delta) * square) + square / 2) * (1 + 1e-12)


@lru_cache(maxsize=256)
def composed(epsilon: float, times: int, delta: float) -> float:
    """The least epsilon, at delta, of `times` answers of epsilon each, whatever mechanisms gave them; rounded up.

    Randomized response is the worst of all mechanisms of an epsilon, so that its composition bounds theirs.

    >>> round(composed(1.0, 100, 1e-6), 1)
    83.5
    """
    if times > MAX_UNITS:
        raise ParameterError(f"at most {MAX_UNITS:,} answers can be composed, got {times:,}")
    if not times:
        return 0.0
    losses = load("dp_accounting.pld.privacy_loss_distribution")
    lie = 2 / (1 + math.exp(check_epsilon(epsilon))) * (1 - 1e-12)  # A little less noise: the bound stays above.
    one = losses.from_randomized_response(lie, 2, value_discretization_interval=DISCRETIZATION_INTERVAL)
    return float(one.self_compose(times).get_epsilon_for_delta(delta))
