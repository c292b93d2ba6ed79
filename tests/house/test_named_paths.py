"""Files and folders that the pages for contributors name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Folders to which a path may be relative.
HOMES = (ROOT, ROOT / "src" / "inweights", ROOT / "tests", ROOT / "docs")
#: Text that is not checked: URLs, placeholders, and files that a command or a user makes.
NOT_KEPT = re.compile(
    r"://|[<>*{$%]|NAME|\.venvs?/|^results/$|fuzz\.jsonl|htmlcov|^(build|dist)/"
)
_PATH = re.compile(r"`([\w.@<>{}$*-]+(?:/[\w.@<>{}$*-]*)+|\w+\.(?:py|toml|md|tsv))`")


def named(page: str) -> list[str]:
    found = _PATH.findall((ROOT / page).read_text(encoding="utf-8"))
    return [path for path in dict.fromkeys(found) if not NOT_KEPT.search(path)]


def is_there(path: str) -> bool:
    places = [home / path for home in HOMES]
    ends = [
        place.with_name(f"{place.name}{end}") for place in places for end in ("", ".py")
    ]
    return any(place.exists() for place in ends) or (
        "/" not in path and any(ROOT.rglob(path))
    )


@pytest.mark.parametrize(
    "page",
    [
        "CONTRIBUTING.md",
        "README.md",
        "RELEASING.md",
        "docs/architecture.md",
        "docs/first-issues.md",
    ],
)
def test_what_a_page_names_is_there(page: str) -> None:
    gone = [path for path in named(page) if not is_there(path)]
    assert not gone, f"{page} names {', '.join(gone)}"


def test_paths_are_found() -> None:
    assert "support/keys/sources.py" in named("docs/architecture.md")
    assert not is_there("experiments/no_such_module.py")
