"""Packages that only parts of the library need: imported where used, named where missing."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from inweights.errors import ConfigError, unknown_name

#: The extras, each with the module that is imported for it.
EXTRAS = {
    "cluster": "ray",
    "hf": "transformers",
    "interactive": "plotly",
    "lens": "transformer_lens",
    "rdf": "rdflib",
    "sql": "sqlalchemy",
    "tsne": "sklearn",
    "umap": "umap",
}


def optional(extra: str, purpose: str, module: str = "") -> Any:
    """Return a module of an extra.

    Args:
        extra: Its name.
        purpose: What needs it, for the message.
        module: Which of its modules, if not the main one.
    """
    module = module or EXTRAS[extra]
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        why = "" if error.name == package else f" ({error})"
        raise ConfigError(
            f"{purpose} requires {package}: pip install 'inweights[{extra}]'{why}"
        ) from None


def installed(extra: str) -> bool:
    """Whether an extra's main module can be imported."""
    return sys.modules.get(EXTRAS[extra]) is not None or find_spec(EXTRAS[extra]) is not None


def check_extra(extra: str, purpose: str) -> None:
    """Refuse work whose extra is not installed, without importing it.

    Example:
        >>> check_extra("umpa", "measure 'states'")
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: unknown extra 'umpa'; did you mean 'umap'? ...
    """
    if extra not in EXTRAS:
        raise unknown_name("extra", extra, EXTRAS)
    if not installed(extra):
        optional(extra, purpose)
