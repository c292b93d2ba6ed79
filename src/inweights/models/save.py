"""Save models to files and load them: safetensors with the config as JSON in the header.

Users call :func:`save_model` and :func:`load_model`, and the store of runs calls
:func:`encode_model` and :func:`decode_model`. The JSON is under the key ``inweights``
of the header's metadata. It identifies the kind of model by its tag, never by a class
to import, so that reading a file executes no code. It contains a hash of itself and of
all tensors, so that even a single changed bit is detected. Other programs that read
safetensors can read the tensors.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from inweights.config import decode, to_plain
from inweights.config.values import decode as decode_value
from inweights.config.values import encode
from inweights.errors import ConfigError, DataError, RunError
from inweights.models.base import Model
from inweights.models.building import fill
from inweights.models.devices import check_device
from inweights.models.registry import model_kind
from inweights.support.limits import read_bytes
from inweights.support.publish import publish_file

_FORMAT = 1


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """Description of the model in the header of a file."""

    format: int
    config: dict[str, Any]
    replicas: int
    vocabulary: int
    candidates: list[int]
    sha256: str = ""


def save_model(model: Model, path: str | Path) -> Path:
    """Write a model with all of its replicas to a file, atomically.

    If writing fails, an existing file is unchanged.

    Args:
        model: Any model with an attribute ``config``, the config from which it was
            built.
        path: The file, usually ``NAME.safetensors``; an existing file is replaced.

    Returns:
        The path of the file.

    Raises:
        ConfigError: The model has no ``config``, or an option of its config has no
            exact encoding; or the model is a GPT whose config sets ``inject`` and whose
            ``loops`` was set to 1.
        RunError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> from inweights.models import EmbMLPConfig
        >>> model = EmbMLPConfig(width=8).build(vocabulary=9, seeds=[0, 1], candidates=[4, 5])
        >>> path = save_model(model, Path(tempfile.mkdtemp()) / "model.safetensors")
        >>> again = load_model(path)
        >>> type(again).__name__, again.replicas, again.candidates.tolist()
        ('EmbMLP', 2, [4, 5])
    """
    path = Path(path)
    content = encode_model(model)
    try:
        publish_file(path, content)
    except OSError as error:
        raise RunError(
            f"cannot write the model {path}: {error.strerror or error}"
        ) from error
    return path


def load_model(
    path: str | Path,
    device: torch.device | str = "cpu",
    *,
    kind: type[msgspec.Struct] | None = None,
) -> Model:
    """Read a model that :func:`save_model` wrote, with all of its replicas.

    Args:
        path: The file.
        device: Device of the model's parameters, such as ``cpu`` or ``cuda:0``.
        kind: Class of the model's config; needed only for a user's class that is not
            registered (:func:`~inweights.models.register_model`).

    Returns:
        The model, in the precision in which it was saved.

    Raises:
        DataError: The file is missing, does not contain a model of this library, or was
            changed after it was written; or a file of weights that the config names
            cannot be read.
        ConfigError: This machine has no such device; the kind of the model is not
            registered (the message states how to pass its class); or the config cannot
            build a model on this machine.
    """
    check_device(str(device))
    try:
        content = read_bytes(Path(path))
    except OSError as error:
        raise DataError(
            f"cannot read the model {path}: {error.strerror or error}"
        ) from None
    return decode_model(content, str(path), kind).to(device)


def check_savable(model: Model) -> msgspec.Struct:
    """Return the config of a model, or raise an error if the model cannot be saved.

    Args:
        model: Any model.

    Raises:
        ConfigError: The model has no attribute ``config`` that is a config.
    """
    config = getattr(model, "config", None)
    if not isinstance(config, msgspec.Struct):
        raise ConfigError(
            f"{type(model).__name__} cannot be saved: its attribute 'config' must be the "
            "Config from which the model was built"
        )
    return config


def encode_model(model: Model, replica: int | None = None) -> bytes:
    """Encode a model, or one of its replicas, as the bytes of a file.

    Args:
        model: A model with an attribute ``config``, the config from which it was built.
        replica: Index of the replica, from 0 to ``R - 1``; by default all replicas are
            encoded.

    Returns:
        The bytes of a safetensors file with the config in its header. The config of a
        GPT has the model's current number of loops.

    Raises:
        ConfigError: The model has no config, or an option of it has no exact encoding;
            a GPT whose config sets ``inject`` was set to one loop; there is no such
            replica; or, with ``replica``, a tensor has no replica axis.
    """
    config = _current_config(model)
    tensors = model.state_dict()
    if replica is not None:
        if not 0 <= replica < model.replicas:
            raise ConfigError(
                f"'replica' must be from 0 to {model.replicas - 1}, got {replica}"
            )
        for name, value in tensors.items():
            # A tensor that all replicas share has no rows of individual replicas; it would
            # be sliced along another axis.
            if model.replicas > 1 and value.shape[:1] != (model.replicas,):
                raise ConfigError(f"'{name}' has no replica axis; save the whole model")
        # A slice rather than an index, because the file of a single replica also has a
        # replica axis.
        row = slice(replica, replica + 1)
        tensors = {name: value[row] for name, value in tensors.items()}
    # A tensor that two parameters share is written under both names; reading the file
    # ties them again.
    for name, value in tensors.items():
        tensors[name] = value.detach().cpu().clone().contiguous()
    header = _Header(
        format=_FORMAT,
        config=encode(to_plain(config)),
        replicas=model.replicas if replica is None else 1,
        vocabulary=model.vocabulary,
        candidates=model.candidates.tolist(),
    )
    digest = fingerprint(msgspec.to_builtins(header), tensors)
    header = msgspec.structs.replace(header, sha256=digest)
    return save(tensors, {"inweights": msgspec.json.encode(header).decode()})


def _current_config(model: Model) -> msgspec.Struct:
    """Return the config of a model, with a GPT's current number of loops."""
    config = check_savable(model)
    loops = getattr(model, "loops", None)
    if loops is None or getattr(config, "loops", loops) == loops:
        return config
    return msgspec.structs.replace(config, loops=loops)


def decode_model(
    content: bytes, where: str = "the file", kind: type[msgspec.Struct] | None = None
) -> Model:
    """Return the model that :func:`encode_model` encoded, on the CPU.

    Args:
        content: The bytes.
        where: Name of the source of the bytes, for messages.
        kind: Class of the config; by default the registered class for the tag in the
            bytes.

    Raises:
        DataError: The bytes are not a model of this library, are in a different version
            of its format, or were changed; or a file of weights that the config names
            cannot be read.
        ConfigError: The kind of the model is not registered or not given, or the config
            cannot build a model on this machine.
    """
    try:
        tensors = load(content)
        metadata = _metadata(content)
    except (SafetensorError, msgspec.DecodeError, ValueError) as error:
        raise DataError(
            f"{where} is not a safetensors file, or is damaged: {error}"
        ) from None
    if "inweights" not in metadata:
        raise DataError(
            f"{where} is not an inweights model: it has no config; to convert a Hugging Face "
            "GPT-2, use models.from_transformers"
        )
    try:
        header = msgspec.json.decode(metadata["inweights"], type=_Header)
    except msgspec.DecodeError as error:
        raise DataError(
            f"{where} is damaged: its config cannot be read ({error})"
        ) from None
    if header.format != _FORMAT:
        raise DataError(
            f"{where} has format {header.format}; this version reads format {_FORMAT}"
        )
    unsigned = msgspec.structs.replace(header, sha256="")
    if fingerprint(msgspec.to_builtins(unsigned), tensors) != header.sha256:
        raise DataError(f"{where} is damaged: its content was changed")
    tag = str(header.config.get("kind", ""))
    if kind is None and not tag:
        raise ConfigError(
            f"{where} does not state the kind of its model; give the class of its config: "
            "load_model(path, kind=MyConfig)"
        )
    config: Any = decode(kind or model_kind(tag), decode_value(header.config))
    model: Model = config.build(
        vocabulary=header.vocabulary,
        # The seeds have no effect, because the stored weights replace all initial
        # values.
        seeds=[0] * header.replicas,
        candidates=header.candidates,
    )
    if _shapes(model.state_dict()) != _shapes(tensors):
        raise DataError(
            f"the parameters in {where} do not match the model that its config describes"
        )
    fill(model, tensors)
    return model


def fingerprint(about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256, in hexadecimal digits, of a header and of all tensors.

    Args:
        about: The header, as plain values; the order of its keys has no effect.
        tensors: Tensors, keyed by name. The hash depends on the name, dtype, shape and
            bytes of each tensor.
    """
    sha = hashlib.sha256(msgspec.json.encode(about, order="sorted"))
    # Sorted by name, because a file stores its tensors in an order of its own.
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        sha.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        sha.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()


def _metadata(content: bytes) -> dict[str, str]:
    """Return the metadata in the header of a safetensors file."""
    size = int.from_bytes(content[:8], "little")
    header = msgspec.json.decode(content[8 : 8 + size])
    return dict(header.get("__metadata__", {}))


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}
