"""The legend above a figure, and the texts of what it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from inweights.report import style

__all__ = ["add_legend", "handles", "text_of"]


def text_of(name: str, labels: Mapping[str, str] | None) -> str:
    """Return the text for a value; the value itself where it has none."""
    return (labels or {}).get(name, name)


def handles(
    names: Sequence[str], labels: Mapping[str, str] | None = None, *, reference: str = ""
) -> list[Line2D]:
    """Return what a legend shows.

    Args:
        names: Values of the series, in the order in which :func:`inweights.report.style.marks` gave
            them their looks.
        labels: Text for a value.
        reference: Text of the dashed grey line, where there is one.
    """
    shown = [
        Line2D([], [], color=look.color, linestyle=look.dash, marker=look.marker, markersize=4.6,
               label=text_of(name, labels))
        for name, look in style.marks(names).items()
    ]  # fmt: skip
    if reference:
        shown.append(Line2D([], [], color=style.GREY, dashes=(3, 2), linewidth=1, label=reference))
    return shown


def add_legend(
    figure: Figure,
    names: Sequence[str],
    labels: Mapping[str, str] | None = None,
    *,
    reference: str = "",
) -> None:
    """Name the series above the figure; see :func:`handles`."""
    shown = handles(names, labels, reference=reference)
    columns = min(len(shown), max(2, int(figure.get_figwidth() / 1.35)))
    figure.legend(handles=shown, loc="outside upper left", ncols=columns, handlelength=2.8)
