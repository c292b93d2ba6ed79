"""List, shorten and replace settings of configs by their paths, such as ``world.n``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from inweights.config import replace_at, to_plain
from inweights.errors import ConfigError, unknown_name


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the column name of each path, which is the path's last word if this word is unique.

    If several paths have the same last word, their names are the whole paths, with
    underscores in place of dots, as in ``world_n``.

    Args:
        paths: Paths of settings, such as ``world.n``, which must all be different.

    Returns:
        The column names, keyed by path, in the given order.
    """
    last = {path: path.rpartition(".")[2] for path in paths}
    words = list(last.values())
    names = {}
    for path, word in last.items():
        unique = words.count(word) == 1
        names[path] = word if unique else path.replace(".", "_")
    return names


def replaced(part: Any, path: str, rest: str, value: Any) -> Any:
    """Return the config of a part of a trial with a new value of one setting.

    Args:
        part: Config of a world, a model or a learner.
        path: The whole path, such as ``world.n``, for error messages.
        rest: The path within the part, such as ``n`` or ``phases.0.steps``, in which
            indices of lists start at 0.
        value: The new value of the setting.

    Returns:
        A new config; ``part`` remains unchanged.

    Raises:
        ConfigError: The part is not a config, the path does not exist (the message
            suggests similar paths), or the value is not allowed there.
    """
    name = path.partition(".")[0]
    if not isinstance(part, msgspec.Struct):
        what = (
            "no config is given; give one"
            if part is None
            else f"{part!r} is not a config"
        )
        raise ConfigError(f"'{path}' cannot be varied in the {name}: {what}")
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
    """Return an error that reports an unknown path and suggests similar known paths.

    Args:
        path: The unknown path.
        known: The paths that exist.

    Returns:
        A :class:`~inweights.errors.ConfigError`, which is not raised here. The message
        suggests known paths that end with the same word or, if there are none, the most
        similar path.
    """
    last = path.rpartition(".")[2]
    alike = [one for one in known if one.rpartition(".")[2] == last]
    if not alike:
        return unknown_name("path", path, known)
    return ConfigError(
        f"unknown path '{path}'; did you mean {' or '.join(map(repr, alike))}?"
    )


def paths_below(part: Any, prefix: str) -> list[str]:
    """Return the name of a part and the paths of all settings in it.

    Args:
        part: A config. For any other value, only the name is returned.
        prefix: Name of the part, with which the paths begin.

    Returns:
        The name, followed by the paths. Two kinds of paths are left out: paths that end
        with ``kind`` (which identifies the class of a config), and paths of single
        items in lists of plain values.
    """
    paths = walk(to_plain(part), prefix) if isinstance(part, msgspec.Struct) else ()
    named = []
    for path, value in paths:
        last = path.rpartition(".")[2]
        # 'kind' identifies the class of a config, and a number is an index of a list:
        # neither is a setting that can be varied, unless there is a config at that
        # index.
        if last != "kind" and (isinstance(value, Mapping) or not last.isdigit()):
            named.append(path)
    return [prefix, *named]


def walk(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every path within nested mappings and lists, with the value at that path.

    Args:
        value: Nested mappings, lists and tuples.
        at: Path of ``value`` itself; by default empty.

    Yields:
        Pairs of a path, such as ``phases.0.steps``, and the value at that path, which
        may itself be a mapping or list. A path precedes the paths below it. Nothing is
        yielded if ``value`` is neither a mapping nor a list or tuple.
    """
    items: Any = value.items() if isinstance(value, Mapping) else ()
    for key, inner in enumerate(value) if isinstance(value, list | tuple) else items:
        path = f"{at}.{key}" if at else str(key)
        yield path, inner
        yield from walk(inner, path)
