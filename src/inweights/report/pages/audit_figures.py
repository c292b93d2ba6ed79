"""Draw the figures of an audit's page: predicted answers, and chains of relations."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from inweights.report.base import style
from inweights.report.base.legend import columns_that_fit

#: Largest numbers of pairs and of relations that are drawn.
PAIRS = 14
RELATIONS = 18
_NAME = 22


def outlook_figure(outlook: pl.DataFrame) -> Figure:
    """Return a bar chart of the number of questions with each outcome, for each pair of relations.

    Each bar is divided by the predicted outcome: questions that are answered correctly,
    questions that are answered correctly only once identities are added, questions with
    tied answers, and questions that are answered incorrectly. If the table contains no
    prediction, each bar is divided into the chains that can be answered correctly
    without attention, and the remaining chains.

    Args:
        outlook: Table returned by :func:`inweights.audit.outlook`, with at least one
            row. Only the first 14 rows are drawn.
    """
    rows = outlook.head(PAIRS).reverse()
    narrow = style.full_width() < style.FULL_WIDTH
    between, high = (",\n", 0.42) if narrow else (", ", 0.32)
    pairs = rows.select("first", "second").iter_rows()
    names = [f"{_short(first)}{between}{_short(second)}" for first, second in pairs]
    blue = style.CYCLE[0].color
    vermilion = style.CYCLE[1].color
    unit = "questions"
    if outlook["follow"].null_count() == outlook.height:
        unit = "chains"
        total = rows["chains"].to_numpy().astype(float)
        right = total * rows["expected"].fill_null(0.0).to_numpy()
        parts = [
            ("best accuracy without attention (1/C)", right, blue, ""),
            ("the rest", total - right, style.PALE, ""),
        ]
    else:
        follow, tied, fail, mended = (
            rows[k].to_numpy().astype(float)
            for k in ("follow", "tied", "fail", "mended")
        )
        tied_left = np.maximum(tied - mended, 0)
        mended_fail = mended - (tied - tied_left)
        parts = [
            ("follow", follow, blue, ""),
            ("follow with identities", mended, "#a9d0ea", "///"),
            ("tie", tied_left, "#e3c27a", ""),
            ("fail", fail - mended_fail, vermilion, "xxx"),
        ]
    with style.context():
        figure = Figure(
            figsize=(style.full_width(), 1.1 + high * len(names)), layout="constrained"
        )
        axes = figure.add_subplot()
        left = np.zeros(len(names))
        for label, width, color, hatch in parts:
            if width.any():
                axes.barh(
                    range(len(names)),
                    width,
                    left=left,
                    color=color,
                    label=label,
                    height=0.66,
                    hatch=hatch,
                    edgecolor="white" if hatch else color,
                    linewidth=0.5,
                )
            left = left + width
        axes.set_yticks(range(len(names)), names)
        axes.set_xlabel(unit)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
        axes.set_xlim(0, left.max() * 1.02)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        columns = columns_that_fit([label for label, *_ in parts], figure, 42)
        figure.legend(loc="outside upper left", ncols=columns)
        figure.draw_without_rendering()  # lays it out, so that no label is cut
    return figure


def chains_figure(compositions: pl.DataFrame) -> Figure:
    """Return a matrix plot of the number of two-hop chains for each pair of relations.

    Args:
        compositions: Table ``compositions`` of :class:`inweights.audit.Audit`, with at
            least one row. Only the 18 relations with the most chains are drawn.
    """
    size = compositions.group_by(relation="first").agg(pl.col("chains").sum())
    other = compositions.group_by(relation="second").agg(pl.col("chains").sum())
    total = pl.concat([size, other]).group_by("relation").agg(pl.col("chains").sum())
    ranked = total.sort("chains", "relation", descending=[True, False])["relation"]
    most = min(RELATIONS, int((style.full_width() - 1.4) / 0.32))
    kept = ranked.head(most).to_list()
    pairs = compositions.filter(
        pl.col("first").is_in(kept), pl.col("second").is_in(kept)
    )
    rows = [name for name in kept if name in set(pairs["first"])]
    columns = [name for name in kept if name in set(pairs["second"])]
    grid = np.full((len(rows), len(columns)), np.nan)
    for first, second, chains in pairs.select("first", "second", "chains").iter_rows():
        grid[rows.index(first), columns.index(second)] = chains
    with style.context():
        # The size of cells is limited, so that a small graph does not fill the page.
        width = min(style.full_width(), 2.2 + 0.8 * len(columns))
        figure = Figure(figsize=(width, 1.1 + 0.32 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        shown = np.log10(np.maximum(grid, 1))
        top = max(float(np.nanmax(shown)), 1e-9)
        axes.imshow(
            shown,
            cmap="Blues",
            vmin=-0.2 * top,
            vmax=2.4 * top,
            aspect="auto",
        )
        for i, j in np.argwhere(~np.isnan(grid)).tolist():
            axes.text(
                j, i, _count(grid[i, j]), ha="center", va="center", fontsize=style.SMALL
            )
        turn = 40 if len(columns) > 5 else 0
        axes.set_xticks(
            range(len(columns)),
            list(map(_short, columns)),
            rotation=turn,
            ha="right" if turn else "center",
        )
        axes.set_yticks(range(len(rows)), list(map(_short, rows)))
        axes.set_xlabel(
            "second relation" + (f" (the {most} largest)" if len(ranked) > most else "")
        )
        axes.set_ylabel("first relation")
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.tick_params(length=0)
        figure.draw_without_rendering()
    return figure


def _short(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def _count(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.0f}"
