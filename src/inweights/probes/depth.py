"""Are inputs of one label alike, layer by layer (Feature Resemblance, theorem 6 and figure 1)?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import torch
from torch.nn import functional as F

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.theory.feature_resemblance.depth import depth_cosines
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.world import World

__all__ = ["label_cosines", "predicted_similarity_by_depth"]


@torch.no_grad()
def label_cosines(model: Model, worlds: World | Sequence[World]) -> pl.DataFrame:
    """Mean cosine of the states of inputs that share a label, and of those that do not.

    Args:
        model: ``R`` replicas.
        worlds: Worlds whose facts of role ``category`` have prompts of one length and labels that
            several of them share: one, or one a replica.

    Returns:
        A row for each replica and layer: ``replica, layer, depth`` (from 1), ``same`` (mean cosine
        of two inputs of one label), ``other`` (mean over inputs of different labels) and
        ``other_size`` (mean of its absolute value: alone a high ``same`` could be a common cone).

    Raises:
        DataError: The world has no categories, or no two inputs share a label.

    Example:
        >>> from inweights.models import DeepLinearConfig
        >>> from inweights.worlds.labels import Labels
        >>> world = Labels(labels=3).build()
        >>> model = DeepLinearConfig(width=16, layers=2).build(vocabulary=9, seeds=[0])
        >>> label_cosines(model, world)["depth"].to_list()
        [1, 2]
    """
    each = as_worlds(worlds, model)
    facts = []
    for world in each:
        if "category" not in world.facts.role_names:
            raise DataError(
                f"label_cosines needs facts of role category; this world has "
                f"{', '.join(world.facts.role_names) or 'none'}"
            )
        facts.append(world.facts.matrix(world.facts.with_role("category")))
    labels = np.stack([answers[:, 0] for _, answers in facts])
    alike = labels[:, :, None] == labels[:, None]
    pairs = alike & ~np.eye(labels.shape[1], dtype=bool)
    if not pairs.any((1, 2)).all():
        raise DataError("label_cosines needs labels that several inputs share; here no two do")
    prompts = [prompts for prompts, _ in facts]
    ids = torch.from_numpy(np.stack(prompts) if len(prompts) > 1 else prompts[0])
    states = model.hidden(pack([ids.to(model.column.device)]), layers=model.layer_names)
    rows = []
    for depth, name in enumerate(model.layer_names, start=1):
        unit = F.normalize(states[name], dim=-1)
        cosines = (unit @ unit.mT).double().cpu().numpy()
        for replica, matrix in enumerate(cosines):
            mine, near = pairs[replica % len(each)], alike[replica % len(each)]
            rows.append(
                {
                    "replica": replica,
                    "layer": name,
                    "depth": depth,
                    "same": float(matrix[mine].mean()),
                    "other": float(matrix[~near].mean()),
                    "other_size": float(np.abs(matrix[~near]).mean()),
                }
            )
    return pl.DataFrame(rows).sort("replica", maintain_order=True)


def predicted_similarity_by_depth(
    layers: int, inputs: int, per_label: int, rate: float, steps: int
) -> pl.DataFrame:
    """Return ``depth`` and the predicted cosine, ``foretold``, of :mod:`inweights.theory`.

    Example:
        >>> predicted_similarity_by_depth(2, 100, 2, 2.0, 10)["depth"].to_list()
        [1, 2]
    """
    cosines = depth_cosines(layers, inputs=inputs, per_label=per_label, rate=rate, steps=steps)
    return pl.DataFrame({"depth": np.arange(1, layers + 1), "foretold": cosines})
