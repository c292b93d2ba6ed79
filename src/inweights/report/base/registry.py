"""Register drawings, which are functions or classes that draw tables, by name.

:func:`drawing` registers a drawing. :func:`find` looks it up, and :func:`arguments`
checks the tables and options of a figure. Users register their own drawings in the same
way.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import polars as pl

from inweights.errors import ConfigError, DataError, check_names, unknown_name
from inweights.experiments.grammar.figure import Figure

Drawing = Callable[..., Any]
Player = Callable[..., str]
D = TypeVar("D", bound=Callable[..., Any])

#: Drawings by name: a function that returns the figure, or a class with the tables and
#: options as fields and a method ``draw()``.
DRAWINGS: dict[str, Drawing] = {}
#: Functions that make the interactive form of a drawing, by the name of the drawing.
#: Not every drawing has one.
PLAYERS: dict[str, Player] = {}


def drawing(kind: str) -> Callable[[D], D]:
    """Return a decorator that registers a function or class as a drawing.

    The arguments of the function are the tables in the figure's ``sources``, in their
    order, followed by keyword-only options that are plain values. It returns a
    matplotlib ``Figure``, and the library's style is active while it is called. A
    dataclass can also be registered. Its fields are the tables, followed by
    keyword-only options, and its method ``draw()`` returns the figure.

    Args:
        kind: Name of the drawing, as used in ``Figure.kind``.

    Returns:
        The decorator, which returns the function or class unchanged.

    Raises:
        ConfigError: A different function is already registered under this name. The
            error is raised when the decorator is applied.

    Example:
        >>> from matplotlib.figure import Figure as Picture
        >>> @drawing("empty")
        ... def empty(table, *, width=3.0):
        ...     return Picture(figsize=(width, 2.0))
        >>> "empty" in DRAWINGS
        True
        >>> del DRAWINGS["empty"]
    """
    return _adder(DRAWINGS, kind)


def player(kind: str) -> Callable[[D], D]:
    """Return a decorator that registers a function as the interactive form of a drawing.

    The function takes the arguments of the drawing and the keyword argument ``name``,
    the id of the figure on its page. It returns HTML.

    Args:
        kind: Name of the drawing.

    Returns:
        The decorator, which returns the function unchanged.

    Raises:
        ConfigError: A different function is already registered under this name. The
            error is raised when the decorator is applied.
    """
    return _adder(PLAYERS, kind)


def _adder(known: dict[str, Any], kind: str) -> Callable[[D], D]:
    def add(function: D) -> D:
        old = known.get(kind)
        if old is not None and (old.__module__, old.__qualname__) != (
            function.__module__,
            function.__qualname__,
        ):
            raise ConfigError(
                f"the drawing '{kind}' is already defined by "
                f"{old.__module__}.{old.__qualname__}; choose another name for "
                f"{function.__module__}.{function.__qualname__}"
            )
        known[kind] = function
        return function

    return add


def find(figure: Figure) -> Drawing:
    """Return the registered function or class that draws a figure.

    Args:
        figure: Description of the figure. Its field ``kind`` is the name under which
            the drawing is registered.

    Raises:
        ConfigError: No drawing is registered under the figure's ``kind``.
    """
    if figure.kind not in DRAWINGS:
        hint = f"Figure '{figure.id}'; add one with @drawing(\"{figure.kind}\")."
        raise unknown_name("drawing", figure.kind, DRAWINGS, hint=hint)
    return DRAWINGS[figure.kind]


def arguments(
    figure: Figure, function: Callable[..., Any], tables: Mapping[str, pl.DataFrame]
) -> list[pl.DataFrame]:
    """Check the tables and options of a figure, and return its tables in order.

    Args:
        figure: The figure, with the names of its tables (``sources``) and its options.
        function: The drawing function, or the class that draws the figure.
        tables: All tables, by name.

    Returns:
        The tables of the figure, in the order of its ``sources``, not copied.

    Raises:
        DataError: A table that the figure names does not exist.
        ConfigError: The number of tables is wrong for the drawing, a required option is
            missing, or the drawing has no option of a given name. Values of options are
            not checked.
    """
    for source in figure.sources:
        if source not in tables:
            hint = f"Figure '{figure.id}' draws it."
            raise unknown_name("table", source, tables, error=DataError, hint=hint)
    parameters = inspect.signature(function).parameters.values()
    wanted = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    options = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    if len(wanted) != len(figure.sources):
        raise ConfigError(
            f"figure '{figure.id}': the drawing '{figure.kind}' takes {len(wanted)} table(s) "
            f"({', '.join(wanted)}), not {len(figure.sources)} ({', '.join(figure.sources)}); "
            "change the sources of the figure"
        )
    hint = f"Figure '{figure.id}' of kind '{figure.kind}'."
    check_names("option", figure.options, options, hint=hint)
    missing = [
        n
        for n, p in options.items()
        if p.default is p.empty and n not in figure.options
    ]
    if missing:
        raise ConfigError(
            f"missing option(s) {', '.join(missing)}; give each a value. {hint}"
        )
    return [tables[source] for source in figure.sources]
