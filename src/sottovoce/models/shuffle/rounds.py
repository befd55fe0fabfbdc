"""Several rounds, each shuffled by itself: the losses of one person add up, as privacy loss distributions do."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from sottovoce.lazy import load
from sottovoce.lazy import numpy as np
from sottovoce.models.shuffle.bounds import Batch, Bound
from sottovoce.models.shuffle.solve import least, normal_epsilon
from sottovoce.privacy import float_above, float_below

MAX_ROUNDS = 10_000
POINTS = 40
"""Points of the curve on either side of 0. Chords between them lie above it: the loss gets larger, never smaller."""

SLIP = 2e-14
"""More than what the transforms of a composition are off by, in delta and for each round."""

SHARE = 1e-3
"""The part of delta that goes to losses beyond the last point."""


def over_rounds(batch: Batch, rounds: int) -> float:
    """The epsilon, at the batch's delta, of so many rounds with fresh randomness, chosen in the light of each other.

    The curve of one round is evaluated from above on a grid; by chords through those points it becomes a privacy loss
    distribution that dominates every pair of neighbours (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, Connect the
    Dots, PETS 2022), in both directions alike. It is composed by `dp-accounting`. Where delta is too small for that,
    and where one round at a share of delta costs nothing, epsilons and deltas are just added up.
    """
    if batch.delta <= 2 * rounds * SLIP or batch.bounds[0].curve(0.0) <= batch.delta / rounds:
        share = replace(batch, delta=float_below(Fraction(batch.delta) / rounds))
        return float_above(rounds * Fraction(share.upper()[0]))
    return min(_composed(batch, rounds), float_above(rounds * Fraction(batch.local)))


def _composed(batch: Batch, rounds: int) -> float:
    bound = batch.bounds[0]
    top = _top(bound, batch.delta * SHARE / rounds, batch.local) or batch.local
    gap = top / POINTS
    above = [min(bound.curve(gap * at), 1.0) for at in range(POINTS + 1)]
    below = [1 - math.exp(-gap * at) * (1 - above[at]) for at in range(POINTS, 0, -1)]
    deltas = np.minimum.accumulate(np.array(below + above))
    pmf = load("dp_accounting.pld.pld_pmf").create_pmf_pessimistic_connect_dots_fixed_gap(gap, -POINTS, POINTS, deltas)
    one = load("dp_accounting.pld.privacy_loss_distribution").PrivacyLossDistribution(pmf)
    return float(one.self_compose(rounds).get_epsilon_for_delta(batch.delta - rounds * SLIP)) * (1 + 1e-9)


def _top(bound: Bound, delta: float, local: float) -> float:
    """Where the curve falls below a delta."""
    return least(bound.quick, delta, normal_epsilon(delta, bound.shift, local), local)
