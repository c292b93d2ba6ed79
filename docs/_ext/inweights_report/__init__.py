"""Write the reports in ``docs/report``: templates whose numbers come from ``results/``.

:class:`Evidence` reads the board, the stored tables and the protocols. :func:`fill`
fills a template and refuses numbers that were typed by hand. :func:`typeset` writes
the PDF and :func:`web_page` the HTML page. ``docs/_ext/report.py`` is the command; the
site shows the same text.
"""

from inweights_report.evidence import Evidence
from inweights_report.pdf import PDFToolMissingError, typeset
from inweights_report.template import REPORTS, Filled, fill, typed_numbers
from inweights_report.web import web_page

__all__ = [
    "REPORTS",
    "Evidence",
    "Filled",
    "PDFToolMissingError",
    "fill",
    "typed_numbers",
    "typeset",
    "web_page",
]
