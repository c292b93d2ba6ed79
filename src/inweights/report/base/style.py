"""Define the style of all figures: colours, markers, dashes and sizes.

People with colour blindness can distinguish the colours. :func:`context` applies the
style while a figure is drawn or saved, :func:`marks` chooses colour, marker and dash of
each series, and :func:`full_width` and :func:`on_a_phone` determine the width of a
figure.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

#: Width of a figure in inches on a page, and on a phone, where a figure takes 328 of
#: 390 pixels, so that the smallest text, of 6.5 points, is larger than 9 pixels.
FULL_WIDTH = 7.6
PHONE_WIDTH = 3.2
_width: ContextVar[float] = ContextVar("width", default=FULL_WIDTH)
#: Font sizes in points: labels of axes and panels, and ticks and notes.
LABEL = 9.0
SMALL = 7.5

INK = "#1d2430"
GREY = "#7b8494"
PALE = "#d5dae2"
BOX = "#c8102e"

#: Colours of Okabe and Ito, with a darker yellow that is legible on white.
BLUE = "#0072b2"
VERMILION = "#d55e00"
GREEN = "#009e73"
ORANGE = "#e09a00"
PURPLE = "#b5598f"
SKY = "#4fa8dc"
OLIVE = "#8c7a00"
BLACK = "#2b2f38"


@dataclass(frozen=True)
class Mark:
    """Colour, marker and line style of one series.

    Attributes:
        color: Colour as a hexadecimal code.
        marker: matplotlib marker.
        dash: matplotlib line style.
    """

    color: str
    marker: str
    dash: Any


#: Style of the marker of a mean, with a white edge that separates it from what it
#: covers.
MARKER: dict[str, Any] = {
    "markersize": 4.6,
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
}
_SOLID: Any = "solid"
CYCLE: tuple[Mark, ...] = (
    Mark(BLUE, "o", _SOLID),
    Mark(VERMILION, "s", (0, (6, 1.6))),
    Mark(GREEN, "^", (0, (3.5, 1.4))),
    Mark(PURPLE, "D", (0, (6, 1.5, 1.2, 1.5))),
    Mark(ORANGE, "v", (0, (1.4, 1.4))),
    Mark(SKY, "P", (0, (8, 2, 2, 2))),
    Mark(OLIVE, "X", (0, (4, 1.2, 1.2, 1.2, 1.2, 1.2))),
    Mark(BLACK, "*", (0, (2.2, 1))),
)

#: Series that have the same appearance in every figure.
NAMED: dict[str, Mark] = {
    "emb-mlp": CYCLE[0],
    "gpt": CYCLE[1],
    "gpt-small": CYCLE[2],
    "gpt-decay": CYCLE[3],
    "with": CYCLE[0],
    "without": CYCLE[1],
    "identity": CYCLE[0],
    "no-identity": CYCLE[1],
}

#: Blue below zero, white at zero, red-brown above zero, which colour-blind readers can
#: distinguish.
DIVERGING = LinearSegmentedColormap.from_list(
    "inweights",
    ["#0b3c68", "#2f76ad", "#8dbbdb", "#ffffff", "#f2b48c", "#cb6526", "#7a2c06"],
)

#: Default settings of matplotlib, which replace the user's settings, except for the
#: backend.
_PLAIN = {
    key: value
    for key, value in mpl.rcParamsDefault.items()
    if key not in ("backend", "backend_fallback", "interactive", "toolbar")
}
_RC = mpl.rc_params_from_file(
    Path(__file__).parents[1] / "assets" / "inweights.mplstyle",
    use_default_template=False,
)


@contextmanager
def context(salt: str = "inweights") -> Iterator[None]:
    """Return a context manager that applies the library's style to figures.

    Args:
        salt: Salt from which matplotlib computes the ids in SVG files
            (``svg.hashsalt``).
    """
    settings: dict[Any, Any] = {**_PLAIN, **_RC, "svg.hashsalt": salt}
    with mpl.rc_context(settings), plain_text():
        yield


@contextmanager
def plain_text() -> Iterator[None]:
    """Return a context manager within which matplotlib does not interpret text as formulas.

    Names from data can then contain characters such as ``$``. Warnings about characters
    that the font lacks, and about panels that are too small for a layout, are
    suppressed.
    """
    with mpl.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        yield


def full_width() -> float:
    """Return the full width of a figure in inches: 7.6, or 3.2 within :func:`on_a_phone`."""
    return _width.get()


@contextmanager
def on_a_phone() -> Iterator[None]:
    """Return a context manager within which figures are drawn for the width of a phone.

    Example:
        >>> with on_a_phone():
        ...     full_width(), grid_shape(7, most=4)
        (3.2, (4, 2))
    """
    token = _width.set(PHONE_WIDTH)
    try:
        yield
    finally:
        _width.reset(token)


def grid_shape(count: int, most: int) -> tuple[int, int]:
    """Return the number of rows and columns of a grid of panels, with rows of similar length.

    Args:
        count: Number of panels, at least 1.
        most: Maximum number of columns. Fewer columns are used if panels would be
            narrower than 1.5 inches.

    Example:
        >>> grid_shape(5, most=4)
        (2, 3)
    """
    # A panel narrower than 1.5 inches has no room for the labels of its axis.
    room = max(1, min(most, int(full_width() / 1.5)))
    down = math.ceil(count / room)
    return down, math.ceil(count / down)


def blank(width: float, height: float) -> Figure:
    """Build an empty matplotlib figure with constrained layout.

    Args:
        width: Width in inches.
        height: Height in inches.
    """
    engine = ConstrainedLayoutEngine(
        w_pad=0.06,
        h_pad=0.06,
        wspace=0.03,
        hspace=0.05,
    )
    return Figure(figsize=(width, height), layout=engine)


def marks(names: Sequence[str]) -> dict[str, Mark]:
    """Choose the colour, marker and line style of each series.

    Names in :data:`NAMED`, such as ``gpt``, have the same appearance in every figure.
    The other names are assigned the unused colours of :data:`CYCLE`, in order. If there
    are more names than colours, colours are repeated with different markers and line
    styles.

    Args:
        names: Names of the series, in order.

    Returns:
        A dictionary that maps each name to its :class:`Mark` (colour, marker and line
        style), in the given order.

    Example:
        >>> looks = marks(["gpt", "my-model"])
        >>> looks["gpt"] == NAMED["gpt"], looks["my-model"] == CYCLE[0]
        (True, True)
    """
    # A named series must not share its colour with another one of the same figure.
    taken = {NAMED[name].color for name in names if name in NAMED}
    free = [mark for mark in CYCLE if mark.color not in taken] or list(CYCLE)
    looks: dict[str, Mark] = {}
    used: set[str] = set()
    spare = 0
    for name in names:
        if name in NAMED and NAMED[name].color not in used:
            looks[name] = NAMED[name]
        else:
            # When colours are repeated, they get different markers and dashes, so that
            # all series look different.
            again = spare // len(free)
            color, marker, dash = (
                free[(spare + k * again) % len(free)] for k in (0, 3, 5)
            )
            looks[name] = Mark(color.color, marker.marker, dash.dash)
            spare += 1
        used.add(looks[name].color)
    return looks


def shade(place: int) -> float:
    """Return the opacity of the grey band of a control, between 0 and 1.

    Args:
        place: Index of the control, starting at 0. Opacities repeat after four
            controls.
    """
    return 0.22 + 0.16 * (place % 4)


def tint(color: str, depth: float) -> tuple[float, float, float]:
    """Return a lighter or darker shade of a colour, as an RGB triple of numbers from 0 to 1.

    Args:
        color: Any matplotlib colour, such as ``#0072b2``.
        depth: Darkness from 0 to 1: 0 for the lightest shade, 0.6 for the colour
            itself, and 1 for the darkest shade.
    """
    red, green, blue = to_rgb(color)
    if depth <= 0.6:
        # The shades do not reach white or black, where a line would vanish or lose its
        # hue.
        white = 0.72 * (0.6 - depth) / 0.6
        return tuple(c + (1 - c) * white for c in (red, green, blue))  # type: ignore[return-value]
    black = 0.62 * (depth - 0.6) / 0.4
    return tuple(c * (1 - black) for c in (red, green, blue))  # type: ignore[return-value]


def panel_title(axes: Axes, text: str) -> None:
    """Write the title of a panel, left-aligned and in bold.

    Args:
        axes: Axes of the panel.
        text: The title, which may contain line breaks. If it is empty, nothing is
            written.
    """
    if text:
        axes.set_title(
            text,
            loc="left",
            fontsize=LABEL,
            fontweight="bold",
            color=INK,
            pad=6,
        )


def bare(axes: Axes) -> None:
    """Remove the major ticks of a panel, and draw a pale frame.

    Args:
        axes: Axes of the panel, changed in place.
    """
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(PALE)
