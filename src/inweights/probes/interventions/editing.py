"""Effects of editing stored facts on other facts, and on statements that follow from the edit.

:func:`edits` tests edits on copies of a model; :func:`after_edits` measures the edits
of a curriculum's phase. :mod:`inweights.training.steps.editing` edits the weights.

Shapes: ``R`` replicas, ``N`` facts of a role, ``M`` statements that may follow from
them, ``T`` positions, ``K`` candidates.
"""

from __future__ import annotations

import math
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
    """Edit facts in copies of a model, and measure how dependent and independent answers change.

    In each copy, one fact (or, with ``at_once``, several facts) gets a new answer: the
    answer of the next fact of the same role whose answer is wrong for the edited fact.
    The model itself does not change. The world determines which statements depend on an
    edited fact:

    - in a two-hop world: the two-hop facts and queries through the edited hop;
    - in an analogy world: for an edited attribution, the same attribution of other
      entities of the class; for an edited similarity, the attributes of the new class;
    - for an edge: its reversal, if the reversal is a query or the world is a graph.

    A statement counts as having the new answer if the logit of this answer is the
    largest or, for a prompt with ``k`` correct answers, among the ``k`` largest (among
    the two largest if the old answer is also correct).

    Args:
        model: A GPT with ``R`` replicas.
        worlds: One world, or one for each replica.
        role: Role of the facts that are edited: ``first_hop`` or ``second_hop``,
            ``attribution`` or ``similarity``, or ``edge``.
        method: Method by which the weights are changed: ``rank-one``, ``training`` or
            ``embedding``; see :class:`~inweights.training.Edit`.
        most: Maximum number of facts that are edited, at least 1; the first ones are
            used.
        steps: Maximum number of updates of an edit by gradient descent (``training``
            and ``embedding``).
        rate: Learning rate of an edit by gradient descent, above 0.
        at_once: Number of facts that are edited together in one copy, at least 1.
        layer: Index of the block of a rank-one edit; by default the last one.

    Returns:
        One row per replica, with the columns ``replica`` and means over the edited
        copies, as shares from 0 to 1 (NaN if there are no such statements): ``holds``,
        the share of edited facts with the new answer; ``reached``, the share of
        dependent statements with the new answer, and ``unmoved``, the share of
        dependent statements with the same answer as before; ``facts`` and ``others``,
        the shares of other facts of the role and of other statements with the same
        answer as before; ``overlap``, the overlap (before any edit) of the edited
        facts' keys, the inputs of the MLP's output matrix, with the keys of the
        dependent statements; and ``apart``, the overlap of the edited facts' keys with
        the keys of other statements.

    Raises:
        ConfigError: The model is not a GPT with a residual stream and one loop;
            ``role`` or ``method`` is unknown; ``most``, ``at_once`` or ``steps`` is
            below 1; ``rate`` is not above 0; the model has no block ``layer`` or cannot
            read prompts of this length; or the probe would need more memory than is
            available.
        DataError: The world has no facts of the role; for some fact, no other fact of
            the role has an answer that would be wrong for it; the world has no
            statements of the roles that depend on these facts; or the worlds do not fit
            the model.

    Example:
        >>> from inweights.models import GPTConfig
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=4).build()
        >>> model = GPTConfig(layers=1, width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> edits(model, world, most=2).columns[:3]
        ['replica', 'holds', 'reached']
    """
    edit = Edit(
        role=role,
        method=method,
        layer=layer,
        steps=steps,
        rate=rate,
    )
    check_size("edits: most", most, most=math.inf)
    check_size("edits: at_once", at_once)
    gpt = editing.editable(model, layer)
    parts = [Consequences.of(world, role) for world in as_worlds(worlds, model)]
    take = cache(partial(editing.stacked, model, parts))
    facts = take("facts")
    queries = take("queries")
    fact_columns = _logits(gpt, facts).argmax(-1)
    query_columns = _logits(gpt, queries).argmax(-1)
    query_keys = editing.keys_of(gpt, queries, layer)
    found: list[dict[str, Tensor]] = []
    most = min(most, facts.shape[1])
    for start in range(0, most, at_once):
        places = list(range(start, min(start + at_once, most)))
        edited = deepcopy(gpt)
        editing.change(edited, take, places, edit)
        through = take("through")[:, places].any(1)
        edited_keys = editing.direction(gpt, facts, places, layer)
        overlap = torch.einsum("rmth,rhe->rmt", query_keys, edited_keys).amax(-1)
        means = {"overlap": _mean(overlap, through), "apart": _mean(overlap, ~through)}
        found.append(
            _after(edited, take, places, role, fact_columns, query_columns) | means
        )
    averages = {}
    for name in found[0]:
        averages[name] = torch.stack([one[name] for one in found]).nanmean(0)
    return pl.DataFrame(by_replica(model.replicas, **averages)).drop("restored")


@holds(kept=75, whole=2)
def after_edits(
    model: Model, worlds: Worlds, *, edit: Edit | Mapping[str, Any]
) -> pl.DataFrame:
    """Measure facts that a training phase edited, and the statements that depend on them.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica. The worlds determine which facts are
            edited.
        edit: The phase's :class:`~inweights.training.Edit`, or a mapping with its
            fields, as in a settings file.

    Returns:
        One row per replica, with the columns ``replica``; ``holds``, the share of
        edited facts to which the model gives the new answer; ``reached``, the share of
        dependent statements (statements that follow from an edited fact) to which it
        gives the new answer, and ``unmoved``, the share of them to which it gives the
        world's answer; ``facts``, the share of other facts of the role to which it
        gives the world's answer, and ``others``, the same share of all other statements
        (each share is from 0 to 1, or NaN if there are no such statements);
        ``restored``, the share of edited facts to which the model gives the old answer
        again; and ``edited``, the list of the edited facts with their new answers.

    Raises:
        ConfigError: The model does not have the weights that the method changes, a
            rank-one edit has more facts than four times the model's width, ``edit`` has
            an unknown field or value, the model has no replica axis or cannot read
            prompts of this length, or the probe would need more memory than is
            available.
        DataError: A world has no facts of the role, or fewer than are to be edited; for
            some fact, no other fact of the role has an answer that would be wrong for
            it; no statements depend on these facts; or the worlds do not fit the model.

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
    old = model.columns(take("old"))
    truth = model.columns(take("truth"))
    found = _after(model, take, made.places, edit.role, old, truth)
    edited = []
    for world, part in zip(made.worlds, made.parts, strict=True):
        facts = [[*part.facts[i], part.old[part.donors[i]]] for i in made.places]
        edited.append(list(map(world.vocabulary.text, facts)))
    edited *= model.replicas // len(made.worlds)
    return pl.DataFrame(by_replica(model.replicas, **found)).with_columns(
        edited=pl.Series(edited)
    )


def _after(
    model: Model,
    take: editing.Take,
    places: list[int],
    role: str,
    fact_columns: Int[Tensor, "R N"],
    query_columns: Int[Tensor, "R M"],
) -> dict[str, Tensor]:
    """Return the measures of an edited model, given the columns of the answers before the edit."""
    names = ("donors", "through", "expected", "apart")
    donors, through, expected, apart = (take(name)[:, places] for name in names)
    answer = expected.gather(1, through.int().argmax(1, keepdim=True))[:, 0]
    follows = through.any(1)
    rights = take("rights")
    query_rights = take("query_rights")
    facts = _logits(model, take("facts"))
    queries = _logits(model, take("queries"))
    new = model.columns(take("old").gather(1, donors))
    given = _first(facts[:, places], new, rights[:, places])
    # For the reversal of an edge, the old answer may remain correct besides the new
    # one.
    enough = query_rights.clamp(min=2 if role == "edge" else 1)
    reached = _first(queries, model.columns(answer), enough)
    same_facts = _first(facts, fact_columns, rights)
    same_queries = _first(queries, query_columns, query_rights)
    return {
        "holds": share(given),
        "restored": share(same_facts[:, places]),
        "reached": share(reached, follows),
        "unmoved": share(same_queries, follows),
        "facts": share(same_facts, apart.all(1)),
        "others": share(same_queries, ~follows),
    }


def _logits(model: Model, prompts: Int[Tensor, "R N T"]) -> Float[Tensor, "R N K"]:
    """Return the logits at the last position of every prompt, ``[R, N, K]``."""
    batch = pack([prompts])
    return model(batch, at=batch.last)


def _first(
    logits: Float[Tensor, "R N K"],
    columns: Int[Tensor, "R N"],
    rights: Int[Tensor, "R N"],
) -> Bool[Tensor, "R N"]:
    """Return whether each answer is among the ``k`` largest logits, for ``k`` correct answers."""
    return (logits > logits.gather(-1, columns.unsqueeze(-1))).sum(-1) < rights


def _mean(
    values: Float[Tensor, "R M"], chosen: Bool[Tensor, "R M"]
) -> Float[Tensor, " R"]:
    """Return the mean of the chosen values, ``[R]``; NaN if none is chosen."""
    return values.masked_fill(~chosen, torch.nan).nanmean(1)
