"""What the page on installing says is what the package declares."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from sottovoce.core.lazy import EXTRAS

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DECLARED = set(PROJECT["optional-dependencies"])


def test_the_page_lists_every_extra() -> None:
    listed = re.findall(r"^\| `(\w+)` \| [\d,]+ \|", (ROOT / "docs" / "install.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(DECLARED)


def test_a_missing_package_is_named_with_an_extra_that_there_is() -> None:
    for package, extra in EXTRAS.items():
        wanted = " ".join(PROJECT["optional-dependencies"][extra])
        assert package.replace("_", "-") in wanted or package in wanted


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))])
def test_pages_name_extras_that_there_are(page: str) -> None:
    for extras in re.findall(r"sottovoce\[([\w,]+)\]", (ROOT / page).read_text("utf-8")):
        assert set(extras.split(",")) <= DECLARED
