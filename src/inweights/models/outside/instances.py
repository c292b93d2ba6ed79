"""Copy other people's trained modules, and store the copies in this process.

:func:`keep` stores copies of modules under the hash of their content, and
:func:`modules_of` finds the modules of a config, so that a sweep can build the model
at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from inweights.errors import ConfigError, DataError
from inweights.models.outside.fingerprints import content_hash, settings_of
from inweights.models.outside.forms import logits_of
from inweights.models.outside.modules import checked
from inweights.models.outside.weights_file import modules_from_file
from inweights.support.extras import optional

if TYPE_CHECKING:
    from inweights.models.outside.module_configs import TrainedConfig

#: Copies of the modules that were wrapped in this process, by the hashes of their
#: contents.
_KEPT: dict[str, nn.Module] = {}


def keep(
    modules: nn.Module | Sequence[nn.Module], label: str = ""
) -> tuple[tuple[str, ...], str]:
    """Store copies of modules in this process, in evaluation mode and on the CPU.

    Args:
        modules: A module, or a sequence of one or more modules of one architecture.
        label: Name of the modules in messages; by default (empty) the name of their
            class.

    Returns:
        Two values: the hashes of the modules' contents (20 hexadecimal digits each), by
        which the stored copies can be found; and the label.

    Raises:
        ConfigError: The modules differ in more than the values of parameters and
            buffers, or a module cannot be a replica (see :func:`~.modules.checked`).
    """
    given = [modules] if isinstance(modules, nn.Module) else list(modules)
    # Copied, because the caller may continue to train the modules after wrapping them.
    copies = list(map(_copied, given))
    label = label or type(copies[0]).__name__
    _check_alike(copies, label)
    return tuple(map(_keep, copies)), label


def from_folder(folder: str) -> nn.Module:
    """Load the causal language model in a folder onto the CPU, in evaluation mode.

    Args:
        folder: Folder with ``config.json`` and safetensors, as ``save_pretrained``
            writes them. Code in the folder is not run, and nothing is downloaded.

    Raises:
        DataError: There is no such folder, or it contains no model that can be read.
        ConfigError: ``transformers`` is not installed.
    """
    if not Path(folder).is_dir():
        raise DataError(
            f"there is no folder '{folder}'; wrap expects a folder that contains "
            "config.json and safetensors files, a module, or a function that makes one"
        )
    transformers = optional("hf", "the folder of a model")
    options = {
        "local_files_only": True,
        "trust_remote_code": False,
        "use_safetensors": True,
    }
    try:
        module: nn.Module = transformers.AutoModelForCausalLM.from_pretrained(
            folder, **options
        )
    except Exception as error:  # noqa: BLE001 - of transformers, safetensors or huggingface_hub
        reason = str(error).strip().partition("\n")[0]
        raise DataError(f"cannot read the model in {folder}: {reason}") from None
    return module


def modules_of(config: TrainedConfig, places: Sequence[int]) -> list[nn.Module]:
    """Return modules of a config by their indices, from this process or from the config's file.

    Args:
        config: Config of wrapped trained modules.
        places: Indices of the modules in ``config.weights``, from 0 (not checked).

    Returns:
        One module for each index. The modules are the stored ones, not copies.

    Raises:
        ConfigError: The modules were neither wrapped in this process nor read from a
            file, the content of the file has changed, or the factory fails.
        DataError: The file of weights cannot be read, or its names or shapes do not
            match the module.
    """
    lacking = [name for name in config.weights if name not in _KEPT]
    if lacking and config.source is not None:
        for module in modules_from_file(config.source, config.path, None):
            _keep(_copied(module))
        lacking = [name for name in config.weights if name not in _KEPT]
        if lacking:
            raise ConfigError(
                f"the weights in {config.path} have changed since the model was wrapped; "
                "restore the file, or wrap the model again"
            )
    if lacking:
        raise ConfigError(
            f"the weights of the trained module '{config.label}' are not available in this "
            "process, because the module was wrapped in another process. First wrap it in "
            "this process with iw.wrap(module), or store its weights in a file and use "
            "iw.wrap(factory).load('weights.safetensors')"
        )
    return [_KEPT[config.weights[place]] for place in places]


def _copied(module: nn.Module) -> nn.Module:
    """Return a copy on the CPU in evaluation mode, which shares no memory with the module."""
    if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
        module = module.module
    inner = getattr(module, "_orig_mod", None)
    if isinstance(inner, nn.Module):  # of torch.compile
        module = inner
    copy = checked(deepcopy(module).cpu(), type(module).__name__)
    config: Any = getattr(copy, "config", None)
    # Of transformers.
    if hasattr(config, "use_cache") and hasattr(config, "to_diff_dict"):
        config.use_cache = False
    if not any(parameter.requires_grad for parameter in copy.parameters()):
        # A module that is frozen as a whole is usually meant for evaluation; its
        # replicas can be trained.
        copy.requires_grad_(True)
    return copy


def _keep(module: nn.Module) -> str:
    """Store a module in this process, and return its hash."""
    name = content_hash(module)
    _KEPT.setdefault(name, module)
    return name


def _check_alike(modules: Sequence[nn.Module], label: str) -> None:
    """Raise an error if modules differ in more than the values of parameters and buffers."""
    first = settings_of(modules[0])
    for place, module in enumerate(modules[1:], 1):
        for (where, one), (_, other) in zip_longest(
            first.items(), settings_of(module).items(), fillvalue=("", "")
        ):
            if one != other:
                raise ConfigError(
                    f"modules 0 and {place} of '{label}' differ in {where.rstrip(':') or 'parts'} "
                    f"({one} and {other}); replicas of one model may differ only in their "
                    "parameters and buffers; wrap them separately"
                )


@torch.no_grad()
def outputs_of(name: str, logits: Callable[[Any], Any] | None, label: str) -> int:
    """Return the number of tokens for which a wrapped module returns logits.

    The module is called on the CPU with the ids ``[[0, 0]]``.

    Args:
        name: Hash of the module, under which this process stores it.
        logits: Function that extracts the logits from the module's output; ``None`` if
            :func:`~.forms.logits_of` can find them.
        label: Name of the module in messages.

    Raises:
        ConfigError: The module does not read token ids or does not return logits, or
            the function ``logits`` fails.
    """
    try:
        found = logits_of(_KEPT[name](torch.zeros(1, 2, dtype=torch.long)), logits)
        return int(found.shape[-1])
    except Exception as error:
        raise ConfigError(
            f"'{label}' must read token ids [B, T] and return their logits, but failed on the "
            f"token ids [[0, 0]]: {type(error).__name__}: {error}; if the logits are elsewhere "
            "in its output, call iw.wrap(..., logits=function)"
        ) from error
