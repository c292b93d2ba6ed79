"""Edits of stored facts: what follows from them, as the world tells, and how weights are changed.

A rank-one edit (Meng et al. 2022, arXiv:2202.05262) has a closed form in the last block: there the
answer follows from the residual stream alone, so that the MLP has to add the difference between the
stream of a prompt with the new answer and that of the edited one. In another block, what the MLP
has to add is found by a few steps of gradient descent. Shapes: ``R`` replicas, ``N`` facts that may
be edited, ``E`` of them that are, ``M`` statements that may follow, trained or asked, ``H`` hidden
width of an MLP, ``D`` width.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.config import check_size
from inweights.errors import ConfigError, DataError
from inweights.models.base import Model
from inweights.models.gpt import GPT, Block
from inweights.models.layers import Linear
from inweights.models.packing import pack
from inweights.seeds import Streams
from inweights.training.batches.worlds import as_worlds
from inweights.training.curriculum import Edit
from inweights.worlds.arrays import Bool, Float, Int
from inweights.worlds.families.graph import edge_prefix
from inweights.worlds.world import World, Worlds

#: Penalty of the keys' second moment, over its mean square.
_PENALTY = 1e-2
#: Probability of the new answer at which training on an edit ends.
_HELD = 0.9
#: An array of the consequences by its name, a row a replica.
Take = Callable[[str], Tensor]


@dataclass(frozen=True, kw_only=True)
class Consequences:
    """The facts of a role in one world, and the statements that may follow from them."""

    facts: Int[np.ndarray, "N T"]  # their prompts
    apart: Bool[np.ndarray, "N N"]  # which facts an edit of one should leave alone
    old: Int[np.ndarray, " N"]  # their answers
    donors: Int[np.ndarray, " N"]  # the fact whose answer each of them gets
    queries: Int[np.ndarray, "M S"]  # prompts of the statements
    through: Bool[np.ndarray, "N M"]  # which of them follow from the edit of each fact
    expected: Int[np.ndarray, "N M"]  # what they say then
    truth: Int[np.ndarray, " M"]  # what they say as long as nothing is edited
    rights: Int[np.ndarray, " N"]  # number of right answers of each fact's prompt
    query_rights: Int[np.ndarray, " M"]  # the same of each statement's

    @classmethod
    def of(cls, world: World, role: str, *, drawn: bool = False) -> Self:
        """Read a world; a fact gets the next answer that is not near its own.

        Facts are in the world's order, or in one that its root seed draws, with one a prompt first.
        """
        if role not in world.facts.role_names:
            raise DataError(
                "edits requires a world with first and second hops, analogies, reversals or edges; "
                f"this one has no facts of the role '{role}'"
            )
        facts, answers = _said(world, role)
        if drawn:
            order = Streams(world.seed).numpy("edit", role).permutation(len(facts))
            first = np.sort(np.unique(facts[order], axis=0, return_index=True)[1])
            order = np.concatenate([order[first], np.delete(order, first)])
            facts, answers = facts[order], answers[order]
        right = defaultdict(set)
        for fact in world.facts:
            right[tuple(fact.prompt)].add(fact.answer[0])
        due = {tuple(query.prompt): {query.answer[0]} for query in world.queries}
        prompts = [tuple(prompt) for prompt in facts.tolist()]
        known = [  # in a graph also the node itself, and those two edges away
            {prompt[-1], *right[prompt]}.union(
                *(right.get((*prompt[:-1], answer), ()) for answer in right[prompt])
            )
            for prompt in prompts
        ]
        others = np.array([[int(answer) not in taken for answer in answers] for taken in known])
        if not others.any(1).all():
            raise DataError(f"all facts of the role '{role}' have one answer")
        order = (np.arange(len(facts))[None] - np.arange(len(facts))[:, None] - 1) % len(facts)
        donors = np.where(others, order, len(facts)).argmin(1)
        queries, through, expected = _followed(world, role, facts, answers[donors])
        return cls(
            facts=facts,
            apart=others if role == "attribution" else ~np.eye(len(facts), dtype=bool),
            old=answers,
            donors=donors,
            queries=queries,
            through=through,
            expected=expected,
            truth=np.array([min(right[tuple(p)] or due[tuple(p)]) for p in queries.tolist()]),
            rights=np.array([len(right[prompt]) for prompt in prompts]),
            query_rights=np.array([max(len(right[tuple(p)]), 1) for p in queries.tolist()]),
        )


def _followed(
    world: World, role: str, facts: Int[np.ndarray, "N T"], new: Int[np.ndarray, " N"]
) -> tuple[Int[np.ndarray, "M S"], Bool[np.ndarray, "N M"], Int[np.ndarray, "N M"]]:
    """Statements, which of them follow from each fact, and what they say then."""
    if role == "edge":  # reversed, the new answer leads to the subject
        at = len(edge_prefix(world))
        queries, _ = _said(world, "reverse_edge", "reversal")
        through = new[:, None] == queries[None, :, at]
        return queries, through, np.broadcast_to(facts[:, at, None], through.shape)
    if role in ("first_hop", "second_hop"):
        asked = [world.queries.prompt(i) for i in range(len(world.queries))]
        if "two_hop" in world.facts.role_names:
            asked += [world.facts.prompt(int(i)) for i in world.facts.with_role("two_hop")]
        queries = np.stack([prompt for prompt in asked if len(prompt) == 3])
        first, onward = (_table(*_said(world, hop)) for hop in ("first_hop", "second_hop"))
        own, keys = facts[:, 0], np.array([first[a, r] for a, r, _ in queries.tolist()])
    else:  # a class takes the place of the bridge
        queries, said = _said(world, "conclusion", "attribution")
        of = {a: c for (a, _), c in _table(*_said(world, "category", "similarity")).items()}
        own, keys = (np.array([of[a] for a in part[:, 0].tolist()]) for part in (facts, queries))
        onward = _table(np.stack([keys, queries[:, 1]], 1), said)
    if role in ("first_hop", "similarity"):  # the new answer leads on
        prefix = queries[:, : queries.shape[1] - 1]
        through = (facts[:, None, : prefix.shape[1]] == prefix[None]).all(-1)
        relations = queries[:, -1].tolist()
        return queries, through, np.array([[onward[b, r] for r in relations] for b in new.tolist()])
    through = (own[:, None] == keys[None]) & (facts[:, 1:] == queries[None, :, -1])
    through &= facts[:, :1] != queries[None, :, 0]  # not the fact itself
    return queries, through, np.broadcast_to(new[:, None], through.shape)


def _said(world: World, *roles: str) -> tuple[Int[np.ndarray, "m T"], Int[np.ndarray, " m"]]:
    """Prompts and answers of the facts and queries of some roles, as far as there are any."""
    rows = [
        part.matrix(part.with_role(role))
        for role in roles
        for part in (world.facts, world.queries)
        if role in part.role_names
    ]
    if not rows:
        raise DataError(f"edits requires a world with one of the roles {', '.join(roles)}")
    return np.concatenate([p for p, _ in rows]), np.concatenate([a[:, 0] for _, a in rows])


def _table(prompts: Int[np.ndarray, "m 2"], answers: Int[np.ndarray, " m"]) -> dict[Any, int]:
    return {tuple(p): a for p, a in zip(prompts.tolist(), answers.tolist(), strict=True)}


class Edited:
    """The facts that an edit changes, by the worlds of the replicas; refuses what it cannot."""

    def __init__(self, model: Model, worlds: Worlds, edit: Edit) -> None:
        self.model, self.edit, _ = model, edit, as_worlds(worlds, model)
        self.worlds = [worlds] if isinstance(worlds, World) else worlds
        self.parts = [Consequences.of(world, edit.role, drawn=True) for world in self.worlds]
        known = min(len(np.unique(part.facts, axis=0)) for part in self.parts)
        size = round(edit.share * len(self.parts[0].facts)) if edit.share else edit.count
        if not 0 < size <= known:
            raise DataError(
                f"edit: {size} of {known} prompts of the role '{edit.role}' cannot be edited; "
                f"give a count of 1 to {known}, or such a share"
            )
        self.places = list(range(size))  # the first ones that were drawn
        if edit.method == "rank-one":
            most = 4 * editable(model, edit.layer).config.width
            check_size("facts of a rank-one edit", size, most=most)
        elif edit.method == "embedding" and not isinstance(model.token_table, nn.Parameter):
            raise ConfigError(f"edit: {type(model).__name__} has no table of embeddings to change")

    @torch.no_grad()
    def apply(self) -> None:
        """Change one replica after another in place, so that each is as it is alone."""
        for row in range(self.model.replicas):
            one, part = self.model.select([row]), self.parts[row % len(self.parts)]
            if all(values.isfinite().all() for values in one.parameters()):  # else it diverged
                change(one, partial(stacked, one, [part]), self.places, self.edit)
                for whole, own in zip(self.model.parameters(), one.parameters(), strict=True):
                    whole.data[row] = own.detach()[0]


def editable(model: Model, layer: int | None) -> GPT:
    """Return a model whose MLPs can be changed."""
    if not isinstance(model, GPT) or not model.config.residual or model.loops > 1:
        raise ConfigError(
            "edits requires a GPT with a residual stream and one loop, got "
            f"{getattr(model, 'config', type(model).__name__)}"
        )
    check_size("edits: layer", layer or 0, least=0, most=len(model.blocks) - 1)
    return model


def stacked(model: Model, parts: Sequence[Consequences], name: str) -> Tensor:
    """Return an array of the consequences, a row a replica."""
    values = torch.from_numpy(np.stack([getattr(part, name) for part in parts]))
    return values.expand(model.replicas, *values.shape[1:]).to(model.column.device)


def change(model: Model, take: Take, places: list[int], edit: Edit) -> None:
    """Change weights in place, so that the facts at some places have their new answers."""
    facts, donors = take("facts"), take("donors")[:, places]
    prompts, new = facts[:, places], take("old").gather(1, donors)
    if edit.method == "rank-one":
        gpt = editable(model, edit.layer)
        towards = direction(gpt, facts, places, edit.layer)
        if edit.layer is None:
            name = gpt.layer_names[-2]
            stream = gpt.hidden(facts, layers=[name])[name]
            added = stream.take_along_dim(donors.unsqueeze(-1), 1) - stream[:, places]
        else:
            last, shape = pack([prompts]).last, (*new.shape, gpt.config.width)
            added = torch.zeros(shape, device=new.device, requires_grad=True)
            with gpt.hooks({f"block.{edit.layer}.mlp": lambda x: x.index_add(1, last, added)}):
                _descend(gpt, prompts, new, [added], edit)
        _down(gpt, edit.layer).weight.add_(towards @ added)
    elif edit.method == "training":
        _descend(model, prompts, new, list(model.parameters()), edit)
    else:
        table = cast("Tensor", model.token_table)
        only = torch.zeros_like(table[..., :1]).scatter_(1, prompts[..., :1], 1.0)
        _descend(model, prompts, new, [table], edit, only)


def direction(
    model: GPT, facts: Int[Tensor, "R N T"], places: list[int], layer: int | None
) -> Float[Tensor, "R H E"]:
    """What each edited key is multiplied with, so that it gives 1 and other keys little."""
    every = keys_of(model, facts, layer)[:, :, -1]
    moment, keys = every.mT @ every / every.shape[1], every[:, places].mT
    penalty = _PENALTY * every.square().mean((1, 2), keepdim=True)
    solved = torch.linalg.solve(moment + penalty * torch.eye(moment.shape[1]).to(moment), keys)
    return solved @ torch.linalg.inv(keys.mT @ solved)


def _down(model: GPT, layer: int | None) -> Linear:
    return cast("Block", model.blocks[-1 if layer is None else layer]).down


def keys_of(
    model: GPT, prompts: Int[Tensor, "R N T"], layer: int | None
) -> Float[Tensor, "R N _ H"]:
    """What enters the output matrix of an MLP: of the last one, at the last position."""
    caught: list[Tensor] = []
    batch = pack([prompts])
    with _down(model, layer).register_forward_pre_hook(lambda _, given: caught.append(given[0])):
        if layer is None:
            model(batch, at=batch.last)
        else:
            model.states(batch)
    return caught[0].unflatten(1, (prompts.shape[1], -1))


@torch.enable_grad()
def _descend(
    model: Model,
    prompts: Int[Tensor, "R E T"],
    new: Int[Tensor, "R E"],
    parameters: list[Tensor],
    edit: Edit,
    only: Float[Tensor, "R V 1"] | None = None,
) -> None:
    """Train parameters, or only some rows, on facts; a replica that holds them stands still."""
    optimizer = torch.optim.Adam(parameters, lr=edit.rate)
    batch = pack([prompts])
    held = torch.zeros(model.replicas, dtype=torch.bool, device=prompts.device)
    for _ in range(edit.steps):
        logits = model(batch, at=batch.last)
        loss = F.cross_entropy(logits.mT, model.columns(new), reduction="none")
        held |= (loss.detach() < -np.log(_HELD)).all(1)
        if bool(held.all()):
            break
        before = [parameter.detach()[held].clone() for parameter in parameters]
        slopes = torch.autograd.grad(loss.sum(), parameters, materialize_grads=True)
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.grad = slope if only is None else slope * only
        optimizer.step()
        with torch.no_grad():
            for parameter, old in zip(parameters, before, strict=True):
                parameter[held] = old
