"""Public names of a package that are loaded when they are first used.

So ``import inweights`` and ``inweights --help`` load no torch, and no more than a command needs. A
package names its modules and what each holds; a type checker reads the same below
``TYPE_CHECKING``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(
    package: str,
    homes: Mapping[str, Iterable[str]],
    *,
    base: str = "",
    rooms: Iterable[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package.

    Args:
        package: Its ``__name__``.
        homes: Names by the module that holds them.
        base: Package that the modules are named from; the package itself if left out.
        rooms: Modules of the package that are public themselves.

    Example:
        >>> get, _ = lazily("inweights", {"errors": ["ConfigError"]})
        >>> get("ConfigError").__module__
        'inweights.errors'
    """
    home_of = {name: f"{base or package}.{home}" for home, names in homes.items() for name in names}
    modules = {name: f"{package}.{name}" for name in rooms}

    def get(name: str) -> Any:
        if name in modules:
            return import_module(modules[name])
        if name in home_of:
            return getattr(import_module(home_of[name]), name)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return get, lambda: sorted(sys.modules[package].__all__)
