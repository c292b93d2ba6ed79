"""Kinds of models, by the names used in files; :func:`register_model` adds one.

A file refers to the kind of a model by the tag of its config (``kind = "gpt"``), and
:func:`model_kind` returns the config class, which reads the other settings.
"""

import msgspec

from inweights.config.kinds import Kinds
from inweights.models import configs
from inweights.models.outside.module_configs import TrainedConfig, WrapConfig

_BUILT_IN = [
    configs.GPTConfig,
    configs.EmbMLPConfig,
    configs.MambaConfig,
    configs.TinyNNConfig,
    configs.Node2VecConfig,
    configs.OneLayerConfig,
    configs.DeepLinearConfig,
]
_KINDS = Kinds("model", _BUILT_IN, {"build": "a method build(...)"})


def model_names() -> tuple[str, ...]:
    """Return the names of all architectures: the built-in ones, followed by registered ones.

    The names ``wrap`` and ``trained``, which stand for wrapped modules, are not
    included.

    Example:
        >>> model_names()[:3]
        ('gpt', 'emb-mlp', 'mamba')
    """
    return tuple(_KINDS)


def model_kind(name: str) -> type[msgspec.Struct]:
    """Return the config class of a kind of model.

    Args:
        name: Tag of the kind: one of :func:`model_names`, or ``wrap`` or ``trained``
            (a wrapped factory or wrapped trained modules).

    Raises:
        ConfigError: There is no such kind; the message names the most similar one.

    Example:
        >>> model_kind("gpt").__name__
        'GPTConfig'
    """
    # These kinds are not architectures: their configs refer to a factory or to stored
    # weights.
    others: dict[str, type[msgspec.Struct]] = {
        "wrap": WrapConfig,
        "trained": TrainedConfig,
    }
    return others.get(name) or _KINDS.find(name)


def register_model(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Register a config class as a kind of model, under its tag.

    Files and the command line can then refer to it by the tag. The function can be used
    as a decorator.

    Args:
        kind: A config class with a tag (``class MyConfig(Config, tag_field="kind",
            tag="mine")``) and a method ``build``, as in
            :class:`~inweights.models.ModelConfig`.

    Returns:
        The class itself.

    Raises:
        ConfigError: The class has no tag or no method ``build``, or a class of a
            different name or module is registered under the same tag.
    """
    return _KINDS.add(kind)
