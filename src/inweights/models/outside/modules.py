"""Create the modules of a factory from seeds, and check that they can be replicas.

:func:`made` calls a factory, :func:`checked` raises errors for modules that cannot be
replicas, and :func:`check_new` raises an error for a factory that returns the same
module at every call.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from inweights.errors import ConfigError, InweightsError
from inweights.seeds import INITIALISATION, Streams

if TYPE_CHECKING:
    from inweights.models.outside.module_configs import WrapConfig


def made(config: WrapConfig, vocabulary: int, seed: int) -> nn.Module:
    """Call a factory, and return its module, whose initial values are determined by a seed.

    Args:
        config: The factory and its options, :class:`WrapConfig`.
        vocabulary: Number of tokens.
        seed: Root seed, from 0 to ``2**63 - 1``. During the call, torch, NumPy and
            ``random`` are seeded with a seed derived from it; their states are then
            restored.

    Raises:
        ConfigError: The factory fails, does not return a module, or returns a module
            that cannot be a replica (see :func:`checked`); or the seed is not an
            integer from 0 to ``2**63 - 1``.
    """
    label = config.label
    # Modules of users draw from global generators, which are therefore seeded here.
    with _seeded(Streams(seed).seed(INITIALISATION, "module")):
        try:
            module = config.make(vocabulary)
        except InweightsError:
            raise
        except Exception as error:
            raise ConfigError(
                f"the factory '{label}' failed with vocabulary={vocabulary}: "
                f"{type(error).__name__}: {error}"
            ) from error
    if not isinstance(module, nn.Module):
        raise ConfigError(
            f"the factory '{label}' must return a torch.nn.Module, got {type(module).__name__}"
        )
    return checked(module, label)


def checked(module: nn.Module, label: str) -> nn.Module:
    """Set a module to evaluation mode and return it, after checking that it can be a replica.

    Args:
        module: The module.
        label: Name of the module in messages.

    Raises:
        ConfigError: The module stores batch statistics (batch normalisation),
            implements its own dropout (recurrent layers), or stores modules or
            parameters in a plain list, where PyTorch cannot find them.
    """
    known = {id(one) for one in (*module.modules(), *module.parameters())}
    for name, part in module.named_modules():
        place = f"'{name}' ({type(part).__name__}) of '{label}'"
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            raise ConfigError(
                f"{place} stores batch statistics, which are not trained by an optimizer; "
                "use LayerNorm or GroupNorm"
            )
        if isinstance(part, nn.RNNBase) and part.dropout:
            raise ConfigError(
                f"{place} implements its own dropout; put nn.Dropout between layers instead"
            )
        for key, value in vars(part).items():
            if isinstance(value, list | tuple) and _hides(value, known):
                raise ConfigError(
                    f"{place} stores modules in a plain list, '{key}', where PyTorch cannot find "
                    "their parameters; use nn.ModuleList or nn.ParameterList"
                )
    return module.eval()


def _hides(values: Sequence[Any], known: set[int]) -> bool:
    """Return whether values contain a module or parameter whose id is not known."""
    for value in values:
        if isinstance(value, nn.Module | nn.Parameter) and id(value) not in known:
            return True
    return False


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the generators that a module may use within the ``with`` block, then restore them."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # noqa: TID251  # a module draws from nothing else
        random.seed(seed)
        # NumPy accepts only seeds below 2**32.
        np.random.seed(seed % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


def check_new(base: nn.Module, modules: Sequence[nn.Module], label: str) -> None:
    """Raise an error if a factory returned one module twice, or modules that share parameters.

    Args:
        base: A module that the factory returned.
        modules: Modules that the factory returned in further calls.
        label: Name of the factory in messages.

    Raises:
        ConfigError: A module shares a parameter with ``base``.
    """
    known = set(map(id, base.parameters()))
    for module in modules:
        if any(id(parameter) in known for parameter in module.parameters()):
            raise ConfigError(
                f"the factory '{label}' returns the same module at each call, which all replicas "
                "would share and train. To use a trained module, write iw.wrap(module), which "
                "copies its weights. To start from new initial values for each seed, make the "
                "module within the factory"
            )
