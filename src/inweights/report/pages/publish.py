"""Adds figures and the page to the folder of a finished run."""

from collections.abc import Sequence
from pathlib import Path

from inweights.lab.engine.outcome import Outcome
from inweights.report.pages.page import PageContent, build_page, write_figures

#: Name of the page in a run folder.
PAGE = "page.html"


def publish(outcome: Outcome, folder: Path, cite: Sequence[str] = ()) -> None:
    """Write ``figures/`` and the page of a run into ``folder``; ``cite`` are BibTeX entries."""
    stills = write_figures(outcome.figures, outcome.tables, folder / "figures")
    content = PageContent(outcome=outcome, cite=cite)
    (folder / PAGE).write_text(build_page(content, stills), encoding="utf-8")
