"""Name the configs of a part of a study that is given as a list or by names."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inweights.config import to_plain
from inweights.errors import ConfigError
from inweights.experiments.grammar.variation.axes import Over
from inweights.experiments.grammar.variation.paths import walk


def is_several(part: Any) -> bool:
    """Return whether a part of a study is given as several configs: as a list or by names."""
    return isinstance(part, Mapping | list | tuple)


def named(part: str, configs: Any) -> dict[str, Any]:
    """Return several configs of a part by name: the given names, or the settings that differ.

    Args:
        part: Name of the part: ``world``, ``model`` or ``learner``.
        configs: A list of configs, or configs by name.

    Returns:
        The configs, by names that are all different: the given names; or the lower-case
        kind of each config, such as ``gpt`` (``label`` of a wrapped module); or, if
        kinds repeat, the settings in which the configs differ, as text such as
        ``width=32``.

    Raises:
        ConfigError: There are no configs, or two configs of a list would get the same
            name, since their kinds and settings are equal.

    Example:
        >>> from inweights.models import EmbMLPConfig, GPTConfig
        >>> list(named("model", [GPTConfig(), EmbMLPConfig()]))
        ['gpt', 'emb-mlp']
        >>> list(named("model", [GPTConfig(width=32), GPTConfig(width=64)]))
        ['width=32', 'width=64']
    """
    if not configs:
        raise ConfigError(f"the list of the {part} is empty; give at least one config")
    if isinstance(configs, Mapping):
        return {str(name): config for name, config in configs.items()}
    names = list(map(_kind, configs))
    if len(set(names)) < len(names):
        names = _differences(configs)
    if len(set(names)) < len(names):
        raise ConfigError(
            f"give the {part}s names, {{'one': …, 'other': …}}: some are equal"
        )
    return dict(zip(names, configs, strict=True))


def _differences(configs: Sequence[Any]) -> list[str]:
    """Return, for each config, the settings in which it differs from the others, in words."""
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
    """Return some settings as text, without those that a config does not have."""
    return ", ".join(f"{path}={settings[path]}" for path in paths if path in settings)


def _kind(config: Any) -> str:
    """Return the name of a config's kind in tables."""
    about = getattr(config, "__struct_config__", None)
    name = (
        getattr(config, "label", None) or (about and about.tag) or type(config).__name__
    )
    return str(name).lower()


def with_parts(several: Mapping[str, Mapping[str, Any]], over: Over) -> Over:
    """Return the varied settings, with parts that are given as several configs as further axes.

    Args:
        several: Configs by name, for each part (``world``, ``model``, ``learner``) that
            is given as several configs.
        over: Values by path, or a list of points.

    Returns:
        The values by path, which begin with one path for each part in ``several``, so
        that it varies slowest; ``over`` unchanged if there is none.

    Raises:
        ConfigError: There is a part in ``several``, and ``over`` is a list of points or
            also varies that part.
    """
    if not several:
        return over
    if over and not isinstance(over, Mapping):
        raise ConfigError(
            f"the {' and '.join(several)} is given several times; with a list of points, set it "
            'in each of them, {"model": GPTConfig()}'
        )
    varied = over if isinstance(over, Mapping) else {}
    for name in several:
        if name in varied:
            raise ConfigError(f"'{name}' is varied by two axes; remove it from one")
    return {**several, **varied}
