"""Convert a :class:`GPT` to a Hugging Face GPT-2 and back, and to TransformerLens.

:func:`to_transformers`, :func:`from_transformers` and :func:`to_transformer_lens` copy
the weights of one replica, so that tools for these libraries work on trained models.
The exported model uses the exact GELU (``activation_function="gelu"``), like the
library's GPT. The GPT-2 models that OpenAI released use the tanh approximation of the
GELU (``"gelu_new"``), so :func:`from_transformers` raises an error for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import msgspec
import torch
from torch import Tensor

from inweights.errors import ConfigError, check_kind
from inweights.models.configs import GPTConfig
from inweights.models.gpt import GPT
from inweights.models.layers.blocks import Block
from inweights.support.extras import optional

if TYPE_CHECKING:
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import GPT2LMHeadModel

_EPSILON = 1e-5  # the default of F.layer_norm, which LayerNorm calls

# Settings of Hugging Face's GPT-2 that ours lacks, with the values for which both
# models compute the same function.
_REQUIRED: dict[str, tuple[Any, ...]] = {
    "activation_function": ("gelu",),
    "layer_norm_epsilon": (_EPSILON,),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
}


def to_transformers(model: GPT, replica: int = 0) -> GPT2LMHeadModel:
    """Return one replica as a ``GPT2LMHeadModel`` with copied weights and the same logits.

    Sinusoidal position embeddings are copied to a learned table. A model without
    position embeddings gets a table of zeros. The result is in evaluation mode and has
    no dropout.

    Args:
        model: The GPT.
        replica: Index of the replica, from ``-R`` to ``R - 1``; negative indices count
            from the end.

    Returns:
        A ``GPT2LMHeadModel`` on the device of the model, in its precision.

    Raises:
        ConfigError: The model is not a GPT; GPT-2 cannot express the model (attention
            other than ``causal``, loops, a memory, no residual stream or no norm);
            the replica does not exist or is not an integer; or ``transformers`` is not
            installed.

    Example:
        >>> model = GPTConfig(layers=1, width=8).build(vocabulary=9, seeds=[0, 1])
        >>> to_transformers(model, replica=1).config.n_positions
        8
    """
    config = _exportable(model, replica)
    transformers = optional("hf", "exporting a model")
    # The constructor draws weights from the global stream, which is restored
    # afterwards. The weights are overwritten below.
    with torch.random.fork_rng(devices=[]):
        exported = transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                vocab_size=model.vocabulary,
                n_positions=config.context,
                n_embd=config.width,
                n_layer=config.layers,
                n_head=config.heads,
                activation_function="gelu",
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                layer_norm_epsilon=_EPSILON,
                tie_word_embeddings=config.tied,
                bos_token_id=None,  # the defaults are ids beyond a small vocabulary
                eos_token_id=None,
            )
        )
    exported = exported.to(model.tokens.weight).eval()
    with torch.no_grad():
        exported.transformer.wpe.weight.copy_(_positions(model, replica))
        for ours, theirs in _pairs(model, exported):
            theirs.copy_(ours[replica])
    return exported


def to_transformer_lens(model: GPT, replica: int = 0) -> TransformerBridge:
    """Return one replica as a ``TransformerBridge``, with TransformerLens's hooks and caches.

    Weights are copied without changes (no layer norm is folded and nothing is centred),
    so that logits, hidden states and attention patterns are the same. The bridge takes
    token ids and has no tokenizer. Its names of the hidden states (right) correspond to
    this library's names (left)::

        embedding   blocks.0.hook_resid_pre
        block.i     blocks.i.hook_resid_post
        final       ln_final.hook_out

        bridge = to_transformer_lens(model, replica=1)
        logits, cache = bridge.run_with_cache(tokens)
        cache["resid_post", 0], cache["pattern", 0]

    Args:
        model: The GPT.
        replica: Index of the replica, from ``-R`` to ``R - 1``; negative indices count
            from the end.

    Raises:
        ConfigError: The model is not a GPT; GPT-2 cannot express the model (attention
            other than ``causal``, loops, a memory, no residual stream or no norm);
            the replica does not exist or is not an integer; or ``transformers`` or
            ``transformer_lens`` is not installed.

    Example:
        >>> to_transformer_lens(GPTConfig(attention="uniform").build(vocabulary=9, seeds=[0]))
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: GPT-2 cannot express gpt.attention = 'uniform'; ...
    """
    _exportable(model, replica)
    sources = optional(
        "lens", "exporting a model", "transformer_lens.model_bridge.sources"
    )
    exported = to_transformers(model, replica)
    # Only the eager implementation returns attention patterns.
    exported.set_attn_implementation("eager")
    return sources.build_bridge_from_module(
        exported, "GPT2LMHeadModel", hf_config=exported.config, model_name="inweights"
    )


def _exportable(model: GPT, replica: int) -> GPTConfig:
    """Return the config of a model, or raise an error if GPT-2 cannot express the model."""
    given: object = model
    if not isinstance(given, GPT):
        config = type(getattr(given, "config", given)).__name__
        raise ConfigError(f"only a GPT can be exported, got a model of {config}")
    check_kind("replica", replica, int)
    _refuse_what_gpt2_lacks(msgspec.structs.replace(model.config, loops=model.loops))
    if not -model.replicas <= replica < model.replicas:
        raise ConfigError(
            f"'replica' must be from {-model.replicas} to {model.replicas - 1}, got {replica}"
        )
    return model.config


def from_transformers(model: GPT2LMHeadModel) -> GPT:
    """Build a :class:`GPT` of one replica from a ``GPT2LMHeadModel``, with copied weights.

    The result has no dropout, even if the given model has dropout. It is on the
    device of the given model and in its precision.

    Args:
        model: The model of ``transformers``, with or without tied weights.

    Raises:
        ConfigError: The given model has an activation function other than the exact
            GELU (``activation_function="gelu"``), a ``layer_norm_epsilon`` other than
            1e-5, a different scale of attention, cross-attention, or MLPs whose hidden
            width is not four times the width of the model; or a size is above 65,536.
    """
    theirs = model.config
    for name, allowed in _REQUIRED.items():
        given = getattr(theirs, name)
        if given not in allowed:
            raise ConfigError(
                f"{name} of the model must be {allowed[0]!r}, as in a GPT, got {given!r}"
            )
    if theirs.n_inner not in (None, 4 * theirs.n_embd):
        raise ConfigError(
            f"a GPT must have MLPs of width {4 * theirs.n_embd}, four times n_embd; the given "
            f"model has n_inner = {theirs.n_inner}"
        )
    body = model.transformer
    config = GPTConfig(
        layers=theirs.n_layer,
        width=theirs.n_embd,
        heads=theirs.n_head,
        context=theirs.n_positions,
        # Whether the head is tied is read from the tensors, since the weights may have
        # been untied after the config was made.
        tied=model.lm_head.weight is body.wte.weight,
    )
    ours = GPT(config, vocabulary=theirs.vocab_size, replicas=1).to(body.wte.weight)
    assert ours.positions is not None
    with torch.no_grad():
        ours.positions.weight[0] = body.wpe.weight
        for copy, original in _pairs(ours, model):
            copy[0] = original
    return ours


def _refuse_what_gpt2_lacks(config: GPTConfig) -> None:
    """Raise an error for settings of the library's GPT that GPT-2 cannot express."""
    if not isinstance(config, GPTConfig):
        raise ConfigError(
            f"only a GPT can be exported, got a model of {type(config).__name__}"
        )
    required = {
        "attention": "causal",
        "residual": True,
        "norm": True,
        "loops": 1,
        "memory": 0,
    }
    for name, value in required.items():
        given = getattr(config, name)
        if given != value:
            raise ConfigError(
                f"GPT-2 cannot express gpt.{name} = {given!r}; only models with "
                f"gpt.{name} = {value!r} can be exported"
            )


def _positions(model: GPT, replica: int) -> Tensor:
    """Return the vector that the model adds at each position, ``[context, D]``."""
    if model.positions is not None:
        return model.positions.weight[replica]
    if model.config.positions == "sinusoidal":
        return model.waves
    return torch.zeros_like(model.tokens.weight[0, :1]).expand(model.config.context, -1)


def _pairs(model: GPT, theirs: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each parameter ``[R, …]`` with its counterpart in GPT-2, except position tables."""
    body = theirs.transformer
    layers: list[tuple[Any, Any]] = [(model.norm, body.ln_f)]
    for block, other in zip(cast("Iterable[Block]", model.blocks), body.h, strict=True):
        layers += [
            (block.norm1, other.ln_1),
            (block.qkv, other.attn.c_attn),
            (block.out, other.attn.c_proj),
            (block.norm2, other.ln_2),
            (block.up, other.mlp.c_fc),
            (block.down, other.mlp.c_proj),
        ]
    yield model.tokens.weight, body.wte.weight
    for ours, other in layers:
        yield ours.weight, other.weight
        yield ours.bias, other.bias
    # The layers of GPT-2 store weights as ours do, with inputs before outputs. Its head
    # stores them the other way round.
    if model.head is not None:
        yield model.head.weight, theirs.lm_head.weight.T
