"""Edits: one stored fact is changed in the weights, and what else changes with it.

A rank-one edit (Meng et al. 2022, arXiv:2202.05262) has a closed form in the last block: there the
answer follows from the residual stream alone, so that the MLP has to add the difference between the
stream of a prompt with the new answer and that of the edited one. Shapes: ``R`` replicas, ``N``
prompts, ``H`` hidden width of an MLP, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import polars as pl
import torch
from torch import Tensor
from torch.nn import functional as F

from inweights.errors import ConfigError, DataError, check_names
from inweights.models.base import Model
from inweights.models.gpt import GPT, Block
from inweights.models.packing import pack
from inweights.probes.needs import holds
from inweights.probes.states import by_replica
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.world import World, Worlds

#: Penalty of the keys' second moment, over its mean square.
_PENALTY = 1e-2
#: Probability of the new answer at which training on an edit ends.
_HELD = 0.9


@holds(kept=95, whole=2)
def edits(
    model: Model,
    worlds: Worlds,
    *,
    role: Literal["first_hop", "second_hop"] = "second_hop",
    method: Literal["rank-one", "training"] = "rank-one",
    most: int = 8,
    steps: int = 40,
    rate: float = 1e-3,
) -> pl.DataFrame:
    """What follows from an edit of one hop, what else changes, and what predicts it.

    A fact gets the answer of the next fact of its role. The model itself stays as it is.

    Args:
        model: ``R`` replicas of a GPT.
        worlds: Two-hop worlds: one, or one a replica.
        role: Which hops are edited, each by itself.
        method: ``rank-one``: of the last MLP's output matrix, in closed form, so that the keys of
            other facts, by their second moment, are disturbed least. ``training``: Adam on this
            fact alone.
        most: Facts that are edited, the first ones.
        steps: Updates of ``training`` at most; a replica stands still once the new answer has a
            probability of .9.
        rate: Its rate.

    Returns:
        A row for each replica, means over edits: ``replica``; ``holds``; of the two-hop facts and
        queries through the fact ``reached``, the share that follows the edit, and ``unmoved``, that
        answers as before; ``facts`` and ``others``, the shares of other hops and of other two-hop
        statements that answer as before; ``overlap``, how much of the edited key is in the key of
        two-hop statements through the fact before any edit, and ``apart``, in that of others.

    Raises:
        ConfigError: The model is not a GPT with a residual stream and one loop, or a name is
            unknown.
        DataError: The world has no two hops, or all facts of the role have one answer.

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
    check_names("role", [role], ("first_hop", "second_hop"))
    check_names("method", [method], ("rank-one", "training"))
    parts = [_Hops.of(world, role) for world in as_worlds(worlds, model)]
    before = _State(model, parts)
    found: list[dict[str, Tensor]] = []
    for place in range(min(most, before.facts.shape[1])):
        new, through, expected = before.asked(parts, place)
        direction = before.direction(place)
        if method == "training":
            edited = _trained(model, before.facts[:, place], new, steps, rate)
        else:
            edited = before.moved(place, direction)
        facts, queries = _answers(edited, before.facts), _answers(edited, before.queries)
        kept_facts = (facts == before.said).float()
        kept_facts[:, place] = torch.nan
        kept, overlap = queries == before.composed, before.overlap(direction)
        found.append(
            {
                "holds": (facts[:, place] == new).float(),
                "reached": _share(queries == expected, through),
                "unmoved": _share(kept, through),
                "facts": kept_facts.nanmean(1),
                "others": _share(kept, ~through),
                "overlap": _share(overlap, through),
                "apart": _share(overlap, ~through),
            }
        )
    means = {name: torch.stack([one[name] for one in found]).nanmean(0) for name in found[0]}
    return pl.DataFrame(by_replica(model.replicas, **means))


@dataclass(frozen=True)
class _Hops:
    """The hops of a role in one world, and its two-hop statements, trained or asked."""

    facts: Int[np.ndarray, "N 2"]
    answers: Int[np.ndarray, " N"]
    donors: Int[np.ndarray, " N"]
    queries: Int[np.ndarray, "M 3"]
    bridges: Int[np.ndarray, " M"]
    second: dict[tuple[int, int], int]
    first: bool

    @classmethod
    def of(cls, world: World, role: str) -> _Hops:
        if not {"first_hop", "second_hop"} <= set(world.facts.role_names):
            raise DataError("edits requires a world with first and second hops")
        names = ("first_hop", "second_hop")
        hops = {name: world.facts.matrix(world.facts.with_role(name)) for name in names}
        maps = [
            {(int(e), int(r)): int(a) for (e, r), (a,) in zip(*hop, strict=True)}
            for hop in hops.values()
        ]
        asked = [world.queries.prompt(i) for i in range(len(world.queries))]
        if "two_hop" in world.facts.role_names:
            asked += [world.facts.prompt(int(i)) for i in world.facts.with_role("two_hop")]
        queries = np.stack([prompt for prompt in asked if len(prompt) == 3])
        bridges = np.array([maps[0][int(e), int(r)] for e, r, _ in queries])
        facts, answers = hops[role][0], hops[role][1][:, 0]
        others = answers[None] != answers[:, None]
        if not others.any(1).all():
            raise DataError(f"all facts of the role '{role}' have one answer")
        order = (np.arange(len(facts))[None] - np.arange(len(facts))[:, None] - 1) % len(facts)
        donors = np.where(others, order, len(facts)).argmin(1)
        return cls(facts, answers, donors, queries, bridges, maps[1], role == "first_hop")

    def through(self, place: int) -> tuple[int, Bool[np.ndarray, " M"], Int[np.ndarray, " M"]]:
        """The new answer, which statements go through the fact, and what they answer then."""
        new = int(self.answers[self.donors[place]])
        entity, relation = self.facts[place]
        if self.first:
            chosen = (self.queries[:, :2] == self.facts[place]).all(1)
            then = np.array([self.second[new, int(r)] for r in self.queries[:, 2]])
            return new, chosen, then
        chosen = (self.bridges == entity) & (self.queries[:, 2] == relation)
        return new, chosen, np.full(len(chosen), new)


class _State:
    """The model before any edit: what it answers, and the keys of its last MLP."""

    def __init__(self, model: GPT, parts: Sequence[_Hops]) -> None:
        def stacked(name: str) -> Tensor:
            values = torch.from_numpy(np.stack([getattr(part, name) for part in parts]))
            return values.expand(model.replicas, *values.shape[1:]).to(model.column.device)

        self.model = model
        self.facts, self.queries, self.donors = map(stacked, ("facts", "queries", "donors"))
        self.said, self.composed = _answers(model, self.facts), _answers(model, self.queries)
        self.keys, self.composing = _keys(model, self.facts), _keys(model, self.queries)
        moment = self.keys.mT @ self.keys / self.keys.shape[1]
        penalty = _PENALTY * self.keys.square().mean((1, 2), keepdim=True)
        self.moment = moment + penalty * torch.eye(moment.shape[1]).to(moment)

    def asked(self, parts: Sequence[_Hops], place: int) -> tuple[Tensor, Tensor, Tensor]:
        """The new answers ``[R]``, and of two-hop statements: through the fact, and expected."""
        columns = zip(*(part.through(place) for part in parts), strict=True)
        new, through, expected = (torch.from_numpy(np.stack(column)) for column in columns)
        shape, device = self.composed.shape, self.composed.device
        through, expected = (column.expand(shape).to(device) for column in (through, expected))
        return new.expand(shape[0]).to(device), through, expected

    def direction(self, place: int) -> Float[Tensor, "R H"]:
        """What the edited key is multiplied with, so that it gives 1 and other keys little."""
        key = self.keys[:, place]
        solved = torch.linalg.solve(self.moment, key)
        return solved / (solved * key).sum(1, keepdim=True)

    def overlap(self, direction: Float[Tensor, "R H"]) -> Float[Tensor, "R M"]:
        """How much of the edit each two-hop statement gets, by its key."""
        return torch.einsum("rmh,rh->rm", self.composing, direction)

    def moved(self, place: int, direction: Float[Tensor, "R H"]) -> GPT:
        """A copy whose last MLP maps the edited key onto the donor's stream."""
        name = self.model.layer_names[-2]
        stream = self.model.hidden(self.facts, layers=[name])[name]
        rows = torch.arange(len(stream), device=stream.device)
        change = stream[rows, self.donors[:, place]] - stream[:, place]
        edited = deepcopy(self.model)
        with torch.no_grad():
            down = cast("Block", edited.blocks[-1]).down
            down.weight.add_(torch.einsum("rh,rd->rhd", direction, change))
        return edited


def _keys(model: GPT, prompts: Int[Tensor, "R N T"]) -> Float[Tensor, "R N H"]:
    """What enters the output matrix of the last MLP, at the last position."""
    caught: list[Tensor] = []
    down = cast("Block", model.blocks[-1]).down
    hook = down.register_forward_pre_hook(lambda _, given: caught.append(given[0]))
    try:
        batch = pack([prompts])
        model(batch, at=batch.last)
    finally:
        hook.remove()
    return caught[0]


@torch.enable_grad()
def _trained(
    model: GPT, prompt: Int[Tensor, "R T"], new: Int[Tensor, " R"], steps: int, rate: float
) -> GPT:
    """A copy that is trained on one fact; a replica that holds it stands still."""
    edited = deepcopy(model)
    parameters = list(edited.parameters())
    optimizer = torch.optim.Adam(parameters, lr=rate)
    batch = pack([prompt.unsqueeze(1)])
    held = torch.zeros(model.replicas, dtype=torch.bool, device=prompt.device)
    for _ in range(steps):
        logits = edited(batch, at=batch.last)[:, 0]
        loss = F.cross_entropy(logits, edited.columns(new), reduction="none")
        held |= loss.detach() < -np.log(_HELD)
        if bool(held.all()):
            break
        before = [parameter.detach()[held].clone() for parameter in parameters]
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        with torch.no_grad():
            for parameter, old in zip(parameters, before, strict=True):
                parameter[held] = old
    return edited


def _answers(model: GPT, prompts: Int[Tensor, "R N T"]) -> Int[Tensor, "R N"]:
    batch = pack([prompts])
    return model.candidates[model(batch, at=batch.last).argmax(-1)]


def _share(values: Tensor, chosen: Bool[Tensor, "R M"]) -> Float[Tensor, " R"]:
    """Mean over the chosen ones; not a number where there are none."""
    return values.float().masked_fill(~chosen, torch.nan).nanmean(1)
