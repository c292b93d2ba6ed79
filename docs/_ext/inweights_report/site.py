"""Write the reports as pages of the site, with the same text as the PDF."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from inweights.report.base.save import svg
from inweights_report import (
    REPORTS,
    Evidence,
    Filled,
    PDFToolMissingError,
    fill,
    typeset,
)

__all__ = ["PAGES", "page", "setup", "write"]

#: Names of the pages of reports.
PAGES = tuple(f"report/{name}" for name in REPORTS)
_FACTS = ("of", "code", "data", "version")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx, so that the templates are filled before the pages are read."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir)))
    app.connect("env-get-outdated", lambda *_: list(PAGES))
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _read(app: Sphinx, name: str, source: list[str]) -> None:  # noqa: ARG001
    if name in PAGES:
        source[0] = page(name)


def write(source: Path) -> None:
    """Write the figures of the reports, and their PDFs if typst is installed.

    Args:
        source: Folder of the documentation.
    """
    figures = source / "report" / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for report in filled().values():
        for name, picture in report.pictures.items():
            drawn = svg(picture, name)
            file = figures / f"{name}.svg"
            if not file.exists() or file.read_text("utf-8") != drawn:
                file.write_text(drawn, "utf-8")
        pdf = source / "_static" / "report" / f"{report.name}.pdf"
        try:
            typeset(report, pdf)
        except PDFToolMissingError:
            pdf.unlink(missing_ok=True)


def page(name: str) -> str:
    """Return a report as Markdown of the site, with a link to its PDF if there is one.

    Args:
        name: Name of the page, one of :data:`PAGES`.
    """
    report = filled()[name.partition("/")[2]]
    static = Path(__file__).parents[2] / "_static"
    lines = [f"# {report.about['title']}", ""]
    if (static / "report" / f"{report.name}.pdf").exists():
        address = f"../_static/report/{report.name}.pdf"
        lines += [f'<p><a href="{address}">This report as a PDF</a></p>', ""]
    lines += [f"- **{key}**: {report.about[key]}" for key in _FACTS]
    # Figures are drawn for a white background.
    text = re.sub(r"(!\[[^\]]*\]\(figures/[^)]*\))", r"\1{.on-white}", report.text)
    return "\n".join([*lines, "", text])


@cache
def filled() -> dict[str, Filled]:
    """Return the reports with their numbers filled in."""
    evidence = Evidence()
    return {name: fill(name, evidence) for name in REPORTS}
