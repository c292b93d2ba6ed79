"""Deprecated module; importing the comparison with a paper from it works with a warning."""

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    """Return an object that was moved to :mod:`~.protocols`, with a warning."""
    from inweights.experiments.grammar.protocols import compare, differences

    for module in (compare, differences):
        if name in vars(module) and not name.startswith("_"):
            text = f"{__name__} is now in {module.__name__} (since version 0.2)"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return vars(module)[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
