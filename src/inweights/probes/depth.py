"""Similarity of inputs with equal labels, layer by layer (Feature Resemblance, Theorem 6, Fig. 1).

:func:`label_cosines` measures the similarity in a trained model;
:func:`predicted_similarity_by_depth` predicts it.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import torch
from torch import Tensor

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.needs import holds
from inweights.probes.states import by_replica, cosine_blocks, last_states
from inweights.theory.feature_resemblance.depth import depth_cosines
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Float, Floats, Int
from inweights.worlds.world import Ids, Worlds


@holds(cosines=18, states=15, kept=15)
def label_cosines(model: Model, worlds: Worlds) -> pl.DataFrame:
    """Compute the mean cosine between states of same-label inputs and of different-label inputs.

    In every layer, the states at the last position of the prompts are compared.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica. Its facts of role ``category`` have
            prompts of one length (the inputs), and at least two of them share an answer
            (the label).

    Returns:
        One row per replica and layer, with the columns ``replica``, ``layer``,
        ``depth`` (from 1), ``same`` (mean cosine of two different inputs with the same
        label), ``other`` (mean cosine of inputs with different labels; NaN if there is
        only one label) and ``other_size`` (mean absolute cosine of inputs with
        different labels; if it is as high as ``same``, all states lie in one cone).

    Raises:
        DataError: A world has no facts of role ``category``, their prompts differ in
            length, no label occurs twice, or the worlds do not fit the model.
        ConfigError: The model has no replica axis or cannot read prompts of this
            length, or the probe would need more memory than is available.
    """
    each = as_worlds(worlds, model)
    facts = []
    for world in each:
        if "category" not in world.facts.role_names:
            raise DataError(
                "label_cosines requires facts of the role 'category'; this world has the "
                f"roles {', '.join(world.facts.role_names) or 'none'}"
            )
        facts.append(world.facts.matrix(world.facts.with_role("category")))
    labels = np.stack([answers[:, 0] for _, answers in facts])
    repeats = [np.unique(row, return_counts=True)[1].max() for row in labels]
    if min(repeats) < 2:
        raise DataError(
            "label_cosines requires at least one label that several inputs share, got none"
        )
    states = last_states(model, [prompts for prompts, _ in facts])
    rows: list[dict[str, object]] = []
    for depth, name in enumerate(model.layer_names, start=1):
        same, other, size = torch.from_numpy(_compare(states[name], labels)).unbind(1)
        rows += by_replica(
            model.replicas,
            layer=name,
            depth=depth,
            same=same,
            other=other,
            other_size=size,
        )
    return pl.DataFrame(rows).sort("replica", maintain_order=True)


def _compare(
    states: Float[Tensor, "R m D"], labels: Int[Ids, "_ m"]
) -> Float[Floats, "R 3"]:
    """Return mean cosines within and between labels, and the mean absolute cosine between them."""
    total = np.zeros((len(states), 3))
    pairs = np.zeros((len(states), 3))
    for rows, cosines, same_label in cosine_blocks(states, states, labels):
        near = same_label.cpu().numpy()
        same = near.copy()
        # Pairs of an input with itself are left out.
        itself = np.arange(near.shape[2])[rows]
        same[:, np.arange(near.shape[1]), itself] = False
        for replica, matrix in enumerate(cosines.double().cpu().numpy()):
            world = replica % len(near)
            others = matrix[~near[world]]
            mine = matrix[same[world]]
            total[replica] += mine.sum(), others.sum(), np.abs(others).sum()
            pairs[replica] += len(mine), len(others), len(others)
    return total / pairs


def predicted_similarity_by_depth(
    layers: int, inputs: int, per_label: int, rate: float, steps: int
) -> pl.DataFrame:
    """Predict the cosine between inputs with the same label in each layer of a deep linear network.

    The prediction is Theorem 6 of Feature Resemblance.

    Args:
        layers: Number of layers of the network.
        inputs: Number of inputs.
        per_label: Number of inputs that share each label.
        rate: Learning rate of gradient descent.
        steps: Number of steps.

    Returns:
        One row per layer, with the columns ``depth`` (from 1) and ``foretold``, the
        predicted cosine (see
        :func:`~inweights.theory.feature_resemblance.depth.depth_cosines`).

    Raises:
        ConfigError: An argument is not above 0 or not finite.
    """
    cosines = depth_cosines(
        layers, inputs=inputs, per_label=per_label, rate=rate, steps=steps
    )
    return pl.DataFrame({"depth": np.arange(1, layers + 1), "foretold": cosines})
