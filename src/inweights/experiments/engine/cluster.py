"""Deprecated module; importing :class:`~.executors.ray.Ray` from it issues a warning."""

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    """Return the executor :class:`Ray` from its new module, and issue a warning."""
    if name != "Ray":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from inweights.experiments.engine.executors.ray import Ray

    text = f"{__name__}.Ray is now {Ray.__module__}.Ray (since version 0.2)"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return Ray
