"""Draw a table with axes chosen from its columns.

:class:`Auto` is the drawing ``auto``, which :func:`inweights.plot` uses if only a table
is given. It draws with :class:`Lines` or :class:`Sweeps`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from inweights.errors import DataError
from inweights.experiments.grammar.controls import CONTROL
from inweights.experiments.grammar.shown import shown_in
from inweights.report.base import frames, tidy
from inweights.report.base.registry import drawing
from inweights.report.figures.lines import Lines
from inweights.report.figures.sweeps import Sweeps

#: Largest number of values of an integer column that distinguishes lines, and of any
#: column that distinguishes panels.
_MOST = 12
#: Smallest ratio of the ends of a logarithmic axis, which must have at least three
#: values.
_LOG = 30.0
#: Numeric columns that distinguish rows.
_KEYS = ("step", "replica")


class UndeclaredError(DataError):
    """Raised if a table has several numeric columns and no probe declares which one to plot."""


@drawing("auto")
@dataclass(frozen=True, eq=False)
class Auto:
    """Plot the table of a sweep, mapping the varied settings to the x-axis, lines and panels.

    The columns before ``seed`` are the varied settings. The x-axis is ``step`` if there
    is such a column, otherwise the first numeric setting. If no setting is numeric, the
    values of a setting are shown side by side. The plotted column is the one that the
    probe declares (:func:`inweights.experiments.shows`), otherwise the only
    floating-point column or, if there is none, the only integer column. Of the other
    columns that distinguish rows, the first column distinguishes lines, and the second
    distinguishes panels. Numbers are averaged over all further columns. Options that
    are given override these choices.

    Attributes:
        table: Rows of a sweep, with a column ``seed``.
        x: Name of the column of the x-axis; by default chosen as described above.
        y: Name of the column with the plotted numbers; by default chosen as described
            above.
        series: Name of the column that distinguishes lines; by default chosen as
            described above.
        facet: Name of the column that distinguishes panels; by default chosen as
            described above. An empty string means a single panel.
        where: Column values that select the plotted rows, such as ``{"role": "edge"}``;
            by default all rows are plotted.
        labels: Labels of values of ``series`` or ``facet``, keyed by the value as text;
            by default the value, with the name of its column if needed for clarity.
        x_label: Label of the horizontal axis; by default the one that the probe
            declares, or the name of the column.
        y_label: Label of the vertical axis; by default the one that the probe declares,
            or the name of the column.
        y_limits: Smallest and largest value shown; by default the limits that the probe
            declares. If the probe declares none, they are 0 and 1 for Booleans, and for
            numbers from 0 to 1 in a column with a word such as ``accuracy`` or
            ``recall`` in its name; otherwise the range of the data.
        x_log: Whether the horizontal axis is logarithmic. By default it is logarithmic
            if it is not ``step`` and has at least three values, all above 0, that span
            at least a factor of 30.

    Columns and rows are checked by :meth:`draw`.
    """

    table: pl.DataFrame
    _: KW_ONLY
    x: str | None = None
    y: str | None = None
    series: str | None = None
    facet: str | None = None
    where: Mapping[str, Any] | None = None
    labels: Mapping[str, str] | None = None
    x_label: str | None = None
    y_label: str | None = None
    y_limits: Sequence[float] | None = None
    x_log: bool | None = None

    def draw(self) -> Figure:
        """Plot the table of the sweep, and return the matplotlib figure.

        The options :attr:`x`, :attr:`y`, :attr:`series` and :attr:`facet` name the
        columns for the x-axis, the y-axis, the lines and the panels. Options that are
        not given are chosen from the varied settings and numeric columns, as described
        for :class:`Auto`.

        Raises:
            DataError: A column is missing or contains no numbers, no rows are left, the
                rows belong to several measures, or there are several numeric columns
                and no probe declares which one to plot (:class:`UndeclaredError`).
        """
        table = self._rows()
        shown = shown_in(table.columns[table.columns.index(frames.SEED) + 1 :])
        y = self.y or (shown.value if shown else _only_number(table))
        if shown is None or y != shown.value:
            shown = None  # the probe describes a different column
        varied, keys = _varied(table, {y, shown.chance} if shown else {y})
        axes = {"y": shown.label, **shown.axes} if shown else {}
        x = self.x or ("step" if "step" in table.columns else None)
        x = x or next((name for name in varied if table[name].dtype.is_numeric()), None)
        rest = [n for n in (*varied, *keys) if n not in (x, y, self.series, self.facet)]
        limits = self.y_limits or (shown.limits if shown else None)
        if limits is None and _is_share(table[y]):
            limits = (0.0, 1.0)
        if x is None or not table[x].dtype.is_numeric():
            # Values on the axis: those of x, or of the first column that distinguishes
            # rows.
            value = x or (rest.pop(0) if rest else next(iter(table.columns)))
            facet = self.facet or None
            if self.facet is None and rest:
                facet = rest.pop(0)
            panel = facet
            if panel is None:  # a single panel, whose title is the name of the setting
                panel = value + " "
                table = table.with_columns(pl.lit(value).alias(panel))
            series = self.series or (rest.pop(0) if rest else None)
            return Sweeps(
                table,
                axis=panel,
                value=value,
                y=y,
                series=series,
                y_limits=limits,
                y_label=self.y_label or axes.get("y"),
                labels={**_named(table, series, facet), **(self.labels or {})},
            ).draw()
        series = self.series or (rest.pop(0) if rest else None)
        facet = self.facet or None
        if self.facet is None:
            few = (name for name in rest if table[name].n_unique() <= _MOST)
            facet = next(few, None)
        return Lines(
            table,
            x=x,
            y=y,
            series=series,
            facet=facet,
            y_limits=limits,
            labels={**_named(table, series, facet), **(self.labels or {})},
            reference=shown.reference if shown else None,
            x_label=self.x_label or axes.get(x),
            y_label=self.y_label or axes.get("y"),
            x_log=_log(table[x]) if self.x_log is None else self.x_log,
        ).draw()

    def _rows(self) -> pl.DataFrame:
        """Return the rows that are drawn, after checking the columns."""
        table = self.table
        given = {name: getattr(self, name) for name in ("x", "y", "series", "facet")}
        given["facet"] = self.facet or None  # an empty string means a single panel
        given |= {frames.SEED: frames.SEED} | {
            f"where {name}": name for name in self.where or {}
        }
        tidy.require("auto", table, given, numbers=("y",))
        for name, value in (self.where or {}).items():
            table = table.filter(pl.col(name) == pl.lit(value))
        tidy.require("auto", table, {})
        return self._of_one_measure(table) if tidy.MEASURE in table.columns else table

    def _of_one_measure(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that contain the drawn number, from a sweep with several measures."""
        split = (self.x, self.series, self.facet)
        if self.y is not None:
            table = table.filter(pl.col(self.y).is_not_null())
            tidy.require("auto", table, {})
            tidy.refuse_mixed(
                "auto", table, self.y, self.series, self.facet, along=self.x
            )
        elif table[tidy.MEASURE].n_unique() > 1:
            names = ", ".join(map(str, table[tidy.MEASURE].unique(maintain_order=True)))
            raise DataError(
                f"the table contains several measures: {names}; draw one with "
                "where={'measure': …}, or set 'y' to a column that all of them have"
            )
        empty = [n for n in table.columns if table[n].null_count() == len(table)]
        return table.drop(*([] if tidy.MEASURE in split else [tidy.MEASURE]), *empty)


#: Words in the names of columns of shares, whose axis is from 0 to 1.
_SHARES = (
    "accuracy",
    "accuracies",
    "share",
    "recall",
    "precision",
    "hit",
    "hits",
    "exact",
    "success",
    "probability",
    "chance",
    "fraction",
    "proportion",
    "correct",
    "right",
)


def _is_share(column: pl.Series) -> bool:
    """Return whether a column contains Booleans, or shares, judging by its name."""
    named = not {*column.name.lower().replace("-", "_").split("_")}.isdisjoint(_SHARES)
    if not (named or column.dtype == pl.Boolean):
        return False
    return _end(column, "min") >= 0 and _end(column, "max") <= 1


def _only_number(table: pl.DataFrame) -> str:
    """Return the only numeric column after ``seed``; raise an error if there are several."""
    after = table.columns[table.columns.index(frames.SEED) + 1 :]
    numbers = [n for n in after if table[n].dtype.is_numeric() and n not in _KEYS]
    floats = [name for name in numbers if table[name].dtype.is_float()] or numbers
    if not floats:
        texts = [name for name in after if table[name].dtype == pl.String]
        if texts:
            raise DataError(
                f"the drawing 'auto' found no numeric column after 'seed'; '{texts[0]}' "
                "contains text, which can be neither drawn nor averaged; return a column of "
                "numbers as well"
            )
        raise DataError(
            "the drawing 'auto' found no numeric column after 'seed'; set 'y' to a numeric column"
        )
    if len(floats) > 1:
        raise UndeclaredError(
            "the drawing 'auto' cannot determine which column to draw; set 'y' to one of "
            f"these columns: {', '.join(floats)}. A probe of your own can declare its column "
            "with @inweights.experiments.shows"
        )
    return floats[0]


def _varied(table: pl.DataFrame, used: set[str]) -> tuple[list[str], list[str]]:
    """Return the varied columns, and the columns of the measure that distinguish its rows.

    A column whose values are determined by another one, such as ``part`` by ``role``,
    is left out.
    """
    split = table.columns.index(frames.SEED)
    varied = [
        n for n in table.columns[:split] if n != CONTROL and table[n].n_unique() > 1
    ]
    named = []
    counted = []
    for name in table.columns[split + 1 :]:
        column = table[name]
        if name in used | {"step", "replica"} or column.n_unique() < 2:
            continue
        if column.dtype in (pl.String, pl.Boolean):
            named.append(name)
        elif column.dtype.is_integer() and column.n_unique() <= _MOST:
            counted.append(name)
    named.sort(key=lambda name: -table[name].n_unique())
    keys: list[str] = []
    before = [*varied, *({CONTROL} & set(table.columns)), frames.SEED]
    for name in (*named, *counted):
        cases = table.select(*before, *keys).n_unique() if before or keys else 1
        if table.select(*before, *keys, name).n_unique() > cases:
            keys.append(name)
    return varied, keys


def _named(table: pl.DataFrame, *columns: str | None) -> dict[str, str]:
    """Return labels for values that are not clear without the name of their column.

    These are numbers and Booleans, and strings that are also the name of a setting,
    such as the role ``identity`` if the setting ``identity`` was varied.
    """
    settings = table.columns[: table.columns.index(frames.SEED)]
    texts: dict[str, str] = {}
    for column in columns:
        if column not in table.columns:
            continue
        for value in table[column].unique():
            if table[column].dtype != pl.String or value in settings:
                texts[tidy.plain(value)] = f"{column} = {tidy.plain(value)}"
    return texts


def _log(column: pl.Series) -> bool:
    values = column.drop_nulls().unique()
    low = _end(values, "min")
    high = _end(values, "max")
    return len(values) > 2 and column.name != "step" and low > 0 and high / low >= _LOG


def _end(column: pl.Series, which: str) -> float:
    finite = column.cast(pl.Float64).drop_nulls().drop_nans()
    return float(getattr(finite, which)()) if len(finite) else 0.0
