"""The published JSON Schema and the code agree about what a survey is."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from surveys import DRAFTS, draft

from sottovoce.core.errors import ParameterError
from sottovoce.survey import Survey, schema

VALIDATOR = Draft202012Validator(schema())
EXAMPLES = [*DRAFTS.values(), *(Survey.from_dict(document).publish().to_dict() for document in DRAFTS.values())]

# Rules between fields, which a schema cannot express.
BEYOND = (
    "ids must differ", "budget must cover", "low must be below high", "bins go with", "does not estimate",
    "mechanism must be one for this question", "epsilon must be what the mechanism costs",
    "memoize goes with", "changes goes with", "changes is for a question with memoize",
    "epsilon must be given", "kind must be one of rr", "epsilon must be at least 0.05",
    "honest must be at most", "must have keys of their own", "federated: the threshold must be",
    "federated: drop-outs must be", "federated: additive sharing has", "values must be different",
    "values times curators", "epsilon must be at least 2^-16", "memoize is for devices",
    "no 1 steps in floating point", "max_bytes must be a whole number from 4", "first must be less than permanent",
)  # fmt: skip
ODD = [
    None, True, False, 0, 1, -1, 0.5, 3, 2**32 + 1, 1e300, "", "x", "no", "auto", "krr", "a" * 1100, [], ["a", "b"],
    [1, 1], {}, {"waves": 2}, {"permanent": 3}, "2027-01-31T00:00:00Z", "2027-01-31", "\x00", "\u202e", "mean",
    "federated", "additive", {"curators": ["a", "b"]},
]  # fmt: skip
KEYS = [
    "id", "text", "kind", "values", "low", "bins", "epsilon", "mechanism", "memoize", "changes", "budget", "split",
    "colour",
    "missing", "shuffle", "trust", "covariates", "honest", "federated", "curators", "threshold", "sharing",
]  # fmt: skip


@pytest.mark.parametrize("document", EXAMPLES)
def test_examples_are_valid(document: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema())
    VALIDATOR.validate(document)


def test_the_schema_in_the_docs_is_the_one_in_the_package() -> None:
    folder = Path(__file__).parents[2]
    published = folder / "docs" / "schemas" / "survey-1.json"
    assert (
        published.read_bytes() == (folder / "src" / "sottovoce" / "survey" / "schemas" / "survey-1.json").read_bytes()
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every container of a document."""
    if isinstance(value, dict):
        return [path, *(place for key in value for place in places(value[key], (*path, key)))]
    if isinstance(value, list):
        return [path, *(place for at, entry in enumerate(value) for place in places(entry, (*path, at)))]
    return []


@st.composite
def mutated(draw: st.DrawFn) -> tuple[dict[str, Any], bool]:
    """A survey with one or two things changed, and whether that was inside a mechanism."""
    document, inside = copy.deepcopy(draw(st.sampled_from(EXAMPLES))), False
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(places(document)))
        inside |= "mechanism" in path
        container: Any = document
        for key in path:
            container = container[key]
        keys: list[Any] = list(range(len(container))) if isinstance(container, list) else sorted({*container, *KEYS})
        if not keys:
            continue
        key = draw(st.sampled_from(keys))
        if draw(st.booleans()) and (isinstance(container, list) or key in container):
            del container[key]
        else:
            container[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
            inside |= key == "mechanism" and isinstance(container[key], dict)
    return document, inside


def verdict(document: dict[str, Any]) -> str | None:
    """What the code has to say against a document; nothing but its own kind of error may come up."""
    try:
        Survey.from_dict(document)
    except ParameterError as error:
        return str(error)
    return None


@settings(max_examples=300)
@given(mutated())
def test_what_the_schema_refuses_the_code_refuses(case: tuple[dict[str, Any], bool]) -> None:
    """And what the code refuses, the schema refuses too, but for rules between fields and what is in a mechanism."""
    document, inside = case
    message = verdict(document)
    if message is None:
        VALIDATOR.validate(document)
    else:
        assert "\n" not in message and len(message) < 400
        assert inside or not VALIDATOR.is_valid(document) or any(rule in message for rule in BEYOND), message


def test_a_hole_in_the_code_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If unknown fields passed, the code would take what the schema refuses."""
    assert verdict(draft(colour="red")) is not None
    monkeypatch.setattr("sottovoce.survey.checks.check_fields", lambda data, required, optional: data)
    assert verdict(draft(colour="red")) is None and not VALIDATOR.is_valid(draft(colour="red"))
