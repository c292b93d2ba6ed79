"""Shared memory of a subject and its objects: a model's logits without the first relation.

:func:`shared_memory` tests whether the subject alone already favours the objects that
follow from it (Identity Bridge §4.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.probes.needs import holds
from inweights.probes.states import by_replica
from inweights.training.batches.worlds import as_worlds
from inweights.training.scoring import MAX_LOGITS
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import Ids, World, Worlds


@holds(logits=5, states=11)
def shared_memory(model: Model, worlds: Worlds) -> pl.DataFrame:
    """Measure how much a model, given only a subject, favours the objects that follow from it.

    In a two-hop chain, a subject ``e1`` leads by two relations, ``r1`` and ``r2``, to
    an object. The model reads the subject alone, ``(e1)``, and the subject with the
    second relation, ``(e1, r2)``. The model was trained on neither of these prompts
    (Identity Bridge §4.4, Fig. 7).

    Args:
        model: Model with ``R`` replicas.
        worlds: One two-hop world, or one for each replica.

    Returns:
        Two rows per replica, one for each form of prompt, with the columns ``replica``,
        ``prompt`` (``subject`` or ``subject_relation``), ``contrast`` (mean logit of
        the objects to which a subject leads by two hops in the queries, minus the mean
        logit of the other objects; NaN if there are no others) and ``reached`` (share
        of prompts, from 0 to 1, for which an object to which the subject leads has the
        largest logit of all objects).

    Raises:
        ConfigError: The model has no replica axis or cannot read prompts of this
            length, or the probe would need more memory than is available.
        DataError: A world has no compositions, or no tokens of the groups ``subject``,
            ``second_relation`` and ``object``; its compositions differ in length; an
            object is not among the head's candidates; or the worlds do not fit the
            model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> shared_memory(model, world)["prompt"].to_list()
        ['subject', 'subject_relation']
    """
    each = as_worlds(worlds, model)
    reached = list(map(_reached, each))
    device = model.column.device
    objects = torch.from_numpy(each[0].vocabulary["object"]).to(device)
    subjects = torch.from_numpy(each[0].vocabulary["subject"]).to(device)
    relations = torch.from_numpy(each[0].vocabulary["second_relation"]).to(device)
    prompts = {
        "subject": subjects.unsqueeze(1),
        "subject_relation": torch.cartesian_prod(subjects, relations),
    }
    rows: list[dict[str, object]] = []
    for prompt, tokens in prompts.items():
        repeats = len(tokens) // len(subjects)
        contrast, hits = _favour(model, tokens, objects, reached, repeats)
        rows += by_replica(
            model.replicas, prompt=prompt, contrast=contrast, reached=hits
        )
    return pl.DataFrame(rows)


def _favour(
    model: Model,
    tokens: Int[Tensor, "P T"],
    objects: Int[Tensor, " K"],
    reached: Sequence[tuple[Ids, Ids]],
    repeats: int,
) -> tuple[Float[Tensor, " R"], Float[Tensor, " R"]]:
    """Return each replica's contrast, and the share of prompts whose top object is reached.

    ``repeats`` consecutive prompts have the same subject. Prompts are read in blocks.
    """
    step = max(1, MAX_LOGITS // len(model.candidates) // repeats) * repeats
    sums: dict[bool, Any] = {True: 0.0, False: 0.0}
    counts: dict[bool, Any] = {True: 0, False: 0}
    hits: Any = 0
    for start in range(0, len(tokens), step):
        block = tokens[start : start + step]
        batch = pack([block])
        logits = model(batch, at=batch.last)[..., model.columns(objects)]
        mask = np.zeros((len(reached), len(block) // repeats, len(objects)), dtype=bool)
        for own, (subject, place) in zip(mask, reached, strict=True):
            here = (subject >= start // repeats) & (
                subject < start // repeats + len(own)
            )
            own[subject[here] - start // repeats, place[here]] = True
        inside = (
            torch.from_numpy(mask).to(tokens.device).repeat_interleave(repeats, dim=1)
        )
        inside = inside.expand(model.replicas, -1, -1)
        for side, outside in ((True, ~inside), (False, inside)):
            sums[side] = (
                logits.masked_fill(outside, torch.nan).nansum((1, 2)) + sums[side]
            )
            counts[side] = (~outside).sum((1, 2)) + counts[side]
        hits = inside.gather(-1, logits.argmax(-1, keepdim=True)).sum((1, 2)) + hits
    contrast = sums[True] / counts[True] - sums[False] / counts[False]
    return contrast, hits.cpu().double() / len(tokens)


def _reached(world: World) -> tuple[Ids, Ids]:
    """Return pairs of a subject and an object to which it leads in queries, both counted from 0."""
    rows = world.queries.with_role("composition")
    prompts, _ = world.queries.matrix(rows)
    places, answers = world.queries.right_pairs(rows)
    subjects = world.vocabulary["subject"]
    objects = world.vocabulary["object"]
    return prompts[places, 0] - subjects[0], answers - objects[0]
