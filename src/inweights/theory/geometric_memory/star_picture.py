"""Compute pictures of path-star tasks, and what their statements reveal (Geometric Memory, App. A).

:func:`star_picture` returns the table for a figure, and :func:`star_design` a table of
fractions. Recipes use both. The graph of a world is computed from its statements, so
that the picture shows what a model is trained on.
"""

import itertools
from textwrap import wrap

import numpy as np
import polars as pl

from inweights.worlds.families.in_context import InContextStar
from inweights.worlds.families.path_star import PathStar
from inweights.worlds.world import Statements, World

#: Children of every node, ``u: {v, …}``, away from the root.
Children = dict[int, set[int]]
TRAINED = "trained path"
ASKED = "asked path"
NEITHER = "edges alone"


def star_picture(
    world: PathStar | InContextStar, *, examples: int = 2, seed: int = 0
) -> pl.DataFrame:
    """Return the graph of a path-star task, with coordinates of its nodes and sample statements.

    The in-weights task has one graph for all examples. In the in-context task, each
    example has its own graph.

    Args:
        world: Config of the task. A :class:`PathStar` must have ``branches=1``.
        examples: Number of facts of the in-context task that are drawn, from 0 to the
            number of facts, in addition to one query. This option has no effect on the
            in-weights task.
        seed: Root seed of the world.

    Returns:
        One row per node of each arm, with the root in every arm, and the columns
        ``panel`` (title of the graph), ``note`` (some of its statements as text),
        ``arm`` and ``depth`` (indices from 0; the root has depth 0), ``kind``
        (``trained path`` if the path of the arm is a fact, ``asked path`` if it is a
        query, otherwise ``edges alone``), ``node`` (name of the node; empty for the
        root in all arms but the first), ``x`` and ``y`` (coordinates, with the root at
        0).

    Raises:
        DataError: The in-weights task has no facts of the roles ``edge`` and ``path``.
        ConfigError: ``seed`` is not between 0 and 2**63 - 1, or the world does not fit
            in memory.
        IndexError: ``examples`` is larger than the number of facts of an in-context
            task.

    Example:
        >>> table = star_picture(PathStar(arms=4, nodes=3))
        >>> table.height, sorted(set(table["kind"]))
        (12, ['asked path', 'trained path'])
    """
    made = world.build(seed)
    if isinstance(world, PathStar):
        firsts = [int(made.facts.with_role(role)[0]) for role in ("edge", "path")]
        examples_of_roles = [_text(made, made.facts, first) for first in firsts]
        note = "\n".join([*examples_of_roles, _text(made, made.queries, 0)])
        goals = dict.fromkeys(_goals(made.queries), ASKED)
        goals |= dict.fromkeys(_goals(made.facts), TRAINED)
        return _panel(made, _children(made), goals, "in weights: one graph", note)
    shown = []
    for i in range(examples):
        title = f"in context: example {i + 1}"
        shown.append((title, made.facts, i, TRAINED))
    shown.append(("in context: asked", made.queries, 0, ASKED))
    panels = []
    for panel, statements, i, kind in shown:
        children = _children(made, statements.prompt(i))
        goal = int(statements.answer(i)[-1])
        panels.append(
            _panel(made, children, {goal: kind}, panel, _text(made, statements, i))
        )
    return pl.concat(panels)


def star_design(world: PathStar | InContextStar, *, seed: int = 0) -> pl.DataFrame:
    """Return how much the statements of a path-star task reveal about queried paths.

    Args:
        world: Config of the task. A :class:`PathStar` must have ``branches=1``.
        seed: Root seed of the world.

    Returns:
        One row with the columns ``told`` (fraction, from 0 to 1, of the queried paths
        that are facts; in the in-context task, only facts about the same graph are
        considered), ``edges`` (fraction of the edges of queried paths that facts or the
        prompt state), ``first`` (number of children of the root, each of which may be
        the first node of a path) and ``later`` (largest number of children of any other
        node on a path; 1 if each node determines the next).

    Raises:
        DataError: The in-weights task has no facts of the role ``edge``.
        ConfigError: ``seed`` is not between 0 and 2**63 - 1, or the world does not fit
            in memory.

    Example:
        >>> star_design(PathStar(arms=4, nodes=3)).rows()
        [(0.0, 1.0, 4, 1)]
    """
    made = world.build(seed)
    inside = isinstance(world, InContextStar)
    trained = {_key(made.facts, i, inside) for i in range(len(made.facts))}
    known: list[bool] = []
    edges: list[bool] = []
    first: set[int] = set()
    later = 0
    for i in range(len(made.queries)):
        children = _children(made, made.queries.prompt(i) if inside else None)
        steps = made.queries.answer(i).tolist()
        known.append(_key(made.queries, i, inside) in trained)
        pairs = list(itertools.pairwise(steps))
        edges += [v in children.get(u, ()) for u, v in pairs]
        first.add(len(children[steps[0]]))
        later = max(later, *(len(children[u]) for u, _ in pairs[1:]))
    return pl.DataFrame(
        {
            "told": [float(np.mean(known))],
            "edges": [float(np.mean(edges))],
            "first": [max(first)],
            "later": [later],
        }
    )


def _key(statements: Statements, i: int, inside: bool) -> tuple[object, ...]:
    """Return a key that equal examples share: the path and, for the in-context task, the graph."""
    prompt = statements.prompt(i).tolist()
    graph = (
        frozenset(zip(prompt[::2], prompt[1::2], strict=False))
        if inside
        else frozenset()
    )
    return tuple(statements.answer(i).tolist()), graph


def _goals(statements: Statements) -> list[int]:
    """Return the last node of every path that is the answer of a statement."""
    return [int(statements.answer(int(i))[-1]) for i in statements.with_role("path")]


def _children(made: World, prompt: np.ndarray | None = None) -> Children:
    """Return the children of each node, from a prompt ``u v u v … <query>`` or from all facts."""
    if prompt is None:
        prompts, answers = made.facts.matrix(made.facts.with_role("edge"))
        pairs = zip(prompts[:, -1].tolist(), answers[:, -1].tolist(), strict=True)
    else:
        stated = prompt[
            : int(np.flatnonzero(prompt == made.vocabulary.id("<query>"))[0])
        ]
        pairs = zip(stated[::2].tolist(), stated[1::2].tolist(), strict=True)
    children: Children = {}
    for u, v in pairs:
        children.setdefault(u, set()).add(v)
    return children


def _text(made: World, statements: Statements, i: int) -> str:
    """Return a statement as text in short lines; a query begins with ``asked:``."""
    prompt = made.vocabulary.text(statements.prompt(i))
    answer = made.vocabulary.text(statements.answer(i))
    prefix = "asked: " if statements is made.queries else ""
    return "\n".join(wrap(f"{prefix}{prompt} → {answer}", 38))


def _panel(
    made: World, children: Children, goals: dict[int, str], panel: str, note: str
) -> pl.DataFrame:
    """Return the rows of one graph, whose arms are straight lines around the root."""
    (root,) = set(children) - set().union(*children.values())
    rows = []
    for arm, node in enumerate(sorted(children[root])):
        line = [root, node]
        while line[-1] in children:
            line += children[line[-1]]
        turn = 2 * np.pi * arm / len(children[root])
        kind = goals.get(line[-1], NEITHER)
        for depth, one in enumerate(line):
            rows.append(
                {
                    "panel": panel,
                    "note": note,
                    "arm": arm,
                    "depth": depth,
                    "kind": kind,
                    "node": "" if depth == 0 and arm else made.vocabulary.names[one],
                    "x": depth * float(np.sin(turn)),
                    "y": depth * float(np.cos(turn)),
                }
            )
    return pl.DataFrame(rows)
