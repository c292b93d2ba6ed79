"""The changelog lists every former name that still works with a warning."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.imports import SOURCE

CHANGELOG = SOURCE.parents[1] / "CHANGELOG.md"
#: Deprecated names by the file that warns of them, without those in ``renamed`` of ``lazily``.
WARNED = {
    "actions/making.py": "effort=",
    "config/__init__.py": "config.to_dict",
    "experiments/engine/cluster.py": "engine.cluster.Ray",
    "experiments/grammar/differences.py": "grammar.differences",
    "experiments/grammar/figure.py": "films=",
    "experiments/grammar/paper.py": "Paper(ours=",
}
#: The file that warns of the names in ``renamed``.
MACHINERY = "support/lazy.py"


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call of a function or method of this name, with its file."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        if name not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(name):
                yield path.relative_to(SOURCE).as_posix(), node


def renamed() -> Iterator[str]:
    """Yield every former name that ``lazily`` still resolves."""
    for file, call in calls("lazily"):
        package = Path(file).parent.as_posix().replace("/", ".").strip(".")
        for option in call.keywords:
            if option.arg == "renamed":
                for former in ast.literal_eval(option.value):
                    yield f"{package}.{former}" if package else f"inweights.{former}"


def test_every_deprecated_name_is_listed() -> None:
    warn = {
        file
        for file, call in calls("warn")
        if "DeprecationWarning" in ast.unparse(call)
    }
    assert warn == {*WARNED, MACHINERY}
    section = CHANGELOG.read_text("utf-8").partition("### Deprecated")[2]
    listed = section.partition("\n### ")[0]
    names = [*renamed(), *WARNED.values()]
    assert len(names) > len(WARNED)
    assert [name for name in names if name not in listed] == []


def test_no_entry_stands_before_the_groups_of_a_release() -> None:
    """A merge by union may restore entries, before the headings under which they are now."""
    released = CHANGELOG.read_text("utf-8").partition("\n## 0.2.0 ")[2]
    added = released.partition("### Added\n")[2]
    assert added.lstrip("\n").startswith("#### ")
    entries = [line for line in added.splitlines() if line.startswith("- ")]
    assert len(set(entries)) == len(entries)
