"""The kinds of questions: which fields each has, what may be answered, and by which mechanisms it is asked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce.core import canonical
from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain, Options, Scale, Text
from sottovoce.core.domain.text import FORMS, LONGER, MAX_BYTES
from sottovoce.core.errors import ParameterError
from sottovoce.mechanisms import (
    Bloom,
    Discovery,
    Hashed,
    Longitudinal,
    Mean,
    Mechanism,
    Memoized,
    RandomizedResponse,
    Ranges,
    Sets,
    SquareWave,
    build,
)
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.numeric.square_wave import MAX_BINS
from sottovoce.mechanisms.registry import names_serving
from sottovoce.survey import checks, memoized_questions
from sottovoce.survey.checks import Check

if TYPE_CHECKING:
    from sottovoce.core.domain.values import Label
    from sottovoce.survey.question import Question
    from sottovoce.trust.federated import Query

MISSING = checks.one_of("refuse", "category")
OUTSIDE = checks.one_of("refuse", "clip")
DEFAULT_BINS = 64

AnswerDomain = Domain | Options | Scale | Text
"""What may be answered to a question of some kind."""


class QuestionKind(ABC):
    """What sets one kind of question apart from another."""

    name: ClassVar[str]
    required: ClassVar[dict[str, Check[object]]] = {}
    optional: ClassVar[dict[str, tuple[Check[object], object]]] = {}
    """Fields with their defaults."""
    by: ClassVar[tuple[str, ...]] = ()
    """Names of mechanisms beside auto."""

    @abstractmethod
    def domain(self, question: Question) -> AnswerDomain:
        """What may be answered."""

    @abstractmethod
    def build(self, question: Question, epsilon: float, salt: str) -> Mechanism:
        """The mechanism that asks the question for at most epsilon a report."""

    @abstractmethod
    def suits(self, question: Question, mechanism: Mechanism) -> bool:
        """Whether a mechanism over the right domain is one for this kind."""

    @abstractmethod
    def error(self, mechanism: Any) -> float:
        """The standard error for one report at the worst answers, as a share of what there is to tell."""

    def query(self, question: Question) -> Query:
        """What curators who hold the answers are asked to add up."""
        raise ParameterError(f"curators cannot add up answers of the kind {self.name} (they can {', '.join(COUNTED)})")

    def complete(self, fields: JsonObject) -> JsonObject:
        """Defaults that depend on other fields."""
        return fields

    def check(self, question: Question) -> None:
        """Rules between fields."""
        if question.memoize:
            raise ParameterError(f"memoize is for the kinds yes_no, choice and text, not for {self.name}")
        self.domain(question)

    def same_domain(self, question: Question, domain: object) -> bool:
        expected = self.domain(question)
        if not isinstance(domain, AnswerDomain) or type(domain) is not type(expected):
            return False
        return canonical.dumps(domain.to_dict()) == canonical.dumps(expected.to_dict())


class Choice(QuestionKind):
    name = "choice"
    required: ClassVar[dict[str, Check[object]]] = {"values": checks.values}
    optional: ClassVar[dict[str, tuple[Check[object], object]]] = {"missing": (MISSING, "refuse")}
    by: ClassVar[tuple[str, ...]] = names_serving("choice")

    def domain(self, question: Question) -> Domain:
        return Domain(question.values or 0, question.missing or "refuse")

    def check(self, question: Question) -> None:
        self.domain(question)

    def build(self, question: Question, epsilon: float, salt: str) -> Mechanism:
        domain = self.domain(question)
        if question.memoize:
            return memoized_questions.costing(question, domain, epsilon)
        return build(self.named(question, domain), domain, epsilon, question.max_bits)

    def named(self, question: Question, domain: Domain) -> str:
        """The mechanism's name, or auto."""
        return question.by

    def query(self, question: Question) -> Query:
        """Counts of the values, each as it is written in a file: numbers as JSON has them."""
        from sottovoce.trust.federated import Histogram  # A device has no use for it.

        values = self.domain(question).values
        named = len(values) if isinstance(values, range) else tuple(map(_written, values))
        return Histogram(named, question.missing == "category")

    def suits(self, question: Question, mechanism: Mechanism) -> bool:
        return isinstance(mechanism, Pure | Longitudinal)

    def error(self, mechanism: Any) -> float:
        return math.sqrt(mechanism.variance)


class YesNo(Choice):
    """Two values, of which the first means no and the second yes."""

    name = "yes_no"
    required: ClassVar[dict[str, Check[object]]] = {}
    optional: ClassVar[dict[str, tuple[Check[object], object]]] = {
        "values": (checks.labels, ("no", "yes"))
    } | Choice.optional
    by = names_serving("yes_no")

    def check(self, question: Question) -> None:
        if isinstance(question.values, tuple) and len(question.values) != 2:
            raise ParameterError(f"values must be 2, one for no and one for yes, got {len(question.values)}")
        super().check(question)

    def named(self, question: Question, domain: Domain) -> str:
        return RandomizedResponse.name if question.by == "auto" and domain.size == 2 else question.by


class Multiple(QuestionKind):
    name = "multiple"
    required: ClassVar[dict[str, Check[object]]] = {"values": checks.values}
    by = names_serving("multiple")

    def domain(self, question: Question) -> Options:
        return Options(question.values or 0)

    def build(self, question: Question, epsilon: float, salt: str) -> Mechanism:
        return Sets(self.domain(question), epsilon)

    def suits(self, question: Question, mechanism: Mechanism) -> bool:
        return isinstance(mechanism, Sets)

    def error(self, mechanism: Any) -> float:
        return math.sqrt(mechanism.variance)


class Ordered(Choice):
    name = "ordered"
    by = names_serving("ordered")

    def check(self, question: Question) -> None:
        QuestionKind.check(self, question)

    def build(self, question: Question, epsilon: float, salt: str) -> Mechanism:
        return Ranges(self.domain(question), epsilon)

    def suits(self, question: Question, mechanism: Mechanism) -> bool:
        return isinstance(mechanism, Ranges)

    def error(self, mechanism: Any) -> float:
        """Of the share up to some value. It adds up some siblings at each level, and a device reports about one level.

        The level above gives the sum of b siblings, so k of them have k (b - k) / b of one's variance: at most b / 4.
        """
        levels, siblings = len(mechanism.parts), mechanism.fanout / 4
        return math.sqrt(levels * siblings * sum(part.variance for part in mechanism.parts))


class Number(QuestionKind):
    name = "number"
    required: ClassVar[dict[str, Check[object]]] = {"low": checks.number, "high": checks.number}
    optional: ClassVar[dict[str, tuple[Check[object], object]]] = {
        "outside": (OUTSIDE, "refuse"),
        "estimate": (checks.one_of("mean", "distribution"), "mean"),
        "bins": (checks.whole(2, MAX_BINS), None),
    }
    by = names_serving("number")

    def complete(self, fields: JsonObject) -> JsonObject:
        return (
            fields | {"bins": DEFAULT_BINS}
            if fields["estimate"] == "distribution" and fields["bins"] is None
            else fields
        )

    def check(self, question: Question) -> None:
        wave = question.estimate == "distribution"
        if question.bins is not None and not wave:
            raise ParameterError(f"bins go with estimate: distribution, got {question.bins}")
        if question.by != "auto" and (question.by == SquareWave.name) != wave:
            raise ParameterError(f"mechanism {question.by!r} does not estimate a {question.estimate}")
        super().check(question)

    def domain(self, question: Question) -> Scale:
        """The scale with one step. A mechanism may have more steps."""
        return Scale(question.low or 0.0, question.high or 0.0, 1, question.outside or "refuse")

    def same_domain(self, question: Question, domain: object) -> bool:
        return isinstance(domain, Scale) and Scale(domain.low, domain.high, 1, domain.outside) == self.domain(question)

    def build(self, question: Question, epsilon: float, salt: str) -> Mechanism:
        scale = self.domain(question)
        if question.estimate == "distribution":
            return SquareWave(scale.low, scale.high, epsilon, question.bins or DEFAULT_BINS, outside=scale.outside)
        return Mean(scale.low, scale.high, epsilon, question.by, scale.outside)

    def query(self, question: Question) -> Query:
        from sottovoce.trust.federated import Average

        if question.estimate == "distribution":
            raise ParameterError("curators add up to the mean of a number, not to its distribution")
        scale = self.domain(question)
        return Average(scale.low, scale.high, outside=scale.outside)

    def suits(self, question: Question, mechanism: Mechanism) -> bool:
        if question.estimate == "distribution":
            return isinstance(mechanism, SquareWave) and mechanism.bins == question.bins
        return isinstance(mechanism, Mean)

    def error(self, mechanism: Any) -> float:
        """Of the mean, in units of the range; of a distribution, the error of the unbiased mean that it implies."""
        if isinstance(mechanism, Mean):
            return math.sqrt(mechanism.variance) / mechanism.domain.width
        window = mechanism._window
        return math.sqrt(window.level + max(window.curve - 1, 0) / 4)


class FreeText(QuestionKind):
    name = "text"
    required: ClassVar[dict[str, Check[object]]] = {"max_bytes": checks.whole(1, MAX_BYTES)}
    optional: ClassVar[dict[str, tuple[Check[object], object]]] = {
        "missing": (MISSING, "refuse"),
        "longer": (checks.one_of(*LONGER), "refuse"),
        "normalise": (checks.one_of(*FORMS), "none"),
    }
    by = names_serving("text")

    def check(self, question: Question) -> None:
        self.domain(question)

    def domain(self, question: Question) -> Text:
        missing, longer, form = question.missing or "refuse", question.longer or "refuse", question.normalise or "none"
        return Text(question.max_bytes or 0, missing, longer, form)

    def build(self, question: Question, epsilon: float, salt: str) -> Mechanism:
        domain = self.domain(question)
        if question.memoize:
            return memoized_questions.costing(question, domain, epsilon, salt)
        if question.by == Bloom.name:
            return Bloom(epsilon=epsilon, salt=salt, domain=domain)
        if question.by == Discovery.name:
            return Discovery(epsilon, salt=salt, domain=domain)
        return Hashed("auto", epsilon=epsilon, salt=salt, domain=domain)

    def suits(self, question: Question, mechanism: Mechanism) -> bool:
        return isinstance(mechanism, Hashed | Bloom | Discovery | Memoized)

    def error(self, mechanism: Any) -> float:
        return math.sqrt(mechanism.variance)


def _written(label: Label) -> str:
    return label if isinstance(label, str) else canonical.dumps(label).decode()


KINDS: dict[str, QuestionKind] = {
    kind.name: kind for kind in (YesNo(), Choice(), Multiple(), Ordered(), Number(), FreeText())
}
COUNTED = ("yes_no", "choice", "ordered", "number")
"""Kinds that curators can add up."""

FIELDS = tuple(dict.fromkeys(name for kind in KINDS.values() for name in (*kind.required, *kind.optional)))
"""All fields that some kind has, in the order in which a document lists them."""
