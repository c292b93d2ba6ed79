"""Modules of others that add worlds, models, probes, drawings or recipes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.metadata import entry_points

from inweights.errors import ConfigError

__all__ = ["load_plugins"]


def load_plugins(modules: Sequence[str] = ()) -> None:
    """Import the named modules, and those of installed packages' ``inweights.plugins``.

    Raises:
        ConfigError: A module cannot be imported.
    """
    for entry in entry_points(group="inweights.plugins"):
        entry.load()
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ConfigError(f"cannot import the plugin '{module}': {error}") from None
