"""A survey as a value: read from a document, checked, published, and known by its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any, TypedDict, TypeVar

from sottovoce.core import canonical
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import float_above
from sottovoce.mechanisms import Changes
from sottovoce.survey import checks, split
from sottovoce.survey.federation import CuratorGuarantee, Federation, pooled
from sottovoce.survey.question import MAX_REPORT_BITS, Covariate, Question
from sottovoce.survey.shuffle_guarantee import ShuffleGuarantee, guarantee
from sottovoce.survey.shuffle_settings import ShuffleSettings

VERSION = 1
MAX_BYTES = 2**20
MAX_QUESTIONS = 100
MAX_COVARIATES = 20
MAX_WAVES = 10_000
DEFAULT_MINIMUM_REPORTS = 50
TRUST_MODELS = ("local", "shuffle", "federated", "central")
INTERVALS = ("hour", "day", "week", "month", "year")

REQUIRED = ("sottovoce", "id", "title", "questions")
OPTIONAL: dict[str, tuple[checks.Check[object], object]] = {
    "description": (checks.text(10_000), None),
    "contact": (checks.text(200), None),
    "trust": (checks.one_of(*TRUST_MODELS), "local"),
    "shuffle": (ShuffleSettings.read, None),
    "federated": (Federation.read, None),
    "budget": (checks.positive, None),
    "split": (checks.one_of("need", "equal"), None),
    "minimum": (checks.whole(1, 10**9), DEFAULT_MINIMUM_REPORTS),
    "expires": (checks.time, None),
}
"""Fields that a document may leave out: how each is checked, and its default."""

T = TypeVar("T")


@dataclass(frozen=True)
class Survey:
    """What is asked, by which mechanisms, and what it costs: one document for devices and collectors alike.

    A draft may leave mechanisms and epsilons open. `publish` settles them all, so that every device runs the same; a
    published survey has a digest, which stands for every byte of it.

    >>> draft = Survey.from_dict({
    ...     "sottovoce": 1, "id": "sleep", "title": "Sleep", "budget": 2, "questions": [
    ...         {"id": "pills", "text": "Do you take sleeping pills?", "kind": "yes_no"},
    ...         {"id": "hours", "text": "How long do you sleep?", "kind": "number", "low": 0, "high": 24}]})
    >>> survey = draft.publish()
    >>> survey.question("pills").mechanism, survey.epsilon <= 2
    (RandomizedResponse(2 values, epsilon=0.964783), True)
    >>> Survey.loads(survey.canonical()).digest == survey.digest
    True
    """

    id: str
    title: str
    questions: tuple[Question, ...]
    description: str | None = None
    contact: str | None = None
    trust: str = "local"
    shuffle: ShuffleSettings | None = None
    """How reports are sealed and where they are sent; without it they go to the collector as they are."""
    federated: Federation | None = None
    """Which curators hold the answers, and add them up; without it every device randomizes its own."""
    budget: float | None = None
    split: str | None = None
    minimum: int = DEFAULT_MINIMUM_REPORTS
    expires: datetime | None = None
    waves: int = 1
    every: str | None = None
    covariates: tuple[Covariate, ...] = ()
    published: bool = False
    """Whether nothing is left to choose, and nothing unsaid: only such a survey has a digest."""

    # From a document and back.

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Survey:
        """A survey from a file: JSON, or YAML if the name does not end in .json."""
        from sottovoce.survey import source

        try:
            return cls._parse(source.read(path, MAX_BYTES))
        except ParameterError as error:
            raise ParameterError(f"{path}: {error}") from None

    @classmethod
    def loads(cls, data: bytes | str) -> Survey:
        """A survey from JSON, which may come from anywhere."""
        if isinstance(data, str | bytes | bytearray):
            _check_size(len(data))
        return cls._parse(canonical.loads(data))

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Survey:
        """A survey from a dict such as JSON or YAML gives."""
        return cls._parse(canonical.loads(canonical.dumps(data)))

    @classmethod
    def _parse(cls, data: object) -> Survey:
        """A survey from JSON's own types. It is published if nothing is left to choose and every default is written."""
        _check_version(data)
        fields = checks.check_fields(data, REQUIRED, (*OPTIONAL, "schedule", "covariates"))
        made: dict[str, Any] = {
            n: check(n, fields[n]) if n in fields else default for n, (check, default) in OPTIONAL.items()
        }
        survey = cls(
            id=checks.matching(checks.SURVEY_ID)("id", fields["id"]),
            title=checks.text(200)("title", fields["title"]),
            questions=_entries("questions", fields["questions"], 1, MAX_QUESTIONS, Question.from_dict),
            covariates=_entries("covariates", fields.get("covariates", []), 0, MAX_COVARIATES, Covariate.from_dict),
            **_schedule(fields.get("schedule", {"waves": 1})),
            **made,
        )
        published = survey._complete and canonical.dumps(survey.to_dict()) == canonical.dumps(data)
        return replace(survey, published=published)

    @property
    def _complete(self) -> bool:
        """Whether nothing is left to choose."""
        settled = all(question.settled is not None for question in self.questions)
        return settled and self.budget is not None and self.split is None

    def __post_init__(self) -> None:
        entries: tuple[Question | Covariate, ...] = (*self.questions, *self.covariates)
        names = [entry.id for entry in entries]
        for name in names:
            if names.count(name) > 1:
                raise ParameterError(f"ids must differ from one another, got {name!r} twice")
        for question in self.questions:
            if isinstance(question.settled, Changes) and question.settled.waves < self.waves:
                raise ParameterError(
                    f"question {question.id!r}: its mechanism is for {question.settled.waves:,} waves only"
                )
        for way in ("shuffle", "federated"):
            if getattr(self, way) is not None and self.trust != way:
                raise ParameterError(f"{way} goes with trust: {way}, got trust: {self.trust}")
        if self.shuffle is not None and self.covariates:
            raise ParameterError("shuffle goes without covariates: they would tell apart the reports that are mixed")
        if self.federated is not None:
            self.federated.check(self)
        bits = sum(question.settled.bits for question in self.questions if question.settled is not None)
        if bits > MAX_REPORT_BITS:
            raise ParameterError(f"the reports must take at most {MAX_REPORT_BITS:,} bits together, got {bits:,}")
        if self.budget is not None and self._total > Fraction(self.budget):
            waves = f" in {self.waves:,} waves" if self.waves > 1 else ""
            cost = f"{float_above(self._total)!r}{waves}"
            raise ParameterError(f"budget must cover what the questions cost, {cost}, got {self.budget!r}")

    def to_dict(self) -> JsonObject:
        """The document. What has a default is spelled out; what is absent is left out."""
        record: JsonObject = {"sottovoce": VERSION, "id": self.id, "title": self.title}
        for name in OPTIONAL:
            value = getattr(self, name)
            if value is not None:
                record[name] = _plain(value)
        record["schedule"] = {"waves": self.waves} | ({"every": self.every} if self.every else {})
        if self.covariates:
            record["covariates"] = [covariate.to_dict() for covariate in self.covariates]
        return record | {"questions": [question.to_dict() for question in self.questions]}

    # What it costs.

    @property
    def costs(self) -> dict[str, float]:
        """What each question may cost a person over all waves, rounded up."""
        self._refuse_draft()
        return {question.id: float_above(question.cost(self.waves)) for question in self.questions}

    @property
    def epsilon(self) -> float:
        """What the whole survey may cost a person, all questions and all waves: the exact sum, rounded up."""
        self._refuse_draft()
        return float_above(self._total)

    @cached_property
    def _total(self) -> Fraction:
        return sum((question.cost(self.waves) for question in self.questions), Fraction(0))

    @cached_property
    def guarantee(self) -> ShuffleGuarantee | CuratorGuarantee | None:
        """Of a survey with a shuffler: what holds against everybody, and what against those who see batches alone.

        Of one with curators: what holds against some of them together.
        """
        self._refuse_draft()
        return guarantee(self) if self.federated is None else pooled(self, self.federated)

    # Publication.

    def publish(self) -> Survey:
        """The same survey with every mechanism fixed and every cost exact. Published already, it stays as it is."""
        if self.published:
            return self
        way = "equal" if self.federated is not None else self.split or "need"  # Among curators all kinds need the same.
        questions = split.settle(self.questions, self.budget, way, self.waves, self.id)
        done = replace(self, questions=questions, split=None)
        done = replace(done, budget=done.budget or float_above(done._total), published=True)
        _check_size(len(done.canonical()))
        return done

    def canonical(self) -> bytes:
        """The bytes of the published document: one spelling, by RFC 8785."""
        self._refuse_draft()
        return canonical.dumps(self.to_dict())

    def _refuse_draft(self) -> None:
        if not self.published:
            raise ParameterError(f"survey {self.id!r} is a draft: publish it first")

    @cached_property
    def digest(self) -> str:
        """What stands for the whole published document."""
        return "sha256:" + hashlib.sha256(self.canonical()).hexdigest()

    def question(self, name: str) -> Question:
        """The question with this id."""
        for question in self.questions:
            if question.id == name:
                return question
        raise ParameterError(f"survey {self.id!r} has no question {name!r:.60}")


def _plain(value: object) -> object:
    """A field as JSON has it."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    return value.to_dict() if isinstance(value, ShuffleSettings | Federation) else value


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise ParameterError(f"a survey must have at most {MAX_BYTES:,} bytes, got {size:,}")


def _check_version(data: object) -> None:
    if not isinstance(data, Mapping):
        raise ParameterError(f"a survey must be a mapping of fields, got {data!r:.40}")
    if "sottovoce" not in data:
        raise ParameterError(f"a survey must begin with the version of its format, sottovoce: {VERSION}")
    version = checks.whole(1, 10**6)("sottovoce", data["sottovoce"])
    if version > VERSION:
        raise ParameterError(f"sottovoce: {version} is a newer format than this program knows ({VERSION}): update it")


def _entries(name: str, data: object, least: int, most: int, read: Callable[[object, str], T]) -> tuple[T, ...]:
    if not isinstance(data, list) or not least <= len(data) <= most:
        raise ParameterError(f"{name} must be a list of {least} to {most} entries, got {_shown(data)}")
    return tuple(read(entry, f"{name[:-1]} {at}") for at, entry in enumerate(data, 1))


def _shown(data: object) -> str:
    return f"{len(data)} of them" if isinstance(data, list) else f"{data!r:.40}"


class _Schedule(TypedDict):
    waves: int
    every: str | None


def _schedule(data: object) -> _Schedule:
    with checks.about("schedule"):
        fields = checks.check_fields(data, ("waves",), ("every",))
        waves = checks.whole(1, MAX_WAVES)("waves", fields["waves"])
        every = checks.one_of(*INTERVALS)("every", fields["every"]) if "every" in fields else None
    return {"waves": waves, "every": every}
