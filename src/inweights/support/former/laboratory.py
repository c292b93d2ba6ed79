"""The former name of :mod:`inweights.actions`: it still works, with a warning."""

from typing import Any

from inweights.support.lazy import forward


def __getattr__(name: str) -> Any:
    """Return a public name of :mod:`inweights.actions`, with a warning."""
    return forward(name, former=__name__, present="inweights.actions")
