"""Change the weights of a model so that stored facts get new answers.

:class:`Edited` applies the :class:`~inweights.training.Edit` of a phase. The probe of
edits calls :func:`change` for a few facts at a time. A rank-one edit (ROME, Meng et al.
2022, arXiv:2202.05262) has a closed form in the last block. There the MLP has to add
the difference between the residual stream of a prompt with the new answer and the
stream of the edited prompt. In other blocks, gradient descent determines this vector.
``consequences.py`` finds what follows from an edit. Shapes: ``R`` replicas, ``N`` facts
that may be edited, ``E`` edited facts, ``T`` tokens of a prompt, ``H`` hidden width,
``D`` width, ``V`` tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from inweights.config import check_size
from inweights.errors import ConfigError, DataError
from inweights.models.base import Model
from inweights.models.gpt import GPT
from inweights.models.layers import Linear
from inweights.models.layers.blocks import Block
from inweights.models.packing import pack
from inweights.training.batches.worlds import as_worlds
from inweights.training.curriculum import Edit
from inweights.training.steps.consequences import Consequences
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import World, Worlds

#: Ridge penalty of the keys' second moment, as a multiple of their mean square.
_PENALTY = 1e-2
#: Probability of the new answer at which training on an edit ends.
_HELD = 0.9
#: Function that returns a named array of :class:`Consequences`, one row per replica.
Take = Callable[[str], Tensor]


class Edited:
    """The facts that an edit changes, in the worlds of all replicas.

    Args:
        model: The model that is edited.
        worlds: One world for all replicas, or one per replica.
        edit: Settings that determine which facts get new answers, and by which method.

    Attributes:
        parts: The consequences of edits in each world.
        places: Indices of the edited facts, which are the first facts in the random
            order.

    Raises:
        ConfigError: The method does not support this model, or a rank-one edit has more
            facts than four times the model's width.
        DataError: The worlds do not fit the model, have no facts of the role, or have
            fewer prompts of the role than facts are to be edited; or ``share`` selects
            no facts.
    """

    def __init__(self, model: Model, worlds: Worlds, edit: Edit) -> None:
        """Choose the facts that are edited; :class:`Edited` lists the arguments and errors."""
        as_worlds(worlds, model)  # raises an error if the worlds do not fit the model
        self.model = model
        self.edit = edit
        self.worlds = [worlds] if isinstance(worlds, World) else worlds
        self.parts = []
        for world in self.worlds:
            self.parts.append(Consequences.of(world, edit.role, drawn=True))
        # Two facts with the same prompt cannot have different new answers.
        known = min(len(np.unique(part.facts, axis=0)) for part in self.parts)
        size = edit.count
        if edit.share:
            size = round(edit.share * len(self.parts[0].facts))
        if not 0 < size <= known:
            raise DataError(
                f"edit: the number of edited facts must be from 1 to {known} (the number of "
                f"prompts of the role '{edit.role}'), got {size}; change edit.count or edit.share"
            )
        self.places = list(range(size))
        if edit.method == "rank-one":
            most = 4 * editable(model, edit.layer).config.width
            check_size("facts of a rank-one edit", size, most=most)
        elif edit.method == "embedding" and not isinstance(
            model.token_table, nn.Parameter
        ):
            raise ConfigError(
                f"edit: {type(model).__name__} has no table of embeddings to change"
            )

    @torch.no_grad()
    def apply(self) -> None:
        """Change the weights of the model in place, so that the chosen facts get new answers.

        Replicas are edited separately, except those with infinite or NaN parameters.

        Raises:
            ConfigError: The model has no ``config``, or a parameter without a replica
                axis.
            DataError: A new answer is not among the model's candidates.
        """
        for row in range(self.model.replicas):
            one = self.model.select([row])
            part = self.parts[row % len(self.parts)]
            if not all(values.isfinite().all() for values in one.parameters()):
                continue
            change(one, partial(stacked, one, [part]), self.places, self.edit)
            pairs = zip(self.model.parameters(), one.parameters(), strict=True)
            for whole, own in pairs:
                whole.data[row] = own.detach()[0]


def editable(model: Model, layer: int | None) -> GPT:
    """Check that a model supports a rank-one edit, and return it as a GPT.

    Args:
        model: Any model.
        layer: Index of the block to edit, counted from 0; ``None`` for the last block.

    Raises:
        ConfigError: The model is not a GPT with a residual stream and one loop, or has
            no block with the index ``layer``.
    """
    if not isinstance(model, GPT) or not model.config.residual or model.loops > 1:
        raise ConfigError(
            "a rank-one edit requires a GPT with gpt.residual = true and gpt.loops = 1, got "
            f"{getattr(model, 'config', type(model).__name__)}"
        )
    check_size("edit.layer", layer or 0, least=0, most=len(model.blocks) - 1)
    return model


def stacked(model: Model, parts: Sequence[Consequences], name: str) -> Tensor:
    """Return an array of :class:`Consequences` as a tensor with one row per replica.

    Args:
        model: Model whose number of replicas and device are used.
        parts: The consequences in one world, or in one world per replica.
        name: Name of the array, an attribute of :class:`Consequences` such as
            ``facts``.

    Returns:
        ``[R, ...]``, on the model's device.
    """
    values = torch.from_numpy(np.stack([getattr(part, name) for part in parts]))
    return values.expand(model.replicas, *values.shape[1:]).to(model.column.device)


def change(model: Model, take: Take, places: list[int], edit: Edit) -> None:
    """Change the weights of a model in place so that selected facts get their new answers.

    Args:
        model: The model; all of its replicas are changed.
        take: Function that returns the array of :class:`Consequences` with a given
            name, such as ``facts``, with one row per replica; see :func:`stacked`.
        places: Indices of the edited facts, the same for all replicas.
        edit: Method, layer, number of steps and learning rate of the edit. The method
            ``embedding`` needs a model with a
            :attr:`~inweights.models.Model.token_table`.

    Raises:
        ConfigError: The method is ``rank-one``, and the model is not a GPT with a
            residual stream and one loop, or has no block with the index ``layer``.
        DataError: A new answer is not among the model's candidates. (This is not
            checked for the method ``rank-one`` with ``layer`` ``None``.)
    """
    facts = take("facts")
    donors = take("donors")[:, places]
    prompts = facts[:, places]
    new = take("old").gather(1, donors)
    if edit.method == "rank-one":
        gpt = editable(model, edit.layer)
        towards = direction(gpt, facts, places, edit.layer)
        if edit.layer is None:
            name = gpt.layer_names[-2]
            stream = gpt.hidden(facts, layers=[name])[name]
            added = stream.take_along_dim(donors.unsqueeze(-1), 1) - stream[:, places]
        else:
            added = _found_by_descent(gpt, prompts, new, edit)
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
    """Compute the directions of a rank-one edit: those of ROME, ``(C + λ I)⁻¹ K``, rescaled.

    ``C`` is the second moment of the keys of all facts, ``λ`` a ridge penalty, and
    ``K`` the keys of the edited facts. The directions are combined such that the
    product of each with its own key is 1, and its products with the keys of the other
    edited facts are 0. Products with all other keys are small.

    Args:
        model: The GPT.
        facts: Prompts of all ``N`` facts, of one length ``T``, ``[R, N, T]``.
        places: Indices of the ``E`` edited facts among the ``N``.
        layer: Index of the block; ``None`` for the last block.

    Returns:
        One column per edited fact, ``[R, H, E]``; ``H`` is the MLP's hidden width.
    """
    every = keys_of(model, facts, layer)[:, :, -1]
    moment = every.mT @ every / every.shape[1]
    keys = every[:, places].mT
    # If there are fewer facts than hidden units, the moment alone is singular.
    penalty = _PENALTY * every.square().mean((1, 2), keepdim=True)
    solved = torch.linalg.solve(
        moment + penalty * torch.eye(moment.shape[1]).to(moment), keys
    )
    return solved @ torch.linalg.inv(keys.mT @ solved)


def _down(model: GPT, layer: int | None) -> Linear:
    """Return the output layer of the MLP of a block, by default of the last block."""
    return cast("Block", model.blocks[-1 if layer is None else layer]).down


def keys_of(
    model: GPT, prompts: Int[Tensor, "R N T"], layer: int | None
) -> Float[Tensor, "R N _ H"]:
    """Compute the keys of prompts: the inputs of the output matrix of a block's MLP.

    Args:
        model: The GPT.
        prompts: ``N`` prompts of one length ``T``, ``[R, N, T]``.
        layer: Index of the block; with ``None``, the keys of the last block are
            computed, only at the last position.

    Returns:
        The keys, ``[R, N, T, H]`` (``[R, N, 1, H]`` for ``None``); ``H`` is the width
        of the MLP's hidden layer.
    """
    caught: list[Tensor] = []
    batch = pack([prompts])
    with _down(model, layer).register_forward_pre_hook(
        lambda _, given: caught.append(given[0])
    ):
        if layer is None:
            model(batch, at=batch.last)
        else:
            model.states(batch)
    return caught[0].unflatten(1, (prompts.shape[1], -1))


def _found_by_descent(
    model: GPT, prompts: Int[Tensor, "R E T"], new: Int[Tensor, "R E"], edit: Edit
) -> Float[Tensor, "R E D"]:
    """Return the vectors that the MLP must add at the last tokens to give the new answers."""
    shape = (*new.shape, model.config.width)
    added = torch.zeros(shape, device=new.device, requires_grad=True)
    last = torch.tensor([prompts.shape[-1] - 1], device=new.device)
    with model.hooks(
        {f"block.{edit.layer}.mlp": lambda x: x.index_add(2, last, added.unsqueeze(2))}
    ):
        _descend(model, prompts, new, [added], edit)
    return added


@torch.enable_grad()
def _descend(
    model: Model,
    prompts: Int[Tensor, "R E T"],
    new: Int[Tensor, "R E"],
    parameters: list[Tensor],
    edit: Edit,
    only: Float[Tensor, "R V 1"] | None = None,
) -> None:
    """Train parameters on facts with Adam until each replica has learned its new answers.

    If ``only`` is given, there is a single parameter; ``only`` is 1 for its rows that
    are trained, and 0 for the rows that do not change.
    """
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
        gradients = torch.autograd.grad(loss.sum(), parameters, materialize_grads=True)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient if only is None else gradient * only
        optimizer.step()
        with torch.no_grad():
            for parameter, old in zip(parameters, before, strict=True):
                parameter[held] = old
