"""Modules of others that add worlds, models, probes, drawings or recipes."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points

from inweights.errors import ConfigError

__all__ = ["load_plugins"]


def load_plugins(modules: Sequence[str] = ()) -> None:
    """Import the named modules, and those of installed packages' ``inweights.plugins``.

    An installed one that fails takes nothing down: a warning names it.

    Raises:
        ConfigError: A named module cannot be imported.
    """
    for entry in entry_points(group="inweights.plugins"):
        with _tried(f"the installed plugin '{entry.name}' ({entry.value})", warn=True):
            entry.load()
    for module in modules:
        with _tried(f"the plugin '{module}'"):
            importlib.import_module(module)


@contextmanager
def _tried(what: str, *, warn: bool = False) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        text = f"cannot import {what}: {type(error).__name__}: {error}"
        if not warn:
            raise ConfigError(text) from error
        warnings.warn(text, stacklevel=3)
