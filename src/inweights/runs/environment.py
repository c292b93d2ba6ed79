"""Where a run was made: versions and machine, for its record."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any

__all__ = ["environment"]

_PACKAGES = ("inweights", "torch", "numpy", "polars", "scikit-learn", "safetensors")


def environment() -> dict[str, Any]:
    """Return the versions of Python, of the packages that decide results, and of the machine.

    Example:
        >>> sorted(environment())
        ['cores', 'machine', 'packages', 'python', 'system']
    """
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = "not installed"
    return {
        "python": platform.python_version(),
        "packages": packages,
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count() or 0,
    }
