"""Questions about the columns of a table: what is asked, of which kind, and by which mechanism.

A question is a line of text such as `age:number:0:120`, or an entry of a YAML or JSON file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any

from sottovoce.domain import Domain, Text
from sottovoce.errors import FileError, ParameterError
from sottovoce.files import reading
from sottovoce.lazy import load
from sottovoce.mechanisms import (
    Discovery,
    Hashed,
    Mean,
    Mechanism,
    RandomizedResponse,
    Ranges,
    Sets,
    SquareWave,
    build,
    mechanism,
)
from sottovoce.mechanisms.hashed import KINDS as BASES
from sottovoce.privacy import check_epsilon, float_below

KINDS = ("choice", "yes_no", "ordered", "number", "distribution", "set", "text")
MAX_BYTES = 64
FORMS = {
    "choice": "NAME:choice[:VALUES]",
    "yes_no": "NAME:yes_no[:NO,YES]",
    "ordered": "NAME:ordered:VALUES",
    "number": "NAME:number:LOW:HIGH",
    "distribution": "NAME:distribution:LOW:HIGH[:BINS]",
    "set": "NAME:set:VALUES",
    "text": "NAME:text[:MAX_BYTES]",
}


@dataclass(frozen=True)
class Question:
    """One question. Which of the fields it needs depends on its kind. Missing and outside answers are refused if None.

    >>> parse("age:number:0:120").build(epsilon=1.0, labels=list).domain.high
    120.0
    """

    name: str
    kind: str = "choice"
    column: str | None = None
    values: str | int | Sequence[Any] | None = None
    low: float | None = None
    high: float | None = None
    bins: int = 64
    max_bytes: int | None = None
    missing: str | None = None
    outside: str | None = None
    mechanism: str = "auto"
    max_bits: int | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f"{self.name}: the kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        numeric = self.kind in ("number", "distribution")
        if numeric and (self.low is None or self.high is None):
            raise ParameterError(f"{self.name}: a {self.kind} needs low and high ({FORMS[self.kind]})")
        if self.kind in ("ordered", "set") and self.values is None:
            raise ParameterError(f"{self.name}: this kind needs its values ({FORMS[self.kind]})")
        self._check_fields()

    def _check_fields(self) -> None:
        for name in ("low", "high", "epsilon"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
                raise ParameterError(f"{self.name}: {name} must be a number, got {value!r:.40}")
        for name in ("bins", "max_bytes", "max_bits"):
            if getattr(self, name) is not None and type(getattr(self, name)) is not int:
                raise ParameterError(f"{self.name}: {name} must be a whole number, got {getattr(self, name)!r:.40}")
        if not isinstance(self.values, str | int | list | tuple | None):
            raise ParameterError(f"{self.name}: values must be a list, a number or text, got {self.values!r:.40}")
        if isinstance(self.values, list) and any(isinstance(value, bool) for value in self.values):
            raise ParameterError(f"{self.name}: put yes and no in quotes, or YAML takes them for truth values")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)

    @property
    def source(self) -> str:
        """The column with the answers."""
        return self.column or self.name

    @property
    def reads_the_data(self) -> bool:
        """Whether the domain is taken from the answers themselves."""
        return self.kind == "choice" and self.values is None

    def build(self, epsilon: float, labels: Callable[[], Sequence[str]]) -> Mechanism:
        """The mechanism that asks it; `labels` gives the values that occur, if no others are named."""
        built = self._build(epsilon, labels)
        if self.max_bits is not None and built.bits > self.max_bits:
            raise ParameterError(f"reports of {built!r} take {built.bits} bits, more than max_bits = {self.max_bits}")
        return built

    def _build(self, epsilon: float, labels: Callable[[], Sequence[str]]) -> Mechanism:
        if self.kind in ("number", "distribution"):
            return self._numeric(epsilon)
        if self.kind == "text":
            return self._written(epsilon) if self.mechanism.endswith(".json") else self._text(epsilon)
        listed = self._domain(labels)
        if self.kind == "set":
            return Sets(listed, epsilon=epsilon)
        if self.kind == "ordered":
            return Ranges(listed, epsilon=epsilon)
        if self.kind == "yes_no":
            return RandomizedResponse(epsilon, domain=listed)
        return build(self.mechanism, listed, epsilon, self.max_bits)

    def _numeric(self, epsilon: float) -> Mechanism:
        low, high, outside = float(self.low or 0), float(self.high or 0), _policy(self.outside)
        if self.kind == "number":
            return Mean(low, high, epsilon=epsilon, kind=self.mechanism, outside=outside)
        return SquareWave(low, high, bins=self.bins, epsilon=epsilon, outside=outside)

    def _text(self, epsilon: float) -> Mechanism:
        longer = "cut" if self.outside == "clip" else "refuse"
        domain = Text(MAX_BYTES if self.max_bytes is None else self.max_bytes, _policy(self.missing), longer)
        if self.mechanism == Discovery.name:
            return Discovery(epsilon, salt=self.name, domain=domain)
        if self.mechanism not in ("auto", *BASES):
            known = f"auto, {Discovery.name}, {', '.join(BASES)} or a file that ends in .json"
            raise ParameterError(f"a mechanism for text must be one of {known}, got {self.mechanism!r:.40}")
        return Hashed(self.mechanism, epsilon=epsilon, salt=self.name, domain=domain)

    def _written(self, epsilon: float) -> Mechanism:
        """A mechanism over texts that is written out in a file, such as that of a round of discovery."""
        path = Path(self.mechanism)
        for name in ("max_bytes", "missing", "outside"):
            if getattr(self, name) is not None:
                raise ParameterError(
                    f"{path}: has its own domain, so {name} must be left out, got {getattr(self, name)!r:.40}"
                )
        m = read_mechanism(path)
        if not isinstance(m.domain, Text):
            raise ParameterError(f"{path}: must be a mechanism over texts, got {m!r}")
        if m.epsilon > epsilon:
            raise ParameterError(f"{path}: costs {m.epsilon!r}, more than epsilon = {epsilon!r}")
        return m

    def _domain(self, labels: Callable[[], Sequence[str]]) -> Domain:
        values, missing = self.values, _policy(self.missing)
        if values is None:
            values = "no,yes" if self.kind == "yes_no" else labels()
        if isinstance(values, str):
            return read_domain(values, missing)
        return Domain(values if isinstance(values, int) else [str(value) for value in values], missing)


def _policy(given: str | None) -> str:
    return "refuse" if given is None else given


def read_mechanism(path: Path) -> Mechanism:
    """A mechanism that is written out in a file: by itself, or as the mechanism of a plan or of a round."""
    with reading(path):
        data = json.loads(path.read_text("utf-8"))
    if isinstance(data, Mapping) and isinstance(data.get("mechanism"), Mapping):
        data = data["mechanism"]
    try:
        return mechanism(data)
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None


def parse(text: str, **options: Any) -> Question:
    """A question from a line of text."""
    name, _, rest = text.partition(":")
    kind, _, rest = rest.partition(":")
    if not name or not kind:
        raise ParameterError(f"a question must be NAME:KIND..., got {text!r}")
    if kind not in ("number", "distribution", "text"):
        return Question(name, kind, values=rest or None, **options)
    try:
        numbers = _length(rest) if kind == "text" else _numbers(kind, *rest.split(":"))
    except (ValueError, TypeError):
        raise ParameterError(f"a question must be {FORMS[kind]}, got {text!r}") from None
    return Question(name, kind, **numbers, **options)


def _length(rest: str) -> dict[str, Any]:
    return {"max_bytes": int(rest)} if rest else {}


def _numbers(kind: str, low: str, high: str, *bins: str) -> dict[str, Any]:
    if len(bins) > (kind == "distribution"):
        raise ValueError
    return {"low": float(low), "high": float(high), "bins": int(bins[0]) if bins else 64}


def read(path: Path) -> list[Question]:
    """The questions of a YAML or JSON file: a list, each with a name, a kind and what the kind needs."""
    yaml = load("yaml")
    with reading(path):
        try:
            entries = yaml.safe_load(path.read_text("utf-8"))
        except yaml.YAMLError as error:
            raise ParameterError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(entries, list) or not entries:
        raise ParameterError(f"{path}: must hold a list of questions")
    return [_entry(path, entry) for entry in entries]


def _entry(path: Path, entry: object) -> Question:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise ParameterError(f"{path}: a question must have a name, got {entry!r:.60}")
    unknown = set(entry) - {field.name for field in fields(Question)}
    if unknown:
        raise ParameterError(f"{path}: {entry['name']}: unknown field {min(map(str, unknown))!r}")
    return Question(**entry)


def read_domain(text: str, missing: str) -> Domain:
    """A domain from a file with a label on each line, from labels with commas between them, or from a size."""
    path = Path(text)
    if path.is_file():
        with reading(path):
            labels = [line.strip() for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
        return Domain(labels, missing)
    if text.strip().isdecimal():
        return Domain(int(text), missing)
    if "," not in text:
        raise FileError(f"{text}: a domain must be a file, a number of values, or labels with commas between them")
    return Domain([label.strip() for label in text.split(",")], missing)


def shares(questions: Sequence[Question], epsilon: float | None) -> list[float]:
    """What each question may spend: its own epsilon, or an equal share of what is left of the person's."""
    open_questions = [question for question in questions if question.epsilon is None]
    fixed = sum((Fraction(q.epsilon) for q in questions if q.epsilon is not None), Fraction(0))
    if epsilon is not None and fixed > Fraction(epsilon):
        raise ParameterError(f"the questions cost {float(fixed):g} together, more than epsilon = {epsilon:g}")
    if not open_questions:
        return [question.epsilon or 0.0 for question in questions]
    if epsilon is None:
        raise ParameterError(f"{open_questions[0].name}: an epsilon is needed, here or for all questions together")
    left = Fraction(epsilon) - fixed
    if left <= 0:
        raise ParameterError(f"epsilon = {epsilon:g} is spent before {open_questions[0].name} is asked")
    share = float_below(left / len(open_questions))
    return [share if question.epsilon is None else question.epsilon for question in questions]
