"""Find the imports between modules of the package, and import cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import networkx as nx

SOURCE = Path(__file__).parents[2] / "src" / "inweights"


@cache
def modules() -> Mapping[str, Path]:
    """Return every module and package by its dotted name below ``inweights``."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imported(path: Path) -> frozenset[str]:
    """Return names that a file imports of the library, also in functions and for types."""
    return needed(path) | _found(path)[1]


def needed(path: Path) -> frozenset[str]:
    """Return names that a file imports, without imports for type checkers only."""
    return _found(path)[0]


def graph() -> nx.DiGraph:
    """Return the graph of imports at run time; a package has those of its ``__init__``."""
    made = nx.DiGraph()
    known = modules()
    for name, path in known.items():
        for whole in needed(path):
            other = whole.removeprefix("inweights.")
            while other not in known:
                other = other.rpartition(".")[0]
            if name and other and other != name:
                made.add_edge(name, other)
    return made


def circles() -> list[list[str]]:
    """Return groups of modules that import each other, also inside of functions."""
    parts = nx.strongly_connected_components(graph())
    return sorted(sorted(part) for part in parts if len(part) > 1)


@cache
def _found(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return names that a file imports at run time, and names for type checkers only."""
    running: list[ast.AST] = []
    checked: list[ast.AST] = []
    below: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while below:
        node = below.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            checked += ast.walk(node)
        elif isinstance(
            node, ast.stmt | ast.Module | ast.ExceptHandler | ast.match_case
        ):
            running.append(node)
            below += ast.iter_child_nodes(node)  # expressions contain no imports
    return _names(running), _names(checked)


def _names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(name for name in found if name.startswith("inweights."))
