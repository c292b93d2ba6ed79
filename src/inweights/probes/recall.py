"""Accuracy by role: on the facts that a model was trained on, and on queries that combine them.

:func:`accuracy` is the most commonly used probe. Other probes share the functions that
divide statements: :func:`slices`, :func:`chosen_parts`, :func:`answers_among`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import polars as pl
import torch

from inweights.errors import ConfigError, DataError, check_names
from inweights.models.base import Model
from inweights.probes.needs import holds
from inweights.probes.states import by_replica, share
from inweights.training.batches.worlds import Part, as_worlds
from inweights.training.scoring import answer_scores
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.right_answers import first_tokens
from inweights.worlds.world import Ids, World


@holds(logits=8, states=14)
def accuracy(model: Model, worlds: World | Sequence[World]) -> pl.DataFrame:
    """Compute accuracy and loss of the first answer token, grouped by role.

    An answer to a prompt counts as correct if any fact or query of the world states it.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica.

    Returns:
        One row per replica and slice (part, role and distribution; facts first), with
        the columns ``replica``, ``part`` (``facts`` or ``queries``), ``role``,
        ``distribution`` (``trained`` for facts, ``in`` or ``out`` of distribution for
        queries), ``statements`` (number of statements), ``accuracy`` (share of
        statements, from 0 to 1, for which the largest logit of *all* candidates of the
        head belongs to a correct answer), ``accuracy_among`` (the accuracy if only
        candidates that are an answer to some statement of the role are compared; for
        compositions, these are the objects), ``chance`` (expected accuracy of guessing
        among the answers of the role), ``loss`` (mean cross-entropy over all
        candidates, in nats; if a query has several correct answers, it is computed from
        their total probability) and ``right_answers`` (mean number of answers of the
        role that are correct for a prompt). The table is empty if the world has no
        statements.

    Raises:
        ConfigError: The model has no replica axis or cannot read prompts of this
            length, or the probe would need more memory than is available.
        DataError: The worlds do not fit the model (there is neither one world nor one
            per replica, or a world has more tokens than the model), or an answer is not
            among the head's candidates.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> accuracy(model, world)["role"].to_list()
        ['first_hop', 'second_hop', 'identity', 'composition']
    """
    each = as_worlds(worlds, model)
    rows: list[dict[str, object]] = []
    for part, role, distribution, indices in slices(each[0]):
        allowed = answers_among(model, each, part, role)
        right = _right_counts(model, each, part, indices, allowed)
        scores = answer_scores(model, each, part, indices, allowed)
        rows += by_replica(
            model.replicas,
            part=part,
            role=role,
            distribution=distribution,
            statements=len(indices),
            accuracy=share(scores.right),
            accuracy_among=share(scores.right_among),
            chance=right / allowed.sum(1).double(),
            loss=scores.loss.mean(1),
            right_answers=right,
        )
    return pl.DataFrame(rows)


def _right_counts(
    model: Model,
    worlds: Sequence[World],
    part: Part,
    indices: Int[Ids, " m"],
    allowed: Bool[torch.Tensor, "R K"],
) -> Float[torch.Tensor, " R"]:
    """Return the mean number of allowed candidates that are correct answers to a prompt."""
    found = []
    for world, own in zip(worlds, allowed, strict=False):
        tokens = torch.from_numpy(getattr(world, part).right_pairs(indices)[1])
        columns = model.column[tokens.to(own.device)]
        found.append(own[columns[columns >= 0]].double().sum() / len(indices))
    return torch.stack(found).expand(model.replicas)


def by_loops(
    model: Model,
    worlds: World | Sequence[World],
    *,
    counts: Sequence[int] = (1, 2, 4, 8),
) -> pl.DataFrame:
    """Compute the accuracy of a looped GPT for several numbers of loops.

    Args:
        model: A GPT with ``R`` replicas.
        worlds: One world, or one for each replica.
        counts: Numbers of loops, each at least 1; at least one number is required.

    Returns:
        The rows of :func:`accuracy` for each number of loops, with a further column
        ``loops``.

    Raises:
        ConfigError: The model is not a GPT, ``counts`` is empty or contains a number
            below 1, the model cannot read prompts of this length, or :func:`accuracy`
            would need more memory than is available.
        DataError: The worlds do not fit the model, or an answer is not among the head's
            candidates.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> config = iw.GPTConfig(layers=1, loops=2, width=8)
        >>> model = config.build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> by_loops(model, world, counts=[1, 3])["loops"].unique(maintain_order=True).to_list()
        [1, 3]
    """
    trained = getattr(model, "loops", None)
    if not isinstance(trained, int) or min(counts, default=0) < 1:
        raise ConfigError(
            f"by_loops requires a GPT and counts of at least 1, got {type(model).__name__} and "
            f"{list(counts)}"
        )
    parts = []
    try:
        for count in counts:
            model.loops = count  # type: ignore[assignment]
            parts.append(accuracy(model, worlds).with_columns(loops=pl.lit(count)))
    finally:
        model.loops = trained  # type: ignore[assignment]
    return pl.concat(parts)


def chosen_parts(world: World, parts: Sequence[str]) -> tuple[Part, ...]:
    """Check the parts of a world that a probe evaluates, and return them as a tuple.

    Args:
        world: The probed world.
        parts: ``facts``, ``queries`` or both, as a sequence; a single name may also be
            a string.

    Returns:
        The parts, in the order given.

    Raises:
        ConfigError: A part is unknown, or ``parts`` is empty.
        DataError: None of the parts contains a statement.
    """
    chosen = cast(
        "tuple[Part, ...]", (parts,) if isinstance(parts, str) else tuple(parts)
    )
    check_names("part", chosen, ("facts", "queries"))
    # Probes already refuse an empty keyword argument. This check is for positional
    # arguments, and for functions that are not probes.
    if not chosen:
        raise ConfigError(
            f"'parts' must not be empty, got {parts!r}; name 'facts', 'queries' or both"
        )
    if not any(len(getattr(world, part)) for part in chosen):
        raise DataError(f"the world '{world.name}' has no {' and no '.join(chosen)}")
    return chosen


def slices(world: World) -> list[tuple[Part, str, str, Int[Ids, " m"]]]:
    """Divide a world's statements by part, role and distribution.

    Args:
        world: The world.

    Returns:
        Tuples ``(part, role, distribution, indices)`` of all slices that are not empty,
        facts first. ``part`` is ``facts`` or ``queries``; ``distribution`` is
        ``trained`` for facts, and ``in`` or ``out`` (of distribution) for queries;
        ``indices`` are the indices of the statements in the part, ``[m]``.
    """
    parts: list[tuple[Part, str, str, Ids]] = [
        ("facts", role, "trained", world.facts.with_role(role))
        for role in world.facts.role_names
    ]
    for role in world.queries.role_names:
        indices = world.queries.with_role(role)
        out = world.queries.out_of_distribution[indices]
        for distribution, chosen in (("in", indices[~out]), ("out", indices[out])):
            if len(chosen):
                parts.append(("queries", role, distribution, chosen))
    return parts


def answers_among(
    model: Model, worlds: Sequence[World], part: Part, role: str
) -> Bool[torch.Tensor, "R K"]:
    """Return which candidates correctly answer at least one statement of a role, ``[R, K]``.

    Args:
        model: Model whose candidates are compared.
        worlds: One world, or one for each replica.
        part: ``facts`` or ``queries``.
        role: Role of the statements, one of the ``role_names`` of ``world.facts`` or
            ``world.queries``.

    Returns:
        A Boolean tensor ``[R, K]``: whether each of the ``K`` candidates, in the order
        of the logits, is a correct answer to at least one statement of the role in the
        replica's world.

    Raises:
        DataError: A world has no statement of the role.
    """
    allowed = torch.zeros(len(worlds), len(model.candidates), dtype=torch.bool)
    columns = model.column.cpu()
    for row, world in zip(allowed, worlds, strict=True):
        statements = getattr(world, part)
        rows = statements.with_role(role)
        answers = first_tokens(statements)[rows]
        further = statements.further[np.isin(statements.further[:, 0], rows), 1]
        row[columns[torch.from_numpy(np.concatenate([answers, further]))]] = True
    return allowed.to(model.column.device).expand(model.replicas, -1)
