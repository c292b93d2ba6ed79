"""Print what people still have to fill in: ``python -m tests.house.citation``.

``make release`` runs this. With ``--publish``, as in the workflow of a release, the exit
code is 1 if anything is missing except for the DOI, which an archive assigns after the
first release.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[2] / "CITATION.cff"
#: Fields that name a place or a person outside of this repository.
LEFT_TO_PEOPLE = ("repository-code", "doi")
#: Start of the line that marks a field that people have not filled in yet.
MARK = "# TO FILL IN "
#: What is named as missing if ``pyproject.toml`` has no address of the project.
ADDRESS = "[project.urls] in pyproject.toml"


def citation() -> dict[str, Any]:
    """Return the fields of the citation file."""
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def missing(fields: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that people have not filled in yet.

    Example:
        >>> missing({"authors": [{"family-names": "A"}], "doi": "10.1/2"})
        ['repository-code']
    """
    named = all("family-names" in author for author in fields["authors"])
    lacking = [name for name in LEFT_TO_PEOPLE if not fields.get(name)]
    return lacking if named else ["authors", *lacking]


def marked(text: str) -> list[str]:
    """Return the names of the fields that the file marks as not filled in.

    Example:
        >>> marked("# TO FILL IN doi: that of the archive")
        ['doi']
    """
    lines = (line for line in text.splitlines() if line.startswith(MARK))
    return [line.removeprefix(MARK).partition(":")[0] for line in lines]


def main(words: list[str]) -> int:
    """Print what is missing; return 1 if this prevents publishing."""
    found = missing(citation())
    project = tomllib.loads((FILE.parent / "pyproject.toml").read_text("utf-8"))
    if not project["project"].get("urls"):
        found.append(ADDRESS)
    if found:
        sys.stdout.write(
            f"people have to fill in: {', '.join(found)}; see RELEASING.md, 'Once'\n"
        )
    return int("--publish" in words and bool(set(found) - {"doi"}))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
