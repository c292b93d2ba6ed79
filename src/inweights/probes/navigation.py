"""Can a path be read off the embeddings? From a leaf to the nodes above it, by depth.

A model that answers with the first node of a leaf's arm has to find that node from the leaf alone.
If the embeddings are frozen it can only do so if they say it: either because the leaf's own first
node is the nearest one, or because one affine map, the same for all arms, leads there. The map is
a ridge regression fitted on the arms whose paths are trained and judged on those that are held
out, so that it says what is *reachable* by a linear reader, where nearness says what is plain.

Shapes: ``R`` replicas, ``d`` arms, ``p`` nodes of a path, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.geometry.cosines import node_vectors
from inweights.probes.needs import holds
from inweights.training.batches.worlds import as_worlds
from inweights.training.scoring import answer_ranks
from inweights.worlds.arrays import Float, Floats, Int
from inweights.worlds.world import Ids, Statements, Worlds

#: Queries whose similarities to all arms are held at once.
_CHUNK = 1024


@holds(states=5, statements=220)
def navigation(
    model: Model, worlds: Worlds, *, layer: str = "tokens", ridge: float = 1e-3
) -> pl.DataFrame:
    """How often a held-out leaf leads to the node of its own arm, by the depth of that node.

    Args:
        model: ``R`` replicas with a table of token embeddings.
        worlds: Worlds with paths (facts and queries of role ``path``): one, or one a replica.
        layer: ``tokens`` for the embeddings, or one of the model's layers.
        ridge: Penalty of the map, as a share of the mean variance of a coordinate.

    Returns:
        A row for each replica and depth from 1 (the first node of an arm) to ``p - 2`` (the leaf's
        neighbour): ``replica, depth, hops`` (from the leaf), ``nearest`` and ``ridge`` (share of
        held-out leaves whose own node of that depth is the closest by cosine, among all arms:
        as it is, and after the map), ``explained`` (share of the held-out nodes' variance that
        the map explains), ``chance`` (``1 / d``).

    Raises:
        DataError: A world has no trained or no held-out paths, or they have no inner nodes.

    Example:
        >>> import inweights as iw
        >>> lines = np.array([[0, 3 * arm + 1, 3 * arm + 2, 3 * arm + 3] for arm in range(5)])
        >>> told = iw.Statements.build({"path": (lines[:3, -1:], lines[:3])})
        >>> asked = iw.Statements.build({"path": (lines[3:, -1:], lines[3:])})
        >>> nodes = iw.Vocabulary({"node": [str(i) for i in range(16)]})
        >>> world = iw.World("star", nodes, told, asked)
        >>> model = iw.GPTConfig(width=8).build(vocabulary=16, seeds=[0])
        >>> navigation(model, world).select("depth", "hops", "chance").rows()
        [(1, 2, 0.2), (2, 1, 0.2)]
    """
    each = as_worlds(worlds, model)
    table = node_vectors(model, model.vocabulary, layer)
    rows: list[dict[str, float]] = []
    for replica in range(model.replicas):
        world = each[replica if len(each) > 1 else 0]
        trained, asked = paths_of(world.facts), paths_of(world.queries)
        if trained.shape[1] != asked.shape[1] or trained.shape[1] < 3:
            raise DataError(
                "navigation needs trained and held-out paths of one length with at least 3 "
                f"nodes, got {trained.shape[1]} and {asked.shape[1]}"
            )
        vectors = table[replica] - table[replica, np.concatenate([trained, asked])].mean((0, 1))
        arms = np.concatenate([trained, asked])
        own = len(trained) + np.arange(len(asked))
        for depth in range(1, arms.shape[1] - 1):
            leaves, nodes = vectors[arms[:, -1]], vectors[arms[:, depth]]
            nearest = float((_closest(leaves[own], nodes) == own).mean())
            # The map may shift, too: both sides are centred on the trained arms.
            leaves = leaves - leaves[: len(trained)].mean(0)
            nodes = nodes - nodes[: len(trained)].mean(0)
            weight = ridge_map(leaves[: len(trained)], nodes[: len(trained)], ridge)
            predicted = leaves[own] @ weight
            left = ((nodes[own] - predicted) ** 2).sum() / (nodes[own] ** 2).sum()
            rows.append(
                {
                    "replica": replica,
                    "depth": depth,
                    "hops": arms.shape[1] - 1 - depth,
                    "nearest": nearest,
                    "ridge": float((_closest(predicted, nodes) == own).mean()),
                    "explained": float(1 - left),
                    "chance": 1.0 / len(arms),
                }
            )
    return pl.DataFrame(rows)


@holds(most=2000, logits=5, states=18)
def stepwise(
    model: Model,
    worlds: Worlds,
    *,
    roles: Sequence[str] = (),
    most: int = 2000,
    apart: bool = False,
) -> pl.DataFrame:
    """How well every token of an answer is known, the ones before it given, by role.

    Args:
        model: ``R`` replicas.
        worlds: One world, or one a replica; the statements of a role have one shape.
        roles: Which roles are looked at, of facts and queries; all if left out.
        most: Statements of a role that are looked at, evenly spread; 0 for all.
        apart: Whether the prompt with most answers, such as the root of a star, is told apart from
            the others; then a role that asks it has a row for either, told apart by ``hub``.

    Returns:
        A row for each replica, role and place: ``replica, part, role, place`` (0-based, in the
        answer), ``statements`` (looked at), ``accuracy`` (of the largest logit over all
        candidates), ``recall`` (whether the token is among as many largest logits as its prompt
        has answers among these roles: 1 for edges that are all remembered), ``exact`` (share
        whose answer is right at every place, which is greedy decoding's).

    Raises:
        DataError: The statements of a role differ in shape.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> stepwise(model, world).select("role", "place", "statements").rows()[-1]
        ('composition', 0, 4)
    """
    each = as_worlds(worlds, model)
    rows: list[dict[str, object]] = []
    parts: tuple[Literal["facts", "queries"], ...] = ("facts", "queries")
    for part in parts:
        statements: Statements = getattr(each[0], part)
        wanted = [role for role in statements.role_names if role in (roles or (role,))]
        for role in wanted:
            chosen = statements.with_role(role)
            if 0 < most < len(chosen):
                chosen = chosen[np.linspace(0, len(chosen) - 1, most).astype(np.int64)]
            ranks = answer_ranks(model, each, part, chosen).cpu().numpy()
            counts = np.stack([_degrees(getattr(w, part), wanted) for w in each])
            degrees, most_of_all = counts[:, chosen], counts.max(1, keepdims=True)
            right, known = ranks == 0, ranks < degrees[:, :, None]
            hubs = degrees == most_of_all
            for hub in (False, True) if apart else (None,):
                looked = np.ones_like(hubs) if hub is None else hubs == hub
                rows.extend(
                    {
                        "replica": replica,
                        "part": part,
                        "role": role,
                        **({} if hub is None else {"hub": hub}),
                        "place": place,
                        "statements": int(mask.sum()),
                        "accuracy": float(right[replica, mask, place].mean()),
                        "recall": float(known[replica, mask, place].mean()),
                        "exact": float(right[replica, mask].all(-1).mean()),
                    }
                    for replica in range(model.replicas)
                    for mask in (looked[replica % len(each)],)
                    if mask.any()
                    for place in range(ranks.shape[2])
                )
    return pl.DataFrame(rows)


def _degrees(statements: Statements, roles: Sequence[str]) -> Ids:
    """How many statements of these roles and its shape have the prompt of each one, ``[M]``."""
    counts = np.zeros(len(statements), dtype=np.int64)
    among = np.sort(np.concatenate([statements.with_role(role) for role in roles]))
    for rows, prompts, _ in statements.by_shape(among):
        _, owner, sizes = np.unique(prompts, axis=0, return_inverse=True, return_counts=True)
        counts[rows] = sizes[owner.ravel()]
    return counts


def ridge_map(
    inputs: Float[Floats, "m D"], targets: Float[Floats, "m E"], ridge: float = 1e-3
) -> Float[Floats, "D E"]:
    """Return the matrix with the least ``‖X W - Y‖² + λ ‖W‖²``.

    ``λ`` is ``ridge`` times the mean squared entry of ``X`` times the number of its rows.
    """
    if not ridge > 0 or not len(inputs):
        raise DataError(
            f"a ridge map needs a penalty above 0 and at least one pair, got {ridge} and "
            f"{len(inputs)}"
        )
    gram = inputs.T @ inputs
    penalty = ridge * np.trace(gram) / len(gram)
    weight: Floats = np.linalg.solve(gram + penalty * np.eye(len(gram)), inputs.T @ targets)
    return weight


def paths_of(part: Statements) -> Int[Ids, "d p"]:
    """Return the nodes of every path, from the root to the leaf."""
    indices = part.with_role("path")
    shapes = [answers for _, _, answers in part.by_shape(indices)]
    if len(shapes) != 1:
        raise DataError(f"paths must have the same length, got {len(shapes)} different ones")
    order = np.concatenate([rows for rows, _, _ in part.by_shape(indices)])
    return shapes[0][np.argsort(order)]


def _closest(queries: Floats, keys: Floats) -> Ids:
    """Index of the key with the largest cosine to each query."""
    units = keys / np.maximum(np.linalg.norm(keys, axis=1, keepdims=True), 1e-30)
    found = [
        (queries[start : start + _CHUNK] @ units.T).argmax(1)
        for start in range(0, len(queries), _CHUNK)
    ]
    return np.concatenate(found)
