"""Models as files: weights of all replicas as safetensors, with their config as JSON.

One file holds both: the JSON is metadata of its header, under the key ``inweights``. It says the
kind of model by its tag, never by the name of a class to import, so that reading a file executes
nothing; and it has a hash over itself and every tensor, so that one bit that differs is noticed.
Any program that reads safetensors reads the weights, by the names of the model's parameters.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from inweights.config import decode, to_plain
from inweights.errors import ConfigError, DataError, RunError
from inweights.models.base import Model
from inweights.models.registry import model_kind
from inweights.support.limits import read_bytes
from inweights.support.publish import publish_file

_FORMAT = 1


class _About(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says of its model."""

    format: int
    config: dict[str, Any]
    replicas: int
    vocabulary: int
    candidates: list[int]
    sha256: str = ""


def save_model(model: Model, path: str | Path) -> Path:
    """Write a model, all of its replicas, whole or not at all; returns the path.

    Args:
        model: Any model that keeps its config as ``config``.
        path: The file, by custom ``.safetensors``.

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
        raise RunError(f"cannot write the model {path}: {error.strerror or error}") from error
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
        device: Where the model lives.
        kind: Class of its config, where that is none of the library's and not registered
            (:func:`~inweights.models.register_model`).

    Raises:
        DataError: The file is missing, no model of this library, or not what was written.
        ConfigError: Its kind of model is unknown here; says how to add one.
    """
    try:
        content = read_bytes(Path(path))
    except OSError as error:
        raise DataError(f"cannot read the model {path}: {error.strerror or error}") from None
    return decode_model(content, str(path), kind).to(device)


def check_savable(model: Model) -> msgspec.Struct:
    """Return the config of a model that can be saved."""
    config = getattr(model, "config", None)
    if not isinstance(config, msgspec.Struct):
        raise ConfigError(
            f"{type(model).__name__} cannot be saved: a model must have the Config that builds "
            "it as .config"
        )
    return config


def encode_model(model: Model, replica: int | None = None) -> bytes:
    """Return a model, or one of its replicas, as the bytes of a file."""
    config = check_savable(model)
    tensors = model.state_dict()
    if replica is not None:
        if not 0 <= replica < model.replicas:
            raise ConfigError(f"there is no replica {replica}; the model has {model.replicas}")
        for name, value in tensors.items():
            if model.replicas > 1 and value.shape[:1] != (model.replicas,):
                raise ConfigError(
                    f"'{name}' does not start with the replica axis; save the whole model"
                )
        tensors = {name: value[replica : replica + 1] for name, value in tensors.items()}
    # Parameters that are one tensor are written under each name, and read back as one.
    tensors = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    about = _About(
        format=_FORMAT,
        config=to_plain(config),
        replicas=model.replicas if replica is None else 1,
        vocabulary=model.vocabulary,
        candidates=model.candidates.tolist(),
    )
    about = msgspec.structs.replace(about, sha256=fingerprint(msgspec.to_builtins(about), tensors))
    return save(tensors, {"inweights": msgspec.json.encode(about).decode()})


def decode_model(
    content: bytes, where: str = "the file", kind: type[msgspec.Struct] | None = None
) -> Model:
    """Return the model again; see :func:`load_model`."""
    try:
        tensors = load(content)
        header = msgspec.json.decode(content[8 : 8 + int.from_bytes(content[:8], "little")])
    except (SafetensorError, msgspec.DecodeError, ValueError) as error:
        raise DataError(f"{where} is not a safetensors file, or is damaged: {error}") from None
    written = header.get("__metadata__", {}).get("inweights")
    if written is None:
        raise DataError(
            f"{where} is not a model of inweights: it has no config; for a GPT-2 of Hugging Face "
            "there is models.from_transformers"
        )
    try:
        about = msgspec.json.decode(written, type=_About)
    except msgspec.DecodeError as error:
        raise DataError(f"{where} is damaged: its config cannot be read ({error})") from None
    if about.format != _FORMAT:
        raise DataError(f"{where} has format {about.format}; this version reads format {_FORMAT}")
    unsigned = msgspec.structs.replace(about, sha256="")
    if fingerprint(msgspec.to_builtins(unsigned), tensors) != about.sha256:
        raise DataError(f"{where} is damaged: its content was changed")
    tag = str(about.config.get("kind", ""))
    if kind is None and not tag:
        raise ConfigError(
            f"{where} does not state the kind of its model; give the class of its config: "
            "load_model(path, kind=MyConfig)"
        )
    config: Any = decode(kind or model_kind(tag), about.config)
    model: Model = config.build(
        vocabulary=about.vocabulary, seeds=[0] * about.replicas, candidates=about.candidates
    )
    expected = {name: value.shape for name, value in model.state_dict().items()}
    if expected != {name: value.shape for name, value in tensors.items()}:
        raise DataError(f"{where} has other parameters than a model of its config")
    floating = next((v.dtype for v in tensors.values() if v.is_floating_point()), torch.float32)
    model.to(floating).load_state_dict(tensors)
    return model


def join_replicas(models: Sequence[Model]) -> Model:
    """Return models of one config as one model, the replicas of the first before the second's.

    Example:
        >>> from inweights.models import EmbMLPConfig
        >>> pair = [EmbMLPConfig(width=4).build(vocabulary=5, seeds=[seed]) for seed in (0, 1)]
        >>> join_replicas(pair).replicas
        2
    """
    first = models[0]
    parts = [model.state_dict() for model in models]
    forms = [{n: (v.shape[1:], v.dtype) for n, v in part.items()} for part in parts]
    heads = [(type(m), m.vocabulary, m.candidates.tolist()) for m in models]
    if any(form != forms[0] for form in forms) or any(head != heads[0] for head in heads):
        raise ConfigError("models to be joined must have the same kind, size and vocabulary")
    config: Any = getattr(first, "config", None)
    if config is None:
        raise ConfigError(f"{type(first).__name__} has no config and cannot be joined with others")
    joined: Model = config.build(
        vocabulary=first.vocabulary,
        seeds=[0] * sum(model.replicas for model in models),
        candidates=first.candidates.tolist(),
    )
    joined.load_state_dict({name: torch.cat([part[name] for part in parts]) for name in parts[0]})
    return joined.to(first.candidates.device)


def fingerprint(about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """Hash of all that a file says: what it is of, and each tensor's name, form and bytes."""
    sha = hashlib.sha256(msgspec.json.encode(about, order="sorted"))
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        sha.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        sha.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()
