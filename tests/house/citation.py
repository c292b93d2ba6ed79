"""``python -m tests.house.citation``: what only people can add to ``CITATION.cff``.

``make release`` prints it, so that it is not forgotten.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[2] / "CITATION.cff"
#: Fields that name a place or a person outside of this repository.
LEFT_TO_PEOPLE = ("repository-code", "doi")


def citation() -> dict[str, Any]:
    """Return the fields of the file."""
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


if __name__ == "__main__":
    if found := missing(citation()):
        sys.stdout.write(
            f"CITATION.cff lacks {', '.join(found)}; see RELEASING.md, 'Once'\n"
        )
