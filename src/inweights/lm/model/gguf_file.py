"""Write a language model as one GGUF file, which llama.cpp and programs built on it run.

:func:`write_gguf` is what ``inweights gguf`` does. Names of weights, their order and
the tokenizer's rules are those of llama.cpp's own converter; a model that it would need
other rules for is refused, so that no file gives other answers than the model.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inweights.errors import DataError, check_names
from inweights.lm.model.gguf_tokens import add_tokens
from inweights.lm.model.load import LanguageModel
from inweights.support.extras import optional

if TYPE_CHECKING:
    import torch

#: Types of GGUF by the bits of a weight. Matrices alone are rounded.
_TYPES = {"32": "F32", "16": "F16", "8": "Q8_0", "4": "Q4_1"}
_OWN_SCRIPT = "use convert_hf_to_gguf.py of llama.cpp, which knows more of them"


@dataclass(frozen=True)
class _Family:
    """What differs among families of models that are written.

    Attributes:
        activation: The only ``hidden_act`` that llama.cpp has for it.
        rotated: Whether rows of queries and keys are reordered: llama.cpp rotates
            neighbouring numbers where ``transformers`` rotates halves of a head.
        transposed: Whether matrices are stored as ``[in, out]``.
        positions: Types of rotary positions that can be said.
    """

    activation: str = "silu"
    rotated: bool = False
    transposed: bool = False
    positions: tuple[str, ...] = ("default",)


#: By ``model_type`` of ``transformers``, which is the name in GGUF, too.
_FAMILIES = {
    "llama": _Family(rotated=True, positions=("default", "llama3")),
    "qwen2": _Family(),
    "qwen3": _Family(),
    "gpt2": _Family(activation="gelu_new", transposed=True),
}


def write_gguf(lm: LanguageModel, file: str | Path, *, bits: int = 16) -> Path:
    """Write a language model with its tokenizer to a GGUF file.

    Llama, Qwen2, Qwen3 and GPT-2 are written, with a tokenizer of bytes (byte-level
    BPE). :func:`inweights.lm.load_model` reads the file, so that ``evaluate`` shows
    what rounding costs.

    Args:
        lm: The model.
        file: The file; ends in ``.gguf`` and must not exist.
        bits: Bits of a weight in matrices: 32, 16, 8 or 4. The 8 and 4 are GGUF's types
            ``Q8_0`` and ``Q4_1``, with a scale for 32 weights; with 4 the embeddings
            have 8. Vectors have 32.

    Returns:
        The file.

    Raises:
        ConfigError: ``gguf`` is not installed, or there is no such number of bits.
        DataError: The file exists or cannot be written, or the model or its tokenizer
            follows other rules than those that are written; the message says which.

    Example:
        >>> from inweights.lm import load_model
        >>> write_gguf(load_model("@tiny"), "tiny.gguf")
        Traceback (most recent call last):
        ...
        inweights.errors.DataError: this tokenizer has single bytes and no merges, which programs
        that run GGUF refuse
    """
    check_names("bits", [str(bits)], tuple(_TYPES))
    gguf = optional("hf", "a GGUF file", "gguf")
    target = Path(file)
    if target.suffix != ".gguf":
        raise DataError(f"the file must end in .gguf, got {target}")
    if target.exists():
        raise DataError(f"{target} exists; give another name, or remove it")
    family = _family_of(lm.model.config)
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}.partial")
    writer = gguf.GGUFWriter(partial, lm.model.config.model_type)
    try:
        _add_sizes(writer, lm.model.config)
        add_tokens(writer, lm.tokenizer, len(lm.model.get_input_embeddings().weight))
        for name, weight in _weights(lm.model, family):
            kind = _type_of(name, weight, _TYPES[str(bits)])
            stored = gguf.GGMLQuantizationType[kind]
            rounded = gguf.quants.quantize(weight, stored)
            writer.add_tensor(name, rounded, raw_dtype=stored)
        writer.add_file_type(gguf.LlamaFileType[_file_type(_TYPES[str(bits)])])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        partial.rename(target)
    except OSError as error:
        raise DataError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return target


def _family_of(config: Any) -> _Family:
    """Family of a model; refuses what GGUF would not say of it."""
    kind = config.model_type
    if kind not in _FAMILIES:
        raise DataError(
            f"models of the type '{kind}' are not written as GGUF, only {', '.join(_FAMILIES)}; "
            f"for others {_OWN_SCRIPT}"
        )
    family = _FAMILIES[kind]
    activation = getattr(config, "hidden_act", None) or config.activation_function
    rope = getattr(config, "rope_parameters", None) or {"rope_type": "default"}
    unknown = {
        f"the activation '{activation}'": activation != family.activation,
        f"positions of the type '{rope['rope_type']}'": rope["rope_type"]
        not in family.positions,
        "biases in attention": getattr(config, "attention_bias", False),
        "biases in its MLP": getattr(config, "mlp_bias", False),
        "attention to a window": getattr(config, "use_sliding_window", False),
        "attention scaled by layer": getattr(
            config, "scale_attn_by_inverse_layer_idx", False
        ),
        "attention without scale": not getattr(config, "scale_attn_weights", True),
    }
    for what, present in unknown.items():
        if present:
            raise DataError(
                f"this model has {what}, which is not written as GGUF; {_OWN_SCRIPT}"
            )
    return family


def _add_sizes(writer: Any, config: Any) -> None:
    """Write what the config says of sizes, positions and norms."""
    heads = config.num_attention_heads
    inner = getattr(config, "intermediate_size", None) or getattr(
        config, "n_inner", None
    )
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(inner or 4 * config.hidden_size)
    writer.add_head_count(heads)
    writer.add_vocab_size(config.vocab_size)
    if config.model_type == "gpt2":
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        return
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(width)
    writer.add_value_length(width)
    writer.add_rope_dimension_count(width)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)


def _weights(model: Any, family: _Family) -> Iterator[tuple[str, np.ndarray]]:
    """Each weight with its name in GGUF, as single precision."""
    import gguf

    config = model.config
    names = gguf.get_tensor_name_map(
        gguf.MODEL_ARCH[config.model_type.upper()], config.num_hidden_layers
    )
    tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
    for theirs, weight in model.state_dict().items():
        if tied and theirs == "lm_head.weight":
            continue
        name = names.get_name(theirs, try_suffixes=(".weight", ".bias"))
        if name is None:
            raise DataError(f"the weight '{theirs}' has no name in GGUF; {_OWN_SCRIPT}")
        stored = _as_stored(theirs, weight, family, config)
        yield name, stored.detach().float().cpu().contiguous().numpy()
    if getattr(config, "rope_parameters", {}).get("rope_type") == "llama3":
        yield "rope_freqs.weight", _slowed(model.model.rotary_emb, config)


def _slowed(rotation: Any, config: Any) -> np.ndarray:
    """By what Llama 3 divides the frequency of each pair of numbers, ``[D/2]``."""
    used = rotation.inv_freq.float().cpu().numpy()
    pairs = np.arange(len(used)) / len(used)
    plain = config.rope_parameters["rope_theta"] ** -pairs
    return (plain / used).astype(np.float32)


def _as_stored(
    name: str, weight: torch.Tensor, family: _Family, config: Any
) -> torch.Tensor:
    """A weight of ``transformers`` in the order in which GGUF has it."""
    if family.rotated and ".self_attn.q_proj." in name:
        return _neighbours(weight, config.num_attention_heads)
    if family.rotated and ".self_attn.k_proj." in name:
        return _neighbours(weight, config.num_key_value_heads)
    if family.transposed and ".c_" in name and weight.ndim > 1:
        return weight.mT
    return weight


def _neighbours(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows of each head, with those that rotate together beside each other."""
    halves = weight.unflatten(0, (heads, 2, -1))  # [H, 2, D/2, ...]
    return halves.transpose(1, 2).flatten(0, 2)


def _type_of(name: str, weight: np.ndarray, wanted: str) -> str:
    """Type of GGUF of a weight, where matrices are to have the wanted one."""
    if weight.ndim == 1 or name == "position_embd.weight":
        return "F32"
    embeds = name in ("token_embd.weight", "output.weight")
    kind = "Q8_0" if wanted == "Q4_1" and embeds else wanted
    if kind.startswith("Q") and weight.shape[-1] % 32:
        return "F16"  # blocks have 32 numbers
    return kind


def _file_type(kind: str) -> str:
    """Name of a type where it is that of most weights of a file."""
    return "ALL_F32" if kind == "F32" else f"MOSTLY_{kind}"
