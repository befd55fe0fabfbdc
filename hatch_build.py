"""Compiles the hot loops into the wheel: by Zig from PyPI, so that nobody needs a compiler of their own.

    SOTTO_PURE=1 pip wheel .                   # no compiled loops: runs everywhere, on NumPy alone
    SOTTO_TARGET=aarch64-macos pip wheel .     # for another system than this one
    SOTTO_CC=gcc pip wheel .                   # by a compiler of your own, for this system

Where Zig is not to be had, or compiling fails, the wheel is a pure one, and says so.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path("src", "sottovoce", "core", "kernels")
ZIG = "ziglang>=0.15"
TIMEOUT_SECONDS = 600

TARGETS = {
    "x86_64-linux": ("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64", ".so"),
    "aarch64-linux": ("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64", ".so"),
    "x86_64-macos": ("x86_64-macos.11.0", "macosx_11_0_x86_64", ".dylib"),
    "aarch64-macos": ("aarch64-macos.11.0", "macosx_11_0_arm64", ".dylib"),
    "x86_64-windows": ("x86_64-windows-gnu", "win_amd64", ".dll"),
}
"""What Zig calls a system, what a wheel calls it, and how its libraries end."""

LEVELS: dict[int, tuple[str, str]] = {
    1: ("x86_64", "-march=x86-64"),
    3: ("x86_64_v3", "-march=x86-64-v3"),
    4: ("x86_64_v4+avx512vpopcntdq", "-march=x86-64-v4 -mavx512vpopcntdq"),
}
"""Levels of x86-64 that get a library each, as Zig and as other compilers say it: `processor.c` tells them apart."""

FLAGS = ["-std=c11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-sanitize=undefined", "-s"]


def this_system() -> str | None:
    """The target that is this machine, if there is one."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    system = {"linux": "linux", "darwin": "macos", "win32": "windows"}.get(sys.platform)
    if system == "linux" and platform.libc_ver()[0] != "glibc":
        return None
    return name if (name := f"{machine}-{system}") in TARGETS else None


def wanted() -> str | None:
    """The target to compile for, or None for a pure wheel."""
    if os.environ.get("SOTTO_PURE") == "1":
        return None
    target = os.environ.get("SOTTO_TARGET") or this_system()
    if target is not None and target not in TARGETS:
        raise ValueError(f"SOTTO_TARGET must be one of {', '.join(TARGETS)}, got {target!r}")
    return target


def digest(folder: Path) -> str:
    """Of the C files, so that a library that is older than they are can be told."""
    whole = hashlib.sha256()
    for path in sorted([*folder.glob("*.c"), *folder.glob("*.h")]):
        whole.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def build(folder: Path, target: str) -> list[Path]:
    """Compile the C files of a folder: a library beside them for each level."""
    zig_target, _, suffix = TARGETS[target]
    sources = sorted(map(str, folder.glob("*.c")))
    own = os.environ.get("SOTTO_CC")
    command = shlex.split(own) if own else [sys.executable, "-m", "ziglang", "cc", "-target", zig_target]
    define, made = f'-DSOURCES="{digest(folder)}"', []
    for level, (processor, march) in (LEVELS if target.startswith("x86_64") else {1: ("baseline", "")}).items():
        path, choice = folder / f"loops_{level}{suffix}", shlex.split(march) if own else [f"-mcpu={processor}"]
        with tempfile.TemporaryDirectory() as place:
            part = Path(place, path.name)
            whole = [*command, *FLAGS, *choice, define, "-o", str(part), *sources]
            subprocess.run(whole, check=True, timeout=TIMEOUT_SECONDS)  # noqa: S603
            path.unlink(missing_ok=True)  # A library that is in use must not change.
            path.write_bytes(part.read_bytes())
        made.append(path)
    return made


class CompiledLoops(BuildHookInterface):  # type: ignore[type-arg]
    def dependencies(self) -> list[str]:
        return [] if wanted() is None or os.environ.get("SOTTO_CC") else [ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        target, folder = wanted(), Path(self.root, KERNELS)
        if target is None:
            return
        try:
            made = build(folder, target)
        except (OSError, subprocess.SubprocessError) as error:
            if os.environ.get("SOTTO_REQUIRE_ALL"):
                raise
            self.app.display_warning(f"the loops could not be compiled, so that NumPy must do: {error}")
            return
        if version != "editable":
            inside = Path(*KERNELS.parts[1:])
            build_data["force_include"].update({str(path): str(inside / path.name) for path in made})
        tag = sysconfig.get_platform() if os.environ.get("SOTTO_CC") else TARGETS[target][1]
        build_data["tag"] = f"py3-none-{tag.replace('-', '_').replace('.', '_')}"
        build_data["pure_python"] = False
