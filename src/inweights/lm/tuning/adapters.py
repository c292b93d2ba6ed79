"""What is trained of a model: all of its weights, or low-rank adapters that are merged after."""

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
    """Yield the model to train within the block; merge its adapters at the end.

    Adapters are those of LoRA (Hu et al. 2021, arXiv:2106.09685, §4.1) on every linear layer but
    the head, or ``where`` options of ``LoraConfig`` say; ``A`` is drawn by the seed, ``B`` is zero,
    there is no dropout. The model has its own modules again after the block, whatever happened in
    it. Before they are merged, the adapters are written to the folder ``keep``, as ``peft`` reads
    them.
    """
    wanted = [p.requires_grad for p in model.parameters()]
    if config.method == "full":
        yield model.requires_grad_(requires_grad=True)
        return
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise ConfigError("lora requires peft: pip install peft; or use method 'full'") from None
    # It draws its own start from the global stream, which is left as it was.
    with torch.random.fork_rng(devices=[]), _quiet():
        wrapped = get_peft_model(
            model,
            LoraConfig(
                r=config.rank,
                lora_alpha=config.alpha,  # type: ignore[arg-type]  # any number does
                use_rslora=config.variant == "rslora",
                use_dora=config.variant == "dora",
                lora_dropout=0.0,
                task_type="CAUSAL_LM",
                **({"target_modules": "all-linear"} | where),
            ),
        ).eval()
    _draw(wrapped, seed)
    try:
        yield wrapped
        if keep is not None:
            wrapped.save_pretrained(str(keep))
    except BaseException:
        wrapped.unload()
        raise
    else:
        wrapped.merge_and_unload()
    finally:
        for parameter, flag in zip(model.parameters(), wanted, strict=True):
            parameter.requires_grad_(flag)


def _draw(wrapped: Any, seed: int) -> None:
    generator = Streams(seed).torch(INITIALISATION, "adapters")
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if "lora_A" in name:
                drawn = torch.empty(parameter.shape)
                torch.nn.init.kaiming_uniform_(drawn, a=math.sqrt(5), generator=generator)
                parameter.copy_(drawn)


@contextmanager
def with_adapters(model: Any, folder: Path) -> Iterator[None]:
    """Use stored adapters within the block; the original modules are restored afterwards."""
    from peft import PeftModel

    if not (folder / "adapter_model.safetensors").exists():  # what else peft reads is a pickle
        raise DataError(f"{folder} contains no adapters; expected adapter_model.safetensors")
    try:
        with _quiet():
            wrapped = PeftModel.from_pretrained(model, folder)
    except Exception as error:  # noqa: BLE001 - a damaged file raises whatever its reader does
        raise DataError(f"cannot read the adapters {folder}: {error}") from None
    try:
        yield
    finally:
        wrapped.unload()


@contextmanager
def _quiet() -> Iterator[None]:
    """Let peft use names that transformers has changed without saying so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
