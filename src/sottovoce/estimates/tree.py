"""A tree over an ordered domain, and the best consistent frequencies for its nodes.

Every level of the tree has its own noisy frequencies. A parent and the sum of its children estimate the same share;
weighted least squares makes them one (Hay et al. 2010), in a pass from the leaves up and one from the root down. The
root is 1 exactly. The result is linear in the noisy frequencies, and `coefficients` says with which weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.core.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Tree:
    """Leaves 0 .. size - 1, grouped by `fanout` neighbours, level by level, up to a root.

    >>> Tree(20, fanout=4).sizes, Tree(20, fanout=4).widths
    ((2, 5, 20), (16, 4, 1))
    """

    size: int
    fanout: int

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many leaves a node of each level spans, from below the root to the leaves."""
        height = next(h for h in range(1, 65) if self.fanout**h >= self.size)
        return tuple(int(self.fanout**h) for h in range(height - 1, -1, -1))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has."""
        return tuple(-(-self.size // width) for width in self.widths)

    def sums(self, children: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the children of each parent add up to, along the last axis."""
        return np.add.reduceat(children, np.arange(0, children.shape[-1], self.fanout), axis=-1)

    def copies(self, parents: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """What each of `size` children has as its parent's, along the last axis."""
        return np.repeat(parents, self.fanout, axis=-1)[..., :size]

    def nodes(self, leaves: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """The sums of the leaves below the nodes of each level."""
        levels = [leaves]
        while len(levels) < len(self.sizes):
            levels.insert(0, self.sums(levels[0]))
        return levels


class Consistency:
    """Least squares on a tree, where the frequencies of a level all have that level's variance."""

    def __init__(self, tree: Tree, variances: Sequence[float]) -> None:
        self.tree = tree
        below: list[NDArray[np.float64]] = [np.full(tree.sizes[-1], variances[-1])]
        self.own: list[NDArray[np.float64]] = []  # The weight of a node's own frequency; the rest is its children's.
        for variance in reversed(variances[:-1]):
            children = tree.sums(below[0])
            self.own.insert(0, children / (children + variance))
            below.insert(0, self.own[0] * variance)
        self.share = [spread / tree.copies(tree.sums(spread), spread.size) for spread in below]

    def leaves(self, levels: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The consistent frequencies of the leaves."""
        up = [levels[-1]]
        for own, level in zip(reversed(self.own), reversed(levels[:-1]), strict=True):
            up.insert(0, own * level + (1 - own) * self.tree.sums(up[0]))
        parents: NDArray[np.float64] = np.ones(1)
        for share, level in zip(self.share, up, strict=True):
            parents = level + share * self.tree.copies(parents - self.tree.sums(level), level.size)
        return parents

    def coefficients(self, queries: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """The weights of every level's frequencies in each row's weighted sum of leaves: `leaves` run backwards.

        The root has a weight as well, which does not matter for errors: it is known.
        """
        down: list[NDArray[np.float64]] = []
        wanted = queries
        for share in reversed(self.share):
            parents = self.tree.sums(wanted * share)
            down.insert(0, wanted - self.tree.copies(parents, share.size))
            wanted = parents
        weights = []
        for at, own in enumerate(self.own):
            weights.append(own * down[at])
            down[at + 1] = down[at + 1] + self.tree.copies((1 - own) * down[at], down[at + 1].shape[-1])
        return [*weights, down[-1]]
