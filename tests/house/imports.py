"""Who imports whom: modules of the package, and the circles among them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
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


@cache
def imported(path: Path) -> frozenset[str]:
    """Whole names of what a file imports of the library, within functions and for types too."""
    return _names(ast.walk(_tree(path)))


@cache
def needed(path: Path) -> frozenset[str]:
    """The same without what is imported for type checkers alone."""
    return _names(_running(_tree(path)))


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


def _tree(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those below ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        yield node
        yield from _running(node)


def _names(nodes: Iterator[ast.AST]) -> frozenset[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(name for name in found if name.startswith("inweights."))
