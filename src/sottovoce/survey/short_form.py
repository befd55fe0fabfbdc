"""Questions about the columns of a table: the short form of a survey's questions.

A line such as `age:number:0:120`, or an entry of a YAML or JSON file, has the fields of a survey question. A table
needs a few more: the `column`, if it has another name than the question; labels from a file with one on each line, or
those that occur in the column; a mechanism from a .json file; and `max_bits`, the longest report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TypedDict, Unpack

from sottovoce.core import canonical
from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Domain, Text
from sottovoce.core.errors import FileError, ParameterError, SottovoceError
from sottovoce.mechanisms import Mechanism, mechanism
from sottovoce.survey import checks, source, split
from sottovoce.survey.kinds import KINDS
from sottovoce.survey.question import Question

MAX_NAME_CHARACTERS = 200
MAX_FILE_BYTES = 2**20
MAX_LABELS_BYTES = 2**26
DEFAULT_TEXT_BYTES = 64
"""How long a text may be, unless the question has max_bytes."""
FORMS = {
    "choice": "NAME:choice[:VALUES]",
    "yes_no": "NAME:yes_no[:NO,YES]",
    "ordered": "NAME:ordered:VALUES",
    "multiple": "NAME:multiple:VALUES",
    "number": "NAME:number:LOW:HIGH[:distribution[:BINS]]",
    "text": "NAME:text[:MAX_BYTES]",
}
OLD_KINDS = {"set": "multiple", "distribution": f"number, with estimate: distribution ({FORMS['number']})"}
TEXT_DOMAIN_FIELDS = ("max_bytes", "missing", "outside", "longer", "normalise")
"""Fields of a question about texts that must be left out if its mechanism, with its domain, is in a file."""
OPTION_FIELDS = {"missing": ("missing",), "outside": ("outside", "longer")}
"""Options for all questions of a table, and the fields of a question that each sets."""

_name = checks.text(MAX_NAME_CHARACTERS)


class ColumnOptions(TypedDict, total=False):
    """Options for all questions of a table; a question takes those that its kind has."""

    mechanism: str
    missing: str
    outside: str
    max_bits: int | None


@dataclass(frozen=True)
class ColumnQuestion:
    """A survey question about a column of a table.

    >>> parse("age:number:0:120").question().kind
    'number'
    """

    id: str
    column: str
    fields: Mapping[str, object]
    """Those of a survey question."""
    values: int | tuple[str, ...] | None = None
    """Values that were written as text: labels, or how many there are."""
    takes_labels: bool = False
    """Whether the values are those that occur in the column."""
    max_bits: int | None = None

    def question(self, labels: Callable[[], Sequence[str]] | None = None) -> Question:
        """The survey question; `labels` gives the values that occur, if no others are named."""
        try:
            found = self._labels(labels) if self.takes_labels else self.values
            question = replace(Question.from_fields(self.fields, _name, found), max_bits=self.max_bits)
            if question.settled is not None:
                question.check_bits(question.settled)
        except FileError:
            raise
        except SottovoceError as error:
            raise ParameterError(f"question {self.id!r}: {error!s:.300}") from None
        return question

    def _labels(self, labels: Callable[[], Sequence[str]] | None) -> tuple[str, ...]:
        if labels is None:
            raise ParameterError("its values must be listed in the file")
        return tuple(labels())


def parse(line: str, **options: Unpack[ColumnOptions]) -> ColumnQuestion:
    """A question from a line of text. Options are fields that the line does not have."""
    name, _, rest = line.partition(":")
    kind, _, rest = rest.partition(":")
    if not name or not kind:
        raise ParameterError(f"a question must be NAME:KIND..., got {line!r}")
    try:
        fields = _written(kind, rest)
    except (ValueError, TypeError):
        raise ParameterError(f"a question must be {FORMS[kind]}, got {line!r}") from None
    return of_fields({"id": name, "kind": kind, **fields}, **options)


def parse_all(lines: Sequence[str], **options: Unpack[ColumnOptions]) -> list[ColumnQuestion]:
    """Questions from lines of text. An option that none of them takes is refused."""
    made = [parse(line, **options) for line in lines]
    for name, fields in OPTION_FIELDS.items():
        if name in options and not any(set(fields) & set(question.fields) for question in made):
            kinds = [kind.name for kind in KINDS.values() if set(fields) & {*kind.required, *kind.optional}]
            raise ParameterError(f"{name} is for the kinds {', '.join(kinds)}, and there are none here")
    return made


def _written(kind: str, rest: str) -> JsonObject:
    """The fields in a line of text behind its kind."""
    if kind == "number":
        return _number(*rest.split(":"))
    name, read = ("max_bytes", int) if kind == "text" else ("values", str)
    return {name: read(rest)} if rest else {}


def _number(low: str, high: str, estimate: str = "mean", *bins: str) -> JsonObject:
    if len(bins) > (estimate == "distribution") or estimate not in ("mean", "distribution"):
        raise ValueError
    return {"low": float(low), "high": float(high), "estimate": estimate, **({"bins": int(bins[0])} if bins else {})}


def of_column(column: str, values: str | None = None, **options: Unpack[ColumnOptions]) -> ColumnQuestion:
    """A question of choice about a column. Randomized response asks a choice of two, which is the kind yes_no."""
    two = options.get("mechanism") == "rr"
    made = of_fields({"id": column, "kind": "yes_no" if two else "choice", "values": values}, **options)
    return replace(made, takes_labels=values is None)


def of_fields(entry: object, **options: Unpack[ColumnOptions]) -> ColumnQuestion:
    """A question from the fields of an entry; it takes those of the options that its kind has."""
    given = dict(checks.mapping(entry))
    if "id" not in given:
        raise ParameterError(f"a question must have an id, got {entry!r:.60}")
    name = _name("id", given["id"])
    with checks.about(f"question {name!r}"):
        column = _name("column", given.pop("column", name))
        most = given.pop("max_bits", options.get("max_bits"))
        max_bits = None if most is None else checks.whole(1, 2**53)("max_bits", most)
        fields: JsonObject = {"text": name, "kind": "choice"} | {
            field: value for field, value in given.items() if value is not None
        }
        kind = checks.one_of(*KINDS, *OLD_KINDS)("kind", fields["kind"])
        if kind in OLD_KINDS:
            raise ParameterError(f"the kind {kind!r} is called {OLD_KINDS[kind]}")
        fields |= {"mechanism": options["mechanism"]} if "mechanism" in options else {}
        fields |= _domain(fields, options)
        written = fields.pop("values") if isinstance(fields.get("values"), str) else None
        takes_labels = kind == "choice" and written is None and "values" not in fields
        values = None if written is None else read_values(written)
    return ColumnQuestion(name, column, fields, values, takes_labels, max_bits)


def _domain(fields: JsonObject, options: ColumnOptions) -> JsonObject:
    """What happens to answers that are missing, outside or too long, and the mechanism if it is in a file."""
    kind, by = fields["kind"], fields.get("mechanism")
    if isinstance(by, str) and by.endswith(".json"):
        return _from_file(Path(by), kind, {**fields, **options})
    known = KINDS[kind].required | KINDS[kind].optional
    more: JsonObject = {name: options[name] for name in ("missing", "outside") if name in options and name in known}
    if kind == "text":
        more |= {"max_bytes": fields.get("max_bytes", DEFAULT_TEXT_BYTES)}
        more |= {"longer": "cut" if options["outside"] == "clip" else "refuse"} if "outside" in options else {}
    return more


def _from_file(path: Path, kind: str, given: Mapping[str, object]) -> JsonObject:
    """The mechanism that a file describes, such as that of a round of discovery; for text, its domain too."""
    made = read_mechanism(path)
    if kind != "text":
        return {"mechanism": made.to_dict()}
    for name in TEXT_DOMAIN_FIELDS:
        if name in given:
            raise ParameterError(f"{path}: has its own domain, so {name} must be left out, got {given[name]!r:.40}")
    if not isinstance(made.domain, Text):
        raise ParameterError(f"{path}: must be a mechanism over texts, got {made!r}")
    return {**made.domain.to_dict(), "mechanism": made.to_dict()}


def read(path: Path) -> list[ColumnQuestion]:
    """The questions of a YAML or JSON file: a list, each with an id, a kind and what the kind needs."""
    with checks.about(str(path)):
        entries = source.read(path, MAX_FILE_BYTES)
        if not isinstance(entries, list) or not entries:
            raise ParameterError("must hold a list of questions")
        return [of_fields(entry) for entry in entries]


def read_mechanism(path: Path) -> Mechanism:
    """The mechanism that a file describes: by itself, or as the mechanism of a plan or of a round."""
    with checks.about(str(path)):
        data = canonical.loads(source.read_bytes(path, MAX_LABELS_BYTES))
        if isinstance(data, Mapping) and isinstance(data.get("mechanism"), Mapping):
            data = data["mechanism"]
        return mechanism(data)


def read_domain(text: str, missing: str = "refuse") -> Domain:
    """A domain from a file with a label on each line, from labels with commas between them, or from a size."""
    return Domain(read_values(text), missing)


def read_values(text: str) -> int | tuple[str, ...]:
    """Labels from a file with one on each line, labels with commas between them, or how many there are."""
    path = Path(text)
    if path.is_file():
        with checks.about(text):
            return tuple(_lines(source.read_bytes(path, MAX_LABELS_BYTES)))
    if text.strip().isdecimal():
        return int(text)
    if "," not in text:
        raise FileError(f"{text}: a domain must be a file, a number of values, or labels with commas between them")
    return tuple(label.strip() for label in text.split(","))


def _lines(data: bytes) -> list[str]:
    try:
        return [line.strip() for line in data.decode("utf-8-sig").splitlines() if line.strip()]
    except UnicodeError:
        raise ParameterError("labels must be valid UTF-8") from None


def settle(questions: Sequence[Question], epsilon: float | None) -> dict[str, Mechanism]:
    """The mechanism of each question, within the epsilon of a row; those without one of their own share it equally."""
    names = [question.id for question in questions]
    if len(set(names)) < len(names):
        raise ParameterError(f"questions must have different ids, got {', '.join(names)}")
    cost = sum((question.cost(1) for question in questions), Fraction(0))
    if epsilon is not None and cost > Fraction(epsilon):
        raise ParameterError(f"the questions cost {float(cost):g} together, more than epsilon = {epsilon:g}")
    for question in questions:
        if epsilon is None and question.epsilon is None:
            raise ParameterError(f"{question.id}: an epsilon is needed, here or for all questions together")
    return {question.id: question.mechanism for question in split.settle(questions, epsilon, "equal")}
