"""Architectures by the name of their kind, for files; one of one's own can join them."""

from __future__ import annotations

import msgspec

from inweights.errors import ConfigError, unknown_name
from inweights.models.configs import (
    DeepLinearConfig,
    EmbMLPConfig,
    GPTConfig,
    MambaConfig,
    Node2VecConfig,
    OneLayerConfig,
    TinyNNConfig,
)
from inweights.models.outside.wrapping import WrapConfig

_KINDS: dict[str, type[msgspec.Struct]] = {
    "gpt": GPTConfig,
    "emb-mlp": EmbMLPConfig,
    "mamba": MambaConfig,
    "tiny-nn": TinyNNConfig,
    "node2vec": Node2VecConfig,
    "one-layer": OneLayerConfig,
    "deep-linear": DeepLinearConfig,
}


def model_names() -> tuple[str, ...]:
    """Return the names of all kinds of models."""
    return tuple(_KINDS)


def model_kind(name: str) -> type[msgspec.Struct]:
    """Return the config class of a kind."""
    if name == "wrap":  # no architecture by itself: its file names the factory
        return WrapConfig
    if name not in _KINDS:
        hint = "A model of one's own is added by register_model(its config class)."
        raise unknown_name("model", name, _KINDS, hint=hint)
    return _KINDS[name]


def register_model(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Add a config class to the known models, under its tag: files then name it by that.

    Raises:
        ConfigError: The class has no tag or no ``build``, or the name is taken.
    """
    name = kind.__struct_config__.tag
    if not isinstance(name, str) or not hasattr(kind, "build"):
        raise ConfigError(f"{kind.__name__} needs a tag (tag_field='kind') and a method build(...)")
    known = _KINDS.get(name, kind)
    # A module that is run again, as in a notebook, makes the same class anew.
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise ConfigError(f"a model '{name}' exists already; choose another tag")
    _KINDS[name] = kind
    return kind
