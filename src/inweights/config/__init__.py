"""Frozen, strict configs that are decoded from TOML, changed by ``key=value``, and hashed.

:class:`Config` is the base of every config of worlds, models, learners and recipes.
:func:`decode` and :func:`load_toml` read a config, :func:`apply_overrides` and
:func:`replace_at` change it, and :func:`identity` with :func:`digest` compute the key
of a run from it. Every package may import this one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import msgspec

from inweights.config.plain import identity as identity
from inweights.config.plain import named as named
from inweights.config.plain import plain_values
from inweights.config.plain import to_plain as to_plain
from inweights.config.refusal import check_types, refusal
from inweights.config.sizes import MOST as MOST
from inweights.config.sizes import check_size, refuse_idle
from inweights.config.toml_text import load_toml as load_toml
from inweights.config.toml_text import parse_value, value_text
from inweights.config.values import digest as digest
from inweights.errors import ConfigError, unknown_name
from inweights.support.progress import plural

__all__ = [
    "Config",
    "apply_overrides",
    "as_overrides",
    "check_size",
    "decode",
    "digest",
    "identity",
    "load_toml",
    "named",
    "refuse_idle",
    "replace_at",
    "to_plain",
]


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base class of configs, which are immutable, keyword-only, and reject unknown keys.

    Creating a config raises a ``ConfigError`` if a value has the wrong type or is out
    of range. A class whose configs are chosen by name, such as a world, also has a tag,
    which files specify as ``kind``.

    Attributes:
        later: Options that were added when runs already existed, each with the value
            that keeps the earlier behaviour. Options with that value are not part of a
            run's identity, so that a new option does not change the key of earlier
            runs. Entries must never change.
        newer: Names of the options in ``later`` that were added after version 0.1.0.
        by_path: Names of fields that are dictionaries whose keys are dotted paths, such
            as ``over`` of a sweep; :func:`apply_overrides` may add keys to them.
    """

    later: ClassVar[Mapping[str, Any]] = {}
    newer: ClassVar[tuple[str, ...]] = ()
    by_path: ClassVar[tuple[str, ...]] = ()

    @property
    def idle(self) -> tuple[str, ...]:
        """Names of fields that have no effect and are left out of a run's key; empty by default."""
        return ()

    @property
    def contents(self) -> Mapping[str, str]:
        """Hashes of the files that the config reads, by file name; they are part of a run's key.

        By default there are none. Subclasses use
        :func:`inweights.support.keys.content.fingerprint`, which raises a ``DataError``
        if a file or folder cannot be read.
        """
        return {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.__dict__.get("__post_init__")
        if own is not None:  # it reads the values, so it runs after the checks

            def checked(self: Config) -> None:
                self._take()
                check_types(self)
                own(self)

            cls.__post_init__ = checked  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        self._take()
        check_types(self)

    def named(self) -> Self:
        """Return the config whose fields are part of a run's key: by default, this config."""
        return self

    def _take(self) -> None:
        """Convert arguments such as functions to the types that the config stores."""


C = TypeVar("C", bound=msgspec.Struct)


def __getattr__(name: str) -> Any:
    if name != "to_dict":  # the function's name in version 0.1.0
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    warnings.warn(
        "config.to_dict is called config.to_plain", DeprecationWarning, stacklevel=2
    )
    return to_plain


def decode(kind: type[C], values: Mapping[str, Any]) -> C:
    """Build a config from a dictionary of plain values, and validate the values.

    Args:
        kind: Class of the config.
        values: Values of the fields, by name. A nested config is a mapping.

    Raises:
        ConfigError: A key is unknown (the message suggests a similar one), a required
            field is missing, or a value has the wrong type or is out of range.

    Example:
        >>> class Ring(Config):
        ...     nodes: int = 15
        >>> decode(Ring, {"nodes": 9})
        Ring(nodes=9)
        >>> decode(Ring, {"node": 9})
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: unknown key 'node'; did you mean 'nodes'? Known: nodes
    """
    try:
        return msgspec.convert(dict(values), kind)
    except msgspec.ValidationError as error:
        raise refusal(error, kind, values) from None


def apply_overrides(config: C, overrides: Iterable[str]) -> C:
    """Return a copy of a config with changes given as strings ``key.path=value``.

    Args:
        config: The original config, which remains unchanged.
        overrides: Changes such as ``model.width=128`` or ``complexities=[1, 2]``,
            applied in the given order. A value that is neither TOML nor JSON is a
            string. A list may also be written as ``complexities=1,2``. An index,
            counted from 0, selects an item of a list, as in ``complexities.0=3``.

    Raises:
        ConfigError: An override has no ``=`` or no key, a key is unknown (the message
            suggests a similar one), a list lacks the index, or a value is invalid.

    Example:
        >>> class Ring(Config):
        ...     nodes: int = 15
        ...     sizes: tuple[int, ...] = ()
        >>> apply_overrides(Ring(), ["nodes=9", "sizes=3,4"])
        Ring(nodes=9, sizes=(3, 4))
    """
    values = to_plain(config)
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key.strip():
            raise ConfigError(
                f"an override must have the form key=value, got '{override}'"
            )
        value = parse_value(text.strip())
        field, _, path = key.strip().partition(".")
        table = values.get(field)
        if field in getattr(config, "by_path", ()) and isinstance(table, dict) and path:
            values = {**values, field: _with_path(table, path, value)}
        else:
            values = _with(values, key.strip(), value, listed=True)
    return decode(type(config), values)


def _with_path(table: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the table with a value replaced at a path; nested tables remain nested."""
    first, _, rest = path.partition(".")
    if path not in table and rest and isinstance(table.get(first), dict):
        return {**table, first: _with_path(table[first], rest, value)}
    return {**table, path: _as_listed([], value)}


def as_overrides(
    config: msgspec.Struct, changes: Iterable[str] | Mapping[str, Any]
) -> tuple[str, ...]:
    """Convert changes of a config to ``key=value`` strings for the command line, without checks.

    Args:
        config: The config to change.
        changes: New values by dotted path, or strings ``key=value``, which are returned
            unchanged. If the new value of a nested config is a dictionary, only the
            fields named in the dictionary are changed.

    Returns:
        One string ``key=value`` per change, or per field of such a dictionary.

    Raises:
        ConfigError: A value cannot be stored and restored exactly.

    Example:
        >>> class Ring(Config):
        ...     nodes: int = 15
        >>> class Settings(Config):
        ...     ring: Ring = Ring()
        ...     models: tuple[str, ...] = ()
        >>> as_overrides(Settings(), {"ring": {"nodes": 5}, "models": ["gpt"]})
        ('ring.nodes=5', 'models=["gpt"]')
    """
    if not isinstance(changes, Mapping):
        return tuple(changes)
    written: list[str] = []
    for key, value in changes.items():
        plain = plain_values(value)
        current: Any = config
        for step in key.split("."):
            current = getattr(current, step, None)
        if isinstance(plain, Mapping) and isinstance(current, msgspec.Struct):
            written += [f"{key}.{inner}" for inner in as_overrides(current, plain)]
        else:
            written.append(f"{key}={value_text(plain)}")
    return tuple(written)


def replace_at(config: C, values: Mapping[str, Any]) -> C:
    """Return a copy of a config with new values at dotted paths.

    Args:
        config: The original config, which remains unchanged.
        values: New values by dotted path, such as ``model.width``, or ``sizes.1`` for
            the second item of a list. The values may be configs themselves.

    Raises:
        ConfigError: A path does not exist (the message suggests a similar one), or a
            value is invalid for its field.

    Example:
        >>> class Ring(Config):
        ...     sizes: tuple[int, ...] = (3, 4)
        >>> replace_at(Ring(), {"sizes.1": 9})
        Ring(sizes=(3, 9))
    """
    plain = to_plain(config)
    for path, value in values.items():
        plain = _with(plain, path, plain_values(value))
    return decode(type(config), plain)


def _with(
    values: dict[str, Any], key: str, value: Any, *, listed: bool = False
) -> dict[str, Any]:
    """Return plain values with one value replaced; if ``listed``, a list may be given as text."""
    changed: dict[str, Any] = _replaced(values, key, 0, value, listed)
    return changed


def _replaced(now: Any, key: str, depth: int, value: Any, listed: bool) -> Any:
    steps = key.split(".")
    if depth == len(steps):
        return _as_listed(now, value) if listed else value
    step = steps[depth]
    where = ".".join(steps[:depth])
    if isinstance(now, list | tuple):
        if not step.isdigit() or int(step) >= len(now):
            items = plural(len(now), "item")
            raise ConfigError(
                f"key '{key}': '{where}' has {items}, numbered from 0, but no item {step}"
            )
        changed = list(now)
        changed[int(step)] = _replaced(now[int(step)], key, depth + 1, value, listed)
        return tuple(changed) if isinstance(now, tuple) else changed
    if isinstance(now, dict):
        if step not in now and (now or depth + 1 < len(steps)):  # {} accepts any key
            prefix = f"{where}." if where else ""
            raise unknown_name("key", key, [f"{prefix}{name}" for name in now])
        return {**now, step: _replaced(now.get(step), key, depth + 1, value, listed)}
    raise ConfigError(f"key '{key}': '{where}' is a single value, which has no keys")


def _as_listed(now: Any, value: Any) -> Any:
    """Return the list that is written as ``3,4``, if the current value is a list."""
    if not isinstance(now, list) or not isinstance(value, str | int | float):
        return value
    if any(isinstance(one, dict) for one in now):
        return value
    if isinstance(value, str) and value[:1] in ("[", "{"):
        raise ConfigError(
            f"a list must be written in TOML, as [1, inf, {{a = 2}}], or in JSON, as [1, null], "
            f"got {value}"
        )
    words = value.split(",") if isinstance(value, str) else [value]
    return [parse_value(str(word).strip()) for word in words if str(word).strip()]
