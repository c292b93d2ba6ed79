"""Paths that can be read from the embeddings, from a leaf to the nodes above it, by depth.

Main names: :func:`navigation` reads embeddings; :func:`stepwise` evaluates the model's
own answers token by token.

A model that answers with the first node of a leaf's arm has to find that node from the
leaf alone. If the embeddings are frozen, this is possible only if they contain the
information: either the leaf's own first node is the nearest one, or one affine map, the
same for all arms, leads to it. The map is a ridge regression, fitted to the arms with
training paths and evaluated on the held-out arms. It measures what a linear readout
could find, while nearness requires no readout.

Shapes: ``R`` replicas, ``d`` arms, ``p`` nodes of a path, ``m`` pairs or statements,
``A`` tokens of an answer, ``D`` and ``E`` widths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from inweights.config import check_size
from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.geometry.vectors import node_vectors
from inweights.probes.needs import holds
from inweights.training.batches.worlds import as_worlds
from inweights.training.scoring import answer_ranks
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Int
from inweights.worlds.world import Ids, Statements, Worlds

#: Maximum number of queries whose similarities to all arms are in memory at once.
_CHUNK = 1024


@holds(states=5, statements=220)
def navigation(
    model: Model, worlds: Worlds, *, layer: str = "tokens", ridge: float = 1e-3
) -> pl.DataFrame:
    """Measure the share of held-out leaves from whose vectors the nodes of their arms can be found.

    Args:
        model: Model with a table of token embeddings and ``R`` replicas.
        worlds: One world with statements of role ``path``, or one for each replica.
        layer: Source of the vectors: ``tokens`` for the token embeddings, or one of
            ``model.layer_names``, read after a prompt that consists of the node alone.
        ridge: Penalty of the affine map, above 0, relative to the mean variance of a
            coordinate.

    Returns:
        One row per replica and depth, from 1 (the first node of an arm) to ``p - 2``
        for paths of ``p`` nodes (the leaf's neighbour), with the columns ``replica``,
        ``depth``, ``hops`` (edges from the leaf), ``nearest`` (share of held-out leaves
        for which, among the nodes of that depth of all arms, the node of their own arm
        has the largest cosine), ``ridge`` (the same share after the affine map is
        applied to the leaf's vector), ``explained`` (share of the held-out nodes'
        variance that the map explains; negative if the map is worse than the mean) and
        ``chance`` (one divided by the number of arms).

    Raises:
        DataError: A world has no trained or no held-out paths, paths differ in length
            or have fewer than 3 nodes, ``ridge`` is not above 0, the model has no table
            of token embeddings, or the worlds do not fit the model.
        ConfigError: The layer is unknown, the model has no replica axis or cannot read
            prompts of this length, or the probe would need more memory than is
            available.

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
        trained = paths_of(world.facts)
        held_out = paths_of(world.queries)
        if trained.shape[1] != held_out.shape[1] or trained.shape[1] < 3:
            raise DataError(
                "navigation requires trained and held-out paths that all have the same "
                f"length, at least 3 nodes, got {trained.shape[1]} and {held_out.shape[1]}"
            )
        arms = np.concatenate([trained, held_out])
        vectors = table[replica] - table[replica, arms].mean((0, 1))
        own = len(trained) + np.arange(len(held_out))
        # The root is left out because all arms share it, and the leaf because it is
        # given.
        for depth in range(1, arms.shape[1] - 1):
            leaves = vectors[arms[:, -1]]
            nodes = vectors[arms[:, depth]]
            # The candidates are the nodes of all arms, so the accuracy by chance is one
            # over the number of arms.
            nearest = float((_closest(leaves[own], nodes) == own).mean())
            # Both sides are centred on the trained arms, so that the map includes a
            # shift.
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
    """Compute the accuracy and recall of every token of an answer, given the preceding tokens.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica. All statements of a role must have
            prompts of one length and answers of one length.
        roles: Roles of the facts and queries to evaluate; by default all. Roles that
            the world lacks are ignored; if none is left, the table is empty.
        most: Maximum number of statements to read per role, evenly spaced; 0 for all.
        apart: If true, prompts with the largest number of answers (hubs), such as the
            root of a star, get separate rows, for which the column ``hub`` is true.

    Returns:
        One row per replica, part, role and place (with ``apart``, also per value of
        ``hub``), with the columns ``replica``, ``part`` (``facts`` or ``queries``),
        ``role``, ``hub`` (only with ``apart``), ``place`` (index of the token in the
        answer, from 0), ``statements`` (number of statements), ``accuracy`` (share of
        statements whose token has the largest logit of all candidates), ``recall``
        (share of statements whose token has one of the ``k`` largest logits, where
        ``k`` is the number of answers to the prompt in these roles; 1 if all edges are
        stored) and ``exact`` (share of answers correct at every place, which greedy
        decoding would find).

    Raises:
        DataError: The statements of a role differ in length, a token of an answer is
            not among the head's candidates, or the worlds do not fit the model.
        ConfigError: ``most`` is negative, the model has no replica axis, cannot read
            prompts of this length, or returns logits only for the last position
            although answers have several tokens, or the probe would need more memory
            than is available.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> stepwise(model, world).select("role", "place", "statements").rows()[-1]
        ('composition', 0, 4)
    """
    check_size("most", most, least=0, most=np.inf)
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
            degrees = counts[:, chosen]
            hubs = degrees == counts.max(1, keepdims=True)
            named = {"part": part, "role": role}
            if not apart:
                rows += _step_rows(ranks, degrees, np.ones_like(hubs), named)
                continue
            for hub in (False, True):
                rows += _step_rows(ranks, degrees, hubs == hub, {**named, "hub": hub})
    return pl.DataFrame(rows)


def _step_rows(
    ranks: Int[Ids, "R m A"],
    degrees: Int[Ids, "_ m"],
    chosen: Bool[Bools, "_ m"],
    named: Mapping[str, object],
) -> list[dict[str, object]]:
    """Return rows of :func:`stepwise` for the replicas that have chosen statements."""
    right = ranks == 0
    # All d correct answers are known if they have the d largest logits.
    known = ranks < degrees[:, :, None]
    rows: list[dict[str, object]] = []
    for replica in range(len(ranks)):
        mask = chosen[replica % len(chosen)]
        if not mask.any():
            continue
        for place in range(ranks.shape[2]):
            numbers = {
                "place": place,
                "statements": int(mask.sum()),
                "accuracy": float(right[replica, mask, place].mean()),
                "recall": float(known[replica, mask, place].mean()),
                "exact": float(right[replica, mask].all(-1).mean()),
            }
            rows.append({"replica": replica, **named, **numbers})
    return rows


def _degrees(statements: Statements, roles: Sequence[str]) -> Ids:
    """Count, for each statement, the statements of these roles with the same prompt, ``[M]``."""
    counts = np.zeros(len(statements), dtype=np.int64)
    among = np.sort(np.concatenate(list(map(statements.with_role, roles))))
    for rows, prompts, _ in statements.by_shape(among):
        _, owner, sizes = np.unique(
            prompts, axis=0, return_inverse=True, return_counts=True
        )
        counts[rows] = sizes[owner.ravel()]
    return counts


def ridge_map(
    inputs: Float[Floats, "m D"], targets: Float[Floats, "m E"], ridge: float = 1e-3
) -> Float[Floats, "D E"]:
    """Return the matrix ``W`` that minimises ``‖X W − Y‖² + λ ‖W‖²`` (ridge regression).

    Args:
        inputs: ``X``, one row per pair of an input and a target, at least one.
        targets: ``Y``, one row per pair, in the same order.
        ridge: ``λ``, above 0, in units of the mean squared entry of ``X`` times the
            number of its rows.

    Returns:
        The matrix ``W``, ``[D, E]`` (widths ``D`` and ``E`` of inputs and targets).

    Raises:
        DataError: ``ridge`` is not above 0, or there are no pairs.
    """
    if not ridge > 0 or not len(inputs):
        raise DataError(
            f"'ridge' must be above 0, and there must be at least one pair of vectors, got "
            f"ridge = {ridge} and {len(inputs)} pairs"
        )
    gram = inputs.T @ inputs
    # Proportional to the mean eigenvalue, so that the scale of the vectors has no
    # effect.
    penalty = ridge * np.trace(gram) / len(gram)
    weight: Floats = np.linalg.solve(
        gram + penalty * np.eye(len(gram)), inputs.T @ targets
    )
    return weight


def paths_of(part: Statements) -> Int[Ids, "d p"]:
    """Return the nodes of every path, from the root to the leaf.

    Args:
        part: Facts or queries with the role ``path``, whose answers are the paths.

    Returns:
        Token ids ``[d, p]`` of ``d`` paths with ``p`` nodes, in the order of the
        statements.

    Raises:
        DataError: There are no statements of the role ``path``, or the paths differ in
            length.
    """
    indices = part.with_role("path")
    shapes = [answers for _, _, answers in part.by_shape(indices)]
    if len(shapes) != 1:
        raise DataError(
            f"all paths must have the same length, got {len(shapes)} different lengths"
        )
    order = np.concatenate([rows for rows, _, _ in part.by_shape(indices)])
    return shapes[0][np.argsort(order)]


def _closest(queries: Floats, keys: Floats) -> Ids:
    """Return the index of the key with the largest cosine to each query."""
    # Queries are not normalised: their length does not affect which key is closest.
    units = keys / np.maximum(np.linalg.norm(keys, axis=1, keepdims=True), 1e-30)
    found = [
        (queries[start : start + _CHUNK] @ units.T).argmax(1)
        for start in range(0, len(queries), _CHUNK)
    ]
    return np.concatenate(found)
