"""``make metrics``: compare measures of how hard the code is to read with their limits.

``python -m tests.house.metrics --list`` prints the places that each measure counts.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from tests.house import reading
from tests.house.imports import SOURCE, circles

#: Lowest number of lines of a repeated run, and the number of places up to which it counts.
RUN, PLACES = 6, 8
#: Folders that list items of one kind, and the package itself; they may have more files.
LISTS = {"models", "probes", "."}
#: Limits on lines of a function, parameters of a function and lines of a file; what is
#: above a limit is counted.
LONG, MANY, LARGE = 60, 7, 300


class Bar(NamedTuple):
    """The upper limit of a measure (lower with ``least``), and what it counts or computes."""

    limit: float
    places: Callable[[], Sequence[str]] | None = None
    value: Callable[[], float] | None = None
    least: bool = False

    def measured(self) -> float:
        """Return the computed value, or else the number of places."""
        if self.value is not None:
            return self.value()
        assert self.places is not None
        return len(self.places())

    def met(self, number: float) -> bool:
        """Return whether the number is within the limit."""
        return number >= self.limit if self.least else number <= self.limit


def files(folder: Path = SOURCE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def lines(paths: Sequence[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def _per_hundred(places: Callable[[], Sequence[str]]) -> Callable[[], float]:
    return lambda: 100 * len(places()) / reading.code_lines()


def long_functions() -> list[str]:
    found = [(one.lines, one.place) for one in reading.functions() if one.lines > LONG]
    return [f"{place} ({count} lines)" for count, place in sorted(found, reverse=True)]


def many_parameters() -> list[str]:
    every = [(len(one.parameters), one.place) for one in reading.functions()]
    found = sorted((one for one in every if one[0] > MANY), reverse=True)
    return [f"{place} ({count} parameters)" for count, place in found]


def large_files() -> list[str]:
    every = [(lines([path]), str(path.relative_to(SOURCE))) for path in files()]
    found = sorted((one for one in every if one[0] > LARGE), reverse=True)
    return [f"{place} ({count} lines)" for count, place in found]


def names_in(folder: Path) -> int:
    return sum(not one.name.startswith("__pycache__") for one in folder.iterdir())


def crowded() -> list[str]:
    """Return folders with too many names; folders of a paper's recipes are left out."""
    papers = {path.parent for path in SOURCE.glob("recipes/*/*.toml")}
    found = []
    for folder in sorted({path.parent for path in files()} - papers):
        name = str(folder.relative_to(SOURCE))
        if names_in(folder) > (20 if name in LISTS else 14):
            found.append(f"{name} ({names_in(folder)})")
    return found


def repeated() -> list[str]:
    """Return pairs of places that share at least ``RUN`` identical lines."""
    seen: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path in files():
        text = path.read_text(encoding="utf-8").splitlines()
        kept = [
            (place, line.strip()) for place, line in enumerate(text, 1) if _counts(line)
        ]
        for start in range(len(kept) - RUN + 1):
            run = kept[start : start + RUN]
            seen[tuple(line for _, line in run)].append((path, run[0][0]))
    pairs: dict[tuple[Path, Path, int], str] = {}
    for places in seen.values():
        if len(places) > PLACES:
            continue
        for (one, at), (other, there) in combinations(places, 2):
            both = f"{one.relative_to(SOURCE)}:{at} and {other.relative_to(SOURCE)}:{there}"
            pairs.setdefault((one, other, at - there), both)
    return list(pairs.values())


def _counts(line: str) -> bool:
    """Return whether a line is not blank, a comment, a lone bracket or an import."""
    text = line.strip()
    return bool(re.search(r"\w", text)) and not re.match(
        r"#|from |import |\"\"\"$", text
    )


def circles_of_imports() -> list[str]:
    return [" and ".join(circle) for circle in circles()]


def _nested() -> list[str]:
    return reading.places_of_comprehensions(nested=True)


BARS: Mapping[str, Bar] = {
    "tokens in a line of code": Bar(9, value=reading.tokens_a_line),
    "comprehensions in 100 lines of code": Bar(
        4, value=_per_hundred(reading.places_of_comprehensions)
    ),
    "nested comprehensions in 100 lines of code": Bar(
        0.05, _nested, _per_hundred(_nested)
    ),
    "comment lines for 100 lines of code": Bar(
        3,
        value=lambda: 100 * reading.comment_lines() / reading.code_lines(),
        least=True,
    ),
    "chained conditional expressions": Bar(0, reading.places_of_chained_conditionals),
    "places that the formatter skips, except tables of numbers": Bar(
        0, reading.places_of_skipped_formatting
    ),
    "% of lines over 95 characters": Bar(
        1,
        value=lambda: 100 * len(reading.places_of_wide_lines()) / lines(files()),
    ),
    "public functions of two or more parameters without Args": Bar(
        0, lambda: reading.places_without("Args")
    ),
    "public functions that do not say what they return": Bar(
        0, reading.places_without_a_result
    ),
    "functions over 60 lines": Bar(20, long_functions),
    "functions with more than 7 parameters": Bar(12, many_parameters),
    "files over 300 lines": Bar(0, large_files),
    "pairs of repeated lines": Bar(150, repeated),
    "folders with too many names": Bar(0, crowded),
    "circles of imports": Bar(0, circles_of_imports),
}


def main() -> None:
    if "--list" in sys.argv:
        for name, bar in BARS.items():
            if bar.places is None:
                continue
            print(name)
            for place in bar.places():
                print(f"  {place}")
        return
    print("For information: lines of each package, and names in its folder")
    for folder in sorted(
        path for path in SOURCE.iterdir() if (path / "__init__.py").exists()
    ):
        print(f"  {folder.name:12} {lines(files(folder)):6} {names_in(folder):4}")
    print()
    for name, bar in BARS.items():
        number = bar.measured()
        mark = "✓" if bar.met(number) else "✗"
        sign = "≥" if bar.least else "≤"
        print(f"{mark} {number:7.4g} {sign} {bar.limit:5g}  {name}")


if __name__ == "__main__":
    main()
