"""Statements with partners: statements of one role and length with different answers.

Patching and its approximation by gradients read the prompts of a statement and its
partner, and measure how far a state of the partner changes the logits from the
statement's own answer to the partner's answer. Shapes: ``R`` replicas, ``B``
statements, ``T`` positions, ``K`` candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.training.batches.worlds import Part, shape_groups
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import Ids, World


@dataclass(frozen=True, eq=False)
class Contrast:
    """Statements of one role and length, each with a partner.

    Attributes:
        role: Role of the statements.
        tokens: Token ids of their prompts; without the axis ``R`` if all replicas share
            a world.
        partners: Token ids of the prompts of their partners; a tensor of the same shape
            as ``tokens``.
        columns: Logit columns of the statement's own answer and of the partner's
            answer.
    """

    role: str
    tokens: Int[Tensor, "*R B T"]
    partners: Int[Tensor, "*R B T"]
    columns: Int[Tensor, "R B 2"]

    def difference(self, logits: Float[Tensor, "R B K"]) -> Float[Tensor, "R B"]:
        """Return the logit of the partner's answer minus the logit of the statement's answer.

        The partner of a statement has the same role and length, and a different answer.

        Args:
            logits: Logits at the last position of every statement's prompt, ``[R, B,
                K]`` (``R`` replicas, ``B`` prompts, ``K`` candidates).

        Returns:
            Differences ``[R, B]`` in double precision.
        """
        own, theirs = logits.gather(-1, self.columns).double().unbind(-1)
        return theirs - own


def contrasts(
    model: Model, worlds: Sequence[World], part: Part, most: int
) -> Iterator[Contrast]:
    """Yield statements with their partners, grouped by role, prompt length and answer length.

    The partner of a statement is the next statement in its group whose prompt and
    answer both differ; after the last statement, the search continues with the first
    one.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica.
        part: ``queries`` or ``facts``.
        most: Maximum number of statements in each group, at least 2. The first ones are
            used, and partners are chosen among them.

    Yields:
        One :class:`Contrast` for each group.

    Raises:
        DataError: A statement has no partner, because no other statement in its group
            differs from it in both prompt and answer; or an answer is not among the
            head's candidates.
    """
    statements = getattr(worlds[0], part)
    for role in statements.role_names:
        for group in shape_groups(worlds, part, statements.with_role(role)):
            prompts = group.prompts[..., :most, :]
            answers = group.answers[..., :most, 0]
            partner = torch.from_numpy(
                _partners(prompts.numpy(), answers.numpy(), role)
            )
            tokens = prompts.to(model.column.device)
            other = prompts.gather(-2, partner.unsqueeze(-1).expand_as(prompts))
            pair = torch.stack([answers, answers.gather(-1, partner)], dim=-1)
            columns = model.columns(pair).expand(model.replicas, -1, -1)
            yield Contrast(role, tokens, other.to(tokens.device), columns)


def last_logits(model: Model, tokens: Int[Tensor, "*R B T"]) -> Float[Tensor, "R B K"]:
    """Return the logits at the last position of every prompt, ``[R, B, K]``.

    Args:
        model: Model with ``R`` replicas and ``K`` candidates.
        tokens: Token ids of ``B`` prompts of one length, ``[B, T]`` (``T`` positions)
            or ``[R, B, T]`` (one set of prompts for each replica).

    Raises:
        ConfigError: The prompts are longer than the model's limit.
        DataError: ``tokens`` are not token ids of the model (checked on the CPU).
    """
    batch = pack([tokens])
    logits: Tensor = model(batch, at=batch.last)
    return logits


def _partners(prompts: Ids, answers: Ids, role: str) -> Ids:
    """Return the index of each statement's partner, ``[m]`` or ``[R, m]``.

    The partner is the next statement with a different prompt and a different answer.
    """
    count = answers.shape[-1]
    partners = np.full(answers.shape, -1)
    for shift in range(1, count):
        place = (np.arange(count) + shift) % count
        fits = (answers[..., place] != answers) & (
            prompts[..., place, :] != prompts
        ).any(-1)
        partners = np.where((partners < 0) & fits, place, partners)
        if (partners >= 0).all():
            return partners
    raise DataError(
        "activation patching requires, for each statement, another statement of the same "
        "length with a different prompt and a different answer; there is no such statement "
        f"for some of the {count} statements of the role '{role}'"
    )
