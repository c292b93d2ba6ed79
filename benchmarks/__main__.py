"""Print every performance target with the measured value, and why it is missed, if it is.

``python -m benchmarks`` prints the table of the stored results
(``results/benchmarks``), each with the machine on which it was measured; ``--write`` also
inserts it into ``docs/performance.md``. Nothing is measured here; ``make bench`` measures.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "benchmarks"
PAGE = HERE.parent / "docs" / "performance.md"
BEGIN, END = "<!-- python -m benchmarks --write -->", "<!-- end -->"
HEAD = ("target", "aim", "achieved", "")


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    what: str
    aim: str
    achieved: str
    verdict: str

    @property
    def cells(self) -> tuple[str, ...]:
        return self.what, self.aim, self.achieved, self.verdict


def of(table: Mapping[str, Any], key: str) -> Any:
    """Return the entry of a key, or the entry for all other keys."""
    return table.get(key, table.get("*"))


def rows_of(target: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[Row]:
    """Return the lines of one target, one per stored row; rows without an aim have only numbers."""
    names = target["value"] if isinstance(target["value"], list) else [target["value"]]
    least = "least" in target
    limits: dict[str, float] = target["least" if least else "most"]
    for row in stored.get(target["rows"], ()):
        if "error" in row:
            continue
        by = target["by"]
        key = by.format(**row) if "{" in by else str(row[by])
        limit = of(limits, key)
        if any(name not in row for name in names) or (limit is None and limits):
            continue
        value = sum(row[name] for name in names)
        verdict = ""
        if limit is not None:
            met = value >= limit if least else value <= limit
            reasons: dict[str, str] = target.get("why", {})
            why = of(reasons, key)
            verdict = "met" if met else f"missed: {why}" if why else "missed"
        aim = "–" if limit is None else f"{'≥' if least else '≤'} {limit:g}"
        yield Row(
            target["what"].format(**row),
            aim,
            f"{value:,.3g}".replace("e+0", "e"),
            verdict,
        )


def machine(about: Mapping[str, Any]) -> str:
    """Return a description of a result's machine in one line."""
    torch = about.get("torch") or {}
    commits = [str(one["commit"])[:8] for one in about.get("repositories", {}).values()]
    version = f"torch {about['packages'].get('torch', '?')}"
    cores = f"{about.get('cores')} cores"
    named = [f"commit {commit}" for commit in commits]
    parts = [about.get("processor"), cores, torch.get("instructions"), version, *named]
    return ", ".join(str(part) for part in parts if part)


def earlier(stored: Mapping[str, Any]) -> list[str]:
    """Return a sentence about the other commits at which rows were measured."""
    repositories = stored["environment"].get("repositories", {}).values()
    now = {str(one["commit"])[:8] for one in repositories}
    rows = stored.get("rows", ())
    found = {row["commit"] for row in rows if isinstance(row, dict) and "commit" in row}
    return [f"some rows at commit {commit}" for commit in sorted(found - now)]


def tables() -> Iterator[tuple[str, str, list[Row]]]:
    """Return the file, the machine and the lines of each stored result."""
    targets = tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8"))[
        "targets"
    ]
    for file in dict.fromkeys(target["file"] for target in targets):
        path = RESULTS / f"{file}.json"
        if not path.exists() or not path.stat().st_size:
            yield (
                file,
                f"not measured yet: results/benchmarks/{file}.json is missing",
                [],
            )
            continue
        stored = json.loads(path.read_text(encoding="utf-8"))
        found = [
            row for t in targets if t["file"] == file for row in rows_of(t, stored)
        ]
        on = [stored["gpu"]] if stored.get("gpu") else []
        about = [*on, machine(stored["environment"]), *earlier(stored)]
        yield file, ", ".join(about), found


def markdown() -> str:
    """Return all tables as Markdown."""
    parts = []
    for file, about, rows in tables():
        lines = [f"`results/benchmarks/{file}.json`: {about}.", ""]
        cells = (HEAD, ("---",) * len(HEAD), *(row.cells for row in rows))
        lines += ["| " + " | ".join(line) + " |" for line in cells]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="put the table into the page, too"
    )
    given = parser.parse_args()
    missed = counted = 0
    for file, about, rows in tables():
        print(f"{file}: {about}")
        for row in rows:
            print(f"  {row.what:58} {row.aim:>8} {row.achieved:>9}  {row.verdict}")
            missed, counted = (
                missed + row.verdict.startswith("missed"),
                counted + bool(row.verdict),
            )
    print(f"{counted - missed} of {counted} targets are met")
    if given.write:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END)[1]
        PAGE.write_text(
            f"{before}{BEGIN}\n\n{markdown()}\n\n{END}{after}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
