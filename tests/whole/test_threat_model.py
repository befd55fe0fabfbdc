"""The page on the threat model names the tests that prove it. They must be there."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "threat-model.md"


def test_every_test_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(test_\w+\.py)`", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 20
    assert named - {path.name for path in TESTS.glob("*/test_*.py")} == set()
