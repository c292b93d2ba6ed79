"""What else changes with stored facts that are edited: on trial, or by a curriculum.

Shapes: ``R`` replicas, ``N`` facts of a role, ``M`` statements that may follow from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cache, partial
from typing import Any

import polars as pl
import torch
from torch import Tensor

from inweights.config import check_size, decode
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.probes.needs import holds
from inweights.probes.states import by_replica, share
from inweights.training.batches.worlds import as_worlds
from inweights.training.curriculum import Edit, EditMethod, EditRole
from inweights.training.steps import editing
from inweights.training.steps.consequences import Consequences
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.world import Worlds


@holds(kept=75, whole=2, cosines=30)
def edits(
    model: Model,
    worlds: Worlds,
    *,
    role: EditRole = "second_hop",
    method: EditMethod = "rank-one",
    most: int = 8,
    steps: int = 40,
    rate: float = 1e-3,
    at_once: int = 1,
    layer: int | None = None,
) -> pl.DataFrame:
    """What follows from an edit of a fact, what else changes, and what predicts it.

    A fact gets the answer of the next fact of its role. The model itself stays as it is. What
    follows depends on the world. Two hops: the two-hop facts and queries through the hop. An
    analogy: of an attribution the same of its class, of a similarity the attributes of the new
    class. Of an edge the reversal, where it is asked and not trained, or in a graph: it is to be
    among as many first answers as are right, and among two where the old one is, too.

    Args:
        model: ``R`` replicas of a GPT.
        worlds: One, or one a replica.
        role: Which facts are edited.
        method: That of an :class:`~inweights.training.Edit`.
        most: Facts that are edited, the first ones.
        steps: Those of an edit.
        rate: The same.
        at_once: Facts that are edited together; one by default.
        layer: That of an edit.

    Returns:
        A row for each replica, means over edits: ``replica``; ``holds``; of the statements that
        follow ``reached``, the share that follows the edit, and ``unmoved``, that answers as
        before; ``facts`` and ``others``, the shares of other facts of the role and of other
        statements that answer as before; ``overlap``, how much of the edited keys is in the key of
        the statements that follow before any edit, and ``apart``, in that of others.

    Raises:
        ConfigError: The model is not a GPT with a residual stream and one loop, or a name is
            unknown.
        DataError: The world has no facts of the role, or they all have one answer.

    Example:
        >>> from inweights.models import GPTConfig
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=4).build()
        >>> model = GPTConfig(layers=1, width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> edits(model, world, most=2).columns[:3]
        ['replica', 'holds', 'reached']
    """
    edit = Edit(role=role, method=method, layer=layer, steps=steps, rate=rate)
    check_size("edits: at_once", at_once)
    gpt = editing.editable(model, layer)
    parts = [Consequences.of(world, role) for world in as_worlds(worlds, model)]
    take = cache(partial(editing.stacked, model, parts))
    facts, queries = take("facts"), take("queries")
    said, composed = (_logits(gpt, prompts).argmax(-1) for prompts in (facts, queries))
    composing = editing.keys_of(gpt, queries, layer)
    found: list[dict[str, Tensor]] = []
    most = min(most, facts.shape[1])
    for start in range(0, most, at_once):
        places = list(range(start, min(start + at_once, most)))
        editing.change(edited := deepcopy(gpt), take, places, edit)
        through = take("through")[:, places].any(1)
        edited_keys = editing.direction(gpt, facts, places, layer)
        overlap = torch.einsum("rmth,rhe->rmt", composing, edited_keys).amax(-1)
        means = {"overlap": _mean(overlap, through), "apart": _mean(overlap, ~through)}
        found.append(_after(edited, take, places, role, said, composed) | means)
    each = {name: torch.stack([one[name] for one in found]).nanmean(0) for name in found[0]}
    return pl.DataFrame(by_replica(model.replicas, **each)).drop("restored")


@holds(kept=75, whole=2)
def after_edits(model: Model, worlds: Worlds, *, edit: Edit | Mapping[str, Any]) -> pl.DataFrame:
    """What became of the facts that a phase edited, and of what follows from them, at any step.

    Args:
        model: ``R`` replicas.
        worlds: One world, or one a replica; they decide which facts were edited.
        edit: That of the phase; a file writes it as a table.

    Returns:
        A row for each replica: ``replica``; the shares ``holds``, ``reached``, ``unmoved``,
        ``facts`` and ``others`` of :func:`edits`, where before the edit all was as the world says;
        ``restored``, the share of old answers that are back; ``edited``, the facts as edited.

    Raises:
        ConfigError: The model lacks what the method changes.
        DataError: A world lacks facts of the role, or has not as many.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.GPTConfig(layers=1, width=8).build(vocabulary=len(world.vocabulary), seeds=1)
        >>> after_edits(model, world, edit=Edit(count=2))["edited"].item().to_list()
        ['b2 r2 c4', 'b4 r2 c3']
    """
    edit = decode(Edit, edit) if isinstance(edit, Mapping) else edit
    made = editing.Edited(model, worlds, edit)
    take = cache(partial(editing.stacked, model, made.parts))
    old, truth = model.columns(take("old")), model.columns(take("truth"))
    found = _after(model, take, made.places, edit.role, old, truth)
    edited = [
        [world.vocabulary.text([*part.facts[i], part.old[part.donors[i]]]) for i in made.places]
        for world, part in zip(made.worlds, made.parts, strict=True)
    ] * (model.replicas // len(made.worlds))
    return pl.DataFrame(by_replica(model.replicas, **found)).with_columns(edited=pl.Series(edited))


def _after(
    model: Model, take: editing.Take, places: list[int], role: str, said: Tensor, composed: Tensor
) -> dict[str, Tensor]:
    """What an edited model answers; ``said`` and ``composed`` are columns of answers before it."""
    names = ("donors", "through", "expected", "apart")
    donors, through, expected, apart = (take(name)[:, places] for name in names)
    one = expected.gather(1, through.int().argmax(1, keepdim=True))[:, 0]
    follows, rights, query_rights = through.any(1), take("rights"), take("query_rights")
    facts, queries = _logits(model, take("facts")), _logits(model, take("queries"))
    given = _first(
        facts[:, places], model.columns(take("old").gather(1, donors)), rights[:, places]
    )
    right = query_rights.clamp(min=2 if role == "edge" else 1)  # the old one, too
    reached = _first(queries, model.columns(one), right)
    stay, kept = _first(facts, said, rights), _first(queries, composed, query_rights)
    return {
        "holds": share(given),
        "restored": share(stay[:, places]),
        "reached": share(reached, follows),
        "unmoved": share(kept, follows),
        "facts": share(stay, apart.all(1)),
        "others": share(kept, ~follows),
    }


def _logits(model: Model, prompts: Int[Tensor, "R N T"]) -> Float[Tensor, "R N K"]:
    batch = pack([prompts])
    return model(batch, at=batch.last)


def _first(
    logits: Float[Tensor, "R N K"], columns: Int[Tensor, "R N"], rights: Int[Tensor, "R N"]
) -> Bool[Tensor, "R N"]:
    """Whether answers, by their columns, are among the first, as many as are right."""
    return (logits > logits.gather(-1, columns.unsqueeze(-1))).sum(-1) < rights


def _mean(values: Float[Tensor, "R M"], chosen: Bool[Tensor, "R M"]) -> Float[Tensor, " R"]:
    """Mean over the chosen ones; not a number where there are none."""
    return values.masked_fill(~chosen, torch.nan).nanmean(1)
