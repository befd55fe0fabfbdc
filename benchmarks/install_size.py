"""What an installation brings, by extra: packages and megabytes on disk, as they are installed beside this Python.

    python benchmarks/install_size.py [--json]

Everything is counted that a package's own list of files names, compiled Python files aside. An extra shows what it
adds to the base.
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from sottovoce.estimates.render import text_table

ROOT = Path(__file__).parent.parent
MEGABYTE = 2**20


def named(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(wanted: list[str]) -> dict[str, float]:
    """The packages that requirements bring, all in all, and the megabytes of each."""
    found: dict[str, float] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in wanted]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        for asked in ("", *requirement.extras):
            if (key := (named(requirement.name), asked)) in seen:
                continue
            seen.add(key)
            try:
                package = distribution(requirement.name)
            except PackageNotFoundError:
                raise SystemExit(f"{requirement.name} is not installed here: run `make` first") from None
            files = (package.locate_file(file) for file in package.files or [] if file.suffix != ".pyc")
            found[key[0]] = sum(Path(str(file)).stat().st_size for file in files if Path(str(file)).exists()) / MEGABYTE
            waiting += [(Requirement(text), asked) for text in package.requires or []]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    base = closure(project["dependencies"])
    sizes = {"base": base}
    for extra, wanted in project["optional-dependencies"].items():
        if extra != "all":
            sizes[extra] = {name: size for name, size in closure(wanted).items() if name not in base}
    everything = {name: size for found in sizes.values() for name, size in found.items()}
    sizes["all of them"] = everything
    if as_json:
        print(json.dumps(sizes, indent=2))
        return
    rows = []
    for extra, found in sizes.items():
        largest = sorted(found, key=found.__getitem__, reverse=True)[:4]
        listed = ", ".join(f"{name} {found[name]:.0f}" for name in largest if found[name] >= 1)
        rows.append([extra, f"{sum(found.values()):,.0f}", str(len(found)), listed])
    print(text_table(["extra", "MB", "packages", "the largest, MB"], rows))


if __name__ == "__main__":
    main()
