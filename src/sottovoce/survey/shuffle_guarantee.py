"""What a shuffler adds to a survey's guarantee: beside the local epsilon a central one, as long as it tells nobody."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import compose, float_above, float_below, rounded_up
from sottovoce.mechanisms import Longitudinal, Mechanism

if TYPE_CHECKING:
    from sottovoce.survey.document import Survey


@dataclass(frozen=True)
class ShuffleGuarantee:
    """The two guarantees of a survey with a shuffler, over all waves.

    `local` holds against everybody, whatever becomes of the report. `central` holds, with `delta`, against those who
    see the batches alone, if `honest` reports of each come from devices that do as the survey says; None if nothing
    less than the local epsilon is known here.
    """

    local: float
    central: float | None
    delta: float
    honest: int
    minimum: int

    def to_dict(self) -> JsonObject:
        return {"local": {"epsilon": self.local}, "central": {"epsilon": self.central, "delta": self.delta},
                "honest": self.honest, "minimum": self.minimum}  # fmt: skip

    def lines(self) -> list[str]:
        """For people."""
        mixed = f"mixed with at least {self.minimum - 1:,} others"
        if self.central is None:
            seen = f"{mixed}: only the shuffler knows which report is whose; no smaller epsilon is claimed for that"
        else:
            honest = f"{self.honest - 1:,} of them honest"
            seen = f"{mixed}, {honest}: epsilon = {rounded_up(self.central):g}, delta = {self.delta:g}"
        return [
            f"against everybody: epsilon = {self.local:.6g}",
            seen,
            f"should the shuffler tell who sent what, epsilon = {self.local:.6g} remains",
        ]


def guarantee(survey: Survey) -> ShuffleGuarantee | None:
    """The guarantees of a published survey that has a shuffler."""
    mixed = survey.shuffle
    if mixed is None:
        return None
    return ShuffleGuarantee(survey.epsilon, _central(survey), mixed.delta, mixed.honest, mixed.minimum)


def _central(survey: Survey) -> float | None:
    """Over all waves, if their reports are independent: those of a permanent answer are not."""
    made = [question.mechanism for question in survey.questions]
    if survey.shuffle is None or (survey.waves > 1 and any(isinstance(m, Longitudinal) for m in made)):
        return None
    n, delta, local = survey.shuffle.honest, survey.shuffle.delta, compose(m.epsilon for m in made)
    for target in (made[0], local) if len(made) == 1 else (local,):
        try:
            return min(_amplified(target, n, delta, survey.waves), survey.epsilon)
        except ParameterError:  # No bound is known for this mechanism.
            pass
        except ImportError:  # A device may have the standard library alone.
            return None
    return None


def _amplified(target: Mechanism | float, n: int, delta: float, waves: int) -> float:
    """The central epsilon of all waves, with n reports in each: of one mechanism, or of any with this local epsilon."""
    from sottovoce.trust.shuffle.accounting import shuffle_upper

    try:
        return shuffle_upper(target, n, delta, rounds=waves)
    except ImportError:  # Basic composition needs no library of accounting.
        share = float_below(Fraction(delta) / waves)
        return float_above(waves * Fraction(shuffle_upper(target, n, share)))
