"""Follow paths of settings, such as ``world.n``, into configs: list, shorten and replace them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from inweights.config import replace_at, to_plain
from inweights.errors import ConfigError, unknown_name


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the column of each path: its last word, or the whole path if last words repeat."""
    last = {path: path.rpartition(".")[2] for path in paths}
    words = list(last.values())
    names = {}
    for path, word in last.items():
        unique = words.count(word) == 1
        names[path] = word if unique else path.replace(".", "_")
    return names


def replaced(part: Any, path: str, rest: str, value: Any) -> Any:
    """Return a part with another value at a path; an error proposes what was meant.

    Args:
        part: A world, a model or a learner, as its config.
        path: The whole path, such as ``world.n``, for messages.
        rest: The path within the part, such as ``n``.
        value: The value.

    Raises:
        ConfigError: The path leads nowhere, or the value does not fit.
    """
    name = path.partition(".")[0]
    if not isinstance(part, msgspec.Struct):
        what = (
            "there is none; give its config"
            if part is None
            else f"it is {part!r}, no config"
        )
        raise ConfigError(f"'{path}' is varied, but of the {name} {what}")
    plain = to_plain(part)
    known = {name: plain, **dict(walk(plain, name))}
    found = path
    while found not in known:
        found = found.rpartition(".")[0]
    if found != path and isinstance(known[found], Mapping):
        raise unknown_path(path, paths_below(part, name))
    try:
        return replace_at(part, {rest: value})
    except ConfigError as error:
        raise ConfigError(f"{path} = {value!r}: {error}") from None


def unknown_path(path: str, known: list[str]) -> Exception:
    """Return the error for an unknown path, which proposes known paths.

    Args:
        path: The unknown path.
        known: Paths that there are.
    """
    last = path.rpartition(".")[2]
    alike = [one for one in known if one.rpartition(".")[2] == last]
    if not alike:
        return unknown_name("path", path, known)
    return ConfigError(
        f"unknown path '{path}'; did you mean {' or '.join(map(repr, alike))}?"
    )


def paths_below(part: Any, prefix: str) -> list[str]:
    """Return the name of a part and every path below it.

    Args:
        part: A config; of anything else the name alone is returned.
        prefix: Name of the part, with which its paths begin.
    """
    paths = walk(to_plain(part), prefix) if isinstance(part, msgspec.Struct) else ()
    named = []
    for path, value in paths:
        last = path.rpartition(".")[2]
        # 'kind' says which config it is, and a number is a place in a list: neither is a
        # setting that can be varied, unless a config stands at that place.
        if last != "kind" and (isinstance(value, Mapping) or not last.isdigit()):
            named.append(path)
    return [prefix, *named]


def walk(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every path below plain values, and the value there.

    Args:
        value: Mappings, lists and plain values.
        at: Path of ``value`` itself; by default paths begin below it.
    """
    items: Any = value.items() if isinstance(value, Mapping) else ()
    for key, inner in enumerate(value) if isinstance(value, list | tuple) else items:
        path = f"{at}.{key}" if at else str(key)
        yield path, inner
        yield from walk(inner, path)
