"""Describe figures as data: drawing functions and the tables that they show.

:class:`Figure` names a drawing function of :mod:`inweights.report.figures.draw`, which
checks the options of the figure. A user-defined drawing function is used by
``Figure(kind="mine", options={...})``.
:class:`~inweights.experiments.grammar.shown.Shown` describes a probe's table, so that a
figure can be chosen for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from inweights.config import Config

__all__ = [
    "Figure",
    "atlas",
    "auto",
    "heatmaps",
    "lines",
    "states",
    "sweeps",
    "through_time",
]


class Figure(Config):
    """Description of a figure: the drawing function, its tables and its options.

    Attributes:
        id: Short name, which is also the name of the figure's file.
        kind: Name of the drawing function: ``lines``, ``sweeps``, ``heatmaps``,
            ``states``, ``through_time``, ``atlas``, ``auto``, or any other that is
            registered, such as a user's own.
        title: Title of the figure, in a few words.
        caption: How to read the figure, and what it shows.
        sources: Names of the tables to plot, in the order of the drawing function's
            arguments.
        options: Keyword arguments of the drawing function; omitted arguments have their
            defaults.
        finds: The last sentences of ``caption``, word for word, if they state the
            result of the figure; otherwise empty.
    """

    id: str
    kind: str
    title: str
    caption: str
    sources: tuple[str, ...]
    options: dict[str, Any] = {}
    finds: str = ""

    @property
    def in_question(self) -> Figure:
        """The figure with a neutral title, and with its result stated as an expectation.

        The new title names the plotted quantity or tables, and the variable of the
        horizontal axis, if there is one. A title that is a question is kept. The
        caption ends with ``Expected if the claims hold:``, followed by the former title
        and the result (only the result if the title is a question).

        Example:
            >>> figure = lines("rho", "curves", "It falls.", "Mean.", x="step", y="rho")
            >>> figure.in_question.title, figure.in_question.caption
            ('Rho by step', 'Mean. Expected if the claims hold: it falls.')
        """
        read = self.caption.removesuffix(self.finds).strip()
        if self.title.endswith("?"):
            expected = (
                f" Expected if the claims hold: {self.finds}" if self.finds else ""
            )
            return replace(self, caption=read + expected)
        ask = self.options.get
        what = (
            ask("y_label")
            or ask("y")
            or ask("value_label")
            or " and ".join(self.sources)
        )
        over = ask("x_label") or ask("x") or ask("axis")
        title = (f"{what} by {over}" if over and what != over else str(what)).replace(
            "_", " "
        )
        found = self.title.rstrip(".")
        first = found[:1] if found[1:2].isupper() else found[:1].lower()
        expected = (
            f"{read} Expected if the claims hold: {first}{found[1:]}. {self.finds}"
        )
        return replace(
            self, title=title[:1].upper() + title[1:], caption=expected.strip()
        )


def _drawing(kind: str, shows: str) -> Callable[..., Figure]:
    """Return a function that describes figures for one drawing function."""

    def make(
        id: str,  # noqa: A002
        tables: str | tuple[str, ...] = (),
        title: str = "",
        caption: str = "",
        *more: str,
        **options: Any,
    ) -> Figure:
        if more or "table" in options or "films" in options:
            tables, title, caption = _as_in_0_1(tables, title, caption, more, options)
        if isinstance(reference := options.get("reference"), tuple):
            options["reference"] = dict(
                zip(("column", "label"), reference, strict=True)
            )
        given = {key: value for key, value in options.items() if value is not None}
        return Figure(
            id=id,
            kind=kind,
            title=title,
            caption=caption,
            sources=(tables,) if isinstance(tables, str) else tables,
            # Sequences become lists, as after writing and reading JSON.
            options={
                k: list(v) if isinstance(v, tuple | list) else v
                for k, v in given.items()
            },
        )

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f"""{shows}

    Args:
        id: Short name, which is also the name of the figure's file.
        tables: Name of the table that is drawn, or a tuple of the names of several
            tables.
        title: Title of the figure, in a few words.
        caption: How to read the figure, and what it shows.
        options: Options of :func:`inweights.report.figures.draw.{kind}`. Options that
            are ``None`` are left out; names and values are checked when the figure is
            drawn.

    Returns:
        The figure, of the kind ``{kind}``.
    """
    return make


lines = _drawing(
    "lines",
    "Describe a figure with a line for each ``series`` of ``y`` against ``x``, in panels.",
)
sweeps = _drawing(
    "sweeps",
    "Describe a figure of ``y`` for the values of every varied setting, one panel per setting.",
)
heatmaps = _drawing(
    "heatmaps",
    "Describe a figure with one matrix for each ``panel``, all on the same colour scale.",
)
states = _drawing(
    "states",
    "Describe a figure of hidden states in the plane, with one panel for each ``panel``.",
)
through_time = _drawing(
    "through_time",
    "Describe a figure of curves, matrices and states, with a slider over the steps.",
)
atlas = _drawing(
    "atlas",
    "Describe a figure of graphs and architectures that shows their training in 3-D.",
)
_auto = _drawing(
    "auto",
    "Describe a figure with the varied settings as the x-axis, lines and panels.",
)


def auto(
    id: str,  # noqa: A002
    table: str = "",
    title: str = "",
    caption: str = "",
    **options: Any,
) -> Figure:
    """Describe a figure whose x-axis, lines and panels show the varied settings of a sweep.

    Args:
        id: Short name, which is also the name of the figure's file.
        table: Name of the table to plot; by default the same as ``id``.
        title: Title of the figure; by default the same as ``id``.
        caption: How to read the figure; by default a sentence that explains the mean
            over seeds, its 95% interval, and the dots for individual seeds.
        **options: Options of :func:`inweights.report.figures.draw.auto`, such as
            ``where``. Options that are ``None`` are left out; names and values are
            checked when the figure is drawn.

    Returns:
        The figure, of the kind ``auto``.

    Example:
        >>> auto("accuracy", where={"role": "composition"}).sources
        ('accuracy',)
    """
    caption = caption or "Mean over seeds, its 95% interval, and single seeds as dots."
    return _auto(id, table or id, title or id, caption, **options)


def _as_in_0_1(
    tables: str | tuple[str, ...],
    title: str,
    caption: str,
    more: tuple[str, ...],
    options: Any,
) -> tuple[tuple[str, ...], str, str]:
    """Return tables, title and caption from the arguments of version 0.1, with a warning."""
    warnings.warn(
        "figures take 'tables'; 'table', 'films' and 'graphs' are accepted in this "
        "release only",
        DeprecationWarning,
        stacklevel=3,
    )
    if more:  # the old order of arguments: atlas(id, films, graphs, title, caption)
        return (str(tables), title), caption, more[0]
    names = [
        options.pop(name) for name in ("table", "films", "graphs") if name in options
    ]
    return tuple(names), title, caption
