"""Shared memory of a subject and its objects: what a model says without the first relation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import torch

from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.world import World

__all__ = ["shared_memory"]


@torch.no_grad()
def shared_memory(model: Model, worlds: World | Sequence[World]) -> pl.DataFrame:
    """How much a subject alone points at objects that it reaches (Identity Bridge §4.4, Fig. 7).

    The model is asked with the subject alone, ``(e1)``, and with the first relation left out,
    ``(e1, r2)``: neither was trained. ``contrast`` is the mean logit of the objects that the
    subject reaches minus that of the other objects; ``reached`` is how often the largest logit
    among the objects is one that it reaches.

    Args:
        model: ``R`` replicas.
        worlds: Two-hop worlds: one, or one a replica.

    Returns:
        ``replica, prompt`` (``subject`` or ``subject_relation``), ``contrast`` (logits),
        ``reached``.

    Example:
        >>> from inweights.models import EmbMLPConfig
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=4).build()
        >>> model = EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> shared_memory(model, world)["prompt"].to_list()
        ['subject', 'subject_relation']
    """
    each = as_worlds(worlds, model)
    reach = torch.from_numpy(np.stack([_reach(world) for world in each]))
    device = model.column.device
    objects = torch.from_numpy(each[0].vocabulary["object"]).to(device)
    subjects = torch.from_numpy(each[0].vocabulary["subject"]).to(device)
    relations = torch.from_numpy(each[0].vocabulary["second_relation"]).to(device)
    asked = {
        "subject": subjects.unsqueeze(1),
        "subject_relation": torch.cartesian_prod(subjects, relations),
    }
    rows: list[dict[str, object]] = []
    for prompt, tokens in asked.items():
        batch = pack([tokens])
        logits = model(batch, at=batch.last)[..., model.column[objects]]
        repeats = len(tokens) // len(subjects)
        mask = reach.to(device).repeat_interleave(repeats, dim=1).expand(model.replicas, -1, -1)
        inside = logits.masked_fill(~mask, torch.nan).nanmean((1, 2))
        outside = logits.masked_fill(mask, torch.nan).nanmean((1, 2))
        hit = mask.gather(-1, logits.argmax(-1, keepdim=True)).float().mean((1, 2))
        rows.extend(
            {
                "replica": replica,
                "prompt": prompt,
                "contrast": float(inside[replica] - outside[replica]),
                "reached": float(hit[replica]),
            }
            for replica in range(model.replicas)
        )
    return pl.DataFrame(rows)


def _reach(world: World) -> np.ndarray:
    """Which objects each subject reaches by the queries, ``[N, objects]``."""
    prompts, answers = world.queries.matrix(world.queries.with_role("composition"))
    subjects, objects = world.vocabulary["subject"], world.vocabulary["object"]
    reach = np.zeros((len(subjects), len(objects)), dtype=bool)
    reach[prompts[:, 0] - subjects[0], answers[:, 0] - objects[0]] = True
    return reach
