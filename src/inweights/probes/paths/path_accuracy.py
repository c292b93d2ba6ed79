"""Paths that a model was not trained on: accuracy by place, exact match, the hardest token.

Main names: :func:`path_accuracy` and, for the geometry behind it, :func:`arm_cosines`.

Everything is teacher-forced: each token of the answer is predicted from the right
tokens before it. No separate loop is needed for greedy decoding: it finds a whole
answer if and only if every teacher-forced token is correct, since both read the same
tokens up to the first mistake.

Shapes: ``R`` replicas, ``M`` statements, ``A`` tokens of an answer.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from inweights.config import check_size
from inweights.models.base import Model
from inweights.probes.geometry.vectors import node_vectors
from inweights.probes.needs import holds
from inweights.probes.recall import chosen_parts
from inweights.probes.states import share
from inweights.training.batches.worlds import as_worlds
from inweights.training.scoring import answer_ranks
from inweights.worlds.world import World, Worlds


@holds(most=2000, logits=3, states=15)
def path_accuracy(
    model: Model,
    worlds: Worlds,
    *,
    role: str = "path",
    parts: Sequence[Literal["facts", "queries"]] = ("queries", "facts"),
    hardest: int = 1,
    most: int = 2000,
    teacherless: str = "",
) -> pl.DataFrame:
    """Compute the accuracy of answers that are paths, at each place of the answer.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world with paths, or one for each replica.
        role: Role of the statements, one of the ``role_names`` of ``world.facts`` or
            ``world.queries``.
        parts: ``queries`` (held out), ``facts`` (used for training) or both.
        hardest: Index of the hardest token within the answer, from 0; by default the first
            node after the root (Geometric Memory, Fig. 3), which determines all later
            ones.
        most: Maximum number of statements to read from each part, at least 1. The
            first ones are used; the built-in worlds have their paths in random order.
        teacherless: Name of a token that the model reads in place of the answer's
            tokens, as in training with ``Phase.teacherless``. By default it is empty,
            and the model reads the correct tokens.

    Returns:
        One row per replica, part and place, with the columns ``replica``, ``part``,
        ``place`` (index of the token in the answer, from 0), ``hardest`` (whether it is
        the hardest place), ``accuracy`` (share of statements whose token has the
        largest logit of all candidates), ``exact`` (share of answers that are correct
        at every place, which greedy decoding would find), ``statements`` (number of
        statements) and ``chance`` (accuracy of guessing: one divided by the number of
        distinct tokens at that place, in facts and queries).

    Raises:
        DataError: A part has no statement of the role, prompts or answers differ in
            length, a token of an answer is not among the head's candidates,
            ``teacherless`` is not a token, or the worlds do not fit the model.
        ConfigError: A part is unknown, ``most`` is below 1, ``hardest`` is negative, the
            model has no replica axis, cannot read prompts of this length, or returns
            logits only for the last position although answers have several tokens, or
            the probe would need more memory than is available.

    Example:
        >>> import inweights as iw
        >>> world = iw.worlds.PathStar(arms=4, nodes=3).build()
        >>> model = iw.GPTConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> path_accuracy(model, world, parts=["queries"]).select("place", "chance").rows()
        [(0, 1.0), (1, 0.25), (2, 0.25)]
    """
    check_size("most", most, most=np.inf)
    check_size("hardest", hardest, least=0, most=np.inf)
    each = as_worlds(worlds, model)
    rows: list[dict[str, object]] = []
    for part in chosen_parts(each[0], parts):
        indices = getattr(each[0], part).with_role(role)[:most]
        ranks = answer_ranks(model, each, part, indices, teacherless=teacherless)
        right = ranks == 0
        chances = [_chances(world, role) for world in each]
        accuracy = share(right).tolist()
        exact = share(right.all(-1)).tolist()
        for replica in range(model.replicas):
            for place, chance in enumerate(chances[replica % len(each)]):
                row = {
                    "replica": replica,
                    "part": part,
                    "place": place,
                    "hardest": place == hardest,
                    "accuracy": accuracy[replica][place],
                    "exact": exact[replica],
                    "statements": len(indices),
                    "chance": chance,
                }
                rows.append(row)
    return pl.DataFrame(rows)


def _chances(world: World, role: str) -> list[float]:
    """Return one divided by the number of distinct tokens at each place of an answer."""
    answers = np.concatenate(
        [
            part.matrix(part.with_role(role))[1]
            for part in (world.facts, world.queries)
            if role in part.role_names
        ]
    )
    return [1.0 / len(np.unique(column)) for column in answers.T]


@holds(states=6.5)
def arm_cosines(
    model: Model,
    worlds: Worlds,
    *,
    arms: int = 12,
    part: Literal["facts", "queries"] = "queries",
    layer: str = "tokens",
) -> pl.DataFrame:
    """Compute the cosines of leaves with the first nodes of arms (Geometric Memory, Fig. 4).

    Args:
        model: Model with a table of token embeddings and ``R`` replicas.
        worlds: One world with paths whose answers begin with the root, or one for each
            replica.
        arms: Maximum number of arms, at least 1; the arms of the first statements of
            the part are used.
        part: ``queries`` (paths on which the model was not trained) or ``facts``.
        layer: Source of the vectors: ``tokens`` for the token embeddings, or one of
            ``model.layer_names``, whose state is read after a prompt that consists of
            the node alone.

    Returns:
        One row per replica, leaf and first node, with the columns ``replica``, ``leaf``
        and ``first`` (the numbers, from 1, of the arms of the leaf and of the first
        node), ``own`` (whether they belong to the same arm) and ``cosine`` (after the
        mean vector of all nodes is subtracted).

    Raises:
        ConfigError: The part or the layer is unknown, ``arms`` is below 1, the model
            has no replica axis, or the probe would need more memory than is available.
        DataError: A world has no statements of the role ``path`` in the part, or its
            paths differ in length; a world has no tokens of the group ``node``; the
            model has no table of token embeddings; or the worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.worlds.PathStar(arms=8, nodes=3).build()
        >>> model = iw.GPTConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> arm_cosines(model, world).filter(own=True)["leaf"].to_list()
        [1, 2]
    """
    check_size("arms", arms, most=np.inf)
    each = as_worlds(worlds, model)
    chosen_parts(each[0], [part])
    table = node_vectors(model, len(each[0].vocabulary["node"]), layer)
    frames = []
    for replica in range(model.replicas):
        world = each[replica if len(each) > 1 else 0]
        statements = getattr(world, part)
        lines = statements.matrix(statements.with_role("path")[:arms])[1]
        vectors = table[replica] - table[replica].mean(0)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
        cosine = vectors[lines[:, -1]] @ vectors[lines[:, 1]].T
        leaf, first = np.indices(cosine.shape).reshape(2, -1)
        frames.append(
            pl.DataFrame(
                {
                    "replica": replica,
                    "leaf": leaf + 1,
                    "first": first + 1,
                    "own": lines[leaf, 1] == lines[first, 1],
                    "cosine": cosine.ravel(),
                }
            )
        )
    return pl.concat(frames)
