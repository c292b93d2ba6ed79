"""Name the configs of a part of a study that has several configs."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inweights.config import to_plain
from inweights.errors import ConfigError
from inweights.experiments.grammar.variation.axes import Over
from inweights.experiments.grammar.variation.paths import walk


def is_several(part: Any) -> bool:
    """Return whether several configs of a world, model or learner are given instead of one.

    Several configs are given as a mapping, list or tuple.

    Args:
        part: The value that was given for the world, model or learner.
    """
    return isinstance(part, Mapping | list | tuple)


def named(part: str, configs: Any) -> dict[str, Any]:
    """Return the configs of a part as a dictionary, with given names or names from the configs.

    Args:
        part: Name of the part: ``world``, ``model`` or ``learner``.
        configs: A list or tuple of configs, or a mapping from names to configs.

    Returns:
        The configs, keyed by name; all names are different. For a mapping, the given
        names are used. For a list, the name is the kind of the config in lower case,
        such as ``gpt`` (for a wrapped module, its ``label``). If kinds repeat, the name
        states the settings in which the configs differ, such as ``width=32``.

    Raises:
        ConfigError: There are no configs, or two configs of a list would have the same
            name, since their kinds and settings are equal.

    Example:
        >>> from inweights.models import EmbMLPConfig, GPTConfig
        >>> list(named("model", [GPTConfig(), EmbMLPConfig()]))
        ['gpt', 'emb-mlp']
        >>> list(named("model", [GPTConfig(width=32), GPTConfig(width=64)]))
        ['width=32', 'width=64']
    """
    if not configs:
        raise ConfigError(f"the list for the {part} is empty; give at least one config")
    if isinstance(configs, Mapping):
        return {str(name): config for name, config in configs.items()}
    names = list(map(_kind, configs))
    if len(set(names)) < len(names):
        names = _differences(configs)
    if len(set(names)) < len(names):
        raise ConfigError(
            f"some {part}s in the list are equal; give each a different name in a dictionary, "
            f"such as {{'one': …, 'other': …}}"
        )
    return dict(zip(names, configs, strict=True))


def _differences(configs: Sequence[Any]) -> list[str]:
    """Return, for each config, the settings in which it differs from the others, as text."""
    settings = []
    for config in configs:
        plain = to_plain(config) if isinstance(config, msgspec.Struct) else config
        settings.append(
            {path: value for path, value in walk(plain) if not is_several(value)}
        )
    first = settings[0]
    differing = []
    for path, value in first.items():
        if any(own.get(path) != value for own in settings):
            differing.append(path)
    return [_in_words(own, differing) for own in settings]


def _in_words(settings: Mapping[str, Any], paths: Sequence[str]) -> str:
    """Return the settings at the given paths as text, omitting paths that do not exist."""
    return ", ".join(f"{path}={settings[path]}" for path in paths if path in settings)


def _kind(config: Any) -> str:
    """Return the name of a config's kind, as it appears in tables."""
    about = getattr(config, "__struct_config__", None)
    name = (
        getattr(config, "label", None) or (about and about.tag) or type(config).__name__
    )
    return str(name).lower()


def with_parts(several: Mapping[str, Mapping[str, Any]], over: Over) -> Over:
    """Return the varied settings with a further axis for each part that has several configs.

    Args:
        several: Mapping from ``world``, ``model`` or ``learner`` to several configs,
            which are in turn keyed by name. Parts with one config are left out.
        over: Mapping from paths to values, or a list of points.

    Returns:
        The varied settings, of the same kind as ``over``. The parts in ``several`` come
        first, so that they vary slowest. If ``several`` is empty, ``over`` is returned
        unchanged.

    Raises:
        ConfigError: ``several`` is not empty, and ``over`` is a list of points or also
            varies one of its parts.
    """
    if not several:
        return over
    if over and not isinstance(over, Mapping):
        raise ConfigError(
            "a list of points cannot be combined with several configs for the "
            f"{' and '.join(several)}; "
            'set the config in each point instead, as in {"model": GPTConfig()}'
        )
    varied = over if isinstance(over, Mapping) else {}
    for name in several:
        if name in varied:
            raise ConfigError(
                f"'{name}' is varied by two axes; remove it from one of them"
            )
    return {**several, **varied}
