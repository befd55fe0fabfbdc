"""Kuk's design: the truth chooses a deck of cards, and the respondent names the colour of a card drawn from it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.privacy import to_float
from sottovoce.estimates.render import plural
from sottovoce.statistics.designs.answers import Sample
from sottovoce.statistics.designs.base import Matrix, Number, exact, percent
from sottovoce.statistics.designs.binary import Binary
from sottovoce.statistics.proportions.drawn_proportion import DrawnProportion
from sottovoce.statistics.proportions.joint import linearised
from sottovoce.statistics.proportions.proportion import Proportion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain.columns import Column
    from sottovoce.statistics.proportions.one_proportion import OneProportion

MAX_DRAWS = 100


@dataclass(frozen=True, init=False, repr=False)
class Kuk(Binary):
    """Draw a card from the deck of your truth: a share p1 of red cards under yes, p2 under no. Say its colour.

    With `draws` above one, cards are drawn with replacement, and the answer is how many of them were red. It costs
    `draws` times the epsilon, and the error falls.

    >>> round(Kuk(0.8, 0.2).estimate(["red"] * 44 + ["black"] * 56).frequency, 3)
    0.4
    >>> three = Kuk(0.8, 0.2, draws=3)
    >>> round(three.epsilon / Kuk(0.8, 0.2).epsilon, 6), three.estimate([3, 2, 0, 1, 0]).frequency
    (3.0, 0.3333333333333333)

    A. Y. C. Kuk, Asking Sensitive Questions Indirectly, Biometrika 1990.
    """

    name: ClassVar[str] = "kuk"
    how: ClassVar[str] = "the truth chooses one of two decks of cards, and the respondent says what was drawn from it."
    hidden: ClassVar[str] = "which deck it was"
    p1: Fraction
    p2: Fraction
    draws: int
    by: str

    def __init__(self, p1: Number, p2: Number, draws: int = 1, by: str = "respondent") -> None:
        whole = to_float(draws) if isinstance(draws, str) and draws.isdecimal() else draws
        if isinstance(whole, bool) or not isinstance(whole, Real) or whole not in range(1, MAX_DRAWS + 1):
            raise ParameterError(f"draws must be a whole number from 1 to {MAX_DRAWS}, got {draws!r:.40}")
        self._freeze(by, p1=exact("p1", p1), p2=exact("p2", p2), draws=int(whole))
        self._informative()

    @property
    def p(self) -> Fraction:
        return self.p1

    @property
    def q(self) -> Fraction:
        return self.p2

    @cached_property
    def matrix(self) -> Matrix:
        return tuple(
            tuple(comb(self.draws, red) * p**red * (1 - p) ** (self.draws - red) for red in range(self.draws + 1))
            for p in (self.p2, self.p1)
        )

    @property
    def answers(self) -> tuple[str, ...]:
        if self.draws == 1:
            return ("black", "red")
        return tuple(f"{red} red" for red in range(self.draws + 1))

    @property
    def codes(self) -> Mapping[Hashable, int]:
        if self.draws == 1:
            return super().codes
        return {spelling: red for red in range(self.draws + 1) for spelling in (red, str(red), f"{red} red")}

    @property
    def expected(self) -> str:
        return super().expected if self.draws == 1 else f"the number of red cards, from 0 to {self.draws}"

    words: ClassVar[tuple[str, str]] = ("black", "red")

    if TYPE_CHECKING:

        def estimate(
            self,
            answers: Column,
            weights: Column | None = None,
            groups: Column | None = None,
            missing: str = "refuse",
        ) -> Any:
            """A `Proportion`, or with several draws a `DrawnProportion`; `Proportions` if there are groups."""

    def estimate_counts(self, yes: int, n: int) -> Proportion:
        if self.draws > 1:
            raise ParameterError(f"counts of yes are for one draw, this design has {self.draws}: give the answers")
        return super().estimate_counts(yes, n)

    def _estimate(self, sample: Sample, label: str) -> OneProportion:
        if self.draws == 1:
            return super()._estimate(sample, label)
        weights = sample.equal
        counts: NDArray[np.float64] = np.bincount(sample.codes, weights, minlength=self.draws + 1).astype(np.float64)
        scores = (np.arange(self.draws + 1) / self.draws - float(self.p2)) / float(self.p1 - self.p2)
        variance = None if sample.weights is None else float(linearised(scores[sample.codes, None], weights)[1][0, 0])
        counts *= weights.sum() / (weights @ weights)
        laws = np.array(self.matrix, dtype=np.float64)
        if (laws.sum(axis=0)[counts > 0] == 0).any():
            raise ParameterError("an answer was given that has probability 0 under every truth")
        red, n = int(sample.codes.sum()), int(sample.codes.size)
        return DrawnProportion(n, red, counts, laws, scores, self.epsilon, variance, label=label, note=self._note)

    def _decoded(self, codes: NDArray[np.int64]) -> NDArray[np.bool_ | np.int64]:
        return super()._decoded(codes) if self.draws == 1 else codes

    def _rates(self) -> list[str]:
        yes, no = percent(self.p1), percent(self.p2)
        each = f"Each respondent draws {plural(self.draws, 'card')}."
        return [f"Of 100 cards drawn under the truth Yes, {yes} are red; of 100 under the truth No, {no} are. {each}"]
