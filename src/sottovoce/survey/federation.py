"""The curators of a survey: who holds the answers, how many of them may fail, and what each coalition could learn."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import float_above
from sottovoce.mechanisms import Longitudinal
from sottovoce.survey import checks

if TYPE_CHECKING:
    from sottovoce.survey.document import Survey
    from sottovoce.survey.question import Question
    from sottovoce.trust.federated import Parties

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
"""The name of a curator."""

MAX_CURATORS = 1000


@dataclass(frozen=True)
class Federation:
    """What the field `federated` of a survey says.

    Each person gives the answers, as they are, to one of the `curators`. Up to `threshold` of these may pool what they
    see with the analyst, and up to `dropouts` may be gone at the end: see `sottovoce.trust.federated.Parties`.
    """

    curators: tuple[str, ...]
    threshold: int
    dropouts: int
    noise: str
    sharing: str

    @classmethod
    def read(cls, name: str, data: object) -> Federation:
        """The field of a document; an error names it."""
        from sottovoce.trust.federated import Parties  # A device has no use for it.

        with checks.about(name):
            fields = checks.check_fields(data, ("curators",), CHECKS)
            curators = _names("curators", fields["curators"])
            given: dict[str, Any] = {key: check(key, fields[key]) for key, check in CHECKS.items() if key in fields}
            p = Parties(len(curators), **given)
        return cls(curators, p.threshold, p.dropouts, p.noise, p.sharing)

    @property
    def parties(self) -> Parties:
        from sottovoce.trust.federated import Parties  # A device has no use for it.

        return Parties(len(self.curators), self.threshold, self.dropouts, self.noise, self.sharing)

    def check(self, survey: Survey) -> None:
        """Refuse a survey that asks for something curators cannot do."""
        if survey.covariates:
            raise ParameterError("federated goes without covariates: curators add up one question at a time")
        for question in survey.questions:
            with checks.about(f"question {question.id!r}"):
                self._check_question(question)

    def _check_question(self, question: Question) -> None:
        if question.memoize or isinstance(question.settled, Longitudinal):
            raise ParameterError("memoize is for devices: curators add fresh noise in every wave")
        query = question.query()
        self.parties.check_size(query.size)
        if question.epsilon is not None:
            self.parties.shares(question.epsilon, query.sensitivity)

    def to_dict(self) -> JsonObject:
        return asdict(self) | {"curators": list(self.curators)}


@dataclass(frozen=True)
class CuratorGuarantee:
    """What coalitions of curators could learn of a person in a survey, all questions and all waves together.

    One's own curator sees the answers. The `within` epsilon holds against the analyst and up to `threshold` of the
    others, `beyond` against more of them; None if all the others are within the threshold.
    """

    curators: tuple[str, ...]
    threshold: int
    within: float
    beyond: float | None
    against_liars: bool

    def to_dict(self) -> JsonObject:
        return {"own_curator": {"sees": "answers"}, "within": {"curators": self.threshold, "epsilon": self.within},
                "beyond": None if self.beyond is None else {"epsilon": self.beyond},
                "against_liars": self.against_liars, "curators": list(self.curators)}  # fmt: skip

    def lines(self) -> list[str]:
        """For people."""
        some = "one" if self.threshold == 1 else f"{self.threshold:,}"
        how = "even if they lie" if self.against_liars else "if they follow the protocol"
        said = [
            "one's own curator sees the answers as they are; no device sends a report",
            f"against the analyst and up to {some} of the other curators together, {how}: epsilon = {self.within:.6g}",
        ]
        if self.beyond is not None:
            said.append(f"against more of them together: epsilon = {self.beyond:.6g}")
        return [*said, f"curators: {', '.join(self.curators)}"]


def pooled(survey: Survey, federation: Federation) -> CuratorGuarantee:
    """The guarantee of a published survey among curators, with as few of them in the sum as there may be."""
    p = federation.parties
    shares = [p.shares(question.mechanism.epsilon, question.query().sensitivity) for question in survey.questions]

    def spent(size: int) -> float:
        return float_above(
            survey.waves * sum((Fraction(p.spent(noise, p.least, size)) for noise in shares), Fraction(0))
        )

    beyond = spent(p.threshold + 1) if p.threshold + 1 < p.curators else None
    return CuratorGuarantee(federation.curators, p.threshold, spent(p.threshold), beyond, p.against_liars)


def _names(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not 2 <= len(value) <= MAX_CURATORS:
        raise ParameterError(f"{name} must be a list of 2 to {MAX_CURATORS:,} names, got {value!r:.40}")
    for one in value:
        checks.matching(NAME)(f"each of {name}", one)
    if len(set(value)) < len(value):
        raise ParameterError(f"{name} must differ from one another")
    return tuple(value)


CHECKS: dict[str, checks.Check[object]] = {
    "threshold": checks.whole(1, MAX_CURATORS),
    "dropouts": checks.whole(0, MAX_CURATORS),
    "noise": checks.one_of("divisible", "full"),
    "sharing": checks.one_of("shamir", "additive"),
}
