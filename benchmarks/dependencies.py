"""Measure installed size and import time of each required package.

    python -m benchmarks.dependencies

prints a table in Markdown, which ``docs/install.md`` shows. The size includes packages that
only this one requires. Times are the smallest of five starts of Python, minus the time of
Python itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

#: Modules whose names differ from those of their packages.
MODULES = {"scikit-learn": "sklearn"}


def needed(name: str) -> set[str]:
    """Return the names of a package and of all its requirements, without extras."""
    found: set[str] = set()
    left = [name]
    while left:
        one = re.sub(r"[-_.]+", "-", left.pop()).lower()
        if one in found:
            continue
        try:
            requires = metadata.requires(one) or ()
        except metadata.PackageNotFoundError:
            continue
        found.add(one)
        needs = map(Requirement, requires)
        left += [
            n.name
            for n in needs
            if n.marker is None or n.marker.evaluate({"extra": ""})
        ]
    return found


def size(name: str) -> float:
    """Return the installed size of a package in MB."""
    files = (file.locate() for file in metadata.files(name) or ())
    return sum(file.stat().st_size for file in map(Path, files) if file.is_file()) / 1e6


def seconds(module: str) -> float:
    """Return the seconds for importing a module, or for starting Python if the name is empty."""
    least = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        code = f"import {module}" if module else ""
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
        least = min(least, time.perf_counter() - began)
    return least


def main(names: list[str]) -> None:
    direct = [Requirement(line) for line in metadata.requires("inweights") or ()]
    required = [
        r.name for r in direct if r.marker is None or r.marker.evaluate({"extra": ""})
    ]
    names = [*required, *(name for name in names if name not in required)]
    bare = seconds("")
    print(
        "| package | MB | MB with what it alone brings | import, ms |\n|---|---|---|---|"
    )
    for name in names:
        others = set().union(*(needed(one) for one in names if one != name))
        alone = sum(size(one) for one in needed(name) - others | {name})
        took = 1000 * (seconds(MODULES.get(name, name)) - bare)
        print(f"| {name} | {size(name):.0f} | {alone:.0f} | {took:.0f} |")
    total = sum(size(one) for one in set().union(*(needed(name) for name in required)))
    print(f"| all that is required | | {total:.0f} | |")


if __name__ == "__main__":
    main(sys.argv[1:])
