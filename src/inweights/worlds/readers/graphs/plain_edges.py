"""Read plain text with edges ``u=v`` and paths ``leaf=root,…,leaf``.

Each line is an edge ``u=v``, a node without edges ``u=``, or a path. Empty lines and
lines that start with ``#`` are skipped. :func:`read_paths` reads files of paths, and
``edge_lists.py`` reads all other edge files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path

from inweights.errors import DataError
from inweights.support.limits import read_text
from inweights.worlds.readers.graphs.edge_list import EdgeList


def is_plain(text: str) -> bool:
    """Return whether a text consists of lines ``u=v``, judged by the first line with content.

    The first line that is neither blank nor a comment must contain ``=`` and no tab. If
    there is no such line, the result is True.

    Args:
        text: Content of the file.
    """
    for line in map(str.strip, text.split("\n")):
        if line and not line.startswith("#"):
            # A tab separates columns, one of which may contain an equals sign.
            return "=" in line and "\t" not in line
    return True


def read_paths(path: str | Path) -> EdgeList:
    """Read plain text with paths; the steps of paths are also edges.

    Args:
        path: The file.

    Returns:
        The edges, the nodes and the paths. The edges are those of lines ``u=v``,
        followed by the steps of paths that no such line states in either direction.

    Raises:
        DataError: The file is missing, has no paths, or has a damaged line.
    """
    file = Path(path)
    edges = read_plain(file, read_text(file), complete=False)
    if not edges.paths:
        raise DataError(
            f"{file} has no paths; expected lines of the form 'leaf=root,…,leaf'"
        )
    steps = chain.from_iterable(map(pairwise, edges.paths))
    # An edge that is listed in either direction is not added again.
    written = set(map(frozenset, edges.links))
    new = [pair for pair in steps if frozenset(pair) not in written]
    return EdgeList.collect([*edges.links, *new], edges.nodes, edges.paths)


def read_plain(file: Path, text: str, *, complete: bool = True) -> EdgeList:
    """Read lines ``u=v``, ``u=`` and ``leaf=root,…,leaf``.

    Args:
        file: The file, used in error messages.
        text: Content of the file.
        complete: Whether each step of a path must be one of the listed edges, in either
            direction.

    Returns:
        The edges of lines ``u=v``, the nodes and the paths.

    Raises:
        DataError: A line is damaged; or with ``complete``, a step of a path is not an
            edge.
    """
    links = []
    lone = []
    paths = {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        left, *right = map(str.strip, line.split("="))
        if len(right) != 1 or not left or "," in left:
            raise DataError(
                f"{file}, line {number}: expected 'u=v', 'u=' or 'leaf=root,…,leaf', got '{line}'"
            )
        steps = tuple(map(str.strip, right[0].split(",")))
        if right == [""]:
            lone.append(left)
        elif len(steps) == 1:
            links.append((left, steps[0]))
        elif all(steps) and steps[-1] == left and len(set(steps)) == len(steps):
            paths[steps] = number
        else:
            raise DataError(
                f"{file}, line {number}: a path 'leaf=root,…,leaf' must contain each node once "
                f"and end at its leaf '{left}', got '{line}'"
            )
    if complete:
        _check_steps(file, links, paths)
    return EdgeList.collect(links, lone, paths)


def _check_steps(
    file: Path,
    links: Sequence[tuple[str, str]],
    paths: Mapping[tuple[str, ...], int],
) -> None:
    """Raise an error if a step of a path, given with its line number, is not an edge."""
    known = set(map(frozenset, links))
    for steps, number in paths.items():
        for u, v in pairwise(steps):
            if frozenset((u, v)) not in known:
                raise DataError(
                    f"{file}, line {number}: the path to '{steps[-1]}' needs the edge '{u}={v}', "
                    "which is missing"
                )
