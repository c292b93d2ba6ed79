"""Modules that were renamed: their former names work for one release, with a warning."""

import warnings
from importlib import import_module
from typing import Any


def forward(name: str, former: str, present: str) -> Any:
    """Return a public name of a package under the package's former name, with a warning.

    Args:
        name: The public name that is asked for.
        former: What the package was called, such as ``inweights.lab``.
        present: What it is called now.

    Raises:
        AttributeError: If the package has no such public name.
    """
    package = import_module(present)
    if name.startswith("__") or name not in package.__all__:
        raise AttributeError(f"module '{former}' has no attribute '{name}'")
    text = f"{former} is called {present} since version 0.2"
    warnings.warn(text, DeprecationWarning, stacklevel=3)
    return getattr(package, name)
