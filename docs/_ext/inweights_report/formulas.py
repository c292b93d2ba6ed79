"""Formulas as small pictures, which the PDF and a page without scripts both can show."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser, math_to_image

__all__ = ["Formula", "formula"]

_SIZE = 10.5
#: What matplotlib's formulas have no name for.
_NAMES = {
    r"\lVert": r"\Vert",
    r"\rVert": r"\Vert",
    r"\lvert": r"\vert",
    r"\rvert": r"\vert",
    r"\tfrac": r"\frac",
    r"\mathbf 1": r"\mathbf{1}",
    r"\big": "",
    r"\!": "",
    r"^\top": r"^{\top}",
}


@dataclass(frozen=True)
class Formula:
    """A formula as an SVG file.

    Attributes:
        svg: The picture.
        height: Its height in points, with what is below the line.
        depth: How far it reaches below the line, in points.
    """

    svg: str
    height: float
    depth: float


def formula(latex: str) -> Formula:
    """Return a formula as a picture.

    Args:
        latex: The formula, without dollars.
    """
    text = " ".join(latex.split())
    for name, other in _NAMES.items():
        text = text.replace(name, other)
    text = f"${text}$"
    settings: Any = {
        "mathtext.fontset": "stix",
        "svg.fonttype": "path",
        "svg.hashsalt": "formula",
        "text.parse_math": True,
    }
    with rc_context(settings):
        fonts = FontProperties(size=_SIZE)
        size = MathTextParser("path").parse(text, dpi=72, prop=fonts)
        stream = io.BytesIO()
        # 72 dots an inch: a dot is a point.
        math_to_image(text, stream, prop=fonts, dpi=72, format="svg")
    svg = stream.getvalue().decode()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return Formula(svg, float(size.height), float(size.depth))
