"""Import the public names of a package when they are first used.

As a result, ``import inweights`` and ``inweights --help`` import neither torch nor
anything else that a command does not need. A package lists each public name once, below
``if TYPE_CHECKING``, where type checkers and editors also find it; :func:`lazily` reads
the names from there.
"""

import ast
import sys
import warnings
from collections.abc import Mapping
from importlib import import_module
from pkgutil import get_data
from typing import Any

from inweights.support.border import at_the_border


def lazily(package: str, *own: str, renamed: Mapping[str, str] | None = None) -> None:
    """Make a package import the names under ``if TYPE_CHECKING`` when they are first used.

    A name is public if it is imported as ``from module import name as name``. The
    package gets ``__getattr__``, ``__dir__`` and ``__all__``. Functions are wrapped so
    that their errors name the argument that they cannot use
    (:mod:`inweights.support.border`).

    Args:
        package: ``__name__`` of the package.
        *own: Public names that the package defines itself.
        renamed: Current public names, keyed by the former names that they replace. A
            former name still works, with a ``DeprecationWarning``. ``None`` if no name was
            replaced.

    Example:
        >>> import inweights.training
        >>> inweights.training.__all__[:2], inweights.training.Curriculum.__module__
        (['Checkpoint', 'Curriculum'], 'inweights.training.curriculum.phases')
    """
    module = sys.modules[package]
    homes = _homes(get_data(package, "__init__.py") or b"")

    def get(name: str) -> Any:
        if renamed and name in renamed:
            text = f"{package}.{name} is now called {package}.{renamed[name]} (since version 0.2)"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            name = renamed[name]
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        if home == package:
            return import_module(f"{home}.{name}")
        return at_the_border(getattr(import_module(home), name))

    public = sorted([*homes, *own])
    vars(module).update(__getattr__=get, __dir__=lambda: public, __all__=public)


def forward(name: str, former: str, present: str) -> Any:
    """Return a public object of a package under the package's former name, with a warning.

    Args:
        name: Public name of the object.
        former: Former name of the package, such as ``inweights.lab``.
        present: Present name of the package.

    Returns:
        The object, after a ``DeprecationWarning``.

    Raises:
        AttributeError: The package has no such public name.
    """
    package = import_module(present)
    if name.startswith("__") or name not in package.__all__:
        raise AttributeError(f"module '{former}' has no attribute '{name}'")
    text = f"{former} is now called {present} (since version 0.2)"
    warnings.warn(text, DeprecationWarning, stacklevel=3)
    return getattr(package, name)


def _homes(source: bytes) -> dict[str, str]:
    """Return the module of each public name that the source imports for type checkers."""
    homes: dict[str, str] = {}
    for block in ast.parse(source).body:
        if not (isinstance(block, ast.If) and _is_for_type_checkers(block.test)):
            continue
        for line in block.body:
            if not (isinstance(line, ast.ImportFrom) and line.module):
                continue
            # A name is public if it is imported as 'name as name'.
            public = [one.name for one in line.names if one.asname == one.name]
            homes |= dict.fromkeys(public, line.module)
    return homes


def _is_for_type_checkers(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
