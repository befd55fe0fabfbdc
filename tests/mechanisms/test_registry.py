"""A mechanism's class declares what it is. Each list of mechanisms is derived from that, or compared with it here."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from forced import Forced
from mechanism_cases import CASES

import sottovoce as sv
from sottovoce import mechanisms
from sottovoce.cli import main
from sottovoce.device import wire
from sottovoce.mechanisms import registry
from sottovoce.mechanisms.base import Mechanism
from sottovoce.survey.kinds import KINDS
from sottovoce.testing.suite import CHECKS, PURE_CHECKS

ROOT = Path(__file__).parents[2]
NO_ODDS = {"several", "key_value", "changes", "bloom"}
"""Mechanisms of which a page says in general words what a report may tell."""


def concrete() -> set[type[Mechanism]]:
    """The mechanisms in the package, whichever file they are in."""
    names = [module.name for module in pkgutil.walk_packages(mechanisms.__path__, f"{mechanisms.__name__}.")]
    members = [cls for name in names for _, cls in inspect.getmembers(importlib.import_module(name), inspect.isclass)]
    return {cls for cls in members if issubclass(cls, Mechanism) and not inspect.isabstract(cls)}


def declared() -> dict[str, type[Mechanism]]:
    """The classes that declare a name, by that name."""
    above = {ancestor for cls in concrete() for ancestor in cls.__mro__ if issubclass(ancestor, Mechanism)}
    return {cls.__dict__["name"]: cls for cls in above if "name" in cls.__dict__}


def test_the_registry_has_what_is_declared() -> None:
    assert declared() == registry.REGISTRY
    assert {cls.name for cls in concrete()} == set(registry.REGISTRY)
    for cls in registry.REGISTRY.values():
        assert cls.__module__ == f"sottovoce.mechanisms.{mechanisms.MECHANISMS[cls.__name__]}"


def test_every_mechanism_is_exported() -> None:
    exports = {cls.__name__ for cls in declared().values()}
    assert exports == set(mechanisms.MECHANISMS) <= set(sv.__all__) & set(dir(mechanisms))
    assert all(getattr(sv, cls.__name__) is cls is getattr(mechanisms, cls.__name__) for cls in declared().values())


@pytest.mark.parametrize("path", ["__init__.py", "mechanisms/__init__.py"])
def test_an_editor_sees_every_export(path: str) -> None:
    """It reads the imports that only type checkers follow."""
    tree = ast.parse((ROOT / "src/sottovoce" / path).read_text("utf-8"))
    found = [
        (node.module, alias) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    seen = {alias.name for _, alias in found if alias.asname == alias.name}
    stars = {module for module, alias in found if alias.name == "*"}
    if path == "__init__.py":
        assert stars == {"sottovoce.mechanisms"}
        assert seen | {*mechanisms.MECHANISMS, "Mechanism", "choose", "mechanism"} == set(sv.__all__)
    else:
        assert not stars and seen == set(dir(mechanisms))


def test_only_public_names_are_listed() -> None:
    assert set(dir(sv)) == {*sv.__all__, "__version__"}
    assert {"Bloom", "Respondent", "Ledger", "Result"} <= set(sv.__all__)
    assert all(getattr(sv, name) is not None for name in sv.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'privacy'"):
        _ = sv.privacy


def test_questions_name_the_mechanisms_that_serve_them() -> None:
    serving = {kind for cls in registry.REGISTRY.values() for kind in cls.question_kinds}
    assert serving == set(KINDS)
    assert {name: kind.by for name, kind in KINDS.items()} == {name: registry.names_serving(name) for name in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_names_the_same(kind: str) -> None:
    schema = json.loads((ROOT / "src/sottovoce/survey/schemas/survey-1.json").read_text("utf-8"))["$defs"]
    (question,) = (part for part in schema.values() if part.get("properties", {}).get("kind") == {"const": kind})
    listed, _ = question["properties"]["mechanism"]["oneOf"]
    assert listed["enum"] == ["auto", *registry.names_serving(kind)]


def keys_of(path: str, constant: str) -> set[str]:
    """The keys of an object in JavaScript: names at the beginning of its lines."""
    text = (ROOT / path).read_text("utf-8")
    (body,) = re.findall(rf"^(?:export )?const {constant} = {{\n(.*?)^}};", text, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"^  (\w+)\b", body, re.MULTILINE))


def test_the_javascript_client_makes_them_all() -> None:
    assert keys_of("clients/js/src/mechanisms.js", "MAKERS") == set(registry.REGISTRY)


def test_pages_have_words_for_them() -> None:
    assert keys_of("src/sottovoce/pages/odds.js", "SHAPES") == set(registry.REGISTRY) - NO_ODDS - {"memoized"}


def test_every_mechanism_has_vectors_and_cases() -> None:
    assert {path.stem for path in (ROOT / "vectors").glob("*.json")} >= set(registry.REGISTRY)
    assert set(CASES) == concrete()


def test_a_device_loads_what_it_runs() -> None:
    """One mechanism is loaded without any other."""
    program = (
        "import sys, sottovoce as sv; sv.KRR(3, 1.0).randomize(1)\n"
        "print(*sorted(name for name in sys.modules if name.startswith('sottovoce.mechanisms.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [
        f"sottovoce.mechanisms.{name}" for name in ("base", "frequency", "frequency.krr", "frequency.pure")
    ]


# A mechanism that is added as one file.


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Forced:
    """It is in the registry, and nowhere else."""
    monkeypatch.setitem(registry.REGISTRY, Forced.name, Forced)
    monkeypatch.setitem(registry.FREQUENCIES, Forced.name, Forced)
    monkeypatch.setattr(type(KINDS["choice"]), "by", registry.names_serving("choice"))
    return Forced(["red", "green", "blue"], epsilon=1.0)


@pytest.mark.parametrize("check", [*CHECKS, *PURE_CHECKS], ids=lambda check: check.__name__)
def test_one_file_passes_the_contract(check: Any, forced: Forced) -> None:
    check(forced)


def test_one_file_is_asked_by_a_survey_and_travels(forced: Forced, tmp_path: Path) -> None:
    question = {"id": "colour", "text": "?", "kind": "choice", "values": ["red", "green", "blue"], "epsilon": 1.0}
    draft = {"sottovoce": 1, "id": "s", "title": "S", "budget": 1, "questions": [question | {"mechanism": "forced"}]}
    survey = sv.Survey.from_dict(draft).publish()
    assert survey.questions[0].mechanism == forced
    sent = sv.Respondent(tmp_path / "store.db", keyring=False).answer(survey, {"colour": "green"})
    (report,) = wire.decode(bytes(sent), survey).reports.values()
    assert report is not None and forced.tally().add(report).estimate().n == 1


def test_one_file_serves_the_command_line(forced: Forced, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_text("colour\n" + "red\ngreen\ngreen\n" * 500)
    (tmp_path / "forced.json").write_text(json.dumps(forced.to_dict()))
    runs = [
        ["audit", "--mechanism", str(tmp_path / "forced.json"), "--exact"],
        ["randomize", str(tmp_path / "data.csv"), "--question", "colour:choice:red,green,blue", "--mechanism", "forced",
         "--epsilon", "1", "--seed", "1", "--output", str(tmp_path / "reports.parquet")],
        ["estimate", str(tmp_path / "reports.parquet"), "--json"],
    ]  # fmt: skip
    for run in runs:
        assert main(run) == 0
    printed = capsys.readouterr().out.splitlines()
    estimate = json.loads("".join(printed[printed.index("{") :]))
    assert '"green"' in json.dumps(estimate) and '"n": 1500' in json.dumps(estimate)
