"""Save a matplotlib figure as SVG and PNG, with the same bytes for the same figure.

A :class:`Still` is a figure with a fixed layout, which is converted to a file format
when the format is needed. :func:`inline` includes figures in a page.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TypeVar

from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from inweights.report.base import style
from inweights.report.base.html import data_uri, escape, in_order, tag

_Canvas = TypeVar("_Canvas", bound=FigureCanvasBase)

_ID = re.compile(r'(\bid="|href="#|url\(#)')
_HEAD = re.compile(r"\A.*?(?=<svg\b)", re.DOTALL)
_META = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_SIZE = re.compile(r'(<svg\b[^>]*?)\s(?:width|height)="[^"]*"')
#: Characters that XML must not contain.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
#: Largest number of characters of an SVG in a page; larger figures are included as PNG.
_LIMIT = 900_000
_PHONE_LIMIT = 250_000


def svg(figure: Figure, salt: str = "inweights") -> str:
    """Return a figure as the text of an SVG file without a date or creator.

    Args:
        figure: The figure.
        salt: Text from which the identifiers in the file are computed. The same figure
            and the same text result in the same file.
    """
    stream = io.StringIO()
    with style.context(salt), _canvas(figure, FigureCanvasSVG, figure.dpi) as canvas:
        # Without date and creator, the same figure always has the same bytes.
        canvas.print_svg(stream, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    # Names of nodes may contain such characters, and no program would open the file.
    return in_order(_UNPRINTABLE.sub("\ufffd", stream.getvalue()))


def png(figure: Figure, scale: float = 2.0) -> bytes:
    """Return a figure as the bytes of a PNG file.

    Args:
        figure: The figure.
        scale: Resolution in units of 100 dots per inch; by default 2, which corresponds
            to 200 dots per inch.
    """
    stream = io.BytesIO()
    with style.context(), _canvas(figure, FigureCanvasAgg, 100 * scale) as canvas:
        canvas.print_png(stream, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return stream.getvalue()


@contextmanager
def _canvas(figure: Figure, kind: type[_Canvas], dpi: float) -> Iterator[_Canvas]:
    """Return a context manager for a canvas that draws the figure once, unlike ``savefig``."""
    before = figure.canvas, figure.dpi
    try:
        figure.dpi = dpi
        yield kind(figure)
    finally:
        figure.dpi = before[1]
        figure.set_canvas(before[0])


def show_inline(figure: Figure) -> Figure:
    """Add a PNG representation for notebooks to a figure, and return the figure.

    A notebook then displays the figure if it is the result of a cell.

    Args:
        figure: The figure. A method that returns it as a PNG with 200 dots per inch is
            added to this object.

    Returns:
        The same figure.
    """

    def picture() -> tuple[bytes, dict[str, int]]:
        width, height = (round(100 * inches) for inches in figure.get_size_inches())
        return png(figure), {"width": width, "height": height}

    figure._repr_png_ = picture  # type: ignore[attr-defined]
    return figure


class Still:
    """A figure with a fixed layout, for files and pages.

    Args:
        picture: The figure. Its layout engine is removed. The attribute ``picture``
            refers to this figure.
        name: Identifier of the figure on its page. The ids within the figure's SVG are
            computed from it, so that they are unique on the page. The identifier is
            stored in the attribute ``name``.
    """

    def __init__(self, picture: Figure, name: str) -> None:
        """Fix the layout of ``picture``; ``name`` is the identifier of the figure on its page."""
        # SVG and PNG must have the same layout.
        picture.set_layout_engine("none")
        self.picture = picture
        self.name = name

    @cached_property
    def svg(self) -> str:
        """Text of the figure as an SVG file without a date or creator."""
        return svg(self.picture, self.name)

    @cached_property
    def png(self) -> bytes:
        """Bytes of the figure as a PNG file with 200 dots per inch."""
        return png(self.picture)

    def inline(
        self, label: str, *, limit: int = _LIMIT, class_: str | None = None
    ) -> str:
        """Return the figure as an HTML element: ``<svg>``, or ``<img>`` with a PNG if it is large.

        Args:
            label: Description for screen readers.
            limit: Length of the SVG, in characters, above which a PNG is used; by
                default 900,000.
            class_: CSS class of the element; ``None`` for no class.
        """
        width = self.picture.get_figwidth() * 96
        size = f"max-width:{width * 1.3:.0f}px;--legible:{width * 1.04:.0f}px"
        if len(self.svg) > limit:
            source = data_uri(self.png, "image/png")
            return tag(
                "img",
                src=source,
                alt=label,
                class_=class_,
                style=size,
            )
        text = _META.sub("", _HEAD.sub("", self.svg))
        # A page has several figures, and an id must be unique.
        text = _ID.sub(lambda found: f"{found[1]}{self.name}-", text)
        # Width and height are removed, since the style sheet determines them.
        for _ in range(2):
            text = _SIZE.sub(r"\1", text, count=1)
        kind = f' class="{class_}"' if class_ else ""
        head = f'<svg role="img" aria-label="{escape(label)}"{kind} style="{size}"'
        return text.replace("<svg", head, 1)


def inline(label: str, wide: Still, phone: Still | None = None) -> str:
    """Return a figure in two widths as HTML; the style sheet shows the width that fits the window.

    Args:
        label: Description for screen readers.
        wide: The figure for wide windows.
        phone: The figure for narrow windows. If ``None``, the wide figure is shown in
            all windows.
    """
    if phone is None:
        return wide.inline(label)
    narrow = phone.inline(label, class_="phone", limit=_PHONE_LIMIT)
    return wide.inline(label, class_="wide") + narrow
