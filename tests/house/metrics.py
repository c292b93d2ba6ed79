"""``make metrics``: how large the house is, and how much of it is long, wide or said twice.

``python -m tests.house.metrics --list`` names what is long or wide, the largest first.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from tests.house.imports import SOURCE, circles

#: Lines that a repeated run has at least, and places it may have before it is a habit.
RUN, PLACES = 6, 8
#: Folders that are a plain list of items of one kind, and the package itself.
LISTS = {"models", "probes", "."}
#: What each number may be at most.
BARS = {
    "lines in all": 64_000,
    "lines of recipes, by file": 9_600,
    "lines of recipes, with what they share": 12_500,
    "lines of experiments": 5_900,
    "modules of experiments": 24,
    "functions over 60 lines": 40,
    "functions with more than 7 parameters": 12,
    "files over 300 lines": 12,
    "pairs of repeated lines": 150,
    "folders with too many names": 0,
    "circles of imports": 0,
}


def files(folder: Path = SOURCE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def lines(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def functions() -> Iterator[tuple[str, int, int]]:
    """Name, lines and parameters of every function; ``self`` is none."""
    for path in files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                own = [one for one in given if one.arg not in ("self", "cls")]
                name = f"{path.relative_to(SOURCE)}:{node.name}"
                yield name, (node.end_lineno or 0) - node.lineno + 1, len(own)


def names_in(folder: Path) -> int:
    return sum(not one.name.startswith("__pycache__") for one in folder.iterdir())


def crowded() -> list[str]:
    """Folders that show more names than one can take in; recipes of a paper are free."""
    papers = {path.parent for path in SOURCE.glob("recipes/*/*.toml")}
    found = []
    for folder in sorted({path.parent for path in files()} - papers):
        name = str(folder.relative_to(SOURCE))
        if names_in(folder) > (20 if name in LISTS else 14):
            found.append(f"{name} ({names_in(folder)})")
    return found


def repeated() -> int:
    """Pairs of places that share at least ``RUN`` lines to the letter."""
    seen: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path in files():
        text = path.read_text(encoding="utf-8").splitlines()
        kept = [(place, line.strip()) for place, line in enumerate(text) if _counts(line)]
        for start in range(len(kept) - RUN + 1):
            run = kept[start : start + RUN]
            seen[tuple(line for _, line in run)].append((path, run[0][0]))
    pairs: set[tuple[Path, Path, int]] = set()
    for places in seen.values():
        if len(places) <= PLACES:
            for (one, at), (other, there) in combinations(places, 2):
                pairs.add((one, other, at - there))
    return len(pairs)


def _counts(line: str) -> bool:
    """Whether a line says something: no blank, comment, bracket alone, or import."""
    text = line.strip()
    return bool(re.search(r"\w", text)) and not re.match(r"#|from |import |\"\"\"$", text)


def measured() -> dict[str, int]:
    """Every number that has a bar."""
    papers = {path.parent for path in SOURCE.glob("recipes/*/*.toml")}
    of_papers = [path.with_suffix(".py") for folder in papers for path in folder.glob("*.toml")]
    sizes = list(functions())
    return {
        "lines in all": lines(files()),
        "lines of recipes, by file": lines(of_papers),
        "lines of recipes, with what they share": lines(files(SOURCE / "recipes")),
        "lines of experiments": lines(files(SOURCE / "experiments")),
        "modules of experiments": sum(
            path.name != "__init__.py" for path in files(SOURCE / "experiments")
        ),
        "functions over 60 lines": sum(long > 60 for _, long, _ in sizes),
        "functions with more than 7 parameters": sum(many > 7 for _, _, many in sizes),
        "files over 300 lines": sum(lines([path]) > 300 for path in files()),
        "pairs of repeated lines": repeated(),
        "folders with too many names": len(crowded()),
        "circles of imports": len(circles()),
    }


def longest() -> Iterator[str]:
    """What is over the limits of a function or a file, the largest of each kind first."""
    sizes = list(functions())
    whole = [(lines([path]), str(path.relative_to(SOURCE))) for path in files()]
    for unit, most, found in (
        ("parameters", 7, [(many, name) for name, _, many in sizes]),
        ("lines", 60, [(long, name) for name, long, _ in sizes]),
        ("lines", 300, whole),
    ):
        yield f"more than {most} {unit}"
        yield from (f"  {n:4} {name}" for n, name in sorted(found, reverse=True) if n > most)


def main() -> None:
    if "--list" in sys.argv:
        print("\n".join(longest()))
        return
    print("lines by package, and names in its folder")
    for folder in sorted(path for path in SOURCE.iterdir() if (path / "__init__.py").exists()):
        print(f"  {folder.name:12} {lines(files(folder)):6} {names_in(folder):4}")
    print()
    for name, value in measured().items():
        mark = "✓" if value <= BARS[name] else "✗"
        print(f"{mark} {value:6} ≤ {BARS[name]:6}  {name}")
    for what in (*crowded(), *(" ↔ ".join(circle) for circle in circles())):
        print(f"  {what}")


if __name__ == "__main__":
    main()
