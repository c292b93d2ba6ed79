"""Select the trainable weights of a model: all weights, or low-rank adapters.

:func:`adapted` wraps a model for :func:`inweights.lm.finetune`; :func:`with_adapters`
applies stored adapters to evaluate an epoch.
"""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from inweights.errors import ConfigError, DataError
from inweights.lm.tuning.fine_tune import FineTune
from inweights.seeds import INITIALISATION, Streams


@contextmanager
def adapted(
    model: Any, config: FineTune, seed: int, *, keep: Path | None = None, **where: Any
) -> Iterator[Any]:
    """Provide the model to train in a ``with`` block, and merge its adapters after the block.

    The adapters are low-rank adapters (LoRA, Hu et al. 2021, arXiv:2106.09685, §4.1) of
    every linear layer except the head. Matrix ``A`` is drawn at random, ``B`` is zero,
    and there is no dropout. After the block, the model has its original modules again.
    If the block raises an error, the adapters are discarded instead of merged.

    Args:
        model: A causal model of ``transformers``.
        config: Settings; ``method``, ``rank``, ``alpha`` and ``variant`` are used.
        seed: Root seed of the adapters.
        keep: Folder to which the adapters are written before they are merged, in the
            format of ``peft``. If it is ``None`` (the default), they are not written.
        **where: Options of ``peft.LoraConfig``, to adapt other layers.

    Yields:
        The model with its adapters; for the method ``full`` the model itself, with all
        weights trainable.

    Raises:
        ConfigError: The method is ``lora`` and ``peft`` is not installed, or ``seed``
            is not an integer from 0 to 2^63 - 1.
        Exception: ``peft`` raises an error, for example about ``where``.
    """
    # The weights that peft freezes are not made trainable again when it is removed.
    wanted = [p.requires_grad for p in model.parameters()]
    if config.method == "full":
        yield model.requires_grad_(requires_grad=True)
        return
    peft = _peft("; or use method 'full'")
    # peft draws initial values from the global stream, whose state is restored.
    with torch.random.fork_rng(devices=[]), _quiet():
        wrapped = peft.get_peft_model(
            model,
            peft.LoraConfig(
                r=config.rank,
                lora_alpha=config.alpha,
                use_rslora=config.variant == "rslora",
                use_dora=config.variant == "dora",
                lora_dropout=0.0,
                task_type="CAUSAL_LM",
                **({"target_modules": "all-linear"} | where),
            ),
        ).eval()
    draw_adapters(wrapped, seed)
    try:
        yield wrapped
        if keep is not None:
            wrapped.save_pretrained(str(keep))
    except BaseException:
        # If training fails, the adapters are removed without merging, which restores
        # the model.
        wrapped.unload()
        raise
    else:
        wrapped.merge_and_unload()
    finally:
        for parameter, flag in zip(model.parameters(), wanted, strict=True):
            parameter.requires_grad_(flag)


def draw_adapters(wrapped: Any, seed: int) -> None:
    """Draw the matrices ``A`` of all adapters at random.

    The distribution is that of ``peft`` (Kaiming uniform initialisation), but the
    random stream is determined by the seed. The matrices ``B`` are not changed.

    Args:
        wrapped: A model with the adapters of ``peft``.
        seed: Root seed of the random numbers.

    Raises:
        ConfigError: ``seed`` is not an integer from 0 to 2^63 - 1.
    """
    generator = Streams(seed).torch(INITIALISATION, "adapters")
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if "lora_A" in name:
                drawn = torch.empty(parameter.shape)
                # The distribution is that of peft, but the numbers are from a separate
                # random stream.
                torch.nn.init.kaiming_uniform_(
                    drawn, a=math.sqrt(5), generator=generator
                )
                parameter.copy_(drawn)


@contextmanager
def with_adapters(model: Any, folder: Path) -> Iterator[None]:
    """Use stored adapters in a ``with`` block, and restore the original modules afterwards.

    Args:
        model: The causal model of ``transformers`` for which the adapters were trained.
        folder: Folder with ``adapter_model.safetensors``.

    Yields:
        Nothing; within the block ``model`` has the adapters.

    Raises:
        DataError: The folder contains no adapters, or they cannot be read.
        ConfigError: ``peft`` is not installed.
    """
    peft = _peft()
    if not (
        folder / "adapter_model.safetensors"
    ).exists():  # without it, peft would read a pickle
        raise DataError(
            f"{folder} contains no adapters; expected adapter_model.safetensors"
        )
    try:
        with _quiet():
            wrapped = peft.PeftModel.from_pretrained(model, folder)
    except Exception as error:  # noqa: BLE001 - a damaged file raises whatever its reader does
        raise DataError(f"cannot read the adapters {folder}: {error}") from None
    try:
        yield
    finally:
        wrapped.unload()


def _peft(otherwise: str = "") -> Any:
    """Return the package ``peft``, or raise an error that says what to do without it."""
    try:
        import peft
    except ImportError:
        raise ConfigError(f"lora requires peft: pip install peft{otherwise}") from None
    return peft


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence peft's warnings about names that transformers has changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
