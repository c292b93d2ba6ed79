"""Several worlds, models or learners in one study: as a list, or by names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from inweights.config import to_plain
from inweights.errors import ConfigError
from inweights.lab.grammar.axes import Over


def is_several(part: Any) -> bool:
    """Whether a part of a study is given several times: as a list, or by names."""
    return isinstance(part, Mapping | list | tuple)


def named(part: str, configs: Any) -> dict[str, Any]:
    """Return several configs of a part by name: their own, or what tells them apart.

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
    kinds = [_kind(config) for config in configs]
    if len(set(kinds)) < len(kinds):
        flat = [_leaves(config) for config in configs]
        differ = [path for path in flat[0] if any(one.get(path) != flat[0][path] for one in flat)]
        kinds = [", ".join(f"{p}={one[p]}" for p in differ if p in one) for one in flat]
    if len(set(kinds)) < len(kinds):
        raise ConfigError(f"give the {part}s names, {{'one': …, 'other': …}}: some are alike")
    return dict(zip(kinds, configs, strict=True))


def _kind(config: Any) -> str:
    """What a config is called in tables."""
    about = getattr(config, "__struct_config__", None)
    name = getattr(config, "label", None) or (about and about.tag) or type(config).__name__
    return str(name).lower()


def _leaves(config: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def walk(value: Any, path: str) -> None:
        items: Any = value.items() if isinstance(value, Mapping) else ()
        items = enumerate(value) if isinstance(value, list | tuple) else items
        for key, inner in items:
            walk(inner, f"{path}.{key}" if path else str(key))
        if not isinstance(value, Mapping | list | tuple):
            found[path] = value

    walk(to_plain(config) if isinstance(config, msgspec.Struct) else config, "")
    return found


def with_parts(several: Mapping[str, Mapping[str, Any]], over: Over) -> Over:
    """Return what is varied, with the parts that are given several times as axes."""
    if not several:
        return over
    if not isinstance(over, Mapping) and over:
        raise ConfigError(
            f"of the {' and '.join(several)} there are several; in a list of points set it in "
            'each, {"model": GPTConfig()}'
        )
    varied = over if isinstance(over, Mapping) else {}
    for name in several:
        if name in varied:
            raise ConfigError(f"'{name}' is varied by two axes; remove it from one")
    return {**several, **varied}
