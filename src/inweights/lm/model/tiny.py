"""Build a random Llama with a few thousand parameters and a byte tokenizer, without any file.

:func:`tiny` creates the built-in model ``@tiny`` of :func:`inweights.lm.load_model`,
for experiments and tests.
"""

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from inweights.errors import ConfigError
from inweights.seeds import INITIALISATION, Streams

_CHAT = (
    "{% for turn in messages %}{{ turn.role }}: {{ turn.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def byte_tokenizer() -> Any:
    """Return a tokenizer of ``transformers`` whose tokens are the 256 bytes and an end token.

    The end token ``<end>`` (id 256) ends and pads texts, but is not appended to them.
    The other ids are not the values of the bytes.

    Example:
        >>> len(byte_tokenizer())
        257
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(
        models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[])
    )
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=False
    )
    inner.decoder = decoders.ByteLevel()
    kind: Any = PreTrainedTokenizerFast
    return kind(
        tokenizer_object=inner,
        eos_token="<end>",  # noqa: S106
        pad_token="<end>",  # noqa: S106
        clean_up_tokenization_spaces=False,
        chat_template=_CHAT,
    )


def tiny(seed: int, *, width: int = 32, layers: int = 2) -> tuple[Any, Any]:
    """Build a Llama with random matrices, drawn from ``N(0, .02²)``, and a byte tokenizer.

    Args:
        seed: Root seed of the weights.
        width: Width of the hidden states, a multiple of 4 (two heads whose width is
            even); by default 32.
        layers: Number of layers; by default 2.

    Returns:
        The model of ``transformers``, and its tokenizer.

    Raises:
        ConfigError: ``seed`` is not an integer from 0 to 2^63 - 1, or ``width`` is not
            a positive multiple of 4.

    Example:
        >>> model, tokenizer = tiny(0, width=16)
        >>> model.config.hidden_size, len(tokenizer)
        (16, 257)
    """
    if width < 1 or width % 4:
        raise ConfigError(f"'width' must be a positive multiple of 4, got {width}")
    tokenizer = byte_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=None,
    )
    # The constructor draws weights from the global stream, which is restored
    # afterwards. The weights are replaced below.
    with torch.random.fork_rng(devices=[]):
        model = LlamaForCausalLM(config)
    generator = Streams(seed).torch(INITIALISATION)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0.0, 0.02, generator=generator)
    return model, tokenizer
