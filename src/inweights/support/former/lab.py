"""The former name of :mod:`inweights.experiments`: it still works, with a warning."""

from typing import Any

from inweights.support.lazy import forward


def __getattr__(name: str) -> Any:
    """Return a public name of :mod:`inweights.experiments`, with a warning."""
    return forward(name, former=__name__, present="inweights.experiments")
