"""Decompose the residual stream of a GPT, and the contribution of each term to a logit.

:class:`ResidualSum` splits the last position's state before the final norm.
:func:`~inweights.probes.logit_attribution` makes a table of the contributions. Shapes:
``R`` replicas, ``B`` prompts, ``T`` positions, ``D`` width, ``H`` heads, ``K``
candidates.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from inweights.models.gpt import GPT
from inweights.models.layers import LayerNorm
from inweights.models.layers.blocks import Block
from inweights.models.packing import pack
from inweights.probes.interventions.spots import recorded
from inweights.worlds.arrays import Bool, Float, Int

#: Constant that the norm adds to a variance, as in
#: :func:`~inweights.models.layers.fused.layer_norm`.
_EPSILON = 1e-5


class ResidualSum:
    """Decomposition of a GPT's logits into the contributions of its parts.

    Args:
        model: A GPT with a residual stream.
    """

    def __init__(self, model: GPT) -> None:
        """Store a GPT, whose residual stream is split into the contributions of its parts."""
        self._model = model

    def contributions(
        self,
        tokens: Int[Tensor, "*R B T"],
        columns: Int[Tensor, "R B"],
        allowed: Bool[Tensor, "R K"],
    ) -> dict[str, Float[Tensor, "R B"]]:
        """Split the difference between a logit and a mean logit into contributions of components.

        Args:
            tokens: Prompts of one length, ``[B, T]`` (``B`` prompts, ``T`` positions)
                or ``[R, B, T]`` (``R`` replicas).
            columns: Logit column of each prompt's answer, ``[R, B]``.
            allowed: Candidates over whose logits the mean is taken, ``[R, K]`` (``K``
                candidates).

        Returns:
            Contributions ``[R, B]`` in double precision, keyed by the name of the
            component (``embedding``, then heads, MLP and memory of each block, such as
            ``block.0.head.1``, and ``bias``), in the order in which the model adds
            them. The contributions sum to the logit minus this mean.
        """
        model = self._model
        state, terms = self._terms(tokens)
        matrix = model.head_matrix
        assert matrix is not None, "every GPT has a head without bias, or a tied one"
        rows = matrix.mT.double()  # [R, K, D]
        counted = allowed.to(rows).unsqueeze(-1)
        mean = (rows * counted).sum(1, keepdim=True) / counted.sum(1, keepdim=True)
        index = columns.unsqueeze(-1).expand(-1, -1, rows.shape[-1])
        direction = rows.gather(1, index) - mean  # [R, B, D]
        read = _Norm(model, state)
        added = {
            name: (read.linear(x) * direction).sum(-1) for name, x in terms.items()
        }
        added["bias"] = added["bias"] + (read.bias() * direction).sum(-1)
        return added

    def _terms(
        self, tokens: Int[Tensor, "*R B T"]
    ) -> tuple[Float[Tensor, "R B D"], dict[str, Float[Tensor, "R B D"]]]:
        """Return the last position's state before the final norm, and the terms of its sum."""
        model = self._model
        names = [*model.layer_names[:-1], *model.part_names]
        states = recorded(model, pack([tokens]), names)
        last = {name: state[:, :, -1].double() for name, state in states.items()}
        embedding = state = last["embedding"]
        terms = {"embedding": embedding}
        bias = torch.zeros_like(embedding)
        for i, module in enumerate(model.passes):
            block = cast(Block, module)
            name = f"block.{i}"
            if model.config.inject and i > 0 and i % len(model.blocks) == 0:
                # With the option `inject`, the embedding is added again at the start of
                # each further loop.
                terms["embedding"] = terms["embedding"] + embedding
                state = state + embedding
            if block.out is not None:
                heads = last[f"{name}.heads"].unflatten(-1, (model.config.heads, -1))
                weight = block.out.weight.double()
                matrices = weight.unflatten(1, (model.config.heads, -1))
                for head in range(model.config.heads):
                    terms[f"{name}.head.{head}"] = heads[:, :, head] @ matrices[:, head]
                state = state + last[f"{name}.attention"]
                if block.out.bias is not None:
                    bias = bias + block.out.bias.double().unsqueeze(1)
            terms[f"{name}.mlp"] = last[f"{name}.mlp"]
            state = state + last[f"{name}.mlp"]
            if model.memory is not None:  # the rest was read from the memory
                terms[f"{name}.memory"] = last[name] - state
            state = last[name]
        return state, {**terms, "bias": bias}


class _Norm:
    """The final norm as a linear function, with a scale that is fixed by given states."""

    def __init__(self, model: GPT, state: Float[Tensor, "R B D"]) -> None:
        norm = model.norm
        self._norm = norm if isinstance(norm, LayerNorm) else None
        variance = state.var(-1, correction=0, keepdim=True)
        self._scale = (variance + _EPSILON).rsqrt()

    def linear(self, x: Float[Tensor, "R B D"]) -> Float[Tensor, "R B D"]:
        """Apply the norm to one term of the state, without the norm's bias."""
        if self._norm is None:
            return x
        centred = x - x.mean(-1, keepdim=True)
        return centred * self._scale * self._norm.weight.double().unsqueeze(1)

    def bias(self) -> Float[Tensor, "R 1 D"] | Float[Tensor, ""]:
        """Return the bias of the norm; 0 if there is no norm."""
        if self._norm is None:
            return self._scale.new_zeros(())
        return self._norm.bias.double().unsqueeze(1)
