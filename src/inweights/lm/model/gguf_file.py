"""Write a language model as one GGUF file, for llama.cpp and programs based on it.

``inweights gguf`` calls :func:`write_gguf`. The names and the order of the weights, and
the rules of the tokenizer, are those of llama.cpp's own converter. A model that would
need other rules is rejected, so that the model in a file never answers differently.
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

#: Types of GGUF by the number of bits per weight of matrices. Vectors are not rounded.
_TYPES = {"32": "F32", "16": "F16", "8": "Q8_0", "4": "Q4_1"}
_OWN_SCRIPT = "use convert_hf_to_gguf.py of llama.cpp, which supports more models"


@dataclass(frozen=True)
class _Family:
    """Properties that differ between the supported families of models.

    Attributes:
        activation: The only ``hidden_act`` that llama.cpp supports for the family.
        rotated: Whether the rows of queries and keys are reordered, because llama.cpp
            rotates neighbouring numbers where ``transformers`` rotates halves of a
            head.
        transposed: Whether matrices are stored as ``[in, out]``.
        positions: Types of rotary position embeddings that GGUF can describe.
    """

    activation: str = "silu"
    rotated: bool = False
    transposed: bool = False
    positions: tuple[str, ...] = ("default",)


#: Supported families by ``model_type`` of ``transformers``, which is also their name in
#: GGUF.
_FAMILIES = {
    "llama": _Family(rotated=True, positions=("default", "llama3")),
    "qwen2": _Family(),
    "qwen3": _Family(),
    "gpt2": _Family(activation="gelu_new", transposed=True),
}


def write_gguf(lm: LanguageModel, file: str | Path, *, bits: int = 16) -> Path:
    """Write a language model with its tokenizer to a GGUF file.

    The supported models are Llama, Qwen2, Qwen3 and GPT-2 with a byte-level BPE
    tokenizer. :func:`inweights.lm.load_model` reads the file, so that
    ``inweights evaluate`` can show the effect of rounding.

    Args:
        lm: The model.
        file: Path of the file, which ends in ``.gguf`` and must not exist.
        bits: Bits per weight in matrices: 32, 16 (by default), 8 or 4. For 8 and 4
            bits, the GGUF types ``Q8_0`` and ``Q4_1`` are used, with one scale per 32
            weights; if ``bits`` is 4, the embeddings have 8 bits. A matrix whose row
            length is not a multiple of 32 has 16 bits instead of 8 or 4. Vectors always
            have 32 bits.

    Returns:
        Path of the file.

    Raises:
        ConfigError: ``gguf`` is not installed, or ``bits`` is not 32, 16, 8 or 4.
        DataError: The path does not end in ``.gguf``, the file exists or cannot be
            written, or the model or its tokenizer is not supported; the message says
            why.

    Example:
        >>> from inweights.lm import load_model
        >>> write_gguf(load_model("@tiny"), "tiny.gguf")
        Traceback (most recent call last):
        ...
        inweights.errors.DataError: the tokens of this tokenizer are single bytes, without
        merges; programs that read GGUF reject such a tokenizer
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
    """Return the family of a model, or raise an error if GGUF cannot describe the model."""
    kind = config.model_type
    if kind not in _FAMILIES:
        raise DataError(
            f"models of type '{kind}' cannot be written as GGUF; the supported types are "
            f"{', '.join(_FAMILIES)}; for other types, {_OWN_SCRIPT}"
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
        "sliding-window attention": getattr(config, "use_sliding_window", False),
        "attention scores scaled by layer index": getattr(
            config, "scale_attn_by_inverse_layer_idx", False
        ),
        "unscaled attention scores": not getattr(config, "scale_attn_weights", True),
    }
    for what, present in unknown.items():
        if present:
            raise DataError(
                f"this model has {what}, which cannot be written as GGUF; {_OWN_SCRIPT}"
            )
    return family


def _add_sizes(writer: Any, config: Any) -> None:
    """Write the sizes, positions and norms of the config."""
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
    """Yield each weight with its name in GGUF, in single precision."""
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
    """Return the divisors of Llama 3's rotary frequencies, ``[D/2]``."""
    used = rotation.inv_freq.float().cpu().numpy()
    pairs = np.arange(len(used)) / len(used)
    plain = config.rope_parameters["rope_theta"] ** -pairs
    return (plain / used).astype(np.float32)


def _as_stored(
    name: str, weight: torch.Tensor, family: _Family, config: Any
) -> torch.Tensor:
    """Return a weight from ``transformers``, reordered for GGUF."""
    if family.rotated and ".self_attn.q_proj." in name:
        return _neighbours(weight, config.num_attention_heads)
    if family.rotated and ".self_attn.k_proj." in name:
        return _neighbours(weight, config.num_key_value_heads)
    if family.transposed and ".c_" in name and weight.ndim > 1:
        return weight.mT
    return weight


def _neighbours(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Reorder the rows of each head so that rows that rotate together are neighbours."""
    halves = weight.unflatten(0, (heads, 2, -1))  # [H, 2, D/2, ...]
    return halves.transpose(1, 2).flatten(0, 2)


def _type_of(name: str, weight: np.ndarray, wanted: str) -> str:
    """Return the GGUF type of a weight, given the wanted type of matrices."""
    if weight.ndim == 1 or name == "position_embd.weight":
        return "F32"
    embeds = name in ("token_embd.weight", "output.weight")
    kind = "Q8_0" if wanted == "Q4_1" and embeds else wanted
    if kind.startswith("Q") and weight.shape[-1] % 32:
        return "F16"  # quantized blocks have 32 numbers
    return kind


def _file_type(kind: str) -> str:
    """Return GGUF's name for a file in which most weights have a given type."""
    return "ALL_F32" if kind == "F32" else f"MOSTLY_{kind}"
