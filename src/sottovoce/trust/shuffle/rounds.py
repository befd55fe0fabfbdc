"""Several rounds, each shuffled by itself: the losses of one person add up, as privacy loss distributions do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sottovoce.core.lazy import load
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import float_above, float_below
from sottovoce.trust.shuffle.bit_counts import CELLS as BITS_CELLS
from sottovoce.trust.shuffle.bounds import AccountedBatch, Bound
from sottovoce.trust.shuffle.solve import least, normal_epsilon

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_ROUNDS = 10_000
POINTS_PER_SIDE = 40
"""Points of the curve on either side of 0. Chords between them lie above it: the loss gets larger, never smaller."""

SLIP_PER_ROUND = 2e-14
"""More than what the transforms of a composition are off by, in delta and for each round."""

MAX_SUMMED = 10**6
CELLS = BITS_CELLS // 4
"""Limits as for one round, but lower: a curve is evaluated at all POINTS_PER_SIDE points, not only at a few."""

TAIL_DELTA_SHARE = 1e-3
"""The part of delta that goes to losses beyond the last point."""


def over_rounds(batch: AccountedBatch, rounds: int) -> float:
    """The epsilon, at the batch's delta, of so many rounds with fresh randomness, chosen in the light of each other.

    The curve of one round is evaluated from above on a grid; by chords through those points it becomes a privacy loss
    distribution that dominates every pair of neighbours (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, Connect the
    Dots, PETS 2022), in both directions alike. It is composed by `dp-accounting`. Where delta is too small for that,
    and where one round at a share of delta costs nothing, epsilons and deltas are just added up. So they are if that is
    less, where there are more reports than a curve is evaluated for.
    """
    first = min(replace(batch, max_summed=min(batch.max_summed, MAX_SUMMED), cells=CELLS).bounds, key=_at(batch))
    composed = math.inf
    if batch.delta > 2 * rounds * SLIP_PER_ROUND and first.curve(0.0) > batch.delta / rounds:
        composed = _composed(first, batch.delta, batch.local, rounds)
    if math.isfinite(composed) and (batch.n <= MAX_SUMMED or batch.bits):
        return min(composed, float_above(rounds * Fraction(batch.local)))
    share = replace(batch, delta=float_below(Fraction(batch.delta) / rounds))
    added = float_above(rounds * Fraction(share.upper()[0]))
    return min(composed, added) if math.isfinite(composed) else added


def _at(batch: AccountedBatch) -> Callable[[Bound], float]:
    """How sharp a bound is: its delta at an epsilon where the losses of one round are rare."""
    epsilon = batch.bounds[0].shift * 3
    return lambda bound: bound.quick(min(epsilon, batch.local))


def _composed(bound: Bound, delta: float, local: float, rounds: int) -> float:
    """The epsilon of a privacy loss distribution on a grid, composed with itself."""
    top = _top(bound, delta * TAIL_DELTA_SHARE / rounds, local) or local
    gap = top / POINTS_PER_SIDE
    above = [min(bound.curve(gap * at), 1.0) for at in range(POINTS_PER_SIDE + 1)]
    below = [math.exp(-gap * at) * above[at] - math.expm1(-gap * at) for at in range(POINTS_PER_SIDE, 0, -1)]
    deltas = convex_below([math.expm1(gap * at) for at in range(-POINTS_PER_SIDE, POINTS_PER_SIDE + 1)], below + above)
    pmf = load("dp_accounting.pld.pld_pmf").create_pmf_pessimistic_connect_dots_fixed_gap(
        gap, -POINTS_PER_SIDE, POINTS_PER_SIDE, deltas
    )
    one = load("dp_accounting.pld.privacy_loss_distribution").PrivacyLossDistribution(pmf)
    return float(one.self_compose(rounds).get_epsilon_for_delta(delta - rounds * SLIP_PER_ROUND)) * (1 + 1e-9)


def convex_below(ratios: Sequence[float], deltas: Sequence[float]) -> NDArray[np.float64]:
    """The largest convex function of e^epsilon that is nowhere above the given points, at those points.

    The true divergence is convex in e^epsilon and nowhere above the points, so that it is not above this either. A
    bound that gives up at some points, and says 1 there, would otherwise be composed into nonsense.

    >>> convex_below([0.0, 1.0, 2.0, 4.0], [1.0, 1.0, 0.25, 0.25]).tolist()
    [1.0, 0.625, 0.25, 0.25]
    """
    corners: list[int] = []
    for at in range(len(deltas)):
        while len(corners) > 1 and _is_above(ratios, deltas, corners[-2], corners[-1], at):
            corners.pop()
        corners.append(at)
    hull = np.interp(ratios, [ratios[at] for at in corners], [deltas[at] for at in corners])
    lowest: NDArray[np.float64] = np.minimum.accumulate(np.clip(hull, 0.0, 1.0))
    return lowest


def _is_above(x: Sequence[float], y: Sequence[float], first: int, middle: int, last: int) -> bool:
    """Whether the middle one of three points is not below the chord of the others."""
    return (y[middle] - y[first]) * (x[last] - x[first]) >= (y[last] - y[first]) * (x[middle] - x[first])


def _top(bound: Bound, delta: float, local: float) -> float:
    """Where the curve falls below a delta."""
    return least(bound.quick, delta, normal_epsilon(delta, bound.shift, local), local)
