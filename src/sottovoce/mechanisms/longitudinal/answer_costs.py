"""What reports of several permanent answers cost together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from sottovoce.core.privacy import float_above
from sottovoce.mechanisms.longitudinal.base import check_count
from sottovoce.mechanisms.longitudinal.chain import Chain


@dataclass(frozen=True)
class AnswerCosts:
    """The cost of a device that draws a permanent answer for each value, as long as it follows changes.

    There are so many `values`, or no list of them if it is None; it follows so many `changes`, or all if it is None.
    """

    chain: Chain
    permanent: float
    values: int | None
    changes: int | None

    def answers(self, changes: int) -> int:
        """How many permanent answers so many changes may bring into play: one for each value, as far as are drawn.

        Values that share a bucket have answers of their own, so that the number of buckets is no limit.
        """
        drawn = 1 + min(check_count("changes", changes, 0), changes if self.changes is None else self.changes)
        return drawn if self.values is None else min(drawn, self.values)

    def after(self, changes: int) -> float:
        """What any number of reports with so many changes cost."""
        return float_above(self.answers(changes) * Fraction(self.permanent))

    def over(self, reports: int, changes: int = 0) -> float:
        """It is exact without a change. With changes it holds for the worst way to share out the reports."""
        reports = check_count("reports", reports, 1)
        answers = min(self.answers(changes), reports)
        if answers == 1:
            return self._loss(reports)
        return min(worst_split(self._loss, reports, answers), self.after(changes))

    def _loss(self, reports: int) -> float:
        return self.chain.loss(reports, self.permanent)

    def pattern(self, reports: int) -> float:
        """The first report costs `epsilon`, and each further one at most what tells two permanent answers apart.

        More cannot be said by adding up: two reports of one permanent answer may cost more than twice `epsilon`. A
        device with one permanent answer for all values shows no change at all.
        """
        reports = check_count("reports", reports, 1)
        if self.changes == 0:
            return self.over(reports)
        return float_above(Fraction(self.over(1)) + (reports - 1) * self.chain.apart())

    def new_value(self, held: int) -> float:
        """What the first wave with another value costs after so many were held."""
        return self.permanent if self.answers(held) > self.answers(held - 1) else 0.0

    def ahead(self, drawn: int, waves: int) -> list[float]:
        """What later changes may still cost, if they are followed up to a bound, after so many answers were drawn."""
        left = 0 if self.changes is None else self.answers(waves - 1) - drawn
        return [self.permanent] * left


def worst_split(loss: Callable[[int], float], reports: int, answers: int) -> float:
    """The most that reports of several permanent answers cost, however many of them each answer has.

    It is read off the least concave curve above the costs of 0, 1, 2, ... reports of one answer, at the average
    number of reports: the exact worst case where costs are concave already, or the reports divide evenly.
    """
    curve = [(Fraction(0), Fraction(0))]
    for count in range(1, reports + 1):
        point = Fraction(count), Fraction(loss(count))
        if point[1] == curve[-1][1]:
            break  # Another report of this answer costs nothing more, nor does any further one.
        while len(curve) > 1 and _above(curve[-2], point, curve[-1]):
            curve.pop()
        curve.append(point)
    return float_above(answers * _height(curve, Fraction(reports, answers)))


Point = tuple[Fraction, Fraction]


def _above(left: Point, right: Point, middle: Point) -> bool:
    """Whether the line from left to right passes over the middle."""
    return (right[1] - left[1]) * (middle[0] - left[0]) >= (middle[1] - left[1]) * (right[0] - left[0])


def _height(curve: list[Point], place: Fraction) -> Fraction:
    for (x, y), (right, top) in pairwise(curve):
        if place <= right:
            return y + (top - y) * (place - x) / (right - x)
    return curve[-1][1]
