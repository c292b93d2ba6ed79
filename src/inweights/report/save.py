"""A matplotlib Figure as SVG and PNG: the same bytes for the same figure."""

from __future__ import annotations

import io
import re
from functools import cached_property

from matplotlib.figure import Figure

from inweights.report import style

__all__ = ["Still", "png", "show_inline", "svg"]

_ID = re.compile(r'(\bid="|href="#|url\(#)')
_HEAD = re.compile(r"\A.*?(?=<svg\b)", re.DOTALL)
_META = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_SIZE = re.compile(r'(<svg\b[^>]*?)\s(?:width|height)="[^"]*"')
#: What no XML may hold.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def svg(figure: Figure, salt: str = "inweights") -> str:
    """Return the figure as an SVG file without date or creator."""
    stream = io.StringIO()
    with style.context(salt):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return _UNPRINTABLE.sub("\ufffd", stream.getvalue())


def png(figure: Figure, scale: float = 2.0) -> bytes:
    """Return the figure as a PNG of ``scale`` times 100 dots per inch."""
    stream = io.BytesIO()
    with style.context():
        figure.savefig(stream, format="png", dpi=100 * scale, metadata={"Software": None})
    return stream.getvalue()


def show_inline(figure: Figure) -> Figure:
    """Let a notebook show the figure where it is a cell's value; return it.

    Jupyter shows figures of pyplot alone, and ours are made without it.
    """

    def picture() -> tuple[bytes, dict[str, int]]:
        width, height = (round(100 * inches) for inches in figure.get_size_inches())
        return png(figure), {"width": width, "height": height}

    figure._repr_png_ = picture  # type: ignore[attr-defined]
    return figure


class Still:
    """A figure laid out once, for files and for a page; each form is made when it is asked for.

    Args:
        picture: The figure. Its layout is kept as it stands, and not found again for each form.
        name: Goes before every id, so that two figures of a page do not share one.
    """

    def __init__(self, picture: Figure, name: str) -> None:
        picture.set_layout_engine("none")
        self.picture, self.name = picture, name

    @cached_property
    def svg(self) -> str:
        """The figure as an SVG file."""
        return svg(self.picture, self.name)

    @cached_property
    def png(self) -> bytes:
        """The figure as a PNG of 200 dots per inch."""
        return png(self.picture)

    def inline(self, label: str) -> str:
        """Return the figure as an ``<svg>`` element of a page.

        Args:
            label: What a screen reader says; already escaped.
        """
        text = _META.sub("", _HEAD.sub("", self.svg))
        text = _ID.sub(lambda found: f"{found[1]}{self.name}-", text)
        width = self.picture.get_figwidth() * 96
        for _ in range(2):
            text = _SIZE.sub(r"\1", text, count=1)
        size = f"max-width:{width * 1.3:.0f}px;--legible:{width * 0.8:.0f}px"
        head = f'<svg role="img" aria-label="{label}" style="{size}"'
        return text.replace("<svg", head, 1)
