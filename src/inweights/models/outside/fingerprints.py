"""Identify a module by its tensors, the settings of its submodules, and its classes' source.

Two modules with equal weights may differ in their number of heads or activation
function, so the hash covers both the weights and the settings. :func:`content_hash`
returns the hash by which the keys of runs identify a trained module.
:func:`settings_of` finds modules that cannot be replicas of one model.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from inweights.errors import ConfigError
from inweights.models.outside.replicas.stacking import numbers
from inweights.support.keys.source_code import file_of, is_own
from inweights.support.keys.sources import sources_of

_LENGTH = 20
#: Maximum depth to which nested settings are read. A config object contains
#: dictionaries, which contain lists.
_DEPTH = 5
#: Former names of modules that contain layers of the library. Hashes use these names,
#: so that a module with such a layer keeps its hash, and its runs keep their keys.
_FORMER_HOMES = {
    "inweights.models.layers.dense": "inweights.models.layers",
    "inweights.models.layers.layer": "inweights.models.layers",
    "inweights.models.layers.dropout": "inweights.models.dropout",
    "inweights.models.layers.blocks": "inweights.models.gpt",
}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype)
#: Attributes of modules that are not settings. The last three are set by transformers,
#: and state for example where a model was read.
_NO_SETTINGS = ("training", "name_or_path", "warnings_issued", "transformers_version")


def content_hash(module: nn.Module) -> str:
    """Return a hash of a module's parameters, buffers, settings and source code.

    Args:
        module: Any module; its device (CPU or GPU) has no effect on the hash.

    Returns:
        20 hexadecimal digits.

    Example:
        >>> one = content_hash(nn.Dropout(0.1))
        >>> one == content_hash(nn.Dropout(0.1)), one == content_hash(nn.Dropout(0.2))
        (True, False)
    """
    sha = hashlib.sha256()
    # A tied parameter is included under each of its names, because the hash must depend
    # on which parameters are tied.
    for name, value in sorted(numbers(module, again=True).items()):
        sha.update(f"{name} {value.dtype} {list(value.shape)}".encode())
        sha.update(_bytes(value))
    for place, setting in settings_of(module).items():
        sha.update(f"{place} = {setting}\n".encode())
    for content in _sources(module):
        sha.update(content.encode())
    return sha.hexdigest()[:_LENGTH]


def settings_of(module: nn.Module) -> dict[str, str]:
    """Return the settings of a module and its submodules as strings, keyed by path.

    Settings are the public attributes, except for submodules, parameters, buffers,
    ``training``, and attributes in which transformers stores the origin of a model. The
    names of the classes are included.

    Args:
        module: Any module.

    Returns:
        Dictionary of the settings. The key of a setting is its path, such as
        ``attn.n_head``. The class name of a submodule has the submodule's path and a
        colon as its key, such as ``attn:``. The class name of the module itself has the
        key ``:``.

    Example:
        >>> settings_of(nn.Sequential(nn.Dropout(0.1)))["0.p"]
        '0.1'
    """
    found: dict[str, str] = {}
    for name, part in module.named_modules():
        found[f"{name}:"] = _class_name(type(part))
        for key, value in _held(part):
            place = f"{name}.{key}" if name else key
            found[place] = _as_text(value, _DEPTH)
    return found


def _class_name(kind: type) -> str:
    """Return the qualified name of a class, in its former module if the class was moved."""
    home = _FORMER_HOMES.get(kind.__module__, kind.__module__)
    return f"{home}.{kind.__qualname__}"


def _held(part: nn.Module) -> Iterator[tuple[str, Any]]:
    """Return public attributes of a module other than modules, parameters and buffers."""
    for key, value in sorted(vars(part).items()):
        # Private attributes belong to PyTorch, or are left behind by calls.
        hidden = key.startswith("_") or key in _NO_SETTINGS
        if not hidden and not isinstance(value, nn.Module):
            yield key, value


def _as_text(value: Any, depth: int) -> str:
    """Return a setting as a string that is the same in every process."""
    kind = type(value).__qualname__
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, Tensor):
        return f"{value.dtype}{list(value.shape)} {hashlib.sha256(_bytes(value)).hexdigest()}"
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | type):
        return f"{value.__module__}.{value.__qualname__}"
    # The device of a module does not affect its content.
    if depth == 0 or isinstance(value, nn.Module | torch.device):
        return kind
    if isinstance(value, Mapping):
        named = ((str(key), one) for key, one in value.items())
        return f"{kind} {_pairs(named, depth)}"
    if isinstance(value, list | tuple):
        return f"{kind} [{', '.join(_as_text(one, depth - 1) for one in value)}]"
    # Sorted, because the order of a set differs between processes.
    if isinstance(value, set | frozenset):
        return f"{kind} {sorted(_as_text(one, depth - 1) for one in value)}"
    return f"{kind} {_pairs(getattr(value, '__dict__', {}).items(), depth)}"


def _pairs(pairs: Iterable[tuple[str, Any]], depth: int) -> str:
    public = [
        (key, one) for key, one in pairs if key[:1] != "_" and key not in _NO_SETTINGS
    ]
    texts = sorted(f"{key}: {_as_text(one, depth - 1)}" for key, one in public)
    return "{" + ", ".join(texts) + "}"


def _bytes(value: Tensor) -> bytes:
    flat = value.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _sources(module: nn.Module) -> list[str]:
    """Return hashes of the source of every user-defined class in a module.

    Classes of installed packages are left out, as packages have versions.
    """
    found: set[str] = set()
    for kind in set(map(type, module.modules())):
        file = file_of(kind.__module__)
        if file is not None and not is_own(kind.__module__, file):
            continue
        try:
            found.update(sources_of(kind).values())
        # A class defined in a notebook that refers to an object whose content cannot be
        # hashed.
        except ConfigError:
            found.add(f"{kind.__module__}.{kind.__qualname__}")
    return sorted(found)
