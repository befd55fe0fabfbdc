"""A program in an interpreter of its own, and which libraries it loaded."""

from __future__ import annotations

import subprocess
import sys

BEFORE = "import sys\nat_first = set(sys.modules)\n"
AFTER = """
added = {name.partition(".")[0] for name in set(sys.modules) - at_first} - set(sys.stdlib_module_names)
print(sorted(name for name in added if not name.startswith(("_", "sottovoce"))))
"""


def run(program: str, given: bytes = b"") -> str:
    """What a program prints, and last what it loaded beside sottovoce and the standard library.

    Some systems load a sitecustomize of their own into every interpreter; what is there at first is not the program's.
    """
    done = subprocess.run(
        [sys.executable, "-I", "-c", BEFORE + program + AFTER], input=given, capture_output=True, timeout=60, check=True
    )
    return done.stdout.decode()
