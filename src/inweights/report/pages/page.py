"""Build the page of a run: one HTML file that opens offline and begins with the results.

:func:`build_page` joins the sections, and :func:`publish` writes page and figures into
the folder of the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from inweights.experiments.engine.outcome import Outcome
from inweights.experiments.grammar.figure import Figure
from inweights.report.base.document import asset, document
from inweights.report.base.html import tag
from inweights.report.base.save import Still
from inweights.report.figures.draw import draw
from inweights.report.pages import sections
from inweights.report.pages.beside_paper import differences_section
from inweights.report.pages.claims import claims_section, headline
from inweights.support.extras import optional

#: Name of the page in a run folder.
PAGE = "page.html"


@dataclass(frozen=True, kw_only=True)
class PageContent:
    """Content of the page of a run.

    Attributes:
        outcome: The finished run.
        cite: BibTeX entries of the paper and of the project; by default none.
    """

    outcome: Outcome
    cite: Sequence[str] = ()


def build_page(content: PageContent, stills: Mapping[str, Still] | None = None) -> str:
    """Return the page of a run as HTML; equal content results in equal pages.

    Args:
        content: The run, and the entries to cite.
        stills: Figures that have already been drawn, by id, one for each figure of the
            run; by default the figures are drawn.

    Raises:
        ConfigError: A figure names an unknown drawing function or option, or the wrong
            number of tables; or the settings of the run do not match its recipe.
        DataError: A figure names a table or column that does not exist, or a table
            without rows.
        Exception: Any error raised by a recipe's function or by a user-defined drawing
            function.
    """
    run = content.outcome
    drawn = stills or _stills(run.figures, run.tables)
    figures, moving = sections.figures_section(run.figures, run.tables, drawn)
    body = tag(
        "main",
        sections.header(run),
        sections.listed_section("results", "What came out", run.results),
        sections.listed_section("cautions", "Before you conclude", run.cautions),
        claims_section(run.claims),
        figures,
        sections.controls_section(run.tables),
        sections.numbers_section(run.tables),
        sections.settings_section(run.settings, run.recipe.ours),
        differences_section(run.differences, run.recipe.protocol, run.other_statements),
        sections.again_section(run),
        sections.cite_section(content.cite),
    )
    scripts = [asset("page.js")]
    if moving:
        plotly = optional(
            "interactive", "a page that moves", "plotly.offline"
        ).get_plotlyjs()
        scripts = [
            plotly.replace("</script", "<\\/script"),
            asset("player.js"),
            *scripts,
        ]
    title = f"{headline(run.claims)} – {run.heading}" if run.claims else run.heading
    return document(title, body, styles=["page.css"], scripts=scripts)


def write_figures(
    figures: Sequence[Figure], tables: Mapping[str, pl.DataFrame], folder: Path
) -> dict[str, Still]:
    """Draw figures and write each of them as ``<id>.png`` (200 dots per inch) and ``<id>.svg``.

    Args:
        figures: Descriptions of the figures.
        tables: All tables of the run, by name.
        folder: Folder of the files, which is created if necessary. Existing files with
            these names are replaced.

    Returns:
        The drawn figures, by id.

    Raises:
        ConfigError: A figure names an unknown drawing function or option, or the wrong
            number of tables.
        DataError: A figure names a table or column that does not exist, or a table
            without rows.
        Exception: Any error raised by a user-defined drawing function.
        OSError: A file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stills = _stills(figures, tables)
    for name, still in stills.items():
        (folder / f"{name}.png").write_bytes(still.png)
        (folder / f"{name}.svg").write_bytes(still.svg.encode())
    return stills


def publish(outcome: Outcome, folder: Path, cite: Sequence[str] = ()) -> None:
    """Write the page of a run and its figures to a folder, as ``page.html`` and ``figures/``.

    Args:
        outcome: The run.
        folder: Folder of the run, which is created if necessary.
        cite: BibTeX entries of the paper and of the project; by default none.

    Raises:
        ConfigError: A figure names an unknown drawing function or option, or the wrong
            number of tables; or the settings of the run do not match its recipe.
        DataError: A figure names a table or column that does not exist, or a table
            without rows.
        Exception: Any error raised by a recipe's function or by a user-defined drawing
            function.
        OSError: A file cannot be written.
    """
    stills = write_figures(outcome.figures, outcome.tables, folder / "figures")
    content = PageContent(outcome=outcome, cite=cite)
    (folder / PAGE).write_text(build_page(content, stills), encoding="utf-8")


def _stills(
    figures: Sequence[Figure], tables: Mapping[str, pl.DataFrame]
) -> dict[str, Still]:
    return {figure.id: Still(draw(figure, tables), figure.id) for figure in figures}
