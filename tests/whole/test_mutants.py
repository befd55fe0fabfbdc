"""The mutation run: it makes the mistakes it says, only where they matter, and what it plants is still there."""

from __future__ import annotations

import ast
import random
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = '''
"""A module: 1 + 1."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    WIDTH = 1

LIMIT: int = 10

def least(a, b, *, strict=False):
    """The least, 0 < 1."""
    if not a < b and a:
        return pow(b, max(a, b)) - 0.5
    for at in zip([1], [2], strict=True):
        a += 1
    return a

class Thing:
    def __repr__(self):
        return 1 + 1
'''
MISTAKES = {
    "another comparison": "a <= b",
    "and for or": "not a < b or a",
    "a sign lost": "not not a < b and a",
    "a condition negated": "if not (not a < b and a):",
    "arguments swapped": "pow(max(a, b), b)",
    "another operator": "max(a, b)) + 0.5",
    "a number doubled": "max(a, b)) - 1.0",
    "a number one more": "LIMIT: int = 11",
    "a number one less": "LIMIT: int = 9",
    "a truth value flipped": "strict=True):\n",
    "an early return": "return\n    return a",
}


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The modules of the run, which lie beside the benchmarks."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import mutant_tests
    import mutants
    import mutation
    import planted

    return {module.__name__: module for module in (mutant_tests, mutants, mutation, planted)}


def all_mistakes(tools: dict[str, Any], folder: Path) -> list[Any]:
    (folder / "module.py").write_text(SOURCE)
    return list(tools["mutation"].sample(folder, "module.py", 10**6, random.Random(1)))


def test_every_kind_of_mistake_is_made(tools: dict[str, Any], tmp_path: Path) -> None:
    made = all_mistakes(tools, tmp_path)
    for kind, text in MISTAKES.items():
        assert any(mutant.kind == kind and text in mutant.mutated for mutant in made), kind
    assert any(mutant.kind.endswith("removed") and "a += 1" not in mutant.mutated for mutant in made)
    for mutant in made:
        ast.parse(mutant.mutated)
        assert mutant.original != mutant.mutated
        assert mutant.change[0] != mutant.change[1]


def test_nothing_is_changed_where_it_could_not_matter(tools: dict[str, Any], tmp_path: Path) -> None:
    for mutant in all_mistakes(tools, tmp_path):
        for text in ("A module: 1 + 1.", "WIDTH = 1\n", "The least, 0 < 1.", "return 1 + 1"):
            assert text in mutant.mutated
        assert "max(b, a)" not in mutant.mutated
        assert "strict=True)" in mutant.mutated or "for at" not in mutant.mutated


def test_every_module_has_tests(tools: dict[str, Any]) -> None:
    tests = tools["mutant_tests"]
    for file in tests.modules(ROOT):
        named, *found = tests.tests_of(ROOT, file)
        assert named == file and found and (ROOT / file).exists()
    known = {name for names in tests.TESTS.values() for name in names}
    assert all(len(list(ROOT.glob(f"tests/*/test_{name}.py"))) == 1 for name in known)


def test_mistakes_are_drawn_by_the_seed(tools: dict[str, Any]) -> None:
    names = ["core/field", "core/domain"]
    places = [[one.place for one in tools["mutants"].chosen(names, 5, seed)] for seed in (1, 1, 2)]
    assert len(places[0]) == 5 and places[0] == places[1] != places[2]


def test_what_is_planted_is_still_there(tools: dict[str, Any]) -> None:
    """A plant whose text is gone would test nothing: change its text with the code."""
    plants = tools["planted"].PLANTS
    assert len({plant.name for plant in plants}) == len(plants)
    for plant in plants:
        text = (ROOT / plant.file).read_text("utf-8")
        assert text.count(plant.old) == 1 and plant.old != plant.new, plant.name
        if plant.file.endswith(".py"):
            ast.parse(text.replace(plant.old, plant.new))
        assert all((ROOT / test.partition("::")[0]).exists() for test in plant.tests)


def test_what_changes_nothing_is_still_there_and_has_a_reason() -> None:
    listed = tomllib.loads((ROOT / "benchmarks" / "equivalent_mutants.toml").read_text("utf-8"))["mutant"]
    for entry in listed:
        lines = [
            line.strip() for line in ast.unparse(ast.parse((ROOT / entry["file"]).read_text("utf-8"))).splitlines()
        ]
        assert all(line in lines for line in entry["old"].splitlines()), entry
        assert entry["new"] != entry["old"] and entry["reason"].endswith(".")


@pytest.mark.slow
def test_a_mistake_is_caught_or_survives(tools: dict[str, Any], tmp_path: Path) -> None:
    """The runner itself, on a small tree: one mistake that a test sees, and one that no test sees."""
    (tmp_path / "module.py").write_text("def double(x):\n    return 2 * x\n\ndef unseen():\n    return 1\n")
    (tmp_path / "test_module.py").write_text("import module\n\ndef test_double():\n    assert module.double(3) == 6\n")
    mutants = tools["mutants"]
    text = (tmp_path / "module.py").read_text()
    for old, new, code in (("2 * x", "2 + x", mutants.FAILED), ("return 1", "return 2", mutants.PASSED)):
        (tmp_path / "module.py").write_text(text.replace(old, new))
        assert mutants._pytest(tmp_path, ["test_module.py"], 120, slow=True) == code
