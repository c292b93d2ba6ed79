"""The former name of :mod:`inweights.experiments`: it still works, with a warning."""

from typing import Any

from inweights.support.lazy import forward


def __getattr__(name: str) -> Any:
    """Return what the package under its new name has."""
    return forward(name, former=__name__, present="inweights.experiments")
