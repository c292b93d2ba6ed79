"""List the settings of a recipe, with the meaning of each and its value at each scale.

:func:`settings` is used by ``inweights describe`` and by the pages. The meanings come
from the recipe's TOML file or from the docstring of the config (:func:`meanings`).
"""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from inweights.config import to_plain
from inweights.experiments.grammar.recipe import Recipe
from inweights.lm.tuning.fine_tune import FineTune

#: Value of the field ``paper`` of recipes that do not belong to a paper.
OWN = "inweights"
#: Pattern of a field and its description in the section "Attributes:" of a docstring.
_FIELD = re.compile(r"^    (\w+): (.*(?:\n {8,}.*|\n(?=\n? {8,}))*)", re.MULTILINE)
#: Pattern of the index of a list item in a path, such as ``.0``.
_PLACE = re.compile(r"\.\d+(?=\.|$)")


@dataclass(frozen=True)
class Setting:
    """One setting of a recipe.

    Attributes:
        path: Dotted path of the setting, as written after ``--set``. Items of a list
            are numbered from 0.
        meaning: Explanation of the setting. Empty if neither a docstring nor the
            recipe's file explains it.
        values: Value of the setting at each scale, keyed by scale, as a plain Python
            value (number, string, list or dictionary). Scales without the setting are
            left out.
        ours: Whether the value is our own choice at every scale. If false (the
            default), the value at the scale ``paper`` is taken from the paper, and a
            different value at a smaller scale is our own choice.
    """

    path: str
    meaning: str
    values: Mapping[str, Any]
    ours: bool = False


def settings(recipe: Recipe, part: str = "") -> list[Setting]:
    """Return the settings of a recipe, with their meanings and values.

    Args:
        recipe: The recipe.
        part: Path of a setting; only this setting and the settings nested in it are
            returned. By default all settings are returned.

    Returns:
        The settings, in the order of the fields of ``Settings``. The list is empty if
        there is no setting ``part``.
    """
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for scale, config in recipe.scales.items():
        for path, meaning, value in _walk(config, "", recipe.meanings):
            found.setdefault(path, (meaning, {}))[1][scale] = value
    below = f"{part}."
    own = recipe.paper == OWN
    return [
        Setting(path, meaning, values, own or is_ours(path, recipe.ours))
        for path, (meaning, values) in found.items()
        if not part or path == part or path.startswith(below)
    ]


def extras(config: msgspec.Struct) -> tuple[str, ...]:
    """Return the extras of the package (``pip install inweights[...]``) that a run requires.

    Args:
        config: Settings of a recipe. Nested configs are searched as well.

    Returns:
        ``("lm-demo",)`` if the recipe fine-tunes the language model ``@smollm2``,
        ``("hf",)`` if it fine-tunes only other language models, otherwise an empty
        tuple.
    """
    parts = list(_structs(config))
    if not any(isinstance(part, FineTune) for part in parts):
        return ()
    return ("lm-demo",) if "@smollm2" in str(list(map(to_plain, parts))) else ("hf",)


def meanings(kind: type) -> dict[str, str]:
    """Return the meaning of each field of a config, from the docstring of its class.

    Args:
        kind: Class of the config. The docstrings of its base classes are read as well.

    Returns:
        Dictionary that maps the name of a field to its explanation, without markup.
        Fields that no docstring explains are missing.

    Example:
        >>> from inweights.models import Node2VecConfig
        >>> meanings(Node2VecConfig)["init"]
        'Initial scale of the vectors; by default 1 (standard normal), as in the paper.'
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        _, _, section = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")
        section = re.split(r"^\S", section, maxsplit=1, flags=re.MULTILINE)[0]
        found |= {name: _plain(words) for name, words in _FIELD.findall(section)}
    return found


def is_ours(path: str, ours: Iterable[str]) -> bool:
    """Return whether ``ours`` contains the path of a setting or a prefix of this path.

    Indices of list items in the path are ignored.

    Args:
        path: Path of the setting, such as ``stars.0.rate``.
        ours: Paths of the settings that are our own choice, without indices, such as
            ``stars.rate``.
    """
    bare = _PLACE.sub("", path)
    return any(bare == part or bare.startswith(f"{part}.") for part in ours)


def _plain(words: str) -> str:
    """Return the text of a docstring without its markup."""
    words = re.sub(r":\w+:`~?([^`]*)`", lambda m: m[1].rpartition(".")[2], words)
    return " ".join(words.replace("`", "").split())


def _walk(
    config: msgspec.Struct, prefix: str, said: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[str, str, Any]]:
    """Yield path, meaning and value of every setting below a config."""
    meant = meanings(type(config)) | {
        name: _plain(words) for name, words in said.items()
    }
    for name in config.__struct_fields__:
        value = getattr(config, name)
        path = f"{prefix}{name}"
        items = value if isinstance(value, tuple) else ()
        if isinstance(value, msgspec.Struct):
            yield from _walk(value, f"{path}.")
        elif items and all(isinstance(one, msgspec.Struct) for one in items):
            for place, one in enumerate(items):
                yield from _walk(one, f"{path}.{place}.")
        else:
            yield path, meant.get(name, ""), msgspec.to_builtins(value, str_keys=True)


def _structs(value: Any) -> Iterator[msgspec.Struct]:
    """Yield every config within a value."""
    if isinstance(value, msgspec.Struct):
        yield value
        for name in value.__struct_fields__:
            yield from _structs(getattr(value, name))
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _structs(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _structs(one)
