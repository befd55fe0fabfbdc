"""The compiled loops, for tests that compare them with NumPy."""

from __future__ import annotations

import os
from typing import Any

import pytest


def compiled_loops() -> Any:
    """Skips a test where there are none, unless nothing may be skipped."""
    try:
        from sottovoce.core.kernels import compiled
    except ImportError as error:
        (pytest.fail if os.environ.get("SOTTO_REQUIRE_ALL") else pytest.skip)(str(error))
    return compiled
