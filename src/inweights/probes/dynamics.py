"""Probes of a Node2Vec that descended in closed form (Geometric Memory, appendix F, Lemma 1).

``train`` takes the mean over facts; the paper's Node2Vec takes the mean over the neighbours of a
node, which differs where degrees do. So its updates are those of
:func:`inweights.theory.node2vec.descend`, and its vectors are put into a model that probes know.
Shapes: ``K`` recorded steps, ``N`` nodes, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import polars as pl
import torch

from inweights.errors import ConfigError, DataError
from inweights.models.base import Model
from inweights.models.node2vec import Node2Vec, Node2VecConfig
from inweights.probes.geometry import node_vectors
from inweights.theory.node2vec import Trajectory, descend
from inweights.theory.spectral import adjacency
from inweights.training.worlds import as_worlds
from inweights.worlds.graph import Graph
from inweights.worlds.world import World

__all__ = ["along_descent", "descent", "of_descent", "off_descent"]


def descent(
    world: Graph,
    *,
    seed: int,
    model: Node2VecConfig,
    rate: float = 0.01,
    steps: int = 10_000,
    record: Sequence[int] = (),
) -> Trajectory:
    """Return the closed-form descent of one Node2Vec, ``R = 1``, from the model's own start.

    The last one or two are remembered, so that several probes cost one descent.

    Args:
        world: Config of a graph.
        seed: Root seed of world and start.
        model: Width, whether tied, and initial scale.
        rate: Learning rate ``η``, of the sum over nodes.
        steps: Number of updates.
        record: Steps at which vectors, loss and eigenvalues are kept; the last one always is.

    Raises:
        DataError: The world is no graph, or a step to record does not exist.
        SolverError: The vectors diverged.

    Example:
        >>> ring = Graph(shape="cycle", n=6)
        >>> descent(ring, seed=0, model=Node2VecConfig(width=8), steps=5).vectors.shape
        (1, 6, 8)
    """
    texts = msgspec.json.encode(world), msgspec.json.encode(model)
    return _descent(*texts, seed, rate, steps, tuple(record))


@lru_cache(maxsize=2)
def _descent(
    world: bytes, model: bytes, seed: int, rate: float, steps: int, record: tuple[int, ...]
) -> Trajectory:
    built = msgspec.json.decode(world, type=Graph).build(seed)
    config = msgspec.json.decode(model, type=Node2VecConfig)
    fresh = config.build(vocabulary=len(built.vocabulary), seeds=[seed])
    a = adjacency(built)
    start = fresh.tokens.weight.detach()[:, : len(a)].double().numpy()
    head = None if fresh.head is None else fresh.head.weight.detach()[:, : len(a)].double().numpy()
    return descend(start, a, rate=rate, steps=steps, record=record, targets=head)


def along_descent(
    world: Graph,
    look: Callable[..., pl.DataFrame],
    *,
    seed: int,
    model: Node2VecConfig,
    rate: float = 0.01,
    steps: int = 10_000,
    record: Sequence[int] = (),
    **options: Any,
) -> pl.DataFrame:
    """Return what ``look(trajectory, adjacency, **options)`` says of a descent.

    Args:
        world: Config of a graph.
        look: Such as :func:`inweights.theory.stabilisation.propositions`.
        seed: Root seed of world and start.
        model: Width, whether tied, and initial scale.
        rate: Learning rate ``η``, of the sum over nodes.
        steps: Number of updates.
        record: Steps that ``look`` sees, besides the last one.
        options: Further keyword arguments of ``look``.

    Raises:
        DataError: The world is no graph, or a step to record does not exist.
        SolverError: The vectors diverged.

    Example:
        >>> from inweights.theory.stabilisation import propositions
        >>> how = {"seed": 0, "model": Node2VecConfig(), "steps": 5}
        >>> along_descent(Graph(shape="grid"), propositions, **how)["step"].to_list()
        [5]
    """
    run = descent(world, seed=seed, model=model, rate=rate, steps=steps, record=record)
    return look(run, adjacency(world.build(seed)), **options)


def of_descent(
    world: Graph,
    probe: Callable[..., pl.DataFrame],
    *,
    seed: int,
    model: Node2VecConfig,
    rate: float = 0.01,
    steps: int = 10_000,
    every: int = 0,
    **options: Any,
) -> pl.DataFrame:
    """Return what a probe sees in a Node2Vec after its descent.

    Args:
        world: Config of a graph without path queries.
        probe: ``probe(model, world, **options)``, such as
            :func:`~inweights.probes.geometry.hop_correlation`.
        seed: Root seed of world and start.
        model: Width, whether tied, and initial scale.
        rate: Learning rate ``η``, of the sum over nodes.
        steps: Number of updates.
        every: Steps between two looks, the start among them; a column ``step`` is then added. 0
            looks once, at the end.
        options: Further keyword arguments of the probe.

    Raises:
        ConfigError: An untied model is to be looked at on the way.
        DataError: The world is no graph.
        SolverError: The vectors diverged.

    Example:
        >>> from inweights.probes.geometry import hop_correlation
        >>> ring = Graph(shape="cycle")
        >>> table = of_descent(ring, hop_correlation, seed=0, model=Node2VecConfig())
        >>> bool(table["spearman"].item() < -0.95)
        True
    """
    if every and not model.tied:
        raise ConfigError(
            "a descent keeps the targets of its last step only, so that an untied model is looked "
            "at in its end alone; leave 'every' out, or descend for fewer steps"
        )
    record = range(0, steps + 1, every) if every else ()
    run = descent(world, seed=seed, model=model, rate=rate, steps=steps, record=tuple(record))
    built = world.build(seed)
    seen = model.build(vocabulary=len(built.vocabulary), seeds=[seed])
    frames = []
    for step, frame in zip(run.steps.tolist(), run.frames, strict=True):
        if not every and step != steps:
            continue
        _put(seen, frame, run)
        table = probe(seen, built, **options).drop("replica")
        frames.append(table.with_columns(step=pl.lit(step)) if every else table)
    return pl.concat(frames)


def off_descent(
    model: Model, worlds: World | Sequence[World], *, rate: float, steps: int
) -> pl.DataFrame:
    """How far a trained Node2Vec is from the closed form, which uses no autograd (Lemma 1).

    ``train`` takes the mean over facts. On a graph whose ``N`` nodes have one degree that is the
    paper's sum over nodes divided by ``N``, so that plain gradient descent at the rate ``N η`` is
    the closed form at ``η``.

    Args:
        model: ``R`` replicas of a tied :class:`~inweights.models.node2vec.Node2Vec`, each built
            with its world's seed.
        worlds: Worlds of regular graphs, one a replica.
        rate: ``η`` of the closed form.
        steps: Number of updates of the closed form.

    Returns:
        A row for each replica: ``replica, distance``, the norm of the difference of both vectors
        over that of the closed form's; and ``travelled``, the same to the start.

    Raises:
        ConfigError: The model is no tied Node2Vec.
        DataError: A world is no graph, or its degrees differ.

    Example:
        >>> ring = Graph(shape="cycle").build(3)
        >>> fresh = Node2VecConfig().build(vocabulary=15, seeds=[3])
        >>> off_descent(fresh, ring, rate=0.01, steps=0)["distance"].item()
        0.0
    """
    if not isinstance(model, Node2Vec) or model.head is not None:
        raise ConfigError("the closed form is that of a tied Node2Vec; give one")
    rows = []
    for replica, world in enumerate(as_worlds(worlds, model.replicas)):
        a = adjacency(world)
        if len(set(a.sum(1).tolist())) > 1:
            raise DataError(
                "the mean over facts is the mean over nodes only where all degrees are equal; "
                "take a cycle, or of_descent"
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


@torch.no_grad()
def _put(model: Node2Vec, vectors: Any, run: Trajectory) -> None:
    model.tokens.weight[:, : vectors.shape[1]] = torch.from_numpy(vectors)
    if model.head is not None and run.targets is not None:
        model.head.weight[:, : vectors.shape[1]] = torch.from_numpy(run.targets)
