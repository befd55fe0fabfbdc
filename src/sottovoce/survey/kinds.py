"""The kinds of questions: which fields each has, what may be answered, and by which mechanisms it is asked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from sottovoce import canonical
from sottovoce.domain import Domain, Options, Scale, Text
from sottovoce.domain.text import FORMS, LONGER, MAX_BYTES
from sottovoce.errors import ParameterError
from sottovoce.mechanisms import (
    KRR,
    Bloom,
    Discovery,
    Hadamard,
    Hashed,
    LocalHash,
    Longitudinal,
    Mean,
    Mechanism,
    Memoized,
    Projective,
    RandomizedResponse,
    Ranges,
    Sets,
    SquareWave,
    Subset,
    Unary,
    build,
)
from sottovoce.mechanisms.pure import Pure
from sottovoce.mechanisms.square_wave import MAX_BINS
from sottovoce.survey import checks, remembered
from sottovoce.survey.checks import Check

if TYPE_CHECKING:
    from sottovoce.domain.values import Label
    from sottovoce.models.federated import Query
    from sottovoce.survey.item import Item

MISSING = checks.one_of("refuse", "category")
OUTSIDE = checks.one_of("refuse", "clip")
BINS = 64


class Kind(ABC):
    """What sets one kind of question apart from another."""

    name: ClassVar[str]
    required: ClassVar[dict[str, Check]] = {}
    optional: ClassVar[dict[str, tuple[Check, Any]]] = {}
    """Fields with their defaults."""
    by: ClassVar[tuple[str, ...]] = ()
    """Names of mechanisms beside auto."""

    @abstractmethod
    def domain(self, item: Item) -> Any:
        """What may be answered."""

    @abstractmethod
    def build(self, item: Item, epsilon: float, salt: str) -> Mechanism:
        """The mechanism that asks the question for at most epsilon a report."""

    @abstractmethod
    def suits(self, item: Item, mechanism: Mechanism) -> bool:
        """Whether a mechanism over the right domain is one for this kind."""

    @abstractmethod
    def error(self, mechanism: Any) -> float:
        """The standard error for one report at the worst answers, as a share of what there is to tell."""

    def query(self, item: Item) -> Query:
        """What curators who hold the answers are asked to add up."""
        raise ParameterError(f"curators cannot add up answers of the kind {self.name} (they can {', '.join(COUNTED)})")

    def complete(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Defaults that depend on other fields."""
        return fields

    def check(self, item: Item) -> None:
        """Rules between fields."""
        if item.memoize:
            raise ParameterError(f"memoize is for the kinds yes_no, choice and text, not for {self.name}")
        self.domain(item)

    def same_domain(self, item: Item, domain: Any) -> bool:
        expected = self.domain(item)
        same = type(domain) is type(expected)
        return same and canonical.dumps(domain.to_dict()) == canonical.dumps(expected.to_dict())


class Choice(Kind):
    name = "choice"
    required: ClassVar[dict[str, Check]] = {"values": checks.values}
    optional: ClassVar[dict[str, tuple[Check, Any]]] = {"missing": (MISSING, "refuse")}
    by: ClassVar[tuple[str, ...]] = (KRR.name, Unary.name, LocalHash.name, Subset.name, Hadamard.name, Projective.name)

    def domain(self, item: Item) -> Domain:
        return Domain(item.values or 0, item.missing or "refuse")

    def check(self, item: Item) -> None:
        self.domain(item)

    def build(self, item: Item, epsilon: float, salt: str) -> Mechanism:
        domain = self.domain(item)
        if item.memoize:
            return remembered.costing(item, domain, epsilon)
        return build(self.named(item, domain), domain, epsilon)

    def named(self, item: Item, domain: Domain) -> str:
        """The mechanism's name, or auto."""
        return item.by

    def query(self, item: Item) -> Query:
        """Counts of the values, each as it is written in a file: numbers as JSON has them."""
        from sottovoce.models.federated import Histogram  # A device has no use for it.

        values = self.domain(item).values
        named = len(values) if isinstance(values, range) else tuple(map(_written, values))
        return Histogram(named, item.missing == "category")

    def suits(self, item: Item, mechanism: Mechanism) -> bool:
        return isinstance(mechanism, Pure | Longitudinal)

    def error(self, mechanism: Any) -> float:
        return math.sqrt(mechanism.variance)


class YesNo(Choice):
    """Two values, of which the first means no and the second yes."""

    name = "yes_no"
    required: ClassVar[dict[str, Check]] = {}
    optional: ClassVar[dict[str, tuple[Check, Any]]] = {"values": (checks.labels, ("no", "yes"))} | Choice.optional
    by = (RandomizedResponse.name, *Choice.by)

    def check(self, item: Item) -> None:
        if isinstance(item.values, tuple) and len(item.values) != 2:
            raise ParameterError(f"values must be 2, one for no and one for yes, got {len(item.values)}")
        super().check(item)

    def named(self, item: Item, domain: Domain) -> str:
        return RandomizedResponse.name if item.by == "auto" and domain.size == 2 else item.by


class Multiple(Kind):
    name = "multiple"
    required: ClassVar[dict[str, Check]] = {"values": checks.values}
    by = (Sets.name,)

    def domain(self, item: Item) -> Options:
        return Options(item.values or 0)

    def build(self, item: Item, epsilon: float, salt: str) -> Mechanism:
        return Sets(self.domain(item), epsilon)

    def suits(self, item: Item, mechanism: Mechanism) -> bool:
        return isinstance(mechanism, Sets)

    def error(self, mechanism: Any) -> float:
        return math.sqrt(mechanism.variance)


class Ordered(Choice):
    name = "ordered"
    by = (Ranges.name,)

    def check(self, item: Item) -> None:
        Kind.check(self, item)

    def build(self, item: Item, epsilon: float, salt: str) -> Mechanism:
        return Ranges(self.domain(item), epsilon)

    def suits(self, item: Item, mechanism: Mechanism) -> bool:
        return isinstance(mechanism, Ranges)

    def error(self, mechanism: Any) -> float:
        """Of the share up to some value: some of the siblings at each level, each level told by one device in so many.

        Of b siblings whose sum is told by the level above, k have k (b - k) / b of one's variance: at most b / 4.
        """
        levels, siblings = len(mechanism.parts), mechanism.fanout / 4
        return math.sqrt(levels * siblings * sum(part.variance for part in mechanism.parts))


class Number(Kind):
    name = "number"
    required: ClassVar[dict[str, Check]] = {"low": checks.number, "high": checks.number}
    optional: ClassVar[dict[str, tuple[Check, Any]]] = {
        "outside": (OUTSIDE, "refuse"),
        "estimate": (checks.one_of("mean", "distribution"), "mean"),
        "bins": (checks.whole(2, MAX_BINS), None),
    }
    by = ("rounding", "piecewise", "hybrid", SquareWave.name)

    def complete(self, fields: dict[str, Any]) -> dict[str, Any]:
        return fields | {"bins": BINS} if fields["estimate"] == "distribution" and fields["bins"] is None else fields

    def check(self, item: Item) -> None:
        wave = item.estimate == "distribution"
        if item.bins is not None and not wave:
            raise ParameterError(f"bins go with estimate: distribution, got {item.bins}")
        if item.by != "auto" and (item.by == SquareWave.name) != wave:
            raise ParameterError(f"mechanism {item.by!r} does not estimate a {item.estimate}")
        super().check(item)

    def domain(self, item: Item) -> Scale:
        """With one step; a mechanism has more, as it likes."""
        return Scale(item.low or 0.0, item.high or 0.0, 1, item.outside or "refuse")

    def same_domain(self, item: Item, domain: Any) -> bool:
        return isinstance(domain, Scale) and Scale(domain.low, domain.high, 1, domain.outside) == self.domain(item)

    def build(self, item: Item, epsilon: float, salt: str) -> Mechanism:
        scale = self.domain(item)
        if item.estimate == "distribution":
            return SquareWave(scale.low, scale.high, item.bins or BINS, epsilon=epsilon, outside=scale.outside)
        return Mean(scale.low, scale.high, epsilon, item.by, scale.outside)

    def query(self, item: Item) -> Query:
        from sottovoce.models.federated import Average

        if item.estimate == "distribution":
            raise ParameterError("curators add up to the mean of a number, not to its distribution")
        scale = self.domain(item)
        return Average(scale.low, scale.high, outside=scale.outside)

    def suits(self, item: Item, mechanism: Mechanism) -> bool:
        if item.estimate == "distribution":
            return isinstance(mechanism, SquareWave) and mechanism.bins == item.bins
        return isinstance(mechanism, Mean)

    def error(self, mechanism: Any) -> float:
        """Of the mean, in units of the range; of a distribution, that of the unbiased mean of its window."""
        if isinstance(mechanism, Mean):
            return math.sqrt(mechanism.variance) / mechanism.domain.width
        window = mechanism._window
        return math.sqrt(window.level + max(window.curve - 1, 0) / 4)


class Words(Kind):
    name = "text"
    required: ClassVar[dict[str, Check]] = {"max_bytes": checks.whole(1, MAX_BYTES)}
    optional: ClassVar[dict[str, tuple[Check, Any]]] = {
        "missing": (MISSING, "refuse"),
        "longer": (checks.one_of(*LONGER), "refuse"),
        "normalise": (checks.one_of(*FORMS), "none"),
    }
    by = (Hashed.name, Bloom.name, Discovery.name)

    def check(self, item: Item) -> None:
        self.domain(item)

    def domain(self, item: Item) -> Text:
        missing, longer, form = item.missing or "refuse", item.longer or "refuse", item.normalise or "none"
        return Text(item.max_bytes or 0, missing, longer, form)

    def build(self, item: Item, epsilon: float, salt: str) -> Mechanism:
        domain = self.domain(item)
        if item.memoize:
            return remembered.costing(item, domain, epsilon, salt)
        if item.by == Bloom.name:
            return Bloom(epsilon=epsilon, salt=salt, domain=domain)
        if item.by == Discovery.name:
            return Discovery(epsilon, salt=salt, domain=domain)
        return Hashed("auto", epsilon=epsilon, salt=salt, domain=domain)

    def suits(self, item: Item, mechanism: Mechanism) -> bool:
        return isinstance(mechanism, Hashed | Bloom | Discovery | Memoized)

    def error(self, mechanism: Any) -> float:
        return math.sqrt(mechanism.variance)


def _written(label: Label) -> str:
    return label if isinstance(label, str) else canonical.dumps(label).decode()


KINDS: dict[str, Kind] = {kind.name: kind for kind in (YesNo(), Choice(), Multiple(), Ordered(), Number(), Words())}
COUNTED = ("yes_no", "choice", "ordered", "number")
"""Kinds that curators can add up."""

FIELDS = tuple(dict.fromkeys(name for kind in KINDS.values() for name in (*kind.required, *kind.optional)))
"""All fields that some kind has, in the order in which a document lists them."""
