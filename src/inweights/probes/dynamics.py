"""Closed form of Node2Vec's gradient descent: tables of its path, and comparison with training.

The descent is :class:`inweights.training.Descent` (Geometric Memory, appendix F, Lemma
1). :func:`along_descent` computes a table from an entire path; :func:`off_descent`
measures how far a model trained with autograd is from this path.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from inweights.errors import ConfigError, DataError
from inweights.models.base import Model
from inweights.models.configs import Node2VecConfig
from inweights.models.node2vec import Node2Vec
from inweights.probes.geometry.vectors import node_vectors
from inweights.theory.geometric_memory.graph import adjacency
from inweights.theory.geometric_memory.node2vec import descend
from inweights.training.batches.worlds import as_worlds
from inweights.training.learners.descent import Descent
from inweights.worlds.families.graphs.graph import Graph
from inweights.worlds.world import World, Worlds


def along_descent(
    *,
    world: Graph,
    look: Callable[..., pl.DataFrame],
    descent: Descent,
    model: Node2VecConfig,
    seed: int,
    record: Sequence[int] = (),
    **options: Any,
) -> pl.DataFrame:
    """Train Node2Vec on a graph by gradient descent, and return a table about its trajectory.

    Args:
        world: Config of a graph, which is built with ``seed``.
        look: Function ``look(trajectory, adjacency, **options)`` that returns the
            table. It receives a trajectory of gradient descent and the adjacency matrix
            of the graph. An example is
            :func:`inweights.theory.feature_resemblance.stabilisation.propositions`.
        descent: Learning rate and number of steps.
        model: Config of Node2Vec: its width, whether its weights are tied, and the
            scale of its initial weights.
        seed: Root seed of the world and of the initial weights.
        record: Steps at which the trajectory contains the vectors, from 0 (the start)
            to the number of steps; the last step is always included.
        options: Further keyword arguments of ``look``.

    Returns:
        The table returned by ``look``. Errors of ``look`` propagate.

    Raises:
        ConfigError: ``seed`` is not between 0 and 2**63 - 1, or the world does not fit
            in memory.
        DataError: The world is not a graph, or a step in ``record`` is not between 0
            and the number of steps.
        SolverError: The vectors became infinite or NaN.
    """
    built = world.build(seed)
    return look(
        descent.trajectory(built, model, seed, record), adjacency(built), **options
    )


def off_descent(
    model: Model, worlds: Worlds, *, rate: float, steps: int
) -> pl.DataFrame:
    """Measure the distance of a trained Node2Vec from the closed form of its gradient descent.

    The closed form (Lemma 1 of Geometric Memory, App. F) does not use autograd.
    :func:`inweights.train` minimises the mean loss over facts. On a graph whose ``N``
    nodes all have the same degree, this mean is the paper's sum over nodes divided by
    ``N``, so that plain gradient descent at the learning rate ``N η`` makes the same
    updates as the closed form at ``η``.

    Args:
        model: Model with ``R`` replicas of a tied
            :class:`~inweights.models.node2vec.Node2Vec`, each built with its world's
            seed.
        worlds: One regular graph for each replica. The initial embeddings of each
            replica are drawn again from the seed of its graph. With a single graph,
            only the first replica is compared.
        rate: Learning rate ``η`` of the closed form; the model must have been trained
            at ``N η``, which is not checked.
        steps: Number of updates of the closed form, at least 0; the model must have
            been trained for the same number of steps, which is not checked.

    Returns:
        One row per replica that is compared, with the columns ``replica``, ``distance``
        (norm of the difference between the trained embeddings and the embeddings of the
        closed form after ``steps`` updates, divided by the norm of the latter) and
        ``travelled`` (norm of the difference between the initial embeddings and the
        embeddings of the closed form, divided by the same norm).

    Raises:
        ConfigError: The model is not a Node2Vec with tied weights.
        DataError: A world is not a graph, the nodes of a graph differ in their degree,
            the worlds do not fit the model, or ``steps`` is below 0.
        SolverError: The vectors became infinite or NaN.
    """
    if not isinstance(model, Node2Vec) or model.head is not None:
        raise ConfigError("the closed form requires a tied Node2Vec")
    as_worlds(worlds, model)
    # The graphs are not merged by equality, because equal graphs may have different
    # seeds, and thus different initial embeddings.
    given = [worlds] if isinstance(worlds, World) else worlds
    rows = []
    for replica, world in enumerate(given):
        a = adjacency(world)
        if len(set(a.sum(1).tolist())) > 1:
            raise DataError(
                "this probe requires a graph whose nodes all have the same degree, because "
                "otherwise the mean over facts differs from the mean over nodes; use a cycle "
                "graph, or the learner Descent"
            )
        fresh = model.config.build(vocabulary=len(world.vocabulary), seeds=[world.seed])
        start = fresh.tokens.weight.detach()[:, : len(a)].double().numpy()
        end = descend(start, a, rate=rate, steps=steps).vectors[0]
        own = node_vectors(model, len(a))[replica]
        whole = float(np.linalg.norm(end))
        rows.append(
            {
                "replica": replica,
                "distance": float(np.linalg.norm(own - end)) / whole,
                "travelled": float(np.linalg.norm(start[0] - end)) / whole,
            }
        )
    return pl.DataFrame(rows)
