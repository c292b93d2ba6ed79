"""Who imports whom: modules of the package, and the circles among them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import networkx as nx

SOURCE = Path(__file__).parents[2] / "src" / "inweights"


@cache
def modules() -> Mapping[str, Path]:
    """Every module of the package by its dotted name below ``inweights``; packages, too."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imported(path: Path) -> frozenset[str]:
    """Whole names of what a file imports of the library, within functions and for types too."""
    return needed(path) | _found(path)[1]


def needed(path: Path) -> frozenset[str]:
    """The same without what is imported for type checkers alone."""
    return _found(path)[0]


def graph() -> nx.DiGraph:
    """An edge from each module to what it needs; a package is the names in its ``__init__``."""
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
    """Modules that need each other, also where the import is inside a function."""
    parts = nx.strongly_connected_components(graph())
    return sorted(sorted(part) for part in parts if len(part) > 1)


@cache
def _found(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Names that a file imports when it runs, and those for type checkers."""
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
            below += ast.iter_child_nodes(node)  # no expression holds an import
    return _names(running), _names(checked)


def _names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(name for name in found if name.startswith("inweights."))
