"""The page on the architecture: every module that it names is there, and no walk passes one twice."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = dict(re.findall(r"^### (.+?)\n(.*?)(?=^### |\Z)", PAGE, flags=re.M | re.S))


def test_the_rooms_are_those_of_the_import_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    layers = [layer.split(" | ") for layer in contract["layers"]]
    table = re.findall(r"^\| (`.+?) \|", PAGE, flags=re.M)
    assert [re.findall(r"`(\w+)`", row) for row in table] == layers
    folders = {path.name for path in (ROOT / "src" / "sottovoce").iterdir() if (path / "__init__.py").exists()}
    assert folders == {room for layer in layers for room in layer}


def test_there_are_five_walks() -> None:
    assert len(WALKS) == 5


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_passes_each_module_once(walk: str) -> None:
    steps = re.findall(r"^\d+\. `([\w./-]+)`", WALKS[walk], flags=re.M)
    places = [ROOT / step if step.startswith("clients/") else ROOT / "src" / "sottovoce" / step for step in steps]
    assert len(steps) >= 10 and len(set(steps)) == len(steps)
    assert [step for step, place in zip(steps, places, strict=True) if not place.exists()] == []


def test_no_two_classes_have_one_name() -> None:
    sources = (ROOT / "src" / "sottovoce").rglob("*.py")
    names = Counter(name for path in sources for name in re.findall(r"^class (\w+)", path.read_text("utf-8"), re.M))
    assert [name for name, count in names.items() if count > 1] == []


PACKAGES = [path.parent for path in sorted((ROOT / "src" / "sottovoce").rglob("__init__.py"))]


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)
def test_no_name_that_is_imported_on_first_use_is_that_of_a_module_beside_it(folder: Path) -> None:
    """Importing the module would put it in the place of the name."""
    package = import_module(".".join(folder.relative_to(ROOT / "src").parts))
    homes = getattr(package, "_HOMES", {})
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert not modules & set(homes)
    assert all(getattr(package, name) is not None for name in homes)
