"""One question of a survey, and one covariate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain, Text
from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.core.privacy import MAX_EPSILON, float_below
from sottovoce.mechanisms import Longitudinal, Mechanism, mechanism
from sottovoce.mechanisms.longitudinal.memoized import MAX_CHANGES
from sottovoce.survey import checks, memoized_questions
from sottovoce.survey.kinds import FIELDS, KINDS, QuestionKind

if TYPE_CHECKING:
    from sottovoce.trust.federated import Query

MAX_TEXT_CHARACTERS = 1000
MAX_REPORT_BITS = 2**20
Values = int | tuple[str | float, ...]

COMMON: dict[str, checks.Check[str]] = {
    "id": checks.matching(checks.FIELD_ID),
    "text": checks.text(MAX_TEXT_CHARACTERS),
    "kind": checks.one_of(*KINDS),
}


@dataclass(frozen=True)
class Question:
    """One question. Which of the fields it has depends on its kind; its mechanism is settled when it is published.

    >>> question = Question.from_dict({"id": "smokes", "text": "Do you smoke?", "kind": "yes_no", "epsilon": 1})
    >>> question.settle(question.build(1.0)).mechanism
    RandomizedResponse(2 values, epsilon=1)
    """

    id: str
    text: str
    kind: str
    values: Values | None = None
    missing: str | None = None
    low: float | None = None
    high: float | None = None
    outside: str | None = None
    estimate: str | None = None
    bins: int | None = None
    max_bytes: int | None = None
    longer: str | None = None
    normalise: str | None = None
    by: str = "auto"
    """The name of the mechanism, or auto."""
    memoize: bool = False
    permanent: float | None = None
    """For a memoized question, what any number of reports of one answer may cost; by default twice one report."""
    changes: int | None = None
    """For a memoized question, how many changes of the answer a device follows; by default all of them."""
    epsilon: float | None = None
    """What one report may cost; once published, what it costs."""
    settled: Mechanism | None = None
    max_bits: int | None = None
    """The longest report that may be sent, for a question about a column of a table. A document has no such field."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that asks the question. A draft has none yet."""
        if self.settled is None:
            raise ParameterError(f"question {self.id!r} has no mechanism until its survey is published")
        return self.settled

    @classmethod
    def from_dict(cls, data: object, place: str = "question") -> Question:
        """A question of a document. An error names it."""
        name = data.get("id") if isinstance(data, Mapping) else None
        try:
            return cls.from_fields(data)
        except SottovoceError as error:
            known = isinstance(name, str) and checks.FIELD_ID.fullmatch(name)
            raise ParameterError(f"{f'question {name!r}' if known else place}: {error!s:.300}") from None

    @classmethod
    def from_fields(
        cls, data: object, id_check: checks.Check[str] = COMMON["id"], values: Values | None = None
    ) -> Question:
        """A question from the fields of a document.

        A table may have other ids than a document. `values` that come from elsewhere, such as a file of labels, may be
        more than a document lists.
        """
        kind = KINDS[COMMON["kind"]("kind", checks.mapping(data).get("kind"))]
        required: dict[str, checks.Check[object]] = {**COMMON, "id": id_check, **kind.required}
        optional = dict(kind.optional)
        if values is not None:
            required.pop("values", None), optional.pop("values", None)
        fields = checks.check_fields(data, required, (*optional, "epsilon", "mechanism", "memoize", "changes"))
        made: dict[str, Any] = {name: check(name, fields[name]) for name, check in required.items()}
        made |= {n: check(n, fields[n]) if n in fields else default for n, (check, default) in optional.items()}
        made |= {} if values is None else {"values": values}
        question = cls(**kind.complete(made), **_asking(kind, fields))
        kind.check(question)
        return question._checked()

    def _checked(self) -> Question:
        """A mechanism that is written down must be one for this question."""
        if self.settled is not None:
            rules = KINDS[self.kind]
            _check_report(self.settled)
            if not rules.same_domain(self, self.settled.domain) or not rules.suits(self, self.settled):
                raise ParameterError(f"mechanism must be one for this question, got {self.settled!r}")
        return self

    def build(self, epsilon: float, salt: str = "") -> Mechanism:
        """The best mechanism whose reports cost at most epsilon each. Hash functions, if any, depend on the salt."""
        try:
            return self.check_bits(_check_report(KINDS[self.kind].build(self, epsilon, f"{salt}/{self.id}")))
        except ParameterError as error:
            raise ParameterError(f"question {self.id!r}: {error}") from None

    def check_bits(self, made: Mechanism) -> Mechanism:
        """Refuse a mechanism whose reports are longer than this question allows."""
        if self.max_bits is not None and made.bits > self.max_bits:
            raise ParameterError(f"reports of {made!r} take {made.bits} bits, more than max_bits = {self.max_bits}")
        return made

    def spend(self, share: Fraction, waves: int, salt: str = "") -> Mechanism:
        """The best mechanism that costs at most a share of the budget in all waves together."""
        if self.memoize:
            return memoized_questions.within(self, self._memoized_domain(), share, waves, f"{salt}/{self.id}")
        return self.build(min(float_below(share / waves), float(MAX_EPSILON)), salt)

    def price_of_changes(self, share: float, waves: int, n: int) -> list[memoized_questions.FollowedChanges]:
        """What following more or fewer changes would cost in accuracy; nothing, if no answer is remembered."""
        if not self.memoize or waves == 1:
            return []
        return memoized_questions.price_of_changes(self, self._memoized_domain(), share, waves, n)

    def _memoized_domain(self) -> Domain | Text:
        domain = KINDS[self.kind].domain(self)
        if not isinstance(domain, Domain | Text):
            raise ParameterError(f"memoize is not for the kind {self.kind}")
        return domain

    def query(self) -> Query:
        """What curators who hold the answers are asked to add up; an error if they cannot."""
        return KINDS[self.kind].query(self)

    def error(self, share: Fraction, waves: int) -> float:
        """The standard error of one report at the worst answers, as a part of the range or the whole."""
        return KINDS[self.kind].error(self.spend(share, waves))

    def settle(self, made: Mechanism) -> Question:
        """The same question with its mechanism fixed, and its exact cost."""
        return replace(self, by="auto", memoize=False, permanent=None, changes=None, settled=made, epsilon=made.epsilon)

    def cost(self, waves: int) -> Fraction:
        """What the question may cost a person in so many waves: nothing yet, if it has no epsilon.

        A remembered answer costs once, as long as it stays the same. Here it is taken to change in every wave, of
        which a device follows as many changes as it may.
        """
        if self.epsilon is None:
            return Fraction(0)
        made = self.build(self.epsilon) if self.memoize else self.settled
        if isinstance(made, Longitudinal):
            return Fraction(made.epsilon_after(waves - 1))
        return waves * Fraction(self.epsilon)

    def to_dict(self) -> JsonObject:
        """The question as a document has it, with all that has a default spelled out."""
        record: JsonObject = {"id": self.id, "text": self.text, "kind": self.kind}
        for name in FIELDS:
            value = getattr(self, name)
            if value is not None:
                record[name] = list(value) if isinstance(value, tuple) else value
        if self.epsilon is not None:
            record["epsilon"] = self.epsilon
        record["mechanism"] = self.by if self.settled is None else self.settled.to_dict()
        if self.memoize:
            record["memoize"] = {"permanent": self.permanent} if self.permanent is not None else True
        if self.changes is not None:
            record["changes"] = self.changes
        return record


def _check_report(made: Mechanism) -> Mechanism:
    """Refuse long reports: nobody should have to send a megabyte, or draw a coin for each bit of it."""
    if made.bits > MAX_REPORT_BITS:
        raise ParameterError(
            f"a report must take at most {MAX_REPORT_BITS:,} bits, and one of {made!r} takes {made.bits:,}"
        )
    return made


class _Asking(TypedDict, total=False):
    """The fields of a question that say how it is asked."""

    by: str
    epsilon: float | None
    settled: Mechanism
    memoize: bool
    permanent: float
    changes: int


def _asking(kind: QuestionKind, fields: Mapping[str, object]) -> _Asking:
    """How a question is asked: by a name, or by a mechanism that is written down and says what it costs."""
    asked = fields.get("mechanism", "auto")
    cost = checks.epsilon("epsilon", fields["epsilon"]) if "epsilon" in fields else None
    if not isinstance(asked, Mapping):
        by = checks.one_of("auto", *kind.by)("mechanism", asked)
        return {"by": by, "epsilon": cost, **_remembering(fields.get("memoize", False), cost), **_following(fields)}
    for name in {"memoize", "changes"} & set(fields):
        raise ParameterError(f"{name} goes with the name of a mechanism: one that is written out says it all")
    made = mechanism(asked)
    if cost is not None and cost != made.epsilon:
        raise ParameterError(f"epsilon must be what the mechanism costs, {made.epsilon!r}, got {cost!r}")
    return {"settled": made, "epsilon": checks.epsilon("epsilon", made.epsilon)}


def _remembering(memoize: object, cost: float | None) -> _Asking:
    """Whether the device remembers a permanent answer, and what it may cost."""
    if not isinstance(memoize, Mapping):
        if not isinstance(memoize, bool):
            raise ParameterError(f"memoize must be true, false or {{permanent: epsilon}}, got {memoize!r:.40}")
        return {"memoize": memoize}
    permanent = checks.epsilon("permanent", checks.check_fields(memoize, ("permanent",), ())["permanent"])
    if cost is None or cost >= permanent:
        raise ParameterError(f"epsilon must be given, and below permanent = {permanent:g}, got {cost}")
    return {"memoize": True, "permanent": permanent}


def _following(fields: Mapping[str, object]) -> _Asking:
    """How many changes of a remembered answer a device follows."""
    if "changes" not in fields:
        return {}
    if not fields.get("memoize"):
        raise ParameterError("changes is for a question with memoize: without it every wave is drawn afresh")
    return {"changes": checks.whole(0, MAX_CHANGES)("changes", fields["changes"])}


@dataclass(frozen=True)
class Covariate:
    """Something public about a person that goes with the reports as it is."""

    id: str
    values: tuple[str, ...]
    text: str | None = None

    @classmethod
    def from_dict(cls, data: object, place: str = "covariate") -> Covariate:
        try:
            fields = checks.check_fields(data, ("id", "values"), ("text",))
            made = {name: COMMON[name](name, fields[name]) for name in ("id", "text") if name in fields}
            return cls(**made, values=checks.texts("values", fields["values"]))
        except SottovoceError as error:
            raise ParameterError(f"{place}: {error}") from None

    @cached_property
    def domain(self) -> Domain:
        """What may be answered: one of the values, and nothing missing."""
        return Domain(self.values)

    def to_dict(self) -> JsonObject:
        return {"id": self.id, **({"text": self.text} if self.text else {}), "values": list(self.values)}
