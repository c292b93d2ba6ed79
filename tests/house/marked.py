"""Find the files with slow tests from their text, without importing them.

A process takes ten seconds to import all files, and a third of them have slow tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Text by which a module marks some of its tests as slow.
SLOW = re.compile(r"\bmark\.slow\b|\bmark\.fast_cases\b|\bmostly_slow\b")
_IMPORT = re.compile(
    r"^\s*(?:from (tests[\w.]*) import ([\w, ]+)|import (tests[\w.]*))", re.MULTILINE
)


def files_of_slow_tests() -> list[str]:
    """Return the files that mark a test as slow, or import a module of tests that does.

    A marker comes from the file itself, or from a class or parameters that it imports.

    Example:
        >>> "tests/recipes/test_recipes.py" in files_of_slow_tests()
        True
    """
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    found = [file for file in files if _any_says(file, set())]
    return [file.relative_to(ROOT).as_posix() for file in found]


def _any_says(file: Path, seen: set[Path]) -> bool:
    """Return whether a file, or one that it imports, marks a test as slow."""
    if file in seen:
        return False
    seen.add(file)
    text = _text(file)
    return bool(SLOW.search(text)) or any(
        _any_says(other, seen) for other in _imported(text)
    )


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _imported(text: str) -> Iterator[Path]:
    """Yield files of tests that a text imports, also by ``from folder import module``."""
    for package, names, module in _IMPORT.findall(text):
        whole = [
            f"{package}.{name.split()[0]}" for name in names.split(",") if name.strip()
        ]
        for one in (package or module, *whole):
            file = ROOT / (one.replace(".", "/") + ".py")
            if file.exists():
                yield file
