"""Designs without a device: an innocuous question, such as one about a birthday, hides the answer to the other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import numpy as np
from sottovoce.statistics.designs.answers import read_pair
from sottovoce.statistics.designs.base import Number, exact
from sottovoce.statistics.designs.binary import Binary
from sottovoce.statistics.proportions.joint import JointProportions, linearised_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.core.domain.columns import Column

HALF = Fraction(1, 2)


@dataclass(frozen=True, init=False, repr=False)
class Crosswise(Binary):
    """Say whether your answers to the question and to an innocuous one, yes with probability p, are the same.

    The answer yes stands for "same": both yes or both no. Probabilities are those of Warner's design, without a device.

    >>> design = Crosswise("1/4")  # Was your mother born in January, February or March?
    >>> round(design.estimate(["same"] * 60 + ["different"] * 40).frequency, 3)
    0.3

    J.-W. Yu, G.-L. Tian, M.-L. Tang, Two new models for survey sampling with sensitive characteristic, Metrika 2008.
    """

    name: ClassVar[str] = "crosswise"
    how: ClassVar[str] = "the respondent says whether the answers to the question and to an innocuous one are the same."
    hidden: ClassVar[str] = "the answer to the innocuous question"
    words: ClassVar[tuple[str, str]] = ("different", "same")
    p: Fraction
    by: str

    def __init__(self, p: Number, by: str = "respondent") -> None:
        self._freeze(by, p=exact("p", p))
        self._informative()

    @property
    def q(self) -> Fraction:
        return 1 - self.p

    def corrected(
        self,
        answers: Column,
        anchor: Column,
        anchor_p: Number | None = None,
        weights: Column | None = None,
        missing: str = "refuse",
    ) -> JointProportions:
        """The proportion of yes without the bias of respondents who answer at random.

        An anchor is a second crosswise question whose sensitive part is certainly no, so that attentive respondents
        say "same" with probability 1 - anchor_p (1 - p unless given) and the others with probability 1/2. It tells the
        attentive share g; then same - 1/2 = g (p - 1/2) (2 pi - 1). Errors are linearised, and allow for the same
        people answering both.

        Y. Atsusaka, R. T. Stevenson, A Bias-Corrected Estimator for the Crosswise Model with Inattentive Respondents,
        Political Analysis 2023.
        """
        first, second = read_pair(answers, anchor, self.codes, self.expected, weights, missing)
        other = self.p if anchor_p is None else exact("anchor_p", anchor_p)
        if other == HALF:
            raise ParameterError("anchor_p must not be 1/2, or the anchor says nothing")
        return self._corrected(np.column_stack([first.codes, second.codes]).astype(float), float(other), first.equal)

    def _corrected(self, same: NDArray[np.float64], anchor_p: float, weights: NDArray[np.float64]) -> JointProportions:
        shares, covariance = linearised_shares(same, weights)
        share, anchored = shares - 0.5
        attentive = anchored / (0.5 - anchor_p)
        if attentive <= 0:
            raise ParameterError(
                f"the anchor must show attentive respondents, but their share came out {attentive:.3g}"
            )
        gain = 2 * attentive * (float(self.p) - 0.5)
        excess = share / gain
        slopes = np.array([[1 / gain, -excess / anchored], [0.0, 1 / (0.5 - anchor_p)]])
        estimates = np.array([0.5 + excess, attentive])
        note = f"{self._note}; corrected for answers at random"
        return JointProportions(
            ("yes", "attentive"), len(same), estimates, slopes @ covariance @ slopes.T, self.epsilon, note=note
        )


@dataclass(frozen=True, init=False, repr=False)
class Triangular(Binary):
    """Say whether at least one of the question and an innocuous one, yes with the given prevalence, is yes for you.

    The answer "neither" reveals that the truth is no: there is no finite epsilon.

    >>> design = Triangular("1/4")
    >>> design.epsilon, design.private, float(design.q)
    (inf, False, 0.25)

    J.-W. Yu, G.-L. Tian, M.-L. Tang, Two new models for survey sampling with sensitive characteristic, Metrika 2008.
    """

    name: ClassVar[str] = "triangular"
    how: ClassVar[str] = "the respondent says whether the question or an innocuous one, or both, are yes."
    hidden: ClassVar[str] = "the answer to the innocuous question"
    words: ClassVar[tuple[str, str]] = ("neither", "at least one")
    prevalence: Fraction
    by: str

    def __init__(self, prevalence: Number, by: str = "respondent") -> None:
        self._freeze(by, prevalence=exact("prevalence", prevalence))
        self._informative()

    @property
    def p(self) -> Fraction:
        return Fraction(1)

    @property
    def q(self) -> Fraction:
        return self.prevalence
