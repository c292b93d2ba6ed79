"""Edits: stored facts are changed in the weights, and what else changes with them.

A rank-one edit (Meng et al. 2022, arXiv:2202.05262) has a closed form in the last block: there the
answer follows from the residual stream alone, so that the MLP has to add the difference between the
stream of a prompt with the new answer and that of the edited one. In another block, what the MLP
has to add is found by a few steps of gradient descent. Shapes: ``R`` replicas, ``N`` prompts, ``E``
facts that are edited at once, ``H`` hidden width of an MLP, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Literal, cast

import numpy as np
import polars as pl
import torch
from torch import Tensor
from torch.nn import functional as F

from inweights.config import check_size
from inweights.errors import ConfigError, check_names
from inweights.models.base import Model
from inweights.models.gpt import GPT, Block
from inweights.models.packing import pack
from inweights.probes.interventions.consequences import ROLES, Consequences
from inweights.probes.needs import holds
from inweights.probes.states import by_replica
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.world import Worlds

#: Penalty of the keys' second moment, over its mean square.
_PENALTY = 1e-2
#: Probability of the new answer at which training on an edit ends.
_HELD = 0.9


@holds(kept=75, whole=2, cosines=30)
def edits(
    model: Model,
    worlds: Worlds,
    *,
    role: Literal["first_hop", "second_hop", "attribution", "similarity", "edge"] = "second_hop",
    method: Literal["rank-one", "training", "embedding"] = "rank-one",
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
        method: ``rank-one``: of an MLP's output matrix, in closed form, so that the keys of other
            facts, by their second moment, are disturbed least. ``training``: Adam on these facts
            alone. ``embedding``: Adam on the embeddings of their subjects alone.
        most: Facts that are edited, the first ones.
        steps: Updates of gradient descent at most; a replica stands still once each new answer has
            a probability of .9.
        rate: Its rate.
        at_once: Facts that are edited together; one by default.
        layer: Block of a rank-one edit; the last one, in closed form, if left out. In another one
            what the MLP adds to the last token is found by gradient descent.

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
    if not isinstance(model, GPT) or not model.config.residual or model.loops > 1:
        raise ConfigError(
            "edits requires a GPT with a residual stream and one loop, got "
            f"{getattr(model, 'config', type(model).__name__)}"
        )
    check_names("role", [role], ROLES)
    check_names("method", [method], ("rank-one", "training", "embedding"))
    check_size("edits: at_once", at_once)
    check_size("edits: layer", layer or 0, least=0, most=len(model.blocks) - 1)
    parts = [Consequences.of(world, role) for world in as_worlds(worlds, model)]
    before = _State(model, parts, layer)
    found: list[dict[str, Tensor]] = []
    for start in range(0, min(most, before.facts.shape[1]), at_once):
        places = list(range(start, min(start + at_once, most, before.facts.shape[1])))
        new, through, expected, apart = before.asked(places)
        prompts, direction = before.facts[:, places], before.direction(places)
        if method == "rank-one":
            edited = before.moved(direction, before.change(places, new, steps, rate))
        else:
            edited, only = deepcopy(model), None
            if method == "embedding":
                only = torch.zeros_like(model.tokens.weight[..., :1])
                only.scatter_(1, prompts[..., :1], 1.0)
            moved = edited if only is None else edited.tokens
            _descend(edited, prompts, new, list(moved.parameters()), steps, rate, only)
        facts, queries = _logits(edited, before.facts), _logits(edited, before.queries)
        given = _first(facts[:, places], model.columns(new), before.rights[:, places])
        right = before.query_rights.clamp(min=2 if role == "edge" else 1)  # the old one, too
        reached = _first(queries, model.columns(expected), right)
        kept = _first(queries, before.composed, before.query_rights)
        overlap = before.overlap(direction)
        found.append(
            {
                "holds": given.float().mean(1),
                "reached": _share(reached, through),
                "unmoved": _share(kept, through),
                "facts": _share(_first(facts, before.said, before.rights), apart),
                "others": _share(kept, ~through),
                "overlap": _share(overlap, through),
                "apart": _share(overlap, ~through),
            }
        )
    means = {name: torch.stack([one[name] for one in found]).nanmean(0) for name in found[0]}
    return pl.DataFrame(by_replica(model.replicas, **means))


class _State:
    """The model before any edit: what it answers, and the keys of an MLP."""

    def __init__(self, model: GPT, parts: Sequence[Consequences], layer: int | None) -> None:
        def stacked(name: str) -> Tensor:
            values = torch.from_numpy(np.stack([getattr(part, name) for part in parts]))
            return values.expand(model.replicas, *values.shape[1:]).to(model.column.device)

        self.model, self.layer = model, layer
        self.facts, self.queries, self.donors = map(stacked, ("facts", "queries", "donors"))
        self.new, self.through, self.expected = map(stacked, ("new", "through", "expected"))
        self.apart = stacked("apart")
        self.rights, self.query_rights = map(stacked, ("rights", "query_rights"))
        self.said, self.composed = (
            _logits(model, prompts).argmax(-1) for prompts in (self.facts, self.queries)
        )
        self.keys = _keys(model, self.facts, layer)[:, :, -1]
        self.composing = _keys(model, self.queries, layer)
        moment = self.keys.mT @ self.keys / self.keys.shape[1]
        penalty = _PENALTY * self.keys.square().mean((1, 2), keepdim=True)
        self.moment = moment + penalty * torch.eye(moment.shape[1]).to(moment)

    def asked(self, places: list[int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """New answers ``[R, E]``; of statements: which follow, and how; facts that should stay."""
        through, expected = self.through[:, places], self.expected[:, places]
        one = expected.gather(1, through.int().argmax(1, keepdim=True))[:, 0]
        return self.new[:, places], through.any(1), one, self.apart[:, places].all(1)

    def direction(self, places: list[int]) -> Float[Tensor, "R H E"]:
        """What each edited key is multiplied with, so that it gives 1 and other keys little."""
        keys = self.keys[:, places].mT
        solved = torch.linalg.solve(self.moment, keys)
        return solved @ torch.linalg.inv(keys.mT @ solved)

    def overlap(self, direction: Float[Tensor, "R H E"]) -> Float[Tensor, "R M"]:
        """How much of the edits each statement gets, by its key, at the position with most."""
        return torch.einsum("rmth,rhe->rmt", self.composing, direction).amax(-1)

    def change(
        self, places: list[int], new: Int[Tensor, "R E"], steps: int, rate: float
    ) -> Float[Tensor, "R E D"]:
        """What the MLP has to add at the last token, so that the new answers hold."""
        if self.layer is None:
            name = self.model.layer_names[-2]
            stream = self.model.hidden(self.facts, layers=[name])[name]
            rows = torch.arange(len(stream), device=stream.device).unsqueeze(1)
            return stream[rows, self.donors[:, places]] - stream[:, places]
        prompts, shape = self.facts[:, places], (*new.shape, self.model.config.width)
        last, change = pack([prompts]).last, torch.zeros(shape, device=new.device)
        change.requires_grad_()
        with self.model.hooks({f"block.{self.layer}.mlp": lambda x: x.index_add(1, last, change)}):
            _descend(self.model, prompts, new, [change], steps, rate)
        return change.detach()

    def moved(self, direction: Float[Tensor, "R H E"], change: Float[Tensor, "R E D"]) -> GPT:
        """A copy whose MLP adds the changes to the edited keys."""
        edited = deepcopy(self.model)
        with torch.no_grad():
            down = cast("Block", edited.blocks[-1 if self.layer is None else self.layer]).down
            down.weight.add_(direction @ change)
        return edited


def _keys(model: GPT, prompts: Int[Tensor, "R N T"], layer: int | None) -> Float[Tensor, "R N _ H"]:
    """What enters the output matrix of an MLP: of the last one, at the last position."""
    caught: list[Tensor] = []
    down = cast("Block", model.blocks[-1 if layer is None else layer]).down
    hook = down.register_forward_pre_hook(lambda _, given: caught.append(given[0]))
    try:
        batch = pack([prompts])
        if layer is None:
            model(batch, at=batch.last)
        else:
            model.states(batch)
    finally:
        hook.remove()
    return caught[0].unflatten(1, (prompts.shape[1], -1))


@torch.enable_grad()
def _descend(
    model: GPT,
    prompts: Int[Tensor, "R E T"],
    new: Int[Tensor, "R E"],
    parameters: list[Tensor],
    steps: int,
    rate: float,
    only: Float[Tensor, "R V 1"] | None = None,
) -> None:
    """Train parameters, or only some rows, on facts; a replica that holds them stands still."""
    optimizer = torch.optim.Adam(parameters, lr=rate)
    batch = pack([prompts])
    held = torch.zeros(model.replicas, dtype=torch.bool, device=prompts.device)
    for _ in range(steps):
        logits = model(batch, at=batch.last)
        loss = F.cross_entropy(logits.mT, model.columns(new), reduction="none")
        held |= (loss.detach() < -np.log(_HELD)).all(1)
        if bool(held.all()):
            break
        before = [parameter.detach()[held].clone() for parameter in parameters]
        slopes = torch.autograd.grad(loss.sum(), parameters)
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.grad = slope if only is None else slope * only
        optimizer.step()
        with torch.no_grad():
            for parameter, old in zip(parameters, before, strict=True):
                parameter[held] = old


def _logits(model: GPT, prompts: Int[Tensor, "R N T"]) -> Float[Tensor, "R N K"]:
    batch = pack([prompts])
    return model(batch, at=batch.last)


def _first(
    logits: Float[Tensor, "R N K"], columns: Int[Tensor, "R N"], rights: Int[Tensor, "R N"]
) -> Bool[Tensor, "R N"]:
    """Whether answers, by their columns, are among the first, as many as are right."""
    return (logits > logits.gather(-1, columns.unsqueeze(-1))).sum(-1) < rights


def _share(values: Tensor, chosen: Bool[Tensor, "R M"]) -> Float[Tensor, " R"]:
    """Mean over the chosen ones; not a number where there are none."""
    return values.float().masked_fill(~chosen, torch.nan).nanmean(1)
