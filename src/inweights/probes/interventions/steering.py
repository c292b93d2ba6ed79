"""Steering: change a hidden state at a named position, and measure the answers.

:func:`steered` changes a model within a ``with`` block, and the probe :func:`steer`
measures the effect of the same change, compared with a random change of equal size.
Shapes: ``R`` replicas, ``B`` prompts, ``T`` positions, ``D`` width, ``K`` candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Unpack

import numpy as np
import polars as pl
import torch
from torch import Tensor

from inweights.config import check_size
from inweights.errors import DataError
from inweights.models.base import Model
from inweights.probes.interventions.changes import (
    CHANGES,
    Change,
    Position,
    Vector,
    chosen_change,
    places,
    random_change,
    vector_of,
    with_position,
)
from inweights.probes.interventions.spots import spot_of
from inweights.probes.needs import holds
from inweights.probes.recall import answers_among, chosen_parts, slices
from inweights.probes.states import by_replica, share
from inweights.training.batches.worlds import Part, as_worlds
from inweights.training.scoring import answer_logits, answer_scores
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.world import Ids, World, Worlds


@contextmanager
def steered(
    model: Model,
    world: Worlds,
    *,
    at: str,
    position: Position = None,
    random: int | None = None,
    seed: int = 0,
    **change: Unpack[Change],
) -> Iterator[None]:
    """Return a context manager that changes a hidden state of a model within its block.

    The value of the ``with`` statement is ``None``. The change affects everything that
    uses the model within the block: :func:`inweights.ask`, probes, and calls of the
    model itself.

    Args:
        model: Model with ``R`` replicas.
        world: One world, or one for each replica, whose token names are used.
        at: A layer (:attr:`~inweights.models.Model.layer_names`), a part of a layer
            (:attr:`~inweights.models.Model.part_names`), or a head of a GPT such as
            ``block.0.head.1``, whose state is the head's output before the attention's
            output matrix.
        position: Position in a prompt: an index (negative indices count from the end),
            the name of a token, several names, or a mask ``[B, T]`` (``B`` prompts,
            ``T`` positions); by default all positions.
        add: Vector that is added: numbers ``[D]`` (width ``D``), or ``[R, D]`` with one
            vector for each replica; a prompt such as ``"a2 r1"``, whose state at this
            layer and position (at its last token, if it has no such position) is the
            vector; or two prompts, the difference of whose states (first minus second)
            is the vector. Exactly one of ``add``, ``replace``, ``project_out`` and
            ``scale`` must be given.
        replace: Vector that replaces the state, in the same forms.
        project_out: Vector whose direction is removed from the state, in the same
            forms.
        scale: Factor by which the state is multiplied.
        random: Index of a random direction. If given, the state is instead moved in
            this direction, by the distance by which the change would move it. With
            ``None`` (default), the change itself is applied.
        seed: Root seed of random directions.

    Raises:
        ConfigError: The layer or head is unknown, no change or several changes are
            given, the layer was not computed within the block, ``seed`` is not between
            0 and 2**63 - 1 (with ``random``), or the model has no replica axis.
        DataError: A name is not a token, a vector or mask has the wrong shape, a prompt
            given as a vector has the position several times, or the worlds do not fit
            the model; or, at the end of the block, no prompt that the model read had
            the position.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.GPTConfig(layers=1, width=8).build(vocabulary=len(world.vocabulary), seeds=1)
        >>> with steered(model, world, at="final", replace="a2 r1"):
        ...     answer = iw.ask(model, world, "a1 r1", best=1)["answer"].item()
        >>> answer == iw.ask(model, world, "a2 r1", best=1)["answer"].item()
        True
    """
    worlds = as_worlds(world, model)
    name, value = chosen_change(change)
    vector = vector_of(value, model, worlds, at, position)
    spot = spot_of(model, at)
    missing = True

    def edit(whole: Float[Tensor, "R B T D"]) -> Float[Tensor, "R B T D"]:
        nonlocal missing
        assert model.reading is not None
        assert model.reading.tokens is not None
        where = places(position, worlds, model.reading.tokens)
        missing = missing and not bool(where.any())
        state = whole[..., spot.columns]
        try:
            changed = CHANGES[name](state, vector.to(state))
        except RuntimeError:
            raise DataError(
                f"a vector for '{at}' must have {state.shape[-1]} entries, which is the width of "
                f"the states of '{at}', got {vector.shape[-1]}"
            ) from None
        if random is not None:
            changed = random_change(state, changed, seed, random)
        moved = whole.clone()
        moved[..., spot.columns] = torch.where(where.unsqueeze(-1), changed, state)
        return moved

    with model.hooks({spot.name: edit}):
        yield
    if missing:
        raise DataError(
            f"none of the prompts that the model read has a position {position!r}"
        )


@holds(whole=170, kept=8)
def steer(
    model: Model,
    worlds: Worlds,
    *,
    at: str,
    position: int | str | Sequence[str] | None = None,
    add: Vector = None,
    replace: Vector = None,
    project_out: Vector = None,
    scale: float | None = None,
    parts: Sequence[Part] = ("facts", "queries"),
    toward: str = "",
    draws: int = 8,
    seed: int = 0,
) -> pl.DataFrame:
    """Measure how a change of a hidden state affects answers, compared with a random change.

    The change is defined as in :func:`steered`. The control moves each state by the
    same distance in a random direction; its values are means over ``draws`` directions.
    If the effect of a change is not larger than the effect of the control, there is no
    evidence that its direction matters.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica.
        at: A layer, a part of a layer, or a head of a GPT such as ``block.0.head.1``.
        position: Position in a prompt: an index (negative indices count from the end),
            the name of a token, or several names; by default all positions. Statements
            whose prompts lack the position are left out.
        add: Vector that is added: numbers ``[D]`` (width ``D``) or ``[R, D]``, a prompt
            whose state is the vector, or two prompts, the difference of whose states is
            the vector (see :func:`steered`). Exactly one of ``add``, ``replace``,
            ``project_out`` and ``scale`` must be given.
        replace: Vector that replaces the state, in the same forms.
        project_out: Vector whose direction is removed from the state, in the same
            forms.
        scale: Factor by which the state is multiplied.
        parts: ``facts``, ``queries`` or both.
        toward: Name of a token whose probability is measured; by default none.
        draws: Number of random directions of the control, at least 0; 0 for no control.
        seed: Root seed of the random directions.

    Returns:
        One row per replica, slice and change, with the columns ``replica``; ``part``,
        ``role`` and ``distribution`` (the slice: ``trained`` for facts, ``in`` or
        ``out`` of distribution for queries); ``change`` (``none``, ``random`` for the
        control, or the name of the argument that defines the change); ``statements``
        (number of statements); ``accuracy`` and ``chance`` (accuracy of guessing among
        the answers of the role); ``changed``, the share of statements whose first
        answer differs from the answer without a change; ``divergence``, the mean
        Kullback-Leibler divergence of the distribution of answers from the distribution
        without a change, in nats; and, only if ``toward`` is given, ``toward``, the
        mean probability of that token.

    Raises:
        ConfigError: A layer, head or part is unknown, no change or several changes are
            given, ``draws`` is below 0, ``seed`` is not between 0 and 2**63 - 1, the
            model has no replica axis or cannot read prompts of this length, or the
            probe would need more memory than is available.
        DataError: No statement has the position, a name is not a token, a vector has
            the wrong shape, an answer or the token ``toward`` is not among the head's
            candidates, or the worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.GPTConfig(layers=1, width=8).build(vocabulary=len(world.vocabulary), seeds=1)
        >>> table = steer(model, world, at="block.0", position="r1", add=("a2 r1", "a1 r1"))
        >>> table.filter(role="first_hop")["change"].to_list()
        ['none', 'add', 'random']
    """
    check_size("steer: draws", draws, least=0)
    each = as_worlds(worlds, model)
    given = {"add": add, "replace": replace, "project_out": project_out, "scale": scale}
    name, _ = chosen_change(given)
    how: dict[str, Any] = {
        "at": at,
        "position": position,
        "seed": seed,
        **given,
    }
    chosen = chosen_parts(each[0], parts)
    rows: list[dict[str, object]] = []
    for part, role, distribution, indices in slices(each[0]):
        here = with_position(position, each, part, indices)
        if part not in chosen or not len(here):
            continue
        view = _View(model, each, part, role, here, toward)
        before = view.answers()
        with steered(model, each, **how):
            after = view.answers()
        drawn = []
        for draw in range(draws):
            with steered(model, each, random=draw, **how):
                drawn.append(view.answers())
        about = {"part": part, "role": role, "distribution": distribution}
        changes = {"none": [before], name: [after], "random": drawn}
        for change, answers in changes.items():
            if answers:
                found = view.compared(before, answers)
                rows += by_replica(model.replicas, **about, change=change, **found)
    if not rows:
        raise DataError(
            f"no statement among the {' and '.join(chosen)} has a position {position!r}"
        )
    return pl.DataFrame(rows)


class _View:
    """Statements of one role, and a model's answers to them."""

    def __init__(
        self,
        model: Model,
        worlds: Sequence[World],
        part: Part,
        role: str,
        indices: Int[Ids, " m"],
        toward: str,
    ) -> None:
        self.model = model
        self.worlds = worlds
        self.part = part
        self.indices = indices
        self.allowed = answers_among(model, worlds, part, role)
        counts = [getattr(world, part).right_counts[indices].mean() for world in worlds]
        right = torch.tensor(np.array(counts)).expand(model.replicas)
        self.chance = right / self.allowed.sum(1).cpu().double()
        ids = torch.tensor(
            [world.vocabulary.id(toward) for world in worlds] if toward else []
        )
        self.toward = model.columns(ids).expand(model.replicas) if toward else None

    def answers(self) -> tuple[Bool[Tensor, "R m"], Float[Tensor, "R m K"]]:
        """Return whether each answer is correct, and the log-probabilities of all candidates."""
        args = self.model, self.worlds, self.part, self.indices
        right = answer_scores(*args, self.allowed).right
        return right, answer_logits(*args).double().log_softmax(-1)

    def compared(
        self,
        before: tuple[Tensor, Tensor],
        answers: Sequence[tuple[Tensor, Tensor]],
    ) -> dict[str, object]:
        """Return the measures of a change, averaged over all of its random directions."""
        whole = before[1]
        changed = []
        divergence = []
        toward = []
        for _, logs in answers:
            changed.append(share(logs.argmax(-1) != whole.argmax(-1)))
            divergence.append((whole.exp() * (whole - logs)).sum(-1).mean(1))
            if self.toward is not None:
                column = self.toward[:, None, None].expand(-1, logs.shape[1], 1)
                toward.append(logs.gather(-1, column).exp().mean((1, 2)))
        found: dict[str, object] = {
            "statements": len(self.indices),
            "accuracy": torch.stack([share(right) for right, _ in answers]).mean(0),
            "chance": self.chance,
            "changed": torch.stack(changed).mean(0),
            "divergence": torch.stack(divergence).mean(0),
        }
        return {**found, "toward": torch.stack(toward).mean(0)} if toward else found
