"""Draw formulas as small pictures, for the PDF and for pages without scripts."""

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
#: Replacements for commands that matplotlib's formulas do not support.
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
    """Formula that is drawn as an SVG picture.

    Attributes:
        svg: Content of the SVG file.
        height: Height of the picture in points, including the part below the baseline.
        depth: Height of the part below the baseline, in points.
    """

    svg: str
    height: float
    depth: float


def formula(latex: str) -> Formula:
    """Return a formula as a picture.

    Args:
        latex: The formula in LaTeX, without dollar signs.
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
        # At 72 dots per inch, one dot is one point.
        math_to_image(text, stream, prop=fonts, dpi=72, format="svg")
    svg = stream.getvalue().decode()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return Formula(svg, float(size.height), float(size.depth))
