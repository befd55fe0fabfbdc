"""The JavaScript client: its built files are those of its modules, and its style and types are checked.

`make js` installs what this takes.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from javascript import CLIENT, NODE, REQUIRED, TIMEOUT_SECONDS, needs_node

ROOT = CLIENT.parents[1]
TOOLS = CLIENT / "node_modules"
needs_tools = pytest.mark.skipif(
    not TOOLS.exists() and not REQUIRED, reason="clients/js/node_modules is missing: run `make js`"
)


def run(package: str, *arguments: str, folder: Path = CLIENT) -> subprocess.CompletedProcess[str]:
    """Run the program of an npm package in a folder, by the same Node as all tests."""
    path = os.pathsep.join([str(Path(NODE).parent), os.environ.get("PATH", os.defpath)])
    return subprocess.run(
        [str(TOOLS / ".bin" / package), *arguments], cwd=folder, env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip


BUILT = ("sottovoce.js", "chances.js")


def build(config: Path, output: Path) -> list[bytes]:
    done = run("rollup", "--config", str(config), "--dir", str(output), "--silent", folder=config.parent)
    assert done.returncode == 0, done.stdout
    return files(output)


def files(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in BUILT]


@needs_node
@needs_tools
def test_the_built_files_are_those_of_the_modules(tmp_path: Path) -> None:
    built = build(CLIENT / "rollup.config.js", tmp_path)
    assert built == files(CLIENT), "run `npm run build` in clients/js"


@needs_node
@needs_tools
def test_a_change_of_a_module_changes_the_built_file(tmp_path: Path) -> None:
    """The test above can fail: one letter of one message is another file."""
    for name in ("package.json", "rollup.config.js"):
        (tmp_path / name).write_bytes((CLIENT / name).read_bytes())
    (tmp_path / "node_modules").symlink_to(TOOLS)
    (tmp_path / "src").mkdir()
    modules = {module.name: module.read_text(encoding="utf-8") for module in (CLIENT / "src").glob("*.js")}
    for name, text in modules.items():
        (tmp_path / "src" / name).write_text(text, encoding="utf-8")
    config, built = tmp_path / "rollup.config.js", files(CLIENT)
    assert build(config, tmp_path / "same") == built
    (tmp_path / "src" / "random.js").write_text(modules["random.js"].replace("there must be", "There must be"), "utf-8")
    assert build(config, tmp_path / "other") != built


@needs_node
@needs_tools
def test_rules_of_style() -> None:
    """Of the client, its tests and the pages."""
    done = run("eslint", "--config", "clients/js/eslint.config.js", "clients/js", "src/sottovoce/pages", folder=ROOT)
    assert done.returncode == 0, done.stdout


@needs_node
@needs_tools
def test_types() -> None:
    """Of the client and the pages, by what TypeScript infers and the comments say."""
    done = run("tsc")
    assert done.returncode == 0, done.stdout
