"""Draw figures of tidy tables, and build pages that are single HTML files.

:func:`plot` draws any table, :func:`pivot` converts a table to wide form, :func:`draw`
draws a figure of a recipe, and :func:`build_page` returns the page of a finished run. The package
depends on ``experiments`` and ``recipes``, whose results it draws. It computes no
results and does not import torch.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.report.base.registry import drawing as drawing
    from inweights.report.figures.draw import draw as draw
    from inweights.report.figures.draw import plot as plot
    from inweights.report.pages.page import PageContent as PageContent
    from inweights.report.pages.page import build_page as build_page
    from inweights.report.pages.page import write_figures as write_figures
    from inweights.report.pages.sections import interactive as interactive
    from inweights.report.wide import pivot as pivot

lazily(__name__)
