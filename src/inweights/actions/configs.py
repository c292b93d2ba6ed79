"""Convert configs to plain dictionaries and back, for tools that manage settings.

:func:`to_dict` and :func:`from_dict` are meant for Hydra, OmegaConf and Ray Tune. A
world, a model and a learner are identified by their ``kind``, as in a study file, and
any other config by the name of its class, ``type``.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import inweights
from inweights import config as configs
from inweights.config import Config, decode
from inweights.config.values import decode as decode_value
from inweights.config.values import encode
from inweights.errors import ConfigError, unknown_name
from inweights.models.registry import model_kind, model_names
from inweights.training.learners.descent import Descent
from inweights.training.learners.without_training import Fixed, Optimum
from inweights.worlds.labels import Labels
from inweights.worlds.registry import Altered, world_kind, world_names

#: Classes of configs by their kind, for kinds that are neither worlds nor models.
_OTHERS: dict[str, type[Config]] = {
    "altered": Altered,
    "labels": Labels,
    "descent": Descent,
    "optimum": Optimum,
    "fixed": Fixed,
}


def to_dict(config: Config) -> dict[str, Any]:
    """Convert a config to a dictionary of JSON values that names its class.

    Args:
        config: Any config of the library or of a user.

    Returns:
        All fields by name, including those with default values, and a key for the
        class. For a world, a model or a learner, this key is ``kind``. For any other
        config, it is ``type``, and its value is the name of the class, or
        ``module:name`` if ``inweights`` does not export the class.

    Raises:
        ConfigError: The value is not a config, or contains a value that JSON cannot
            store exactly.

    Example:
        >>> from inweights import Optimizer, TwoHop
        >>> to_dict(TwoHop(n=10))["kind"], to_dict(Optimizer())["type"]
        ('two-hop', 'Optimizer')
        >>> from_dict(to_dict(TwoHop(n=10))) == TwoHop(n=10)
        True
    """
    if not isinstance(config, Config):
        raise ConfigError(
            f"to_dict expects a config, such as iw.TwoHop(), got {config!r}"
        )
    kind = type(config)
    plain: dict[str, Any] = encode(configs.to_plain(config))
    if "kind" in plain and _of_kind(plain["kind"]) is kind:
        return plain
    public = getattr(inweights, kind.__name__, None) is kind
    name = kind.__name__ if public else f"{kind.__module__}:{kind.__qualname__}"
    return {"type": name, **plain}


def from_dict(values: Mapping[str, Any]) -> Any:
    """Create the config described by a dictionary; missing fields have their default values.

    A user-defined class is found only if its module is already imported. The function
    itself imports only modules of this library.

    Args:
        values: The result of :func:`to_dict`, or the content of a YAML file, as a
            dictionary or a similar mapping, such as OmegaConf's. A world, a model or a
            learner is identified by its ``kind``, and any other config by its ``type``,
            the name of its class, such as ``Optimizer`` or ``my.module:MyConfig``.

    Returns:
        The config, an object of the named class.

    Raises:
        ConfigError: The dictionary has neither ``kind`` nor ``type``, names an unknown
            config (the message suggests similar names), has an unknown key, or has a
            value that is invalid for its field.

    Example:
        >>> from_dict({"kind": "gpt", "layers": 2}).layers
        2
        >>> from_dict({"kind": "gtp"})
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: unknown kind of config 'gtp'; did you mean 'gpt'? ...
    """
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"from_dict expects a dictionary, got {type(values).__name__}"
        )
    plain: dict[str, Any] = decode_value(_plain(values))
    name = plain.pop("type", None)
    if name is None and "kind" not in plain:
        raise ConfigError(
            f"expected a dictionary with the key 'kind', such as {{'kind': 'two-hop', 'n': "
            f"10}}, or the key 'type', such as {{'type': 'Optimizer'}}; the keys of the given "
            f"dictionary are {', '.join(map(repr, plain)) or 'none'}"
        )
    kind = _of_kind(str(plain["kind"])) if name is None else _of_type(str(name))
    if kind is None:
        known = [*world_names(), *model_names(), *_OTHERS, "wrap"]
        raise unknown_name("kind of config", str(plain["kind"]), known)
    return decode(kind, plain)


def _plain(value: Any) -> Any:
    """Convert other types of mappings and sequences to dictionaries and lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(map(_plain, value))
    return value


def _of_kind(name: str) -> Any:
    """Return the class of a kind of config; ``None`` for an unknown kind."""
    if name in world_names():
        return world_kind(name)
    if name in model_names() or name == "wrap":
        return model_kind(name)
    return _OTHERS.get(name)


def _of_type(name: str) -> type[Config]:
    """Return the config class with a name, given as ``name`` or ``module:name``."""
    module, colon, path = name.rpartition(":")
    ours = not colon or module.partition(".")[0] == "inweights"
    try:
        found: Any = (
            importlib.import_module(module or "inweights")
            if ours
            else sys.modules[module]
        )
        # `getattr` on another package's lazy module could import further modules.
        for step in path.split("."):
            found = getattr(found, step) if ours else vars(found)[step]
    except (ImportError, AttributeError, KeyError, TypeError):
        if not colon:
            raise unknown_name("type of config", name, dir(inweights)) from None
        hint = "" if ours else f"; import {module} first"
        raise ConfigError(f"there is no config '{name}'{hint}") from None
    if not (isinstance(found, type) and issubclass(found, Config)):
        raise ConfigError(f"'{name}' is not a config")
    return found
