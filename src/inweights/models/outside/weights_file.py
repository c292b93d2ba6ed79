"""Load the weights in a file (a ``state_dict`` or a saved model) into modules of a factory.

:func:`modules_from_file` implements :meth:`inweights.models.WrapConfig.load`. The file
is a safetensors file. Its names are those of the module's ``state_dict``, with or
without the prefix of ``torch.compile`` or of a wrapper for several GPUs. Pickles are
rejected, because they can run code. Shapes: ``R`` replicas.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from inweights.errors import ConfigError, DataError, unknown_name
from inweights.models.outside.modules import made
from inweights.models.outside.replicas.stacking import without_prefix

if TYPE_CHECKING:
    from inweights.models.outside.module_configs import WrapConfig

_PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle")


def modules_from_file(
    source: WrapConfig, path: str, vocabulary: int | None
) -> list[nn.Module]:
    """Return one module of a factory for each replica in a file, with the weights in the file.

    Args:
        source: The factory.
        path: A safetensors file with the names of the module's ``state_dict``, or a
            file that :func:`inweights.save_model` wrote for the same factory, with a
            replica axis.
        vocabulary: Number of tokens that is passed to the factory. If ``None``, it is
            the only number for which the shapes match those in the file.

    Raises:
        DataError: The file cannot be read, or its names or shapes do not match the
            module.
        ConfigError: ``vocabulary`` is ``None``, and the file matches several numbers of
            tokens or none; or the factory fails.
    """
    state, replicas = read_state(path)
    rows = [_row(state, r) for r in range(replicas)] if replicas else [state]
    size = vocabulary or _fitting_size(source, rows[0], path)
    modules = []
    for row in rows:
        # The seed has no effect, because `fill` overwrites all values.
        module = made(source, size, seed=0)
        fill(module, row, path)
        modules.append(module)
    return modules


def _row(state: Mapping[str, Tensor], replica: int) -> dict[str, Tensor]:
    return {name: value[replica] for name, value in state.items()}


def read_state(path: str) -> tuple[dict[str, Tensor], int]:
    """Return the tensors of a safetensors file, and its number of replicas.

    Args:
        path: The file.

    Returns:
        Two values: the tensors, keyed by name; and the number of replicas, which is the
        length of the first axis of every tensor, or 0 for a plain ``state_dict``
        without a replica axis.

    Raises:
        DataError: The file is missing, cannot be read, has the suffix of a pickle, or
            is not a safetensors file.
    """
    file = Path(path)
    if file.suffix in _PICKLES:
        raise DataError(
            f"{path} is a pickle, which can run code and is not read; save the weights with "
            "safetensors.torch.save_model(module, 'weights.safetensors')"
        )
    try:
        with safe_open(file, framework="pt") as content:
            about = content.metadata() or {}
            state = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise DataError(f"cannot read the weights {path}: {error}") from None
    # The metadata of a file written by `save_model` have the key `inweights`. Its
    # tensors contain all replicas along the first axis.
    if "inweights" not in about:
        return state, 0
    return state, len(next(iter(state.values())))


def fill(module: nn.Module, state: Mapping[str, Tensor], path: str) -> None:
    """Copy weights into a module by name; there must be a weight for every parameter.

    Args:
        module: The module, changed in place.
        state: Tensors, keyed by their names in the module's ``state_dict``. For a tied
            parameter, one of its names is enough.
        path: Name of the source in messages.

    Raises:
        DataError: A name is unknown or missing, or a shape differs. The module is then
            unchanged.

    Example:
        >>> layer = nn.Linear(2, 1, bias=False)
        >>> fill(layer, {"_orig_mod.weight": torch.ones(1, 2)}, "w.safetensors")
        >>> layer.weight.tolist()
        [[1.0, 1.0]]
    """
    state = without_prefix(state, module.state_dict())
    own = module.state_dict()
    for name, value in state.items():
        if name not in own:
            raise unknown_name(f"parameter of {path}", name, own, error=DataError)
        if own[name].shape != value.shape:
            raise DataError(
                f"'{name}' has the shape {list(value.shape)} in {path}, but "
                f"{list(own[name].shape)} in the module; check the settings of the factory and "
                "the argument 'vocabulary'"
            )
    filled = {own[name].data_ptr() for name in state}
    learnt = dict(module.named_parameters())
    lacking = [name for name, value in learnt.items() if value.data_ptr() not in filled]
    if lacking:
        raise DataError(
            f"{path} has no '{lacking[0]}' ({len(lacking)} parameters are missing)"
        )
    with torch.no_grad():
        for name, value in state.items():
            own[name].copy_(value)


def _fitting_size(source: WrapConfig, state: Mapping[str, Tensor], path: str) -> int:
    """Return the number of tokens for which the factory's module has the shapes of a file."""
    sizes = sorted({value.shape[0] for value in state.values() if value.dim() == 2})
    fitting = [size for size in sizes if _fits(source, size, state)]
    if len(fitting) != 1:
        what = f"{', '.join(map(str, fitting))} all fit" if fitting else "none fits"
        raise ConfigError(
            f"cannot determine the number of tokens of '{source.label}' from {path} ({what}); "
            "pass it: load(..., vocabulary=world.vocabulary), or a number"
        )
    return fitting[0]


def _fits(source: WrapConfig, size: int, state: Mapping[str, Tensor]) -> bool:
    try:
        module = made(source, size, seed=0)
    except ConfigError:
        return False
    own = module.state_dict()
    named = without_prefix(state, module.state_dict())
    for name, value in named.items():
        if name not in own or own[name].shape != value.shape:
            return False
    return True
