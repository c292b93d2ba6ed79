"""GPTs as GPT-2s of Hugging Face, and back; and as models of TransformerLens.

The exported model uses the exact GELU (``activation_function="gelu"``), as ours does; the GPT-2s
that OpenAI released use its tanh approximation (``"gelu_new"``) and do not fit here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from inweights.errors import ConfigError
from inweights.models.configs import GPTConfig
from inweights.models.gpt import GPT, Block
from inweights.models.layers import LayerNorm
from inweights.support.extras import optional

if TYPE_CHECKING:
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import GPT2LMHeadModel

_EPSILON = 1e-5  # of F.layer_norm, which LayerNorm calls

# GPT-2 of Hugging Face can do more than ours: what each setting must be.
_WANTED: dict[str, tuple[Any, ...]] = {
    "activation_function": ("gelu",),
    "layer_norm_epsilon": (_EPSILON,),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
}


def to_transformers(model: GPT, replica: int = 0) -> GPT2LMHeadModel:
    """Return one replica as a ``GPT2LMHeadModel`` with copied weights and the same logits.

    Positions that are sinusoidal, or none, become a learned position table that holds the waves,
    or zeros. The model is in evaluation mode, without dropout.

    Args:
        model: The GPT.
        replica: Which of its replicas; negative ones count from the end.

    Raises:
        ConfigError: GPT-2 cannot express the architecture, there is no such replica, or
            ``transformers`` is not installed.

    Example:
        >>> model = GPTConfig(layers=1, width=8).build(vocabulary=9, seeds=[0, 1])
        >>> to_transformers(model, replica=1).config.n_positions
        8
    """
    config = model.config
    _refuse_what_gpt2_lacks(config)
    if not -model.replicas <= replica < model.replicas:
        raise ConfigError(f"there is no replica {replica}; the model has {model.replicas}")
    transformers = optional("hf", "exporting a model")
    with torch.random.fork_rng(devices=[]):  # its own initialisation is overwritten below
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
                bos_token_id=None,  # the defaults lie outside small vocabularies
                eos_token_id=None,
            )
        )
    exported = exported.to(model.tokens.weight).eval()
    body = exported.transformer
    with torch.no_grad():
        body.wte.weight.copy_(model.tokens.weight[replica])
        body.wpe.weight.copy_(_positions(model, replica))
        for block, theirs in zip(model.blocks, body.h, strict=True):
            assert isinstance(block, Block)
            for ours, copy in _pairs(block, theirs):
                copy.weight.copy_(ours.weight[replica])
                copy.bias.copy_(ours.bias[replica])
        assert isinstance(model.norm, LayerNorm)
        body.ln_f.weight.copy_(model.norm.weight[replica])
        body.ln_f.bias.copy_(model.norm.bias[replica])
        if model.head is not None:
            exported.lm_head.weight.copy_(model.head.weight[replica].T)
    return exported


def to_transformer_lens(model: GPT, replica: int = 0) -> TransformerBridge:
    """Return one replica as a ``TransformerBridge``, with TransformerLens's hooks and caches.

    Weights are copied as they are: no layer norm is folded and nothing is centred, so that logits,
    hidden states and attention patterns are ours. It takes token ids and has no tokenizer. Our
    states have these names there::

        embedding   blocks.0.hook_resid_pre
        block.i     blocks.i.hook_resid_post
        final       ln_final.hook_out

        bridge = to_transformer_lens(model, replica=1)
        logits, cache = bridge.run_with_cache(tokens)
        cache["resid_post", 0], cache["pattern", 0]

    Args:
        model: The GPT.
        replica: Which of its replicas; negative ones count from the end.

    Raises:
        ConfigError: As for :func:`to_transformers`, or TransformerLens is not installed.

    Example:
        >>> to_transformer_lens(GPTConfig(attention="uniform").build(vocabulary=9, seeds=[0]))
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: GPT-2 cannot express gpt.attention = 'uniform'; ...
    """
    exported = to_transformers(model, replica)
    exported.set_attn_implementation("eager")  # the only one that hands out its patterns
    sources = optional("lens", "exporting a model", "transformer_lens.model_bridge.sources")
    return sources.build_bridge_from_module(
        exported, "GPT2LMHeadModel", hf_config=exported.config, model_name="inweights"
    )


def from_transformers(model: GPT2LMHeadModel) -> GPT:
    """Return a ``GPT2LMHeadModel`` as a :class:`GPT` of one replica, with copied weights.

    Dropout is left out: ours has none.

    Raises:
        ConfigError: The model does something that a :class:`GPT` does not, such as the tanh
            approximation of GELU.
    """
    theirs = model.config
    for name, allowed in _WANTED.items():
        given = getattr(theirs, name)
        if given not in allowed:
            raise ConfigError(f"a GPT has {name} = {allowed[0]!r}, the given model has {given!r}")
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
        tied=model.lm_head.weight is body.wte.weight,
    )
    ours = GPT(config, vocabulary=theirs.vocab_size, replicas=1).to(body.wte.weight)
    assert ours.positions is not None
    assert isinstance(ours.norm, LayerNorm)
    with torch.no_grad():
        ours.tokens.weight[0] = body.wte.weight
        ours.positions.weight[0] = body.wpe.weight
        for block, original in zip(ours.blocks, body.h, strict=True):
            assert isinstance(block, Block)
            for copy, part in _pairs(block, original):
                copy.weight[0] = part.weight
                copy.bias[0] = part.bias
        ours.norm.weight[0] = body.ln_f.weight
        ours.norm.bias[0] = body.ln_f.bias
        if ours.head is not None:
            ours.head.weight[0] = model.lm_head.weight.T
    return ours


def _refuse_what_gpt2_lacks(config: GPTConfig) -> None:
    if not isinstance(config, GPTConfig):
        raise ConfigError(f"only a GPT can be exported, got a model of {type(config).__name__}")
    for name, given, wanted in (
        ("attention", config.attention, "causal"),
        ("residual", config.residual, True),
        ("norm", config.norm, True),
        ("loops", config.loops, 1),
    ):
        if given != wanted:
            raise ConfigError(
                f"GPT-2 cannot express gpt.{name} = {given!r}; only models with "
                f"gpt.{name} = {wanted!r} can be exported"
            )


def _positions(model: GPT, replica: int) -> Tensor:
    """Return what the model adds at each position, ``[context, D]``."""
    if model.positions is not None:
        return model.positions.weight[replica]
    if model.config.positions == "sinusoidal":
        return model.waves
    return torch.zeros_like(model.tokens.weight[0, :1]).expand(model.config.context, -1)


def _pairs(block: Block, theirs: Any) -> list[tuple[Any, Any]]:
    """Return the layers of our block, each with its counterpart; both map ``x`` to ``x W + b``."""
    return [
        (block.norm1, theirs.ln_1),
        (block.qkv, theirs.attn.c_attn),
        (block.out, theirs.attn.c_proj),
        (block.norm2, theirs.ln_2),
        (block.up, theirs.mlp.c_fc),
        (block.down, theirs.mlp.c_proj),
    ]
