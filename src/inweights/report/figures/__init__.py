"""Functions and dataclasses that draw tables as matplotlib figures, one file each.

:data:`DRAWINGS` contains them by name, and :func:`plot` draws a table with one of them.
``report.pages`` includes the figures in pages.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.report.figures.draw import DRAWINGS as DRAWINGS
    from inweights.report.figures.draw import draw_for_phone as draw_for_phone
    from inweights.report.figures.draw import drawing as drawing
    from inweights.report.figures.draw import plot as plot

lazily(__name__)
