"""Architectures by the name of their kind, for files; one of one's own can join them."""

import msgspec

from inweights.config.kinds import Kinds
from inweights.models import configs
from inweights.models.outside.wrapping import WrapConfig

_KINDS = Kinds(
    "model",
    [
        configs.GPTConfig, configs.EmbMLPConfig, configs.MambaConfig, configs.TinyNNConfig,
        configs.Node2VecConfig, configs.OneLayerConfig, configs.DeepLinearConfig,
    ],
    {"build": "a method build(...)"},
)  # fmt: skip


def model_names() -> tuple[str, ...]:
    """Return the names of all kinds of models."""
    return tuple(_KINDS)


def model_kind(name: str) -> type[msgspec.Struct]:
    """Return the config class of a kind."""
    # "wrap" is no architecture by itself: its file names the factory.
    return WrapConfig if name == "wrap" else _KINDS.find(name)


def register_model(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Add a config class to the known models, under its tag: files then name it by that."""
    return _KINDS.add(kind)
